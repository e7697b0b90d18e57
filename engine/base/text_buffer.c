// SPDX-License-Identifier: GPL-3.0-or-later
#include "text_buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char*
text_buffer_reserve(TextBuffer* const buffer, const size_t n)
{
  if (!buffer->failed && buffer->n + n + 1U > buffer->room) {
    const size_t room = 2U * buffer->room + n + 1U;
    char* const bytes = realloc(buffer->bytes, room);
    buffer->failed = !bytes;
    buffer->bytes = bytes ? bytes : buffer->bytes;
    buffer->room = bytes ? room : buffer->room;
  }
  return buffer->failed ? NULL : buffer->bytes + buffer->n;
}

void
text_buffer_add(TextBuffer* const buffer, const char* const text)
{
  const size_t n = strlen(text);
  char* const to = text_buffer_reserve(buffer, n);
  if (to) {
    memcpy(to, text, n + 1U);
    buffer->n += n;
  }
}

bool
text_buffer_add_bytes(TextBuffer* const buffer, const void* const bytes, const size_t n,
                      const size_t max)
{
  const bool fits = !buffer->failed && buffer->n <= max && n <= max - buffer->n;
  char* const to = fits ? text_buffer_reserve(buffer, n) : NULL;
  if (to && n) {
    memcpy(to, bytes, n);
    buffer->n += n;
  }
  return to;
}

void
text_buffer_print(TextBuffer* const buffer, const char* const format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  const int n = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  char* const to = n < 0 ? NULL : text_buffer_reserve(buffer, (size_t)n);
  if (!to) {
    buffer->failed = true;
    return;
  }
  va_start(arguments, format);
  vsnprintf(to, (size_t)n + 1U, format, arguments);
  va_end(arguments);
  buffer->n += (size_t)n;
}

char*
text_buffer_take(TextBuffer* const buffer)
{
  text_buffer_add(buffer, ""); // an empty text instead of NULL
  char* const text = buffer->failed ? NULL : buffer->bytes;
  if (buffer->failed) {
    free(buffer->bytes);
  }
  *buffer = (TextBuffer){ .bytes = NULL };
  return text;
}
