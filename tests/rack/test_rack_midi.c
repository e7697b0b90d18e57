// SPDX-License-Identifier: GPL-3.0-or-later
// The MIDI map is a part of the rack: checked, printed in the order of its sources, and compared.
// Its lines follow a node that is renamed and go with a node that is removed; those of a missing
// plugin stay as they are written.

#include "engine/rack/rack_private.h"
#include "tests/support/fx_plugins.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RACK                                                                                       \
  "add hall delay\nadd low highpass\nadd vol gain\nadd ph phaser\nadd synth lv2 synth\n"           \
  "connect in hall\n"

/// Statements after RACK, and their canonical text.
static const struct {
  const char *statements, *canonical;
} good[] = {
  { "midi cc 1:74 low.frequency 80Hz..8k taper=log pickup=on",
    "midi cc 1:74 low.frequency 80Hz..8k taper=log pickup=on\n" },
  { "midi cc 16:119 low.frequency pickup=yes invert=on 80..0.1k",
    "midi cc 16:119 low.frequency 80..0.1k invert=on pickup=on\n" },
  { "midi cc 1:0 vol.gain -60dB..+6dB taper=dB", "midi cc 1:0 vol.gain -60dB..+6dB taper=dB\n" },
  { "midi cc 1:1 hall.feedback 10%..0.5 invert=off relative=off",
    "midi cc 1:1 hall.feedback 10%..0.5\n" },
  { "midi cc 1:1 hall.time relative=twos\nmidi cc 1:2 low.type relative=offset\n"
    "midi cc 1:3 ph.mute toggle=on\nmidi cc 1:4 ph.bypass relative=signed",
    "midi cc 1:1 hall.time relative=twos\nmidi cc 1:2 low.type relative=offset\n"
    "midi cc 1:3 ph.mute toggle=on\nmidi cc 1:4 ph.bypass relative=signed\n" },
  // in the order of the sources; several targets of one in that of their statements
  { "midi program 16:128 scene v-1\nmidi notes 10 synth\nmidi bend 3 ph.angle\n"
    "midi pressure 2 hall.time\nmidi nrpn 1:16383 vol.gain\nmidi cc14 1:31 vol.gain\n"
    "midi cc 2:7 vol.gain\nmidi cc 1:8 vol.gain\nmidi cc 1:7 vol.gain\nmidi cc 1:7 hall.time\n"
    "scene a\nsafe vol.*",
    "midi cc 1:7 vol.gain\nmidi cc 1:7 hall.time\nmidi cc 1:8 vol.gain\nmidi cc 2:7 vol.gain\n"
    "midi cc14 1:31 vol.gain\nmidi nrpn 1:16383 vol.gain\nmidi pressure 2 hall.time\n"
    "midi bend 3 ph.angle\nmidi notes 10 synth\nscene a\nsafe vol.*\n"
    "midi program 16:128 scene v-1\n" },
  { "midi cc 1:1 vol.gain\nmidi cc 1:1 hall.time 1ms..2ms\nmidi notes 1 synth\nrename hall h\n"
    "rename synth s",
    "midi cc 1:1 vol.gain\nmidi cc 1:1 h.time 1ms..2ms\nmidi notes 1 s\n" },
  { "midi cc 1:1 vol.gain\nmidi cc 1:1 hall.time\nmidi notes 1 synth\nremove hall\nremove synth",
    "midi cc 1:1 vol.gain\n" },
};

/// The part of the text from the first line of MIDI on.
static const char*
midi_of(const char* const text)
{
  const char* const at = strstr(text, "\nmidi ");
  return at ? at + 1 : "";
}

TEST_ROWS(lines_are_printed_in_canonical_form, good)
{
  char document[2048];
  snprintf(document, sizeof(document), RACK "%s", good[row].statements);
  SCOPED_RACK Rack* const rack = rack_of(document, NULL);
  SCOPED_MEMORY char* const text = rack_print(rack);
  ck_assert_str_eq(midi_of(text), good[row].canonical);
  SCOPED_RACK Rack* const again = rack_of(text, NULL);
  ck_assert(rack_equal(rack, again));
  SCOPED_MEMORY char* const twice = rack_print(again);
  ck_assert_str_eq(text, twice);
  OK(rack_check_text(rack, &error));
}

