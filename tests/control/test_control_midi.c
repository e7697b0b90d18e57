// SPDX-License-Identifier: GPL-3.0-or-later
// MIDI in the server: lines of the map by message, controllers that are learnt, programs that
// recall scenes, and feedback that follows the document but never a hand.

#include "control/controller_state.h"
#include "control/midi.h"
#include "tests/support/control_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include "engine/base/macros.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_EVENTS 8U
#define N_PROGRAMS 64U
#define FLOOD      1000U

typedef struct Bytes {
  uint8_t bytes[3];
} Bytes;

/// Let messages of three bytes come; a program change needs two.
static void
hear(const Bytes* const messages, const uint32_t n)
{
  MidiEvent events[MAX_EVENTS] = { 0 };
  for (uint32_t m = 0; m < n; ++m) {
    memcpy(events[m].bytes, messages[m].bytes, 3U);
    events[m].n_bytes = (messages[m].bytes[0] & 0xF0U) == 0xC0U ? 2U : 3U;
  }
  fake_engine_hear(rig.engine, events, n);
}

static void
hear_one(const uint8_t status, const uint8_t first, const uint8_t second)
{
  hear(&(Bytes){ { status, first, second } }, 1U);
}

/// Wait for the next message that is sent.
static MidiEvent
next_sent(void)
{
  MidiEvent event = { 0 };
  AWAIT(fake_engine_sent_midi(rig.engine, &event, 1U));
  return event;
}

/// Wait for the next message that is sent, and fail the test unless it is this one.
static void
expect_sent(const uint8_t status, const uint8_t first, const uint8_t second)
{
  const MidiEvent event = next_sent();
  ck_assert_uint_eq(event.n_bytes, 3);
  ck_assert_msg(event.bytes[0] == status && event.bytes[1] == first && event.bytes[2] == second,
                "%02x %u %u", event.bytes[0], event.bytes[1], event.bytes[2]);
}

TEST(lines_are_added_listed_and_forgotten)
{
  client_ask(rig.client, "/done /midi/map 1 *", "/midi/map", "ss", "cc 1:7", "vol.gain -60..0");
  client_ask(rig.client, "/done /midi/map 2 *", "/midi/map", "sis", "bend", 3, "vol.gain");
  client_ask(rig.client, "/rack/warning midi program 16:1 recalls scene a, which is not there\n",
             "/midi/map", "ssss", "program", "16:1", "scene", "a");
  client_expect(rig.client, "/done /midi/map 3 *");
  client_ask(rig.client,
             "/midi/list cc 1:7 vol.gain -60..0\nbend 3 vol.gain\nprogram 16:1 scene a\n 1 1",
             "/midi/list", "");
  client_ask(rig.client, "/done /midi/forget 4 *", "/midi/forget", "ss", "scene", "a");
  client_ask(rig.client, "/fail /midi/forget 3 *", "/midi/forget", "s", "scene vol");
  client_ask(rig.client, "/midi/list cc 1:7 vol.gain -60..0\nbend 3 vol.gain\n 1 1", "/midi/list",
             "");
}

static const struct {
  const char *address, *words[3], *answer;
} edits[] = {
  { "/midi/map",
    { "cc", "1:7", "lowcut.order" },
    "/fail /midi/map 2 map:1:20: lowcut.order is structural: *" },
  { "/midi/map", { "cc", "1:200", "vol.gain" }, "/fail /midi/map 2 map:1:9: a controller is *" },
  { "/midi/map",
    { "cc", "1:8", "vol.gain\nremove lowcut" },
    "/fail /midi/map 1 a line of the map has no new line" },
  { "/midi/forget", { "cc", "1:8" }, "/fail /midi/forget 3 no MIDI line matches all words; *" },
  { "/midi/forget", { "a b c d e" }, "/fail /midi/forget 5 at most 4 words" },
  { "/midi/forget", { "" }, "/fail /midi/forget 1 name a source, a node, a parameter or a scene" },
  { "/midi/forget", { "cc", "1:7" }, "/done /midi/forget 2 *" },
  { "/midi/forget", { "cc 1:7", "vol.gain" }, "/done /midi/forget 2 *" },
  { "/midi/forget", { "vol" }, "/done /midi/forget 2 *" },
};

