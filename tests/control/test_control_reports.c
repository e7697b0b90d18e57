// SPDX-License-Identifier: GPL-3.0-or-later
// What the worker sets by MIDI is in the document: for clients, for undo, for the engine's next
// worker; a report that no document can have is ignored.

#include "tests/support/control_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// The rack of the rig: its first node is lowcut, its second one vol with gain as first parameter.
#define LOWCUT RACK_UID_FIRST
#define VOL    (RACK_UID_FIRST + 1U)

static void
report(const RackUid uid, const uint32_t param, const double value, const uint32_t flags)
{
  const RingReport made = { .kind = REPORT_VALUE,
                            .flags = flags,
                            .message = {
                                .frame = 700, .uid = uid, .param = param, .value = value } };
  fake_engine_report(rig.engine, &made);
}

TEST(a_value_by_midi_is_in_the_document_and_known_to_all_clients)
{
  fake_engine_hear(rig.engine, NULL, 0U); // the driver has MIDI: the server looks often
  client_subscribe(rig.client, "/node/vol/gain ");
  client_subscribe(rig.other, "/node/vol/gain ");
  const uint32_t n_sets = fake_engine_n_sets(rig.engine);
  report(VOL, 0U, -20.0, REPORT_MIDI);
  client_expect(rig.client, "/node/vol/gain -20");
  client_expect(rig.other, "/node/vol/gain -20");
  control_rig_expect_rack("gain=-20dB");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), n_sets + 1U);
  const FakeSet set = fake_engine_set(rig.engine, n_sets);
  ck_assert_uint_eq(set.messages[0].kind, MESSAGE_IN_DOCUMENT);
  ck_assert_uint_eq(set.messages[0].uid, VOL);
  ck_assert(set.messages[0].value == -20.0);
  ck_assert_uint_eq(set.messages[0].frame, 0U); // not what the worker has written
  ck_assert_uint_ne(set.messages[0].param_id, 0U);
}

TEST(a_moving_controller_is_one_step_of_undo)
{
  fake_engine_hear(rig.engine, NULL, 0U);
  for (uint32_t step = 0; step < 20U; ++step) {
    report(VOL, 0U, -10.0 - step, REPORT_MIDI);
    if (step % 5U == 4U) {
      // The server has read it.
      AWAIT(fake_engine_n_sets(rig.engine) && control_rig_newest_value() == -10.0 - step);
    }
  }
  ck_assert_double_eq(control_rig_status("undo_steps"), 1.0);
  client_ask(rig.client, "/done /rack/undo 1*", "/rack/undo", "");
  control_rig_expect_rack("gain=-6dB");
}

TEST(an_edit_in_flight_keeps_the_value)
{
  fake_engine_hear(rig.engine, NULL, 0U);
  client_subscribe(rig.other, "/node/vol/gain ");
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "more", "gain");
  report(VOL, 0U, -20.0, REPORT_MIDI);
  client_expect(rig.other, "/node/vol/gain -20");
  fake_engine_answer(rig.engine, STATUS_OK, "", 0U);
  client_expect(rig.client, "/done /rack/add*");
  control_rig_expect_rack("gain=-20dB");
}

TEST(an_event_that_no_worker_got_sets_its_parameters)
{
  const MidiEvent event = { .n_bytes = 3, .bytes = { 0xB0, 7, 127 } };
  client_ask(rig.client, "/done /rack/do 1*", "/rack/do", "s", "midi cc 1:7 vol.gain -60dB..-1dB");
  client_subscribe(rig.other, "/node/vol/gain ");
  const uint32_t n_sets = fake_engine_n_sets(rig.engine);
  fake_engine_miss(rig.engine, &event);
  client_expect(rig.other, "/node/vol/gain -1");
  control_rig_expect_rack("gain=-1dB");
  ck_assert_uint_eq(fake_engine_set(rig.engine, n_sets).messages[0].kind, MESSAGE_VALUE);
}

/// Report that the events before a frame have been run.
static void
report_events(const uint64_t frame)
{
  fake_engine_report(rig.engine,
                     &(RingReport){ .kind = REPORT_EVENTS, .message = { .frame = frame } });
}

/// Wait until the server has done a whole round.
static void
do_round(void)
{
  client_ask(rig.client, "/done /server/ping", "/server/ping", "");
  client_ask(rig.client, "/done /server/ping", "/server/ping", "");
}

