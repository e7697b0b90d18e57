// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The delay's words on a device, for fx_delay.c and dsp_gpu/kernels/fx_delay.cu.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_DELAY_WORDS_H
#define WARPRACK_DSP_CPU_SHARED_DELAY_WORDS_H

#include "state_words.h"

// Parameters
#define DELAY_FRAMES      0
#define DELAY_FEEDBACK    1
#define DELAY_MIX         2
#define DELAY_POLE        3
#define DELAY_RAMP_FRAMES 4
#define DELAY_RING_FRAMES 5
#define DELAY_PARAM_WORDS 6

// State of a group: one line, or the two of a pair of channels
#define DELAY_STATE_LINE     1
#define DELAY_STATE_TAP      (DELAY_STATE_LINE + DELAY_LINE_WORDS)
#define DELAY_STATE_FEEDBACK (DELAY_STATE_TAP + TAP_WORDS)
#define DELAY_STATE_MIX      (DELAY_STATE_FEEDBACK + RAMP_WORDS)
#define DELAY_STATE_POLE     (DELAY_STATE_MIX + RAMP_WORDS)
#define DELAY_STATE_LOWPASS  (DELAY_STATE_POLE + RAMP_WORDS) // two words for each line
#define DELAY_STATE_RINGS    32

#endif
