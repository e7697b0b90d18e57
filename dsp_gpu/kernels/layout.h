// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Layout of the tables of a stage, shared by host and kernels: places in 32-bit words.  Floats are
  stored by their bits.  Included by stage_*.c and, through stage.h, by kernels.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_LAYOUT_H
#define WARPRACK_DSP_GPU_KERNELS_LAYOUT_H

#include "dsp_cpu/shared/state_words.h"

// Memory of nodes is counted in quads of four words, so that 32 bits reach 64 GiB.
#define QUAD_WORDS 4

// Words that the host writes for each block: a head, then CHANGES_N changes of `live`, two words
// each.
#define CHANGES_N_FRAMES 0
#define CHANGES_N        1
#define CHANGES_IN_AT    2  // word of host memory at which the rows from the host begin
#define CHANGES_OUT_AT   3  // LIVE_OUT_AT
#define CHANGES_HEAD     16 // the changes begin here

// `live`: words that change from block to block: the head, then connections, then parameters of
// nodes.
#define LIVE_N_FRAMES 0 // in this block
#define LIVE_N_RESETS 1 // total number of units reset after a non-finite output
#define LIVE_IN_AT    2 // word of the device's copy at which the rows from the host begin
#define LIVE_OUT_AT   3 // word of host memory at which the rows to the host begin
#define LIVE_IS_VOID  4 // GpuWork::is_void: the block did not come
#define LIVE_BEGAN_NS 5 // CLOCK_NS() of the block's first kernel
#define LIVE_HEAD     16

// A connection in `live`.
#define LINK_IS_STEADY 0 // LINK_GAIN is the gain for the complete block
#define LINK_GAIN      1
#define LINK_HOLD      2 // frames until the ramp LINK_NEXT replaces LINK_RAMP
#define LINK_RAMP      3
#define LINK_NEXT      (LINK_RAMP + RAMP_WORDS)
#define LINK_WORDS     (LINK_NEXT + RAMP_WORDS)

// `table`: words that are constant for a plan.
#define TABLE_ROW_STRIDE 0 // words from one row to the next
#define TABLE_HEAD       16

// A unit in `table`.
#define UNIT_STATE   0 // quad in memory
#define UNIT_DATA    1 // quad in memory: the constants of its node
#define UNIT_PARAMS  2 // word in live: the parameters of its node
#define UNIT_CHANNEL 3 // of the node, 0 when coupled
#define UNIT_N_IN    4
#define UNIT_N_OUT   5
#define UNIT_IN      6 // word in table: its inputs, INPUT_WORDS each
#define UNIT_OUT     7 // word in table: its output rows, one word each
#define UNIT_NEXT    8 // word in table: the only unit that reads this one's output, or 0
#define UNIT_PARTS   9 // word in table: the parts of the chain that begins with this unit
#define UNIT_N_PARTS 10
#define UNIT_WORDS   11

// A chain: units connected by UNIT_NEXT that one launch runs; its first unit belongs to the
// launch.  The UNIT_OUT of the first unit is the output of the chain.  For every other unit,
// UNIT_IN is the connection (word in live) from the output of the unit before, which is in no row.
#define CHAIN_UNITS 32 // most units of a chain

// A part of a chain: a step in series of one of its units (FxKernelShape::n_parts).  All parts of a
// unit lie in one round: the places of a round that are too few for the next unit have no part.
#define PART_STATE  0 // quad in memory: of its unit
#define PART_PARAMS 1 // word in live: of its unit
#define PART_RECORD 2 // word in table: its unit
#define PART_LINK   3 // word in live: the connection behind its unit, with a gain of 1 for the last
#define PART_UNIT   4 // number of its unit in the chain
#define PART_INDEX  5 // in its unit
#define PART_N      6 // parts of its unit; 0: no part
#define PART_WORDS  8
#define ROUND_PARTS 16

// An input: a sum of terms, as MixRow, and the first of them; without terms, any row and gain.
#define INPUT_TERMS   0 // word in table
#define INPUT_N_TERMS 1
#define INPUT_FIRST   2 // TERM_WORDS
#define INPUT_WORDS   (INPUT_FIRST + TERM_WORDS)

#define TERM_FROM  0 // row
#define TERM_LINK  1 // word in live
#define TERM_WORDS 2

// A row's number: one of the plan's rows, or, with this bit, of the rows from the host.
#define ROW_FROM_HOST 0x80000000U

// An output of the stage, for stage_end: an input, in the order of the rows in host memory.
#define REPORT_N_RESETS 0 // LIVE_N_RESETS, after the block
#define REPORT_NS       1 // from the begin of the first kernel to the end of stage_end; 0 in OpenCL
#define REPORT_WORDS    16

// A row, for stage_store.
#define STORE_INPUT 0           // INPUT_WORDS
#define STORE_TO    INPUT_WORDS // row
#define STORE_WORDS (INPUT_WORDS + 1)

// A delay line, for stage_delay.
#define LINE_FROM 0 // row
#define LINE_TO   1 // row
// Quad in memory: LINE_HEAD words, the first of which is the position, then the ring.
#define LINE_MEMORY 2
#define LINE_DELAY  3 // frames
#define LINE_MASK   4 // frames of the ring, a power of two, - 1
#define LINE_WORDS  5
#define LINE_HEAD   4

#endif
