// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A smooth ramp of one scalar, counted in frames so that the output does not depend on how blocks
   are split.  A node holds the target; each unit holds a Ramp and sets its target at the start of
   `run`.

   Method: cubic Hermite segment from the current value and slope to the target with slope zero.
   Value and slope are continuous even if the target changes in the middle of a ramp, so that no
   corner is audible on a low note.  With w = frames_left / length, from 1 down to 0:

     value = target + w^2 (a + b w),   a = 3 d + s,   b = -2 d - s

   where d is the current value minus the target and s the slope at the start, per ramp length.

   If the target changes during a ramp, the ramp may overshoot its targets by up to a tenth of their
   range.  This is harmless for a gain; values that must not leave their range, such as the pole of
   a filter, use ramp_fill_within().
*/
#ifndef WARPRACK_ENGINE_CONTRACT_RAMP_H
#define WARPRACK_ENGINE_CONTRACT_RAMP_H

#include <stdint.h>

#ifndef RAMP_FUNCTION // kernels include this file too
#define RAMP_FUNCTION static inline
#endif

typedef struct Ramp {
  float target;
  float a, b;           ///< Coefficients of the segment
  float per_frame;      ///< 1 / length in frames
  uint32_t frames_left; ///< 0: at the target
} Ramp;

/// A ramp that rests at `value`.
RAMP_FUNCTION Ramp
ramp_at(const float value)
{
  Ramp ramp;
  ramp.target = value;
  ramp.a = ramp.b = ramp.per_frame = 0.0F;
  ramp.frames_left = 0U;
  return ramp;
}

/// The value with `frames_left` frames to go; exactly the target at 0.
RAMP_FUNCTION float
ramp_value_at(const Ramp* const ramp, const uint32_t frames_left)
{
  const float w = (float)frames_left * ramp->per_frame;
  return ramp->target + w * w * (ramp->a + ramp->b * w);
}

RAMP_FUNCTION float
ramp_value(const Ramp* const ramp)
{
  return ramp_value_at(ramp, ramp->frames_left);
}

/// Start a ramp from the current value and slope to `target` in `frames` >= 1 frames, also if
/// `target` is already the target.
RAMP_FUNCTION void
ramp_turn(Ramp* const ramp, const float target, const uint32_t frames)
{
  const float w = (float)ramp->frames_left * ramp->per_frame;
  const float slope = -w * (2.0F * ramp->a + 3.0F * ramp->b * w) * ramp->per_frame;
  const float distance = ramp_value(ramp) - target;
  ramp->target = target;
  ramp->a = 3.0F * distance + slope * (float)frames;
  ramp->b = -2.0F * distance - slope * (float)frames;
  ramp->per_frame = 1.0F / (float)frames;
  ramp->frames_left = frames;
}

/// Start a ramp from the current value to `target` in `frames` >= 1 frames.  Does nothing if
/// `target` is already the target.
RAMP_FUNCTION void
ramp_aim(Ramp* const ramp, const float target, const uint32_t frames)
{
  if (target != ramp->target) {
    ramp_turn(ramp, target, frames);
  }
}

/// Advance by one frame and return the new value.
RAMP_FUNCTION float
ramp_next(Ramp* const ramp)
{
  ramp->frames_left -= ramp->frames_left > 0U;
  return ramp_value(ramp);
}

/// Advance by n_frames frames and write each value.  Equal to n_frames calls of ramp_next(), but as
/// a loop that vectorises.
RAMP_FUNCTION void
ramp_fill(Ramp* const ramp, float* const out, const uint32_t n_frames)
{
  const uint32_t n_moving = n_frames < ramp->frames_left ? n_frames : ramp->frames_left;
  const int32_t last = (int32_t)ramp->frames_left - 1; // signed: baseline SSE2 converts only these
  const Ramp segment = *ramp;
  for (uint32_t i = 0; i < n_moving; ++i) {
    const float w = (float)(last - (int32_t)i) * segment.per_frame;
    out[i] = segment.target + w * w * (segment.a + segment.b * w);
  }
  for (uint32_t i = n_moving; i < n_frames; ++i) {
    out[i] = segment.target;
  }
  ramp->frames_left -= n_moving;
}

/// As ramp_fill(), with each value times a sample of `in`.
RAMP_FUNCTION void
ramp_multiply(Ramp* const ramp, const float* const in, float* const out, const uint32_t n_frames)
{
  const Ramp segment = *ramp;
  const uint32_t n_moving = n_frames < segment.frames_left ? n_frames : segment.frames_left;
  if (n_moving) {
    const int32_t last = (int32_t)segment.frames_left - 1; // as in ramp_fill()
    for (uint32_t i = 0; i < n_moving; ++i) {
      const float w = (float)(last - (int32_t)i) * segment.per_frame;
      out[i] = in[i] * (segment.target + w * w * (segment.a + segment.b * w));
    }
    ramp->frames_left -= n_moving;
  }
  for (uint32_t i = n_moving; i < n_frames; ++i) {
    out[i] = in[i] * segment.target;
  }
}

/// As ramp_fill(), with every value clamped to [low, high].
RAMP_FUNCTION void
ramp_fill_within(Ramp* const ramp, const float low, const float high, float* const out,
                 const uint32_t n_frames)
{
  const uint32_t n_moving = n_frames < ramp->frames_left ? n_frames : ramp->frames_left;
  ramp_fill(ramp, out, n_frames);
  for (uint32_t i = 0; i < n_moving; ++i) {
    out[i] = out[i] < low ? low : out[i] > high ? high : out[i];
  }
}

/// Advance by `frames` frames.
RAMP_FUNCTION void
ramp_skip(Ramp* const ramp, const uint32_t frames)
{
  ramp->frames_left -= frames < ramp->frames_left ? frames : ramp->frames_left;
}

#endif
