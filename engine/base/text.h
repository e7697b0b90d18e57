// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Texts that come from elsewhere (names and contents of files, arguments, messages, names of
   devices, words of drivers and of the worker) and go to logs, terminals and service managers,
   where a control character would be an order, and one that turns the direction of writing would
   show another text.
*/
#ifndef WARPRACK_ENGINE_BASE_TEXT_H
#define WARPRACK_ENGINE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/// Bytes of the UTF-8 character that `text` begins with, control characters included; 0 when it is
/// none, and at the end. [any]
size_t text_utf8_bytes(const char* text);

/// True for UTF-8 without control characters, line separators and changes of direction. [any]
bool text_is_printable(const char* text);

/// Make it so: each byte that does not belong becomes "?". [any]
void text_make_printable(char* text);

/// A copy that is printable, to be freed; NULL when out of memory. [any, not rt]
char* text_printable_copy(const char* text);

#endif
