// SPDX-License-Identifier: GPL-3.0-or-later
/*
  No sample exceeds the ceiling, for any input and any split into blocks; below the ceiling samples
  pass unchanged with exactly the declared latency; the gain is smooth, falls in time for each
  peak, and rises with the time of the release; the output follows a double-precision model
  (tests/data/make_dynamics.py).
*/

#include "dsp_cpu/lookahead.h"
#include "tests/support/fx_checks.h"
#include "tests/support/fx_rig.h"
#include "tests/support/reference.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>

#define RATE   48000.0
#define FRAMES 14400U

static float in[2][FRAMES];
static float out[2][FRAMES];
static const float* const ins[] = { in[0], in[1] };
static float* const outs[] = { out[0], out[1] };

static double
random_unit(uint64_t* const state)
{
  return (double)(signal_random(state) >> 40U) / 16777216.0;
}

static void
fill_noise_bursts(float* const x, uint64_t* const state)
{
  double level = 1.0;
  signal_noise(x, FRAMES, *state);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    level = random_unit(state) < 0.005 ? pow(10.0, 4.0 * random_unit(state) - 2.0) : level;
    x[i] *= (float)level;
  }
}

static void
fill_steps_of_60_dB(float* const x, uint64_t* const state)
{
  double level = 0.5;
  for (uint32_t i = 0; i < FRAMES; ++i) {
    level = random_unit(state) < 0.003 ? (level < 1.0 ? 500.0 : 0.5) : level;
    x[i] = (float)level;
  }
}

static void
fill_square(float* const x, uint64_t* const state)
{
  const uint32_t half = 1U + (uint32_t)(signal_random(state) % 300U);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    x[i] = (i / half % 2U ? -1.0F : 1.0F) * (i < FRAMES / 2U ? 4.0F : 1.0001F);
  }
}

static void
fill_impulses(float* const x, uint64_t* const state)
{
  for (uint32_t i = 0; i < FRAMES; ++i) {
    const double size = pow(10.0, 40.0 * random_unit(state) - 2.0); // up to 10^38
    x[i] = random_unit(state) < 0.01 ? (float)(i % 2U ? -size : size) : 0.0F;
  }
}

static void (*const fills[])(float*, uint64_t*) = { fill_noise_bursts, fill_steps_of_60_dB,
                                                    fill_square, fill_impulses };

static double
largest(const float* const x, const uint32_t n)
{
  double peak = 0.0;
  for (uint32_t i = 0; i < n; ++i) {
    peak = fabs((double)x[i]) <= peak ? peak : fabs((double)x[i]);
  }
  return peak;
}

TEST(nothing_exceeds_the_ceiling)
{
  static const double lookaheads_ms[] = { 0.0, 0.02, 1.5, 7.3, 20.0 };
  static const double rates[] = { 44100.0, 48000.0, 192000.0 };
  uint64_t state = 1;
  for (uint32_t k = 0; k < 240; ++k) {
    const double ceiling = k % 7U ? -20.0 * random_unit(&state) : 0.0;
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "limiter", rates[k % 3U], 2, 200, SET("ceiling", ceiling),
            SET("lookahead", lookaheads_ms[k % 5U]), SET("release", k % 2U ? 1.0 : 300.0),
            SET("link", signal_random(&state) % 2U ? 1.0 : 0.0));
    fills[k % ARRAY_LEN(fills)](in[0], &state);
    fills[signal_random(&state) % ARRAY_LEN(fills)](in[1], &state);
    rig_run(&rig, ins, outs, FRAMES, RIG_RANDOM, k);
    for (uint32_t c = 0; c < 2; ++c) {
      ck_assert_double_le(largest(out[c], FRAMES), pow(10.0, ceiling / 20.0));
    }
  }
}

TEST(a_moving_ceiling_holds_too)
{
  SCOPED(rig_free) FxRig rig;
  uint64_t state = 5;
  rig_new(&rig, "limiter", RATE, 1, 64, SET("ceiling", -6.0));
  for (uint32_t k = 0; k < 40; ++k) {
    fills[k % ARRAY_LEN(fills)](in[0], &state);
    const double ceiling = -60.0 * random_unit(&state);
    double top = 0.0;
    for (uint32_t i = 0; i < 2080; i += 40U) { // changes direction in the middle of its ramps
      const double now = i < 960 ? -30.0 * random_unit(&state) : ceiling;
      const float* const source[] = { in[0] + i };
      float* const sink[] = { out[0] + i };
      rig_set(&rig, "ceiling", now);
      rig_run(&rig, source, sink, 40, RIG_BLOCKS, 0);
      top = fmax(top, largest(sink[0], 40));
    }
    ck_assert_double_le(top, 1.0);
    ck_assert_double_le(largest(out[0] + 960U + 960U + 72U, 80), pow(10.0, ceiling / 20.0));
  }
}

TEST(a_ceiling_that_turns_round_does_not_overshoot)
{
  SCOPED(rig_free) FxRig rig;
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[0][i] = 4.0F;
  }
  rig_new(&rig, "limiter", RATE, 1, 64, SET("ceiling", -40.0), SET("release", 1.0));
  rig_set(&rig, "ceiling", 0.0);
  rig_run(&rig, ins, outs, 800, RIG_BLOCKS, 0); // at five sixths of the ramp, still rising
  rig_set(&rig, "ceiling", -0.5);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_le(largest(out[0], FRAMES), pow(10.0, -0.5 / 20.0));
}

