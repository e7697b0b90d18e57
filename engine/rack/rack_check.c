// SPDX-License-Identifier: GPL-3.0-or-later
// The rack as a whole: no connection dangles, no signal goes in a circle.
// Method: A. B. Kahn, "Topological sorting of large networks", CACM 5(11), 1962: nodes that wait
// for nobody leave one by one; whoever is left waits, in the end, for itself.

#include "rack_private.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_SHOWN 12U // names of one circle in a message

/// Nodes by index; `first` and `targets` list for each node the nodes that it feeds.
typedef struct Graph {
  uint32_t* n_waiting; ///< [n_nodes] connections from nodes that have not left
  uint32_t* first;     ///< [n_nodes + 1] into targets
  uint32_t* queue;     ///< [n_nodes]
  uint32_t* targets;   ///< [n_edges]
} Graph;

static bool
graph_new(const Rack* const rack, Graph* const graph)
{
  const size_t n = rack->n_nodes;
  uint32_t* const memory = calloc(3U * n + 1U + rack->n_edges, sizeof(uint32_t));
  *graph = (Graph){ memory, memory + n, memory + 2U * n + 1U, memory + 3U * n + 1U };
  return memory;
}

static void
graph_free(Graph* const graph)
{
  free(graph->n_waiting);
}

/// Index of an end's node, or n_nodes for in and out.
static uint32_t
node_index(const Rack* const rack, const RackEnd end)
{
  const RackNode* const node = rack_find_uid(rack, end.uid);
  return node ? (uint32_t)(node - rack->nodes) : rack->n_nodes;
}

/// Sort the connections by where they come from (counting sort).
static void
graph_fill(const Rack* const rack, Graph* const graph)
{
  const uint32_t n = rack->n_nodes;
  for (uint32_t pass = 0; pass < 2U; ++pass) {
    for (uint32_t e = 0; e < rack->n_edges; ++e) {
      const uint32_t from = node_index(rack, rack->edges[e].from);
      const uint32_t to = node_index(rack, rack->edges[e].to);
      if (from == n || to == n) {
        continue;
      }
      if (pass == 0U) {
        graph->n_waiting[to]++;
        graph->first[from]++;
      } else {
        graph->targets[--graph->first[from]] = to;
      }
    }
    for (uint32_t i = 0; pass == 0U && i < n; ++i) {
      graph->first[i + 1U] += graph->first[i]; // ends of the lists, which pass 1 fills backwards
    }
  }
}

/// Let nodes leave; returns how many did.
static uint32_t
graph_drain(const Rack* const rack, Graph* const graph)
{
  uint32_t n_queued = 0;
  for (uint32_t i = 0; i < rack->n_nodes; ++i) {
    if (!graph->n_waiting[i]) {
      graph->queue[n_queued++] = i;
    }
  }
  for (uint32_t q = 0; q < n_queued; ++q) {
    const uint32_t i = graph->queue[q];
    for (uint32_t t = graph->first[i]; t < graph->first[i + 1U]; ++t) {
      if (!--graph->n_waiting[graph->targets[t]]) {
        graph->queue[n_queued++] = graph->targets[t];
      }
    }
  }
  return n_queued;
}

/// Walk back from a waiting node for as long as there are nodes: the walk is then in the circle.
static uint32_t
graph_circle(const Rack* const rack, const Graph* const graph, RackUid* const path)
{
  const uint32_t n = rack->n_nodes;
  uint32_t* const source = graph->queue; // of each waiting node, one that it waits for
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    const uint32_t from = node_index(rack, rack->edges[e].from);
    const uint32_t to = node_index(rack, rack->edges[e].to);
    if (from < n && to < n && graph->n_waiting[from]) {
      source[to] = from;
    }
  }
  uint32_t at = 0;
  while (!graph->n_waiting[at]) {
    ++at;
  }
  for (uint32_t i = 0; i < n; ++i) {
    at = source[at];
  }
  uint32_t first = at; // in the document
  uint32_t n_path = 1;
  for (uint32_t i = source[at]; i != at; i = source[i], ++n_path) {
    first = i < first ? i : first;
  }
  path[0] = rack->nodes[first].uid;
  for (uint32_t i = source[first], p = n_path; i != first; i = source[i]) {
    path[--p] = rack->nodes[i].uid; // the walk goes against the signal
  }
  return n_path;
}

