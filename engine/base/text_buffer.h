// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A text that grows while it is written.  The stream of open_memstream() reports no error if its
   memory runs out (glibc 2.36: neither ferror() nor fclose()), so the text would be incomplete.
*/
#ifndef WARPRACK_ENGINE_BASE_TEXT_BUFFER_H
#define WARPRACK_ENGINE_BASE_TEXT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

/// Begins as zeros.
typedef struct TextBuffer {
  char* bytes;
  size_t n, room; ///< Length without the zero at the end; capacity
  bool failed;    ///< Out of memory: further text is ignored
} TextBuffer;

/// Ensure room for n more bytes and a zero.  Returns the place for them, NULL if out of memory; the
/// caller adds to `n` what it writes there. [any, not rt]
char* text_buffer_reserve(TextBuffer* buffer, size_t n);

/// Append a text. [any, not rt]
void text_buffer_add(TextBuffer* buffer, const char* text);

/// Append bytes, unless there would be more than `max` of them.  Returns false then, and if memory
/// runs out. [any, not rt]
bool text_buffer_add_bytes(TextBuffer* buffer, const void* bytes, size_t n, size_t max);

/// Append a formatted text, as printf() does. [any, not rt]
__attribute__((format(printf, 2, 3))) void
text_buffer_print(TextBuffer* buffer, const char* format, ...);

/// The complete text, which the caller frees; NULL if memory ran out.  The buffer is empty then.
/// [any, not rt]
char* text_buffer_take(TextBuffer* buffer);

#endif
