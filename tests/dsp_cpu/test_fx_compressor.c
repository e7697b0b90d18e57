// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The settled gain lies on the static curve, attack and release take the time they say, linked
  channels share one gain, and all of it follows a double-precision model
  (tests/data/make_dynamics.py).
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

static void
constant(const uint32_t first, const uint32_t end, const double level_db)
{
  for (uint32_t i = first; i < end; ++i) {
    in[0][i] = (float)pow(10.0, level_db / 20.0);
  }
}

static double
gain_db(const uint32_t channel, const uint32_t frame)
{
  return decibels((double)out[channel][frame] / (double)in[channel][frame]);
}

/// The static curve of Giannoulis et al.: the output level for an input level, in dB.
static double
curve_db(const double x, const double threshold, const double ratio, const double knee)
{
  if (2.0 * (x - threshold) < -knee) {
    return x;
  }
  if (2.0 * fabs(x - threshold) <= knee) {
    return x + (1.0 / ratio - 1.0) * pow(x - threshold + knee / 2.0, 2.0) / (2.0 * knee);
  }
  return threshold + (x - threshold) / ratio;
}

TEST(the_settled_gain_is_on_the_static_curve)
{
  static const double settings[][3] = { { -20.0, 4.0, 6.0 },   { -40.0, 2.0, 0.0 },
                                        { 0.0, 1000.0, 40.0 }, { -60.0, 1.5, 12.0 },
                                        { -30.0, 1.0, 6.0 },   { 20.0, 20.0, 3.0 } };
  for (size_t s = 0; s < ARRAY_LEN(settings); ++s) {
    const double* const set = settings[s];
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "compressor", RATE, 1, 64, SET("threshold", set[0]), SET("ratio", set[1]),
            SET("knee", set[2]), SET("attack", 0.0));
    for (uint32_t k = 0; k < 200; ++k) { // -80 to +39.4 dB: attack 0 follows rises at once
      constant(k * 64U, k * 64U + 64U, -80.0 + 0.6 * k);
    }
    rig_run(&rig, ins, outs, 200U * 64U, RIG_BLOCKS, 0);
    for (uint32_t k = 0; k < 200; ++k) {
      const double level = decibels((double)in[0][k * 64U]);
      const double expected = curve_db(level, set[0], set[1], set[2]) - level;
      ck_assert_double_eq_tol(gain_db(0, k * 64U + 5U), expected, 2e-5);
    }
  }
}

TEST(attack_and_release_take_their_time)
{
  static const double rates[] = { 44100.0, 48000.0, 96000.0, 192000.0 };
  for (size_t r = 0; r < ARRAY_LEN(rates); ++r) {
    const uint32_t attack = (uint32_t)lrint(rates[r] * 0.002);
    const uint32_t release = (uint32_t)lrint(rates[r] * 0.010);
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "compressor", rates[r], 1, 64, SET("threshold", -20.0), SET("ratio", 2.0),
            SET("knee", 0.0), SET("attack", 2.0), SET("release", 10.0));
    constant(0, 10000, 0.0); // target: a reduction of 10 dB
    constant(10000, FRAMES, -40.0);
    rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
    ck_assert_double_eq_tol(gain_db(0, attack - 1U),
                            -10.0 * (1.0 - exp(-(double)attack / (0.002 * rates[r]))), 1e-4);
    ck_assert_double_eq_tol(gain_db(0, 9999), -10.0, 1e-4);
    ck_assert_double_eq_tol(gain_db(0, 10000U + release - 1U),
                            -10.0 * exp(-(double)release / (0.010 * rates[r])), 1e-4);
  }
}

TEST(a_long_release_at_a_high_rate_still_arrives)
{
  SCOPED(rig_free) FxRig rig; // a state in single precision would stop 0.9 dB short
  rig_new(&rig, "compressor", 192000.0, 1, 8192, SET("threshold", -20.0), SET("knee", 0.0),
          SET("attack", 0.0), SET("release", 5000.0));
  constant(0, FRAMES, 20.0); // reduction of 30 dB
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  constant(0, FRAMES, 4.0);            // reduction of 18 dB
  for (uint32_t k = 0; k < 333; ++k) { // 25 s: five time constants
    rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  }
  const double expected = -18.0 - 12.0 * exp(-333.0 * FRAMES / 960000.0);
  ck_assert_double_eq_tol(gain_db(0, FRAMES - 1U), expected, 1e-4);
}

TEST(rms_reads_a_sine_3_dB_below_its_peak)
{
  SCOPED(rig_free) FxRig rig;
  signal_sine(in[0], FRAMES, 1000.0, RATE, 1.0, 0.0);
  rig_new(&rig, "compressor", RATE, 1, 64, SET("threshold", -23.0103), SET("ratio", 2.0),
          SET("knee", 0.0), SET("attack", 5.0), SET("release", 5.0),
          { .id = "detector", .text = "rms" });
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_eq_tol(gain_db(0, FRAMES - 36U), -10.0, 0.05); // frame of a peak
}