TEST(events_that_a_worker_has_not_run_set_their_parameters)
{
  const MidiEvent events[] = { { .frame = 0, .n_bytes = 3, .bytes = { 0xB0, 7, 0 } },
                               { .frame = 10, .n_bytes = 3, .bytes = { 0xB0, 7, 127 } } };
  client_ask(rig.client, "/done /rack/do 1*", "/rack/do", "s", "midi cc 1:7 vol.gain -60dB..-1dB");
  client_subscribe(rig.other, "/node/vol/gain ");
  fake_engine_hear(rig.engine, events, ARRAY_LEN(events));
  report_events(10U);
  fake_engine_advance(rig.engine, 10U);
  fake_engine_end_worker(rig.engine);
  client_expect(rig.other, "/node/vol/gain -1"); // nothing of the first event
  control_rig_expect_rack("gain=-1dB");
  uint64_t n_lost = 0;
  AWAIT(fake_engine_n_returns(rig.engine, &n_lost) > 0U);
  ck_assert_uint_eq(n_lost, 1U);
}

TEST(a_value_without_room_is_sent_before_the_worker_gets_further_events)
{
  const MidiEvent event = { .n_bytes = 3, .bytes = { 0xB0, 7, 127 } };
  client_ask(rig.client, "/done /rack/do 1*", "/rack/do", "s", "midi cc 1:7 vol.gain -60dB..-1dB");
  client_subscribe(rig.other, "/node/vol/gain ");
  const uint32_t n_sets = fake_engine_n_sets(rig.engine);
  uint64_t n_lost = 0;
  const uint32_t n_returns = fake_engine_n_returns(rig.engine, &n_lost);
  fake_engine_be_full(rig.engine, true);
  fake_engine_miss(rig.engine, &event);
  client_expect(rig.other, "/node/vol/gain -1");
  do_round();
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), n_sets);
  fake_engine_be_full(rig.engine, false);
  AWAIT(fake_engine_n_returns(rig.engine, &n_lost) > n_returns);
  const FakeSet set = fake_engine_set(rig.engine, n_sets);
  ck_assert_uint_eq(set.messages[0].kind, MESSAGE_VALUE);
  ck_assert_uint_eq(set.messages[0].uid, VOL);
  ck_assert(set.messages[0].value == -1.0);
  ck_assert_double_eq(control_rig_status("values_lost"), 0.0);
}

TEST(a_worker_that_stands_still_is_not_informed_again_and_again)
{
  const MidiEvent event = { .n_bytes = 3, .bytes = { 0xB0, 7, 127 } };
  fake_engine_hear(rig.engine, NULL, 0U);
  do_round();
  const uint32_t n_sets = fake_engine_n_sets(rig.engine);
  uint64_t n_lost = 0;
  const uint32_t n_returns = fake_engine_n_returns(rig.engine, &n_lost);
  fake_engine_let_wait(rig.engine, 1000U);
  for (uint32_t e = 0; e < 10U; ++e) {
    fake_engine_miss(rig.engine, &event);
    do_round();
  }
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), n_sets);
  ck_assert_uint_eq(fake_engine_n_returns(rig.engine, &n_lost), n_returns);
  fake_engine_let_wait(rig.engine, 0U);
  AWAIT(fake_engine_n_returns(rig.engine, &n_lost) > n_returns);
}

TEST(events_that_no_worker_got_wait_for_those_before_them)
{
  const MidiEvent fader = { .n_bytes = 3, .bytes = { 0xB0, 9, 127 } };
  const MidiEvent encoder = { .n_bytes = 3, .bytes = { 0xB0, 8, 1 } };
  client_ask(
      rig.client, "/done /rack/do 1*", "/rack/do", "s",
      "midi cc 1:8 vol.gain -60dB..0dB relative=twos\nmidi cc 1:9 lowcut.frequency 20Hz..200Hz");
  client_subscribe(rig.other, "/node/vol/gain ");
  fake_engine_hear(rig.engine, &encoder, 1U); // at frame 0; a worker runs it
  fake_engine_miss(rig.engine, &encoder);
  fake_engine_miss(rig.engine, &fader);
  do_round();
  control_rig_expect_rack("gain=-6dB");
  uint64_t n_lost = 0;
  const uint32_t n_returns = fake_engine_n_returns(rig.engine, &n_lost);
  report(VOL, 0U, -20.0, REPORT_MIDI); // what the worker made of the first one
  report_events(64U);
  fake_engine_advance(rig.engine, 64U);
  client_expect(rig.other, "/node/vol/gain -19.5*"); // one step more
  AWAIT(fake_engine_n_returns(rig.engine, &n_lost) > n_returns);
  control_rig_expect_rack("200Hz");
  ck_assert_uint_eq(n_lost, 0U); // the callback has counted them
}

