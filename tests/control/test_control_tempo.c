// SPDX-License-Identifier: GPL-3.0-or-later
// The tempo by OSC: one group of values at one frame, one step of undo, news to all, in the
// document as `tempo`.

#include "tests/support/control_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEMPO 1U // parameter of phaser, 20 to 300 bpm

/// Add two phasers that follow the tempo.
static void
add_followers(void)
{
  client_ask(rig.client, "/done /rack/do 1*", "/rack/do", "s",
             "add a phaser tempo=tempo\nadd b phaser tempo=tempo\nadd c phaser");
}

TEST(a_tempo_reaches_all_that_follow_in_one_group)
{
  add_followers();
  client_ask(rig.client, "/rack/tempo 120 fixed", "/rack/tempo", "");
  client_ask(rig.client, "/done /rack/tempo", "/rack/tempo", "f", 90.0);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1U);
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 1U);
  const FakeSet set = fake_engine_set(rig.engine, 0);
  ck_assert_uint_eq(set.n, 2U);
  for (uint32_t m = 0; m < set.n; ++m) {
    ck_assert_uint_eq(set.messages[m].param, TEMPO);
    ck_assert_double_eq(set.messages[m].value, 90.0);
    ck_assert_double_eq(set.messages[m].tempo_bpm, 90.0);
  }
  control_rig_expect_rack("add a phaser tempo=tempo\nadd b phaser tempo=tempo\nadd c phaser\n");
  control_rig_expect_rack("\ntempo 90bpm\n");
  client_ask(rig.client, "/rack/tempo 90 fixed", "/rack/tempo", "");
  client_ask(rig.client, "/node/a/tempo 90", "/node/a/tempo", "");
  // Out of the range of the parameters, which get the nearest number:
  client_ask(rig.client, "/done /rack/tempo", "/rack/tempo", "s", "500bpm");
  ck_assert_double_eq(control_rig_newest_value(), 300.0);
  ck_assert_double_eq(fake_engine_set(rig.engine, 1).messages[0].tempo_bpm, 500.0);
}

TEST(a_parameter_follows_until_it_is_set)
{
  add_followers();
  client_ask(rig.client, "/done*", "/node/b/tempo", "f", 70.0);
  ck_assert_double_eq(fake_engine_set(rig.engine, 0).messages[0].tempo_bpm, 0.0);
  client_ask(rig.client, "/done*", "/rack/tempo", "i", 100);
  ck_assert_uint_eq(fake_engine_set(rig.engine, 1).n, 1U);
  control_rig_expect_rack("add a phaser tempo=tempo\nadd b phaser tempo=70bpm\n");
  client_ask(rig.client, "/done*", "/node/b/tempo", "s", "tempo");
  ck_assert_double_eq(fake_engine_set(rig.engine, 2).messages[0].value, 100.0);
  ck_assert_double_eq(fake_engine_set(rig.engine, 2).messages[0].tempo_bpm, 100.0);
  control_rig_expect_rack("add a phaser tempo=tempo\nadd b phaser tempo=tempo\n");
  client_ask(rig.client, "/done*", "/norm/a/tempo", "f", 0.0); // a fader takes over, too
  control_rig_expect_rack("add a phaser tempo=20bpm\nadd b phaser tempo=tempo\n");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("add a phaser tempo=tempo\nadd b phaser tempo=tempo\n");
}

static const struct {
  const char* types;
  double number;
  const char *text, *answer;
} bad[] = {
  { "f", 19.0, "", "/fail /rack/tempo 2 tempo 19bpm is out of range; 20bpm to 999bpm" },
  { "d", 1e300, "", "/fail /rack/tempo 2 tempo 1e300bpm is out of range; 20bpm to 999bpm" },
  { "f", NAN, "",
    "/fail /rack/tempo 2 a tempo is a number in bpm, or one of fixed, jack, midi, not \"nan\"" },
  { "d", -INFINITY, "", "/fail /rack/tempo 2 tempo takes a finite number; 20bpm to 999bpm" },
  { "s", 0.0, "fast",
    "/fail /rack/tempo 2 a tempo is a number in bpm, or one of fixed, jack, midi, not \"fast\"" },
  { "s", 0.0, "tempo",
    "/fail /rack/tempo 2 a tempo is a number in bpm, or one of fixed, jack, midi, not \"tempo\"" },
};