TEST(linked_channels_share_one_gain_and_unlinked_ones_do_not)
{
  signal_noise(in[0], FRAMES, 1);
  signal_noise(in[1], FRAMES, 2);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[1][i] *= 0.01F;
  }
  for (int link = 0; link < 2; ++link) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "compressor", RATE, 2, 64, SET("link", link));
    ck_assert_int_eq(rig.n_units == 1U, link);
    rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
    for (uint32_t i = 0; i < FRAMES; ++i) {
      const float alone = in[1][i] * out[0][i] / in[0][i];
      const float expected = link ? alone : in[1][i];
      ck_assert(in[0][i] == 0.0F || fabsf(out[1][i] - expected) < 1e-8F);
    }
    ck_assert_double_lt(gain_db(0, FRAMES - 1U), -5.0);
  }
}

TEST(a_side_input_sets_the_gain_in_place_of_the_input)
{
  static float direct[2][FRAMES];
  static float* const directs[] = { direct[0], direct[1] };
  static float loud[2][FRAMES];
  static const float* const louds[] = { loud[0], loud[1] };
  for (uint32_t c = 0; c < 2U; ++c) {
    signal_noise(loud[c], FRAMES, c + 1U);
    for (uint32_t i = 0; i < FRAMES; ++i) {
      loud[c][i] *= c ? 0.1F : 1.0F;
      in[c][i] = 1e-3F; // far below the threshold
    }
  }
  for (int link = 0; link < 2; ++link) {
    SCOPED(rig_free) FxRig alone;
    rig_new(&alone, "compressor", RATE, 2, 64, SET("link", link), SET("threshold", -30.0));
    rig_run(&alone, louds, directs, FRAMES, RIG_RANDOM, 1);
    SCOPED(rig_free) FxRig keyed;
    rig_new(&keyed, "compressor", RATE, 2, 64, SET("link", link), SET("threshold", -30.0));
    keyed.side = louds;
    keyed.n_side = 2;
    rig_run(&keyed, ins, outs, FRAMES, RIG_RANDOM, 2);
    for (uint32_t c = 0; c < 2U; ++c) {
      for (uint32_t i = 0; i < FRAMES; ++i) {
        const double wanted = loud[c][i] == 0.0F ? 1.0 : (double)direct[c][i] / (double)loud[c][i];
        ck_assert(loud[c][i] == 0.0F || fabs(1e3 * (double)out[c][i] - wanted) < 1e-4);
      }
    }
    ck_assert_double_lt(gain_db(0, FRAMES - 1U), -5.0);
    keyed.n_side = 0; // disconnected: the gain returns, without a step
    rig_run(&keyed, ins, outs, FRAMES, RIG_RANDOM, 3);
    ck_assert_double_lt(gain_db(0, 0), -5.0);
    ck_assert_double_gt(gain_db(0, FRAMES - 1U), -2.0);
  }
}

TEST(the_input_as_its_own_side_input_changes_no_sample)
{
  static float direct[2][FRAMES];
  static float* const directs[] = { direct[0], direct[1] };
  for (uint32_t c = 0; c < 2U; ++c) {
    signal_bursts(in[c], FRAMES, 7U + c, 1.0F);
  }
  for (int link = 0; link < 2; ++link) {
    SCOPED(rig_free) FxRig alone;
    rig_new(&alone, "compressor", RATE, 2, 64, SET("link", link), SET("threshold", -30.0));
    rig_run(&alone, ins, directs, FRAMES, RIG_RANDOM, 1);
    SCOPED(rig_free) FxRig keyed;
    rig_new(&keyed, "compressor", RATE, 2, 64, SET("link", link), SET("threshold", -30.0));
    keyed.side = ins;
    keyed.n_side = 2;
    rig_run(&keyed, ins, outs, FRAMES, RIG_RANDOM, 1);
    for (uint32_t c = 0; c < 2U; ++c) {
      ck_assert_double_le(max_difference(direct[c], out[c], FRAMES, NULL), 0.0);
    }
  }
}

TEST(without_mix_or_ratio_samples_pass_unchanged)
{
  static const RigArg idle[] = { SET("mix", 0.0), SET("ratio", 1.0) };
  signal_noise(in[0], FRAMES, 1);
  for (size_t a = 0; a < ARRAY_LEN(idle); ++a) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "compressor", RATE, 1, 64, idle[a]);
    rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
    ck_assert_double_le(max_difference(in[0], out[0], FRAMES, NULL), 0.0);
  }
}

static void
run_part(FxRig* const rig, const uint32_t first, const uint32_t end)
{
  const float* const source[] = { in[0] + first };
  float* const sink[] = { out[0] + first };
  rig_run(rig, source, sink, end - first, RIG_BLOCKS, 0);
}

