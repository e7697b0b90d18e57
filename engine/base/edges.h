// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The connections of a graph: grouping by the vertex at one end, and topological order.  Edge e
   leads from vertex from[e] to vertex to[e].  A number at or above the number of vertices stands
   for an end that is no vertex (the input of a rack).
*/
#ifndef WARPRACK_ENGINE_BASE_EDGES_H
#define WARPRACK_ENGINE_BASE_EDGES_H

#include "arena.h"

#include <stdint.h>

/// Edges grouped by a vertex: those of v are list[first[v]] .. list[first[v + 1] - 1].
typedef struct EdgeGroups {
  uint32_t* first; ///< [n_vertices + 1]
  uint32_t* list;
} EdgeGroups;

/// Group n_edges edges by `vertex`, either of their ends.  Within a group, they have the order of
/// `sorted`, a list of n_edges edges (NULL: their own order).  The result is valid unless
/// Arena::failed. [any]
EdgeGroups edges_group(Arena* scratch, uint32_t n_vertices, const uint32_t* vertex,
                       uint32_t n_edges, const uint32_t* sorted);

/**
   Topological order of the first n_vertices vertices.  The order is stable: vertices that become
   ready at the same time stay in the order of their numbers.

   @param by_target The edges grouped by `to`; groups from n_vertices on are ignored.
   @param rank [n_vertices] Filled: 0 for a vertex without an edge from another vertex, else one
   more than the highest rank among its sources.
   @param order [n_vertices] Filled with the vertices that have a place in the order.
   @return Number of vertices in `order`; the others are in a cycle or depend on one.  0 with
   Arena::failed. [any]
*/
uint32_t edges_order(Arena* scratch, uint32_t n_vertices, const uint32_t* from, const uint32_t* to,
                     const EdgeGroups* by_target, uint32_t* rank, uint32_t* order);

#endif
