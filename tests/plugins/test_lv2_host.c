// SPDX-License-Identifier: GPL-3.0-or-later
// The host of LV2 plugins, on fixtures that report what they get.

#include "tests/support/plugins/lv2/lv2_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define GAIN       "urn:warprack:gain"
#define DUCKER     "urn:warprack:ducker"
#define LATENT     "urn:warprack:latent"
#define EARLY      "urn:warprack:early"
#define ECHO       "urn:warprack:echo"
#define PROPERTIES "urn:warprack:properties"
#define CLOCK      "urn:warprack:clock"
#define OPTIONAL   "urn:warprack:optional"
#define OPTIONS    "urn:warprack:options"
#define MEMORY     "urn:warprack:memory"
#define KEEPER     "urn:warprack:keeper"

static const InstanceCalls* calls;

static void
start(void)
{
  calls = lv2_rig_begin();
}

/// Rows of a run.
static float in[4][LV2_RIG_BLOCK];
static float out[2][LV2_RIG_BLOCK];

static void
run(Instance* const instance, const uint32_t n_frames)
{
  const float* const in_rows[] = { in[0], in[1], in[2], in[3] };
  float* const out_rows[] = { out[0], out[1] };
  calls->run(instance, in_rows, out_rows, n_frames);
}

static void
fill(float row[LV2_RIG_BLOCK], const float value)
{
  for (uint32_t i = 0; i < LV2_RIG_BLOCK; ++i) {
    row[i] = value;
  }
}

TEST(controls_begin_with_their_initial_values)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(MEMORY, false);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, MEMORY, "seen"), 1.0);
  ck_assert_double_eq(lv2_rig_get(instance, MEMORY, "hertz"), 0.25 * LV2_RIG_RATE_HZ);
}

TEST(a_value_is_there_in_the_next_run)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(GAIN, false);
  fill(in[0], 0.5F);
  lv2_rig_set(instance, GAIN, "gain", 20.0);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_float_eq_tol(out[0][LV2_RIG_BLOCK - 1U], 5.0F, 1e-6F);
  lv2_rig_set(instance, GAIN, "bypass", 1.0);
  fill(in[0], 0.5F); // the plugin has written to it
  run(instance, LV2_RIG_BLOCK);
  ck_assert_float_eq(out[0][0], 0.5F);
}

TEST(rows_may_move_from_run_to_run)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(GAIN, false);
  fill(in[0], 0.5F);
  fill(out[1], 0.0F);
  run(instance, LV2_RIG_BLOCK);
  float* const other[] = { out[1] };
  const float* const rows[] = { in[1] };
  fill(in[1], 0.25F);
  fill(out[0], 0.0F);
  calls->run(instance, rows, other, LV2_RIG_BLOCK);
  ck_assert_float_eq(out[1][3], 0.25F);
  ck_assert_float_eq(out[0][3], 0.0F);
}

TEST(a_run_writes_only_its_frames)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(GAIN, false);
  fill(in[0], 0.5F);
  fill(out[0], 7.0F);
  run(instance, 3U);
  ck_assert_float_eq(out[0][2], 0.5F);
  ck_assert_float_eq(out[0][3], 7.0F);
}

TEST(inputs_are_in_the_order_of_the_ports_with_side_chains)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(DUCKER, false);
  fill(in[0], 0.5F);
  fill(in[1], 0.25F);
  fill(in[2], 1.0F);
  fill(in[3], 0.25F);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_float_eq(out[0][0], 0.25F);
  ck_assert_float_eq(out[1][0], 0.5F);
}

TEST(the_latency_is_that_of_the_port)
{
  Instance* const instance = lv2_rig_open(LATENT, false);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_uint_eq(calls->latency(instance), 100);
  lv2_rig_set(instance, LATENT, "frames", 7.0);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_uint_eq(calls->latency(instance), 7);
  calls->close(instance);
  SCOPED(lv2_rig_close) Instance* const other = lv2_rig_open(GAIN, false);
  run(other, LV2_RIG_BLOCK);
  ck_assert_uint_eq(calls->latency(other), 0);
}

