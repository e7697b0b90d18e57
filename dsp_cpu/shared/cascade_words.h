// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The words of the filters on a device, for cascade.c and dsp_gpu/kernels/cascade.h.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_CASCADE_WORDS_H
#define WARPRACK_DSP_CPU_SHARED_CASCADE_WORDS_H

// Parameters, then CASCADE_COEFFICIENT_WORDS for each section
#define CASCADE_VERSION           0
#define CASCADE_N_SECTIONS        1
#define CASCADE_FADE_FRAMES       2
#define CASCADE_PARAM_HEAD        3
#define CASCADE_COEFFICIENT_WORDS 13

// State, then CASCADE_ROW_WORDS for each section of the active filter, then for each section of
// the next
#define CASCADE_STATE_VERSION     1
#define CASCADE_STATE_FADE_LEFT   2
#define CASCADE_STATE_FADE_FRAMES 3 // CASCADE_FADE_FRAMES when the cross-fade began
#define CASCADE_STATE_HEAD        16
#define CASCADE_ROW_WORDS         20

// A group with a thread for each section has 16 of them, a round, for each channel
#define CASCADE_GROUP_CHANNELS 8
#define CASCADE_GROUP_THREADS  128

#endif
