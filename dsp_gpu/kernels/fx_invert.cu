// SPDX-License-Identifier: GPL-3.0-or-later
// invert: flips the polarity of all channels, or of those in the list.  One group for each
// channel, a thread for each frame; limited by memory.

#include "stage.h"

#define PARAM_ON          0
#define PARAM_RAMP_FRAMES 1

// Data: one bit for each channel of the list, 32 in a word.

KERNEL
fx_invert(STAGE_ARGS)
{
  LOCAL_ARRAY(u32, flag, 1);
  const Stage stage = STAGE;
  const u32 unit = GROUP_X;
  const u32 channel = unit_word(stage, unit, UNIT_CHANNEL);
  const u32 listed = BITS_OF_F32(unit_data(stage, unit)[channel / 32]) >> channel % 32 & 1U;
  const f32 target = unit_param(stage, unit, PARAM_ON) && listed ? -1.0f : 1.0f;
  unit_play_gains(stage, unit, &target, 1, unit_param(stage, unit, PARAM_RAMP_FRAMES), flag);
}