TEST_ROWS(a_wrong_tempo_is_refused, bad)
{
  add_followers();
  if (*bad[row].types == 's') {
    client_ask(rig.client, bad[row].answer, "/rack/tempo", "s", bad[row].text);
  } else {
    client_ask(rig.client, bad[row].answer, "/rack/tempo", bad[row].types, bad[row].number);
  }
  client_ask(rig.client,
             "/fail /rack/tempo 2 a tempo is fixed, or comes from jack or midi, not \"91\"",
             "/rack/tempo", "ff", 90.0, 91.0);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0U);
  client_ask(rig.client, "/rack/tempo 120 fixed", "/rack/tempo", "");
}

TEST(a_tempo_that_the_engine_does_not_take_changes_nothing)
{
  add_followers();
  fake_engine_be_full(rig.engine, true);
  client_ask(rig.client, "/fail /rack/tempo 5 *", "/rack/tempo", "f", 90.0);
  fake_engine_be_full(rig.engine, false);
  client_ask(rig.client, "/rack/tempo 120 fixed", "/rack/tempo", "");
  ck_assert_double_eq(control_rig_status("undo_steps"), 1.0); // of add_followers()
}

TEST(a_tempo_is_one_step_of_undo)
{
  add_followers();
  client_ask(rig.client, "/done*", "/rack/tempo", "f", 90.0);
  client_ask(rig.client, "/done*", "/rack/tempo", "f", 91.0); // one gesture
  client_ask(rig.client, "/done*", "/rack/undo", "");
  client_ask(rig.client, "/rack/tempo 120 fixed", "/rack/tempo", "");
  control_rig_expect_rack("add b phaser tempo=tempo\n");
  client_ask(rig.client, "/done*", "/rack/redo", "");
  client_ask(rig.client, "/rack/tempo 91 fixed", "/rack/tempo", "");
  client_ask(rig.client, "/done*", "/rack/do", "s", "tempo 200");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 4U);
  client_ask(rig.client, "/rack/tempo 200 fixed", "/rack/tempo", "");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  client_ask(rig.client, "/rack/tempo 91 fixed", "/rack/tempo", "");
}

TEST(a_tempo_alone_is_a_step_too)
{
  client_ask(rig.client, "/done*", "/rack/tempo", "f", 90.0); // nothing follows
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0U);
  control_rig_expect_rack("\ntempo 90bpm\n");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  client_ask(rig.client, "/rack/tempo 120 fixed", "/rack/tempo", "");
}

/// Subscribe the other client, who gets the tempo first.
static void
subscribe(void)
{
  client_ask(rig.other, "/done /server/notify", "/server/notify", "i", 1);
  client_expect(rig.other, "/rack/tempo 120 fixed");
  while (strncmp(client_receive(rig.other), "/node/c/ramp ", 13) != 0) {
    ck_assert_msg(!strncmp(rig.other->answer, "/node/", 6), "%s", rig.other->answer);
  }
}

/// Fails the test unless the client gets these messages, in any order.
static void
expect_all(OscClient* const client, const char* const* const texts, const uint32_t n)
{
  uint32_t n_found = 0;
  for (uint32_t a = 0; a < n; ++a) {
    const char* const answer = client_receive(client);
    for (uint32_t t = 0; t < n; ++t) {
      n_found += !strcmp(answer, texts[t]);
    }
  }
  ck_assert_msg(n_found == n, "the last message is %s", client->answer);
}

TEST(subscribers_get_the_tempo_and_the_values)
{
  add_followers();
  subscribe();
  client_send(rig.client, "/rack/tempo", "f", 90.0);
  static const char* const news[] = { "/rack/tempo 90 fixed", "/node/a/tempo 90",
                                      "/node/b/tempo 90" };
  expect_all(rig.other, news, ARRAY_LEN(news));
  client_send(rig.other, "/rack/tempo", "f", 80.0); // its maker knows the tempo, not the values
  static const char* const own[] = { "/done /rack/tempo", "/node/a/tempo 80", "/node/b/tempo 80" };
  expect_all(rig.other, own, ARRAY_LEN(own));
}

TEST(an_edit_that_changes_the_tempo_is_news)
{
  add_followers();
  subscribe();
  client_send(rig.client, "/rack/do", "s", "tempo 70");
  static const char* const news[] = { "/rack/changed 2", "/rack/tempo 70 fixed", "/node/a/tempo 70",
                                      "/node/b/tempo 70" };
  expect_all(rig.other, news, ARRAY_LEN(news));
}

