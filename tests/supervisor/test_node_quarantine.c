// SPDX-License-Identifier: GPL-3.0-or-later
// The quarantine of nodes is written into the racks of workers only.  It ends with its time, and
// when an edit replaces the node.

#include "engine/supervisor/rack_history.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>

#define NOW_NS 1000U

static const char document[] = "a: gain 1dB | b: convolver x | c: gain 2dB";

static NodeCase*
put_into_quarantine(RackHistory* const history, const char* const name, const uint32_t latency)
{
  NodeCase* const node_case =
      node_quarantine_case(&history->nodes, rack_find(history->active, name), NOW_NS);
  node_case->until_ns = NOW_NS + NODE_QUARANTINE_NS;
  node_case->latency_frames = latency;
  return node_case;
}

static void
edit(RackHistory* const history, const char* const text)
{
  SCOPED_RACK Rack* const rack = rack_of(text, history->active);
  ck_assert_int_eq(rack_history_add(history, 1, rack, 0, NOW_NS), STATUS_OK);
}

static RackHistory
history_of(const char* const text)
{
  RackHistory history;
  ck_assert_int_eq(rack_history_init(&history), STATUS_OK);
  edit(&history, text);
  rack_history_activate_pending(&history);
  return history;
}

/// The names of the nodes of a rack that are in quarantine when a worker gets it.
static const char*
quarantined(const RackHistory* const history, const Rack* const rack, const uint64_t now_ns)
{
  static char names[256];
  SCOPED_RACK Rack* const copy = rack_history_for_worker(history, rack, now_ns);
  names[0] = '\0';
  for (uint32_t n = 0; n < copy->n_nodes; ++n) {
    const RackNode* const node = &copy->nodes[n];
    const size_t used = strlen(names);
    if (node->is_quarantined) {
      snprintf(names + used, sizeof(names) - used, "%s%s:%u", used ? " " : "", node->name,
               node->dry_frames);
    }
  }
  return names;
}

TEST(only_the_copies_for_workers_have_the_quarantine)
{
  SCOPED(rack_history_clear) RackHistory history = history_of(document);
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS), "");
  put_into_quarantine(&history, "a", 0);
  put_into_quarantine(&history, "c", 17);
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS), "a:0 c:17");
  ck_assert(!rack_find(history.active, "a")->is_quarantined);
  SCOPED_RACK Rack* const same = rack_of(document, NULL);
  ck_assert(rack_equal(same, history.active));
}

TEST(it_ends_with_its_time)
{
  SCOPED(rack_history_clear) RackHistory history = history_of(document);
  put_into_quarantine(&history, "a", 0);
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS + NODE_QUARANTINE_NS - 1U), "a:0");
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS + NODE_QUARANTINE_NS), "");
}

static const struct {
  const char *edit, *during, *after;
} edits[] = {
  { "a: gain 6dB | b: convolver x | d: gain", "a:0 b:5", "a:0 b:5" }, // values and other nodes
  { "a: gain 1dB | b: convolver y | c: gain 2dB", "a:0", "a:0" },     // another file
  { "a: limiter | b: convolver x | c: gain 2dB", "b:5", "b:5" },      // another effect
  { "c: gain 2dB", "", "" },
};

TEST_ROWS(an_edit_that_replaces_the_node_ends_it, edits)
{
  SCOPED(rack_history_clear) RackHistory history = history_of(document);
  put_into_quarantine(&history, "a", 0);
  put_into_quarantine(&history, "b", 5);
  edit(&history, edits[row].edit);
  ck_assert_str_eq(quarantined(&history, history.pending->rack, NOW_NS), edits[row].during);
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS), "a:0 b:5"); // not active yet
  rack_history_activate_pending(&history);
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS), edits[row].after);
  edit(&history, document); // back
  rack_history_activate_pending(&history);
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS),
                   row == 0 ? "a:0 b:5" : edits[row].after);
}

