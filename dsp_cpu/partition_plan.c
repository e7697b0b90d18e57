// SPDX-License-Identifier: GPL-3.0-or-later
// The cheapest cut of an impulse response; see partition_plan.h.

#include "partition_plan.h"

#define N_SIZES (PARTITION_MAX_LOG2 + 1U)
#define NONE    UINT32_MAX

#define SHARING_LOG2 8U // from this size on, segments have the 4 rows that share products

/// The cheapest way to cover the taps from 2 * 2^log2 to the end, beginning with partitions of
/// 2^log2.
typedef struct Choice {
  uint64_t cost;
  uint32_t next; ///< log2 of the following segment, or NONE
} Choice;

static uint64_t
parts(const uint64_t n_taps, const uint64_t frames)
{
  return (n_taps + frames - 1U) / frames;
}

uint64_t
partition_segment_cost(const uint32_t frames, const uint64_t n_parts, const bool is_first)
{
  uint32_t log2 = 0;
  while (1U << log2 < frames) {
    ++log2;
  }
  return 4U * log2 + (is_first || log2 < SHARING_LOG2 ? 2U : 1U) * n_parts;
}

/// Cost of the segment with this first tap up to another tap.
static uint64_t
cost_until(const uint64_t first_tap, const uint32_t frames, const uint64_t end)
{
  return partition_segment_cost(frames, parts(end - first_tap, frames), first_tap == 0);
}

/// The cheapest of this segment, which covers the taps to the end or to the next one.
static Choice
choose(const uint64_t first_tap, const uint32_t frames, const uint64_t n_taps,
       const uint32_t smallest_next, const Choice* const choices)
{
  Choice best = { .cost = cost_until(first_tap, frames, n_taps), .next = NONE };
  for (uint32_t next = smallest_next; next <= PARTITION_MAX_LOG2; ++next) {
    const uint64_t end = 2U << next;
    if (end < n_taps) {
      const uint64_t cost = cost_until(first_tap, frames, end) + choices[next].cost;
      best = cost < best.cost ? (Choice){ .cost = cost, .next = next } : best;
    }
  }
  return best;
}

PartitionPlan
partition_plan(const uint32_t hop_frames, const uint64_t n_taps)
{
  Choice choices[N_SIZES] = { { 0 } };
  for (uint32_t size = PARTITION_MAX_LOG2; size >= PARTITION_MIN_LOG2; --size) {
    if ((2ULL << size) < n_taps) {
      choices[size] = choose(2ULL << size, 1U << size, n_taps, size + 1U, choices);
    }
  }
  // At least two hops: a smaller segment would have less than one hop of time for its work.
  uint32_t smallest = PARTITION_MIN_LOG2;
  while ((1U << smallest) < 2U * hop_frames) {
    ++smallest;
  }
  const Choice head = choose(0, hop_frames, n_taps, smallest, choices);

  PartitionPlan plan = { .n_segments = 0 };
  uint64_t first_tap = 0;
  uint32_t frames = hop_frames;
  uint32_t next = head.next;
  while (true) {
    const uint64_t end = next == NONE ? n_taps : 2ULL << next;
    plan.segments[plan.n_segments++] = (PartitionSegment){
      .frames = frames, .n_parts = (uint32_t)parts(end - first_tap, frames), .first_tap = first_tap
    };
    if (next == NONE) {
      return plan;
    }
    first_tap = end;
    frames = 1U << next;
    next = choices[next].next;
  }
}
