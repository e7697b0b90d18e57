// SPDX-License-Identifier: GPL-3.0-or-later
// dcblock removes the DC offset, keeps the signal, and is 3 dB down at its frequency; a change of
// the frequency neither clicks nor amplifies.

#include "tests/support/fx_checks.h"
#include "tests/support/fx_rig.h"
#include "tests/support/reference.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

#define RATE   48000.0
#define FRAMES 20000U

static float in[FRAMES];
static float out[3][FRAMES];
static const float* const ins[] = { in };

TEST(it_is_the_first_order_high_pass_that_scipy_designs)
{
  const struct {
    double frequency, rate_hz;
  } cases[] = { { 5.0, 48000.0 }, { 1.0, 192000.0 }, { 1000.0, 44100.0 } };
  signal_noise(in, FRAMES, 3);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[i] = 0.5F * in[i] + 0.5F;
  }
  float* outs[3];
  for (uint32_t c = 0; c < 3U; ++c) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "dcblock", cases[c].rate_hz, 1, 64, SET("frequency", cases[c].frequency));
    outs[c] = out[c];
    rig_run(&rig, ins, &outs[c], FRAMES, RIG_BLOCKS, 0);
  }
  ck_assert_double_lt(reference_difference("dcblock", outs, 3, FRAMES), 5e-7);
}

TEST(a_constant_decays_by_the_stated_time_constant_to_nothing)
{
  static float constant[96000];
  static float rest[96000];
  for (uint32_t i = 0; i < 96000U; ++i) {
    constant[i] = 1.0F;
  }
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "dcblock", RATE, 1, 256, SET("frequency", 5.0));
  const float* const constants[] = { constant };
  float* const rests[] = { rest };
  rig_run(&rig, constants, rests, 96000, RIG_BLOCKS, 0);
  const double time_constant = RATE / (2.0 * M_PI * 5.0); // frames
  ck_assert_double_eq_tol(rest[(uint32_t)time_constant], exp(-1.0), 1e-3);
  const uint64_t tail = rig.fx->tail(rig.node);
  ck_assert_uint_eq(tail, rig.shape.tail_frames);
  ck_assert_double_le(fabs((double)rest[tail]), 1.1e-6); // -120 dB when the tail ends
  ck_assert_double_ge(fabs((double)rest[tail - tail / 100U]), 1e-6);
  ck_assert_double_le(fabs((double)rest[95999]), 1e-12); // and decays on: no limit cycle
}

TEST(the_tail_follows_the_frequency)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "dcblock", RATE, 1, 256, SET("frequency", 5.0));
  const uint64_t before = rig.fx->tail(rig.node);
  rig_set(&rig, "frequency", 1.0);
  ck_assert_double_eq_tol((double)rig.fx->tail(rig.node) / (double)before, 5.0, 0.01);
}

TEST(a_change_of_frequency_does_not_click)
{
  signal_sine(in, FRAMES, 100.0, RATE, 0.5, 0.0);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[i] += 0.25F;
  }
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "dcblock", RATE, 1, 64, SET("frequency", 1.0));
  float* const outs[] = { out[0] };
  rig_run(&rig, ins, outs, FRAMES / 2U, RIG_BLOCKS, 0);
  rig_set(&rig, "frequency", 200.0);
  const float* const late_ins[] = { in + FRAMES / 2U };
  float* const late_outs[] = { out[0] + FRAMES / 2U };
  rig_run(&rig, late_ins, late_outs, FRAMES / 2U, RIG_BLOCKS, 0);
  // Skip the first frames, the step from silence to the signal.
  ck_assert_double_le(max_second_difference(out[0] + 2, FRAMES - 2U),
                      1.5 * max_second_difference(in, FRAMES));
}

TEST(changes_without_end_do_not_add_up)
{
  signal_noise(in, FRAMES, 4);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[i] = 0.5F * in[i] + 0.5F;
  }
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "dcblock", RATE, 1, 64, SET("frequency", 1.0));
  // With this sequence, a pole that is ramped exceeds 1, and the output exceeds 30.
  const double frequencies[] = { 1.0, 1000.0, 1.1, 1.2 };
  const uint32_t lengths[] = { 700, 750, 800, 350 };
  for (uint32_t at = 0, k = 0; at + lengths[k] <= FRAMES; at += lengths[k], k = (k + 1U) % 4U) {
    rig_set(&rig, "frequency", frequencies[k]);
    const float* const chunk_in[] = { in + at };
    float* const chunk_out[] = { out[0] + at };
    rig_run(&rig, chunk_in, chunk_out, lengths[k], RIG_BLOCKS, 0);
  }
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert_msg(fabsf(out[0][i]) <= 1.5F, "%g at frame %u", (double)out[0][i], i);
  }
}

TEST(it_keeps_the_rules_of_every_effect)
{
  const RigArg args[] = { SET("frequency", 20.0) };
  check_contract("dcblock", args, 1, "frequency", 300.0, false);
}

SUITE_MAIN("dcblock")
