// SPDX-License-Identifier: GPL-3.0-or-later
// Edges grouped by counting sort; topological order by A. B. Kahn, "Topological sorting of large
// networks", CACM 5(11), 1962.

#include "edges.h"

EdgeGroups
edges_group(Arena* const scratch, const uint32_t n_vertices, const uint32_t* const vertex,
            const uint32_t n_edges)
{
  const EdgeGroups groups = { arena_take(scratch, n_vertices + 1U, sizeof(uint32_t)),
                              arena_take(scratch, n_edges, sizeof(uint32_t)) };
  uint32_t* const next = arena_take(scratch, n_vertices, sizeof(uint32_t));
  if (scratch->failed) {
    return groups;
  }
  for (uint32_t e = 0; e < n_edges; ++e) {
    if (vertex[e] < n_vertices) {
      ++groups.first[vertex[e] + 1U];
    }
  }
  for (uint32_t v = 0; v < n_vertices; ++v) {
    next[v] = groups.first[v];
    groups.first[v + 1U] += groups.first[v];
  }
  for (uint32_t e = 0; e < n_edges; ++e) {
    if (vertex[e] < n_vertices) {
      groups.list[next[vertex[e]]++] = e;
    }
  }
  return groups;
}

/// The edges as edges_order() reads them: a copy sorted by target, so that the targets of each
/// source are sorted too.
typedef struct Forward {
  uint32_t* target; ///< [n_edges]
  EdgeGroups by_source;
  uint32_t* n_waiting; ///< [n_vertices] sources that are not in the order yet
} Forward;

static Forward
forward_new(Arena* const scratch, const uint32_t n_vertices, const EdgeGroups* const by_target,
            const uint32_t* const from)
{
  if (scratch->failed) {
    return (Forward){ 0 };
  }
  const uint32_t n_edges = by_target->first[n_vertices];
  uint32_t* const source = arena_take(scratch, n_edges, sizeof(uint32_t));
  Forward forward = { .target = arena_take(scratch, n_edges, sizeof(uint32_t)),
                      .n_waiting = arena_take(scratch, n_vertices, sizeof(uint32_t)) };
  if (scratch->failed) {
    return forward;
  }
  for (uint32_t v = 0; v < n_vertices; ++v) {
    for (uint32_t i = by_target->first[v]; i < by_target->first[v + 1U]; ++i) {
      source[i] = from[by_target->list[i]];
      forward.target[i] = v;
      forward.n_waiting[v] += source[i] < n_vertices;
    }
  }
  forward.by_source = edges_group(scratch, n_vertices, source, n_edges);
  return forward;
}

uint32_t
edges_order(Arena* const scratch, const uint32_t n_vertices, const EdgeGroups* const by_target,
            const uint32_t* const from, uint32_t* const level, uint32_t* const order)
{
  const Forward forward = forward_new(scratch, n_vertices, by_target, from);
  if (scratch->failed) {
    return 0;
  }
  uint32_t n_ready = 0;
  for (uint32_t v = 0; v < n_vertices; ++v) {
    level[v] = 0;
    if (!forward.n_waiting[v]) {
      order[n_ready++] = v;
    }
  }
  for (uint32_t done = 0; done < n_ready; ++done) {
    const uint32_t v = order[done];
    for (uint32_t i = forward.by_source.first[v]; i < forward.by_source.first[v + 1U]; ++i) {
      const uint32_t next = forward.target[forward.by_source.list[i]];
      level[next] = level[v] + 1U > level[next] ? level[v] + 1U : level[next];
      if (!--forward.n_waiting[next]) {
        order[n_ready++] = next;
      }
    }
  }
  return n_ready;
}
