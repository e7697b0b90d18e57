// SPDX-License-Identifier: GPL-3.0-or-later
#include "stage_chain.h"

#include "engine/base/recorder.h"
#include "engine/base/rt.h"

#include <stdlib.h>

/// Sizes of the arrays of a stage; at most as many chains and tasks as nodes.
typedef struct ChainSizes {
  size_t n_nodes, n_rows;
} ChainSizes;

static uint32_t
n_sections_of(const FxInfo* const fx, const void* const node)
{
  return fx->linear->n_sections ? fx->linear->n_sections(node) : 0U;
}

static ChainSizes
chain_sizes(const StageSpec* const spec)
{
  ChainSizes sizes = { 0 };
  for (uint32_t s = 0; s < spec->n_steps; ++s) {
    const StageStep* const step = &spec->steps[s];
    for (uint32_t u = 0; u < step->n_units; ++u) {
      if (step->units[u].chain) {
        sizes.n_nodes += u == 0U || step->units[u].node_index != step->units[u - 1U].node_index;
        sizes.n_rows += n_sections_of(step->fx, step->units[u].node);
      }
    }
  }
  return sizes;
}

static size_t
sizes_bytes(const ChainSizes sizes)
{
  return sizes.n_nodes * (sizeof(Chain) + sizeof(ChainNode) + sizeof(ChainTask)) +
         sizes.n_rows * (2U * sizeof(double) + sizeof(CascadeRow*));
}

size_t
stage_chain_bytes(const StageSpec* const spec)
{
  return sizes_bytes(chain_sizes(spec));
}

/// A chain while it is found: its nodes and sections in the stage.
typedef struct Found {
  Chain* chain;
  uint32_t n_nodes, n_sections;
} Found;

/// Count the nodes of each chain.  `found`: [1 + n_nodes] by BatchUnit::chain.
static void
count_nodes(const Stage* const stage, Found* const found)
{
  for (uint32_t s = 0; s < stage->spec.n_steps; ++s) {
    const Batch* const batch = &stage->batches[s];
    for (uint32_t r = 0; r < batch->n_runs; ++r) {
      const BatchUnit* const unit = &batch->specs[batch->runs[r].first_unit];
      if (unit->chain) {
        ++found[unit->chain].n_nodes;
        found[unit->chain].n_sections += n_sections_of(batch->fx, unit->node);
      }
    }
  }
}

/// The memory that is left.
typedef struct Space {
  Chain* chains;
  ChainNode* nodes;
  double* kept;
  CascadeRow** rows;
} Space;

static Chain*
take_chain(Space* const space, const Found* const found, const Batch* const batch,
           const Run* const run)
{
  Chain* const chain = space->chains++;
  *chain = (Chain){ .nodes = space->nodes,
                    .n_units = run->n_units,
                    .n_sections = found->n_sections,
                    .rows = space->rows,
                    .kept = space->kept,
                    .call = recorder_word(batch->specs[run->first_unit].uid, true) };
  const size_t n_rows = (size_t)run->n_units * found->n_sections;
  space->nodes += found->n_nodes;
  space->rows += n_rows;
  space->kept += 2U * n_rows;
  return chain;
}

/// Add a node to the end of a chain, of which so many sections are taken.
static void
add_node(Chain* const chain, uint32_t* const n_taken, Batch* const batch, Run* const run)
{
  ChainNode* const node = &chain->nodes[chain->n_nodes];
  const FxUnit* const units = batch->units + run->first_unit;
  *node = (ChainNode){ .batch = batch,
                       .linear = batch->fx->linear,
                       .units = units,
                       .n_sets = batch->specs[run->first_unit].n_sets,
                       .first_section = *n_taken,
                       .n_sections = n_sections_of(batch->fx, units->node) };
  node->run = run;
  run->chain = chain;
  run->place = chain->n_nodes++;
  batch->has_chains = true;
  *n_taken += node->n_sections;
  for (uint32_t u = 0; node->n_sections && u < run->n_units; ++u) {
    CascadeRow* const sections = node->linear->sections(units[u].state);
    CascadeRow** const rows = chain->rows + (size_t)u * chain->n_sections + node->first_section;
    for (uint32_t s = 0; s < node->n_sections; ++s) {
      rows[s] = sections + s;
    }
  }
}

/// The nodes of a chain come in its order: each has a later step than the one before.
static void
add_nodes(const Stage* const stage, Space* const space, Found* const found, uint32_t* const n_taken)
{
  for (uint32_t s = 0; s < stage->spec.n_steps; ++s) {
    Batch* const batch = &stage->batches[s];
    for (uint32_t r = 0; r < batch->n_runs; ++r) {
      Run* const run = &batch->runs[r];
      const uint32_t number = batch->specs[run->first_unit].chain;
      Found* const of = &found[number];
      if (!number || of->n_nodes < 2U) {
        continue;
      }
      if (!of->chain) {
        of->chain = take_chain(space, of, batch, run);
      }
      add_node(of->chain, &n_taken[number], batch, run);
    }
  }
}

Status
stage_chain_init(Stage* const stage)
{
  const ChainSizes sizes = chain_sizes(&stage->spec);
  if (!sizes.n_nodes) {
    return STATUS_OK;
  }
  stage->chains = rt_memory(sizes_bytes(sizes));
  Found* const found = calloc(1U + (size_t)stage->spec.n_nodes, sizeof(Found));
  uint32_t* const n_taken = calloc(1U + (size_t)stage->spec.n_nodes, sizeof(uint32_t));
  const Status status = stage->chains && found && n_taken ? STATUS_OK : STATUS_NO_MEM;
  if (!status) {
    Space space = { .chains = stage->chains, .nodes = (ChainNode*)(stage->chains + sizes.n_nodes) };
    stage->tasks = (ChainTask*)(space.nodes + sizes.n_nodes);
    space.kept = (double*)(stage->tasks + sizes.n_nodes);
    space.rows = (CascadeRow**)(space.kept + 2U * sizes.n_rows);
    count_nodes(stage, found);
    add_nodes(stage, &space, found, n_taken);
  }
  free(found);
  free(n_taken);
  return status;
}