static const struct {
  const char *statement, *message;
} bad[] = {
  { "midi", "t:7:5: unexpected end; write: midi cc CHANNEL:CONTROLLER NODE.PARAM" },
  { "midi c 1:1 vol.gain", "t:7:6: MIDI has no \"c\"; did you mean \"cc\"?" },
  { "midi cc 1 vol.gain", "t:7:9: unexpected \"1\"; write a channel and a number, such as 1:74" },
  { "midi cc 1:x vol.gain", "t:7:9: unexpected \"1\"; write a channel and a number" },
  { "midi bend 1:1 vol.gain", "t:7:11: unexpected \"1:1\"; write a channel, such as 1" },
  { "midi cc 0:1 vol.gain", "t:7:9: a channel is 1 to 16, not 0" },
  { "midi cc 17:1 vol.gain", "t:7:9: a channel is 1 to 16, not 17" },
  { "midi cc 1:120 vol.gain", "t:7:9: a controller is 0 to 119, not 120" },
  { "midi cc14 1:32 vol.gain", "t:7:11: the first controller of a pair is 0 to 31, not 32" },
  { "midi nrpn 1:16384 vol.gain", "t:7:11: a non-registered parameter is 0 to 16383, not 16384" },
  { "midi nrpn 1:163840 vol.gain", "t:7:11: unexpected \"1:163840\"; write a channel" },
  { "midi program 1:0 scene v", "t:7:14: a program is 1 to 128, not 0" },
  { "midi program 1:1 verse",
    "t:7:18: unexpected \"verse\"; write: midi program CHANNEL:PROGRAM scene NAME" },
  { "midi program 1:1 scene a.b", "t:7:24: \"a.b\" is not a valid name of a scene" },
  { "midi notes 1 vol", "t:7:14: vol (gain) takes no notes" },
  { "midi notes 1 vox", "t:7:14: no node \"vox\"; did you mean \"vol\"?" },
  { "midi cc 1:1 vol", "t:7:13: unexpected \"vol\"; write: midi cc" },
  { "midi cc 1:1 vox.gain", "t:7:13: no node \"vox\"; did you mean \"vol\"?" },
  { "midi cc 1:1 vol.gian", "t:7:17: gain has no parameter \"gian\"; did you mean \"gain\"?" },
  { "midi cc 1:1 low.order",
    "t:7:17: low.order is structural: a change makes a new node, so no controller can move it" },
  { "midi cc 1:1 low.backend", "t:7:17: low.backend is structural" },
  { "midi cc 1:1 hall.note", "t:7:18: hall.note is structural" },
  { "midi cc 1:1 vol.gain -6..x", "t:7:22: gain takes a number in dB, not \"x\"" },
  { "midi cc 1:1 vol.gain -6..50", "t:7:22: gain 50dB is out of range; -120dB to 40dB" },
  { "midi cc 1:1 vol.gain -6..",
    "t:7:22: unexpected \"-6..\"; write a range as LOW..HIGH, such as 80Hz..8kHz" },
  { "midi cc 1:1 vol.gain -6..0 -6..0", "t:7:28: unexpected \"-6..0\"; the line has a range" },
  { "midi cc 1:1 vol.gain 0..-6",
    "t:7:22: the range goes downwards; write its lower end first, and invert=on" },
  { "midi cc 1:1 hall.time 10frames..1s",
    "t:7:23: write the range in numbers, and times in ms or s" },
  { "midi cc 1:1 ph.tempo tempo..300", "t:7:22: write the range in numbers" },
  { "midi cc 1:1 vol.gain -60..6 taper=log",
    "t:7:22: the taper \"log\" cannot have this range: log needs one from 0 or above" },
  { "midi cc 1:1 vol.gain taper=exp",
    "t:7:28: taper has no choice \"exp\"; one of linear, log, dB" },
  { "midi cc 1:1 vol.gain taper", "t:7:22: unexpected \"taper\"; write: midi cc" },
  { "midi cc 1:1 vol.gain speed=1",
    "t:7:22: unexpected \"speed\"; the options are taper, invert, pickup, toggle and relative" },
  { "midi cc 1:1 vol.gain pickup=maybe", "t:7:29: pickup has no choice \"maybe\"" },
  { "midi cc 1:1 vol.gain toggle=on", "t:7:13: gain (number) takes no toggle" },
  { "midi cc 1:1 ph.mute 0..1", "t:7:21: mute (switch) takes no range" },
  { "midi cc 1:1 low.type taper=log", "t:7:13: type (choice) takes no taper" },
  { "midi bend 1 vol.gain relative=twos", "t:7:13: only 7-bit controllers (cc) can be relative" },
  { "midi cc 1:1 vol.gain relative=twos pickup=on",
    "t:7:13: pickup, toggle and relative exclude each other; write one of them" },
  { "midi cc 1:1 vol.gain 6 dB", "t:7:22: unexpected \"6\"; write: midi cc" },
  { "midi cc 1:1 vol.gain\nmidi cc 1:1 vol.gain pickup=on",
    "t:8:6: the same source has the same target twice; remove one line" },
  { "midi program 1:1 scene a\nmidi program 1:1 scene b",
    "t:8:6: the same source has the same target twice" },
};

