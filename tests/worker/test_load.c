// SPDX-License-Identifier: GPL-3.0-or-later
// The load covers the last 10 to 20 s: quantiles and maximum of the values in that time.

#include "engine/worker/load.h"
#include "tests/support/suite.h"

#include <math.h>

#define S_NS UINT64_C(1000000000)

static Load load;

TEST(quantiles_are_edges_of_bins_and_never_above_the_largest)
{
  for (uint32_t i = 0; i < 99; ++i) {
    load_add(&load, S_NS, 0.101);
  }
  load_add(&load, S_NS, 0.5);
  ck_assert_double_eq_tol(load_quantile(&load, 0.5), 0.1025, 1e-9);
  ck_assert_double_eq_tol(load_quantile(&load, 0.99), 0.1025, 1e-9);
  ck_assert_double_eq(load_quantile(&load, 1.0), 0.5);
  load_add(&load, S_NS, 7.0); // above the last bin
  ck_assert_double_eq(load_quantile(&load, 1.0), 7.0);
  load_reset(&load);
  ck_assert_double_eq(load_quantile(&load, 0.5), 0.0);
  ck_assert_double_eq(load_largest(&load), 0.0);
}

TEST(past_values_expire_after_ten_to_twenty_seconds)
{
  const uint64_t begin_ns = 100U * S_NS;
  load_add(&load, begin_ns, 0.1);
  load_add(&load, begin_ns + LOAD_HALF_NS - 1U, 0.9);
  for (uint32_t i = 0; i < 100; ++i) {
    load_add(&load, begin_ns + LOAD_HALF_NS, 0.2);
  }
  ck_assert_double_eq(load_largest(&load), 0.9); // in the older half of the window
  load_add(&load, begin_ns + 2U * LOAD_HALF_NS, 0.3);
  ck_assert_double_eq(load_largest(&load), 0.3);
  ck_assert_double_eq_tol(load_quantile(&load, 0.5), 0.2025, 1e-9);
}

TEST(values_before_a_long_silence_expire_with_the_next_block)
{
  const uint64_t begin_ns = 100U * S_NS;
  load_add(&load, begin_ns, 0.9);
  load_add(&load, begin_ns + LOAD_HALF_NS, 0.8);
  load_add(&load, begin_ns + 3U * LOAD_HALF_NS - 1U, 0.7);
  ck_assert_double_eq(load_largest(&load), 0.8); // 1 ns less than 20 s old
  load_add(&load, begin_ns + 6U * LOAD_HALF_NS, 0.2);
  ck_assert_double_eq(load_largest(&load), 0.2);
}

TEST(each_bound_is_in_its_bucket_and_all_above_the_last_in_the_last)
{
  for (uint32_t b = 0; b + 1U < LOAD_BUCKETS; ++b) {
    ck_assert(load_bounds[b] < load_bounds[b + 1U]);
    ck_assert_uint_eq(load_bucket(load_bounds[b]), b);
    ck_assert_uint_eq(load_bucket(nextafter(load_bounds[b], 1e9)), b + 1U);
  }
  ck_assert_uint_eq(load_bucket(0.0), 0);
  ck_assert_uint_eq(load_bucket(1e30), LOAD_BUCKETS - 1U);
}

SUITE_MAIN("load")