TEST_ROWS(edits_of_the_map_are_checked_and_undone, edits)
{
  const char* const* const words = edits[row].words;
  const char types[] = { 's', words[1] ? 's' : '\0', words[2] ? 's' : '\0', '\0' };
  client_ask(rig.client, "/done /midi/map 1 *", "/midi/map", "s", "cc 1:7 vol.gain");
  client_ask(rig.client, edits[row].answer, edits[row].address, types, words[0], words[1],
             words[2]);
  if (!strncmp(edits[row].answer, "/done", 5)) {
    client_ask(rig.client, "/midi/list  1 1", "/midi/list", "");
    client_ask(rig.client, "/done /rack/undo 3 *", "/rack/undo", "");
  }
  client_ask(rig.client, "/midi/list cc 1:7 vol.gain\n 1 1", "/midi/list", "");
}

/// What moves, and the line that it makes.
static const struct {
  const char* target;
  Bytes messages[MAX_EVENTS];
  const char* line;
} lessons[] = {
  { "vol.gain pickup=on",
    { { { 0xB0, 20, 5 } }, { { 0xB0, 20, 6 } } },
    "cc 1:20 vol.gain pickup=on" },
  { "vol.gain", // another controller moves first
    { { { 0xB0, 1, 5 } }, { { 0xB2, 20, 6 } }, { { 0xB2, 20, 7 } } },
    "cc 3:20 vol.gain" },
  { "vol.gain", { { { 0xB0, 10, 5 } }, { { 0xB0, 42, 6 } } }, "cc14 1:10 vol.gain" },
  { "vol.gain", { { { 0xB0, 42, 5 } }, { { 0xB0, 10, 6 } } }, "cc14 1:10 vol.gain" },
  { "vol.gain",
    { { { 0xB0, 99, 2 } }, { { 0xB0, 98, 4 } }, { { 0xB0, 6, 1 } }, { { 0xB0, 38, 1 } } },
    "nrpn 1:260 vol.gain" },
  { "vol.gain", // a selection is no controller, also if it comes twice
    { { { 0xB0, 99, 2 } },
      { { 0xB0, 98, 4 } },
      { { 0xB0, 98, 5 } },
      { { 0xB0, 6, 1 } },
      { { 0xB0, 6, 2 } } },
    "nrpn 1:261 vol.gain" },
  { "vol.gain", { { { 0xE1, 0, 5 } }, { { 0xE1, 0, 6 } } }, "bend 2 vol.gain" },
  { "lowcut.frequency 80..8k", // notes and programs do not count
    { { { 0x90, 60, 5 } }, { { 0xC0, 6, 0 } }, { { 0xB0, 2, 6 } }, { { 0xB0, 2, 7 } } },
    "cc 1:2 lowcut.frequency 80..8k" },
};

TEST_ROWS(a_controller_is_learnt, lessons)
{
  char line[128];
  uint32_t n = 0;
  while (n < MAX_EVENTS && lessons[row].messages[n].bytes[0]) {
    ++n;
  }
  fake_engine_hear(rig.engine, NULL, 0);
  client_subscribe(rig.other, "/node/vol/gain ");
  client_ask(rig.client, "/done /midi/learn", "/midi/learn", "s", lessons[row].target);
  hear(lessons[row].messages, n);
  const char* const learnt = client_receive(rig.other);
  ck_assert_msg(!strncmp(learnt, "/midi/learned ", 14) || !strncmp(learnt, "/rack/changed ", 14),
                "%s", learnt);
  snprintf(line, sizeof(line), "midi %s\n", lessons[row].line);
  control_rig_expect_rack(line);
  client_ask(rig.client, "/done /rack/undo 2 *", "/rack/undo", "");
  hear(lessons[row].messages, n); // not learnt again
  time_sleep(4U * MIDI_POLL_NS);
  client_ask(rig.client, "/midi/list  1 1", "/midi/list", "");
}

TEST(the_channel_of_a_note_is_learnt)
{
  client_ask(rig.client, "/done /rack/do 1 *", "/rack/do", "s",
             "add lead lv2 synth\nconnect lead out");
  fake_engine_hear(rig.engine, NULL, 0);
  client_subscribe(rig.other, "/node/lead/bypass ");
  client_ask(rig.client, "/done /midi/learn", "/midi/learn", "s", "lead");
  hear(
      (const Bytes[]){
          { { 0xB0, 7, 1 } }, { { 0xB0, 7, 2 } }, { { 0x81, 60, 9 } }, { { 0x92, 60, 9 } } },
      4U);
  client_receive(rig.other); // /midi/learned or /rack/changed
  client_ask(rig.client, "/midi/list notes 3 lead\n 1 1", "/midi/list", "");
}

