// SPDX-License-Identifier: GPL-3.0-or-later
// A value set by a message is kept when a plan that was made before the message takes over.

#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

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

/// Make a plan of the same rack, send a message, and play the plan a few blocks later.
static void
plan_across_message(const bool has_run, const uint64_t stamp, const float wanted)
{
  const Format format = { .rate_hz = 48000.0, .block_frames = BLOCK, .n_in = 1, .n_out = 1 };
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, &backend_cpu, NULL, "g: gain 0dB", &format, NULL, 0);
  Plan* const active = rig.player.plan;
  const PlanRequest request = { .rack = rig.rack,
                                .previous = has_run ? active : NULL,
                                .active = active,
                                .format = &rig.format,
                                .loader = &rig.loader,
                                .backend = rig.backend,
                                .stamp = stamp };
  Plan* plan = NULL;
  PlanFault fault;
  OK(plan_new(&request, &plan, &fault, &error));
  rack_rig_set(&rig, "g", "gain", -20.0, 0);
  ck_assert_float_eq_tol(level(&rig), 0.1F, 1e-6F);
  player_offer(&rig.player, plan);
  player_idle(&rig.player);
  plan_free(player_collect(&rig.player));
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

SUITE_MAIN("plan values")
