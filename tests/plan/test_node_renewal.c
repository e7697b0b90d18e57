// SPDX-License-Identifier: GPL-3.0-or-later
// A node with FxInfo::renew, as plugins have it, does not run from a NaN until it is renewed; its
// input plays meanwhile, at the level that its output had.

#include "engine/contract/pool.h"
#include "tests/support/plan_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

#define BLOCK PLAN_RIG_BLOCK
#define REST  1000U // blocks between the renewals of a node that fails again and again

/// Renew the nodes that wait for it.  Returns the error.
static Status
renew(const Plan* const plan)
{
  uint32_t failed = UINT32_MAX;
  Error error = { STATUS_OK, "" };
  const Status status = plan_renew(plan, &failed, &error);
  ck_assert(!status || (failed == 0U && !strcmp(error.text, "it cannot be renewed")));
  return status;
}

static const NodeHealth*
health_of(const PlanRig* const rig)
{
  return &plan_rig_plan(rig)->nodes[0].node->health;
}

/// Fails the test unless output 0 is a mix of input 0 (dry) and of twice that (wet), which goes in
/// a straight line over the block.
static void
expect_fade(const PlanRig* const rig, const float dry_before, const float dry_after,
            const float gain)
{
  for (uint32_t i = 0; i < BLOCK; ++i) {
    const float dry = dry_before + (dry_after - dry_before) * (float)(i + 1U) / BLOCK;
    const float wanted = (dry + (1.0F - dry) * gain) * rig->in[0][i];
    ck_assert_msg(fabsf(rig->out[0][i] - wanted) < 1e-5F, "frame %u: %g, not %g", i,
                  (double)rig->out[0][i], (double)wanted);
  }
}

/// grouped_fx as the effect of a plugin.
static FxInfo
renewed_fx(void)
{
  FxInfo fx = grouped_fx;
  fx.set_at = grouped_set_at;
  fx.renew = grouped_renew;
  return fx;
}

/// Make a rig with a rack whose nodes are renewed.
static void
start(PlanRig* const rig, const char* const text)
{
  static FxInfo fx;
  fx = renewed_fx();
  plan_rig_start(rig, text, &fx, 1U, 1U);
}

/// Stop the first node: it gives NaN in the next block.
static void
stop_node(PlanRig* const rig)
{
  plan_rig_set(rig, GROUPED_POISON, 1.0);
  plan_rig_play(rig);
}

TEST(after_a_nan_a_node_does_not_run_until_it_is_renewed)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  start(&rig, PLAN_RIG_TWO_NODES);
  const Plan* const plan = plan_rig_plan(&rig);
  renew(plan); // no node waits for it
  ck_assert_str_eq(grouped_log(), "");
  plan_rig_set(&rig, GROUPED_GAIN, 2.0);
  plan_rig_play(&rig);
  expect_fade(&rig, 0.0F, 0.0F, 2.0F);

  plan_rig_set(&rig, GROUPED_POISON, 1.0); // its last unit
  plan_rig_expect(&rig, "set 1=1@0 run 16x64 ");
  expect_fade(&rig, 0.0F, 1.0F, 2.0F); // all units of the node
  for (uint32_t i = 0; i < BLOCK; ++i) {
    ck_assert_float_eq(rig.out[7][i], rig.in[7][i]);  // at once
    ck_assert_float_eq(rig.out[15][i], rig.in[7][i]); // the other node
  }
  ck_assert_uint_eq(rig.base.player.counts.units_reset, 1U);
  for (uint32_t b = 0; b < 200U; ++b) {
    plan_rig_send(&rig, 0U, GROUPED_GAIN, b + 1.0, 7U);
    plan_rig_expect(&rig, "run 8x64 ");
    expect_fade(&rig, 1.0F, 1.0F, 0.0F);
  }
  ck_assert(!atomic_load(&health_of(&rig)->is_bypassed)); // no report: it is for a moment

  plan_rig_set(&rig, GROUPED_GAIN, 2.0);
  plan_rig_set(&rig, GROUPED_POISON, 0.0);
  plan_rig_play(&rig);
  renew(plan);
  renew(plan);
  ck_assert_str_eq(grouped_log(), "run 8x64 renew ");
  plan_rig_expect(&rig, "set 0=2 set 1=0 run 16x64 ");
  expect_fade(&rig, 1.0F, 0.0F, 2.0F);
  plan_rig_expect(&rig, "run 16x64 ");
  expect_fade(&rig, 0.0F, 0.0F, 2.0F);
  ck_assert(!atomic_load(&health_of(&rig)->is_bypassed));
  ck_assert_uint_eq(rig.base.player.counts.units_reset, 1U);
}

