// SPDX-License-Identifier: GPL-3.0-or-later
/**
   How an impulse response is cut into partitions of growing sizes.

   Segment 0 has partitions of one hop and computes its output at once.  A later segment with
   partitions of P frames begins at tap 2P: its input is complete when a partition ends, P frames
   before the first output that depends on it, so that the segment can spread its work over the time
   of one partition (Gardner, "Efficient Convolution without Input-Output Delay", JAES 43(3), 1995).
   The plan is the cheapest of all sequences of powers of two (García, "Optimal Filter Partition for
   Efficient Convolution with Short Input/Output Delay", AES 113, 2002, paper 5660), found by
   dynamic programming from the last tap to the first:

       taps   0         2P1                        2P2                                    end
              | hop x n0 |        P1 x n1           |               P2 x n2                |
*/
#ifndef WARPRACK_DSP_CPU_PARTITION_PLAN_H
#define WARPRACK_DSP_CPU_PARTITION_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define PARTITION_MIN_LOG2 5U  // 32 frames: the overhead of smaller partitions exceeds their gain
#define PARTITION_MAX_LOG2 15U // 32768 frames: longer columns are slow; 16 such partitions are 10 s
/// One for the size of a hop, and one for each power of two.
#define PARTITION_MAX_SEGMENTS (2U + PARTITION_MAX_LOG2 - PARTITION_MIN_LOG2)

typedef struct PartitionSegment {
  uint32_t frames;    ///< Per partition; a power of two in all but segment 0
  uint32_t n_parts;   ///< At least 1
  uint64_t first_tap; ///< 0, or 2 * frames
} PartitionSegment;

typedef struct PartitionPlan {
  PartitionSegment segments[PARTITION_MAX_SEGMENTS];
  uint32_t n_segments; ///< At least 1
} PartitionPlan;

/// Cost per frame of a segment, with half the product of one partition as the unit (measured:
/// tools/bench/bench_conv.c): the transforms, and the products, which cost half as much where
/// several partitions of output share the reading of the spectra (segment.h). [any]
uint64_t partition_segment_cost(uint32_t frames, uint64_t n_parts, bool is_first);

/// The cheapest plan for a response of n_taps >= 1 at a hop of hop_frames in [1, 8192]. [any]
PartitionPlan partition_plan(uint32_t hop_frames, uint64_t n_taps);

#endif
