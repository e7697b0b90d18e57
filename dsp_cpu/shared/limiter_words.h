// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The limiter's words on a device, for fx_limiter.c and dsp_gpu/kernels/fx_limiter.cu.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_LIMITER_WORDS_H
#define WARPRACK_DSP_CPU_SHARED_LIMITER_WORDS_H

#include "state_words.h"

// Parameters
#define LIMITER_CEILING     0 // linear
#define LIMITER_RELEASE     1 // step per frame, as a fraction of the distance
#define LIMITER_RAMP_FRAMES 2
#define LIMITER_LOOKAHEAD   3 // frames
#define LIMITER_PARAM_WORDS 4

// State
#define LIMITER_STATE_CEILING      1 // ramp
#define LIMITER_STATE_CEILING_FROM (LIMITER_STATE_CEILING + RAMP_WORDS)
#define LIMITER_STATE_LINE         (LIMITER_STATE_CEILING_FROM + 1)
#define LIMITER_STATE_RELEASED     (LIMITER_STATE_LINE + DELAY_LINE_WORDS)
#define LIMITER_STATE_SUMS         (LIMITER_STATE_RELEASED + SMOOTH_WORDS) // two of 64 bits
#define LIMITER_STATE_RINGS        16 // the rings below, then one for each channel

#define LIMITER_RING_NEEDED  0
#define LIMITER_RING_CEILING 1
#define LIMITER_RING_BOX     2 // two for each box: low and high words
#define LIMITER_RING_CHANNEL 6

#endif
