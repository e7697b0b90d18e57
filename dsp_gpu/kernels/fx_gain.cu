// SPDX-License-Identifier: GPL-3.0-or-later
// gain: multiplies every channel by one gain.  One group for each channel.

#include "stage.h"

#define PARAM_GAIN        0 // linear
#define PARAM_RAMP_FRAMES 1

#define STATE_RAMP 1

KERNEL
fx_gain(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const f32 target = unit_param_f32(stage, unit, PARAM_GAIN);
  const u32 ramp_frames = unit_param(stage, unit, PARAM_RAMP_FRAMES);
  Ramp ramp = unit_ramp(stage, unit, STATE_RAMP, target, ramp_frames);
  const u32 is_bad = unit_scale(stage, unit, 0, 0, ramp);
  BARRIER(); // all threads have read the state
  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    GLOBAL f32* const state = unit_state(stage, unit);
    ramp_skip(&ramp, stage.n_frames);
    ramp_store(state + STATE_RAMP, ramp);
    state[0] = 1.0f;
  }
  unit_end(stage, unit, is_bad, flag);
}