TEST(a_line_that_is_learnt_and_refused_is_a_warning)
{
  fake_engine_hear(rig.engine, NULL, 0);
  client_ask(rig.client, "/done /midi/learn", "/midi/learn", "s", "vol.gain relative=twos");
  hear((const Bytes[]){ { { 0xE0, 7, 1 } }, { { 0xE0, 7, 2 } } }, 2U);
  AWAIT(control_rig_has_warned("/midi/map: map:1:13: only 7-bit controllers (cc) can be"));
}

TEST(only_what_can_be_mapped_is_learnt)
{
  client_ask(rig.client, "/fail /midi/learn 3 this run has no MIDI ports; start it with *",
             "/midi/learn", "s", "vol.gain");
  fake_engine_hear(rig.engine, NULL, 0);
  client_ask(rig.client, "/fail /midi/learn 3 learn:1:13: no node \"vox\"; *", "/midi/learn", "s",
             "vox.gain");
  client_ask(rig.client, "/fail /midi/learn 2 learn:1:14: vol (gain) takes no notes", "/midi/learn",
             "s", "vol");
  client_ask(rig.client, "/fail /midi/learn 1 a line of the map has no new line", "/midi/learn",
             "s", "vol.gain\nremove vol");
  client_ask(rig.client, "/fail /midi/learn 2 learn:1:22: *", "/midi/learn", "sf", "vol.gain",
             (double)NAN);
  client_ask(rig.client, "/done /midi/learn", "/midi/learn", "ss", "vol.gain", "invert=on");
  client_ask(rig.client, "/done /midi/learn", "/midi/learn", ""); // never mind
  hear_one(0xB0, 20, 5);
  hear_one(0xB0, 20, 6);
  client_ask(rig.client, "/midi/list  1 1", "/midi/list", "");
}

TEST(a_program_recalls_its_scene)
{
  client_ask(rig.client, "/rack/warning midi program 16:3 recalls scene b, which is not there\n",
             "/rack/do", "s",
             "scene a vol.gain=-20\nmidi program 16:2 scene a\nmidi program 16:3 scene b");
  client_expect(rig.client, "/done /rack/do 1 *");
  client_subscribe(rig.other, "/node/vol/gain ");
  hear((const Bytes[]){ { { 0xCF, 2, 0 } }, { { 0xC0, 1, 0 } }, { { 0xCF, 1, 0 } } }, 3U);
  client_expect(rig.other, "/node/vol/gain -20");
  client_ask(rig.client, "/done /rack/undo 3 *", "/rack/undo", ""); // one step
  control_rig_expect_rack("vol gain gain=-6dB\n");
  ck_assert(!control_rig_has_warned("/scene/recall"));
}

/// Each recall has a round of its own, between those of clients.
TEST(programs_take_turns_with_clients)
{
  client_ask(rig.client, "/done /rack/do 1 *", "/rack/do", "s",
             "scene a vol.gain=-20\nscene b vol.gain=-30\n"
             "midi program 1:1 scene a\nmidi program 1:2 scene b");
  MidiEvent programs[N_PROGRAMS] = { 0 };
  for (uint32_t e = 0; e < N_PROGRAMS; ++e) {
    programs[e] = (MidiEvent){ .n_bytes = 2U, .bytes = { 0xC0, (uint8_t)(e % 2U) } };
  }
  const uint64_t before = control_rounds(rig.control);
  fake_engine_hear(rig.engine, programs, N_PROGRAMS);
  AWAIT(control_rounds(rig.control) >= before + 3U);
  const double n_recalls = control_rig_status("revision") - 1.0;
  ck_assert_double_le(n_recalls, (double)(control_rounds(rig.control) - before + 1U));
  AWAIT(control_rig_status("revision") == 1.0 + N_PROGRAMS);
}

