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
#define CASCADE_N_SEGMENTS        3 // most segments of a block, for fx_cascade_long.cu
#define CASCADE_PARAM_HEAD        4
#define CASCADE_COEFFICIENT_WORDS 13

// State, then CASCADE_ROW_WORDS for each section of the active filter, then for each section of
// the next, then for fx_cascade_long.cu CASCADE_RECORDS and one for each segment, of
// CASCADE_RECORD_WORDS for each section
#define CASCADE_STATE_VERSION     1
#define CASCADE_STATE_FADE_LEFT   2
#define CASCADE_STATE_FADE_FRAMES 3 // CASCADE_FADE_FRAMES when the cross-fade began
// Of the first unit of a chain, for a block
#define CASCADE_STATE_BEGIN  4 // the first frame of the segments
#define CASCADE_STATE_FAILED 5 // not 0: the state before a segment is not finite
#define CASCADE_STATE_BAD    6 // not 0: an output is not finite
#define CASCADE_STATE_HEAD   16
#define CASCADE_ROW_WORDS    20
#define CASCADE_RECORDS      33
#define CASCADE_RECORD_WORDS 4

// Of a group with one thread for each section: 16 threads, a round, for each channel
#define CASCADE_GROUP_CHANNELS 8
#define CASCADE_GROUP_THREADS  128

#endif
