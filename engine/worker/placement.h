// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Chooses the side of the nodes without a fixed backend: a model of the cost of a block on the CPU
   and on a GPU, and the rule of the choice.  It does no measurements: engine/worker/calibrate.h
   measures the costs.

   All nodes without a fixed backend go to the same side, so that only backend= statements split a
   rack into several stages.  The time of a block is the sum of

     - per stage (a run of ranks on one side): the time of an empty stage with the rack's channels
     - per batch (one effect, one rank):
         base + channels · per_channel + frames · (per_frame + channels · per_sample)
              + taps · (per_tap + frames · per_tap_frame)

   with taps summed over channels: the length of impulse responses, 0 for effects without one.  The
   model spreads batches that take long on one core over all cores of the CPU, as
   dsp_cpu/stage_cpu.c does.
*/
#ifndef WARPRACK_ENGINE_WORKER_PLACEMENT_H
#define WARPRACK_ENGINE_WORKER_PLACEMENT_H

#include "engine/contract/backend.h"

#include <stdbool.h>
#include <stdint.h>

#define PLACEMENT_MAX_EFFECTS 64U
#define PLACEMENT_PLUGIN      UINT32_MAX // PlacementNode::effect of a plugin, which has no kernel

/// The cost of a batch, or of an empty stage, in ns.
typedef struct PlacementCost {
  bool is_known;
  double base;
  double per_channel;   ///< Independent of frames: loading and storing the memory of units
  double per_frame;     ///< Independent of channels: a recursion runs frame after frame on a GPU
  double per_sample;    ///< Per channel and frame
  double per_tap;       ///< Per tap and channel
  double per_tap_frame; ///< Per tap, frame and channel
} PlacementCost;

/// The measured costs.  `effects` has the order of fx_table().
typedef struct PlacementCosts {
  PlacementCost stage[PLACEMENT_SIDES];
  PlacementCost effects[PLACEMENT_SIDES][PLACEMENT_MAX_EFFECTS];
} PlacementCosts;

/// One node of a rack.
typedef struct PlacementNode {
  uint32_t effect; ///< Index in fx_table(); PLACEMENT_PLUGIN: measured_ns is its cost
  uint32_t rank;
  uint32_t n_channels;
  uint64_t n_taps;    ///< Of each channel
  bool is_free;       ///< The node has no fixed backend, and its effect has a kernel
  PlacementSide side; ///< Its side if it is not free
  double measured_ns; ///< Time of the node's block on one core; 0: not known yet
} PlacementNode;

/// The properties other than nodes that the time of a block depends on.
typedef struct PlacementShape {
  uint32_t block_frames;
  uint32_t n_channels; ///< The larger number of the rack's inputs and outputs
  uint32_t n_cores;    ///< Of the CPU, at least 1
} PlacementShape;

/**
   Predict the time of a block with the free nodes on one side.

   @param nodes [n_nodes] Sorted by this call.
   @return ns; infinity if the cost of an effect is unknown on its side.
   [any]
*/
double placement_predict(const PlacementCosts* costs, const PlacementShape* shape,
                         PlacementNode* nodes, uint32_t n_nodes, PlacementSide side);

/**
   Choose a side for the free nodes.

   A rack that has not played goes to the GPU if the CPU would take more than 1.25 times as long.  A
   rack that plays changes sides only if its side takes more than twice as long as the other, so
   that edits do not move it back and forth.

   @param has_past The free nodes play on `now`.
   [any]
*/
PlacementSide placement_decide(bool has_past, PlacementSide now, double cpu_ns, double gpu_ns);

#endif