TEST(renewal_clears_the_state_and_keeps_the_values)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(MEMORY, false);
  lv2_rig_set(instance, MEMORY, "value", 3.0);
  fill(in[0], 1.0F);
  run(instance, LV2_RIG_BLOCK);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, MEMORY, "runs"), 2.0);
  OK(calls->renew(instance, &error));
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, MEMORY, "runs"), 1.0);
  ck_assert_double_eq(lv2_rig_get(instance, MEMORY, "seen"), 3.0);
  ck_assert_float_eq(out[0][0], 1.0F);
}

// ---- options and features ----

static const struct {
  bool offline;
  uint32_t n_frames;
  double min, fixed, power;
} option_rows[] = { { false, 64, 64, 1, 1 }, { false, 48, 48, 1, 0 }, { true, 64, 1, 0, 0 } };

TEST_ROWS(options_and_features_are_true, option_rows)
{
  const InstanceSetup setup = { .rate_hz = 44100.0,
                                .max_block_frames = option_rows[row].n_frames,
                                .offline = option_rows[row].offline };
  SCOPED(lv2_rig_close) Instance* instance = NULL;
  OK(calls->open(lv2_rig_find(OPTIONS), &setup, &instance, &error));
  run(instance, option_rows[row].n_frames);
  ck_assert_double_eq(lv2_rig_get(instance, OPTIONS, "min"), option_rows[row].min);
  ck_assert_double_eq(lv2_rig_get(instance, OPTIONS, "max"), option_rows[row].n_frames);
  ck_assert_double_eq(lv2_rig_get(instance, OPTIONS, "nominal"), option_rows[row].n_frames);
  ck_assert_double_ge(lv2_rig_get(instance, OPTIONS, "sequence"), 32768.0);
  ck_assert_double_eq(lv2_rig_get(instance, OPTIONS, "rate"), 44100.0);
  ck_assert_double_eq(lv2_rig_get(instance, OPTIONS, "fixed"), option_rows[row].fixed);
  ck_assert_double_eq(lv2_rig_get(instance, OPTIONS, "power"), option_rows[row].power);
  ck_assert_double_eq(lv2_rig_get(instance, OPTIONS, "folder"), 1.0);
}

// ---- ports for events and CV ----

TEST(optional_ports_are_connected_to_nothing)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(OPTIONAL, false);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, OPTIONAL, "connected"), 0.0);
}

TEST(cv_inputs_are_silent_in_every_run)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(OPTIONAL, false);
  run(instance, LV2_RIG_BLOCK);
  run(instance, LV2_RIG_BLOCK); // the plugin has written to its input
  ck_assert_double_eq(lv2_rig_get(instance, OPTIONAL, "level"), 0.0);
}

static const struct {
  const char* symbol;
  double value;
} property_rows[] = {
  { "float", 0.5 }, { "int", 3 }, { "long", 5 }, { "double", 0.125 }, { "bool", 1 }
};

TEST_ROWS(a_property_is_sent_once_with_its_type, property_rows)
{
  const double value = property_rows[row].value;
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(PROPERTIES, false);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "messages"), 0.0);
  lv2_rig_set(instance, PROPERTIES, property_rows[row].symbol, 0.0);
  lv2_rig_set(instance, PROPERTIES, property_rows[row].symbol, value);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "sum"), value);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "messages"), 1.0);
}

TEST(all_properties_go_into_one_run)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(PROPERTIES, false);
  for (size_t p = 0; p < ARRAY_LEN(property_rows); ++p) {
    lv2_rig_set(instance, PROPERTIES, property_rows[p].symbol, property_rows[p].value);
  }
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "sum"), 9.625);
  ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "messages"), 5.0);
}

TEST(a_property_is_not_sent_again_with_another)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(PROPERTIES, false);
  lv2_rig_set(instance, PROPERTIES, "int", 4.0);
  run(instance, LV2_RIG_BLOCK);
  lv2_rig_set(instance, PROPERTIES, "float", 0.5);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "messages"), 2.0);
  ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "others"), 1.0); // the position
}

TEST(renewal_sends_the_properties_again)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(PROPERTIES, false);
  lv2_rig_set(instance, PROPERTIES, "int", 4.0);
  run(instance, LV2_RIG_BLOCK);
  OK(calls->renew(instance, &error));
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "sum"), 4.0);
  ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "messages"), 1.0);
}

