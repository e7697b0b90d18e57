// SPDX-License-Identifier: GPL-3.0-or-later
/**
   First half of planning: the nodes and connections of the plan, their numbers of channels,
   latencies and order.  All data is scratch data of one planning run. [builder]
*/
#ifndef WARPRACK_ENGINE_PLAN_PLAN_GRAPH_H
#define WARPRACK_ENGINE_PLAN_PLAN_GRAPH_H

#include "plan.h"

#include "engine/base/edges.h"

#define GRAPH_OUT UINT32_MAX // the rack's output, where an index of a node is expected
#define GRAPH_IN  (UINT32_MAX - 1U)

/// One rack edge: its ends as indices of rack nodes (the plan's living nodes), and its resolved
/// channels.
typedef struct Route {
  uint32_t from, to;
  Link like;             ///< Template of the link; its ends are set once the nodes are known
  uint32_t delay_frames; ///< Frames of latency compensation
} Route;

/// One planning run.
typedef struct Graph {
  Plan* plan;
  const PlanRequest* request;
  PlanFault* fault;
  Arena* scratch;
  const Rack* rack;
  Route* routes;         ///< [rack->n_edges]
  EdgeGroups in_edges;   ///< Routes by `to`; those to the output are group n_nodes
  EdgeGroups in_links;   ///< The plan's links, dying ones too, by target; likewise
  uint32_t* order;       ///< [n_nodes] nodes in topological order
  uint32_t* latency_out; ///< [n_nodes]
  uint32_t ramp_frames;
  Error refusal; ///< Of the first node in PlanFault::refused
} Graph;

/// Fill plan->nodes, links, aims, latency and n_out.  New nodes and links have no large memory yet.
NODISCARD Status graph_resolve(Graph* graph, Plan* plan, const PlanRequest* request, Arena* scratch,
                               PlanFault* fault, Error* error);

/// Allocate the large memory of nodes and links, and compute the rack's tail, which may depend on
/// files.
NODISCARD Status graph_load(Graph* graph, Error* error);

/// Index of a node in the plan; `if_none` for NULL.
static inline uint32_t
graph_index(const Node* const node, const uint32_t if_none)
{
  return node ? node->plan_index : if_none;
}

/// a + b, at most UINT64_MAX.
static inline uint64_t
graph_add(const uint64_t a, const uint64_t b)
{
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

// ---- plan_links.c ----

/// True if `node` (NULL: the rack's input or output) was in the previous plan and not dying.  Its
/// signal must then not jump.
bool graph_is_continuing(const Graph* graph, const Node* node);

/// Latency of the inputs of `node` (NULL: the output) in a plan, in frames.
uint32_t graph_latency_at(const Plan* plan, const Node* node);

/// True if the link is in the new plan.
bool graph_has_link(const Plan* plan, const Link* link);

/// Add a fade of a link to `target` to the plan, without a hold.
PlanAim* graph_aim(Graph* graph, Link* link, float target);

/// Make or take over the connections of the rack.
NODISCARD Status graph_make_links(Graph* graph, Error* error);

// ---- plan_solo.c ----

/// For each connection of the rack, whether it is heard: all are while no node has solo.  NULL if
/// out of memory.
const bool* graph_find_heard(const Graph* graph);

// ---- plan_death.c ----

/// Keep the dying parts of the previous plan that have not ended.
void graph_keep_dying(Graph* graph);

/// Schedule the end of the nodes that die with this plan, in topological order.  A node ends after
/// the fades of its inputs and its tail; then the connections from it fade.
void graph_schedule_deaths(Graph* graph, const uint32_t* order);

// ---- plan_fades.c ----

/// Set the times at which new connections fade in, and at which removed connections from living
/// nodes fade out.  Returns false if out of memory.
bool graph_schedule_fades(Graph* graph, const uint32_t* order);

#endif
