// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The samples of a delay line (dsp_cpu/shared/tap.h), written and read in spans.  The caller owns
   them, a ring of `size` floats for each channel.
*/
#ifndef WARPRACK_DSP_CPU_DELAY_LINE_H
#define WARPRACK_DSP_CPU_DELAY_LINE_H

#include "dsp_cpu/shared/tap.h"
#include "engine/contract/ramp.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/// Write the next n_frames <= size frames of one channel. delay_line_advance(), once for all
/// channels, completes the write.
static inline void
delay_line_put(const DelayLine* const line, float* const ring, const float* const in,
               const uint32_t n_frames)
{
  const uint32_t to_end = line->size - line->position;
  const uint32_t n_first = n_frames < to_end ? n_frames : to_end;
  memcpy(ring + line->position, in, n_first * sizeof(float));
  memcpy(ring, in + n_first, (n_frames - n_first) * sizeof(float));
}

/// The place in the ring of the frame `delay` <= size frames before the next one to be written.
static inline uint32_t
delay_line_place(const DelayLine* const line, const uint32_t delay)
{
  return line->position - delay + (delay > line->position ? line->size : 0U);
}

/// True if the frames of delay_line_get() are written and lie in one piece.
static inline bool
delay_line_has(const DelayLine* const line, const uint32_t delay, const uint32_t n_frames)
{
  return delay <= line->filled && line->size - delay_line_place(line, delay) >= n_frames;
}

/// Read n_frames frames, the first of them `delay` frames before the next one to be written.
/// n_frames <= delay <= size.
static inline void
delay_line_get(const DelayLine* const line, const float* const ring, const uint32_t delay,
               float* const out, const uint32_t n_frames)
{
  const uint32_t missing = delay > line->filled ? delay - line->filled : 0U;
  const uint32_t n_silent = missing < n_frames ? missing : n_frames;
  memset(out, 0, n_silent * sizeof(float));

  const uint32_t start = delay_line_place(line, delay - n_silent);
  const uint32_t n = n_frames - n_silent;
  const uint32_t to_end = line->size - start;
  const uint32_t n_first = n < to_end ? n : to_end;
  memcpy(out + n_silent, ring + start, n_first * sizeof(float));
  memcpy(out + n_silent + n_first, ring, (n - n_first) * sizeof(float));
}

/// Write the weights of `next` for a span, shared by all channels; advances the tap.
static inline void
tap_weights(Tap* const tap, float* const weights, const uint32_t n_frames)
{
  ramp_fill(&tap->fade, weights, n_frames);
}

/// Read a span at the tap's delay plus `offset` frames.
static inline void
tap_get(const Tap* const tap, const DelayLine* const line, const float* const ring,
        const uint32_t offset, const float* const weights, float* const restrict out,
        float* const restrict scratch, const uint32_t n_frames)
{
  delay_line_get(line, ring, tap->now + offset, out, n_frames);
  if (tap->next != tap->now) {
    delay_line_get(line, ring, tap->next + offset, scratch, n_frames);
    for (uint32_t i = 0; i < n_frames; ++i) {
      out[i] += weights[i] * (scratch[i] - out[i]);
    }
  }
}

#endif
