// SPDX-License-Identifier: GPL-3.0-or-later
// The engine plays racks exactly and at the reported latency; edits, parameter changes and
// removals during play take effect at their frame and without a click.  The test is the audio
// driver, on simulated time.

#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RATE  DRIVER_RATE_HZ
#define BLOCK DRIVER_BLOCK

TEST(the_empty_rack_passes_everything_through_exactly)
{
  for (uint32_t depth = 0; depth <= 2U; ++depth) {
    SCOPED(driver_free) TestDriver driver = driver_new("", 2, 2, depth, false, 100U * BLOCK);
    signal_noise(driver.in[0], driver.n_frames, 1);
    signal_noise(driver.in[1], driver.n_frames, 2);
    driver_play(&driver, 100);
    const uint32_t latency = engine_latency(driver.engine);
    ck_assert_uint_eq(latency, depth * BLOCK);
    for (uint32_t c = 0; c < 2U; ++c) {
      ck_assert(!memcmp(driver.out[c] + latency, driver.in[c],
                        (driver.n_frames - latency) * sizeof(float)));
    }
  }
}

TEST(live_and_offline_give_the_same_samples)
{
  const char* const rack = "gain -3dB | (gain -6dB + gain -12dB) | gain 2dB";
  SCOPED(driver_free) TestDriver live = driver_new(rack, 1, 1, 1, false, 200U * BLOCK);
  SCOPED(driver_free) TestDriver offline = driver_new(rack, 1, 1, 0, true, 200U * BLOCK);
  signal_noise(live.in[0], live.n_frames, 3);
  signal_noise(offline.in[0], offline.n_frames, 3);
  driver_play(&live, 200);
  driver_play(&offline, 200);
  ck_assert(!memcmp(live.out[0] + BLOCK, offline.out[0], (live.n_frames - BLOCK) * sizeof(float)));
  const double gain = pow(10.0, -3.0 / 20.0) * (pow(10.0, -6.0 / 20.0) + pow(10.0, -12.0 / 20.0)) *
                      pow(10.0, 2.0 / 20.0);
  for (size_t i = 0; i < live.n_frames; ++i) {
    ck_assert_double_eq_tol(offline.out[0][i], gain * (double)offline.in[0][i], 1e-6);
  }
}

TEST(offline_with_depth_1_the_output_starts_with_silence)
{
  // As many channels as the rack has.
  const EngineConfig config = { .n_in = 1, .depth = 1, .offline = true };
  SCOPED(driver_free) TestDriver driver = driver_from(&config, "gain 0dB", 3U * BLOCK);
  signal_noise(driver.in[0], driver.n_frames, 8);
  memset(driver.out[0], 0xFF, driver.n_frames * sizeof(float)); // NaN
  driver_play(&driver, 3);
  for (uint32_t i = 0; i < BLOCK; ++i) {
    ck_assert(driver.out[0][i] == 0.0F);
  }
  ck_assert(!memcmp(driver.out[0] + BLOCK, driver.in[0], 2U * BLOCK * sizeof(float)));
}

TEST(a_parameter_changes_at_its_frame)
{
  SCOPED(driver_free) TestDriver driver = driver_new("g: gain 0dB", 1, 1, 1, false, 400U * BLOCK);
  SCOPED_RACK Rack* const rack = rack_of("g: gain 0dB", NULL);
  for (size_t i = 0; i < driver.n_frames; ++i) {
    driver.in[0][i] = 1.0F;
  }
  driver_play(&driver, 10);
  const uint64_t at = engine_frame_now(driver.engine) + 5U * BLOCK + 17U;
  const ParamMessage change = { .frame = at, .uid = rack->nodes[0].uid, .value = -120.0 };
  ck_assert_int_eq(engine_set(driver.engine, &change, 1), STATUS_OK);
  driver_play(&driver, 100);
  ck_assert(driver.out[0][at + BLOCK - 1U] == 1.0F);
  ck_assert(driver.out[0][at + BLOCK] < 1.0F);
  ck_assert(driver.out[0][at + BLOCK + 2000U] == 0.0F);
}

