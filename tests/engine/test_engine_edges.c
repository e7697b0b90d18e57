// SPDX-License-Identifier: GPL-3.0-or-later
// Edits at bad moments do not disturb the sound: during other edits, between paths of different
// latency, in reversed chains, while tails ring.

#include "engine/base/time.h"
#include "engine/plan/plan.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RATE  DRIVER_RATE_HZ
#define BLOCK DRIVER_BLOCK

static void
must_edit(TestDriver* const driver, Rack** const rack, const char* const text)
{
  Error error = { STATUS_OK, "" };
  ck_assert_msg(driver_edit(driver, rack, text, &error) == STATUS_OK, "%s: %s", text, error.text);
}

static float
peak(const float* const x, const size_t n)
{
  float largest = 0.0F;
  for (size_t i = 0; i < n; ++i) {
    largest = fmaxf(largest, fabsf(x[i]));
  }
  return largest;
}

static void
fill(float* const x, const size_t n, const float value)
{
  for (size_t i = 0; i < n; ++i) {
    x[i] = value;
  }
}

TEST(a_connection_takes_a_new_gain_and_the_old_one_again)
{
  SCOPED(driver_free)
  TestDriver driver =
      driver_new("add g gain\nconnect in g\nconnect g out", 1, 1, 1, false, 400U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of("add g gain\nconnect in g\nconnect g out", NULL);
  fill(driver.in[0], driver.n_frames, 1.0F);
  driver_play(&driver, 10);
  static const struct {
    const char* text;
    double level;
  } steps[] = { { "add g gain\nconnect in g\nconnect g out gain=-20dB", 0.1 },
                { "add g gain\nconnect in g\nconnect g out", 1.0 },
                { "add g gain\nconnect in g\nconnect g out gain=-20dB", 0.1 },
                { "add g gain\nconnect in g gain=-20dB\nconnect g out gain=-20dB", 0.01 },
                { "add g gain\nconnect in g\nconnect g out", 1.0 } };
  for (uint32_t s = 0; s < ARRAY_LEN(steps); ++s) {
    must_edit(&driver, &rack, steps[s].text);
    driver_play(&driver, 30);
    ck_assert_double_eq_tol(driver.out[0][driver.position - 1U], steps[s].level, 1e-6);
  }
}

TEST(equivalent_connections_stay_separate)
{
  const char* const text = "add g gain\nconnect in g\nconnect in:1 g gain=-20dB\nconnect g out";
  SCOPED(driver_free) TestDriver driver = driver_new(text, 1, 1, 1, false, 400U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of(text, NULL);
  fill(driver.in[0], driver.n_frames, 0.5F);
  driver_play(&driver, 10);
  for (uint32_t s = 0; s < 3U; ++s) {
    must_edit(&driver, &rack, text);
    driver_play(&driver, 30);
    ck_assert_double_eq_tol(driver.out[0][driver.position - 1U], 0.5 * 1.1, 1e-6);
  }
}

/// Edit from one rack to the other and back while a sine plays: no click, and never louder than
/// before and after by more than `largest_peak`.
static void
check_cross_fades(const char* const a, const char* const b, const uint32_t n_channels,
                  const double largest_peak)
{
  static const double frequencies[] = { 100.0, 1000.0 };
  for (uint32_t f = 0; f < ARRAY_LEN(frequencies); ++f) {
    SCOPED(driver_free)
    TestDriver driver = driver_new(a, n_channels, n_channels, 1, false, 3000U * BLOCK);
    SCOPED_RACK Rack* rack = rack_of(a, NULL);
    for (uint32_t c = 0; c < n_channels; ++c) {
      signal_sine(driver.in[c], driver.n_frames, frequencies[f], RATE, 0.4, 0.0);
    }
    driver_play(&driver, 400);
    for (uint32_t e = 0; e < 4U; ++e) {
      const char* const text = e % 2U ? a : b;
      const size_t begin = driver.position;
      must_edit(&driver, &rack, text);
      driver_play(&driver, 500);
      const size_t n = 50U * BLOCK;
      const float* const out = driver.out[0] + begin - n;
      const size_t n_all = driver.position - begin + n;
      const float* const last = out + n_all - n;
      const double loud = fmax((double)peak(out, n), (double)peak(last, n));
      const double loudest = (double)peak(out, n_all) / loud;
      ck_assert_msg(loudest <= largest_peak, "%g Hz: to \"%s\": peak %g of %g", frequencies[f],
                    text, loudest, loud);
      const double before = max_second_difference(out, n);
      const double after = max_second_difference(last, n);
      const double allowed = 1.5 * loudest * fmax(before, after) + 1e-6;
      const double largest = max_second_difference(out, n_all);
      ck_assert_msg(largest <= allowed, "%g Hz: to \"%s\": second difference %g, allowed %g",
                    frequencies[f], text, largest, allowed);
    }
  }
}

TEST(changes_of_latency_cross_fade_in_step)
{
  // The chains delay by whole periods of both sines, so that aligned paths add up.
  check_cross_fades("limiter 0dB lookahead=20ms + a: gain",
                    "limiter 0dB lookahead=20ms + (a: gain | new: limiter 0dB lookahead=10ms)", 1,
                    1.001);
  check_cross_fades("l: limiter 0dB lookahead=10ms", "l: limiter 0dB lookahead=20ms", 1, 1.001);
  check_cross_fades("(l: limiter 0dB lookahead=10ms) + g: gain",
                    "(l: limiter 0dB lookahead=20ms) + g: gain", 1, 1.001);
  check_cross_fades("(l: limiter 0dB lookahead=20ms) + g: gain",
                    "(l: limiter 0dB lookahead=20ms) + h: gain", 1, 1.001);
  check_cross_fades("(l: limiter 0dB lookahead=20ms) + g: gain", "g: gain -3dB", 1, 1.001);
  check_cross_fades("", "l: limiter 0dB lookahead=20ms", 1, 1.001);
}

/// The lowest level of 5 ms of a tone, relative to the level before, while an edit adds a limiter.
static double
lowest_level_db(const char* const limiter)
{
  const size_t n_window = (size_t)(0.005 * RATE);
  SCOPED(driver_free) TestDriver driver = driver_new("g: gain", 1, 1, 1, false, 1000U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of("g: gain", NULL);
  char text[64];
  snprintf(text, sizeof(text), "g: gain | l: limiter 0dB lookahead=%s", limiter);
  signal_sine(driver.in[0], driver.n_frames, 1000.0, RATE, 0.4, 0.0);
  driver_play(&driver, 100);
  const size_t begin = driver.position;
  must_edit(&driver, &rack, text);
  driver_play(&driver, 200);
  double lowest = 1.0;
  for (size_t at = begin; at + n_window <= driver.position; at += n_window) {
    double energy = 0.0;
    for (size_t i = at; i < at + n_window; ++i) {
      energy += (double)driver.out[0][i] * (double)driver.out[0][i];
    }
    lowest = fmin(lowest, energy / (double)n_window / (0.5 * 0.4 * 0.4));
  }
  return 10.0 * log10(lowest);
}

TEST(a_tone_is_quieter_while_an_edit_fades_it_to_the_opposite_phase)
{
  ck_assert_double_ge(lowest_level_db("1ms"), -0.1); // a whole period later
  const double opposite = lowest_level_db("1.5ms");
  ck_assert_msg(opposite <= -3.0 && opposite >= -9.0, "%g dB", opposite);
}

TEST(chains_are_reversed_without_a_click)
{
  check_cross_fades("a: gain -1dB | b: gain -2dB", "b: gain -2dB | a: gain -1dB", 2, 1.001);
  check_cross_fades("add a gain -1dB\nadd b gain -2dB\n" // the maximum number of connections
                    "connect in out\nconnect in a\nconnect a b\nconnect b out",
                    "add a gain -1dB\nadd b gain -2dB\n"
                    "connect in out\nconnect in b\nconnect b a\nconnect a out",
                    1, 1.001);
  check_cross_fades("add a gain -1dB\nadd b gain -2dB\nconnect a b\nconnect in a\nconnect b out",
                    "b: gain -2dB | a: gain -1dB", 2, 1.001); // the first connection is removed
  check_cross_fades("add a gain -1dB\nadd b gain -2dB\nconnect in a\nconnect b out\nconnect a b",
                    "b: gain -2dB | a: gain -1dB", 2, 1.001); // the last one is removed
  check_cross_fades("r: reverb mix=0.3 | g: gain -6dB", "g: gain -6dB | r: reverb mix=0.3", 2, 1.6);
  check_cross_fades("r: reverb size=0.3 mix=0.3 | g: gain -6dB",
                    "g: gain -6dB | r: reverb size=0.6 mix=0.3", 2, 1.6);
}

TEST(an_edit_does_not_advance_edits_that_wait)
{
  static const char* const before = "(l: limiter 0dB lookahead=10ms) + g: gain";
  static const char* const after = "(l: limiter 0dB lookahead=20ms) + g: gain";
  for (uint32_t n_between = 1; n_between < 40U; n_between += 3U) {
    SCOPED(driver_free) TestDriver driver = driver_new(before, 1, 1, 1, false, 400U * BLOCK);
    SCOPED_RACK Rack* rack = rack_of(before, NULL);
    signal_sine(driver.in[0], driver.n_frames, 100.0, RATE, 0.4, 0.0);
    driver_play(&driver, 100);
    must_edit(&driver, &rack, after);
    driver_play(&driver, n_between);
    must_edit(&driver, &rack, after);
    driver_play(&driver, 2);
    must_edit(&driver, &rack,
              "add l limiter 0dB lookahead=20ms\nadd g gain\nconnect in l\nconnect in g\n"
              "connect l out\nconnect g out gain=-1dB");
    driver_play(&driver, 150);
    const double steady = max_second_difference(driver.out[0] + 50U * BLOCK, 40U * BLOCK);
    const double largest = max_second_difference(driver.out[0] + 50U * BLOCK, 200U * BLOCK);
    ck_assert_msg(largest <= 1.5 * steady, "%u blocks between: %g, steady %g", n_between, largest,
                  steady);
  }
}

TEST(a_connection_that_is_replaced_while_it_fades_does_not_click)
{
  // Each edit increases the latency.
  static const char* const racks[] = { "g: gain", "g: gain | l: limiter 0dB lookahead=3ms",
                                       "g: gain | l: limiter 0dB lookahead=9ms",
                                       "g: gain | l: limiter 0dB lookahead=19ms", "h: gain" };
  for (uint32_t n_between = 1; n_between < 12U; ++n_between) {
    SCOPED(driver_free) TestDriver driver = driver_new(racks[0], 1, 1, 1, false, 1000U * BLOCK);
    SCOPED_RACK Rack* rack = rack_of(racks[0], NULL);
    signal_sine(driver.in[0], driver.n_frames, 100.0, RATE, 0.4, 0.0);
    driver_play(&driver, 100);
    for (uint32_t r = 1; r < 2U * ARRAY_LEN(racks); ++r) {
      must_edit(&driver, &rack, racks[r % ARRAY_LEN(racks)]);
      driver_play(&driver, n_between);
    }
    driver_play(&driver, 100);
    const float* const out = driver.out[0] + 50U * BLOCK;
    const size_t n = driver.position - 50U * BLOCK;
    const double steady = max_second_difference(out, 40U * BLOCK);
    const double largest = max_second_difference(out, n);
    // A corner in the middle of a fade would be 18 times as large as the steady value.
    ck_assert_msg(largest <= 4.0 * steady, "%u blocks between: %g, steady %g", n_between, largest,
                  steady);
  }
}

TEST(edits_of_several_latencies_in_turn_wait_for_each_other)
{
  static const char* const form = "(a: limiter 0dB lookahead=%ums | b: limiter 0dB lookahead=%ums) "
                                  "+ (c: limiter 0dB lookahead=%ums | d: gain)";
  uint32_t ms[] = { 5, 1, 8 };
  char text[200];
  snprintf(text, sizeof(text), form, ms[0], ms[1], ms[2]);
  SCOPED(driver_free) TestDriver driver = driver_new(text, 1, 1, 1, false, 1000U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of(text, NULL);
  fill(driver.in[0], driver.n_frames, 0.4F);
  driver_play(&driver, 50);
  const size_t first = driver.position;
  for (uint32_t e = 0; e < 24U; ++e) {
    ms[e % ARRAY_LEN(ms)] = 1U + 7U * e % 20U;
    snprintf(text, sizeof(text), form, ms[0], ms[1], ms[2]);
    must_edit(&driver, &rack, text);
    driver_play(&driver, 1U + e % 8U);
  }
  for (size_t i = first; i < driver.position; ++i) {
    ck_assert_float_eq_tol(driver.out[0][i], 0.8F, 0.004F);
  }
}

TEST(a_node_stays_while_a_delay_line_behind_it_sounds)
{
  static const char* const text = "(l: limiter 0dB lookahead=20ms) + g: gain";
  for (uint32_t n_between = 10; n_between < 24U; ++n_between) {
    SCOPED(driver_free) TestDriver driver = driver_new(text, 1, 1, 1, false, 400U * BLOCK);
    SCOPED_RACK Rack* rack = rack_of(text, NULL);
    signal_sine(driver.in[0], driver.n_frames, 100.0, RATE, 0.4, 0.0);
    driver_play(&driver, 100);
    must_edit(&driver, &rack, "g: gain"); // the delayed path from g ends
    must_edit(&driver, &rack, "");        // g ends
    driver_play(&driver, n_between);
    must_edit(&driver, &rack, ""); // ended nodes are no longer played
    driver_play(&driver, 100);
    const double steady = max_second_difference(driver.out[0] + 50U * BLOCK, 40U * BLOCK);
    const double largest = max_second_difference(driver.out[0] + 50U * BLOCK, 150U * BLOCK);
    ck_assert_msg(largest <= 2.0 * steady, "%u blocks between: %g, steady %g", n_between, largest,
                  steady);
  }
}

/// Remove a reverb, and some blocks later reverse the chain beside it: the tail fades out.
static void
check_tail_of_reversed(const uint32_t n_between)
{
  static const char* const ringing = "(a: gain | b: gain -1dB) + r: reverb decay=4s mix=1";
  SCOPED(driver_free) TestDriver driver = driver_new(ringing, 2, 2, 1, false, 1000U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of(ringing, NULL);
  for (uint32_t c = 0; c < 2U; ++c) {
    signal_sine(driver.in[c], driver.n_frames, 200.0, RATE, 0.4, 0.0);
  }
  EngineStatus status;
  driver_play(&driver, 400);
  must_edit(&driver, &rack, "a: gain | b: gain -1dB");
  driver_play(&driver, n_between);
  engine_status(driver.engine, &status);
  ck_assert_uint_eq(status.n_units, 5); // the reverb rings on
  must_edit(&driver, &rack, "b: gain -1dB | a: gain");
  driver_play(&driver, 100U - n_between);
  engine_status(driver.engine, &status);
  ck_assert_uint_eq(status.n_units, 4);
  const double steady = max_second_difference(driver.out[0] + 480U * BLOCK, 20U * BLOCK);
  const double largest = max_second_difference(driver.out[0] + 300U * BLOCK, 200U * BLOCK);
  ck_assert_msg(largest <= 1.7 * steady, "%u blocks between: %g, steady %g", n_between, largest,
                steady);
}

TEST(tails_of_removed_nodes_end_without_a_click_when_a_chain_is_reversed)
{
  static const uint32_t n_between[] = { 0, 2, 6, 40 }; // a fade has 7.5
  for (uint32_t i = 0; i < ARRAY_LEN(n_between); ++i) {
    check_tail_of_reversed(n_between[i]);
  }
}

TEST(a_reversed_chain_is_silent_for_less_than_twice_its_latency)
{
  static const char* const racks[] = {
    "a: limiter 0dB lookahead=20ms | b: limiter 0dB lookahead=20ms",
    "b: limiter 0dB lookahead=20ms | a: limiter 0dB lookahead=20ms",
  };
  const uint32_t latency_frames = (uint32_t)(0.04 * RATE);
  SCOPED(driver_free) TestDriver driver = driver_new(racks[0], 1, 1, 1, false, 1000U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of(racks[0], NULL);
  fill(driver.in[0], driver.n_frames, 0.3F);
  driver_play(&driver, 100);
  const size_t begin = driver.position;
  must_edit(&driver, &rack, racks[1]);
  driver_play(&driver, 150);
  uint32_t n_silent = 0;
  for (size_t i = begin; i < driver.position; ++i) {
    n_silent += driver.out[0][i] < 0.003F;
  }
  ck_assert_uint_gt(n_silent, latency_frames);
  ck_assert_uint_lt(n_silent, 2U * latency_frames);
  ck_assert_float_eq_tol(driver.out[0][driver.position - 1U], 0.3F, 1e-6F);
}

TEST(a_storm_of_removals_does_not_pile_up_tails)
{
  static const char* const racks[] = { "r: reverb decay=10s size=0.3",
                                       "r: reverb decay=10s size=0.4" };
  SCOPED(driver_free) TestDriver driver = driver_new(racks[0], 1, 1, 1, false, 40000U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of(racks[0], NULL);
  signal_noise(driver.in[0], driver.n_frames, 9);
  driver_play(&driver, 10);
  EngineStatus status;
  uint32_t most = 0;
  for (uint32_t e = 1; e <= 200U; ++e) {
    must_edit(&driver, &rack, racks[e % 2U]);
    engine_status(driver.engine, &status);
    most = status.n_units > most ? status.n_units : most;
  }
  ck_assert_uint_gt(most, 50);
  ck_assert_uint_le(most, 2U * TAIL_LIMIT_NODES);
}

TEST(late_messages_keep_their_order)
{
  SCOPED(driver_free) TestDriver driver = driver_new("g: gain 0dB", 1, 1, 1, false, 200U * BLOCK);
  SCOPED_RACK Rack* const rack = rack_of("g: gain 0dB", NULL);
  fill(driver.in[0], driver.n_frames, 1.0F);
  driver_play(&driver, 50);
  const ParamMessage first = { .frame = 1000, .uid = rack->nodes[0].uid, .value = -40.0 };
  const ParamMessage second = { .uid = rack->nodes[0].uid, .value = -20.0 };
  ck_assert_int_eq(engine_set(driver.engine, &first, 1), STATUS_OK); // long past
  ck_assert_int_eq(engine_set(driver.engine, &second, 1), STATUS_OK);
  driver_play(&driver, 50);
  ck_assert_double_eq_tol(driver.out[0][driver.position - 1U], 0.1, 1e-6);
}

TEST(frames_continue_when_audio_returns)
{
  SCOPED(driver_free) TestDriver driver = driver_new("", 1, 1, 1, false, 200U * BLOCK);
  driver_play(&driver, 100);
  for (uint32_t i = 0; i < 3U; ++i) { // a server that returns and ends again before it plays
    OK(engine_arm(driver.engine, RATE, BLOCK, 1, 1, &error));
    ck_assert_uint_eq(engine_frame_now(driver.engine), 100U * BLOCK);
    const uint64_t soon = engine_frame_at(driver.engine, time_now_ns());
    ck_assert_uint_ge(soon, 100U * BLOCK);
    ck_assert_uint_lt(soon, 100U * BLOCK + 10U * (uint64_t)RATE);
  }
  driver_play(&driver, 1);
  ck_assert_uint_eq(engine_frame_now(driver.engine), 101U * BLOCK);
}

TEST(an_edit_for_later_waits_between_long_periods)
{
  SCOPED(driver_free)
  TestDriver driver = driver_new("g: gain 0dB", 1, 1, 1, false, 10U * FX_MAX_BLOCK);
  SCOPED_RACK Rack* const rack = rack_of("g: gain -20dB", NULL);
  OK(engine_arm(driver.engine, 8000.0, FX_MAX_BLOCK, 1, 1, &error));
  fill(driver.in[0], driver.n_frames, 1.0F);
  driver.block = FX_MAX_BLOCK;
  driver_play(&driver, 1);
  const uint64_t at = engine_frame_now(driver.engine) + 2U * FX_MAX_BLOCK;
  ck_assert_int_eq(engine_edit(driver.engine, rack, at, NULL, NULL), STATUS_OK);
  driver_await_builder(&driver, at);
  usleep(500000); // half a period of running audio
  driver_play(&driver, 4);
  ck_assert_float_eq(driver.out[0][4U * FX_MAX_BLOCK - 1U], 1.0F);
  ck_assert_double_eq_tol(driver.out[0][5U * FX_MAX_BLOCK - 1U], 0.1, 1e-6);
}

TEST(too_much_latency_is_refused_at_any_rate)
{
  static const char* const text = "f: fir lowpass 100 taps=65535";
  SCOPED(driver_free)
  TestDriver driver = driver_new(text, 1, 1, 1, false, 10U * BLOCK); // 0.7 s at 48 kHz
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(engine_arm(driver.engine, 8000.0, BLOCK, 1, 1, &error), STATUS_LIMIT);
  assert_says(error.text, "latency");
  ck_assert_int_eq(engine_arm(driver.engine, RATE, BLOCK, 1, 1, &error), STATUS_OK);
}

/// Load a short impulse response; `context` counts down the loads that succeed.
static Status
load_some(void* const context, const char* const name, const double rate_hz, FxFile** const file,
          Error* const error)
{
  static const float impulse[4] = { 1.0F };
  static FxFile loaded = { .n_channels = 1, .n_frames = 4, .samples = impulse, .is_audio = true };
  uint32_t* const n_good = context;
  (void)rate_hz;
  if (*n_good == 0U) {
    return error_set(error, STATUS_FILE, "%s is gone", name);
  }
  --*n_good;
  loaded.name = "x";
  *file = &loaded;
  return STATUS_OK;
}

TEST(an_edit_that_fails_in_its_second_step_changes_nothing)
{
  static const char* const text = "a: gain | b: gain -6dB";
  uint32_t n_good = 1;
  const EngineConfig config = {
    .n_in = 2, .n_out = 2, .depth = 1, .files = { .load = load_some, .context = &n_good }
  };
  SCOPED(driver_free) TestDriver driver = driver_from(&config, text, 400U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of(text, NULL);
  fill(driver.in[0], driver.n_frames, 1.0F);
  driver_play(&driver, 10);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(driver_edit(&driver, &rack, "b: gain -6dB | a: gain | c: convolver x", &error),
                   STATUS_FILE);
  assert_says(error.text, "is gone");
  driver_play(&driver, 40);
  ck_assert_double_eq_tol(driver.out[0][driver.position - 1U], 0.5011872, 1e-6);
}

SUITE_MAIN("engine_edges")
