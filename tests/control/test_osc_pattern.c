// SPDX-License-Identifier: GPL-3.0-or-later
// Address patterns match as in OSC 1.0.  Patterns that would make a backtracking matcher slow take
// no longer than others.

#include "control/net/pattern.h"
#include "tests/support/suite.h"

#include <string.h>

#define NAME_63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
  const char* pattern;
  const char* name;
  bool matches;
} cases[] = {
  { "gain", "gain", true },
  { "gain", "gai", false },
  { "gain", "gains", false },
  { "", "", true },
  { "", "a", false },
  { "*", "", true },
  { "*", "anything", true },
  { "g*n", "gain", true },
  { "g*n", "gn", true },
  { "g*n", "gained", false },
  { "*a*i*", "gain", true },
  { "*i*a*", "gain", false },
  { "**", "gain", true },
  { "?ain", "gain", true },
  { "?", "", false },
  { "????", "gain", true },
  { "???", "gain", false },
  { "gain?", "gain", false },
  { "[a-h]ain", "gain", true },
  { "[h-z]ain", "gain", false },
  { "[!a-f]ain", "gain", true },
  { "[!g]ain", "gain", false },
  { "[xgz]ain", "gain", true },
  { "[x-]", "-", true },
  { "[-x]", "-", true },
  { "[a!]", "!", true },
  { "[!a]", "", false },
  { "band[0-9]", "band7", true },
  { "band[0-9]", "bandx", false },
  { "{low,high}cut", "lowcut", true },
  { "{low,high}cut", "highcut", true },
  { "{low,high}cut", "midcut", false },
  { "{a,ab}c", "abc", true },
  { "{ab,a}bc", "abc", true },
  { "{a,}b", "b", true },
  { "x{low}", "xlow", true },
  { "{low}", "lo", false },
  { "*{a,b}?", "xxbq", true },
  { NAME_63, NAME_63, true },
  { "*", NAME_63, true },
  { "*b", NAME_63, false },
  { "*", NAME_63 "a", false },
  { "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", NAME_63, false },
  { "{a,a,a}{a,a,a}{a,a,a}{a,a,a}{a,a,a}{a,a,a}{a,a,a}{a,a,a}{a,a,a}b", NAME_63, false },
};

TEST(patterns_match_the_expected_names)
{
  for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    ck_assert_msg(pattern_match(cases[i].pattern, cases[i].name) == cases[i].matches,
                  "wrong result for pattern \"%s\" and name \"%s\"", cases[i].pattern,
                  cases[i].name);
  }
}

TEST(patterns_are_distinguished_from_names)
{
  ck_assert(!pattern_is_magic("low-cut_2"));
  ck_assert(pattern_is_magic("low*"));
  ck_assert(pattern_is_magic("lo?"));
  ck_assert(pattern_is_magic("[a]"));
  ck_assert(pattern_is_magic("{a}"));
}

SUITE_MAIN("osc_pattern")