TEST(edits_do_not_click)
{
  static const char* const racks[] = {
    "g: gain 0dB",
    "g: gain 0dB | h: gain -12dB",
    "g: gain 0dB",
    "h: gain 0dB",
    "",
    "a: gain -6dB + b: gain -6dB",
    "b: gain -6dB + a: gain -6dB",
    "a: gain 0dB | b: gain -3dB",
    "b: gain 0dB | a: gain -3dB",
    "add a gain\nconnect in a\nconnect a out gain=-20dB",
    "add a gain\nconnect in a\nconnect a out",
    "add a gain -6dB\nconnect in a",
    "a: gain -6dB",
  };
  static const double frequencies[] = { 200.0, 440.0, 3000.0 };
  for (uint32_t f = 0; f < ARRAY_LEN(frequencies); ++f) {
    SCOPED(driver_free)
    TestDriver driver = driver_new(racks[0], 1, 1, 1, false, 400U * BLOCK * ARRAY_LEN(racks));
    SCOPED_RACK Rack* rack = rack_of(racks[0], NULL);
    signal_sine(driver.in[0], driver.n_frames, frequencies[f], RATE, 0.5, 0.0);
    driver_play(&driver, 100);
    char where[32];
    snprintf(where, sizeof(where), "%g Hz", frequencies[f]);
    for (uint32_t r = 1; r < ARRAY_LEN(racks); ++r) {
      driver_assert_smooth_edit(&driver, &rack, racks[r], where);
    }
  }
}