TEST(event_outputs_have_their_room_in_every_run)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(PROPERTIES, false);
  for (int i = 0; i < 3; ++i) {
    run(instance, LV2_RIG_BLOCK);
    ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "room"), 100000.0 - 8.0);
  }
}

TEST(the_position_is_sent_at_the_start_and_after_renewal)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(CLOCK, false);
  for (int i = 0; i < 2; ++i) {
    run(instance, LV2_RIG_BLOCK);
    run(instance, LV2_RIG_BLOCK);
    ck_assert_double_eq(lv2_rig_get(instance, CLOCK, "positions"), 1.0);
    ck_assert_double_eq(lv2_rig_get(instance, CLOCK, "tempo"), 120.0);
    ck_assert_double_eq(lv2_rig_get(instance, CLOCK, "speed"), 1.0);
    OK(calls->renew(instance, &error));
  }
}

TEST(a_new_tempo_is_sent_with_the_beat_that_the_clock_has_reached)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(CLOCK, false);
  const uint32_t tempo = lv2_rig_find(CLOCK)->n_ports;
  double frames = 0.0;
  double beats = 0.0;
  double bpm = 120.0;
  for (int i = 0; i < 5; ++i) {
    for (int r = 0; r < 300; ++r) {
      run(instance, LV2_RIG_BLOCK);
      frames += LV2_RIG_BLOCK;
      beats += LV2_RIG_BLOCK * bpm / (60.0 * LV2_RIG_RATE_HZ);
    }
    bpm = 60.0 + 40.0 * i;
    calls->set(instance, tempo, bpm, 0U);
    calls->set(instance, tempo, bpm, 0U); // again: no further message
    run(instance, LV2_RIG_BLOCK);
    ck_assert_double_eq(lv2_rig_get(instance, CLOCK, "positions"), 2.0 + i);
    ck_assert_double_eq(lv2_rig_get(instance, CLOCK, "tempo"), bpm);
    ck_assert_double_eq_tol(lv2_rig_get(instance, CLOCK, "beat"), beats, 1e-3);
    const double before = i ? 0.0 : lv2_rig_get(instance, CLOCK, "frame") - frames;
    frames += before; // of the blocks that open() has run
    ck_assert_double_eq(lv2_rig_get(instance, CLOCK, "frame"), frames);
    frames += LV2_RIG_BLOCK;
    beats += LV2_RIG_BLOCK * bpm / (60.0 * LV2_RIG_RATE_HZ);
  }
  OK(calls->renew(instance, &error));
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, CLOCK, "tempo"), bpm); // it stays
}

// ---- work ----

TEST(live_work_is_done_in_order_by_another_thread)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(ECHO, false);
  lv2_rig_set(instance, ECHO, "ask", 5.0);
  for (int i = 0; i < 20; ++i) {
    run(instance, LV2_RIG_BLOCK);
  }
  lv2_rig_set(instance, ECHO, "ask", 0.0);
  double runs = 20.0;
  AWAIT(
      (run(instance, LV2_RIG_BLOCK), runs += 1.0, lv2_rig_get(instance, ECHO, "answers") >= 100.0));
  ck_assert_double_eq(lv2_rig_get(instance, ECHO, "asked"), 100.0);
  ck_assert_double_eq(lv2_rig_get(instance, ECHO, "faults"), 0.0);
  ck_assert_double_eq(lv2_rig_get(instance, ECHO, "at_once"), 0.0);
  ck_assert_double_eq(lv2_rig_get(instance, ECHO, "ends"), runs - 1.0); // before this run's end
}

TEST(offline_work_is_done_in_the_same_run)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(ECHO, true);
  lv2_rig_set(instance, ECHO, "ask", 3.0);
  run(instance, LV2_RIG_BLOCK);
  run(instance, LV2_RIG_BLOCK);
  ck_assert_double_eq(lv2_rig_get(instance, ECHO, "at_once"), 6.0);
  ck_assert_double_eq(lv2_rig_get(instance, ECHO, "answers"), 3.0); // of the first run
  ck_assert_double_eq(lv2_rig_get(instance, ECHO, "faults"), 0.0);
}

