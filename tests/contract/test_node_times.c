// SPDX-License-Identifier: GPL-3.0-or-later
// The percentiles are those of the last times, which older ones do not change.

#include "engine/contract/node_times.h"
#include "tests/support/suite.h"

#include <string.h>

static void
assert_times(const NodeTimes* const times, const uint32_t p50_ns, const uint32_t p99_ns)
{
  uint32_t found[2] = { 7, 7 };
  ck_assert(node_times_read(times, &found[0], &found[1]) == (p99_ns > 0U));
  ck_assert_uint_eq(found[0], p50_ns);
  ck_assert_uint_eq(found[1], p99_ns);
}

TEST(times_are_zero_before_the_first_measurement)
{
  const NodeTimes times = { .n = 0 };
  assert_times(&times, 0, 0);
}

TEST(the_last_times_count)
{
  NodeTimes times = { .n = 0 };
  node_times_add(&times, 5000);
  assert_times(&times, 5000, 5000);
  node_times_add(&times, 100);
  assert_times(&times, 100, 5000);
  for (uint32_t ns = 1; ns <= 3U * NODE_TIMES; ++ns) {
    node_times_add(&times, ns);
  }
  assert_times(&times, 5U * NODE_TIMES / 2U, 3U * NODE_TIMES);
}

TEST(the_number_of_measurements_may_wrap)
{
  NodeTimes times = { .n = UINT32_MAX };
  memset(times.ns, 1, sizeof(times.ns));
  node_times_add(&times, 3);
  ck_assert_uint_eq(times.n, 0);
  node_times_add(&times, 4);
  assert_times(&times, 4, 4);
}

SUITE_MAIN("node_times")
