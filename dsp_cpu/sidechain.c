// SPDX-License-Identifier: GPL-3.0-or-later
// The loops over channels of the dynamics effects.  The inner ones are functions of their own:
// inlined, gcc 12 no longer sees that the arrays are apart, and makes no vectors.

#include "sidechain.h"

#include "simd.h"

#include <string.h>

VECTOR_CLONES static void
raise_peak(float* const restrict peak, const float* const restrict in, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float magnitude = fabsf(in[i]);
    peak[i] = magnitude > peak[i] ? magnitude : peak[i];
  }
}

VECTOR_CLONES static void
multiply(float* const restrict out, const float* const restrict in,
         const float* const restrict gain, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    out[i] = in[i] * gain[i];
  }
}

void
sidechain_peak(const FxUnit* const io, const uint32_t n_channels, const uint32_t first,
               float* const peak, const uint32_t n_frames)
{
  memset(peak, 0, n_frames * sizeof(float));
  for (uint32_t c = 0; c < n_channels; ++c) {
    raise_peak(peak, io->in[c] + first, n_frames);
  }
}

void
sidechain_apply(const FxUnit* const io, const uint32_t n_channels, const uint32_t first,
                const float* const gain, const uint32_t n_frames)
{
  for (uint32_t c = 0; c < n_channels; ++c) {
    multiply(io->out[c] + first, io->in[c] + first, gain, n_frames);
  }
}
