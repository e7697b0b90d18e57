// SPDX-License-Identifier: GPL-3.0-or-later
// pan: one channel placed between two, or the balance of two.  One group for each node, a thread
// for each frame of both outputs; limited by memory.

#include "stage.h"

#define PARAM_GAINS       0 // linear, left and right
#define PARAM_RAMP_FRAMES 2

#define STATE_RAMPS 1 // left and right

// Write one side; returns its ramp at the start of the block.
DEVICE Ramp
pan_side(const Stage stage, const u32 unit, const u32 side, u32* const is_bad)
{
  GLOBAL const f32* const state = unit_state(stage, unit);
  const f32 target = unit_param_f32(stage, unit, PARAM_GAINS + side);
  Ramp ramp =
      state[0] == 0.0f ? ramp_at(target) : ramp_load(state + STATE_RAMPS + side * RAMP_WORDS);
  ramp_aim(&ramp, target, unit_param(stage, unit, PARAM_RAMP_FRAMES));

  const u32 is_pair = unit_word(stage, unit, UNIT_N_IN) == 2;
  const Input input = unit_input(stage, unit, is_pair ? side : 0);
  GLOBAL f32* const out = unit_out(stage, unit, side);
  for (u32 i = LOCAL_ID; i < stage.n_frames; i += GROUP_SIZE) {
    const f32 y = input_at(stage, input, i) * ramp_ahead(ramp, i + 1);
    *is_bad |= !is_finite(y);
    out[i] = y;
  }
  return ramp;
}

KERNEL
fx_pan(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  u32 is_bad = 0;
  Ramp left = pan_side(stage, unit, 0, &is_bad);
  Ramp right = pan_side(stage, unit, 1, &is_bad);
  BARRIER(); // all threads have read the state
  if (LOCAL_ID == 0 && stage.n_frames > 0) {
    GLOBAL f32* const state = unit_state(stage, unit);
    ramp_skip(&left, stage.n_frames);
    ramp_skip(&right, stage.n_frames);
    ramp_store(state + STATE_RAMPS, left);
    ramp_store(state + STATE_RAMPS + RAMP_WORDS, right);
    state[0] = 1.0f;
  }
  unit_end(stage, unit, is_bad, flag);
}
