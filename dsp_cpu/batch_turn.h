// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The times of nodes on the CPU.  The batches of a stage take turns: about once in TURN_FRAMES one
   of them is timed, whose nodes keep their last times (node_times.h).  Nodes of one batch are not
   told apart: each has its share by its units.
*/
#ifndef WARPRACK_DSP_CPU_BATCH_TURN_H
#define WARPRACK_DSP_CPU_BATCH_TURN_H

#include "stage_guard.h"

/// Frames between two turns, on average: a turn takes about 150 instructions, so the smallest rack
/// takes 0.2 % more in blocks of 64 frames.
#define TURN_FRAMES 1024U

/// Give the next step its turn, if it is time and the step is a batch.  The time between two turns
/// is random, because some effects do the work of 2, 4, 8 ... blocks in the last of them. [player]
static inline void
batch_turn_begin(Stage* const stage, const uint32_t n_frames)
{
  if (stage->until_turn > n_frames) {
    stage->until_turn -= n_frames;
    return;
  }
  stage->random = stage->random * 1664525U + 1013904223U; // Numerical Recipes, 2nd edition, 7.1
  stage->until_turn = TURN_FRAMES / 2U + (uint32_t)((uint64_t)stage->random * TURN_FRAMES >> 32U);
  stage->turn = (stage->turn + 1U) % stage->spec.n_steps;
  stage->batches[stage->turn].has_turn = stage->batches[stage->turn].may_be_timed = true;
}

/// Record the time of this block for the next nodes of the batch, whose turn ends. [player]
REALTIME void batch_turn_end(Batch* batch);

#endif
