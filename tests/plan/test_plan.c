// SPDX-License-Identifier: GPL-3.0-or-later
// Plans: parallel paths of different latency are aligned, the tail of a removed node plays to its
// end, state survives edits, a structural change makes a new node, and NaN resets only the unit
// that outputs it.

#include "tests/support/late_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

#define FRAMES (LATE_BLOCK * 100U)

static float in[FRAMES];
static float out[FRAMES];

/// Set a value of the first node in the document.
static void
set_value(const RackRig* const rig, const uint32_t param, const double number)
{
  rig->rack->nodes[0].values[param] = (RackValue){ .kind = VALUE_NUMBER, .number = number };
}

TEST(parallel_paths_of_different_latency_line_up)
{
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  const Plan* const plan = late_rig_edit(&rig, "(late: gain + g: gain) | (late2: gain + h: gain)");
  ck_assert_uint_eq(plan->latency_frames, 2U * LATE);
  ck_assert_uint_eq(plan->tail_frames, 2U * LATE_TAIL);
  signal_noise(in, FRAMES, 1);
  late_rig_play(&rig, in, out, FRAMES);
  for (size_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[i] == (i < 2U * LATE ? 0.0F : 4.0F * in[i - 2U * LATE]));
  }
}

static uint32_t
n_batches(const Plan* const plan)
{
  uint32_t n = 0;
  for (uint32_t step = 0; step < plan->n_steps; ++step) {
    n += plan->steps[step].kind == STEP_BATCH;
  }
  return n;
}

TEST(nodes_that_run_apart_are_batches_of_their_own)
{
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  ck_assert_uint_eq(n_batches(late_rig_edit(&rig, "a: gain + (g: gain + h: gain)")), 1U);
  const Node* const node = rig.player.plan->nodes[1].node;
  for (uint32_t n = 0; n < rig.rack->n_nodes; ++n) {
    rig.rack->nodes[n].is_apart = true;
  }
  ck_assert_uint_eq(n_batches(late_rig_plan(&rig)), 3U);
  ck_assert_ptr_eq(rig.player.plan->nodes[1].node, node); // it keeps its state
  for (uint32_t n = 0; n < rig.rack->n_nodes; ++n) {
    rig.rack->nodes[n].is_apart = false;
  }
  ck_assert_uint_eq(n_batches(late_rig_plan(&rig)), 1U);
}

TEST(a_built_in_node_in_quarantine_plays_its_input_with_its_latency)
{
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  Rack* const rack = late_rack_of("late: gain");
  rack->nodes[0].values[LATE_POISON] = (RackValue){ .kind = VALUE_NUMBER, .number = 1.0 };
  rack->nodes[0].is_quarantined = true;
  rack->nodes[0].backend = RACK_BACKEND_GPU; // there is none
  OK(rack_rig_plan(&rig, rack, &error));
  ck_assert_uint_eq(rig.player.plan->latency_frames, LATE);
  signal_noise(in, FRAMES, 5);
  late_rig_play(&rig, in, out, FRAMES);
  for (size_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[i] == (i < LATE ? 0.0F : in[i - LATE]));
  }
  rig.rack->nodes[0].is_quarantined = false;
  rig.rack->nodes[0].backend = RACK_BACKEND_AUTO;
  ck_assert_ptr_eq(late_rig_plan(&rig)->nodes[0].node->fx, &late_fx);
}

TEST(a_removed_node_sounds_until_its_tail_has_ended)
{
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  late_rig_edit(&rig, "late: gain");
  signal_noise(in, FRAMES, 2);
  late_rig_play(&rig, in, out, LATE_BLOCK);
  const Plan* plan = late_rig_edit(&rig, "add g gain\nconnect g out");
  ck_assert_uint_eq(plan->n_nodes, 2);
  late_rig_play(&rig, in + LATE_BLOCK, out + LATE_BLOCK, FRAMES / 2U - LATE_BLOCK);
  ck_assert(out[LATE_BLOCK] == 0.0F && out[LATE] == in[0] &&
            out[LATE + LATE_BLOCK - 1U] == in[LATE_BLOCK - 1U]);
  const uint64_t ramp = (uint64_t)lrint(LINK_RAMP_SECONDS * 48000.0);
  ck_assert_uint_eq(plan_next_expiry(plan), LATE_BLOCK + ramp); // its input
  plan = late_rig_plan(&rig);
  ck_assert_uint_eq(plan->n_nodes, 1); // after LATE + LATE_TAIL frames and two ramps
  ck_assert_uint_eq(plan_next_expiry(plan), UINT64_MAX);
}

