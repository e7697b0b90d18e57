// SPDX-License-Identifier: GPL-3.0-or-later
// A value set by a message is kept when a plan that was made before the message takes over.

#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include "engine/contract/node_switches.h"

#include <math.h>

#define BLOCK 64U

/// Play an input of ones until all ramps have ended; returns the last output sample.
static float
level(RackRig* const rig)
{
  static float in[BLOCK * 40U];
  static float out[BLOCK * 40U];
  const float* const ins[] = { in };
  float* const outs[] = { out };
  for (uint32_t i = 0; i < ARRAY_LEN(in); ++i) {
    in[i] = 1.0F;
  }
  rack_rig_run(rig, ins, outs, ARRAY_LEN(in), RIG_BLOCKS, 1);
  return out[ARRAY_LEN(out) - 1U];
}

/// Plan a rack from the active plan, without playing it yet.
static Plan*
make_plan(RackRig* const rig, const Rack* const rack, const bool has_run, const uint64_t stamp)
{
  Plan* const active = rig->player.plan;
  const PlanRequest request = { .rack = rack,
                                .previous = has_run ? active : NULL,
                                .active = active,
                                .format = &rig->format,
                                .loader = &rig->loader,
                                .backend = rig->backend,
                                .stamp = stamp };
  Plan* plan = NULL;
  PlanFault fault;
  OK(plan_new(&request, &plan, &fault, &error));
  return plan;
}

static void
play_plan(RackRig* const rig, Plan* const plan)
{
  player_offer(&rig->player, plan);
  player_idle(&rig->player);
  plan_free(player_collect(&rig->player));
}

/// Make a plan of the same rack, send a message, and play the plan a few blocks later.
static void
plan_across_message(const bool has_run, const uint64_t stamp, const float wanted)
{
  const Format format = { .rate_hz = 48000.0, .block_frames = BLOCK, .n_in = 1, .n_out = 1 };
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, &backend_cpu, NULL, "g: gain 0dB", &format, NULL, 0);
  Plan* const plan = make_plan(&rig, rig.rack, has_run, stamp);
  rack_rig_set(&rig, "g", "gain", -20.0, 0);
  ck_assert_float_eq_tol(level(&rig), 0.1F, 1e-6F);
  play_plan(&rig, plan);
  ck_assert_float_eq_tol(level(&rig), wanted, 1e-6F);
}

TEST(a_message_that_comes_while_a_plan_is_made_is_kept)
{
  plan_across_message(true, 0, 0.1F);
}

TEST(a_message_before_the_first_block_is_kept)
{
  plan_across_message(false, 0, 0.1F);
}

TEST(a_document_that_was_written_after_the_message_wins)
{
  plan_across_message(true, 1, 1.0F);
  plan_across_message(false, 1, 1.0F);
}

TEST(a_switch_waits_in_a_new_node_whose_plan_has_no_mix_for_it)
{
  const Format format = { .rate_hz = 48000.0, .block_frames = BLOCK, .n_in = 1, .n_out = 1 };
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, &backend_cpu, NULL, "l: limiter 0dB lookahead=1ms", &format, NULL, 0);
  SCOPED_RACK Rack* const rack = rack_copy(rig.rack);
  const int param = fx_param_find(rack->nodes[0].fx, "lookahead");
  rack->nodes[0].values[param] = (RackValue){ .kind = VALUE_NUMBER, .number = 2.0 };
  (void)level(&rig);
  Plan* const plan = make_plan(&rig, rack, true, 0);
  Node* const node = plan->nodes[0].node;
  ck_assert_ptr_ne(node, rig.player.plan->nodes[0].node);
  node->switches.is_played = false; // as on a device
  rack_rig_set(&rig, "l", "mute", 1.0, 0);
  ck_assert_float_eq(level(&rig), 0.0F);
  play_plan(&rig, plan);
  ck_assert(node_switches_are_on(&node->switches));
  ck_assert_float_eq(ramp_value(&node->switches.wet.gain), 1.0F); // as it sounds
  Plan* const with_mix = make_plan(&rig, rack, true, 0);
  with_mix->nodes[0].has_switches = true;
  play_plan(&rig, with_mix);
  ck_assert_float_eq(ramp_value(&node->switches.wet.gain), 1.0F);
  ck_assert_float_eq(level(&rig), 0.0F); // after a ramp
}

SUITE_MAIN("plan values")
