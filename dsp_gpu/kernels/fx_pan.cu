// SPDX-License-Identifier: GPL-3.0-or-later
// pan: one channel placed between two, or the balance of two.  One group for each node, a thread
// for each frame of both outputs; limited by memory.

#include "stage.h"

#define PARAM_GAINS       0 // linear, left and right
#define PARAM_RAMP_FRAMES 2

KERNEL
fx_pan(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const f32 targets[2] = { unit_param_f32(stage, unit, PARAM_GAINS),
                           unit_param_f32(stage, unit, PARAM_GAINS + 1) };
  unit_play_gains(stage, unit, targets, 2, unit_param(stage, unit, PARAM_RAMP_FRAMES), flag);
}
