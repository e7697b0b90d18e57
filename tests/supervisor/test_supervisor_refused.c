// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes of plugins that a worker cannot make: how often the supervisor believes that there are more
// of them.

#include "engine/supervisor/supervisor_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdlib.h>

#define N_NODES 3U

static const FxOrigin origin = { "lv2", "urn:test:gone" };
static FxInfo plugin; // a gain with an origin

typedef struct Refused {
  Supervisor* supervisor;
  Child child;
} Refused;

/// A supervisor whose active rack has nodes of a plugin.
static Refused
refused_new(void)
{
  Refused made = { .supervisor = calloc(1, sizeof(Supervisor)) };
  OK(rack_history_init(&made.supervisor->history));
  rack_free(made.supervisor->history.active);
  Rack* const rack = rack_of("a: gain | b: gain | c: gain", NULL);
  plugin = *rack->nodes[0].fx;
  plugin.origin = &origin;
  for (uint32_t n = 0; n < N_NODES; ++n) {
    rack->nodes[n].fx = &plugin;
  }
  made.supervisor->history.active = rack;
  return made;
}

static void
refused_free(Refused* const refused)
{
  rack_history_clear(&refused->supervisor->history);
  free(refused->supervisor);
}

/// The worker could not make one node.  Returns true if the supervisor tries the rack again.
static bool
refuse(Refused* const refused, const RackUid uid, const bool is_edit)
{
  const RackRefused nodes = { 1U, { uid } };
  return supervisor_bypass_refused(refused->supervisor, &refused->child, &nodes, is_edit,
                                   "a: gone");
}

TEST(edits_that_were_refused_do_not_count_against_later_ones)
{
  SCOPED(refused_free) Refused refused = refused_new();
  const RackUid uid = refused.supervisor->history.active->nodes[0].uid;
  ck_assert(refuse(&refused, uid, false)); // after the loss of a worker
  for (uint32_t n = 0; n < 100U; ++n) {
    ck_assert(!refuse(&refused, RACK_UID_FIRST + 1000U + n, true)); // a node that the edit adds
  }
  ck_assert(node_quarantine_lift(&refused.supervisor->history.nodes, time_now_ns()));
  ck_assert(refuse(&refused, uid, true));
  ck_assert_uint_eq(refused.supervisor->n_nodes_quarantined, 1U);
}

TEST(a_worker_that_refuses_nodes_without_end_is_not_believed)
{
  SCOPED(refused_free) Refused refused = refused_new();
  uint32_t n = 0;
  for (; n < 100U && refuse(&refused, refused.supervisor->history.active->nodes[0].uid, false);
       ++n) {
  }
  ck_assert_uint_eq(n, NODE_QUARANTINE_MAX / RACK_MAX_REFUSED);
}

SUITE_MAIN("supervisor_refused")
