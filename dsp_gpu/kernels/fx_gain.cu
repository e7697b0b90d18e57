// SPDX-License-Identifier: GPL-3.0-or-later
// gain: multiplies every channel by one gain.  One group for each channel.

#include "stage.h"

#define PARAM_GAIN        0 // linear
#define PARAM_RAMP_FRAMES 1

KERNEL
fx_gain(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const f32 target = unit_param_f32(stage, unit, PARAM_GAIN);
  unit_play_gains(stage, unit, &target, 1, unit_param(stage, unit, PARAM_RAMP_FRAMES), flag);
}
