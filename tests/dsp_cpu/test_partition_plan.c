// SPDX-License-Identifier: GPL-3.0-or-later
// A plan covers every tap once, gives each level enough time, has the lowest cost of all plans, and
// costs far less than equal partitions.

#include "dsp_cpu/partition_plan.h"
#include "engine/contract/effect.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static void
check_plan(const uint32_t hop, const uint64_t n_taps)
{
  const PartitionPlan plan = partition_plan(hop, n_taps);
  ck_assert_uint_ge(plan.n_levels, 1);
  ck_assert_uint_le(plan.n_levels, PARTITION_MAX_LEVELS);
  ck_assert_uint_eq(plan.levels[0].frames, hop);
  for (uint32_t l = 0; l < plan.n_levels; ++l) {
    const PartitionLevel* const level = &plan.levels[l];
    const uint64_t end = l + 1U < plan.n_levels ? plan.levels[l + 1U].first_tap : n_taps;
    const uint64_t covered = level->first_tap + (uint64_t)level->frames * level->n_parts;
    ck_assert_msg(covered >= end && covered < end + level->frames, "hop %u, %llu taps, level %u",
                  hop, (unsigned long long)n_taps, l);
    ck_assert_uint_eq(level->first_tap, l ? 2ULL * level->frames : 0U);
    if (l) {
      ck_assert_uint_ge(level->frames, 2U * hop);
      ck_assert_uint_gt(level->frames, plan.levels[l - 1U].frames);
      ck_assert_uint_eq(level->frames & (level->frames - 1U), 0);
    }
  }
}

TEST(every_tap_is_covered_once_and_in_time)
{
  static const uint32_t hops[] = { 1, 16, 31, 64, 100, 480, 1000, 4096, 8192 };
  static const uint64_t taps[] = { 1, 2, 63, 64, 65, 1000, 4097, 48000, 500000, 10000000 };
  for (size_t h = 0; h < ARRAY_LEN(hops); ++h) {
    for (size_t t = 0; t < ARRAY_LEN(taps); ++t) {
      check_plan(hops[h], taps[t]);
    }
  }
}

TEST(the_number_of_partitions_grows_slowly)
{
  const PartitionPlan plan = partition_plan(64, 144000);
  uint32_t n = 0;
  for (uint32_t l = 0; l < plan.n_levels; ++l) {
    n += plan.levels[l].n_parts;
  }
  ck_assert_uint_le(n, 100); // equal partitions would be 2250
}

/// Cost of a level from one tap to another.
static uint64_t
level_cost(const uint64_t first, const uint64_t end, const uint64_t frames)
{
  return PARTITION_LEVEL_COST + (end - first + frames - 1U) / frames;
}

/// The lowest cost of any sequence of partition sizes.  Bit b of `sizes` stands for a level of
/// 2^(PARTITION_MIN_LOG2 + b) frames.
static uint64_t
lowest_cost(const uint32_t hop, const uint64_t n_taps)
{
  const uint32_t n_sizes = PARTITION_MAX_LOG2 - PARTITION_MIN_LOG2 + 1U;
  uint64_t lowest = UINT64_MAX;
  for (uint32_t sizes = 0; sizes < 1U << n_sizes; ++sizes) {
    uint64_t cost = 0;
    uint64_t first = 0;
    uint64_t frames = hop;
    for (uint32_t b = 0; b < n_sizes; ++b) {
      const uint64_t next = 1ULL << (PARTITION_MIN_LOG2 + b);
      if (sizes >> b & 1U && next >= 2ULL * hop && 2U * next < n_taps) {
        cost += level_cost(first, 2U * next, frames);
        first = 2U * next;
        frames = next;
      }
    }
    cost += level_cost(first, n_taps, frames);
    lowest = cost < lowest ? cost : lowest;
  }
  return lowest;
}

static void
check_cost(const uint32_t hop, const uint64_t n_taps)
{
  const PartitionPlan plan = partition_plan(hop, n_taps);
  const uint64_t lowest = lowest_cost(hop, n_taps);
  uint64_t cost = 0;
  for (uint32_t l = 0; l < plan.n_levels; ++l) {
    const PartitionLevel* const level = &plan.levels[l];
    const uint64_t end = l + 1U < plan.n_levels ? plan.levels[l + 1U].first_tap : n_taps;
    ck_assert_uint_ge(level->n_parts, 1);
    cost += level_cost(level->first_tap, end, level->frames);
  }
  ck_assert_msg(cost == lowest, "hop %u, %llu taps: %llu, not %llu", hop,
                (unsigned long long)n_taps, (unsigned long long)cost, (unsigned long long)lowest);
}

TEST(no_other_sequence_of_sizes_is_cheaper)
{
  static const uint32_t hops[] = { 1, 16, 33, 64, 480, 4096, 8192 };
  for (size_t h = 0; h < ARRAY_LEN(hops); ++h) {
    for (uint64_t n_taps = 1; n_taps < 10000000U; n_taps += n_taps / 16U + 1U) {
      check_cost(hops[h], n_taps);
    }
    for (uint32_t size = PARTITION_MIN_LOG2; size <= PARTITION_MAX_LOG2 + 1U; ++size) {
      check_cost(hops[h], 1ULL << size);
      check_cost(hops[h], (1ULL << size) + 1U);
    }
  }
}

SUITE_MAIN("partition plan")
