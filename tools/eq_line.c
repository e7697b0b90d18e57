// SPDX-License-Identifier: GPL-3.0-or-later
// Words and numbers of equaliser settings; see eq_line.h.
//
// Programs write numbers in the form of the user's language: 1000.5, 1,000.5, 1.000,5, or 1 000,5
// with a no-break space.

#include "eq_line.h"

#include "engine/base/number.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define BLANKS " \t"

static bool
is_digit(const char c)
{
  return c >= '0' && c <= '9';
}

void
eq_line_clean(char* const line)
{
  static const struct {
    const char* bytes;
    char becomes;
  } others[] = { { "\xC2\xA0", ' ' },       // U+00A0, no-break space
                 { "\xE2\x80\xAF", ' ' },   // U+202F, narrow no-break space
                 { "\xE2\x88\x92", '-' } }; // U+2212, minus sign
  char* to = line;
  for (const char* from = line; *from;) {
    size_t n = 1;
    char c = *from;
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); ++i) {
      const size_t length = strlen(others[i].bytes);
      if (!strncmp(from, others[i].bytes, length)) {
        n = length;
        c = others[i].becomes;
      }
    }
    const bool groups = n > 1U && c == ' ' && to > line && is_digit(to[-1]) && is_digit(from[n]);
    if (!groups) {
      *to++ = c;
    }
    from += n;
  }
  while (to > line && strchr(BLANKS "\r\n", to[-1])) {
    --to;
  }
  *to = '\0';
}

char
eq_decimal(const char* const text)
{
  static const char* const words[] = { "Gain", "Q", "Preamp:" };
  for (unsigned w = 0; w < sizeof(words) / sizeof(words[0]); ++w) {
    for (const char* at = text; (at = strstr(at, words[w]));) {
      at += strlen(words[w]);
      const char* const number = at + strspn(at, BLANKS);
      const size_t n = strspn(number, "+-0123456789");
      if (n && number[n] == ',' && is_digit(number[n + 1U])) {
        return ',';
      }
    }
  }
  return '.';
}

static void
pass_blanks(EqLine* const line)
{
  line->at += strspn(line->at, BLANKS);
}

bool
eq_is_at_end(EqLine* const line)
{
  pass_blanks(line);
  return !*line->at;
}

bool
eq_take_word(EqLine* const line, const char* const word)
{
  const size_t n = strlen(word);
  pass_blanks(line);
  if (strncasecmp(line->at, word, n) || isalnum((unsigned char)line->at[n])) {
    return false;
  }
  line->at += n;
  return true;
}

/// True if exactly three digits follow the separator.
static bool
is_thousands(const char* const separator)
{
  return is_digit(separator[1]) && is_digit(separator[2]) && is_digit(separator[3]) &&
         !is_digit(separator[4]);
}

bool
eq_take_number(EqLine* const line, double* const value)
{
  char text[64];
  size_t n = 0;
  pass_blanks(line);
  const char* at = line->at;
  for (; *at && n < sizeof(text) - 1U; ++at) {
    const char next = at[1];
    if (*at == '.' || *at == ',') {
      if (*at == line->decimal || !is_thousands(at)) {
        text[n++] = '.';
      }
    } else if (is_digit(*at) || *at == '-' || *at == '+' ||
               ((*at == 'e' || *at == 'E') && (is_digit(next) || next == '-' || next == '+'))) {
      text[n++] = *at;
    } else {
      break;
    }
  }
  text[n] = '\0';
  Decimal decimal;
  if (!number_scan(text, &decimal) || *decimal.end) {
    return false;
  }
  *value = number_value(&decimal, 0);
  line->at = at;
  return isfinite(*value);
}

bool
eq_take_value(EqLine* const line, const char* const word, double* const value)
{
  const EqLine before = *line;
  const size_t n = strlen(word);
  pass_blanks(line);
  if (!strncasecmp(line->at, word, n)) { // "Q0.7" is a word followed by a number
    line->at += n;
    if (eq_take_number(line, value)) {
      return true;
    }
  }
  *line = before;
  return false;
}

bool
eq_take_any(EqLine* const line, char* const word, const size_t n_bytes)
{
  pass_blanks(line);
  const size_t length = strcspn(line->at, BLANKS);
  const size_t n = length < n_bytes ? length : n_bytes - 1U;
  memcpy(word, line->at, n);
  word[n] = '\0';
  line->at += length;
  return length > 0U;
}
