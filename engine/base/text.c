// SPDX-License-Identifier: GPL-3.0-or-later
// Checks external texts: valid UTF-8 without characters that control a terminal.

#include "text.h"

#include "macros.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/// RFC 3629, section 4.
size_t
text_utf8_bytes(const char* const text)
{
  static const struct {
    unsigned char first, last;         // of the first byte
    unsigned char second, last_second; // of the second one; those after it are 80..BF
    size_t n;
  } rows[] = {
    { 0x01, 0x7F, 0, 0, 1 },       { 0xC2, 0xDF, 0x80, 0xBF, 2 }, { 0xE0, 0xE0, 0xA0, 0xBF, 3 },
    { 0xE1, 0xEC, 0x80, 0xBF, 3 }, { 0xED, 0xED, 0x80, 0x9F, 3 }, { 0xEE, 0xEF, 0x80, 0xBF, 3 },
    { 0xF0, 0xF0, 0x90, 0xBF, 4 }, { 0xF1, 0xF3, 0x80, 0xBF, 4 }, { 0xF4, 0xF4, 0x80, 0x8F, 4 },
  };
  const unsigned char* const bytes = (const unsigned char*)text;
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    if (bytes[0] < rows[r].first || bytes[0] > rows[r].last) {
      continue;
    }
    bool is_good =
        rows[r].n == 1U || (bytes[1] >= rows[r].second && bytes[1] <= rows[r].last_second);
    for (size_t i = 2; is_good && i < rows[r].n; ++i) {
      is_good = (bytes[i] & 0xC0U) == 0x80U;
    }
    return is_good ? rows[r].n : 0U;
  }
  return 0;
}

/// C0, C1 and Unicode's control characters for terminals: line separators; marks, embeddings,
/// overrides and isolates of the writing direction (Unicode 15, UAX #9); the invisible tag
/// characters.
static bool
is_order(const uint32_t code)
{
  static const struct {
    uint32_t first, last;
  } ranges[] = { { 0x00, 0x1F },     { 0x7F, 0x9F },     { 0x61C, 0x61C },    { 0x200E, 0x200F },
                 { 0x2028, 0x202E }, { 0x2066, 0x2069 }, { 0xE0000, 0xE007F } };
  bool is_in = false;
  for (size_t r = 0; r < ARRAY_LEN(ranges); ++r) {
    is_in = is_in || (code >= ranges[r].first && code <= ranges[r].last);
  }
  return is_in;
}

/// Length of the character at `text` in bytes if it is printable, else 0.
static size_t
shown_bytes(const char* const text)
{
  if (*text >= ' ' && *text <= '~') { // the usual case
    return 1;
  }
  const size_t n = text_utf8_bytes(text);
  uint32_t code = (unsigned char)text[0] & (n > 1U ? 0x7FU >> n : 0x7FU);
  for (size_t i = 1; i < n; ++i) {
    code = code << 6U | ((unsigned char)text[i] & 0x3FU);
  }
  return n && !is_order(code) ? n : 0U;
}

/// The first byte of an unprintable character, or the final zero.
static const char*
first_bad(const char* text)
{
  for (size_t n = 0; (n = shown_bytes(text)); text += n) {
  }
  return text;
}

bool
text_is_printable(const char* const text)
{
  return !*first_bad(text);
}

void
text_make_printable(char* text)
{
  for (; *(text += first_bad(text) - text); ++text) {
    *text = '?';
  }
}

char*
text_printable_copy(const char* const text)
{
  char* const copy = strdup(text);
  if (copy) {
    text_make_printable(copy);
  }
  return copy;
}