TEST(state_survives_edits_elsewhere_but_not_structural_changes)
{
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  const Node* const first = late_rig_edit(&rig, "late: gain")->nodes[0].node;
  late_rig_play(&rig, in, out, LATE_BLOCK);
  ck_assert_ptr_eq(late_rig_edit(&rig, "late: gain | g: gain")->nodes[0].node, first);
  late_rig_play(&rig, in, out, LATE_BLOCK);
  ck_assert_uint_eq(((const LateState*)first->states)->n_frames, 2U * LATE_BLOCK);

  set_value(&rig, LATE_SHAPE, 1.0);
  const Plan* const plan = late_rig_plan(&rig);
  ck_assert_ptr_ne(plan->nodes[0].node, first);
  ck_assert_uint_eq(plan->n_nodes, 3); // the old node ends
}

TEST(a_unit_that_gives_nan_is_silenced_reset_and_counted)
{
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  late_rig_edit(&rig, "late: gain + g: gain");
  signal_noise(in, FRAMES, 3);
  late_rig_play(&rig, in, out, 4U * LATE_BLOCK);
  set_value(&rig, LATE_POISON, 1.0);
  const Plan* const plan = late_rig_plan(&rig);
  late_rig_play(&rig, in + 4U * LATE_BLOCK, out + 4U * LATE_BLOCK, LATE_BLOCK);
  ck_assert_uint_eq(rig.player.counts.units_reset, 1);
  ck_assert_uint_eq(((const LateState*)plan->nodes[0].node->states)->n_frames, 0);
  for (size_t i = 4U * LATE_BLOCK; i < 5U * LATE_BLOCK; ++i) {
    ck_assert(out[i] == in[i - LATE]); // the other path plays on with its latency
  }
}

TEST(a_node_that_gives_nan_again_and_again_is_bypassed_until_it_has_recovered)
{
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  NodeHealth* const health = &late_rig_edit(&rig, "late: gain")->nodes[0].node->health;
  set_value(&rig, LATE_POISON, 1.0);
  late_rig_plan(&rig);
  signal_noise(in, FRAMES, 3);
  for (uint32_t b = 1; b <= 20U; ++b) {
    late_rig_play(&rig, in, out, LATE_BLOCK);
    ck_assert_int_eq(health->is_bypassed, b >= 8U);
    for (size_t i = 0; i < LATE_BLOCK; ++i) {
      const float dry = b < 8U ? 0.0F : b == 8U ? (float)(i + 1U) / LATE_BLOCK : 1.0F;
      ck_assert_float_eq_tol(out[i], dry * in[(i + LATE_BLOCK * LATE - LATE) % LATE_BLOCK], 1e-6F);
    }
  }
  ck_assert_uint_eq(rig.player.counts.units_reset, 20);
  set_value(&rig, LATE_POISON, 0.0);
  late_rig_plan(&rig);
  for (uint32_t b = 1; b <= 101U; ++b) {
    late_rig_play(&rig, in, out, LATE_BLOCK);
    ck_assert_int_eq(health->is_bypassed, b < 100U);
    for (size_t i = 0; i < LATE_BLOCK; ++i) {
      ck_assert_float_eq_tol(out[i], in[(i + LATE_BLOCK * LATE - LATE) % LATE_BLOCK], 1e-6F);
    }
    ck_assert_int_eq(health->plays_input, b < 100U);
  }
}

TEST(after_a_reset_no_earlier_audio_is_played)
{
  SCOPED(rack_rig_free) RackRig rig;
  late_rig_begin(&rig);
  const Plan* const plan =
      late_rig_edit(&rig, "connect in out\nadd late gain\nconnect in late\nconnect late out\n"
                          "add g gain\nconnect in g\nconnect g out");
  ck_assert_uint_gt(plan->links[0].link->mix.delay_frames, 0);
  ck_assert_uint_gt(plan->links[plan->n_links - 1U].link->mix.delay_frames, 0);
  signal_noise(in, 2U * LATE_BLOCK, 3);
  memset(in + 2U * LATE_BLOCK, 0, 4U * LATE_BLOCK * sizeof(float));
  late_rig_play(&rig, in, out, 2U * LATE_BLOCK);
  OK(plan_reset(plan, &error));
  late_rig_play(&rig, in + 2U * LATE_BLOCK, out + 2U * LATE_BLOCK, 4U * LATE_BLOCK);
  for (size_t i = 2U * LATE_BLOCK; i < 6U * LATE_BLOCK; ++i) {
    ck_assert_msg(out[i] == 0.0F, "%g at frame %zu", (double)out[i], i);
  }
}

SUITE_MAIN("plan")
