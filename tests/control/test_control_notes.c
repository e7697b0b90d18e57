// SPDX-License-Identifier: GPL-3.0-or-later
// Notes over OSC: which nodes get them, what is refused, and that no end of a note is lost.

#include "control/net/clock.h"
#include "control/net/packet_check.h"
#include "control/notes.h"
#include "control/schedule.h"
#include "tests/support/control_rig.h"
#include "tests/support/fake_engine.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SOON_S 5.0 // longer than a virtual machine stalls between sending and receiving

/// A rack with two instruments, and a server that has answered to it.
static void
start(void)
{
  control_rig_start();
  client_ask(rig.client, "/done /rack/chain*", "/rack/chain", "s",
             "add lead lv2 synth\nadd pad lv2 synth\nadd vol gain\nconnect lead vol\n"
             "connect pad vol\nconnect vol out");
}

static FakeSet
newest(void)
{
  return fake_engine_set(rig.engine, fake_engine_n_sets(rig.engine) - 1U);
}

static void
expect_note(const ParamMessage* const message, const uint32_t key, const double velocity,
            const uint32_t n_frames)
{
  ck_assert_uint_eq(message->kind, MESSAGE_NOTE);
  ck_assert_uint_eq(message->param, key);
  ck_assert_double_eq_tol(message->value, velocity, 1e-12);
  ck_assert_uint_eq(message->n_frames, n_frames);
}

TEST(a_note_has_a_key_a_velocity_and_perhaps_a_length)
{
  client_ask(rig.client, "/done /note/lead", "/note/lead", "ii", 60, 127);
  expect_note(newest().messages, 60, 1.0, 0);
  ck_assert_uint_eq(newest().frame, 0);
  client_ask(rig.client, "/done /note/lead", "/note/lead", "fff", 61.0, 63.5, 0.25);
  expect_note(newest().messages, 61, 0.5, 12000);
  client_ask(rig.client, "/done /note/lead", "/note/lead", "iif", 0, 1, 1e-9);
  expect_note(newest().messages, 0, 1.0 / 127.0, 1);
  client_ask(rig.client, "/done /note/lead", "/note/lead", "iii", 127, 0, 5);
  expect_note(newest().messages, 127, 0.0, 0); // an end has no length
}

TEST(patterns_find_all_nodes_that_take_notes)
{
  client_ask(rig.client, "/done /note/*", "/note/*", "ii", 60, 100);
  const FakeSet set = newest();
  ck_assert_uint_eq(set.n, 2);
  ck_assert_uint_ne(set.messages[0].uid, set.messages[1].uid);
  client_ask(rig.client, "/done /note/{pad,vol}/off", "/note/{pad,vol}/off", "");
  ck_assert_uint_eq(newest().n, 1);
  ck_assert_uint_eq(newest().messages[0].kind, MESSAGE_NOTES_OFF);
  ck_assert_uint_eq(newest().messages[0].uid, set.messages[1].uid);
}

TEST(wrong_notes_are_refused_with_the_reason)
{
  client_ask(rig.client, "/fail /note/vol 1 vol (gain) takes no notes", "/note/vol", "ii", 60, 1);
  client_ask(rig.client, "/fail /note/led 3 no node \"led\"; did you mean \"lead\"?", "/note/led",
             "ii", 60, 1);
  client_ask(rig.client, "/fail /note/v* 3 no node \"v*\" takes notes", "/note/v*", "ii", 60, 1);
  client_ask(rig.client, "/fail /note/lead 1 the key is 128; it is 0 to 127", "/note/lead", "ii",
             128, 1);
  client_ask(rig.client, "/fail /note/lead 1 the key is 60.5; it is a whole number", "/note/lead",
             "fi", 60.5, 1);
  client_ask(rig.client, "/fail /note/lead 1 the velocity is -1; it is 0 to 127", "/note/lead",
             "ii", 60, -1);
  client_ask(rig.client, "/fail /note/lead 1 the velocity is nan; it is 0 to 127", "/note/lead",
             "if", 60, (double)NAN);
  client_ask(rig.client, "/fail /note/lead 1 the length is 0; it is above 0 s", "/note/lead", "iii",
             60, 1, 0);
  client_ask(rig.client, "/fail /note/lead 1 the length in seconds is 3601; it is 0 to 3600",
             "/note/lead", "iii", 60, 1, 3601);
  client_ask(rig.client, "/fail /note/lead 1 takes key velocity [seconds] (nn[n]), not \"i\"",
             "/note/lead", "i", 60);
  client_ask(rig.client, "/fail /note/lead/off 1 takes no arguments, not \"i\"", "/note/lead/off",
             "i", 60);
  client_ask(rig.client,
             "/fail /note/lead/on 3 notes are addressed as /note/<node> and /note/<node>/off",
             "/note/lead/on", "");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
}

