// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Echoes come at k * delay with feedback^(k-1), plain and ping-pong; tone is 3 dB down at its
  frequency; a new time cross-fades, in order; the tail covers all echoes; the output follows a
  double-precision model (tests/data/make_delay.py).
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
impulse(void)
{
  memset(in, 0, sizeof(in));
  in[0][0] = 1.0F;
}

/// Check that `channel` of `out` holds only the echoes k = first, first + step, ... with the level
/// `level` times feedback^(k-1).
static void
assert_echoes(const uint32_t channel, const uint32_t delay, const uint32_t first,
              const uint32_t step, const double level, const double feedback)
{
  for (uint32_t i = 0; i < FRAMES; ++i) {
    const uint32_t k = i / delay;
    const bool is_echo = i % delay == 0U && k >= first && (k - first) % step == 0U;
    const double expected = is_echo ? level * pow(feedback, (double)k - 1.0) : 0.0;
    ck_assert_msg(fabs((double)out[channel][i] - expected) < 1e-6, "channel %u frame %u: %g not %g",
                  channel, i, (double)out[channel][i], expected);
  }
}

TEST(echoes_have_the_time_and_level_asked_for)
{
  static const double feedbacks[] = { 0.5, -0.9, 0.99, 0.0 };
  static const double times_ms[] = { 10.0, 2.5, 1.0 / 48.0, 100.0 };
  for (size_t f = 0; f < ARRAY_LEN(feedbacks); ++f) {
    for (size_t t = 0; t < ARRAY_LEN(times_ms); ++t) {
      SCOPED(rig_free) FxRig rig;
      rig_new(&rig, "delay", RATE, 1, 64, SET("time", times_ms[t]), SET("feedback", feedbacks[f]),
              SET("mix", 1.0));
      impulse();
      rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
      assert_echoes(0, (uint32_t)lrint(times_ms[t] * 48.0), 1, 1, 1.0, feedbacks[f]);
    }
  }
}

TEST(mix_goes_from_the_input_to_the_echoes)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "delay", RATE, 1, 64, SET("time", 10.0), SET("feedback", 0.5), SET("mix", 0.25));
  impulse();
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_eq_tol(out[0][0], 0.75, 1e-6);
  out[0][0] = 0.0F;
  assert_echoes(0, 480, 1, 1, 0.25, 0.5);
}

TEST(ping_pong_alternates_between_the_channels)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "delay", RATE, 2, 64, SET("time", 10.0), SET("feedback", 0.8), SET("mix", 1.0),
          SET("pingpong", 1.0));
  ck_assert_uint_eq(rig.n_units, 1);
  impulse();
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  assert_echoes(0, 480, 1, 2, 0.5, 0.8);
  assert_echoes(1, 480, 2, 2, 0.5, 0.8);
}

TEST(tempo_and_note_give_the_time)
{
  static const struct {
    const char* note;
    double bpm;
    uint32_t frames;
  } cases[] = { { "1/4", 120.0, 24000 }, { "1/8d", 120.0, 18000 }, { "1/8t", 120.0, 8000 },
                { "1/1", 240.0, 48000 }, { "1/32t", 90.0, 2667 },  { "1/2", 100.0, 57600 } };
  static float long_in[60000];
  static float long_out[60000];
  const float* const sources[] = { long_in };
  float* const sinks[] = { long_out };
  long_in[0] = 1.0F;
  for (size_t c = 0; c < ARRAY_LEN(cases); ++c) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "delay", RATE, 1, 64, SET("bpm", cases[c].bpm),
            { .id = "note", .text = cases[c].note }, SET("mix", 1.0));
    rig_run(&rig, sources, sinks, ARRAY_LEN(long_in), RIG_BLOCKS, 0);
    uint32_t first = 0;
    while (first < ARRAY_LEN(long_out) && long_out[first] == 0.0F) {
      ++first;
    }
    ck_assert_msg(first == cases[c].frames, "%s: %u", cases[c].note, first);
  }
}

TEST(each_repetition_is_3_dB_down_at_tone)
{
  static const double rates[] = { 44100.0, 192000.0 };
  static const double tones[] = { 200.0, 2000.0, 15000.0 };
  for (size_t c = 0; c < ARRAY_LEN(rates) * ARRAY_LEN(tones); ++c) {
    const double rate = rates[c / ARRAY_LEN(tones)];
    const double tone = tones[c % ARRAY_LEN(tones)];
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "delay", rate, 1, 64, SET("time", 4800.0 * 1000.0 / rate), SET("feedback", 0.99),
            SET("mix", 1.0), SET("tone", tone));
    impulse();
    rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
    double re = 0.0;
    double im = 0.0;
    for (uint32_t i = 9600; i < FRAMES; ++i) { // echo 2: the impulse response of the filter
      re += out[0][i] * cos(2.0 * M_PI * tone / rate * i);
      im += out[0][i] * sin(2.0 * M_PI * tone / rate * i);
    }
    ck_assert_double_eq_tol(decibels(hypot(re, im) / 0.99), decibels(sqrt(0.5)), 0.01);
  }
}

TEST(the_output_follows_the_double_precision_model)
{
  FxRig rig;
  signal_noise(in[0], FRAMES, 1);
  signal_noise(in[1], FRAMES, 2);
  rig_new(&rig, "delay", RATE, 1, 64, SET("time", 10.0), SET("feedback", 0.7), SET("tone", 3000.0),
          SET("mix", 0.4));
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_lt(reference_difference("delay_tone", outs, 1, FRAMES), 1e-6);
  rig_free(&rig);

  rig_new(&rig, "delay", RATE, 2, 64, SET("time", 15.0), SET("feedback", -0.8), SET("tone", 5000.0),
          SET("mix", 0.6), SET("pingpong", 1.0));
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_lt(reference_difference("delay_pingpong", outs, 2, FRAMES), 1e-6);
  rig_free(&rig);
}