TEST(an_edit_that_is_dropped_changes_nothing)
{
  SCOPED(rack_history_clear) RackHistory history = history_of(document);
  put_into_quarantine(&history, "a", 0);
  edit(&history, "c: gain");
  rack_history_drop_pending(&history);
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS), "a:0");
}

TEST(the_oldest_case_is_replaced)
{
  SCOPED(rack_history_clear) RackHistory history = history_of(document);
  put_into_quarantine(&history, "a", 0)->changed_ns = NOW_NS - 1U;
  put_into_quarantine(&history, "b", 0);
  for (uint32_t n = 0; n < NODE_QUARANTINE_MAX - 1U; ++n) {
    const RackNode node = { .uid = 1000U + n, .fx = fx_find("gain") };
    ck_assert_uint_eq(node_quarantine_case(&history.nodes, &node, NOW_NS)->n_crashes, 0U);
  }
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS), "b:0");
}

static NodeCase*
refuse(RackHistory* const history, const char* const name)
{
  NodeCase* const node_case = put_into_quarantine(history, name, 0);
  node_case->is_refused = true;
  return node_case;
}

TEST(a_scan_lifts_the_quarantine_of_nodes_that_could_not_be_made)
{
  SCOPED(rack_history_clear) RackHistory history = history_of(document);
  const RackNode* const c = rack_find(history.active, "c");
  put_into_quarantine(&history, "a", 0);
  ck_assert(!node_quarantine_lift(&history.nodes, NOW_NS));
  refuse(&history, "c");
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS + 5U), "a:0 c:0");
  ck_assert(!node_quarantine_put_back(&history.nodes, NOW_NS + 5U));
  ck_assert(node_quarantine_lift(&history.nodes, NOW_NS + 5U));
  ck_assert(node_quarantine_put_back(&history.nodes, NOW_NS + 5U));
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS + 5U), "a:0 c:0");
  ck_assert(node_quarantine_lift(&history.nodes, NOW_NS + 5U));
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS + 5U), "a:0");
  ck_assert(node_quarantine_has(&history.nodes, c));   // until it has been made
  node_quarantine_forget(&history.nodes, NOW_NS + 4U); // of a rack that was sent before
  ck_assert(node_quarantine_has(&history.nodes, c));
  node_quarantine_forget(&history.nodes, NOW_NS + 5U);
  ck_assert(!node_quarantine_has(&history.nodes, c));
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS + 5U), "a:0");
}

TEST(new_code_ends_the_quarantine_after_crashes_and_lifts_the_other)
{
  SCOPED(rack_history_clear) RackHistory history = history_of(document);
  put_into_quarantine(&history, "a", 0);
  refuse(&history, "c");
  ck_assert(node_quarantine_part(&history.nodes, fx_find("gain"), NOW_NS));
  node_quarantine_new_code(&history.nodes, NOW_NS + 5U);
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS + 5U), "");
  ck_assert(!node_quarantine_has(&history.nodes, rack_find(history.active, "a")));
  ck_assert(node_quarantine_has(&history.nodes, rack_find(history.active, "c")));
  ck_assert(node_quarantine_part(&history.nodes, fx_find("gain"), NOW_NS + 5U)); // none runs apart
}

/// The names of the nodes of the active rack that run apart when a worker gets it.
static const char*
apart(const RackHistory* const history, const uint64_t now_ns)
{
  static char names[256];
  SCOPED_RACK Rack* const copy = rack_history_for_worker(history, history->active, now_ns);
  names[0] = '\0';
  for (uint32_t n = 0; n < copy->n_nodes; ++n) {
    const size_t used = strlen(names);
    if (copy->nodes[n].is_apart) {
      snprintf(names + used, sizeof(names) - used, "%s%s", used ? " " : "", copy->nodes[n].name);
    }
  }
  return names;
}