TEST(the_output_follows_the_double_precision_model)
{
  FxRig rig;
  signal_bursts(in[0], FRAMES, 1, 1.0F);
  signal_bursts(in[1], FRAMES, 2, 1.0F);
  rig_new(&rig, "compressor", RATE, 2, 64, SET("threshold", -25.0), SET("ratio", 4.0),
          SET("knee", 10.0), SET("attack", 3.0), SET("release", 40.0), SET("makeup", 6.0),
          SET("mix", 0.8));
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_lt(reference_difference("compressor_peak", outs, 2, FRAMES), 1e-6);
  rig_free(&rig);

  rig_new(&rig, "compressor", RATE, 1, 64, SET("threshold", -20.0), SET("ratio", 8.0),
          SET("knee", 6.0), SET("attack", 5.0), SET("release", 60.0),
          { .id = "detector", .text = "rms" });
  run_part(&rig, 0, FRAMES / 2U);
  rig_set(&rig, "threshold", -30.0);
  run_part(&rig, FRAMES / 2U, FRAMES);
  ck_assert_double_lt(reference_difference("compressor_rms", outs, 1, FRAMES), 1e-6);
  rig_free(&rig);
}

TEST(changes_do_not_click)
{
  static const struct {
    const char* id;
    double value;
  } changes[] = { { "threshold", -50.0 }, { "ratio", 1.0 }, { "knee", 40.0 },
                  { "makeup", 12.0 },     { "mix", 0.0 },   { "release", 1000.0 } };
  signal_sine(in[0], FRAMES, 1000.0, RATE, 0.5, 0.0);
  for (size_t c = 0; c < ARRAY_LEN(changes); ++c) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "compressor", RATE, 1, 64, SET("threshold", -10.0), SET("attack", 1.0),
            SET("release", 500.0));
    run_part(&rig, 0, FRAMES / 2U);
    rig_set(&rig, changes[c].id, changes[c].value);
    run_part(&rig, FRAMES / 2U, FRAMES);
    const double before = max_second_difference(out[0] + 4800, FRAMES / 2U - 4800U);
    const double after = max_second_difference(out[0] + FRAMES - 2400U, 2400);
    ck_assert_double_le(max_second_difference(out[0] + 4800, FRAMES - 4800U),
                        1.1 * fmax(before, after));
  }
}

TEST(an_attack_of_0_sets_in_without_a_step)
{
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[0][i] = 1.0F;
  }
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "compressor", RATE, 1, 64, SET("threshold", -40.0), SET("attack", 1000.0));
  run_part(&rig, 0, 1000);
  rig_set(&rig, "attack", 0.0);
  run_part(&rig, 1000, FRAMES);
  const float way = out[0][999] - out[0][FRAMES - 1U];
  ck_assert_float_gt(way, 0.5F); // the gain has far to go
  for (uint32_t i = 1000; i < FRAMES; ++i) {
    ck_assert_msg(out[0][i - 1U] - out[0][i] < 0.05F * way, "a step at frame %u", i);
  }
}

TEST(the_compressor_never_raises_the_level)
{
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[0][i] = 1.0F;
  }
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "compressor", RATE, 1, 64, SET("threshold", -100.0), SET("attack", 0.0),
          SET("release", 1.0));
  // A ramp that changes direction at these frames overshoots its targets by a tenth.
  const double ratios[] = { 1.0, 1000.0, 1.001, 1.002 };
  const uint32_t lengths[] = { 700, 750, 800, 350 };
  for (uint32_t at = 0, k = 0; at + lengths[k] <= FRAMES; at += lengths[k], k = (k + 1U) % 4U) {
    rig_set(&rig, "ratio", ratios[k]);
    run_part(&rig, at, at + lengths[k]);
    for (uint32_t i = at; i < at + lengths[k]; ++i) {
      ck_assert_msg(out[0][i] <= 1.00001F, "%g at frame %u", (double)out[0][i], i);
    }
  }
}

TEST(rms_recovers_from_any_sample)
{
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[0][i] = 0.5F;
  }
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "compressor", RATE, 1, 64, { .id = "detector", .text = "rms" });
  run_part(&rig, 0, FRAMES);
  const float before = out[0][FRAMES - 1U];
  in[0][100] = 3e38F;
  for (uint32_t k = 0; k <= 2U * (uint32_t)RATE / FRAMES; ++k) {
    run_part(&rig, 0, FRAMES);
    in[0][100] = 0.5F;
  }
  ck_assert_float_eq_tol(out[0][FRAMES - 1U], before, 1e-4F);
}

TEST(the_contract_holds_for_every_shape)
{
  const RigArg linked[] = { SET("threshold", -30.0) };
  check_contract("compressor", linked, ARRAY_LEN(linked), "threshold", -10.0, false);
  const RigArg alone[] = { SET("link", 0.0), { .id = "detector", .text = "rms" } };
  check_contract("compressor", alone, ARRAY_LEN(alone), "mix", 0.5, false);
}

SUITE_MAIN("compressor")