TEST(messages_arrive_whole_at_the_end_of_the_ring)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(ECHO, true);
  lv2_rig_set(instance, ECHO, "ask", 500.0);
  for (int i = 0; i < 20; ++i) { // several times the size of the ring
    run(instance, LV2_RIG_BLOCK);
  }
  ck_assert_double_eq(lv2_rig_get(instance, ECHO, "answers"), 19.0 * 500.0);
  ck_assert_double_eq(lv2_rig_get(instance, ECHO, "faults"), 0.0);
}

TEST(requests_beyond_the_ring_are_refused_and_the_others_arrive)
{
  SCOPED(lv2_rig_close) Instance* const live = lv2_rig_open(ECHO, false);
  lv2_rig_set(live, ECHO, "slow", 1.0);
  lv2_rig_set(live, ECHO, "ask", 1000.0);
  for (int i = 0; i < 5; ++i) {
    run(live, LV2_RIG_BLOCK);
  }
  ck_assert_double_gt(lv2_rig_get(live, ECHO, "refused"), 0.0);
  lv2_rig_set(live, ECHO, "slow", 0.0);
  lv2_rig_set(live, ECHO, "ask", 0.0);
  AWAIT((run(live, LV2_RIG_BLOCK),
         lv2_rig_get(live, ECHO, "answers") >= lv2_rig_get(live, ECHO, "asked")));
  ck_assert_double_eq(lv2_rig_get(live, ECHO, "faults"), 0.0);
}

TEST(closing_waits_for_work_in_flight)
{
  for (int i = 0; i < 5; ++i) {
    Instance* const instance = lv2_rig_open(ECHO, false);
    lv2_rig_set(instance, ECHO, "slow", 1.0);
    lv2_rig_set(instance, ECHO, "ask", 3.0);
    run(instance, LV2_RIG_BLOCK);
    time_sleep((uint64_t)i * NS_PER_MS);
    calls->close(instance); // the fixture aborts if it is freed while it works
  }
}

TEST(renewal_forgets_all_requests_and_responses)
{
  for (int i = 0; i < 5; ++i) {
    SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(ECHO, false);
    lv2_rig_set(instance, ECHO, "slow", i % 2);
    lv2_rig_set(instance, ECHO, "ask", 5.0);
    run(instance, LV2_RIG_BLOCK);
    time_sleep((uint64_t)i * NS_PER_MS);
    OK(calls->renew(instance, &error));
    lv2_rig_set(instance, ECHO, "slow", 0.0);
    lv2_rig_set(instance, ECHO, "ask", 1.0);
    run(instance, LV2_RIG_BLOCK);
    lv2_rig_set(instance, ECHO, "ask", 0.0);
    AWAIT((run(instance, LV2_RIG_BLOCK), lv2_rig_get(instance, ECHO, "answers") >= 1.0));
    ck_assert_double_eq(lv2_rig_get(instance, ECHO, "answers"), 1.0);
    ck_assert_double_eq(lv2_rig_get(instance, ECHO, "faults"), 0.0); // the order is new
  }
}

TEST(every_instance_has_its_turn_to_work)
{
  SCOPED(lv2_rig_close) Instance* const slow = lv2_rig_open(ECHO, false);
  SCOPED(lv2_rig_close) Instance* const other = lv2_rig_open(ECHO, false);
  lv2_rig_set(slow, ECHO, "slow", 1.0);
  lv2_rig_set(slow, ECHO, "ask", 1000.0); // for 20 s
  run(slow, LV2_RIG_BLOCK);
  lv2_rig_set(slow, ECHO, "ask", 0.0);
  lv2_rig_set(other, ECHO, "ask", 1.0);
  run(other, LV2_RIG_BLOCK);
  lv2_rig_set(other, ECHO, "ask", 0.0);
  AWAIT((run(other, LV2_RIG_BLOCK), lv2_rig_get(other, ECHO, "answers") >= 1.0));
  run(slow, LV2_RIG_BLOCK);
  run(slow, LV2_RIG_BLOCK);
  ck_assert_double_lt(lv2_rig_get(slow, ECHO, "answers"), 1000.0);
}

static const bool ways[] = { false, true }; // live, offline

TEST_ROWS(work_that_instantiate_asks_for_is_done, ways)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(EARLY, ways[row]);
  for (int i = 0; i < 2; ++i) {
    AWAIT((run(instance, LV2_RIG_BLOCK), lv2_rig_get(instance, EARLY, "answers") >= 1.0));
    ck_assert_double_eq(lv2_rig_get(instance, EARLY, "asked"), 1.0);
    OK(calls->renew(instance, &error));
  }
}