TEST(a_node_that_is_renamed_keeps_its_memory)
{
  static const char text[] = "d: delay 100ms mix=100% feedback=50% | r: reverb mix=50%";
  static const char* const edits[] = { "rename d echo", "rename r d\nrename echo r",
                                       "rename d x\nrename r d\nrename x r" };
  SCOPED(driver_free) TestDriver renamed = driver_new(text, 1, 1, 1, false, 400U * BLOCK);
  SCOPED(driver_free) TestDriver left_alone = driver_new(text, 1, 1, 1, false, 400U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of(text, NULL);
  signal_noise(renamed.in[0], 50U * BLOCK, 4);
  memcpy(left_alone.in[0], renamed.in[0], 50U * BLOCK * sizeof(float));
  for (uint32_t e = 0; e < ARRAY_LEN(edits); ++e) {
    driver_play(&renamed, 60);
    OK(driver_apply(&renamed, &rack, edits[e], &error));
  }
  driver_play(&renamed, 100);
  driver_play(&left_alone, renamed.position / BLOCK);
  ck_assert(left_alone.out[0][renamed.position - 1U] != 0.0F);
  ck_assert(!memcmp(renamed.out[0], left_alone.out[0], renamed.position * sizeof(float)));
}

TEST(a_removed_node_leaves_a_chain_that_sounds)
{
  SCOPED(driver_free)
  TestDriver driver = driver_new("g: gain -6dB | h: gain -6dB", 1, 1, 1, false, 200U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of("g: gain -6dB | h: gain -6dB", NULL);
  signal_noise(driver.in[0], driver.n_frames, 5);
  OK(driver_apply(&driver, &rack, "remove g", &error));
  driver_play(&driver, 50);
  for (size_t i = driver.position - BLOCK; i < driver.position; ++i) {
    ck_assert_double_eq_tol(driver.out[0][i], 0.5011872336 * (double)driver.in[0][i - BLOCK], 1e-6);
  }
}

TEST(a_refused_edit_changes_nothing)
{
  SCOPED(driver_free) TestDriver driver = driver_new("g: gain -6dB", 2, 2, 1, false, 100U * BLOCK);
  SCOPED_RACK Rack* rack = rack_of("g: gain -6dB", NULL);
  signal_noise(driver.in[0], driver.n_frames, 5);
  driver_play(&driver, 20);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(driver_edit(&driver, &rack, "connect in:3 out", &error), STATUS_BAD_RACK);
  assert_says(error.text, "in:3 does not exist");
  driver_play(&driver, 20);
  for (size_t i = BLOCK; i < driver.position; ++i) {
    ck_assert_double_eq_tol(driver.out[0][i], 0.5011872336 * (double)driver.in[0][i - BLOCK], 1e-6);
  }
  EngineStatus status;
  engine_status(driver.engine, &status);
  ck_assert_uint_eq(status.edits_refused, 1);
}

TEST(a_value_set_since_the_document_wins_over_it)
{
  SCOPED(driver_free) TestDriver driver = driver_new("g: gain 0dB", 1, 1, 1, false, 400U * BLOCK);
  SCOPED_RACK Rack* const rack = rack_of("g: gain 0dB", NULL);
  for (size_t i = 0; i < driver.n_frames; ++i) {
    driver.in[0][i] = 1.0F;
  }
  driver_play(&driver, 10);
  ck_assert_int_eq(set_number_by_name(rack, "g", "gain", -6.0, NULL), STATUS_OK);
  ck_assert_int_eq(engine_edit(driver.engine, rack, 100U * BLOCK, NULL, NULL), STATUS_OK);
  const ParamMessage newer = { .uid = rack->nodes[0].uid, .value = -20.0 };
  ck_assert_int_eq(engine_set(driver.engine, &newer, 1), STATUS_OK);
  driver_await_builder(&driver, 100U * BLOCK);
  driver_play(&driver, 80); // meanwhile the edit waits for its frame
  ck_assert_double_eq_tol(driver.out[0][driver.position - 1U], 0.1, 1e-6);
  driver_play(&driver, 100);
  ck_assert_double_eq_tol(driver.out[0][driver.position - 1U], 0.1, 1e-6);
  driver_await_reply(&driver);
  // A document newer than the message, with -6 dB.
  OK(engine_edit_wait(driver.engine, rack, &error));
  driver_play(&driver, 100);
  ck_assert_double_eq_tol(driver.out[0][driver.position - 1U], 0.5011872, 1e-6);
}

TEST(a_value_set_since_the_document_wins_in_a_node_that_is_made_anew)
{
  static const char narrow[] = "add g gain 0dB\nconnect in:1 g\nconnect g out:1\n";
  static const char wide[] = "add g gain -6dB\nconnect in g\nconnect g out\n"; // needs another node
  SCOPED(driver_free) TestDriver driver = driver_new(narrow, 2, 2, 1, false, 400U * BLOCK);
  SCOPED_RACK Rack* const before = rack_of(narrow, NULL);
  SCOPED_RACK Rack* const after = rack_of(wide, before);
  for (size_t i = 0; i < driver.n_frames; ++i) {
    driver.in[0][i] = 1.0F;
  }
  driver_play(&driver, 10);
  ck_assert_int_eq(engine_edit(driver.engine, after, 100U * BLOCK, NULL, NULL), STATUS_OK);
  const ParamMessage newer = { .uid = after->nodes[0].uid, .value = -20.0 };
  ck_assert_int_eq(engine_set(driver.engine, &newer, 1), STATUS_OK);
  driver_await_builder(&driver, 100U * BLOCK);
  driver_play(&driver, 190);
  ck_assert_double_eq_tol(driver.out[0][driver.position - 1U], 0.1, 1e-6);

  driver_await_reply(&driver);
  OK(engine_edit_wait(driver.engine, before, &error)); // newer than the message
  driver_play(&driver, 100);
  ck_assert_double_eq_tol(driver.out[0][driver.position - 1U], 1.0, 1e-6);
}

TEST(a_new_format_keeps_the_rack_and_its_values)
{
  SCOPED(driver_free) TestDriver driver = driver_new("g: gain 0dB", 1, 1, 1, false, 400U * BLOCK);
  SCOPED_RACK Rack* const rack = rack_of("g: gain 0dB", NULL);
  for (size_t i = 0; i < driver.n_frames; ++i) {
    driver.in[0][i] = 1.0F;
  }
  driver_play(&driver, 10);
  const ParamMessage change = { .uid = rack->nodes[0].uid, .value = -20.0 };
  ck_assert_int_eq(engine_set(driver.engine, &change, 1), STATUS_OK);
  driver_play(&driver, 50);
  OK(engine_arm(driver.engine, 44100.0, 32, 1, 1, &error));
  driver.block = 32;
  driver_play(&driver, 10);
  ck_assert_double_eq_tol(driver.out[0][driver.position - 1U], 0.1, 1e-6);
  ck_assert_uint_eq(engine_latency(driver.engine), 32);
}

TEST(mono_feeds_all_channels_and_invalid_widths_are_refused)
{
  SCOPED(driver_free) TestDriver driver = driver_new("g: gain", 1, 2, 1, false, 100U * BLOCK);
  signal_noise(driver.in[0], driver.n_frames, 6);
  driver_play(&driver, 20);
  ck_assert(!memcmp(driver.out[0], driver.out[1], 20U * BLOCK * sizeof(float)));
  ck_assert(driver.out[0][19U * BLOCK] == driver.in[0][18U * BLOCK]);

  static const struct {
    const char* rack;
    const char* reason;
  } bad[] = {
    { "g: gain backend=gpu", "backend=gpu: " },
    { "add a gain\nconnect in a:3\nconnect a out", "a gives 3 channels" },
    { "add a gain\nconnect in a:1-2\nconnect a out:1",
      "a gives 2 channels and out:1 takes 1; pick some, as in connect a:1 out:1" },
    { "add a gain\nconnect in a\nconnect a:2 out", "a:2 does not exist" },
    { "connect in out:3", "out:3 does not exist: out has 2 channels" },
    { "chain g: gain\nlate out:3 dry", "late: out:3 does not exist: out has 2 channels" },
    { "chain g: gain\nlate dry\nlate out:2-5 silence", "late: out:5 does not exist" },
  };
  SCOPED_RACK Rack* rack = rack_of("g: gain", NULL);
  for (uint32_t i = 0; i < ARRAY_LEN(bad); ++i) {
    Error error = { STATUS_OK, "" };
    ck_assert_int_eq(driver_edit(&driver, &rack, bad[i].rack, &error),
                     i == 0U ? STATUS_NO_BACKEND : STATUS_BAD_RACK);
    assert_says(error.text, bad[i].reason);
    ck_assert_msg(!strstr(error.text, ":1-1"), "%s", error.text); // one channel is no range
  }
}

TEST(a_thousand_nodes_are_planned_and_dying_ones_left_out)
{
  size_t size = 0;
  SCOPED_MEMORY char* text = NULL;
  FILE* const stream = open_memstream(&text, &size);
  for (uint32_t n = 0; n < 1000U; ++n) {
    fprintf(stream, "%sg%u: gain", n ? " | " : "", n);
  }
  fclose(stream);
  SCOPED(driver_free) TestDriver driver = driver_new("", 1, 1, 1, false, 2000U * BLOCK);
  SCOPED_RACK Rack* rack = rack_new();
  signal_noise(driver.in[0], driver.n_frames, 7);
  driver_play(&driver, 10);
  OK(driver_edit(&driver, &rack, text, &error));
  driver_play(&driver, 100);
  EngineStatus status;
  engine_status(driver.engine, &status);
  ck_assert_uint_eq(status.n_ranks, 1000);
  const size_t last = driver.position - BLOCK;
  ck_assert(driver.out[0][last] == driver.in[0][last - BLOCK]);
  OK(driver_edit(&driver, &rack, "", &error));
  do { // the builder frees memory twenty times a second
    driver.position = 0;
    driver_play(&driver, 5);
    usleep(10000);
    engine_status(driver.engine, &status);
  } while (status.n_ranks);
  ck_assert_uint_eq(status.n_units, 0);
}

TEST(the_widest_rack_keeps_its_channels_apart)
{
  static float samples[2][FX_MAX_CHANNELS][BLOCK];
  const float* in[FX_MAX_CHANNELS];
  float* out[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < FX_MAX_CHANNELS; ++c) {
    in[c] = samples[0][c];
    out[c] = samples[1][c];
  }
  SCOPED_RACK Rack* const rack = rack_of("gain -6dB", NULL);
  const float gain = (float)pow(10.0, -6.0 / 20.0);
  for (uint32_t offline = 0; offline < 2U; ++offline) {
    const EngineConfig config = { .n_in = FX_MAX_CHANNELS,
                                  .n_out = FX_MAX_CHANNELS,
                                  .deadline_fraction = 0.75,
                                  .offline = offline };
    Error error = { STATUS_OK, "" };
    Engine* engine = NULL;
    ck_assert_int_eq(engine_new(&config, &engine, &error), STATUS_OK);
    ck_assert_int_eq(engine_edit_wait(engine, rack, &error), STATUS_OK);
    ck_assert_int_eq(engine_arm(engine, RATE, BLOCK, FX_MAX_CHANNELS + 1U, 1, &error),
                     STATUS_BAD_ARG);
    ck_assert_int_eq(engine_arm(engine, RATE, BLOCK, FX_MAX_CHANNELS, FX_MAX_CHANNELS, &error),
                     STATUS_OK);
    for (uint32_t c = 0; c < FX_MAX_CHANNELS; ++c) {
      signal_noise(samples[0][c], BLOCK, 1U + c);
    }
    engine_process(engine, in, out, BLOCK, true);
    for (uint32_t c = 0; c < FX_MAX_CHANNELS; ++c) {
      ck_assert_double_eq_tol(out[c][BLOCK - 1U], gain * in[c][BLOCK - 1U], 1e-6);
    }
    engine_free(engine);
  }
}

/// Run as a user without privileges, for the rest of this process.
static void
drop_privileges(void)
{
  const struct rlimit none = { 0, 0 };
  ck_assert_int_eq(setrlimit(RLIMIT_RTPRIO, &none), 0);
  ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &none), 0);
  ck_assert(geteuid() != 0 || setuid(65534) == 0);
}

