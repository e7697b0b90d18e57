// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The compressor's words on a device, for fx_compressor.c and dsp_gpu/kernels/fx_compressor.cu.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_COMPRESSOR_WORDS_H
#define WARPRACK_DSP_CPU_SHARED_COMPRESSOR_WORDS_H

#include "state_words.h"

#define COMPRESSOR_LOUDEST 1e15f // 300 dB; an infinite square would stay in the mean for ever

// Parameters.  The first ones are the targets of the ramps, in the order of the effect's table.
#define COMPRESSOR_THRESHOLD_DB 0
#define COMPRESSOR_SLOPE        1 // 1 - 1 / ratio
#define COMPRESSOR_ATTACK       2 // step per frame, as a fraction of the distance
#define COMPRESSOR_RELEASE      3
#define COMPRESSOR_KNEE_DB      4
#define COMPRESSOR_MAKEUP_DB    5
#define COMPRESSOR_MIX          6
#define COMPRESSOR_N_RAMPS      7
#define COMPRESSOR_RAMP_FRAMES  7
#define COMPRESSOR_RMS_PART     8 // step of the mean, likewise; 0: no mean
#define COMPRESSOR_PARAM_WORDS  9

// State
#define COMPRESSOR_STATE_REDUCTION   1
#define COMPRESSOR_STATE_MEAN_SQUARE (COMPRESSOR_STATE_REDUCTION + SMOOTH_WORDS)
#define COMPRESSOR_STATE_RAMPS       (COMPRESSOR_STATE_MEAN_SQUARE + SMOOTH_WORDS)
#define COMPRESSOR_STATE_WORDS       (COMPRESSOR_STATE_RAMPS + COMPRESSOR_N_RAMPS * RAMP_WORDS)

#endif