TEST_ROWS(a_wrong_line_is_refused_with_its_place, bad)
{
  char document[1024];
  snprintf(document, sizeof(document), RACK "%s", bad[row].statement);
  assert_refused(document, bad[row].message);
}

TEST(an_edit_replaces_a_line_and_a_document_all)
{
  SCOPED_RACK Rack* const rack = rack_of(RACK "midi cc 1:1 vol.gain\nmidi cc 1:2 vol.gain\n"
                                              "midi program 1:1 scene a",
                                         NULL);
  SCOPED_RACK Rack* const before = rack_copy(rack);
  OK(rack_apply(rack, "midi program 1:1 scene b\nscene c", "t", &error));
  ck_assert(!rack_equal(rack, before) && rack_sounds_equal(rack, before));
  OK(rack_apply(rack, "midi cc 1:2 vol.gain pickup=on\nmidi cc 1:1 hall.time", "t", &error));
  ck_assert(!rack_sounds_equal(rack, before) && rack_differs_in_values(rack, before));
  SCOPED_MEMORY char* const text = rack_print(rack);
  ck_assert_str_eq(midi_of(text), "midi cc 1:1 vol.gain\nmidi cc 1:1 hall.time\n"
                                  "midi cc 1:2 vol.gain pickup=on\nscene c\n"
                                  "midi program 1:1 scene b\n");
  Error error;
  ck_assert(rack_apply(rack, "midi cc 1:3 vol.gain\nremove hall\nremove hall", "t", &error));
  SCOPED_MEMORY char* const again = rack_print(rack);
  ck_assert_str_eq(again, text); // a refused edit leaves all lines
  SCOPED_RACK Rack* const next = rack_of("gain", rack);
  ck_assert_uint_eq(next->n_midi, 0);
  ck_assert_uint_eq(before->n_midi, 3);
}

static const struct {
  const char* words[2];
  const char* left; ///< NULL: there is no such line
} removals[] = {
  { { "vol.gain" }, "cc 1:1 hall.time\nprogram 1:1 scene vol\n" },
  { { "vol" }, "cc 1:1 hall.time\n" },
  { { "cc 1:1" }, "cc 1:2 vol.gain\nprogram 1:1 scene vol\n" },
  { { "cc 1:1", "vol.gain" }, "cc 1:1 hall.time\ncc 1:2 vol.gain\nprogram 1:1 scene vol\n" },
  { { "program 1:1" }, "cc 1:1 vol.gain\ncc 1:1 hall.time\ncc 1:2 vol.gain\n" },
  { { "cc 1:2", "hall" }, NULL },
  { { "cc 1:" }, NULL },
  { { "cc" }, NULL },
  { { "vol.gai" }, NULL },
};

TEST_ROWS(lines_are_removed_by_source_and_by_target, removals)
{
  SCOPED_RACK Rack* const rack =
      rack_of(RACK "midi cc 1:1 vol.gain\nmidi cc 1:1 hall.time\nmidi cc 1:2 vol.gain\n"
                   "midi program 1:1 scene vol",
              NULL);
  Error error;
  const Status status =
      rack_remove_midi(rack, removals[row].words, removals[row].words[1] ? 2U : 1U, &error);
  ck_assert_int_eq(status, removals[row].left ? STATUS_OK : STATUS_NOT_FOUND);
  TextBuffer left = { 0 };
  for (uint32_t m = 0; m < rack->n_midi; ++m) {
    text_buffer_add(&left, rack->midi[m]->line + strlen("midi "));
  }
  SCOPED_MEMORY char* const text = text_buffer_take(&left);
  if (removals[row].left) {
    ck_assert_str_eq(text, removals[row].left);
  } else {
    ck_assert_uint_eq(rack->n_midi, 4);
  }
}