TEST(a_stopped_node_passes_its_input_on_whatever_its_rows_contain)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  start(&rig, PLAN_RIG_TWO_NODES);
  plan_rig_play(&rig); // its level is known
  const Plan* const plan = plan_rig_plan(&rig);
  stop_node(&rig);
  for (uint32_t r = plan->n_in + plan->n_out; r < plan->n_rows; ++r) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      plan->rows[r][i] = NAN;
    }
  }
  plan_rig_play(&rig);
  expect_fade(&rig, 1.0F, 1.0F, 0.0F);
}

TEST(the_player_leaves_the_units_of_a_stopped_node_to_the_builder)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  start(&rig, "x: gain");
  const Node* const node = plan_rig_plan(&rig)->nodes[0].node;
  uint32_t* const last = (uint32_t*)(void*)(node->states + 7U * node->state_stride);
  ck_assert_uint_eq(*last, 7U);
  *last = 99U;
  stop_node(&rig);
  ck_assert_uint_eq(*last, 99U);
  renew(plan_rig_plan(&rig));
  ck_assert_uint_eq(*last, 7U);
}

TEST(a_document_does_not_touch_a_node_that_is_renewed)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  start(&rig, "x: gain");
  plan_rig_play(&rig); // its level is known
  stop_node(&rig);
  Rack* const rack = grouped_rack_of("x: gain", rig.base.rack->nodes[0].fx, 1U, 1U, rig.base.rack);
  ck_assert_uint_eq(rack->nodes[0].uid, rig.base.rack->nodes[0].uid);
  rack->nodes[0].values[GROUPED_GAIN].number = 2.0;
  grouped_log();
  OK(rack_rig_plan(&rig.base, rack, &error));
  ck_assert_str_eq(grouped_log(), "");
  renew(plan_rig_plan(&rig));
  plan_rig_expect(&rig, "set 0=2 set 1=0 run 8x64 ");
  expect_fade(&rig, 1.0F, 0.0F, 2.0F);
}

/// Play `n` blocks, with a renewal after each.  Returns the number of renewals.
static uint32_t
play_and_renew(PlanRig* const rig, const uint32_t n)
{
  const uint32_t before = plan_rig_node(rig, 0U)->n_renewed;
  for (uint32_t b = 0; b < n; ++b) {
    plan_rig_play(rig);
    renew(plan_rig_plan(rig));
  }
  return plan_rig_node(rig, 0U)->n_renewed - before;
}

TEST(a_node_that_fails_again_and_again_is_renewed_rarely_until_it_has_recovered)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  start(&rig, "x: gain");
  plan_rig_play(&rig); // its level is known
  plan_rig_set(&rig, GROUPED_POISON, 1.0);
  ck_assert_uint_eq(play_and_renew(&rig, 7U), 7U);
  ck_assert(!atomic_load(&health_of(&rig)->is_bypassed));
  ck_assert_uint_eq(play_and_renew(&rig, 1U), 0U);
  ck_assert(atomic_load(&health_of(&rig)->is_bypassed));
  ck_assert_uint_eq(play_and_renew(&rig, REST - 1U), 0U);
  expect_fade(&rig, 1.0F, 1.0F, 0.0F);
  ck_assert_uint_eq(play_and_renew(&rig, 1U), 1U);
  ck_assert_uint_eq(play_and_renew(&rig, REST), 0U);
  plan_rig_set(&rig, GROUPED_POISON, 0.0);
  ck_assert_uint_eq(play_and_renew(&rig, 1U), 1U);
  for (uint32_t b = 1; b < 100U; ++b) { // it runs, but is not heard
    plan_rig_expect(&rig, b == 1U ? "set 0=1 set 1=0 run 8x64 " : "run 8x64 ");
    expect_fade(&rig, 1.0F, 1.0F, 0.0F);
  }
  ck_assert(atomic_load(&health_of(&rig)->is_bypassed));
  plan_rig_play(&rig);
  expect_fade(&rig, 1.0F, 0.0F, 1.0F);
  ck_assert(!atomic_load(&health_of(&rig)->is_bypassed));
  plan_rig_set(&rig, GROUPED_POISON, 1.0);
  ck_assert_uint_eq(play_and_renew(&rig, 1U), 1U); // its record is clear
}

