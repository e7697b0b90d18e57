// SPDX-License-Identifier: GPL-3.0-or-later
// OSC address patterns by bit-parallel simulation of the pattern's automaton: bit i of a set means
// "the pattern so far can match the first i characters of the name".  After R. Baeza-Yates and
// G. H. Gonnet, "A New Approach to Text Searching", Communications of the ACM 35(10), 1992.

#include "pattern.h"

#include <stdint.h>
#include <string.h>

#define MAX_NAME     63U // a set of positions 0..63 is one word
#define N_CHARACTERS 128U

typedef uint64_t Positions;

bool
pattern_is_magic(const char* const text)
{
  return strpbrk(text, "*?[{") != NULL;
}

/// A name in the form that the automaton needs: for each character c, the positions before a
/// character <= c.  A character or a range then takes one step for the whole name.
typedef struct Name {
  Positions up_to[N_CHARACTERS];
} Name;

static void
read_name(const char* const text, Name* const name)
{
  memset(name, 0, sizeof(*name));
  for (uint32_t i = 0; text[i]; ++i) {
    name->up_to[(uint8_t)text[i] % N_CHARACTERS] |= (Positions)1U << i;
  }
  for (uint32_t c = 1; c < N_CHARACTERS; ++c) {
    name->up_to[c] |= name->up_to[c - 1U];
  }
}

/// Positions whose next character is in [first, last].
static Positions
before_range(const char first, const char last, const Name* const name)
{
  const uint8_t low = (uint8_t)first;
  const uint8_t high = (uint8_t)last;
  if (low == 0 || low > high || high >= N_CHARACTERS) {
    return 0;
  }
  return name->up_to[high] & ~name->up_to[low - 1U];
}

/// Positions whose next character is c.
static Positions
before_character(const char c, const Name* const name)
{
  return before_range(c, c, name);
}

/// Positions whose next character is in the class.  `*pattern` advances from "[" past "]".  A "-"
/// at either end, and a "!" that is not first, are ordinary characters.
static Positions
before_class(const char** const pattern, const Name* const name)
{
  const char* p = *pattern + 1;
  const bool negated = *p == '!';
  p += negated;
  Positions set = 0;
  while (*p && *p != ']') {
    const bool is_range = p[1] == '-' && p[2] && p[2] != ']';
    set |= before_range(p[0], is_range ? p[2] : p[0], name);
    p += is_range ? 3 : 1;
  }
  *pattern = *p ? p + 1 : p;
  return negated ? ~set : set;
}

/// Positions after any of the words.  `*pattern` advances from "{" past "}".
static Positions
through_words(const char** const pattern, const Positions from, const Name* const name)
{
  const char* p = *pattern + 1;
  Positions to = 0;
  Positions word = from;
  for (; *p && *p != '}'; ++p) {
    if (*p == ',') {
      to |= word;
      word = from;
    } else {
      word = (word & before_character(*p, name)) << 1U;
    }
  }
  *pattern = *p ? p + 1 : p;
  return to | word;
}

static Positions
step(const char** const pattern, const Positions from, const Name* const name)
{
  switch (**pattern) {
  case '*':
    ++*pattern;
    return ~(Positions)0 << __builtin_ctzll(from); // the first position and all after it
  case '?':
    ++*pattern;
    return from << 1U;
  case '[':
    return (from & before_class(pattern, name)) << 1U;
  case '{':
    return through_words(pattern, from, name);
  default:
    return (from & before_character(*(*pattern)++, name)) << 1U;
  }
}

static bool
is_ascii(const char* text)
{
  while (*text > 0) {
    ++text;
  }
  return *text == 0;
}

bool
pattern_match(const char* pattern, const char* const name)
{
  const size_t length = strlen(name);
  if (length > MAX_NAME || !is_ascii(name)) {
    return false;
  }
  Name positions;
  read_name(name, &positions);
  const Positions inside = ~(Positions)0 >> (MAX_NAME - length);
  Positions at = 1U;
  while (*pattern && at) {
    at = step(&pattern, at, &positions) & inside;
  }
  return at >> length & 1U;
}
