// SPDX-License-Identifier: GPL-3.0-or-later
// What edits must not do to the sound when they come at a bad moment: in the middle of other edits,
// between paths of different latency, to chains that are turned around, while tails ring.

#include "support/player.h"
#include "support/signals.h"
#include "support/suite.h"

#include "../engine/plan.h"
#include "../engine/rt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RATE  PLAYER_RATE_HZ
#define BLOCK PLAYER_BLOCK

static void
must_edit(Player* const player, Rack** const rack, const char* const text)
{
  Error error = { STATUS_OK, "" };
  ck_assert_msg(player_edit(player, rack, text, &error) == STATUS_OK, "%s: %s", text, error.text);
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

START_TEST(the_gain_of_a_connection_comes_back)
{
  Player player =
      player_new("add g gain\nconnect in g\nconnect g out", 1, 1, 1, false, 400U * BLOCK);
  Rack* rack = player_rack("add g gain\nconnect in g\nconnect g out");
  fill(player.in[0], player.n_frames, 1.0F);
  player_play(&player, 10);
  static const struct {
    const char* text;
    double level;
  } steps[] = { { "add g gain\nconnect in g\nconnect g out gain=-20dB", 0.1 },
                { "add g gain\nconnect in g\nconnect g out", 1.0 },
                { "add g gain\nconnect in g\nconnect g out gain=-20dB", 0.1 },
                { "add g gain\nconnect in g gain=-20dB\nconnect g out gain=-20dB", 0.01 },
                { "add g gain\nconnect in g\nconnect g out", 1.0 } };
  for (uint32_t s = 0; s < ARRAY_LEN(steps); ++s) {
    must_edit(&player, &rack, steps[s].text);
    player_play(&player, 30);
    ck_assert_double_eq_tol(player.out[0][player.position - 1U], steps[s].level, 1e-6);
  }
  rack_free(rack);
  player_free(&player);
}
END_TEST

START_TEST(connections_that_come_to_the_same_stay_two)
{
  const char* const text = "add g gain\nconnect in g\nconnect in:1 g gain=-20dB\nconnect g out";
  Player player = player_new(text, 1, 1, 1, false, 400U * BLOCK);
  Rack* rack = player_rack(text);
  fill(player.in[0], player.n_frames, 0.5F);
  player_play(&player, 10);
  for (uint32_t s = 0; s < 3U; ++s) {
    must_edit(&player, &rack, text);
    player_play(&player, 30);
    ck_assert_double_eq_tol(player.out[0][player.position - 1U], 0.5 * 1.1, 1e-6);
  }
  rack_free(rack);
  player_free(&player);
}
END_TEST

/// Edit from one to the other and back while a sine plays: no click, and never louder than before
/// and after by more than `largest_peak`.
static void
check_cross_fades(const char* const a, const char* const b, const uint32_t n_channels,
                  const double largest_peak)
{
  static const double frequencies[] = { 100.0, 1000.0 };
  for (uint32_t f = 0; f < ARRAY_LEN(frequencies); ++f) {
    Player player = player_new(a, n_channels, n_channels, 1, false, 3000U * BLOCK);
    Rack* rack = player_rack(a);
    for (uint32_t c = 0; c < n_channels; ++c) {
      signal_sine(player.in[c], player.n_frames, frequencies[f], RATE, 0.4, 0.0);
    }
    player_play(&player, 400);
    for (uint32_t e = 0; e < 4U; ++e) {
      const char* const text = e % 2U ? a : b;
      const size_t begin = player.position;
      must_edit(&player, &rack, text);
      player_play(&player, 500);
      const size_t n = 50U * BLOCK;
      const float* const out = player.out[0] + begin - n;
      const size_t n_all = player.position - begin + n;
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
    rack_free(rack);
    player_free(&player);
  }
}

START_TEST(changes_of_latency_cross_fade_in_step)
{
  // The chains delay by whole periods of both sines, so that what is in step adds up.
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
END_TEST

START_TEST(chains_turn_around_without_a_click)
{
  check_cross_fades("a: gain -1dB | b: gain -2dB", "b: gain -2dB | a: gain -1dB", 2, 1.001);
  check_cross_fades("r: reverb mix=0.3 | g: gain -6dB", "g: gain -6dB | r: reverb mix=0.3", 2, 1.6);
  check_cross_fades("r: reverb size=0.3 mix=0.3 | g: gain -6dB",
                    "g: gain -6dB | r: reverb size=0.6 mix=0.3", 2, 1.6);
}
END_TEST

START_TEST(edits_while_others_wait_do_not_hurry_them)
{
  static const char* const before = "(l: limiter 0dB lookahead=10ms) + g: gain";
  static const char* const after = "(l: limiter 0dB lookahead=20ms) + g: gain";
  for (uint32_t n_between = 1; n_between < 40U; n_between += 3U) {
    Player player = player_new(before, 1, 1, 1, false, 400U * BLOCK);
    Rack* rack = player_rack(before);
    signal_sine(player.in[0], player.n_frames, 100.0, RATE, 0.4, 0.0);
    player_play(&player, 100);
    must_edit(&player, &rack, after);
    player_play(&player, n_between);
    must_edit(&player, &rack, after);
    player_play(&player, 2);
    must_edit(&player, &rack,
              "add l limiter 0dB lookahead=20ms\nadd g gain\nconnect in l\nconnect in g\n"
              "connect l out\nconnect g out gain=-1dB");
    player_play(&player, 150);
    const double steady = max_second_difference(player.out[0] + 50U * BLOCK, 40U * BLOCK);
    const double largest = max_second_difference(player.out[0] + 50U * BLOCK, 200U * BLOCK);
    ck_assert_msg(largest <= 1.5 * steady, "%u blocks between: %g, steady %g", n_between, largest,
                  steady);
    rack_free(rack);
    player_free(&player);
  }
}
END_TEST

START_TEST(a_connection_that_is_replaced_while_it_fades_does_not_click)
{
  // At each edit the latency grows, so that what just fades in has to wait for its successor.  So
  // close to each other, such edits may be louder for a moment, but that comes and goes smoothly.
  static const char* const racks[] = { "g: gain", "g: gain | l: limiter 0dB lookahead=3ms",
                                       "g: gain | l: limiter 0dB lookahead=9ms",
                                       "g: gain | l: limiter 0dB lookahead=19ms", "h: gain" };
  for (uint32_t n_between = 1; n_between < 12U; ++n_between) {
    Player player = player_new(racks[0], 1, 1, 1, false, 1000U * BLOCK);
    Rack* rack = player_rack(racks[0]);
    signal_sine(player.in[0], player.n_frames, 100.0, RATE, 0.4, 0.0);
    player_play(&player, 100);
    for (uint32_t r = 1; r < 2U * ARRAY_LEN(racks); ++r) {
      must_edit(&player, &rack, racks[r % ARRAY_LEN(racks)]);
      player_play(&player, n_between);
    }
    player_play(&player, 100);
    const float* const out = player.out[0] + 50U * BLOCK;
    const size_t n = player.position - 50U * BLOCK;
    const double steady = max_second_difference(out, 40U * BLOCK);
    const double largest = max_second_difference(out, n);
    // A corner in the middle of one fade alone would be 18 times as much as the sine's.
    ck_assert_msg(largest <= 4.0 * steady, "%u blocks between: %g, steady %g", n_between, largest,
                  steady);
    rack_free(rack);
    player_free(&player);
  }
}
END_TEST

START_TEST(a_node_stays_while_a_delay_line_behind_it_sounds)
{
  static const char* const text = "(l: limiter 0dB lookahead=20ms) + g: gain";
  for (uint32_t n_between = 10; n_between < 24U; ++n_between) {
    Player player = player_new(text, 1, 1, 1, false, 400U * BLOCK);
    Rack* rack = player_rack(text);
    signal_sine(player.in[0], player.n_frames, 100.0, RATE, 0.4, 0.0);
    player_play(&player, 100);
    must_edit(&player, &rack, "g: gain"); // the late way from g dies
    must_edit(&player, &rack, "");        // and g
    player_play(&player, n_between);
    must_edit(&player, &rack, ""); // what has died is left out
    player_play(&player, 100);
    const double steady = max_second_difference(player.out[0] + 50U * BLOCK, 40U * BLOCK);
    const double largest = max_second_difference(player.out[0] + 50U * BLOCK, 150U * BLOCK);
    ck_assert_msg(largest <= 2.0 * steady, "%u blocks between: %g, steady %g", n_between, largest,
                  steady);
    rack_free(rack);
    player_free(&player);
  }
}
END_TEST

START_TEST(tails_of_what_was_removed_end_without_a_click_when_a_chain_turns)
{
  static const char* const ringing = "(a: gain | b: gain -1dB) + r: reverb decay=4s mix=1";
  Player player = player_new(ringing, 2, 2, 1, false, 1000U * BLOCK);
  Rack* rack = player_rack(ringing);
  for (uint32_t c = 0; c < 2U; ++c) {
    signal_sine(player.in[c], player.n_frames, 200.0, RATE, 0.4, 0.0);
  }
  EngineStatus status;
  player_play(&player, 400);
  must_edit(&player, &rack, "a: gain | b: gain -1dB");
  player_play(&player, 40);
  engine_status(player.engine, &status);
  ck_assert_uint_eq(status.n_units, 5); // the reverb plays on
  must_edit(&player, &rack, "b: gain -1dB | a: gain");
  player_play(&player, 60);
  engine_status(player.engine, &status);
  ck_assert_uint_eq(status.n_units, 4);
  const double steady = max_second_difference(player.out[0] + 480U * BLOCK, 20U * BLOCK);
  const double largest = max_second_difference(player.out[0] + 300U * BLOCK, 200U * BLOCK);
  ck_assert_msg(largest <= 1.5 * steady, "%g, steady %g", largest, steady);
  rack_free(rack);
  player_free(&player);
}
END_TEST

START_TEST(a_storm_of_removals_does_not_pile_up_tails)
{
  static const char* const racks[] = { "r: reverb decay=10s size=0.3",
                                       "r: reverb decay=10s size=0.4" };
  Player player = player_new(racks[0], 1, 1, 1, false, 40000U * BLOCK);
  Rack* rack = player_rack(racks[0]);
  signal_noise(player.in[0], player.n_frames, 9);
  player_play(&player, 10);
  EngineStatus status;
  uint32_t most = 0;
  for (uint32_t e = 1; e <= 200U; ++e) {
    must_edit(&player, &rack, racks[e % 2U]);
    engine_status(player.engine, &status);
    most = status.n_units > most ? status.n_units : most;
  }
  ck_assert_uint_gt(most, 50);
  ck_assert_uint_le(most, 2U * TAIL_LIMIT_NODES);
  rack_free(rack);
  player_free(&player);
}
END_TEST

START_TEST(late_messages_keep_their_order)
{
  Player player = player_new("g: gain 0dB", 1, 1, 1, false, 200U * BLOCK);
  Rack* const rack = player_rack("g: gain 0dB");
  fill(player.in[0], player.n_frames, 1.0F);
  player_play(&player, 50);
  const EngineParam first = { rack->nodes[0].uid, 0, -40.0 };
  const EngineParam second = { rack->nodes[0].uid, 0, -20.0 };
  ck_assert_int_eq(engine_set(player.engine, &first, 1, 1000), STATUS_OK); // long past
  ck_assert_int_eq(engine_set(player.engine, &second, 1, 0), STATUS_OK);
  player_play(&player, 50);
  ck_assert_double_eq_tol(player.out[0][player.position - 1U], 0.1, 1e-6);
  rack_free(rack);
  player_free(&player);
}
END_TEST

START_TEST(frames_go_on_when_audio_comes_back)
{
  Player player = player_new("", 1, 1, 1, false, 200U * BLOCK);
  player_play(&player, 100);
  Error error = { STATUS_OK, "" };
  for (uint32_t i = 0; i < 3U; ++i) { // a server that is back and gone again before it plays
    ck_assert_int_eq(engine_arm(player.engine, RATE, BLOCK, 1, 1, &error), STATUS_OK);
    ck_assert_uint_eq(engine_frame_now(player.engine), 100U * BLOCK);
    const uint64_t soon = engine_frame_at(player.engine, rt_now_ns());
    ck_assert_uint_ge(soon, 100U * BLOCK);
    ck_assert_uint_lt(soon, 100U * BLOCK + 10U * (uint64_t)RATE);
  }
  player_play(&player, 1);
  ck_assert_uint_eq(engine_frame_now(player.engine), 101U * BLOCK);
  player_free(&player);
}
END_TEST

START_TEST(an_edit_for_later_waits_between_long_periods)
{
  Player player = player_new("g: gain 0dB", 1, 1, 1, false, 10U * FX_MAX_BLOCK);
  Rack* const rack = player_rack("g: gain -20dB");
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(engine_arm(player.engine, 8000.0, FX_MAX_BLOCK, 1, 1, &error), STATUS_OK);
  fill(player.in[0], player.n_frames, 1.0F);
  player.block = FX_MAX_BLOCK;
  player_play(&player, 1);
  const uint64_t at = engine_frame_now(player.engine) + 2U * FX_MAX_BLOCK;
  ck_assert_int_eq(engine_edit(player.engine, rack, at, NULL, NULL), STATUS_OK);
  usleep(500000); // half a period of audio that runs
  player_play(&player, 4);
  ck_assert_float_eq(player.out[0][4U * FX_MAX_BLOCK - 1U], 1.0F);
  ck_assert_double_eq_tol(player.out[0][5U * FX_MAX_BLOCK - 1U], 0.1, 1e-6);
  rack_free(rack);
  player_free(&player);
}
END_TEST

START_TEST(too_much_latency_is_refused_at_any_rate)
{
  static const char* const text = "f: fir lowpass 100 taps=65535";
  Player player = player_new(text, 1, 1, 1, false, 10U * BLOCK); // 0.7 s at 48 kHz
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(engine_arm(player.engine, 8000.0, BLOCK, 1, 1, &error), STATUS_LIMIT);
  ck_assert_msg(strstr(error.text, "latency"), "%s", error.text);
  ck_assert_int_eq(engine_arm(player.engine, RATE, BLOCK, 1, 1, &error), STATUS_OK);
  player_free(&player);
}
END_TEST

/// Loads a short impulse response, as often as `context` says.
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

static void
unload(void* const context, FxFile* const file)
{
  (void)context;
  (void)file;
}

START_TEST(what_fails_in_the_second_of_two_steps_changes_nothing)
{
  static const char* const text = "a: gain | b: gain -6dB";
  uint32_t n_good = 1;
  const EngineConfig config = { .n_in = 2,
                                .n_out = 2,
                                .depth = 1,
                                .load_file = load_some,
                                .free_file = unload,
                                .file_context = &n_good };
  Player player = player_from(&config, text, 400U * BLOCK);
  Rack* rack = player_rack(text);
  fill(player.in[0], player.n_frames, 1.0F);
  player_play(&player, 10);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(player_edit(&player, &rack, "b: gain -6dB | a: gain | c: convolver x", &error),
                   STATUS_FILE);
  ck_assert_msg(strstr(error.text, "is gone"), "%s", error.text);
  player_play(&player, 40);
  ck_assert_double_eq_tol(player.out[0][player.position - 1U], 0.5011872, 1e-6);
  rack_free(rack);
  player_free(&player);
}
END_TEST

SUITE_MAIN("engine_edges", the_gain_of_a_connection_comes_back,
           connections_that_come_to_the_same_stay_two, changes_of_latency_cross_fade_in_step,
           chains_turn_around_without_a_click, edits_while_others_wait_do_not_hurry_them,
           a_connection_that_is_replaced_while_it_fades_does_not_click,
           a_node_stays_while_a_delay_line_behind_it_sounds,
           tails_of_what_was_removed_end_without_a_click_when_a_chain_turns,
           a_storm_of_removals_does_not_pile_up_tails, late_messages_keep_their_order,
           frames_go_on_when_audio_comes_back, an_edit_for_later_waits_between_long_periods,
           too_much_latency_is_refused_at_any_rate,
           what_fails_in_the_second_of_two_steps_changes_nothing)
