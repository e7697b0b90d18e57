// SPDX-License-Identifier: GPL-3.0-or-later
/// Rows of audio in memory: one channel of one block each, one behind the other.
#ifndef WARPRACK_ENGINE_BASE_ROWS_H
#define WARPRACK_ENGINE_BASE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#define ROWS_LINE_FRAMES 16U  // 64 bytes
#define ROWS_SET_FRAMES  256U // 1 KiB: a quarter of the distance at which lines share a set

/**
   Frames from one row to the next: whole cache lines, so that aligned rows stay aligned.

   A filter reads the same frames of many rows at a time.  If rows were a power of two apart, these
   would be in a few sets of the first-level cache, which has 64 sets of one line per way, and evict
   each other.  Therefore such rows are one line further apart. [any]
*/
static inline size_t
rows_distance(const uint32_t block_frames)
{
  const size_t frames = ((size_t)block_frames + ROWS_LINE_FRAMES - 1U) & ~(ROWS_LINE_FRAMES - 1ULL);
  return frames + (frames % ROWS_SET_FRAMES == 0U ? ROWS_LINE_FRAMES : 0U);
}

#endif