TEST(the_last_program_of_a_flood_is_recalled)
{
  client_ask(rig.client, "/done /rack/do 1 *", "/rack/do", "s",
             "scene a vol.gain=-20\nscene b vol.gain=-30\nscene c lowcut.frequency=100\n"
             "midi program 1:1 scene a\nmidi program 1:2 scene b\nmidi program 2:1 scene c");
  MidiEvent programs[FLOOD] = { { .n_bytes = 2U, .bytes = { 0xC1, 0 } } };
  for (uint32_t e = 1; e < FLOOD; ++e) {
    programs[e] = (MidiEvent){ .n_bytes = 2U, .bytes = { 0xC0, (uint8_t)(e % 2U) } };
  }
  fake_engine_hear(rig.engine, programs, FLOOD);
  AWAIT(control_rig_status("revision") == 1.0 + MIDI_MAX_PROGRAMS);
  const uint64_t rounds = control_rounds(rig.control);
  AWAIT(control_rounds(rig.control) >= rounds + 3U);
  ck_assert(control_rig_status("revision") == 1.0 + MIDI_MAX_PROGRAMS); // no further recall
  control_rig_expect_rack("vol gain gain=-30dB\n");
  control_rig_expect_rack("lowcut highpass frequency=100Hz\n");
}

TEST(feedback_follows_the_document)
{
  client_ask(rig.client, "/done /rack/do 1 *", "/rack/do", "s",
             "midi cc 1:7 vol.gain -100dB..27dB\nmidi cc 1:7 lowcut.frequency\n"
             "midi cc14 2:1 lowcut.frequency 80Hz..8kHz invert=on");
  fake_engine_hear(rig.engine, NULL, 0);
  expect_sent(0xB0, 7, 94); // -6 dB of the first target
  expect_sent(0xB1, 1, 127);
  expect_sent(0xB1, 33, 127);
  client_ask(rig.client, "/done /rack/set", "/rack/set", "sf", "vol.gain", 27.0);
  expect_sent(0xB0, 7, 127);
  client_ask(rig.client, "/done /rack/do 2 *", "/rack/do", "s", "scene a vol.gain=-100");
  client_ask(rig.client, "/done /scene/recall 3 *", "/scene/recall", "s", "a");
  expect_sent(0xB0, 7, 0);
  client_ask(rig.client, "/done /rack/undo 4 *", "/rack/undo", "");
  expect_sent(0xB0, 7, 127);
  client_ask(rig.client, "/done /rack/do 5 *", "/rack/do", "s",
             "midi cc 1:8 vol.gain\nremove lowcut");
  expect_sent(0xB0, 8, 117); // the others show their values already
}

/// Move controller 7, and set what it and controller 8 show.  Returns false if 8 gets no feedback
/// while 7 is held, because the machine stalled.
static bool
set_beside_a_hand(const double gain_db, const double frequency_hz, const uint8_t shown)
{
  const uint64_t began_ns = time_now_ns();
  hear_one(0xB0, 7, 100);
  client_ask(rig.client, "/done /rack/set", "/rack/set", "sf", "vol.gain", gain_db);
  client_ask(rig.client, "/done /rack/set", "/rack/set", "sf", "lowcut.frequency", frequency_hz);
  const MidiEvent event = next_sent();
  if (event.bytes[1] == 7U) {
    ck_assert_uint_ge(time_now_ns() - began_ns, MIDI_HOLD_NS);
    return false;
  }
  ck_assert_uint_eq(event.bytes[1], 8);
  ck_assert_uint_eq(event.bytes[2], shown);
  return true;
}

static bool
feed_beside_a_hand(void)
{
  client_ask(rig.client, "/done /rack/do 1 *", "/rack/do", "s",
             "midi cc 1:7 vol.gain -100dB..27dB\nmidi cc 1:8 lowcut.frequency 80Hz..8kHz");
  fake_engine_hear(rig.engine, NULL, 0);
  expect_sent(0xB0, 7, 94);
  expect_sent(0xB0, 8, 0);
  if (!set_beside_a_hand(-6.0, 8000.0, 127)) { // the fake engine does not move the parameter
    return false;
  }
  expect_sent(0xB0, 7, 94);
  return set_beside_a_hand(0.0, 80.0, 0); // as 100 does
}

TEST(a_controller_that_moves_gets_no_feedback_until_it_rests)
{
  while (!feed_beside_a_hand()) {
    control_rig_stop();
    control_rig_start();
  }
  time_sleep(300U * NS_PER_MS);
  client_ask(rig.client, "/done /rack/set", "/rack/set", "sf", "lowcut.frequency", 8000.0);
  expect_sent(0xB0, 8, 127); // 7 is where it should be
}

SUITE_MAIN_WITH("control_midi", control_rig_start, control_rig_stop)
