// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Layout of the reverb in 32-bit words on a device, shared by fx_reverb.c and
  dsp_gpu/kernels/fx_reverb.cu: constants of a node, its parameters, the state of its unit.  Floats
  and ramps are stored by their bits.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_REVERB_WORDS_H
#define WARPRACK_DSP_CPU_SHARED_REVERB_WORDS_H

#define REVERB_LINES 16 // also the channels of a group, and the rows of all intermediate signals
#define REVERB_PAIRS 8
#define REVERB_BANKS 3
#define REVERB_GRID  32 // frames from one set of angles to the next

#define REVERB_TILE         128 // maximum frames per pass of the network; also its threads
#define REVERB_ROWS_TILE    64  // frames per pass of spreading and gathering
#define REVERB_SLICE_GROUPS 4   // groups of channels that share one sum

// Constants
#define REVERB_DELAY       0  // [banks][lines] frames
#define REVERB_SIZE        48 // [banks] frames of each ring
#define REVERB_RINGS       51 // [banks] word of the state where the rings lie, [lines][size]
#define REVERB_STRIDE      54 // words from row to row of the following two
#define REVERB_SUMS        55 // word of the state: [slices][lines] rows, the channels spread
#define REVERB_WET         56 // word of the state: [lines] rows of the lines' outputs, one of the mix
#define REVERB_TILE_FRAMES 57 // at most REVERB_TILE, and no line is shorter
#define REVERB_DEPTH_STEPS 58
#define REVERB_STEP        60 // [pairs][2] of the phase in REVERB_GRID frames; 2^-64 turns, low first
#define REVERB_START       76 // [pairs][2] the phase at the start
#define REVERB_SIGNS       92 // [groups of channels] bit l: the sign of line l is inverted

// Parameters
#define REVERB_GAIN        0  // [lines]
#define REVERB_POLE        16 // [lines]
#define REVERB_INPUT_GAIN  32
#define REVERB_DEPTH       33 // turns
#define REVERB_MIX         34
#define REVERB_PREDELAY    35 // frames
#define REVERB_RAMP_FRAMES 36
#define REVERB_PARAM_WORDS 37

// State, in front of rings and rows
#define REVERB_FRAME           1 // [2] since the start, low first
#define REVERB_PUT             3 // [banks][2] of the delay lines, position and filled
#define REVERB_TAP             9 // predelay: a tap of 7 words
#define REVERB_INPUT_GAIN_RAMP 16
#define REVERB_MIX_RAMP        21
#define REVERB_DEPTH_RAMP      26
#define REVERB_TURN            31 // [2][2][pairs] cosines and sines where the last grid began and ended
#define REVERB_DAMPERS         63 // [lines] REVERB_DAMPER_WORDS each
#define REVERB_HEAD            256

#define REVERB_DAMPER_GAIN  0 // ramp
#define REVERB_DAMPER_POLE  5 // ramp
#define REVERB_DAMPER_HIGH  10
#define REVERB_DAMPER_LOW   11
#define REVERB_DAMPER_WORDS 12

#endif
