// SPDX-License-Identifier: GPL-3.0-or-later
// Percentiles follow the nearest-rank definition and do not depend on the order of the values.

#include "engine/base/percentiles.h"
#include "tests/support/suite.h"

TEST(percentiles_of_a_hundred_values_in_any_order)
{
  double values[100];
  for (int i = 0; i < 100; ++i) {
    values[i] = (double)((i * 37) % 100 + 1); // 1..100, shuffled
  }
  const Percentiles p = percentiles_of(values, 100);
  ck_assert_double_eq(p.p50, 50.0);
  ck_assert_double_eq(p.p99, 99.0);
  ck_assert_double_eq(p.p999, 100.0);
  ck_assert_double_eq(p.max, 100.0);
  ck_assert_double_eq(p.mean, 50.5);
}

TEST(percentiles_of_few_values_and_of_none)
{
  double one[] = { 3.0 };
  ck_assert_double_eq(percentiles_of(one, 1).p50, 3.0);
  ck_assert_double_eq(percentiles_of(one, 1).p99, 3.0);
  double three[] = { 9.0, 1.0, 5.0 };
  ck_assert_double_eq(percentiles_of(three, 3).p50, 5.0);
  ck_assert_double_eq(percentiles_of(three, 3).p99, 9.0);
  ck_assert_double_eq(percentiles_of(NULL, 0).max, 0.0);
}

TEST(a_median_is_known_when_half_of_the_values_are_close_to_it)
{
  double values[128];
  for (uint32_t spread = 0; spread < 2U; ++spread) {
    for (uint32_t i = 0; i < 128U; ++i) {
      const double off = (double)((i * 37U) % 128U) - 63.5; // -63.5 to 63.5, shuffled
      values[i] = 100.0 + off * (spread ? 1.0 : 0.3);       // ranks 52 and 77 are 12 to 13 off
    }
    ck_assert_int_eq(percentiles_median_is_precise(values, 128, 0.05), spread == 0U);
    ck_assert(percentiles_median_is_precise(values, 128, 0.15));
  }
  for (uint32_t i = 0; i < 128U; ++i) {
    values[i] = i % 5U ? 100.0 : 1e6; // late blocks do not hide it
  }
  ck_assert(percentiles_median_is_precise(values, 128, 0.05));
  ck_assert(!percentiles_median_is_precise(values, 5, 0.05)); // too few
  ck_assert(!percentiles_median_is_precise(values, 0, 0.05));
}

SUITE_MAIN("percentiles")