TEST(nodes_of_an_effect_that_crashed_together_run_apart_for_a_while)
{
  SCOPED(rack_history_clear) RackHistory history = history_of(document);
  const FxInfo* const gain = fx_find("gain");
  ck_assert_str_eq(apart(&history, NOW_NS), "");
  ck_assert(node_quarantine_part(&history.nodes, gain, NOW_NS));
  ck_assert_str_eq(apart(&history, NOW_NS), "a c");
  ck_assert(!node_quarantine_part(&history.nodes, gain, NOW_NS)); // that has not helped
  ck_assert_str_eq(apart(&history, NOW_NS + NODE_QUARANTINE_NS - 1U), "a c");
  ck_assert_str_eq(apart(&history, NOW_NS + NODE_QUARANTINE_NS), "");
  ck_assert(node_quarantine_part(&history.nodes, gain, NOW_NS + NODE_QUARANTINE_NS));
}

TEST(the_crash_of_several_nodes_counts_for_the_first_that_crashes_alone)
{
  SCOPED(rack_history_clear) RackHistory history = history_of(document);
  ck_assert(node_quarantine_part(&history.nodes, fx_find("gain"), NOW_NS));
  const RackNode* const convolver = rack_find(history.active, "b");
  ck_assert_uint_eq(node_quarantine_case(&history.nodes, convolver, NOW_NS)->n_crashes, 0U);
  const RackNode* const second = rack_find(history.active, "c");
  ck_assert_uint_eq(node_quarantine_case(&history.nodes, second, NOW_NS)->n_crashes, 1U);
  const RackNode* const first = rack_find(history.active, "a");
  ck_assert_uint_eq(node_quarantine_case(&history.nodes, first, NOW_NS)->n_crashes, 0U);
  put_into_quarantine(&history, "c", 0);
  ck_assert_str_eq(quarantined(&history, history.active, NOW_NS), "c:0");
  ck_assert_str_eq(apart(&history, NOW_NS), "a");
}

TEST(effects_of_chains_run_apart_together)
{
  // A run of a chain names its first node, here a gain; the filter behind it crashes alone.
  SCOPED(rack_history_clear)
  RackHistory history =
      history_of("a: gain 1dB | b: convolver x | c: gain 2dB | d: peaking 100 | e: invert");
  const FxInfo* const peaking = fx_find("peaking");
  ck_assert(node_quarantine_part(&history.nodes, fx_find("gain"), NOW_NS));
  ck_assert_str_eq(apart(&history, NOW_NS), "a c d e");
  ck_assert(!node_quarantine_part(&history.nodes, peaking, NOW_NS));
  const RackNode* const filter = rack_find(history.active, "d");
  ck_assert_uint_eq(node_quarantine_case(&history.nodes, filter, NOW_NS)->n_crashes, 1U);
  ck_assert(node_quarantine_part(&history.nodes, peaking, NOW_NS + NODE_QUARANTINE_NS));
}

TEST(the_effect_whose_time_ends_first_is_replaced)
{
  SCOPED(rack_history_clear) RackHistory history = history_of(document);
  uint32_t n_effects = 0;
  const FxInfo* const* const effects = fx_table(&n_effects);
  ck_assert(node_quarantine_part(&history.nodes, fx_find("gain"), NOW_NS));
  uint32_t n_parted = 0;
  for (uint32_t e = 0; n_parted < NODE_QUARANTINE_EFFECTS; ++e) {
    ck_assert_uint_lt(e, n_effects);
    ck_assert_int_eq(apart(&history, NOW_NS)[0], 'a');
    n_parted += !effects[e]->linear; // the others run apart already
    ck_assert(node_quarantine_part(&history.nodes, effects[e], NOW_NS + 1U) == !effects[e]->linear);
  }
  ck_assert_str_eq(apart(&history, NOW_NS), "b"); // the convolver, but no longer the gains
}

SUITE_MAIN("node_quarantine")