TEST_ROWS(work_of_an_instance_that_was_not_made_is_not_done_for_the_next_one, ways)
{
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(EARLY, ways[row]);
  setenv("WARPRACK_TEST_REFUSE", "1", 1);
  Error refusal = { STATUS_OK, "" };
  ck_assert_int_eq(calls->renew(instance, &refusal), STATUS_LIMIT);
  unsetenv("WARPRACK_TEST_REFUSE");
  OK(calls->renew(instance, &error));
  AWAIT((run(instance, LV2_RIG_BLOCK), lv2_rig_get(instance, EARLY, "answers") >= 1.0));
  ck_assert_double_eq(lv2_rig_get(instance, EARLY, "answers"), 1.0);
  ck_assert_double_eq(lv2_rig_get(instance, EARLY, "faults"), 0.0);
}

TEST(work_that_does_not_end_delays_neither_others_nor_its_end_for_long)
{
  Instance* const stuck = lv2_rig_open(ECHO, false);
  SCOPED(lv2_rig_close) Instance* const other = lv2_rig_open(ECHO, false);
  lv2_rig_set(stuck, ECHO, "stuck", 1.0);
  lv2_rig_set(stuck, ECHO, "ask", 1.0);
  run(stuck, LV2_RIG_BLOCK);
  time_sleep(20U * NS_PER_MS);
  lv2_rig_set(other, ECHO, "ask", 1.0);
  run(other, LV2_RIG_BLOCK);
  lv2_rig_set(other, ECHO, "ask", 0.0);
  AWAIT((run(other, LV2_RIG_BLOCK), lv2_rig_get(other, ECHO, "answers") >= 1.0));
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(calls->renew(stuck, &error), STATUS_LIMIT);
  assert_says(error.text, "lv2 urn:warprack:echo: its work does not end");
  ck_assert_int_eq(calls->renew(stuck, &error), STATUS_LIMIT); // at once
  calls->close(stuck);                                         // leaves it as it is
}

// ---- refusals ----

static const struct {
  const char* id;
  const char* says;
} refusal_rows[] = {
  { "urn:warprack:refuser", "lv2 urn:warprack:refuser makes no instance at 48000 Hz" },
  { "urn:warprack:absent", "has no plugin urn:warprack:absent" },
};

TEST_ROWS(a_plugin_that_cannot_be_opened_is_refused_in_words, refusal_rows)
{
  const InstanceSetup setup = { .rate_hz = LV2_RIG_RATE_HZ, .max_block_frames = LV2_RIG_BLOCK };
  Instance* instance = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_ne(calls->open(lv2_rig_find(refusal_rows[row].id), &setup, &instance, &error),
                   STATUS_OK);
  assert_says(error.text, refusal_rows[row].says);
  ck_assert_ptr_null(instance);
}

TEST(a_missing_binary_is_refused_in_words)
{
  const InstanceSetup setup = { .rate_hz = LV2_RIG_RATE_HZ, .max_block_frames = LV2_RIG_BLOCK };
  Plugin plugin = *lv2_rig_find(GAIN);
  plugin.binary = "/nowhere/plugin.so";
  Instance* instance = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(calls->open(&plugin, &setup, &instance, &error), STATUS_FILE);
  assert_says(error.text, "/nowhere/plugin.so");
}

// ---- properties that are texts ----

static Status
set_text(Instance* const instance, const char* const symbol, const char* const text,
         Error* const error)
{
  const uint32_t port = lv2_rig_place(lv2_rig_find(PROPERTIES), symbol);
  return calls->set_text(instance, port, text, error);
}

TEST(texts_arrive_once_before_the_first_block_of_a_renewed_instance)
{
  for (int offline = 0; offline < 2; ++offline) {
    SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(PROPERTIES, offline);
    OK(set_text(instance, "path", "/tmp/a.wav", &error));
    OK(set_text(instance, "string", "abc", &error));
    for (int i = 0; i < 2; ++i) {
      OK(calls->renew(instance, &error));
      ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "texts"), 30010.0);
      run(instance, LV2_RIG_BLOCK);
      ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "texts"), 30010.0);
    }
  }
}

