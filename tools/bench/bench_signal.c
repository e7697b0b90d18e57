// SPDX-License-Identifier: GPL-3.0-or-later
// Long signals in blocks, uncut or cut into pieces.

#include "bench_signal.h"

#include "dsp_gpu/gpu.h"

#include <math.h>

#define ROW_FLOATS   16U // rows begin at multiples, like those of a stage
#define BLOCK_FLOATS (GPU_ALIGNMENT / sizeof(float))

static size_t
parts(const size_t n, const size_t size)
{
  return (n + size - 1U) / size;
}

BenchSignal
bench_signal(const size_t n_frames, const uint32_t n_channels, const uint32_t n_cuts,
             const uint32_t run_in, const size_t block_frames)
{
  BenchSignal signal = { .n_frames = n_frames,
                         .n_channels = n_channels,
                         .n_cuts = n_cuts,
                         .run_in = run_in,
                         .n_rows = n_channels * n_cuts,
                         .piece_frames = parts(n_frames, n_cuts) };
  signal.row_frames = signal.piece_frames + run_in;
  // An even number of blocks makes all rounds equal, because a stage alternates between two
  // recordings.
  const size_t n_blocks = 2U * parts(signal.row_frames, 2U * block_frames);
  const size_t frames = parts(signal.row_frames, n_blocks);
  signal.block_frames = (uint32_t)(parts(frames, ROW_FLOATS) * ROW_FLOATS);
  signal.n_blocks = parts(signal.row_frames, signal.block_frames);
  signal.block_floats =
      parts((size_t)signal.n_rows * signal.block_frames, BLOCK_FLOATS) * BLOCK_FLOATS;
  signal.n_bytes = signal.n_blocks * signal.block_floats * sizeof(float);
  return signal;
}

uint32_t
bench_signal_frames(const BenchSignal* const signal, const size_t block)
{
  const size_t left = signal->row_frames - block * signal->block_frames;
  return (uint32_t)(left < signal->block_frames ? left : signal->block_frames);
}

/// The frame of the signal with which a row begins in a block; negative in the first run-in.
static int64_t
first_frame(const BenchSignal* const signal, const size_t block, const uint32_t row)
{
  return (int64_t)(row % signal->n_cuts * signal->piece_frames + block * signal->block_frames) -
         signal->run_in;
}

/// The integer hash "lowbias32" of C. Wellons, "Prospecting for Hash Functions", 2018.
static uint32_t
hash(uint32_t x)
{
  x ^= x >> 16U;
  x *= 0x7FEB352DU;
  x ^= x >> 15U;
  x *= 0x846CA68BU;
  return x ^ x >> 16U;
}

void
bench_signal_fill(const BenchSignal* const signal, float* const samples)
{
  for (size_t b = 0; b < signal->n_blocks; ++b) {
    for (uint32_t r = 0; r < signal->n_rows; ++r) {
      float* const row = samples + b * signal->block_floats + (size_t)r * signal->block_frames;
      const int64_t first = first_frame(signal, b, r);
      const uint32_t seed = hash(r / signal->n_cuts + 1U);
      for (uint32_t f = 0; f < signal->block_frames; ++f) {
        const int64_t frame = first + f;
        const bool is_there = frame >= 0 && frame < (int64_t)signal->n_frames;
        const uint32_t bits = hash(seed ^ (uint32_t)frame);
        row[f] = is_there ? (float)(bits >> 8U) / 16777216.0F - 0.5F : 0.0F;
      }
    }
  }
}

bool
bench_signal_agrees(const BenchSignal* const signal, const size_t block, const float* const samples,
                    const BenchSignal* const whole, const float* const whole_samples,
                    const float tolerance, BenchDifference* const at)
{
  for (uint32_t r = 0; r < signal->n_rows; ++r) {
    const float* const row = samples + (size_t)r * signal->block_frames;
    const uint32_t channel = r / signal->n_cuts;
    const int64_t first = first_frame(signal, block, r);
    const int64_t begin = (int64_t)(r % signal->n_cuts * signal->piece_frames);
    for (uint32_t f = 0; f < bench_signal_frames(signal, block); ++f) {
      const int64_t frame = first + f;
      if (frame < begin || frame >= (int64_t)signal->n_frames) {
        continue; // in the run-in, or after the end
      }
      const size_t there = (size_t)frame / whole->block_frames * whole->block_floats +
                           (size_t)channel * whole->block_frames +
                           (size_t)frame % whole->block_frames;
      if (!(fabsf(row[f] - whole_samples[there]) <= tolerance)) {
        *at = (BenchDifference){ channel, (size_t)frame, row[f], whole_samples[there] };
        return false;
      }
    }
  }
  return true;
}