TEST(each_privilege_that_real_time_lacks_is_noted)
{
  const EngineConfig config = { .n_in = 1, .n_out = 1, .realtime = true, .priority = 7 };
  Engine* engine = NULL;
  EngineStatus status;
  drop_privileges();
  OK(engine_new(&config, &engine, &error));
  engine_status(engine, &status);
  assert_says(status.realtime_note, "no real-time priority 7 (");
  assert_says(status.realtime_note, "memory is not locked: ");
  engine_free(engine);
}

static void
never_run(void* const context, const float* const* const in, float* const* const out,
          const uint32_t n_frames, const bool wait, MidiPeriod* const midi)
{
  (void)context;
  (void)in;
  (void)out;
  (void)n_frames;
  (void)wait;
  (void)midi;
  ck_abort_msg("a period was processed after its engine was freed");
}

// A thread of the driver may hang in a library until after the run, and then call the engine.
TEST(a_door_that_is_kept_outlives_its_engine_and_is_shut)
{
  TestDriver driver = driver_new("gain 0dB", 1, 1, 1, false, BLOCK);
  PeriodDoor* const door = engine_door(driver.engine);
  period_door_keep(door);
  driver_free(&driver);
  ck_assert_uint_eq(atomic_load(&door->shut), PERIOD_DOOR_ENGINE);
  float samples[BLOCK];
  memset(samples, 0x3F, sizeof(samples));
  float* const out[] = { samples };
  const PeriodCall call = { .out = out, .n_out = 1, .n_frames = BLOCK };
  period_door_pass(door, &call, never_run, NULL);
  ck_assert_double_eq(samples[BLOCK - 1U], 0.0);
}

SUITE_MAIN("engine")