TEST(a_tempo_overtakes_an_edit_that_keeps_the_nodes)
{
  add_followers();
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "d", "gain");
  client_ask(rig.client, "/done /rack/tempo", "/rack/tempo", "f", 90.0);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1U);
  fake_engine_answer(rig.engine, STATUS_OK, "", 0U);
  client_expect(rig.client, "/done /rack/add*");
  control_rig_expect_rack("add d gain\n");
  control_rig_expect_rack("\ntempo 90bpm\n");
}

TEST(a_tempo_waits_for_an_edit_that_adds_followers)
{
  add_followers();
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "sssssi", "d", "phaser", "tempo", "tempo", "angle", 9);
  client_send(rig.client, "/rack/tempo", "f", 90.0);
  fake_engine_answer(rig.engine, STATUS_OK, "", 0U);
  client_expect(rig.client, "/done /rack/add*");
  client_expect(rig.client, "/done /rack/tempo");
  ck_assert_uint_eq(fake_engine_set(rig.engine, 0).n, 3U);
}

TEST(in_a_bundle_the_order_of_the_messages_counts)
{
  add_followers();
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/node/b/tempo", "f", 60.0); // b stays there
  bundle_add(bundle, "/rack/tempo", "f", 90.0);
  bundle_add(bundle, "/node/c/tempo", "s", "tempo"); // c begins to follow
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/b/tempo");
  client_expect(rig.client, "/done /rack/tempo");
  client_expect(rig.client, "/done /node/c/tempo");
  const FakeSet set = fake_engine_set(rig.engine, 0);
  ck_assert_uint_eq(set.n, 4U);
  for (uint32_t m = 0; m < set.n; ++m) { // a, b twice, c
    ck_assert(set.messages[m].value == (set.messages[m].tempo_bpm > 0.0 ? 90.0 : 60.0));
  }
  control_rig_expect_rack("add b phaser tempo=60bpm\nadd c phaser tempo=tempo\n");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("add b phaser tempo=tempo\nadd c phaser\n");
  client_ask(rig.client, "/rack/tempo 120 fixed", "/rack/tempo", "");
}

TEST(a_tempo_beside_edits_is_part_of_the_edit)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/rack/add", "ssss", "a", "phaser", "tempo", "tempo");
  bundle_add(bundle, "/rack/tempo", "f", 90.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /rack/add 1*");
  client_expect(rig.client, "/done /rack/tempo 1*");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0U);
  SCOPED_MEMORY char* const rack = fake_engine_newest(rig.engine, NULL);
  ck_assert_ptr_nonnull(strstr(rack, "\ntempo 90bpm\n"));
}

