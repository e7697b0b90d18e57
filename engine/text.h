// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Texts that come from elsewhere (names of files and devices, words of drivers and of the worker)
   and go to logs, terminals and service managers, where a control character would be an order.
*/
#ifndef WARPRACK_ENGINE_TEXT_H
#define WARPRACK_ENGINE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/// Bytes of the UTF-8 character that `text` begins with; 0 when it is none, or a control character.
/// [any]
size_t text_character_bytes(const char* text);

/// True for UTF-8 without control characters. [any]
bool text_is_printable(const char* text);

/// Make it so: each byte that does not belong becomes "?". [any]
void text_make_printable(char* text);

#endif