TEST(the_notes_of_a_bundle_are_one_group_at_its_frame)
{
  const lo_timetag tag = tag_in(SOON_S);
  const Instant now = instant_now();
  const double frame = (double)engine_frame_at(
      rig.engine, instant_of_tag(&now, (uint64_t)tag.sec << 32U | tag.frac));
  const lo_bundle bundle = lo_bundle_new(tag);
  bundle_add(bundle, "/note/lead", "ii", 60, 100);
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  bundle_add(bundle, "/note/pad", "iif", 48, 100, 1.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/vol/gain");
  client_expect(rig.client, "/done /note/lead");
  client_expect(rig.client, "/done /note/pad");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 2); // sent ahead, and not again when due
  const FakeSet values = fake_engine_set(rig.engine, 0);
  const FakeSet notes = fake_engine_set(rig.engine, 1);
  ck_assert_uint_eq(notes.n, 2);
  ck_assert_uint_eq(values.messages[0].kind, MESSAGE_VALUE);
  // The two clocks were read at other moments than those of the server.
  ck_assert_double_le(fabs((double)notes.frame - frame), 48.0);
  ck_assert_double_le(fabs((double)values.frame - frame), 48.0);
}

TEST(a_bundle_of_notes_is_played_as_a_whole_or_not_at_all)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/note/lead", "ii", 60, 100);
  bundle_add(bundle, "/note/none", "ii", 60, 100);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/fail /note/lead 3 not done, because /note/none in the same bundle*");
  client_expect(rig.client, "/fail /note/none 3 no node*");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
}

TEST(the_ends_in_a_bundle_that_fails_are_played)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/note/none", "ii", 60, 100);
  bundle_add(bundle, "/note/lead", "ii", 61, 100);
  bundle_add(bundle, "/note/lead", "ii", 60, 0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/fail /note/none*");
  client_expect(rig.client, "/fail /note/lead*");
  client_expect(rig.client, "/fail /note/lead*");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1);
  ck_assert_uint_eq(newest().n, 1);
  expect_note(newest().messages, 60, 0.0, 0);
}

TEST(all_ends_of_a_bundle_are_played_if_they_are_more_than_fit_at_once)
{
  client_ask(rig.client, "/done /rack/chain*", "/rack/chain", "s",
             "add a lv2 synth\nadd b lv2 synth\nadd c lv2 synth\nadd d lv2 synth\nadd e lv2 synth\n"
             "connect a out");
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  for (uint32_t m = 1; m < PACKET_MAX_MESSAGES; ++m) {
    bundle_add(bundle, "/note/*", "ii", 60, 0);
  }
  bundle_add(bundle, "/note/*", "ii", 61, 0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client,
                "/fail /note/* 5 not done, because /note/* in the same bundle failed: more "
                "than 4096 notes at once");
  AWAIT(fake_engine_n_sets(rig.engine) == PACKET_MAX_MESSAGES);
  ck_assert_uint_eq(newest().n, 5);
  expect_note(newest().messages, 61, 0.0, 0);
}

TEST(ends_wait_for_room_and_notes_are_refused)
{
  fake_engine_be_full(rig.engine, true);
  client_ask(rig.client, "/fail /note/lead 5 too many notes wait for the engine", "/note/lead",
             "ii", 60, 100);
  client_ask(rig.client, "/done /note/lead", "/note/lead", "ii", 60, 0);
  client_ask(rig.client, "/done /note/lead", "/note/lead", "ii", 61, 0);
  client_ask(rig.client, "/done /note/lead", "/note/lead", "ii", 60, 0); // the same
  client_ask(rig.client, "/done /note/pad/off", "/note/pad/off", "");
  ck_assert_double_eq(control_rig_status("notes_waiting"), 3.0);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
  fake_engine_be_full(rig.engine, false);
  AWAIT(fake_engine_n_sets(rig.engine) == 3U);
  expect_note(fake_engine_set(rig.engine, 0).messages, 60, 0.0, 0);
  expect_note(fake_engine_set(rig.engine, 1).messages, 61, 0.0, 0);
  ck_assert_uint_eq(newest().messages[0].kind, MESSAGE_NOTES_OFF);
  ck_assert_double_eq(control_rig_status("notes_waiting"), 0.0);
  client_ask(rig.client, "/done /note/lead", "/note/lead", "ii", 60, 100);
}

#define N_SYNTHS 17U

/// Play as many notes with a length as may sound, on all of many synths.  Returns the next key.
static int
play_most_notes(void)
{
  char chain[64U * N_SYNTHS] = "";
  for (uint32_t s = 0; s < N_SYNTHS; ++s) {
    const size_t n = strlen(chain);
    snprintf(chain + n, sizeof(chain) - n, "add s%u lv2 synth\n%s", s, s ? "" : "connect s0 out\n");
  }
  client_ask(rig.client, "/done /rack/chain*", "/rack/chain", "s", chain);
  const int n_keys = NOTES_MAX_LENGTHS / N_SYNTHS;
  for (int k = 0; k < n_keys; ++k) {
    client_ask(rig.client, "/done /note/*", "/note/*", "iif", k, 100, 10.0);
  }
  return n_keys;
}