TEST(a_step_that_no_worker_has_run_counts_beside_values_of_clients)
{
  const MidiEvent encoder = { .n_bytes = 3, .bytes = { 0xB0, 8, 1 } };
  client_ask(rig.client, "/done /rack/do 1*", "/rack/do", "s",
             "midi cc 1:8 vol.gain -60dB..0dB relative=twos");
  client_subscribe(rig.other, "/node/vol/gain ");
  report(VOL, 0U, -20.0, REPORT_MIDI);
  fake_engine_miss(rig.engine, &encoder);
  client_expect(rig.other, "/node/vol/gain -19.5*");
  fake_engine_miss(rig.engine, &encoder);
  client_expect(rig.other, "/node/vol/gain -19.0*");
  report(VOL, 0U, -19.53125, 0U); // the worker has it; the document has a newer value
  do_round();
  control_rig_expect_rack("gain=-19.06");
}

/// As many parameters as can wait, set by a worker, and one more by an event without a worker.
TEST(more_values_than_wait_at_once_are_all_set)
{
  enum { N = 1025 };
  static char text[32U * N];
  size_t used = 0;
  for (uint32_t n = 0; n < N; ++n) {
    used += (size_t)snprintf(text + used, sizeof(text) - used, "add g%u gain\n", n);
  }
  snprintf(text + used, sizeof(text) - used, "midi cc 1:7 g%u.gain -60dB..-1dB\n", N - 1);
  const MidiEvent event = { .n_bytes = 3, .bytes = { 0xB0, 7, 127 } };
  client_ask(rig.client, "/done /rack/do 1*", "/rack/do", "s", text);
  for (uint32_t n = 0; n + 1U < N; ++n) {
    report(VOL + 1U + n, 0U, -3.0, REPORT_MIDI);
  }
  fake_engine_miss(rig.engine, &event);
  AWAIT(control_rig_status("values_set") >= N);
}

TEST(the_worker_gets_events_when_it_knows_what_controllers_have_sent)
{
  static const uint8_t select[][2] = { { 99, 2 }, { 98, 4 } };
  for (uint32_t e = 0; e < ARRAY_LEN(select); ++e) {
    const MidiEvent event = { .n_bytes = 3, .bytes = { 0xB0, select[e][0], select[e][1] } };
    fake_engine_hear(rig.engine, &event, 1U);
  }
  do_round();
  const uint32_t n_sets = fake_engine_n_sets(rig.engine);
  uint64_t n_lost = 0;
  ck_assert_uint_eq(fake_engine_n_returns(rig.engine, &n_lost), 0U);
  fake_engine_end_worker(rig.engine);
  AWAIT(fake_engine_n_returns(rig.engine, &n_lost) == 1U);
  ck_assert_uint_eq(n_lost, ARRAY_LEN(select));
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), n_sets + 2U);
  ck_assert_uint_eq(fake_engine_set(rig.engine, n_sets).messages[0].kind, MESSAGE_MIDI_FORGET);
  const FakeSet set = fake_engine_set(rig.engine, n_sets + 1U);
  ck_assert_uint_eq(set.n, ARRAY_LEN(select));
  for (uint32_t e = 0; e < ARRAY_LEN(select); ++e) {
    const MidiEvent event = { .n_bytes = 3, .bytes = { 0xB0, select[e][0], select[e][1] } };
    ck_assert_uint_eq(set.messages[e].kind, MESSAGE_MIDI_KNOWN);
    ck_assert_uint_eq(set.messages[e].uid, event.n_bytes);
    ck_assert_uint_eq(set.messages[e].param, midi_event_word(&event));
  }
  do_round();
  ck_assert_uint_eq(fake_engine_n_returns(rig.engine, &n_lost), 1U); // once
}

TEST(a_report_that_no_document_can_have_is_ignored)
{
  static const struct {
    RackUid uid;
    uint32_t param;
    double value;
    uint32_t flags;
  } wrong[] = { { 999, 0, -20.0, REPORT_MIDI },
                { VOL, 999, -20.0, REPORT_MIDI },
                { VOL, 0, 1e9, REPORT_MIDI },
                { VOL, 0, NAN, REPORT_MIDI },
                { LOWCUT, 0, -1.0, REPORT_MIDI },
                { LOWCUT, 1, 4.0, REPORT_MIDI },
                { VOL, 0, -20.0, 0 } };
  fake_engine_hear(rig.engine, NULL, 0U);
  client_subscribe(rig.other, "/node/vol/gain ");
  for (uint32_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    report(wrong[w].uid, wrong[w].param, wrong[w].value, wrong[w].flags);
  }
  report(VOL, 0U, -7.0, REPORT_MIDI);
  client_expect(rig.other, "/node/vol/gain -7");
  control_rig_expect_rack("gain=-7dB");
  ck_assert_double_eq(control_rig_status("values_set"), 1.0);
}