static void
run_part(FxRig* const rig, const uint32_t first, const uint32_t end)
{
  const float* const source[] = { in[0] + first };
  float* const sink[] = { out[0] + first };
  rig_run(rig, source, sink, end - first, RIG_BLOCKS, 0);
}

TEST(new_times_cross_fade_one_after_the_other)
{
  SCOPED(rig_free) FxRig rig;
  signal_noise(in[0], FRAMES, 1);
  rig_new(&rig, "delay", RATE, 1, 64, SET("time", 10.0), SET("feedback", 0.5), SET("tone", 3000.0),
          SET("mix", 1.0));
  run_part(&rig, 0, 7200);
  rig_set(&rig, "time", 20.0);
  run_part(&rig, 7200, 7300);
  rig_set(&rig, "time", 17.0); // replaced before its fade begins
  run_part(&rig, 7300, 7400);
  rig_set(&rig, "time", 5.0);
  run_part(&rig, 7400, FRAMES);
  ck_assert_double_lt(reference_difference("delay_change", outs, 1, FRAMES), 1e-6);
}

TEST(a_flurry_of_changes_does_not_click)
{
  SCOPED(rig_free) FxRig rig;
  signal_sine(in[0], FRAMES, 440.0, RATE, 0.5, 0.0);
  rig_new(&rig, "delay", RATE, 1, 64, SET("time", 10.0), SET("feedback", 0.0), SET("mix", 1.0));
  run_part(&rig, 0, 960);
  uint64_t random = 3;
  for (uint32_t i = 960; i < FRAMES; i += 64U) {
    rig_set(&rig, "time", (double)(signal_random(&random) % 20U));
    rig_set(&rig, "mix", (double)(signal_random(&random) % 2U));
    run_part(&rig, i, i + 64U < FRAMES ? i + 64U : FRAMES);
  }
  ck_assert_double_le(max_second_difference(out[0] + 960, FRAMES - 960U),
                      1.5 * max_second_difference(in[0], FRAMES));
}

TEST(a_tempo_that_moves_does_not_click)
{
  SCOPED(rig_free) FxRig rig;
  signal_sine(in[0], FRAMES, 440.0, RATE, 0.5, 0.0);
  rig_new(&rig, "delay", RATE, 1, 64, SET("bpm", 600.0), { .id = "note", .text = "1/32" },
          SET("feedback", 0.0), SET("mix", 1.0)); // 600 frames
  run_part(&rig, 0, 960);
  uint64_t random = 5;
  for (uint32_t i = 960; i < FRAMES; i += 64U) {
    rig_set(&rig, "bpm", 400.0 + (double)(signal_random(&random) % 500U));
    run_part(&rig, i, i + 64U < FRAMES ? i + 64U : FRAMES);
  }
  ck_assert_double_le(max_second_difference(out[0] + 960, FRAMES - 960U),
                      1.5 * max_second_difference(in[0], FRAMES));
}

TEST(the_tail_ends_where_the_echoes_fall_below_120_dB)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "delay", RATE, 1, 64, SET("time", 10.0), SET("feedback", 0.5), SET("mix", 1.0));
  impulse();
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  const uint64_t tail = rig.fx->tail(rig.node);
  ck_assert_uint_lt(tail, FRAMES);
  uint32_t last = 0; // last frame above -120 dB
  for (uint32_t i = 0; i < FRAMES; ++i) {
    last = fabsf(out[0][i]) > 1e-6F ? i : last;
  }
  ck_assert_uint_le(last, tail);
  ck_assert_uint_gt(last + 3U * 480U + 960U, tail);
  rig_set(&rig, "feedback", 0.99);
  ck_assert_uint_eq(rig.fx->tail(rig.node), 1376U * 480U + 960U);
}

TEST(odd_ping_pong_is_refused)
{
  FxRig rig;
  Error error = { STATUS_OK, "" };
  const RigArg odd = SET("pingpong", 1.0);
  ck_assert_int_eq(rig_try(&rig, "delay", RATE, 3, 64, false, &odd, 1, &error), STATUS_BAD_ARG);
  assert_says(error.text, "pairs");
}

TEST(a_node_can_be_created_with_any_value_that_can_be_set)
{
  static const struct {
    const char* id;
    double value, seconds;
  } cases[] = { { "time", 2001.0, 2.001 }, { "bpm", 20.0, 3.0 }, { "bpm", 1e-9, 60.0 } };
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "delay", 1000.0, 1, 64, SET(cases[i].id, cases[i].value), SET("feedback", 0.0));
    ck_assert_uint_eq(rig.fx->tail(rig.node),
                      (uint64_t)lrint(1000.0 * (cases[i].seconds + FX_RAMP_SECONDS)));
  }
}

TEST(a_time_set_beyond_max_time_stays_at_max_time)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "delay", RATE, 1, 64, SET("max_time", 100.0), SET("time", 10.0), SET("mix", 1.0),
          SET("feedback", 0.0));
  rig_set(&rig, "time", 5000.0);
  rig_reset(&rig);
  impulse();
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  assert_echoes(0, 4800, 1, 1, 1.0, 0.0);
}

TEST(the_contract_holds_for_every_shape)
{
  const RigArg plain[] = { SET("time", 7.3), SET("tone", 4000.0) };
  check_contract("delay", plain, ARRAY_LEN(plain), "time", 11.0, false);
  const RigArg pairs[] = { SET("time", 0.4), SET("pingpong", 1.0) };
  check_contract("delay", pairs, ARRAY_LEN(pairs), "feedback", -0.9, true);
}

SUITE_MAIN("delay")
