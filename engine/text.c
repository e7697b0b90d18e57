// SPDX-License-Identifier: GPL-3.0-or-later
// Texts of others: UTF-8, and nothing in it that moves a cursor or ends a line.

#include "text.h"

#include "status.h"

/// Bytes of the character that `text` begins with, 0 when it is none that may be shown: RFC 3629,
/// section 4, without control characters.  Ends at a zero.
size_t
text_character_bytes(const char* const shown)
{
  const unsigned char* const text = (const unsigned char*)shown;
  static const struct {
    unsigned char first, last;         // of the first byte
    unsigned char second, last_second; // of the second one; those after it are 80..BF
    size_t n;
  } rows[] = {
    { 0x20, 0x7E, 0, 0, 1 },       { 0xC2, 0xC2, 0xA0, 0xBF, 2 }, // U+0080 to U+009F are controls
    { 0xC3, 0xDF, 0x80, 0xBF, 2 }, { 0xE0, 0xE0, 0xA0, 0xBF, 3 }, { 0xE1, 0xEC, 0x80, 0xBF, 3 },
    { 0xED, 0xED, 0x80, 0x9F, 3 }, { 0xEE, 0xEF, 0x80, 0xBF, 3 }, { 0xF0, 0xF0, 0x90, 0xBF, 4 },
    { 0xF1, 0xF3, 0x80, 0xBF, 4 }, { 0xF4, 0xF4, 0x80, 0x8F, 4 },
  };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    if (text[0] < rows[r].first || text[0] > rows[r].last) {
      continue;
    }
    bool is_good = rows[r].n == 1U || (text[1] >= rows[r].second && text[1] <= rows[r].last_second);
    for (size_t i = 2; is_good && i < rows[r].n; ++i) {
      is_good = (text[i] & 0xC0U) == 0x80U;
    }
    return is_good ? rows[r].n : 0U;
  }
  return 0;
}

/// The first byte that no text may have, or the final zero.
static const char*
first_bad(const char* text)
{
  size_t n = 0;
  while (*text && (n = text_character_bytes(text))) {
    text += n;
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
  while (*(text += first_bad(text) - text)) {
    *text++ = '?';
  }
}
