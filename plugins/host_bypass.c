// SPDX-License-Identifier: GPL-3.0-or-later
// The bypass of one instance, and its delay lines.

#include "host_bypass.h"

#include <string.h>

size_t
bypass_line_frames(const BypassShape* const shape)
{
  return shape->max_latency_frames ? (size_t)shape->max_latency_frames + shape->max_block_frames
                                   : 0U;
}

Bypass
bypass_at(const bool is_bypassed, const uint32_t latency_frames, float* const lines)
{
  return (Bypass){ .weight = ramp_at(is_bypassed ? 1.0F : 0.0F),
                   .latency_frames = latency_frames,
                   .lines = lines };
}

bool
bypass_move(Bypass* const bypass, const BypassShape* const shape, const uint32_t latency_frames)
{
  const bool is_heard = bypass->weight.frames_left || bypass->weight.target != 0.0F;
  if (!is_heard) {
    const uint32_t longest = shape->max_latency_frames;
    bypass->latency_frames = latency_frames < longest ? latency_frames : longest;
    bypass->position = bypass->n_filled = 0;
  }
  return !is_heard;
}

bool
bypass_is_dry(const Bypass* const bypass)
{
  return !bypass->weight.frames_left && bypass->weight.target == 1.0F;
}

/// The part of a line in use: it is written in a circle.
static uint32_t
circle_frames(const Bypass* const bypass, const BypassShape* const shape)
{
  return bypass->latency_frames + shape->max_block_frames;
}

static float*
line_of(const Bypass* const bypass, const BypassShape* const shape, const uint32_t channel)
{
  return bypass->lines + channel * bypass_line_frames(shape);
}

static void
line_put(const Bypass* const bypass, const BypassShape* const shape, float* const line,
         const float* const in, const uint32_t n_frames)
{
  const uint32_t to_end = circle_frames(bypass, shape) - bypass->position;
  const uint32_t n_first = n_frames < to_end ? n_frames : to_end;
  memcpy(line + bypass->position, in, n_first * sizeof(float));
  memcpy(line, in + n_first, (n_frames - n_first) * sizeof(float));
}

/// Read the frames that were written `latency_frames` before those at `position`.
static void
line_get(const Bypass* const bypass, const BypassShape* const shape, const float* const line,
         float* const out, const uint32_t n_frames)
{
  const uint32_t circle = circle_frames(bypass, shape);
  const uint32_t missing = bypass->latency_frames - bypass->n_filled;
  const uint32_t n_silent = missing < n_frames ? missing : n_frames;
  const uint32_t age = bypass->latency_frames - n_silent;
  const uint32_t start =
      bypass->position >= age ? bypass->position - age : bypass->position + circle - age;
  const uint32_t n = n_frames - n_silent;
  const uint32_t to_end = circle - start;
  const uint32_t n_first = n < to_end ? n : to_end;
  memset(out, 0, n_silent * sizeof(float));
  memcpy(out + n_silent, line + start, n_first * sizeof(float));
  memcpy(out + n_silent + n_first, line, (n - n_first) * sizeof(float));
}

static void
lines_advance(Bypass* const bypass, const BypassShape* const shape, const uint32_t n_frames)
{
  const uint32_t circle = circle_frames(bypass, shape);
  const uint32_t next = bypass->position + n_frames;
  bypass->position = next < circle ? next : next - circle;
  const uint32_t missing = bypass->latency_frames - bypass->n_filled;
  bypass->n_filled += n_frames < missing ? n_frames : missing;
}

/// The input for an output, delayed, or silence.  `delayed` is memory for it.
static const float*
dry_row(const Bypass* const bypass, const BypassShape* const shape, const FxUnit* const io,
        const uint32_t output, float* const delayed, const uint32_t n_frames)
{
  if (!shape->n_in) {
    memset(delayed, 0, n_frames * sizeof(float));
    return delayed;
  }
  const uint32_t channel = output < shape->n_in ? output : shape->n_in - 1U;
  if (!bypass->latency_frames) {
    return io->in[channel];
  }
  line_get(bypass, shape, line_of(bypass, shape, channel), delayed, n_frames);
  return delayed;
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
    const float* const dry = dry_row(bypass, shape, io, o, delayed, n_frames);
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
  for (uint32_t c = 0; bypass->latency_frames && c < shape->n_in; ++c) {
    line_put(bypass, shape, line_of(bypass, shape, c), io->in[c], n_frames);
  }
  ramp_aim(&bypass->weight, is_bypassed ? 1.0F : 0.0F, shape->fade_frames);
  if (is_bypassed || bypass->weight.frames_left) {
    mix_dry(bypass, shape, hold, io, n_frames);
  }
  if (bypass->latency_frames) {
    lines_advance(bypass, shape, n_frames);
  }
}