TEST(below_the_ceiling_samples_pass_unchanged_after_the_latency)
{
  static const double lookaheads_ms[] = { 0.0, 0.1, 1.5, 20.0 };
  signal_noise(in[0], FRAMES, 1);
  for (size_t a = 0; a < ARRAY_LEN(lookaheads_ms); ++a) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "limiter", RATE, 1, 64, SET("ceiling", 0.0), SET("lookahead", lookaheads_ms[a]));
    const uint32_t latency = rig.shape.latency_frames;
    ck_assert_uint_eq(latency, (uint32_t)lrint(lookaheads_ms[a] * 48.0));
    rig_run(&rig, ins, outs, FRAMES, RIG_RANDOM, 1);
    ck_assert_double_le(largest(out[0], latency), 0.0);
    ck_assert_double_le(max_difference(in[0], out[0] + latency, FRAMES - latency, NULL), 0.0);
  }
}

TEST(the_gain_is_down_in_time_and_comes_back_with_the_release)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "limiter", RATE, 1, 64, SET("ceiling", 0.0), SET("release", 20.0),
          SET("lookahead", 2.0));
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[0][i] = i == 4800U ? 4.0F : 0.5F;
  }
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert(out[0][4800U - 1U] == 0.5F);                    // the gain begins to fall
  ck_assert_double_eq_tol((double)out[0][4896], 1.0, 1e-6); // and is 1/4 at the frame of the peak
  ck_assert_double_le(max_second_difference(out[0] + 4700, 196), 0.002); // without a corner
  // The minimum holds for the window of 97 frames, then 1 - gain decays; the boxes' mean delay
  // is 48.
  const double later = 1.0 - 0.75 * exp(-1.0);
  ck_assert_double_eq_tol((double)out[0][4896U + 48U + 960U] / 0.5, later, 0.002);
}

TEST(a_linked_limiter_turns_all_channels_down_alike)
{
  signal_bursts(in[0], FRAMES, 1, 8.0F);
  signal_noise(in[1], FRAMES, 2);
  for (int link = 0; link < 2; ++link) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "limiter", RATE, 2, 64, SET("ceiling", 0.0), SET("link", link));
    ck_assert_int_eq(rig.n_units == 1U, link);
    rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
    double quietest = 1.0;
    for (uint32_t i = 72; i < FRAMES; ++i) {
      quietest =
          fmin(quietest, in[1][i - 72U] == 0.0F ? 1.0 : (double)(out[1][i] / in[1][i - 72U]));
    }
    ck_assert_double_eq_tol(quietest, link ? 0.125 : 1.0, 0.005);
  }
}

TEST(the_output_follows_the_double_precision_model)
{
  SCOPED(rig_free) FxRig rig;
  signal_bursts(in[0], FRAMES, 1, 30.0F);
  signal_bursts(in[1], FRAMES, 2, 8.0F);
  rig_new(&rig, "limiter", RATE, 2, 64, SET("ceiling", -1.0), SET("release", 20.0));
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_lt(reference_difference("limiter", outs, 2, FRAMES), 1e-6);
}

TEST(a_change_of_ceiling_does_not_click)
{
  SCOPED(rig_free) FxRig rig;
  signal_sine(in[0], FRAMES, 1000.0, RATE, 0.5, 0.0);
  rig_new(&rig, "limiter", RATE, 1, 64, SET("ceiling", 0.0));
  const float* const late_in[] = { in[0] + FRAMES / 2U };
  float* const late_out[] = { out[0] + FRAMES / 2U };
  rig_run(&rig, ins, outs, FRAMES / 2U, RIG_BLOCKS, 0);
  rig_set(&rig, "ceiling", -30.0);
  rig_run(&rig, late_in, late_out, FRAMES / 2U, RIG_BLOCKS, 0);
  ck_assert_double_le(max_second_difference(out[0] + 72, FRAMES - 72U),
                      1.05 * max_second_difference(in[0], FRAMES));
}

TEST(a_look_ahead_beyond_the_sums_is_refused)
{
  FxRig rig;
  const RigArg longest = SET("lookahead", 20.0);
  rig_new(&rig, "limiter", 800000.0, 1, 64, longest);
  ck_assert_uint_eq(rig.shape.latency_frames, LOOKAHEAD_MAX_FRAMES);
  rig_free(&rig);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(rig_try(&rig, "limiter", 801000.0, 1, 64, false, &longest, 1, &error),
                   STATUS_LIMIT);
  assert_says(error.text, "lookahead");
}

TEST(the_contract_holds_for_every_shape)
{
  const RigArg linked[] = { SET("ceiling", -6.0) };
  check_contract("limiter", linked, ARRAY_LEN(linked), "ceiling", -20.0, false);
  const RigArg alone[] = { SET("ceiling", -6.0), SET("link", 0.0), SET("lookahead", 0.5) };
  check_contract("limiter", alone, ARRAY_LEN(alone), "release", 5.0, false);
}

SUITE_MAIN("limiter")
