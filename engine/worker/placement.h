// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Chooses the side of the nodes without a fixed backend: a model of the cost of a block on the CPU
   and on a GPU, and the rule of the choice.  Pure arithmetic: engine/worker/calibrate.h measures
   the numbers.

   These nodes of a rack go to one side together, so that only the rack's own backend= statements
   split it into more stages.  The time of a block is the sum of

     - per stage (a run of levels on one side): what an empty one takes, with the rack's channels
     - per batch (one effect, one level):
         base + channels · per_channel + frames · (per_frame + channels · per_sample)
              + taps · (per_tap + frames · per_tap_frame)

   with taps summed over channels: the length of impulse responses, 0 for effects that have none.
   Batches that take long on one core of the CPU are spread over its cores, as dsp_cpu/stage_cpu.c
   does it.
*/
#ifndef WARPRACK_ENGINE_WORKER_PLACEMENT_H
#define WARPRACK_ENGINE_WORKER_PLACEMENT_H

#include "engine/contract/backend.h"

#include <stdbool.h>
#include <stdint.h>

#define PLACEMENT_MAX_EFFECTS 64U

/// The cost of a batch, or of an empty stage, in ns.
typedef struct PlacementCost {
  bool is_known;
  double base;
  double per_channel;   ///< Whatever the frames: memory of units that comes and goes
  double per_frame;     ///< Whatever the channels: recursions take their time on a GPU
  double per_sample;    ///< Channel and frame
  double per_tap;       ///< And channel
  double per_tap_frame; ///< And channel
} PlacementCost;

/// All that was measured.  Effects as in fx_table().
typedef struct PlacementCosts {
  PlacementCost stage[PLACEMENT_SIDES];
  PlacementCost effects[PLACEMENT_SIDES][PLACEMENT_MAX_EFFECTS];
} PlacementCosts;

/// One node of a rack.
typedef struct PlacementNode {
  uint32_t effect; ///< Index in fx_table()
  uint32_t level;
  uint32_t n_channels;
  uint64_t n_taps;    ///< Of each channel
  bool is_free;       ///< Without a fixed backend, and the effect has a kernel
  PlacementSide side; ///< Its side if it is not free
} PlacementNode;

/// What the time depends on beside the nodes.
typedef struct PlacementShape {
  uint32_t block_frames;
  uint32_t n_channels; ///< The wider side of the rack
  uint32_t n_cores;    ///< Of the CPU, at least 1
} PlacementShape;

/**
   Time of a block with the free nodes on one side.

   @param nodes [n_nodes] Sorted by this call.
   @return ns; infinity when an effect's cost there is not known.
   [any]
*/
double placement_predict(const PlacementCosts* costs, const PlacementShape* shape,
                         PlacementNode* nodes, uint32_t n_nodes, PlacementSide side);

/**
   The side to choose.

   A rack without a past goes to the GPU when that is quicker by a quarter.  One that plays changes
   sides only when the other is twice as quick: edits do not send it back and forth.

   @param has_past The free nodes play on `now`.
   [any]
*/
PlacementSide placement_decide(bool has_past, PlacementSide now, double cpu_ns, double gpu_ns);

#endif
