// SPDX-License-Identifier: GPL-3.0-or-later
// Rests double from the first to the longest, and restart after a long time without a failure.

#include "engine/base/backoff.h"
#include "tests/support/suite.h"

TEST(rests_double_up_to_the_longest)
{
  Backoff backoff = { 0 };
  const uint64_t rests_ns[] = { 10, 20, 40, 70, 70 };
  uint64_t now_ns = 1000;
  for (size_t i = 0; i < sizeof(rests_ns) / sizeof(rests_ns[0]); ++i) {
    backoff_fail(&backoff, 10, 70, now_ns);
    ck_assert_uint_eq(backoff.rest_ns, rests_ns[i]);
    ck_assert_uint_eq(backoff.at_ns, now_ns + rests_ns[i]);
    now_ns = backoff.at_ns + 70; // the latest failure that still counts as consecutive
  }
}

TEST(rests_restart_at_the_first_after_a_long_time_without_failure)
{
  Backoff backoff = { .rest_ns = 40, .at_ns = 1000 };
  backoff_fail(&backoff, 10, 70, 1071);
  ck_assert_uint_eq(backoff.rest_ns, 10);
  ck_assert_uint_eq(backoff.at_ns, 1081);
}

TEST(the_first_rest_is_not_longer_than_the_longest)
{
  ck_assert_uint_eq(backoff_next(0, 10, 7), 7);
  ck_assert_uint_eq(backoff_next(0, 10, 10), 10);
}

SUITE_MAIN("backoff")
