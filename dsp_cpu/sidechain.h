// SPDX-License-Identifier: GPL-3.0-or-later
/**
   How dynamics effects look at their channels and act on them: one loudest magnitude per frame in,
   one gain per frame out, for a single channel or for all channels of a linked node.
*/
#ifndef WARPRACK_DSP_CPU_SIDECHAIN_H
#define WARPRACK_DSP_CPU_SIDECHAIN_H

#include "../engine/effect.h"

#include <math.h>

#define SIDECHAIN_CHUNK 64U // frames at a time: every scratch array stays in the first-level cache

/// peak[i] = the largest |in[c][first + i]| over the channels.  A NaN does not count.
static inline void
sidechain_peak(const FxUnit* const io, const uint32_t n_channels, const uint32_t first,
               float* const restrict peak, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    peak[i] = 0.0F;
  }
  for (uint32_t c = 0; c < n_channels; ++c) {
    const float* const restrict in = io->in[c] + first;
    for (uint32_t i = 0; i < n_frames; ++i) {
      const float magnitude = fabsf(in[i]);
      peak[i] = magnitude > peak[i] ? magnitude : peak[i];
    }
  }
}

/// out[c] = in[c] * gain, for every channel.
static inline void
sidechain_apply(const FxUnit* const io, const uint32_t n_channels, const uint32_t first,
                const float* const restrict gain, const uint32_t n_frames)
{
  for (uint32_t c = 0; c < n_channels; ++c) {
    const float* const restrict in = io->in[c] + first;
    float* const restrict out = io->out[c] + first;
    for (uint32_t i = 0; i < n_frames; ++i) {
      out[i] = in[i] * gain[i];
    }
  }
}

/// Pole of a one-pole smoother that covers 1 - 1/e of a step in `ms`; 0 ms is no smoothing.
static inline double
sidechain_pole(const double ms, const double rate_hz)
{
  return ms > 0.0 ? exp(-1000.0 / (ms * rate_hz)) : 0.0;
}

#endif
