// SPDX-License-Identifier: GPL-3.0-or-later
// pan: one channel placed between two, or the balance of two.  One group for each node, a thread
// for each frame of both outputs; limited by memory.

#include "stage.h"

#define PARAM_GAINS       0 // linear, left and right
#define PARAM_RAMP_FRAMES 2

#define STATE_RAMPS 1 // left and right

KERNEL
fx_pan(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const u32 is_pair = unit_word(stage, unit, UNIT_N_IN) == 2;
  const u32 ramp_frames = unit_param(stage, unit, PARAM_RAMP_FRAMES);
  Ramp ramps[2];
  u32 is_bad = 0;
  for (u32 side = 0; side < 2; ++side) {
    const f32 target = unit_param_f32(stage, unit, PARAM_GAINS + side);
    ramps[side] = unit_ramp(stage, unit, STATE_RAMPS + side * RAMP_WORDS, target, ramp_frames);
    is_bad |= unit_scale(stage, unit, is_pair ? side : 0, side, ramps[side]);
  }
  BARRIER(); // all threads have read the state
  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    GLOBAL f32* const state = unit_state(stage, unit);
    for (u32 side = 0; side < 2; ++side) {
      ramp_skip(&ramps[side], stage.n_frames);
      ramp_store(state + STATE_RAMPS + side * RAMP_WORDS, ramps[side]);
    }
    state[0] = 1.0f;
  }
  unit_end(stage, unit, is_bad, flag);
}
