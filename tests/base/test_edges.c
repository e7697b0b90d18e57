// SPDX-License-Identifier: GPL-3.0-or-later
// Edges are grouped by source or by destination; the order of the vertices is topological and
// stable, and omits cycles and every vertex that depends on a cycle.

#include "engine/base/edges.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#define NO_VERTEX UINT32_MAX

/// Two sources lead to 1, which leads to 0; 4 comes from outside; 5 is an output.
static const uint32_t from[] = { 3, 1, 2, NO_VERTEX, 0 };
static const uint32_t to[] = { 1, 0, 1, 4, 5 };

TEST(edges_are_grouped_by_either_end)
{
  SCOPED(arena_clear) Arena arena = { 0 };
  const EdgeGroups by_target = edges_group(&arena, 6, to, 5, NULL);
  ck_assert_uint_eq(by_target.first[1], 1);
  ck_assert_uint_eq(by_target.first[2] - by_target.first[1], 2);
  ck_assert_uint_eq(by_target.list[by_target.first[1]], 0);
  ck_assert_uint_eq(by_target.list[by_target.first[1] + 1U], 2);
  const EdgeGroups by_source = edges_group(&arena, 5, from, 5, NULL);
  ck_assert_uint_eq(by_source.first[5], 4); // the edge that comes from outside is in no group
}

TEST(a_given_order_of_the_edges_is_kept_in_a_group)
{
  static const uint32_t sorted[] = { 2, 4, 0 };
  SCOPED(arena_clear) Arena arena = { 0 };
  const EdgeGroups by_target = edges_group(&arena, 5, to, 3, sorted);
  ck_assert_uint_eq(by_target.first[5], 2);
  ck_assert_uint_eq(by_target.list[0], 2);
  ck_assert_uint_eq(by_target.list[1], 0);
}

TEST(the_order_is_topological_and_stable)
{
  SCOPED(arena_clear) Arena arena = { 0 };
  uint32_t rank[5];
  uint32_t order[5];
  const EdgeGroups by_target = edges_group(&arena, 6, to, 5, NULL);
  ck_assert_uint_eq(edges_order(&arena, 5, from, to, &by_target, rank, order), 5);
  const uint32_t orders[] = { 2, 3, 4, 1, 0 };
  const uint32_t ranks[] = { 2, 1, 0, 0, 0 };
  for (uint32_t v = 0; v < 5; ++v) {
    ck_assert_uint_eq(order[v], orders[v]);
    ck_assert_uint_eq(rank[v], ranks[v]);
  }
}

TEST(a_cycle_and_the_vertices_that_depend_on_it_are_omitted)
{
  static const uint32_t sources[] = { 0, 1, 2, 2 };
  static const uint32_t targets[] = { 1, 2, 1, 3 };
  SCOPED(arena_clear) Arena arena = { 0 };
  uint32_t rank[4];
  uint32_t order[4];
  const EdgeGroups by_target = edges_group(&arena, 4, targets, 4, NULL);
  ck_assert_uint_eq(edges_order(&arena, 4, sources, targets, &by_target, rank, order), 1);
  ck_assert_uint_eq(order[0], 0);
}

SUITE_MAIN("edges")