TEST(a_text_may_have_4095_bytes)
{
  static char text[4097];
  memset(text, 'a', 4096);
  SCOPED(lv2_rig_close) Instance* const instance = lv2_rig_open(PROPERTIES, false);
  Error fault;
  ck_assert_int_eq(set_text(instance, "path", text, &fault), STATUS_LIMIT);
  assert_says(fault.text, "a text has 4096 bytes; at most 4095");
  text[4095] = '\0';
  OK(set_text(instance, "path", text, &error));
  OK(set_text(instance, "string", text, &error));
  OK(calls->renew(instance, &error));
  ck_assert_double_eq(lv2_rig_get(instance, PROPERTIES, "texts"), 40954095.0 + 1.0);
}

// ---- states ----

static const PluginPreset*
preset_of(const Plugin* const plugin, const char* const name)
{
  for (uint32_t p = 0; p < plugin->n_presets; ++p) {
    if (!strcmp(plugin->presets[p].name, name)) {
      return &plugin->presets[p];
    }
  }
  ck_abort_msg("no preset %s", name);
}

static Status
open_keeper(const char* const preset, Instance** const instance, Error* const error)
{
  const Plugin* const plugin = lv2_rig_find(KEEPER);
  const InstanceSetup setup = { .rate_hz = LV2_RIG_RATE_HZ,
                                .max_block_frames = LV2_RIG_BLOCK,
                                .preset = preset ? preset_of(plugin, preset) : NULL };
  *instance = NULL;
  return calls->open(plugin, &setup, instance, error);
}

/// What a keeper makes of 1.
static float
keeper_level(Instance* const instance)
{
  fill(in[0], 1.0F);
  run(instance, LV2_RIG_BLOCK);
  return out[0][LV2_RIG_BLOCK - 1U];
}

TEST(a_plugin_begins_with_its_default_state)
{
  SCOPED(lv2_rig_close) Instance* instance = NULL;
  OK(open_keeper(NULL, &instance, &error));
  ck_assert_float_eq(keeper_level(instance), 0.5F);
  ck_assert_double_eq(lv2_rig_get(instance, KEEPER, "restored"), 1.0);
}

TEST(the_state_of_a_preset_comes_after_the_default_one_also_when_renewed)
{
  SCOPED(lv2_rig_close) Instance* instance = NULL;
  OK(open_keeper("Quarter", &instance, &error));
  for (int i = 0; i < 2; ++i) {
    ck_assert_float_eq(keeper_level(instance), 0.75F); // 0.25, and 3 in its file
    ck_assert_double_eq(lv2_rig_get(instance, KEEPER, "restored"), 2.0);
    OK(calls->renew(instance, &error));
  }
}

static const struct {
  const char* preset;
  const char* says;
} bad_states[] = {
  { "Without level", "lv2 urn:warprack:keeper refuses the state in /" },
  { "Without level", "keeper.ttl: a value is missing" },
  { "Without file", "keeper.ttl: it gives no reason" },
};

TEST_ROWS(a_state_that_the_plugin_refuses_is_an_error, bad_states)
{
  Instance* instance = NULL;
  Error error;
  ck_assert_int_eq(open_keeper(bad_states[row].preset, &instance, &error), STATUS_FILE);
  assert_says(error.text, bad_states[row].says);
  ck_assert_ptr_null(instance);
}

TEST(a_file_without_the_state_is_an_error)
{
  Plugin plugin = *lv2_rig_find(KEEPER);
  const InstanceSetup setup = { .rate_hz = LV2_RIG_RATE_HZ, .max_block_frames = LV2_RIG_BLOCK };
  static const char* const files[] = { "/nowhere/keeper.ttl", "/dev/null", "/proc/self/exe" };
  for (size_t f = 0; f < ARRAY_LEN(files); ++f) {
    plugin.state = files[f];
    Instance* instance = NULL;
    Error error;
    ck_assert_int_eq(calls->open(&plugin, &setup, &instance, &error), STATUS_FILE);
    assert_says(error.text, files[f]);
    assert_says(error.text, " has no state of <urn:warprack:keeper> for lv2 urn:warprack:keeper");
  }
}

SUITE_MAIN_WITH("lv2_host", start, NULL)