TEST(a_value_that_crosses_one_by_midi_is_the_newer_one)
{
  fake_engine_hear(rig.engine, NULL, 0U);
  client_ask(rig.client, "/done /node/vol/gain*", "/node/vol/gain", "f", -9.0);
  client_subscribe(rig.other, "/node/vol/gain ");
  report(VOL, 0U, -20.0, REPORT_MIDI); // the worker has not had -9 yet
  client_expect(rig.other, "/node/vol/gain -20");
  report(VOL, 0U, -9.0, 0U);
  client_expect(rig.other, "/node/vol/gain -9");
  control_rig_expect_rack("gain=-9dB");
  // The same, but the document has a newer value.
  report(VOL, 0U, -20.0, REPORT_MIDI);
  client_expect(rig.other, "/node/vol/gain -20");
  client_ask(rig.client, "/done /node/vol/gain*", "/node/vol/gain", "f", -3.0);
  client_expect(rig.other, "/node/vol/gain -3");
  report(VOL, 0U, -9.0, 0U);
  report(LOWCUT, 0U, 90.0, REPORT_MIDI); // read after it
  client_expect(rig.other, "/node/lowcut/frequency 90");
  control_rig_expect_rack("gain=-3dB");
}

TEST(a_worker_that_reports_without_an_end_does_not_hold_up_the_server)
{
  const RingReport note = { .kind = REPORT_NOTE, .message = { .uid = VOL } };
  fake_engine_report_endlessly(rig.engine, &note);
  client_ask(rig.client, "/done /node/vol/gain*", "/node/vol/gain", "f", -9.0);
  fake_engine_report_endlessly(rig.engine, NULL);
}

// ---- the input of a take ----

enum { N_FRAMES = 48, HEADER = 24, MOST_FRAMES = 4 * N_FRAMES };

static float samples[N_FRAMES * FAKE_CHANNELS];

/// Read the first channel of a file; returns its number of frames.
static size_t
read_input(const char* const name, float to[MOST_FRAMES])
{
  static uint8_t bytes[HEADER + MOST_FRAMES * FAKE_CHANNELS * sizeof(float)];
  FILE* const file = fopen(scratch_path(&rig.folder, name), "re");
  ck_assert_ptr_nonnull(file);
  const size_t n_bytes = fread(bytes, 1U, sizeof(bytes), file);
  fclose(file);
  const size_t n_frames = (n_bytes - HEADER) / (FAKE_CHANNELS * sizeof(float));
  for (size_t f = 0; f < n_frames; ++f) {
    uint32_t word = 0;
    memcpy(&word, bytes + HEADER + f * FAKE_CHANNELS * sizeof(float), sizeof(word));
    word = ntohl(word);
    memcpy(&to[f], &word, sizeof(word));
  }
  return n_frames;
}

/// Let the input have frames whose first channel is 1, 2, 3 ... from a frame time on.
static void
play_input(const uint64_t start)
{
  for (uint32_t i = 0; i < N_FRAMES * FAKE_CHANNELS; ++i) {
    samples[i] = 1.0F + (float)(i / FAKE_CHANNELS);
  }
  fake_engine_start_at(rig.engine, start);
  fake_engine_play(rig.engine, samples, N_FRAMES);
}

TEST(the_input_of_a_take_has_no_frame_before_the_take)
{
  enum { N_EARLY = 10 };
  float heard[MOST_FRAMES];
  fake_engine_advance(rig.engine, 1000U);
  client_ask(rig.client, "/done /take/start", "/take/start", "ss", "early.osc", "audio");
  play_input(1000U - N_EARLY); // a later block of the period
  client_ask(rig.client, "/done /take/stop", "/take/stop", "");
  ck_assert_uint_eq(read_input("early.au", heard), N_FRAMES - N_EARLY);
  ck_assert(heard[0] == 1.0F + N_EARLY);
}

TEST(the_input_of_a_take_keeps_its_place_when_the_audio_begins_again)
{
  enum { N_UNHEARD = 40 };
  float heard[MOST_FRAMES];
  fake_engine_advance(rig.engine, 1000U);
  client_ask(rig.client, "/done /take/start", "/take/start", "ss", "again.osc", "audio");
  play_input(1000U);
  AWAIT(!fake_engine_unheard(rig.engine));
  play_input(1000U + N_FRAMES + N_UNHEARD);
  client_ask(rig.client, "/done /take/stop", "/take/stop", "");
  ck_assert_uint_eq(read_input("again.au", heard), 2U * N_FRAMES + N_UNHEARD);
  ck_assert(heard[N_FRAMES - 1U] == (float)N_FRAMES);
  ck_assert(heard[N_FRAMES] == 0.0F && heard[N_FRAMES + N_UNHEARD - 1U] == 0.0F);
  ck_assert(heard[N_FRAMES + N_UNHEARD] == 1.0F);
}

SUITE_MAIN_WITH("control_reports", control_rig_start, control_rig_stop)
