// SPDX-License-Identifier: GPL-3.0-or-later
/// The stage on the CPU: its data, and the guard, which finds outputs that are not finite and
/// replaces them by silence or by the input of their node, delayed by the node's latency.
#ifndef WARPRACK_DSP_CPU_STAGE_GUARD_H
#define WARPRACK_DSP_CPU_STAGE_GUARD_H

#include "engine/contract/backend.h"
#include "engine/contract/pool.h"

/// The units of one node within a batch.
typedef struct Run {
  uint32_t first_unit, n_units;
  uint32_t node_index;
  bool is_stopped; ///< The node waits for its renewal
  bool is_renewed; ///< It was renewed, and gets the values that were set meanwhile
  uint64_t call;   ///< For the flight recorder: a run of this node
} Run;

/// A batch prepared for running: units with their pointers.
typedef struct Batch {
  const FxInfo* fx;
  const BatchUnit* specs;
  FxUnit* units;
  const float** ins;
  float** outs;
  uint32_t* first_in;  ///< [n_units] into ins: main inputs, then side inputs
  uint32_t* first_out; ///< [n_units] into outs
  uint32_t* in_rows;   ///< [n_ins] of each pointer of ins: the place in Stage::sources
  uint32_t n_ins;
  uint32_t n_units;
  Run* runs;
  uint32_t n_runs;
  bool has_latency;    ///< A node has a InputLine
  uint64_t call;       ///< For the flight recorder: a run of any of the nodes
  double mean_ns;      ///< Time of one block on one core
  bool is_shared;      ///< It is long enough for the pool
  bool is_timed;       ///< The time of this block is measured
  double block_ns;     ///< Time of its parts that have run
  double longest_ns;   ///< Time of the last long block, less what was forgotten since
  uint32_t n_measured; ///< Number of measured blocks
  uint32_t n_blocks;   ///< Number of blocks, of plugins that are not shared
  FxUnit* plain;       ///< [n_units] scratch: the units that run as usual
} Batch;

struct Stage {
  StageSpec spec;
  const float** sources; ///< [n_rows] of rows that are inputs of nodes: where the samples are, in
                         ///< the row itself or in the one that it would be a copy of; then NULL
  Batch* batches;        ///< [n_steps], unused for mixes
  Pool* pool;
  _Atomic uint64_t* line; ///< Of the player, in the flight recorder
  uint32_t* has_event;    ///< [n_nodes] 1 while a block's events name the node
  uint32_t n_frames;      ///< Of the submitted block
  uint32_t n_reset;       ///< Units reset in it
};

/// Find the nodes that must not run in this block, of an effect with FxInfo::renew; returns true if
/// there are any. [player]
REALTIME bool stage_guard_find_stopped(Batch* batch);

/// Check the outputs of a batch after its run: all are finite afterwards.  Returns the number of
/// units whose output was not. [player]
REALTIME uint32_t stage_guard(const Batch* batch, uint32_t n_frames);

#endif
