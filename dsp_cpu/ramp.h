// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Linear ramp of one scalar, counted in frames so that the output does not depend on how blocks are
   split. A node holds the target; each unit holds a Ramp and aims it at the start of `run`.
*/
#ifndef WARPRACK_DSP_CPU_RAMP_H
#define WARPRACK_DSP_CPU_RAMP_H

#include <stdint.h>

typedef struct Ramp {
  float target;
  float step;           ///< Per frame
  uint32_t frames_left; ///< 0: at the target
} Ramp;

static inline Ramp
ramp_at(const float value)
{
  return (Ramp){ .target = value, .step = 0.0F, .frames_left = 0U };
}

/// The present value.  Computed from the end, so that rounding does not add up and the target is
/// met exactly.
static inline float
ramp_value(const Ramp* const ramp)
{
  return ramp->target - ramp->step * (float)ramp->frames_left;
}

/// Go to `target` in `frames` frames, from wherever the ramp is now.  Does nothing when it is going
/// there already.
static inline void
ramp_aim(Ramp* const ramp, const float target, const uint32_t frames)
{
  if (target == ramp->target) {
    return;
  }
  const float value = ramp_value(ramp);
  ramp->target = target;
  ramp->step = (target - value) / (float)frames;
  ramp->frames_left = frames;
}

/// Advance by one frame and return the new value.
static inline float
ramp_next(Ramp* const ramp)
{
  ramp->frames_left -= ramp->frames_left > 0U;
  return ramp_value(ramp);
}

#endif
