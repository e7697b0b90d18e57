// SPDX-License-Identifier: GPL-3.0-or-later
// The cost model of a block, and the choice of a side.

#include "placement.h"

#include <math.h>
#include <stdlib.h>

#define FIRST_MARGIN 1.25 // at about equal cost choose the CPU, which has no driver that can fail
// A large margin, because each change fades to new nodes, which start without the state of the old
// ones.
#define CHANGE_MARGIN 2.0

// Equal to POOL_PAYS_NS of dsp_cpu/stage_cpu.c.
#define SPREAD_NS 40000.0

static int
compare_nodes(const void* const a, const void* const b)
{
  const PlacementNode* const left = a;
  const PlacementNode* const right = b;
  if (left->rank != right->rank) {
    return left->rank < right->rank ? -1 : 1;
  }
  if (left->side != right->side) {
    return left->side < right->side ? -1 : 1;
  }
  return (left->effect > right->effect) - (left->effect < right->effect);
}

static double
cost_ns(const PlacementCost* const cost, const PlacementShape* const shape, const double n_channels,
        const double n_taps)
{
  const double n_frames = shape->block_frames;
  if (!cost->is_known) {
    return INFINITY;
  }
  return cost->base + n_channels * cost->per_channel +
         n_frames * (cost->per_frame + n_channels * cost->per_sample) +
         n_taps * (cost->per_tap + n_frames * cost->per_tap_frame);
}

/// Time of a batch: `n` nodes of one effect, rank and side.
static double
batch_ns(const PlacementCosts* const costs, const PlacementShape* const shape,
         const PlacementNode* const nodes, const uint32_t n)
{
  double n_channels = 0.0;
  double n_taps = 0.0;
  double ns = 0.0;
  for (uint32_t i = 0; i < n; ++i) {
    n_channels += nodes[i].n_channels;
    n_taps += (double)nodes[i].n_channels * (double)nodes[i].n_taps;
    ns += nodes[i].measured_ns;
  }
  if (nodes->effect != PLACEMENT_PLUGIN) {
    ns = cost_ns(&costs->effects[nodes->side][nodes->effect], shape, n_channels, n_taps);
  }
  const bool spreads = nodes->side == PLACEMENT_CPU && ns > SPREAD_NS;
  return spreads ? fmax(SPREAD_NS, ns / shape->n_cores) : ns;
}

double
placement_predict(const PlacementCosts* const costs, const PlacementShape* const shape,
                  PlacementNode* const nodes, const uint32_t n_nodes, const PlacementSide side)
{
  double stages[PLACEMENT_SIDES];
  for (uint32_t s = 0; s < PLACEMENT_SIDES; ++s) {
    stages[s] = cost_ns(&costs->stage[s], shape, shape->n_channels, 0.0);
  }
  for (uint32_t n = 0; n < n_nodes; ++n) {
    nodes[n].side = nodes[n].is_free ? side : nodes[n].side;
  }
  if (n_nodes) {
    qsort(nodes, n_nodes, sizeof(PlacementNode), compare_nodes);
  }
  double ns = stages[n_nodes ? nodes->side : side];
  for (uint32_t begin = 0, i = 1; begin < n_nodes; ++i) {
    if (i == n_nodes || compare_nodes(&nodes[i], &nodes[begin])) {
      ns += batch_ns(costs, shape, nodes + begin, i - begin);
      ns += i < n_nodes && nodes[i].side != nodes[begin].side ? stages[nodes[i].side] : 0.0;
      begin = i;
    }
  }
  return ns;
}

PlacementSide
placement_decide(const bool has_past, const PlacementSide now, const double cpu_ns,
                 const double gpu_ns)
{
  if (!isfinite(cpu_ns) || !isfinite(gpu_ns)) {
    return has_past ? now : PLACEMENT_CPU; // no costs to compare
  }
  if (!has_past) {
    return gpu_ns * FIRST_MARGIN < cpu_ns ? PLACEMENT_GPU : PLACEMENT_CPU;
  }
  const double here = now == PLACEMENT_GPU ? gpu_ns : cpu_ns;
  const double there = now == PLACEMENT_GPU ? cpu_ns : gpu_ns;
  const bool changes = there * CHANGE_MARGIN < here;
  return changes == (now == PLACEMENT_GPU) ? PLACEMENT_CPU : PLACEMENT_GPU;
}
