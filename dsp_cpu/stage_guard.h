// SPDX-License-Identifier: GPL-3.0-or-later
/// The stage on the CPU: its data, and the guard, which finds outputs that are not finite and
/// replaces them by silence or by the input of their node, delayed by the node's latency, and which
/// applies the switches of nodes (engine/contract/node_switches.h).
#ifndef WARPRACK_DSP_CPU_STAGE_GUARD_H
#define WARPRACK_DSP_CPU_STAGE_GUARD_H

#include "stage_event.h"

#include "engine/contract/backend.h"
#include "engine/contract/pool.h"

typedef struct Chain Chain; ///< See stage_chain.h
typedef struct ChainTask ChainTask;

/// The units of one node within a batch.
typedef struct Run {
  uint32_t first_unit, n_units;
  uint32_t node_index;
  bool is_stopped;   ///< The node waits for its renewal
  bool is_cut;       ///< Its values change within the block, after the first frame; valid only in
                     ///< blocks with changes
  bool is_renewed;   ///< It was renewed, and gets the values that were set meanwhile
  const float** ins; ///< [n_ins] of its units: of each the main inputs, then the side inputs
  float** outs;      ///< [n_outs] of its units
  uint32_t n_ins, n_outs;
  uint32_t n_in;      ///< Main inputs of each unit
  NodeHealth* health; ///< Of the node
  NodeTap* tap;       ///< NULL: nobody watches the node
  NodeSwitches* switches;
  uint64_t call;     ///< For the flight recorder: a run of this node
  Chain* chain;      ///< NULL: the node is in none
  uint32_t place;    ///< Of the node in its chain
  const MixRow* mix; ///< Of the first input
  bool is_done;      ///< The node has run in this block, together with others of its chain
} Run;

/// A batch prepared for running: units with their pointers.
typedef struct Batch {
  const FxInfo* fx;
  const BatchUnit* specs;
  FxUnit* units;
  const float** ins; ///< Of all units: a mix of the block writes those that it fills
  float** outs;      ///< Of all units
  uint32_t n_units;
  Run* runs;
  uint32_t n_runs;
  bool has_latency;    ///< A node has a InputLine
  bool has_end;        ///< There is something to do after the guard: a latency, or a tap
  uint32_t n_taps;     ///< Nodes that are watched
  bool has_chains;     ///< A node is in a chain
  uint32_t n_done;     ///< Nodes with Run::is_done
  bool may_share;      ///< There are several units, and several cores
  uint64_t call;       ///< For the flight recorder: a run of any of the nodes
  double mean_ns;      ///< Time of one block on one core
  bool is_shared;      ///< It is long enough for the pool
  bool may_be_timed;   ///< It may share, is of a plugin, or has its turn
  bool has_turn;       ///< The nodes record the time of this block, see batch_turn.h
  bool is_timed;       ///< The time of this block is measured
  double block_ns;     ///< Time of its parts that have run
  double chain_ns;     ///< Time of its nodes that have run together with others of their chains
  double longest_ns;   ///< Time of the last long block, less what was forgotten since
  uint32_t n_measured; ///< Number of measured blocks
  uint32_t n_blocks;   ///< Number of blocks, of plugins that are not shared
  uint32_t next_run;   ///< The node whose time is recorded next
  FxUnit* whole;       ///< [n_units] scratch: the units that run the complete block at once
  float *wet, *dry;    ///< Scratch: weights of a node's output and input, one per frame
} Batch;

/// The pointers of units around a row of a mix: while the row would only be a copy, nothing is
/// copied.
typedef struct MixPlace {
  const float** in; ///< Of the unit that reads the row: it reads what would be copied.  NULL: the
                    ///< row is an output of the rack
  float** out;      ///< Of the unit that writes what would be copied to an output of the rack, and
                    ///< that nothing else reads: it writes to that output.  NULL: there is none
} MixPlace;

struct Stage {
  StageSpec spec;
  Batch* batches;   ///< [n_steps], unused for mixes
  Chain* chains;    ///< NULL: there are none
  ChainTask* tasks; ///< [chains] those of a batch that runs
  MixPlace* places; ///< Of the rows of all mixes, in their order
  uint32_t n_places;
  Pool* pool;
  _Atomic uint64_t* line;      ///< Of the player, in the flight recorder
  const StageChanges* changes; ///< Of the submitted block
  ChangeMarks marks;
  bool is_changing;    ///< There are any
  float* weights;      ///< For Batch::wet and Batch::dry of all batches
  uint32_t n_frames;   ///< Of the submitted block
  uint32_t turn;       ///< The step that had the last turn, see batch_turn.h
  uint32_t until_turn; ///< Frames until the next turn, ...
  uint32_t random;     ///< ... and the number that it came from
  uint32_t n_reset;    ///< Units reset in it
};

// Work goes to the pool if it takes longer than this on one core: about ten times the cost of
// handing it over and collecting it (measured: bench pool hand-over, 2 to 4 us).
#define POOL_PAYS_NS  40000.0
#define POOL_STAYS_NS 30000.0 // less: a batch near the limit does not alternate

/// True if work that takes so long on one core is shared; `is_shared`: it was before.
static inline bool
batch_pays_pool(const double ns, const bool is_shared)
{
  return ns > (is_shared ? POOL_STAYS_NS : POOL_PAYS_NS);
}

/// True if no sample of a row is NaN or infinite. [player, helpers]
REALTIME bool stage_guard_is_finite(const float* samples, uint32_t n_frames);

/// Find the nodes that must not run in this block, of an effect with FxInfo::renew; returns true if
/// there are any. [player]
REALTIME bool stage_guard_find_stopped(Batch* batch);

/// Check the outputs of a batch after its run: all are finite afterwards.  Apply the switches of
/// its nodes, which change at some of the events.  Returns the number of units whose output was
/// not finite. [player]
REALTIME uint32_t stage_guard(const Stage* stage, const Batch* batch, uint32_t n_frames);

#endif
