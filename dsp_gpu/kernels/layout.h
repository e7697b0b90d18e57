// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Where the host and the kernels find things in the tables of a stage: numbers of 32-bit words. What
  is a float is kept by its bits.  Included by stage_*.c and, by way of stage.h, by kernels.
*/
#ifndef WARPRACK_DSP_GPU_KERNELS_LAYOUT_H
#define WARPRACK_DSP_GPU_KERNELS_LAYOUT_H

// Memory of nodes is counted in quads of four words, so that 32 bits reach 64 GiB.
#define QUAD_WORDS 4

// What the host writes for a block: a head, then CHANGES_N changes of `live`, two words each.
#define CHANGES_N_FRAMES 0
#define CHANGES_N        1
#define CHANGES_HEAD     16 // the changes begin here

// `live`: changes from block to block.  Behind the head come connections, then nodes' parameters.
#define LIVE_N_FRAMES 0 // in this block
#define LIVE_N_RESETS 1 // units that were begun anew after an output that is not finite, in all
#define LIVE_IN_AT    2 // word at which the rows from the host begin
#define LIVE_OUT_AT   3 // word at which the rows to the host begin
#define LIVE_HEAD     16

// A connection in `live`.
#define LINK_IS_STEADY 0 // LINK_GAIN holds for the whole block
#define LINK_GAIN      1
#define LINK_HOLD      2 // frames until the ramp LINK_NEXT takes the place of LINK_RAMP
#define LINK_RAMP      3
#define LINK_NEXT      8
#define LINK_WORDS     13

// A ramp, anywhere: engine/contract/ramp.h, in the order of its members.
#define RAMP_WORDS 5

// `table`: what a plan does not change.
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
#define UNIT_NEXT    8 // word in table: the unit that alone reads this one's output, or 0
#define UNIT_WORDS   9

// A chain: units that follow each other by UNIT_NEXT and are run by one launch, of which the first
// is one of the launch's units.  Its UNIT_OUT is the output of the chain.  UNIT_IN of every other
// one is the connection (word in live) from the output of the unit before, which is in no row.
#define CHAIN_UNITS 32 // at most

// An input: a sum of terms, as MixRow.
#define INPUT_TERMS   0 // word in table
#define INPUT_N_TERMS 1
#define INPUT_WORDS   2

#define TERM_FROM  0 // row
#define TERM_LINK  1 // word in live
#define TERM_WORDS 2

// A row's number: of the plan's rows on the device, or of those that come from the host.
#define ROW_FROM_HOST 0x80000000U

// An output of the stage, for stage_end: an input, in the order of the rows in host memory.
#define REPORT_N_RESETS 0 // LIVE_N_RESETS, after the block
#define REPORT_WORDS    16

// A delay line, for stage_delay.
#define LINE_FROM 0 // row
#define LINE_TO   1 // row
// Quad in memory: LINE_HEAD words, of which the first is the position, and the ring.
#define LINE_MEMORY 2
#define LINE_DELAY  3 // frames
#define LINE_MASK   4 // frames of the ring, a power of two, - 1
#define LINE_WORDS  5
#define LINE_HEAD   4

#endif
