// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The gate opens at its threshold, stays open down to the hysteresis, closes exactly `hold` frames
  after the last loud one, and moves with the time constants given; it follows a double-precision
  model (tests/data/make_dynamics.py).
*/

#include "tests/support/fx_checks.h"
#include "tests/support/fx_rig.h"
#include "tests/support/reference.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE   48000.0
#define FRAMES 14400U

static float in[2][FRAMES];
static float out[2][FRAMES];
static const float* const ins[] = { in[0], in[1] };
static float* const outs[] = { out[0], out[1] };

/// Write a square wave of 1 kHz from frame `first` to `end`.
static void
square(const uint32_t channel, const uint32_t first, const uint32_t end, const double level_db)
{
  for (uint32_t i = first; i < end; ++i) {
    in[channel][i] = (float)((i / 24U % 2U ? -1.0 : 1.0) * pow(10.0, level_db / 20.0));
  }
}

static double
gain(const uint32_t channel, const uint32_t frame)
{
  return (double)out[channel][frame] / (double)in[channel][frame];
}

TEST(it_opens_at_the_threshold_and_not_below)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "gate", RATE, 1, 64, SET("threshold", -30.0), SET("attack", 0.1),
          SET("range", -40.0));
  square(0, 0, 7200, -30.01);
  square(0, 7200, FRAMES, -29.99);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t i = 0; i < 7200; ++i) {
    ck_assert_double_eq_tol(gain(0, i), 0.01, 1e-7);
  }
  ck_assert_double_gt(gain(0, 7200), 0.15); // the first step is 1 - e^-0.21 of the way
  ck_assert_double_eq_tol(gain(0, 7300), 1.0, 1e-6);
}

TEST(a_side_input_opens_it_in_place_of_the_input)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "gate", RATE, 1, 64, SET("threshold", -30.0), SET("attack", 0.1), SET("hold", 0.0),
          SET("release", 1.0), SET("range", -40.0));
  square(0, 0, FRAMES, -10.0); // would open it
  square(1, 0, 7200, -60.0);
  square(1, 7200, FRAMES, -20.0);
  const float* const key[] = { in[1] };
  rig.side = key;
  rig.n_side = 1;
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_eq_tol(gain(0, 7199), 0.01, 1e-6);
  ck_assert_double_eq_tol(gain(0, 7300), 1.0, 1e-6);
}

TEST(the_input_as_its_own_side_input_changes_no_sample)
{
  static float direct[FRAMES];
  float* const directs[] = { direct };
  signal_bursts(in[0], FRAMES, 7U, 1.0F);
  SCOPED(rig_free) FxRig alone;
  rig_new(&alone, "gate", RATE, 1, 64, SET("threshold", -20.0), SET("hold", 1.0));
  rig_run(&alone, ins, directs, FRAMES, RIG_RANDOM, 1);
  SCOPED(rig_free) FxRig keyed;
  rig_new(&keyed, "gate", RATE, 1, 64, SET("threshold", -20.0), SET("hold", 1.0));
  keyed.side = ins;
  keyed.n_side = 1;
  rig_run(&keyed, ins, outs, FRAMES, RIG_RANDOM, 1);
  ck_assert_double_le(max_difference(direct, out[0], FRAMES, NULL), 0.0);
  ck_assert_double_gt(max_difference(in[0], out[0], FRAMES, NULL), 0.1); // it does close
}

TEST(hysteresis_keeps_it_open_and_hold_closes_it_on_the_frame)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "gate", RATE, 1, 64, SET("threshold", -30.0), SET("hysteresis", 6.0),
          SET("attack", 0.1), SET("hold", 25.0), SET("release", 1.0));
  square(0, 0, 1000, -20.0);
  square(0, 1000, 9000, -35.9); // between -36 and -30: stays open
  square(0, 9000, FRAMES, -36.1);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t i = 500; i < 9000U + 1200U; ++i) {
    ck_assert_double_eq_tol(gain(0, i), 1.0, 1e-6);
  }
  const double pole = exp(-1.0 / 48.0);
  for (uint32_t k = 0; k < 48; ++k) {
    ck_assert_double_eq_tol(gain(0, 9000U + 1200U + k), pow(pole, k + 1.0), 1e-5);
  }
}

