// SPDX-License-Identifier: GPL-3.0-or-later
// Edges grouped by counting sort; topological order by A. B. Kahn, "Topological sorting of large
// networks", CACM 5(11), 1962.

#include "edges.h"

EdgeGroups
edges_group(Arena* const scratch, const uint32_t n_vertices, const uint32_t* const vertex,
            const uint32_t n_edges, const uint32_t* const sorted)
{
  const EdgeGroups groups = { arena_take(scratch, n_vertices + 1U, sizeof(uint32_t)),
                              arena_take(scratch, n_edges, sizeof(uint32_t)) };
  uint32_t* const next = arena_take(scratch, n_vertices, sizeof(uint32_t));
  if (scratch->failed) {
    return groups;
  }
  for (uint32_t i = 0; i < n_edges; ++i) {
    const uint32_t e = sorted ? sorted[i] : i;
    if (vertex[e] < n_vertices) {
      ++groups.first[vertex[e] + 1U];
    }
  }
  for (uint32_t v = 0; v < n_vertices; ++v) {
    next[v] = groups.first[v];
    groups.first[v + 1U] += groups.first[v];
  }
  for (uint32_t i = 0; i < n_edges; ++i) {
    const uint32_t e = sorted ? sorted[i] : i;
    if (vertex[e] < n_vertices) {
      groups.list[next[vertex[e]]++] = e;
    }
  }
  return groups;
}

uint32_t
edges_order(Arena* const scratch, const uint32_t n_vertices, const uint32_t* const from,
            const uint32_t* const to, const EdgeGroups* const by_target, uint32_t* const rank,
            uint32_t* const order)
{
  // The number of sources that are not in the order yet.
  uint32_t* const n_waiting = arena_take(scratch, n_vertices, sizeof(uint32_t));
  if (scratch->failed) {
    return 0;
  }
  // Sorted by target, so that the targets of each source are sorted too.
  const EdgeGroups by_source =
      edges_group(scratch, n_vertices, from, by_target->first[n_vertices], by_target->list);
  if (scratch->failed) {
    return 0;
  }
  for (uint32_t i = 0; i < by_source.first[n_vertices]; ++i) {
    ++n_waiting[to[by_source.list[i]]];
  }
  uint32_t n_ready = 0;
  for (uint32_t v = 0; v < n_vertices; ++v) {
    rank[v] = 0;
    if (!n_waiting[v]) {
      order[n_ready++] = v;
    }
  }
  for (uint32_t done = 0; done < n_ready; ++done) {
    const uint32_t v = order[done];
    for (uint32_t i = by_source.first[v]; i < by_source.first[v + 1U]; ++i) {
      const uint32_t next = to[by_source.list[i]];
      rank[next] = rank[v] + 1U > rank[next] ? rank[v] + 1U : rank[next];
      if (!--n_waiting[next]) {
        order[n_ready++] = next;
      }
    }
  }
  return n_ready;
}
