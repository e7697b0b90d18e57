// SPDX-License-Identifier: GPL-3.0-or-later
// Random edits give valid racks, keep the number of nodes within bounds, and are the same for the
// same seed.

#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tools/random_edits.h"

#include <stdlib.h>

#define N_EDITS 2000U

TEST(every_edit_leaves_a_good_rack)
{
  SCOPED(random_edits_clear) RandomEdits edits;
  uint32_t most = 0;
  OK(random_edits_new(&edits, 1, &error));
  for (uint32_t i = 0; i < N_EDITS; ++i) {
    Error error = { STATUS_OK, "" };
    ck_assert_msg(!random_edits_next(&edits, &error), "edit %u: %s", i, error.text);
    ck_assert_msg(!rack_check(edits.rack, &error), "edit %u: %s", i, error.text);
    ck_assert_uint_ge(edits.rack->n_nodes, RANDOM_EDITS_MIN);
    ck_assert_uint_le(edits.rack->n_nodes, RANDOM_EDITS_MAX);
    ck_assert_uint_eq(edits.rack->n_edges, edits.rack->n_nodes + 1U); // still a chain
    most = edits.rack->n_nodes > most ? edits.rack->n_nodes : most;
  }
  ck_assert_uint_eq(most, RANDOM_EDITS_MAX);
}

TEST(a_seed_gives_the_same_edits)
{
  RandomEdits a;
  RandomEdits b;
  OK(random_edits_new(&a, 7, &error));
  OK(random_edits_new(&b, 7, &error));
  for (uint32_t i = 0; i < 100U; ++i) {
    OK(random_edits_next(&a, &error));
    OK(random_edits_next(&b, &error));
    ck_assert(rack_equal(a.rack, b.rack));
  }
  random_edits_clear(&a);
  random_edits_clear(&b);
}

SUITE_MAIN("random edits")
