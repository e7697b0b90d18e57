// SPDX-License-Identifier: GPL-3.0-or-later
// A plan covers every tap once, gives each segment enough time, has the lowest cost of all plans,
// and costs far less than equal partitions.

#include "dsp_cpu/partition_plan.h"
#include "engine/contract/effect.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static void
check_plan(const uint32_t hop, const uint64_t n_taps)
{
  const PartitionPlan plan = partition_plan(hop, n_taps);
  ck_assert_uint_ge(plan.n_segments, 1);
  ck_assert_uint_le(plan.n_segments, PARTITION_MAX_SEGMENTS);
  ck_assert_uint_eq(plan.segments[0].frames, hop);
  for (uint32_t l = 0; l < plan.n_segments; ++l) {
    const PartitionSegment* const segment = &plan.segments[l];
    const uint64_t end = l + 1U < plan.n_segments ? plan.segments[l + 1U].first_tap : n_taps;
    const uint64_t covered = segment->first_tap + (uint64_t)segment->frames * segment->n_parts;
    ck_assert_msg(covered >= end && covered < end + segment->frames,
                  "hop %u, %llu taps, segment %u", hop, (unsigned long long)n_taps, l);
    ck_assert_uint_eq(segment->first_tap, l ? 2ULL * segment->frames : 0U);
    if (l) {
      ck_assert_uint_ge(segment->frames, 2U * hop);
      ck_assert_uint_gt(segment->frames, plan.segments[l - 1U].frames);
      ck_assert_uint_eq(segment->frames & (segment->frames - 1U), 0);
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
  for (uint32_t l = 0; l < plan.n_segments; ++l) {
    n += plan.segments[l].n_parts;
  }
  ck_assert_uint_le(n, 100); // equal partitions would be 2250
}

/// Cost of a segment from one tap to another.
static uint64_t
segment_cost(const uint64_t first, const uint64_t end, const uint32_t frames)
{
  return partition_segment_cost(frames, (end - first + frames - 1U) / frames, first == 0);
}

/// The lowest cost of any sequence of partition sizes.  Bit b of `sizes` stands for a segment of
/// 2^(PARTITION_MIN_LOG2 + b) frames.
static uint64_t
lowest_cost(const uint32_t hop, const uint64_t n_taps)
{
  const uint32_t n_sizes = PARTITION_MAX_LOG2 - PARTITION_MIN_LOG2 + 1U;
  uint64_t lowest = UINT64_MAX;
  for (uint32_t sizes = 0; sizes < 1U << n_sizes; ++sizes) {
    uint64_t cost = 0;
    uint64_t first = 0;
    uint32_t frames = hop;
    for (uint32_t b = 0; b < n_sizes; ++b) {
      const uint32_t next = 1U << (PARTITION_MIN_LOG2 + b);
      if (sizes >> b & 1U && next >= 2ULL * hop && 2ULL * next < n_taps) {
        cost += segment_cost(first, 2ULL * next, frames);
        first = 2ULL * next;
        frames = next;
      }
    }
    cost += segment_cost(first, n_taps, frames);
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
  for (uint32_t l = 0; l < plan.n_segments; ++l) {
    const PartitionSegment* const segment = &plan.segments[l];
    const uint64_t end = l + 1U < plan.n_segments ? plan.segments[l + 1U].first_tap : n_taps;
    ck_assert_uint_ge(segment->n_parts, 1);
    cost += segment_cost(segment->first_tap, end, segment->frames);
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
