// SPDX-License-Identifier: GPL-3.0-or-later
// Warnings: which ones are new, how many fit into a message, and the cost of finding the new ones.

#include "control/advice.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Calls of the functions that read a line, as a measure of the cost.
static uint64_t n_looks;

size_t __real_strcspn(const char* text, const char* reject);
size_t __wrap_strcspn(const char* text, const char* reject);
int __real_memcmp(const void* a, const void* b, size_t n_bytes);
int __wrap_memcmp(const void* a, const void* b, size_t n_bytes);
int __real_strncmp(const char* a, const char* b, size_t n_bytes);
int __wrap_strncmp(const char* a, const char* b, size_t n_bytes);

size_t
__wrap_strcspn(const char* const text, const char* const reject)
{
  ++n_looks;
  return __real_strcspn(text, reject);
}

int
__wrap_memcmp(const void* const a, const void* const b, const size_t n_bytes)
{
  ++n_looks;
  return __real_memcmp(a, b, n_bytes);
}

int
__wrap_strncmp(const char* const a, const char* const b, const size_t n_bytes)
{
  ++n_looks;
  return __real_strncmp(a, b, n_bytes);
}

TEST(more_warnings_than_a_message_holds_are_counted)
{
  enum { N_LINES = 1000 };
  char lines[N_LINES * 32] = "";
  for (uint32_t n = 0; n < N_LINES; ++n) {
    sprintf(lines + strlen(lines), "node%u.frequency is wrong\n", n);
  }
  char text[ADVICE_BYTES];
  const Advice none = { .text = NULL };
  advice_print(&none, text);
  ck_assert_str_eq(text, "");
  const Advice one = { .text = "one\n", .n_lines = 1 };
  advice_print(&one, text);
  ck_assert_str_eq(text, "one\n");
  const Advice many = { .text = lines, .n_lines = N_LINES };
  advice_print(&many, text);
  ck_assert_uint_lt(strlen(text), ADVICE_BYTES);
  ck_assert_uint_gt(strlen(text), ADVICE_BYTES - 100U);
  const char* const rest = strstr(text, "more warnings") - strlen("999 ");
  const uint32_t n_more = (uint32_t)strtoul(rest, NULL, 10);
  char last[64];
  snprintf(last, sizeof(last), "node%u.frequency is wrong\n%u more warnings\n",
           N_LINES - n_more - 1U, n_more);
  ck_assert_str_eq(text + strlen(text) - strlen(last), last);
  ck_assert_int_eq(strncmp(text, lines, (size_t)(rest - text)), 0);
}

TEST(only_new_lines_are_reported_as_warnings)
{
  SCOPED_RACK Rack* const rack = rack_new();
  SCOPED(advice_clear) Advice advice = { .text = NULL };
  char* fresh = NULL;
  static const char* const names[] = { "b", "c", "a" };
  for (uint32_t i = 0; i < ARRAY_LEN(names); ++i) {
    ck_assert(!rack_add(rack, names[i], "highpass", NULL));
    ck_assert(!set_number_by_name(rack, names[i], "frequency", 19000.0, NULL));
    ck_assert(advice_update(&advice, rack, 1U + i, 20000.0, &fresh));
    char start[16];
    snprintf(start, sizeof(start), "%s.frequency", names[i]);
    assert_says(fresh, start);
    ck_assert_msg(!i || !strstr(fresh, "b.frequency"), "%s", fresh);
    free(fresh);
  }
  ck_assert(!advice_update(&advice, rack, 9U, 20000.0, &fresh));
}

TEST(midi_lines_without_ports_are_warned_of)
{
  SCOPED_RACK Rack* const rack = rack_of("add a gain\nconnect in a\nconnect a out\n", NULL);
  SCOPED_RACK Rack* const mapped =
      rack_of("add a gain\nconnect in a\nconnect a out\nmidi cc 1:7 a.gain\n", NULL);
  SCOPED(advice_clear) Advice advice = { .lacks_midi = true };
  SCOPED(advice_clear) Advice with_ports = { .lacks_midi = false };
  char* fresh = NULL;
  ck_assert(!advice_update(&advice, rack, 1U, 48000.0, &fresh));
  ck_assert(advice_update(&advice, mapped, 2U, 48000.0, &fresh));
  assert_says(fresh, "this run has no MIDI ports; start it with --io jack --midi\n");
  free(fresh);
  ck_assert(advice_update(&advice, rack, 3U, 48000.0, &fresh)); // the warning has gone
  free(fresh);
  ck_assert(advice_update(&advice, mapped, 4U, 48000.0, &fresh));
  free(fresh);
  ck_assert(!advice_update(&with_ports, mapped, 1U, 48000.0, &fresh));
}

TEST(many_warnings_are_not_compared_pairwise)
{
  enum { N_NODES = 2048 };
  SCOPED_RACK Rack* const rack = rack_new();
  SCOPED(advice_clear) Advice advice = { .text = NULL };
  char* fresh = NULL;
  for (uint32_t i = 0; i < N_NODES; ++i) {
    char name[16];
    snprintf(name, sizeof(name), "n%04u", i);
    ck_assert(!rack_add(rack, name, "highpass", NULL));
    ck_assert(!set_number_by_name(rack, name, "frequency", 19000.0, NULL));
  }
  ck_assert(advice_update(&advice, rack, 1, 20000.0, &fresh));
  free(fresh);
  ck_assert(!set_number_by_name(rack, "n0000", "frequency", 18000.0, NULL));
  n_looks = 0;
  ck_assert(advice_update(&advice, rack, 2, 20000.0, &fresh));
  const uint64_t n_done = n_looks;
  ck_assert_msg(!strncmp(fresh, "n0000.frequency is 18kHz", 20) && strlen(fresh) < 100, "%s",
                fresh);
  ck_assert_uint_gt(n_done, N_NODES);
  // Sorting and searching take n log n: 11 steps per line, with 3 calls each.  Pairwise comparisons
  // would take 1,000 calls per line or more.
  ck_assert_uint_lt(n_done, 80U * N_NODES);
  free(fresh);
}

SUITE_MAIN("control_advice")
