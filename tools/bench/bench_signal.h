// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Long signals for benchmarks, laid out in blocks as the stages of a device expect their rows:

       sample f of row r in block b is at b * block_floats + r * block_frames + f

   A row is a channel or a piece of one, so that a cut signal has many rows even if it has few
   channels.  A filter needs the samples before its piece: each piece therefore begins with a
   run-in, which is the end of the piece before, or silence before the first piece.  The output of a
   run-in is ignored.  The result is exact for filters without feedback that are no longer than the
   run-in, and approximate for others.
*/
#ifndef WARPRACK_TOOLS_BENCH_BENCH_SIGNAL_H
#define WARPRACK_TOOLS_BENCH_BENCH_SIGNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct BenchSignal {
  size_t n_frames;
  uint32_t n_channels;
  uint32_t n_cuts;       ///< Pieces of each channel, side by side; 1: not cut
  uint32_t run_in;       ///< Frames before each piece
  uint32_t n_rows;       ///< n_channels * n_cuts; the pieces of a channel are neighbours
  size_t piece_frames;   ///< Frames of the signal in a row
  size_t row_frames;     ///< Including the run-in
  uint32_t block_frames; ///< A multiple of 16
  size_t n_blocks;
  size_t block_floats; ///< Distance of two blocks; blocks begin at multiples of GPU_ALIGNMENT
  size_t n_bytes;
} BenchSignal;

/**
   Compute the layout of a signal.

   @param n_cuts Pieces of each channel; 1, with run_in 0: the signal is not cut.
   @param block_frames Approximate; the result has an even number of equal blocks.
*/
BenchSignal bench_signal(size_t n_frames, uint32_t n_channels, uint32_t n_cuts, uint32_t run_in,
                         size_t block_frames);

/// Frames of a block: all but the last have block_frames.
uint32_t bench_signal_frames(const BenchSignal* signal, size_t block);

/// Noise in [-0.5, 0.5), the same for a channel and frame in all layouts.
void bench_signal_fill(const BenchSignal* signal, float* samples);

/// A place where two signals differ.
typedef struct BenchDifference {
  uint32_t channel;
  size_t frame;
  float is, should;
} BenchDifference;

/**
   Compare a block, without run-ins, with the same signal uncut.

   @param samples Samples of the block, shape [block_floats].
   @param whole_samples Samples of `whole`.
   @param[out] at The first place where they differ by more than `tolerance`.
   @return True if there is no such place.
*/
bool bench_signal_agrees(const BenchSignal* signal, size_t block, const float* samples,
                         const BenchSignal* whole, const float* whole_samples, float tolerance,
                         BenchDifference* at);

#endif