Status
rack_find_cycle(const Rack* const rack, RackUid* const path, uint32_t* const n_path,
                Error* const error)
{
  Graph graph;
  if (!graph_new(rack, &graph)) {
    return rack_no_memory(error);
  }
  graph_fill(rack, &graph);
  const bool all_left = graph_drain(rack, &graph) == rack->n_nodes;
  *n_path = all_left ? 0U : graph_circle(rack, &graph, path);
  graph_free(&graph);
  return STATUS_OK;
}

Status
rack_cycle_error(const Rack* const rack, const RackUid* const path, const uint32_t n_path,
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
rack_spread(const Rack* const rack, const RackNode* const around, bool* const reached,
            Error* const error)
{
  Graph graph;
  if (!graph_new(rack, &graph)) {
    return rack_no_memory(error);
  }
  graph_fill(rack, &graph);
  uint32_t n_queued = 0;
  for (uint32_t i = 0; i < rack->n_nodes; ++i) {
    if (reached[i]) {
      graph.queue[n_queued++] = i;
    }
  }
  for (uint32_t q = 0; q < n_queued; ++q) {
    const uint32_t i = graph.queue[q];
    for (uint32_t t = graph.first[i]; t < graph.first[i + 1U]; ++t) {
      const uint32_t to = graph.targets[t];
      if (!reached[to] && &rack->nodes[to] != around) {
        reached[to] = true;
        graph.queue[n_queued++] = to;
      }
    }
  }
  graph_free(&graph);
  return STATUS_OK;
}

bool
rack_has_way(const Rack* const rack)
{
  Graph graph;
  if (!graph_new(rack, &graph)) {
    return true; // not known to lack one
  }
  graph_fill(rack, &graph);
  bool* const is_reached = calloc(rack->n_nodes + 1U, sizeof(bool)); // out is the last one
  uint32_t n_queued = 0;
  for (uint32_t e = 0; is_reached && e < rack->n_edges; ++e) {
    const uint32_t to = node_index(rack, rack->edges[e].to);
    if (rack->edges[e].from.uid == RACK_UID_IN && !is_reached[to]) {
      is_reached[to] = true;
      graph.queue[n_queued] = to;
      n_queued += to < rack->n_nodes;
    }
  }
  for (uint32_t q = 0; q < n_queued; ++q) {
    const uint32_t i = graph.queue[q];
    for (uint32_t t = graph.first[i]; t < graph.first[i + 1U]; ++t) {
      const uint32_t to = graph.targets[t];
      if (!is_reached[to]) {
        is_reached[to] = true;
        graph.queue[n_queued++] = to;
      }
    }
  }
  bool has_way = !is_reached || is_reached[rack->n_nodes];
  for (uint32_t e = 0; e < rack->n_edges && !has_way; ++e) {
    const uint32_t from = node_index(rack, rack->edges[e].from);
    has_way = rack->edges[e].to.uid == RACK_UID_OUT && from < rack->n_nodes && is_reached[from];
  }
  free(is_reached);
  graph_free(&graph);
  return has_way;
}

static bool
range_ok(const RackEnd end)
{
  return (!end.first && !end.last) ||
         (end.first >= 1U && end.first <= end.last && end.last <= FX_MAX_CHANNELS);
}

static Status
check_edge(const Rack* const rack, const RackEdge* const edge, Error* const error)
{
  const bool from_ok = edge->from.uid == RACK_UID_IN || rack_find_uid(rack, edge->from.uid);
  const bool to_ok = edge->to.uid == RACK_UID_OUT || rack_find_uid(rack, edge->to.uid);
  if (!from_ok || !to_ok || !range_ok(edge->from) || !range_ok(edge->to)) {
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
  RackUid* const path = malloc((rack->n_nodes + 1U) * sizeof(RackUid));
  if (!path) {
    return rack_no_memory(error);
  }
  uint32_t n_path = 0;
  Status status = rack_find_cycle(rack, path, &n_path, error);
  if (!status && n_path) {
    status = rack_cycle_error(rack, path, n_path, error);
  }
  free(path);
  return status;
}
