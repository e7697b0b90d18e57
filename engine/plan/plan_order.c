// SPDX-License-Identifier: GPL-3.0-or-later
// Topological order of a graph given as edges grouped by where they lead.

#include "plan_graph.h"

InEdges
in_edges_new(Arena* const scratch, const uint32_t n_nodes, const uint32_t* const to,
             const uint32_t n_edges)
{
  InEdges in = { .n_vertices = n_nodes + 1U };
  in.first = arena_take(scratch, in.n_vertices + 1U, sizeof(uint32_t));
  in.list = arena_take(scratch, n_edges, sizeof(uint32_t));
  uint32_t* const next = arena_take(scratch, in.n_vertices, sizeof(uint32_t));
  if (scratch->failed) {
    return in;
  }
  for (uint32_t e = 0; e < n_edges; ++e) {
    ++in.first[(to[e] == GRAPH_OUT ? n_nodes : to[e]) + 1U];
  }
  for (uint32_t v = 0; v < in.n_vertices; ++v) {
    in.first[v + 1U] += in.first[v];
    next[v] = in.first[v];
  }
  for (uint32_t e = 0; e < n_edges; ++e) {
    in.list[next[to[e] == GRAPH_OUT ? n_nodes : to[e]]++] = e;
  }
  return in;
}

/// Kahn's algorithm (1962), kept stable: nodes become ready in index order.
bool
graph_levels(Arena* const scratch, const InEdges* const in_edges, const uint32_t* const from,
             uint32_t* const level, uint32_t* const order)
{
  const uint32_t n_nodes = in_edges->n_vertices - 1U;
  const uint32_t n_edges = in_edges->first[n_nodes];
  uint32_t* const waiting_for = arena_take(scratch, n_nodes, sizeof(uint32_t));
  uint32_t* const out_first = arena_take(scratch, n_nodes + 2U, sizeof(uint32_t));
  uint32_t* const out_list = arena_take(scratch, n_edges, sizeof(uint32_t));
  if (scratch->failed) {
    return true; // the caller looks at `failed` before it looks at the result
  }
  for (uint32_t i = 0; i < n_edges; ++i) {
    const uint32_t source = from[in_edges->list[i]];
    out_first[source == GRAPH_IN ? 0U : source + 2U] += source != GRAPH_IN;
  }
  for (uint32_t v = 0; v < n_nodes; ++v) {
    out_first[v + 2U] += out_first[v + 1U];
  }
  for (uint32_t v = 0; v < n_nodes; ++v) {
    for (uint32_t i = in_edges->first[v]; i < in_edges->first[v + 1U]; ++i) {
      const uint32_t source = from[in_edges->list[i]];
      if (source != GRAPH_IN) {
        out_list[out_first[source + 1U]++] = v;
        ++waiting_for[v];
      }
    }
  }

  uint32_t n_ready = 0;
  for (uint32_t v = 0; v < n_nodes; ++v) {
    level[v] = 0;
    if (waiting_for[v] == 0U) {
      order[n_ready++] = v;
    }
  }
  for (uint32_t done = 0; done < n_ready; ++done) {
    const uint32_t v = order[done];
    for (uint32_t i = out_first[v]; i < out_first[v + 1U]; ++i) {
      const uint32_t next = out_list[i];
      level[next] = level[v] + 1U > level[next] ? level[v] + 1U : level[next];
      if (--waiting_for[next] == 0U) {
        order[n_ready++] = next;
      }
    }
  }
  return n_ready == n_nodes;
}
