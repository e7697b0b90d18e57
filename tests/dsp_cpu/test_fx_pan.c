// SPDX-License-Identifier: GPL-3.0-or-later
// pan follows its laws, is exact at the centre and both ends, and moves without a click.

#include "tests/support/fx_checks.h"
#include "tests/support/fx_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

#define RATE   48000.0
#define FRAMES 9600U

static float in[2][FRAMES];
static float out[2][FRAMES];
static const float* const ins[] = { in[0], in[1] };
static float* const outs[] = { out[0], out[1] };
static const char* const laws[] = { "-3dB", "-4.5dB", "-6dB" };

/// Left and right gain of a node at rest.
static void
gains(const uint32_t n_in, const char* const law, const double position, double result[const 2])
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "pan", RATE, n_in, 64, SET("position", position), { .id = "law", .text = law });
  ck_assert_uint_eq(rig.n_out, 2);
  for (uint32_t c = 0; c < 2U; ++c) {
    for (uint32_t i = 0; i < FRAMES; ++i) {
      in[c][i] = 1.0F;
    }
  }
  rig_run(&rig, ins, outs, 100, RIG_BLOCKS, 0);
  for (uint32_t c = 0; c < 2U; ++c) {
    ck_assert_double_le(max_difference(out[c], out[c] + 50, 50, NULL), 0.0); // from the first frame
    result[c] = out[c][99];
  }
}

TEST(one_channel_is_placed_by_the_law)
{
  const double centre_db[] = { -3.0103, -4.5154, -6.0206 };
  for (uint32_t law = 0; law < 3U; ++law) {
    double gain[2];
    gains(1, laws[law], 0.0, gain);
    ck_assert_double_eq_tol(decibels(gain[0]), centre_db[law], 1e-4);
    ck_assert(gain[0] == gain[1]);
    gains(1, laws[law], -1.0, gain);
    ck_assert(gain[0] == 1.0 && gain[1] == 0.0);
    gains(1, laws[law], 1.0, gain);
    ck_assert(gain[0] == 0.0 && gain[1] == 1.0);
  }
  for (double position = -1.0; position <= 1.0; position += 0.125) {
    double power[2];
    double middle[2];
    double linear[2];
    gains(1, "-3dB", position, power);
    gains(1, "-4.5dB", position, middle);
    gains(1, "-6dB", position, linear);
    ck_assert_double_eq_tol(power[0] * power[0] + power[1] * power[1], 1.0, 1e-6);
    ck_assert_double_eq_tol(linear[0] + linear[1], 1.0, 1e-6);
    ck_assert_double_eq_tol(linear[1], 0.5 * (1.0 + position), 1e-6);
    ck_assert_double_eq_tol(middle[1] * middle[1], power[1] * linear[1], 1e-6);
  }
}

TEST(two_channels_are_balanced_with_nothing_lost_at_the_centre)
{
  for (uint32_t law = 0; law < 3U; ++law) {
    double gain[2];
    double before[2] = { 1.0, 1.0 };
    gains(2, laws[law], 0.0, gain);
    ck_assert(gain[0] == 1.0 && gain[1] == 1.0);
    for (double position = 0.25; position < 1.0; position += 0.25) {
      gains(2, laws[law], position, gain);
      ck_assert(gain[1] == 1.0 && gain[0] < before[0] && gain[0] > 0.0);
      before[0] = gain[0];
      double mirrored[2];
      gains(2, laws[law], -position, mirrored);
      ck_assert(mirrored[0] == gain[1] && mirrored[1] == gain[0]);
    }
    gains(2, laws[law], 1.0, gain);
    ck_assert(gain[0] == 0.0 && gain[1] == 1.0);
  }
}

TEST(each_side_keeps_its_own_channel)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "pan", RATE, 2, 64, SET("position", 0.0));
  signal_noise(in[0], FRAMES, 1);
  signal_noise(in[1], FRAMES, 2);
  rig_run(&rig, ins, outs, FRAMES, RIG_RANDOM, 5);
  ck_assert_double_le(max_difference(in[0], out[0], FRAMES, NULL), 0.0);
  ck_assert_double_le(max_difference(in[1], out[1], FRAMES, NULL), 0.0);
}

TEST(more_than_two_channels_are_refused)
{
  FxRig rig;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(rig_try(&rig, "pan", RATE, 3, 64, false, NULL, 0, &error), STATUS_BAD_RACK);
  assert_says(error.text, "1 or 2 channels, not 3");
}

TEST(moving_and_another_law_do_not_click)
{
  signal_sine(in[0], FRAMES, 1000.0, RATE, 0.5, 0.0);
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "pan", RATE, 1, 64, SET("position", -1.0));
  const struct {
    const char* id;
    double value;
  } changes[] = { { "position", -1.0 }, { "position", 1.0 }, { "position", 0.0 }, { "law", 2.0 } };
  for (uint32_t c = 0; c < 4U; ++c) {
    rig_set(&rig, changes[c].id, changes[c].value);
    const float* const late_ins[] = { in[0] + c * FRAMES / 4U };
    float* const late_outs[] = { out[0] + c * FRAMES / 4U, out[1] + c * FRAMES / 4U };
    rig_run(&rig, late_ins, late_outs, FRAMES / 4U, RIG_BLOCKS, 0);
  }
  for (uint32_t side = 0; side < 2U; ++side) {
    ck_assert_double_le(max_second_difference(out[side], FRAMES),
                        1.05 * max_second_difference(in[0], FRAMES));
    ck_assert_double_eq_tol(out[side][FRAMES - 1U], 0.5 * in[0][FRAMES - 1U], rig.fx->tolerance);
  }
}

TEST(it_keeps_the_rules_of_every_effect)
{
  const FxCase fx_case = { "pan", RATE, 2, NULL, 0 };
  check_splits(&fx_case, "position", 0.7);
  check_silence_and_denormals(&fx_case);
  check_recovers(&fx_case);
}

SUITE_MAIN("pan")
