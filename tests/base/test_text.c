// SPDX-License-Identifier: GPL-3.0-or-later
// Printed text is valid UTF-8 without terminal control characters, from any source.

#include "engine/base/status.h"
#include "engine/base/text.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

TEST(unprintable_characters_become_question_marks)
{
  static const struct {
    const char* text;
    const char* shown;
  } rows[] = {
    { "", "" },
    { "plain ~ text", "plain ~ text" },
    { "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x8E\x9B", "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x8E\x9B" },
    { "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D",
      "\xD7\xA9\xD7\x9C\xD7\x95\xD7\x9D" }, // right to left without control characters
    { "a\tb\r\nc", "a?b??c" },
    { "\x1B[2J\x07\x7F", "?[2J??" },
    { "\xC2\x9B"
      "31m",
      "??31m" }, // U+009B is ESC [
    { "\xC2\x80\xC2\x9F\xC2\xA0", "????\xC2\xA0" },
    { "a\xE2\x80\xAEgpj", "a???gpj" }, // right-to-left override
    { "\xE2\x80\xAA\xE2\x80\xAB\xE2\x80\xAC\xE2\x80\xAD", "????????????" },
    { "\xE2\x81\xA6\xE2\x81\xA9", "??????" },                   // isolates
    { "\xE2\x81\xA5\xE2\x81\xAA", "\xE2\x81\xA5\xE2\x81\xAA" }, // their neighbours
    { "\xE2\x80\x8E\xE2\x80\x8F\xD8\x9C", "????????" },         // marks
    { "\xE2\x80\xA8\xE2\x80\xA9", "??????" }, // separators of lines and paragraphs
    { "\xF3\xA0\x81\x81", "????" },           // an invisible tag letter
    { "\xFF\xFE\x80", "???" },
    { "\xC3", "?" }, // cut off
    { "\xE2\x82", "??" },
    { "\xF0\x9F\x8E", "???" },
    { "\xC0\xAF\xE0\x80\xAF", "?????" }, // overlong
    { "\xED\xA0\x80", "???" },           // half of a surrogate pair
    { "\xF4\x90\x80\x80", "????" },      // beyond Unicode
  };
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    SCOPED_MEMORY char* const copy = text_printable_copy(rows[r].text);
    ck_assert_str_eq(copy, rows[r].shown);
    ck_assert(text_is_printable(copy));
    ck_assert(text_is_printable(rows[r].text) == !strcmp(rows[r].text, rows[r].shown));
  }
}

TEST(every_short_text_becomes_printable_and_stays_as_long)
{
  for (unsigned a = 1; a < 256U; ++a) {
    for (unsigned b = 0; b < 256U; ++b) {
      static const char last[] = "\0\x80\xAE\xA9x\xC2";
      for (unsigned c = 0; c < sizeof(last); ++c) {
        char text[] = { (char)a, (char)b, last[c], '\0' };
        const size_t length = strlen(text);
        text_make_printable(text);
        ck_assert(text_is_printable(text) && strlen(text) == length);
      }
    }
  }
}

TEST(an_error_is_one_printable_line)
{
  Error error;
  char word[600];
  error_set(&error, STATUS_FILE, "no '%s'", "a\xC2\x9B\xE2\x80\xAE\x1B\nb");
  ck_assert_str_eq(error.text, "no 'a???????b'");
  for (size_t i = 0; i + 2U < sizeof(word); i += 2U) { // cut in the middle of a character
    memcpy(word + i, "\xC3\xA4", 3);
  }
  error_set(&error, STATUS_FILE, "%s", word);
  ck_assert(text_is_printable(error.text));
  error_set(&error, STATUS_FILE, ".%s", word);
  ck_assert(text_is_printable(error.text));
}

SUITE_MAIN("text")