TEST(a_renewal_that_fails_is_tried_again_later)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  start(&rig, "x: gain");
  plan_rig_play(&rig); // its level is known
  plan_rig_set(&rig, GROUPED_POISON, 1.0);
  plan_rig_node(&rig, 0U)->cannot_renew = true;
  plan_rig_play(&rig);
  grouped_log();
  ck_assert_int_eq(renew(plan_rig_plan(&rig)), STATUS_NO_MEM);
  ck_assert_str_eq(grouped_log(), "renew ");
  for (uint32_t b = 0; b < REST; ++b) {
    renew(plan_rig_plan(&rig));
    ck_assert_str_eq(grouped_log(), "");
    plan_rig_play(&rig);
    ck_assert_str_eq(grouped_log(), "");
    ck_assert(atomic_load(&health_of(&rig)->is_bypassed));
  }
  plan_rig_node(&rig, 0U)->cannot_renew = false;
  plan_rig_set(&rig, GROUPED_POISON, 0.0);
  plan_rig_play(&rig);
  renew(plan_rig_plan(&rig));
  plan_rig_expect(&rig, "set 0=1 set 1=0 run 8x64 ");
  expect_fade(&rig, 1.0F, 0.0F, 1.0F);
}

TEST(the_input_of_a_stopped_node_plays_at_the_level_of_its_output)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  start(&rig, "x: gain");
  plan_rig_node(&rig, 0U)->gain = 0.25;
  plan_rig_play(&rig);
  stop_node(&rig);
  expect_fade(&rig, 0.25F, 0.25F, 0.0F);
  plan_rig_play(&rig);
  expect_fade(&rig, 0.25F, 0.25F, 0.0F);
}

TEST(a_node_without_a_good_block_is_silent_while_it_is_stopped)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  start(&rig, "x: gain");
  stop_node(&rig);
  ck_assert_float_eq(rig.out[7][0], 0.0F); // the unit itself; the others fade
  plan_rig_play(&rig);
  expect_fade(&rig, 0.0F, 0.0F, 0.0F);
}

/// Renew the node, which has missed a change, and change its gain twice in the same block.
static void
change_during_renewal(PlanRig* const rig, const FxInfo* const fx, const char* const calls)
{
  plan_rig_start(rig, "x: gain", fx, 1U, 1U);
  stop_node(rig);
  plan_rig_set(rig, GROUPED_POISON, 0.0);
  plan_rig_play(rig);
  renew(plan_rig_plan(rig));
  plan_rig_send(rig, 0U, GROUPED_GAIN, 3.0, 10U);
  plan_rig_send(rig, 0U, GROUPED_GAIN, 4.0, 30U);
  plan_rig_expect(rig, calls);
}

TEST(changes_in_the_block_of_a_renewal_come_after_those_that_were_missed)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  const FxInfo fx = renewed_fx();
  change_during_renewal(&rig, &fx, "set 1=0 set 0=3@10 set 0=4@30 run 8x64 ");
}

TEST(changes_in_the_block_of_a_renewal_keep_their_frames)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  FxInfo fx = renewed_fx();
  fx.cut_at_events = true;
  change_during_renewal(&rig, &fx, "set 1=0 run 8x10 set 0=3@0 run 8x20 set 0=4@0 run 8x34 ");
}

TEST(a_stopped_node_leaves_the_others_of_its_batch_on_all_cores)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  FxInfo fx = renewed_fx();
  fx.run = grouped_run_slowly;
  plan_rig_init(&rig, 8U, 1.0F);
  OK(pool_new(1U, false, 0, &rig.base.pool, &error));
  OK(rack_rig_plan(&rig.base, grouped_rack_of(PLAN_RIG_TWO_NODES, &fx, 1U, 1U, NULL), &error));
  plan_rig_play(&rig);
  plan_rig_expect(&rig, "run 8x64 run 8x64 "); // once its time is known
  stop_node(&rig);
  plan_rig_expect(&rig, "run 4x64 run 4x64 ");
}

TEST(a_reset_renews_all_nodes)
{
  SCOPED(plan_rig_clear) PlanRig rig;
  start(&rig, PLAN_RIG_TWO_NODES);
  plan_rig_node(&rig, 0U)->is_poisoned = true;
  plan_rig_play(&rig);
  plan_rig_node(&rig, 0U)->is_poisoned = false;
  grouped_log();
  OK(plan_reset(plan_rig_plan(&rig), &error));
  ck_assert_str_eq(grouped_log(), "renew renew ");
  ck_assert(!health_of(&rig)->plays_input);
  plan_rig_expect(&rig, "run 16x64 ");
  plan_rig_node(&rig, 1U)->cannot_renew = true;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(plan_reset(plan_rig_plan(&rig), &error), STATUS_NO_MEM);
  ck_assert_str_eq(error.text, "it cannot be renewed");
}

SUITE_MAIN("node renewal")
