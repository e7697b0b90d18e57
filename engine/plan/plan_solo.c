// SPDX-License-Identifier: GPL-3.0-or-later
// Which connections are heard while nodes have solo: those on a path from an input or a source to
// an output that goes through one of these nodes.

#include "plan_graph.h"

/// Mark the nodes that a signal reaches which went through a node with solo, that one included.
static void
mark_behind(const Graph* const graph, bool* const is_behind)
{
  for (uint32_t i = 0; i < graph->rack->n_nodes; ++i) {
    const uint32_t v = graph->order[i];
    is_behind[v] = rack_has_solo(&graph->rack->nodes[v]);
    for (uint32_t e = graph->in_edges.first[v]; e < graph->in_edges.first[v + 1U]; ++e) {
      const uint32_t from = graph->routes[graph->in_edges.list[e]].from;
      is_behind[v] = is_behind[v] || (from != GRAPH_IN && is_behind[from]);
    }
  }
}

/// Mark the nodes from which a signal reaches a node with solo, that one included. is_before: [n]
/// zeros.
static void
mark_before(const Graph* const graph, bool* const is_before)
{
  for (uint32_t i = graph->rack->n_nodes; i-- > 0U;) {
    const uint32_t v = graph->order[i];
    is_before[v] = is_before[v] || rack_has_solo(&graph->rack->nodes[v]);
    for (uint32_t e = graph->in_edges.first[v]; e < graph->in_edges.first[v + 1U]; ++e) {
      const uint32_t from = graph->routes[graph->in_edges.list[e]].from;
      if (from != GRAPH_IN) {
        is_before[from] = is_before[from] || is_before[v];
      }
    }
  }
}

const bool*
graph_find_heard(const Graph* const graph)
{
  const Rack* const rack = graph->rack;
  bool has_solo = false;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    has_solo = has_solo || rack_has_solo(&rack->nodes[n]);
  }
  bool* const is_behind = arena_take(graph->scratch, rack->n_nodes, sizeof(bool));
  bool* const is_before = arena_take(graph->scratch, rack->n_nodes, sizeof(bool));
  bool* const is_heard = arena_take(graph->scratch, rack->n_edges, sizeof(bool));
  if (graph->scratch->failed) {
    return NULL;
  }
  mark_behind(graph, is_behind);
  mark_before(graph, is_before);
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    const Route* const route = &graph->routes[e];
    is_heard[e] = !has_solo || (route->from != GRAPH_IN && is_behind[route->from]) ||
                  (route->to != GRAPH_OUT && is_before[route->to]);
  }
  return is_heard;
}