TEST(notes_with_a_length_are_refused_before_they_fill_the_player)
{
  const int n_keys = play_most_notes();
  static const char* const refused =
      "/fail /note/* 5 more than 2048 notes with a length would sound";
  client_ask(rig.client, refused, "/note/*", "iif", n_keys, 100, 10.0);
  client_ask(rig.client, "/done /note/*", "/note/*", "ii", n_keys, 100);   // without a length
  client_ask(rig.client, "/done /note/*", "/note/*", "iif", 0, 100, 10.0); // the same keys
  client_ask(rig.client, "/done /note/s0/off", "/note/s0/off", "");
  for (int k = n_keys; k < 127; ++k) { // room for as many as the keys of one node
    client_ask(rig.client, "/done /note/*", "/note/*", "iif", k, 100, 5.0);
  }
  client_ask(rig.client, refused, "/note/*", "iif", 127, 100, 10.0);
  client_ask(rig.client, "/done /note/*", "/note/*", "ii", 1, 0); // an end
  client_ask(rig.client, "/done /note/*", "/note/*", "iif", 127, 100, 5.0);
  client_ask(rig.client, refused, "/note/*", "iif", 1, 100, 10.0);
  fake_engine_advance(rig.engine, 6U * 48000U); // those of 5 s have ended
  client_ask(rig.client, "/done /note/*", "/note/*", "iif", 1, 100, 10.0);
}

TEST(notes_whose_ends_had_to_wait_make_room_for_others)
{
  const int n_keys = play_most_notes();
  fake_engine_be_full(rig.engine, true);
  client_ask(rig.client, "/done /note/*/off", "/note/*/off", "");
  fake_engine_be_full(rig.engine, false);
  AWAIT(control_rig_status("notes_waiting") == 0.0);
  client_ask(rig.client, "/done /note/*", "/note/*", "iif", n_keys, 100, 10.0);
}

TEST(many_ends_wait_each_once)
{
  fake_engine_be_full(rig.engine, true);
  for (int round = 0; round < 2; ++round) {
    for (int k = 0; k < 128; ++k) {
      client_ask(rig.client, "/done /note/*", "/note/*", "ii", k, 0);
    }
    ck_assert_double_eq(control_rig_status("notes_waiting"), 256.0);
  }
  fake_engine_be_full(rig.engine, false);
  AWAIT(fake_engine_n_sets(rig.engine) == 256U);
  ck_assert_double_eq(control_rig_status("notes_waiting"), 0.0);
  fake_engine_be_full(rig.engine, true);
  client_ask(rig.client, "/done /note/lead", "/note/lead", "ii", 5, 0); // again
  ck_assert_double_eq(control_rig_status("notes_waiting"), 1.0);
}

TEST(a_bundle_that_finds_no_time_ends_its_notes_at_once)
{
  const lo_timetag later = tag_in(9.0);
  for (uint32_t n = 0; n < SCHEDULE_MAX_BUNDLES; ++n) { // one sender has half of them
    const lo_bundle bundle = lo_bundle_new(later);
    bundle_add(bundle, "/note/lead", "ii", 60, 0);
    client_send_bundle(rig.client, bundle);
  }
  client_expect(rig.client, "/fail /note/lead 5*");
  expect_note(newest().messages, 60, 0.0, 0);
}

TEST(without_audio_only_ends_succeed)
{
  fake_engine_stop(rig.engine, STATUS_AUDIO_IO);
  client_ask(rig.client, "/fail /note/lead 7 no audio runs", "/note/lead", "ii", 60, 100);
  client_ask(rig.client, "/done /note/lead", "/note/lead", "ii", 60, 0);
  client_ask(rig.client, "/done /note/*/off", "/note/*/off", "");
  fake_engine_stop(rig.engine, STATUS_WORKER);
  client_ask(rig.client, "/fail /note/lead 12 no worker plays", "/note/lead", "ii", 60, 100);
  ck_assert_double_eq(control_rig_status("notes_waiting"), 0.0);
  ck_assert_double_eq(control_rig_status("commands_failed"), 2.0);
}

TEST(notes_are_no_edits)
{
  client_ask(rig.client, "/done /note/lead", "/note/lead", "ii", 60, 100);
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "g", "gain");
  client_ask(rig.client, "/done /note/lead", "/note/lead", "ii", 60, 0); // does not wait
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  client_expect(rig.client, "/done /rack/add*");
  fake_engine_hold(rig.engine, false);
  client_ask(rig.client, "/done /rack/undo*", "/rack/undo", "");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 3);
}

SUITE_MAIN_WITH("control_notes", start, control_rig_stop)