TEST(attack_and_release_take_their_time)
{
  static const double rates[] = { 44100.0, 96000.0, 192000.0 };
  for (size_t r = 0; r < ARRAY_LEN(rates); ++r) {
    const uint32_t attack = (uint32_t)lrint(rates[r] * 0.002);
    const uint32_t release = (uint32_t)lrint(rates[r] * 0.005);
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "gate", rates[r], 1, 64, SET("threshold", -30.0), SET("attack", 2.0),
            SET("hold", 0.0), SET("release", 5.0));
    square(0, 0, 9000, -20.0);
    square(0, 9000, FRAMES, -60.0);
    rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
    ck_assert_double_eq_tol(gain(0, attack - 1U), 1.0 - exp(-1.0), 0.001);
    ck_assert_double_eq_tol(gain(0, 9000U + release - 1U), exp(-1.0), 0.001);
  }
}

TEST(the_bottom_of_the_range_is_silence)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "gate", RATE, 1, 64, SET("threshold", 0.0));
  square(0, 0, FRAMES, -0.1);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[0][i] == 0.0F);
  }
}

TEST(a_linked_gate_opens_for_the_loudest_channel)
{
  square(0, 0, FRAMES, -10.0);
  square(1, 0, FRAMES, -50.0);
  for (int link = 0; link < 2; ++link) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "gate", RATE, 2, 64, SET("threshold", -30.0), SET("range", -20.0),
            SET("link", link));
    ck_assert_int_eq(rig.n_units == 1U, link);
    rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
    ck_assert_double_eq_tol(gain(0, FRAMES - 1U), 1.0, 1e-6);
    ck_assert_double_eq_tol(gain(1, FRAMES - 1U), link ? 1.0 : 0.1, 1e-6);
  }
}

TEST(the_output_follows_the_double_precision_model)
{
  SCOPED(rig_free) FxRig rig;
  signal_bursts(in[0], FRAMES, 1, 1.0F);
  signal_bursts(in[1], FRAMES, 2, 1.0F);
  rig_new(&rig, "gate", RATE, 2, 64, SET("threshold", -12.0), SET("hysteresis", 6.0),
          SET("attack", 1.0), SET("hold", 4.0), SET("release", 10.0), SET("range", -40.0));
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_lt(reference_difference("gate", outs, 2, FRAMES), 1e-6);
}

TEST(a_change_of_range_does_not_click)
{
  static const double ranges_db[] = { 0.0, -120.0 };
  signal_sine(in[0], FRAMES, 100.0, RATE, 0.1, 0.5 * M_PI); // the change is at a crest
  for (size_t r = 0; r < ARRAY_LEN(ranges_db); ++r) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "gate", RATE, 1, 64, SET("threshold", 0.0), SET("range", -20.0),
            SET("release", 1.0));
    const float* const late_in[] = { in[0] + FRAMES / 2U };
    float* const late_out[] = { out[0] + FRAMES / 2U };
    rig_run(&rig, ins, outs, FRAMES / 2U, RIG_BLOCKS, 0);
    rig_set(&rig, "range", ranges_db[r]);
    rig_run(&rig, late_in, late_out, FRAMES / 2U, RIG_BLOCKS, 0);
    const double before = max_second_difference(out[0], FRAMES / 2U);
    const double after = max_second_difference(late_out[0] + FRAMES / 4U, FRAMES / 4U);
    ck_assert_double_le(max_second_difference(out[0], FRAMES), 1.5 * fmax(before, after));
  }
}

TEST(the_contract_holds_for_every_shape)
{
  const RigArg linked[] = { SET("threshold", -1.0), SET("hold", 0.1), SET("release", 1.0) };
  check_contract("gate", linked, ARRAY_LEN(linked), "threshold", -3.0, false);
  const RigArg alone[] = { SET("link", 0.0), SET("threshold", -0.5) };
  check_contract("gate", alone, ARRAY_LEN(alone), "range", -6.0, false);
}

SUITE_MAIN("gate")
