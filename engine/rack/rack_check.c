// SPDX-License-Identifier: GPL-3.0-or-later
// Checks of the whole rack: no dangling connections, no cycles.

#include "rack_private.h"

#include "engine/base/edges.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_SHOWN 12U // names of nodes of a cycle in an error text

/// The rack as vertices: its nodes by index, then its output.
typedef struct Graph {
  Arena arena; ///< Holds the arrays below
  uint32_t n_vertices;
  uint32_t* from;  ///< [n_edges] UINT32_MAX: the rack's input
  uint32_t* to;    ///< [n_edges]
  bool* is_side;   ///< [n_edges] it leads to a side input
  uint32_t* queue; ///< [n_vertices]
} Graph;

/// Fill the graph.  Sets Arena::failed if out of memory.
static void
graph_init(const Rack* const rack, Graph* const graph)
{
  *graph = (Graph){ .n_vertices = rack->n_nodes + 1U };
  graph->from = arena_take(&graph->arena, rack->n_edges, sizeof(uint32_t));
  graph->to = arena_take(&graph->arena, rack->n_edges, sizeof(uint32_t));
  graph->is_side = arena_take(&graph->arena, rack->n_edges, sizeof(bool));
  graph->queue = arena_take(&graph->arena, graph->n_vertices, sizeof(uint32_t));
  for (uint32_t e = 0; !graph->arena.failed && e < rack->n_edges; ++e) {
    graph->from[e] = rack_index_of(rack, rack->edges[e].from.uid, UINT32_MAX);
    graph->to[e] = rack_index_of(rack, rack->edges[e].to.uid, rack->n_nodes);
    graph->is_side[e] = rack->edges[e].to.side != 0U;
  }
}

static void
graph_clear(Graph* const graph)
{
  arena_clear(&graph->arena);
}

/// Find a cycle, given that there is one.  Begin at a node without a place in the topological order
/// and go against the signal flow, one step per node of the rack: the last node is in a cycle.
static uint32_t
find_circle(const Rack* const rack, const Graph* const graph, const bool* const is_ordered,
            RackUid* const path)
{
  const uint32_t n = rack->n_nodes;
  uint32_t* const upstream = graph->queue; // of each node, one outside of the order
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    if (graph->from[e] < n && graph->to[e] < n && !is_ordered[graph->from[e]]) {
      upstream[graph->to[e]] = graph->from[e];
    }
  }
  uint32_t at = 0;
  while (is_ordered[at]) {
    ++at;
  }
  for (uint32_t i = 0; i < n; ++i) {
    at = upstream[at];
  }
  uint32_t first = at; // the node of the cycle that is first in the document
  uint32_t n_path = 1;
  for (uint32_t i = upstream[at]; i != at; i = upstream[i], ++n_path) {
    first = i < first ? i : first;
  }
  path[0] = rack->nodes[first].uid;
  for (uint32_t i = upstream[first], p = n_path; i != first; i = upstream[i]) {
    path[--p] = rack->nodes[i].uid; // upstream[] goes against the signal flow
  }
  return n_path;
}

static Status
cycle_error(const Rack* const rack, const RackUid* const path, const uint32_t n_path,
            Error* const error)
{
  char names[MAX_SHOWN * (RACK_NAME_BYTES + 4U)];
  size_t used = 0;
  const uint32_t n_shown = n_path < MAX_SHOWN ? n_path : MAX_SHOWN - 1U;
  for (uint32_t i = 0; i < n_shown; ++i) {
    used += (size_t)sprintf(names + used, "%s > ", rack_find_uid(rack, path[i])->name);
  }
  return error_set(error, STATUS_BAD_RACK,
                   "signal would go in a circle: %.350s%s%s; remove one of these connections",
                   names, n_shown < n_path ? "... > " : "", rack_find_uid(rack, path[0])->name);
}

Status
rack_find_cycle(const Rack* const rack, RackUid** const path, uint32_t* const n_path,
                Error* const error)
{
  const uint32_t n = rack->n_nodes;
  Graph graph;
  graph_init(rack, &graph);
  bool* const is_ordered = arena_take(&graph.arena, n, sizeof(bool));
  uint32_t* const rank = arena_take(&graph.arena, n, sizeof(uint32_t));
  const EdgeGroups by_target = edges_group(&graph.arena, n, graph.to, rack->n_edges, NULL);
  const uint32_t n_ordered =
      edges_order(&graph.arena, n, graph.from, graph.to, &by_target, rank, graph.queue);
  for (uint32_t i = 0; i < n_ordered; ++i) {
    is_ordered[graph.queue[i]] = true;
  }
  *path = malloc((n + 1U) * sizeof(RackUid)); // + 1: never an allocation of 0 bytes
  const bool failed = graph.arena.failed || !*path;
  *n_path = failed || n_ordered == n ? 0U : find_circle(rack, &graph, is_ordered, *path);
  graph_clear(&graph);
  return failed    ? rack_no_memory(error)
         : *n_path ? cycle_error(rack, *path, *n_path, error)
                   : STATUS_OK;
}

