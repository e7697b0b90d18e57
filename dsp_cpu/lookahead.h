// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A gain that falls before it is required: from required gains r[n] in (0, 1] it computes a smooth
   gain g[n] with

     g[n] <= r[n - L]     L = look-ahead in frames

   so that a signal delayed by L frames never exceeds the ceiling from which r was computed.  Three
   steps:

   1. m[n] = min(r[n-L] .. r[n]): sliding minimum by M. van Herk, Pattern Recognition Letters
      13(7), 1992, and J. Gil, M. Werman, IEEE PAMI 15(5), 1993, in its streaming form: running
      minimum of the current block of L+1 values, and minima from each place to the end of the
      previous block.  It takes three comparisons per frame, one pass over the block every L+1
      frames, and fixed memory.
   2. e[n] = m[n] if m[n] <= e[n-1], else m[n] + release (e[n-1] - m[n]); always e <= m.
   3. g = mean of e over L+1 frames, by two box filters in series (together a trapezium, so that the
      gain has no corners).  Every e in the window is at most r[n-L], because its minimum includes
      r[n-L]: hence the bound.

   The boxes are running sums of integers (E. Hogenauer, IEEE ASSP 29(2), 1981), which are exact, so
   the gain does not drift in weeks of running.  Gains are integer multiples of 2^-36, rounded down;
   for signals more than 216 dB above the ceiling the gain is 0.
*/
#ifndef WARPRACK_DSP_CPU_LOOKAHEAD_H
#define WARPRACK_DSP_CPU_LOOKAHEAD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define LOOKAHEAD_ONE        ((uint64_t)1 << 36U)
#define LOOKAHEAD_MAX_FRAMES 16000U // two boxes of half this length sum up to 2^62

/// The state; the caller owns its memory, lookahead_words() words.
typedef struct Lookahead {
  uint32_t window;     ///< L + 1 frames
  uint32_t box[2];     ///< Lengths; box[0] + box[1] - 1 == window
  uint32_t minimum_at; ///< Place in the current block
  uint32_t box_at[2];  ///< Places in the rings
  float block_minimum; ///< Minimum of the current block so far
  double released;     ///< e
  double scale;        ///< Factor from the second sum to a gain
  uint64_t sum[2];     ///< Running sums
} Lookahead;

/// Words of memory for a look-ahead of `frames`: the rings of both boxes, then [window] floats.
static inline size_t
lookahead_words(const uint32_t frames)
{
  return ((size_t)frames + 2U) + ((size_t)frames + 2U) / 2U;
}

static inline float*
lookahead_minima(const Lookahead* const ahead, uint64_t* const memory)
{
  return (float*)(memory + ahead->box[0] + ahead->box[1]);
}

/// Initialise to a gain of 1, for a look-ahead of `frames` <= LOOKAHEAD_MAX_FRAMES.
static inline void
lookahead_init(Lookahead* const ahead, uint64_t* const memory, const uint32_t frames)
{
  const uint32_t first_box = frames / 2U + 1U;
  const uint32_t second_box = frames + 2U - first_box;
  const uint64_t first_sum = LOOKAHEAD_ONE * first_box;
  *ahead = (Lookahead){ .window = frames + 1U,
                        .box = { first_box, second_box },
                        .block_minimum = INFINITY,
                        .released = 1.0,
                        .scale = 1.0 / ((double)first_sum * second_box),
                        .sum = { first_sum, first_sum * second_box } };
  for (uint32_t i = 0; i < first_box; ++i) {
    memory[i] = LOOKAHEAD_ONE;
  }
  for (uint32_t i = 0; i < second_box; ++i) {
    memory[first_box + i] = first_sum;
  }
  for (uint32_t i = 0; i < ahead->window; ++i) {
    lookahead_minima(ahead, memory)[i] = 1.0F;
  }
}

/// The smallest of the last `window` values, including `value`.
static inline float
lookahead_minimum(Lookahead* const ahead, float* const minima, const float value)
{
  const uint32_t at = ahead->minimum_at;
  const uint32_t window = ahead->window;
  ahead->block_minimum = value < ahead->block_minimum ? value : ahead->block_minimum;
  float lowest = ahead->block_minimum;
  if (at + 1U < window) {
    lowest = minima[at + 1U] < lowest ? minima[at + 1U] : lowest;
  }
  minima[at] = value;
  ahead->minimum_at = at + 1U;
  if (at + 1U == window) {
    for (uint32_t i = window - 1U; i > 0U; --i) {
      minima[i - 1U] = minima[i] < minima[i - 1U] ? minima[i] : minima[i - 1U];
    }
    ahead->minimum_at = 0U;
    ahead->block_minimum = INFINITY;
  }
  return lowest;
}

/// The sum of the last box[b] values, including `value`.
static inline uint64_t
lookahead_box(Lookahead* const ahead, const uint32_t b, uint64_t* const ring, const uint64_t value)
{
  const uint32_t at = ahead->box_at[b];
  ahead->sum[b] += value - ring[at];
  ring[at] = value;
  ahead->box_at[b] = at + 1U < ahead->box[b] ? at + 1U : 0U;
  return ahead->sum[b];
}

/// The last smooth gain.
static inline float
lookahead_gain(const Lookahead* const ahead)
{
  return (float)((double)(int64_t)ahead->sum[1] * ahead->scale);
}

/// Convert required gains in (0, 1] to smooth ones, in place.
static inline void
lookahead_run(Lookahead* const ahead, uint64_t* const memory, const double release_pole,
              float* const gain, const uint32_t n_frames)
{
  float* const minima = lookahead_minima(ahead, memory);
  uint64_t* const rings[] = { memory, memory + ahead->box[0] };
  for (uint32_t i = 0; i < n_frames; ++i) {
    const double lowest = lookahead_minimum(ahead, minima, gain[i]);
    const double above = ahead->released - lowest;
    ahead->released = above > 0.0 ? lowest : lowest + release_pole * above;
    const uint64_t whole = (uint64_t)(int64_t)(ahead->released * (double)LOOKAHEAD_ONE);
    const uint64_t inner = lookahead_box(ahead, 0, rings[0], whole);
    const uint64_t sum = lookahead_box(ahead, 1, rings[1], inner);
    gain[i] = (float)((double)(int64_t)sum * ahead->scale);
  }
}

#endif