TEST(targets_have_the_range_and_the_place_of_their_node)
{
  SCOPED_RACK Rack* const rack =
      rack_of(RACK "midi program 1:1 scene a\nmidi notes 2 synth\nmidi cc 1:2 low.frequency "
                   "80..8k invert=on\nmidi cc 1:1 ph.mute",
              NULL);
  MidiTarget targets[4];
  ck_assert_uint_eq(rack_midi_targets(rack, targets), 3);
  const RackNode* const nodes[] = { rack_find(rack, "ph"), rack_find(rack, "low"),
                                    rack_find(rack, "synth") };
  for (uint32_t t = 0; t < ARRAY_LEN(nodes); ++t) {
    ck_assert_uint_eq(targets[t].uid, nodes[t]->uid);
    ck_assert_ptr_eq(&rack->nodes[targets[t].node_index], nodes[t]);
  }
  ck_assert_str_eq(nodes[0]->fx->params[targets[0].param].id, "mute");
  ck_assert(targets[1].low == 80.0 && targets[1].high == 8000.0 && targets[1].shape.is_inverted);
  ck_assert_uint_eq(targets[2].source.kind, MIDI_NOTES);
}

TEST(lines_of_a_missing_plugin_are_kept_until_it_is_there)
{
  static const char document[] = "add late lv2 \"urn:test:late\" thr=-24dB\n"
                                 "connect in late\n"
                                 "midi cc 1:1 late.thr -40dB..0dB\n"
                                 "midi cc 1:2 late.gone 1..x pickup=on\n"
                                 "midi notes 1 late\n";
  Rack* rack = NULL;
  OK(rack_parse_bypass(document, "t", NULL, &rack, &error));
  SCOPED_MEMORY char* const text = rack_print(rack);
  ck_assert_str_eq(text, document);
  MidiTarget targets[3];
  ck_assert_uint_eq(rack_midi_targets(rack, targets), 0);
  fx_plugins_install_late(true);
  ck_assert_uint_eq(rack_return_plugins(rack), 1);
  ck_assert_uint_eq(rack_midi_targets(rack, targets), 1); // thr alone fits
  ck_assert_double_eq(targets[0].low, -40.0);
  // A worker whose plugin has other parameters takes the text, too.
  SCOPED_MEMORY char* const sound = rack_print_sound(rack);
  SCOPED_RACK Rack* copy = NULL;
  OK(rack_parse_copy(sound, "x", NULL, 0, &copy, &error));
  ck_assert_uint_eq(rack_midi_targets(copy, targets), 1);
  fx_plugins_install_late(false);
  rack_free(rack);
}

TEST(a_program_without_its_scene_is_a_warning)
{
  SCOPED_RACK Rack* const rack = rack_of("chain gain\nscene a gain.gain=1\n"
                                         "midi program 16:1 scene a\nmidi program 16:2 scene b",
                                         NULL);
  SCOPED_MEMORY char* const warnings = rack_warnings(rack, 48000.0);
  ck_assert_str_eq(warnings, "midi program 16:2 recalls scene b, which is not there\n");
}

TEST(bounds_are_kept)
{
  TextBuffer buffer = { 0 };
  text_buffer_add(&buffer, "chain vol: gain\n");
  for (uint32_t m = 0; m <= RACK_MAX_MIDI; ++m) {
    text_buffer_print(&buffer, "midi nrpn 1:%u vol.gain\n", m);
  }
  SCOPED_MEMORY char* const text = text_buffer_take(&buffer);
  Rack* none = NULL;
  Error error;
  ck_assert_int_eq(rack_parse(text, "t", NULL, &none, &error), STATUS_LIMIT);
  ck_assert_str_eq(error.text, "t:1026:6: too many MIDI lines; at most 1024");
  *strstr(text, "midi nrpn 1:1024") = '\0';
  SCOPED_RACK Rack* const rack = rack_of(text, NULL);
  ck_assert_uint_eq(rack->n_midi, RACK_MAX_MIDI);
}

SUITE_MAIN("rack_midi")
