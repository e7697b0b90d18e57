// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Layout in 32-bit words, shared by partition_kernel.c and the kernels of convolver.h.  Complex
  numbers are pairs.  A *row* is one spectrum, or a slice of one, of POINTS complex numbers.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_PARTITION_LAYOUT_H
#define WARPRACK_DSP_CPU_SHARED_PARTITION_LAYOUT_H

// The constants of a node begin with a head of numbers.  Places in the constants, and in a unit's
// state, are given in words.
#define PARTITION_N_IN        0
#define PARTITION_N_OUT       1
#define PARTITION_N_SETS      2 // of responses: 1, or one for each unit
#define PARTITION_HOP         3 // frames
#define PARTITION_N_PARTS     4 // of the head
#define PARTITION_N_SLOTS     5 // rows of an input's delay line in the head
#define PARTITION_SLICES      6 // groups that share the products of one output, in the head
#define PARTITION_TAIL_PARTS  7
#define PARTITION_TAIL_HOPS   8 // in a partition of the tail: a power of two; slices of its spectra
#define PARTITION_TAIL_SLICES 9 // groups that share the products of one output, in the tail
#define PARTITION_RING_MASK   10 // frames of an input's ring, a power of two, - 1
#define PARTITION_TABLES      11 // of the head: roots [POINTS], folds [POINTS]
#define PARTITION_TAIL_TABLES 12 // the same for TAIL_POINTS
#define PARTITION_FILTERS     13 // [set]: [out][in][part] rows
#define PARTITION_TAIL        14 // [set]: [out][slice][in][part] rows
#define PARTITION_LINES       15 // in the state: [in][slot] rows
#define PARTITION_TAIL_LINES  16 // in the state: [slice][in][part] rows
#define PARTITION_RINGS       17 // in the state: [in][ring] samples
#define PARTITION_SUMS        18 // in the state: [piece][out][slice] rows
#define PARTITION_TAIL_SUMS   19 // in the state: [out][tail_slice][slice] rows
#define PARTITION_TAIL_OUT    20 // in the state: [2][out][TAIL_POINTS] samples
#define PARTITION_IS_BAD      21 // in the state: [out] 1 after an output that was not finite
#define PARTITION_HEAD        32

// The parameters of a node.
#define PARTITION_PARAM_DRY         0 // gain
#define PARTITION_PARAM_WET         1 // gain
#define PARTITION_PARAM_RAMP_FRAMES 2
#define PARTITION_PARAM_WORDS       3

// The state of a unit begins with its progress.
#define PARTITION_STATE_FILL        1  // frames of the current hop received so far
#define PARTITION_STATE_CLOCK       2  // place of the next frame in the ring of an input
#define PARTITION_STATE_AGE         3  // frames in the rings
#define PARTITION_STATE_NEWEST      4  // slot of the current hop
#define PARTITION_STATE_N_DONE      5  // older slots that are filled
#define PARTITION_STATE_TAIL_HOP    6  // place of the current hop in its period
#define PARTITION_STATE_TICKS       7  // periods begun; saturates and keeps its parity
#define PARTITION_STATE_TAIL_NEWEST 8  // slot in the tail
#define PARTITION_STATE_DRY         9  // ramp
#define PARTITION_STATE_WET         14 // ramp
#define PARTITION_STATE_HEAD        32

#endif
