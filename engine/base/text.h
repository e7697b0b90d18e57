// SPDX-License-Identifier: GPL-3.0-or-later
/**
   External texts (names and contents of files, arguments, messages, names of devices, messages of
   drivers and of the worker) that go to logs, terminals and service managers.  A control character
   in them could control the terminal, and a change of the writing direction could display a
   different text.
*/
#ifndef WARPRACK_ENGINE_BASE_TEXT_H
#define WARPRACK_ENGINE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/// Length in bytes of the UTF-8 character at the start of `text`, which may be a control character;
/// 0 if it is invalid, and at the end of the text. [any]
size_t text_utf8_bytes(const char* text);

/// True for UTF-8 without control characters, line separators and changes of direction. [any]
bool text_is_printable(const char* text);

/// Replace each unprintable byte by "?". [any]
void text_make_printable(char* text);

/// A printable copy; the caller frees it; NULL when out of memory. [any, not rt]
char* text_printable_copy(const char* text);

#endif