/// Mark the vertices that the signal reaches from the marked ones without passing `around` and,
/// unless `by_sides`, a side input.  Returns false if out of memory.
static bool
mark_reached(Graph* const graph, const uint32_t n_edges, const uint32_t around, const bool by_sides,
             bool* const reached)
{
  const EdgeGroups by_source =
      edges_group(&graph->arena, graph->n_vertices, graph->from, n_edges, NULL);
  if (graph->arena.failed) {
    return false;
  }
  uint32_t n_queued = 0;
  for (uint32_t v = 0; v < graph->n_vertices; ++v) {
    if (reached[v]) {
      graph->queue[n_queued++] = v;
    }
  }
  for (uint32_t q = 0; q < n_queued; ++q) {
    const uint32_t v = graph->queue[q];
    for (uint32_t i = by_source.first[v]; i < by_source.first[v + 1U]; ++i) {
      const uint32_t to = graph->to[by_source.list[i]];
      const bool leads_on = by_sides || !graph->is_side[by_source.list[i]];
      if (!reached[to] && to != around && leads_on) {
        reached[to] = true;
        graph->queue[n_queued++] = to;
      }
    }
  }
  return true;
}

Status
rack_spread(const Rack* const rack, const RackNode* const around, bool* const reached,
            Error* const error)
{
  Graph graph;
  graph_init(rack, &graph);
  const bool is_done =
      mark_reached(&graph, rack->n_edges, (uint32_t)(around - rack->nodes), false, reached);
  graph_clear(&graph);
  return is_done ? STATUS_OK : rack_no_memory(error);
}

bool
rack_has_way(const Rack* const rack)
{
  Graph graph;
  graph_init(rack, &graph);
  bool* const reached = arena_take(&graph.arena, graph.n_vertices, sizeof(bool));
  for (uint32_t e = 0; !graph.arena.failed && e < rack->n_edges; ++e) {
    reached[graph.to[e]] = reached[graph.to[e]] || rack->edges[e].from.uid == RACK_UID_IN;
  }
  for (uint32_t n = 0; !graph.arena.failed && n < rack->n_nodes; ++n) {
    reached[n] = reached[n] || rack->nodes[n].fx->is_source;
  }
  const bool is_known = mark_reached(&graph, rack->n_edges, UINT32_MAX, true, reached);
  const bool has_way = !is_known || reached[rack->n_nodes]; // unknown: report no missing path
  graph_clear(&graph);
  return has_way;
}

static bool
range_ok(const RackEnd end)
{
  return (!end.first && !end.last) ||
         (end.first >= 1U && end.first <= end.last && end.last <= FX_MAX_CHANNELS);
}

/// True if the node has the side input of the end.
static bool
side_ok(const Rack* const rack, const RackEnd end)
{
  const RackNode* const node = rack_find_uid(rack, end.uid);
  return !end.side || (node && end.side <= node->fx->n_sides);
}

static Status
check_edge(const Rack* const rack, const RackEdge* const edge, Error* const error)
{
  const bool from_ok = edge->from.uid == RACK_UID_IN || rack_find_uid(rack, edge->from.uid);
  const bool to_ok = edge->to.uid == RACK_UID_OUT || rack_find_uid(rack, edge->to.uid);
  if (!from_ok || !to_ok || !range_ok(edge->from) || !range_ok(edge->to) || edge->from.side ||
      !side_ok(rack, edge->to)) {
    char a[RACK_END_BYTES];
    char b[RACK_END_BYTES];
    return error_set(error, STATUS_BAD_RACK, "the connection from %s to %s dangles; remove it",
                     rack_print_end(rack, edge->from, a), rack_print_end(rack, edge->to, b));
  }
  return STATUS_OK;
}

Status
rack_check(const Rack* const rack, Error* const error)
{
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    const Status status = check_edge(rack, &rack->edges[e], error);
    if (status) {
      return status;
    }
  }
  RackUid* path = NULL;
  uint32_t n_path = 0;
  const Status status = rack_find_cycle(rack, &path, &n_path, error);
  free(path);
  return status;
}