TEST(a_tempo_with_a_time_tag_is_sent_ahead_with_its_frame)
{
  add_followers();
  const lo_bundle bundle = lo_bundle_new(tag_in(0.3));
  bundle_add(bundle, "/rack/tempo", "f", 90.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /rack/tempo");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1U);
  const FakeSet set = fake_engine_set(rig.engine, 0);
  ck_assert_uint_eq(set.n, 2U);
  ck_assert_uint_gt(set.frame, 1U);
  ck_assert_double_eq(set.messages[0].value, 90.0);
  client_ask(rig.client, "/rack/tempo 90 fixed", "/rack/tempo", "");
}

// ---- the tempo of JACK ----

/// Let JACK have a tempo, and wait until the rack has it.
static void
follow(const double bpm)
{
  char answer[64];
  snprintf(answer, sizeof(answer), "/rack/tempo %g jack", bpm);
  atomic_store(&rig.transport_bpm, bpm);
  do {
    client_send(rig.client, "/rack/tempo", "");
  } while (strcmp(client_receive(rig.client), answer) != 0);
}

TEST(the_tempo_of_jack_is_followed_without_steps_of_undo)
{
  add_followers();
  client_ask(rig.client, "/done /rack/tempo", "/rack/tempo", "fs", 90.0, "jack");
  follow(133.5);
  follow(77.0);
  const uint32_t n_sets = fake_engine_n_sets(rig.engine);
  ck_assert_uint_eq(n_sets, 3U);
  const FakeSet set = fake_engine_set(rig.engine, n_sets - 1U);
  ck_assert_uint_eq(set.n, 2U);
  ck_assert_double_eq(set.messages[0].value, 77.0);
  ck_assert_double_eq(set.messages[1].tempo_bpm, 77.0);
  control_rig_expect_rack("\ntempo 77bpm jack\n");
  ck_assert_double_eq(control_rig_status("undo_steps"), 2.0);
  ck_assert_double_eq(control_rig_status("transport_bpm"), 77.0);
  ck_assert_double_eq(control_rig_status("tempo_bpm"), 77.0);
  // Undo and redo restore other values, not the tempo that JACK had then.
  client_ask(rig.client, "/done*", "/node/vol/gain", "f", -3.0);
  follow(78.0);
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("gain=-6dB\n");
  client_ask(rig.client, "/rack/tempo 78 jack", "/rack/tempo", "");
}

TEST(small_changes_and_bad_tempos_of_jack_are_left_out)
{
  static const double left_out[] = { 120.5, 119.6, 0.0, 19.0, 1000.0, (double)NAN, -90.0 };
  add_followers();
  client_ask(rig.client, "/done /rack/tempo", "/rack/tempo", "s", "jack");
  for (uint32_t i = 0; i < ARRAY_LEN(left_out); ++i) {
    atomic_store(&rig.transport_bpm, left_out[i]);
    const uint32_t n_before = atomic_load(&rig.n_asked);
    while (atomic_load(&rig.n_asked) < n_before + 2U) { // the second one sees it
      client_expect_nothing(rig.client);
    }
  }
  client_ask(rig.client, "/rack/tempo 120 jack", "/rack/tempo", "");
  follow(120.6);
}

TEST(a_hand_ends_the_following_of_jack)
{
  add_followers();
  client_ask(rig.client, "/done /rack/tempo", "/rack/tempo", "sf", "jack", 90.0);
  client_ask(rig.client, "/rack/tempo 90 jack", "/rack/tempo", "");
  follow(100.0);
  client_ask(rig.client, "/done /rack/tempo", "/rack/tempo", "f", 90.0);
  client_ask(rig.client, "/rack/tempo 90 fixed", "/rack/tempo", "");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  client_ask(rig.client, "/rack/tempo 100 jack", "/rack/tempo", "");
}

TEST(a_tempo_of_jack_waits_for_the_edit_in_flight)
{
  add_followers();
  client_ask(rig.client, "/done /rack/tempo", "/rack/tempo", "s", "jack");
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ssss", "d", "phaser", "tempo", "tempo");
  client_expect_nothing(rig.client);
  atomic_store(&rig.transport_bpm, 100.0);
  client_ask(rig.client, "/rack/tempo 120 jack", "/rack/tempo", "");
  fake_engine_answer(rig.engine, STATUS_OK, "", 0U);
  client_expect(rig.client, "/done /rack/add*");
  follow(100.0);
  ck_assert_uint_eq(fake_engine_set(rig.engine, fake_engine_n_sets(rig.engine) - 1U).n, 3U);
}

// ---- MIDI clock ----

/// Send n pulses of MIDI clock at intervals of some frames.
static void
pulse(const uint32_t n, const uint32_t frames)
{
  for (uint32_t p = 0; p < n; ++p) {
    const MidiEvent event = { .n_bytes = 1U, .bytes = { MIDI_CLOCK } };
    fake_engine_hear(rig.engine, &event, 1U);
    fake_engine_advance(rig.engine, frames);
  }
}

/// Wait until the rack has this tempo.
static void
wait_for(const char* const answer)
{
  do {
    client_send(rig.client, "/rack/tempo", "");
  } while (strcmp(client_receive(rig.client), answer) != 0);
}

TEST(midi_clock_is_followed_without_steps_of_undo)
{
  add_followers();
  client_ask(rig.client, "/done /rack/tempo", "/rack/tempo", "s", "midi");
  pulse(30U, 1250U);
  wait_for("/rack/tempo 96 midi");
  pulse(30U, 1246U); // 96.31 bpm, within the dead band
  pulse(1U, 60000U); // a pause
  pulse(30U, 1000U);
  wait_for("/rack/tempo 120 midi");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 3U); // the source, 96, 120
  ck_assert_uint_eq(fake_engine_set(rig.engine, 1U).n, 2U);
  ck_assert_double_eq(fake_engine_set(rig.engine, 1U).messages[0].value, 96.0);
  ck_assert_double_eq(control_rig_status("undo_steps"), 2.0);
  client_ask(rig.client, "/done /rack/tempo", "/rack/tempo", "s", "fixed");
  pulse(30U, 2000U);
  client_ask(rig.client, "/rack/tempo 120 fixed", "/rack/tempo", "");
}

SUITE_MAIN_WITH("control_tempo", control_rig_start, control_rig_stop)
