// SPDX-License-Identifier: GPL-3.0-or-later
// The cross-fade of one instance to its input.

#include "host_bypass.h"

#include "engine/contract/input_line.h"

#include <string.h>

bool
bypass_is_dry(const Bypass* const bypass)
{
  return !bypass->weight.frames_left && bypass->weight.target == 1.0F;
}

/// The input for an output, delayed, or silence.  `delayed` is memory for it.
static const float*
dry_row(const BypassShape* const shape, const FxUnit* const io, const uint32_t output,
        float* const delayed, const uint32_t n_frames)
{
  if (!shape->n_in) {
    memset(delayed, 0, n_frames * sizeof(float));
    return delayed;
  }
  const uint32_t channel = output < shape->n_in ? output : shape->n_in - 1U;
  return fx_dry_row(io, channel, delayed, n_frames);
}

/// Continue an output that has ended.
static void
continue_row(float* const value, const bool begins, const float* const dry, float* const out,
             const uint32_t n_frames)
{
  *value -= begins ? dry[0] : 0.0F;
  for (uint32_t i = 0; i < n_frames; ++i) {
    out[i] = dry[i] + *value;
  }
}

static void
mix_dry(Bypass* const bypass, const BypassShape* const shape, const BypassHold* const hold,
        const FxUnit* const io, const uint32_t n_frames)
{
  float delayed[FX_MAX_BLOCK];
  float weights[FX_MAX_BLOCK];
  const bool is_at_rest = bypass->weight.frames_left == 0U;
  if (!is_at_rest) {
    ramp_fill_within(&bypass->weight, 0.0F, 1.0F, weights, n_frames);
  }
  for (uint32_t o = 0; o < shape->n_out; ++o) {
    float* const out = io->out[o];
    const float* const dry = dry_row(shape, io, o, delayed, n_frames);
    if (hold) {
      continue_row(&hold->values[o], hold->begins, dry, out, n_frames);
    }
    if (is_at_rest) {
      memcpy(out, dry, n_frames * sizeof(float));
    }
    for (uint32_t i = 0; !is_at_rest && i < n_frames; ++i) {
      out[i] = (1.0F - weights[i]) * out[i] + weights[i] * dry[i];
    }
  }
}

void
bypass_run(Bypass* const bypass, const BypassShape* const shape, const bool is_bypassed,
           const BypassHold* const hold, const FxUnit* const io, const uint32_t n_frames)
{
  ramp_aim(&bypass->weight, is_bypassed ? 1.0F : 0.0F, shape->fade_frames);
  if (is_bypassed || bypass->weight.frames_left) {
    mix_dry(bypass, shape, hold, io, n_frames);
  }
}
