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
  GLOBAL f32* const state = unit_state(stage, unit);
  const f32 target = unit_param_f32(stage, unit, PARAM_GAIN);
  Ramp ramp = state[0] == 0.0f ? ramp_at(target) : ramp_load(state + STATE_RAMP);
  ramp_aim(&ramp, target, unit_param(stage, unit, PARAM_RAMP_FRAMES));

  const Input input = unit_input(stage, unit, 0);
  GLOBAL f32* const out = unit_out(stage, unit, 0);
  u32 is_bad = 0;
  for (u32 i = LOCAL_ID; i < stage.n_frames; i += GROUP_SIZE) {
    const f32 y = input_at(stage, input, i) * ramp_ahead(ramp, i + 1);
    is_bad |= !is_finite(y);
    out[i] = y;
  }
  BARRIER(); // all threads have read the state
  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    ramp_skip(&ramp, stage.n_frames);
    ramp_store(state + STATE_RAMP, ramp);
    state[0] = 1.0f;
  }
  unit_end(stage, unit, is_bad, flag);
}
