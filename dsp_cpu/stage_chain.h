// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Chains (StageStep) on the CPU: neighbouring nodes run as one pass over the samples.

   When the batch of a node of a chain runs, the stage counts the nodes from there on that are quiet
   in this block: none of their parameters moves, none of their switches is on, their last outputs
   were finite, the connections between them only copy, and no client watches an inner one.  If
   there are several, the stage runs them together, from the input rows of the first to the output
   rows of the last, and their own batches leave them out.  A node that is not quiet runs in its
   batch, and the count starts again behind it.  The stage decides this for each block; a node keeps
   no mode.

   The samples are the same, to the bit: the signal is rounded to float at the end of each node.
   Output rows of inner nodes are not written.

   The guard checks the output of the last node only: a sample that is not finite stays so through
   all sections and factors.  If there is one, the sections return to their states before the block,
   and each node runs in its batch, where the guard finds the node that made it.
*/
#ifndef WARPRACK_DSP_CPU_STAGE_CHAIN_H
#define WARPRACK_DSP_CPU_STAGE_CHAIN_H

#include "cascade_kernel.h"
#include "stage_guard.h"

/// A node of a chain.
typedef struct ChainNode {
  Batch* batch;
  Run* run;
  const FxLinear* linear;
  const FxUnit* units;
  const uint32_t* n_sets;             ///< BatchUnit::n_sets
  uint32_t n_sets_at_rest;            ///< Its value when all units were at rest
  bool rests;                         ///< All units are at rest, if n_sets is still the same
  uint32_t first_section, n_sections; ///< Among those of the chain; none: a factor
} ChainNode;

/// The part of a chain that is in a stage: at least two nodes.
struct Chain {
  ChainNode* nodes;
  uint32_t n_nodes, n_units, n_sections;
  CascadeRow** rows; ///< [n_units][n_sections]
  double* kept;      ///< [n_units][n_sections][2] v and d before the block
  uint32_t n_alone;  ///< Nodes at the beginning that run by themselves in this block
  bool is_shared;    ///< Its last run was shared among cores
  uint64_t call;     ///< For the flight recorder: a run of several of the nodes
};

/// Nodes of a chain that run together in this block.
struct ChainTask {
  Chain* chain;
  const ChainNode* nodes;
  uint32_t n_nodes;
  _Atomic bool is_bad; ///< An output is not finite
};

// ---- stage_chain_setup.c ----

/// Memory for the chains of a stage. [builder]
size_t stage_chain_bytes(const StageSpec* spec);

/// Find the chains, after the batches are prepared.  Stage::chains has the memory. [builder]
NODISCARD Status stage_chain_init(Stage* stage);

// ---- stage_chain.c ----

/// Run the quiet nodes of chains from this batch on: Batch::n_done counts those of the batch that
/// have run, now or with a batch before. [player]
REALTIME void stage_chain_run(Stage* stage, Batch* batch, uint32_t n_frames);

/// The batch ends. [player]
REALTIME void stage_chain_end(Batch* batch);

#endif
