// SPDX-License-Identifier: GPL-3.0-or-later
// The tempo is a statement of the rack, and a value that parameters in bpm may have: they follow it
// until they are set otherwise.

#include "engine/rack/rack_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ADD   "add p phaser"
#define HOST  "add p lv2 \"urn:test:clock\""
#define PLUG  "connect in p\nconnect p out\n"
#define ANGLE 0U // parameters of phaser
#define TEMPO 1U // 20 to 300 bpm

static const struct {
  const char *document, *canonical;
  double bpm, number; ///< Of the rack, and of its first node
} good[] = {
  { ADD " tempo=tempo\n" PLUG "tempo 90", ADD " tempo=tempo\n" PLUG "tempo 90bpm\n", 90.0, 90.0 },
  { "tempo 140.5BPM\n" ADD " 0 tempo\n" PLUG, ADD " tempo=tempo\n" PLUG "tempo 140.5bpm\n", 140.5,
    140.5 },
  { ADD " tempo=tempo\n" PLUG "tempo 99\ntempo 120", ADD " tempo=tempo\n" PLUG, 120.0, 120.0 },
  { ADD " tempo=tempo\n" PLUG, ADD " tempo=tempo\n" PLUG, 120.0, 120.0 },
  { ADD " tempo=70bpm\n" PLUG "tempo 90", ADD " tempo=70bpm\n" PLUG "tempo 90bpm\n", 90.0, 70.0 },
  { ADD " tempo=70\n" PLUG "tempo 20\nset p.tempo tempo", ADD " tempo=tempo\n" PLUG "tempo 20bpm\n",
    20.0, 20.0 },
  { ADD " tempo=tempo\n" PLUG "tempo 999", ADD " tempo=tempo\n" PLUG "tempo 999bpm\n", 999.0,
    300.0 }, // the nearest that it accepts
  { ADD " tempo=tempo\n" PLUG "late dry\ntempo 80\nscene v p.tempo=tempo\nsafe p.*",
    ADD " tempo=tempo\n" PLUG "late dry\ntempo 80bpm\nscene v p.tempo=tempo\nsafe p.*\n", 80.0,
    80.0 },
  // A plugin follows without a value.
  { HOST "\n" PLUG "tempo 90", HOST "\n" PLUG "tempo 90bpm\n", 90.0, 90.0 },
  { HOST " host_bpm=tempo\n" PLUG "tempo 90", HOST "\n" PLUG "tempo 90bpm\n", 90.0, 90.0 },
  { HOST " host_bpm=120\n" PLUG "tempo 90", HOST " host_bpm=120bpm\n" PLUG "tempo 90bpm\n", 90.0,
    120.0 },
  { HOST " host_bpm=60\n" PLUG "tempo 90\nset p.host_bpm tempo", HOST "\n" PLUG "tempo 90bpm\n",
    90.0, 90.0 },
};

TEST_ROWS(a_tempo_is_printed_in_canonical_form, good)
{
  SCOPED_RACK Rack* const rack = rack_of(good[row].document, NULL);
  SCOPED_MEMORY char* const text = rack_print(rack);
  ck_assert_str_eq(text, good[row].canonical);
  ck_assert(rack->tempo.bpm == good[row].bpm);
  ck_assert(rack_number(&rack->nodes[0], TEMPO, 48000.0) == good[row].number);
  SCOPED_RACK Rack* const again = rack_of(text, NULL);
  ck_assert(rack_equal(rack, again));
  SCOPED_RACK Rack* const copy = rack_copy(rack);
  ck_assert(rack_equal(rack, copy));
  ck_assert(rack_number(&copy->nodes[0], TEMPO, 48000.0) == good[row].number);
}

static const struct {
  const char *statement, *message;
} bad[] = {
  { "tempo", "t:1:6: unexpected end; write: tempo BPM [fixed|jack|midi]" },
  { "tempo 19.9", "t:1:7: tempo 19.9bpm is out of range; 20bpm to 999bpm" },
  { "tempo 1000", "t:1:7: tempo 1000bpm is out of range; 20bpm to 999bpm" },
  { "tempo tempo",
    "t:1:7: a tempo is a number in bpm, or one of fixed, jack, midi, not \"tempo\"" },
  { "tempo nan", "t:1:7: a tempo is a number in bpm, or one of fixed, jack, midi, not \"nan\"" },
  { "tempo 120 bpm", "t:1:11: \"bpm\" stands alone; write the number and its unit without a space: "
                     "120bpm" },
  { "tempo 120 130", "t:1:11: a tempo is fixed, or comes from jack or midi, not \"130\"" },
  { "tempo 120 jakc", "t:1:11: a tempo is fixed, or comes from jack or midi, not \"jakc\"" },
  { "tempo jack 12", "t:1:12: tempo 12bpm is out of range; 20bpm to 999bpm" },
  { "tempo 12 jack", "t:1:7: tempo 12bpm is out of range; 20bpm to 999bpm" },
  { "tempo jack midi", "t:1:12: after the source of a tempo comes a number in bpm, not \"midi\"" },
  { "tempo jack jakc",
    "t:1:12: a tempo is a number in bpm, or one of fixed, jack, midi, not \"jakc\"" },
  { "tempo jack 120 130", "t:1:16: unexpected \"130\"; a statement ends with its line" },
  { "tempo jakc", "t:1:7: a tempo is a number in bpm, or one of fixed, jack, midi, not \"jakc\"" },
  { "tempo 2Hz", "t:1:7: tempo takes a number in bpm, not \"2Hz\"" },
  { "tmepo 120", "t:1:1: no statement \"tmepo\"; did you mean \"tempo\"?" },
  { "add d delay time=tempo", "t:1:18: time takes a number in ms, s or frames, not" },
  { "add p phaser tempo=fast",
    "t:1:20: tempo takes a number in bpm, or the word tempo, not \"fast\"" },
  { "add g gain gain=tempo", "t:1:17: gain takes a number in dB, not \"tempo\"" },
};

TEST_ROWS(a_wrong_tempo_is_refused_with_its_place, bad)
{
  Rack* none = NULL;
  Error error;
  ck_assert_int_eq(rack_parse(bad[row].statement, "t", NULL, &none, &error), STATUS_BAD_RACK);
  assert_says(error.text, bad[row].message);
}

static const struct {
  const char *document, *canonical;
  RackTempo tempo;
} sources[] = {
  { "tempo jack", "tempo jack\n", { 120.0, RACK_TEMPO_JACK } },
  { "tempo 90 jack", "tempo 90bpm jack\n", { 90.0, RACK_TEMPO_JACK } },
  { "tempo 90\ntempo jack", "tempo 90bpm jack\n", { 90.0, RACK_TEMPO_JACK } },
  { "tempo 90bpm jack\ntempo 91", "tempo 91bpm\n", { 91.0, RACK_TEMPO_FIXED } },
  { "tempo 90 midi", "tempo 90bpm midi\n", { 90.0, RACK_TEMPO_MIDI } },
  { "tempo midi 90bpm", "tempo 90bpm midi\n", { 90.0, RACK_TEMPO_MIDI } },
  { "tempo 90 jack\ntempo fixed 100", "tempo 100bpm\n", { 100.0, RACK_TEMPO_FIXED } },
  { "tempo 90 jack\ntempo fixed", "tempo 90bpm\n", { 90.0, RACK_TEMPO_FIXED } },
  { "tempo 90 jack\ntempo 120 fixed", "", { 120.0, RACK_TEMPO_FIXED } },
};

TEST_ROWS(a_source_is_printed_and_compared, sources)
{
  SCOPED_RACK Rack* const rack = rack_of(sources[row].document, NULL);
  ck_assert(rack_same_tempo(rack->tempo, sources[row].tempo));
  SCOPED_MEMORY char* const text = rack_print(rack);
  assert_says(text, "connect in out\n");
  ck_assert_str_eq(text + strlen("connect in out\n"), sources[row].canonical);
  SCOPED_RACK Rack* const again = rack_of(text, NULL);
  ck_assert(rack_equal(rack, again));
  rack_set_tempo(again, (RackTempo){ rack->tempo.bpm, !rack->tempo.source });
  ck_assert(!rack_equal(rack, again) && rack_sounds_equal(rack, again));
}

TEST(a_tempo_alone_keeps_the_empty_rack)
{
  SCOPED_RACK Rack* const rack = rack_of("tempo 60", NULL);
  ck_assert_uint_eq(rack->n_edges, 1U);
  SCOPED_MEMORY char* const text = rack_print(rack);
  ck_assert_str_eq(text, "connect in out\ntempo 60bpm\n");
  SCOPED_RACK Rack* const chain = rack_of("tempo: gain", NULL); // the name of a node
  ck_assert_str_eq(chain->nodes[0].name, "tempo");
}

TEST(racks_of_other_tempos_differ_in_values_only)
{
  SCOPED_RACK Rack* const rack = rack_of("phaser tempo=tempo", NULL);
  SCOPED_RACK Rack* const before = rack_copy(rack);
  OK(rack_apply(rack, "tempo 130", "t", &error));
  ck_assert(!rack_equal(rack, before) && !rack_sounds_equal(rack, before));
  ck_assert(rack_differs_in_values(rack, before));
  ck_assert(rack_number(&rack->nodes[0], TEMPO, 48000.0) == 130.0);
  ck_assert(rack_number(&before->nodes[0], TEMPO, 48000.0) == 120.0);
  OK(rack_apply(rack, "add q phaser tempo=tempo", "t", &error));
  ck_assert(rack_number(&rack->nodes[1], TEMPO, 48000.0) == 130.0);
}

TEST(a_parameter_follows_until_it_is_set)
{
  SCOPED_RACK Rack* const rack = rack_of("phaser tempo=tempo", NULL);
  const RackUid uid = rack->nodes[0].uid;
  rack_set_value(rack, uid, TEMPO, 0U, 100.0);
  rack_set_tempo(rack, (RackTempo){ .bpm = 150.0 });
  ck_assert(rack_number(&rack->nodes[0], TEMPO, 48000.0) == 100.0);
  rack_follow_tempo(rack, uid, TEMPO, 0U, 160.0);
  ck_assert(rack->tempo.bpm == 160.0);
  ck_assert(rack_number(&rack->nodes[0], TEMPO, 48000.0) == 160.0);
  // What a message must not do: another node, parameter or tempo.
  SCOPED_RACK Rack* const before = rack_copy(rack);
  rack_follow_tempo(rack, uid + 9U, TEMPO, 0U, 70.0);
  rack_follow_tempo(rack, uid, ANGLE, 0U, 70.0);
  rack_follow_tempo(rack, uid, 99U, 0U, 70.0);
  rack_follow_tempo(rack, uid, TEMPO, 1U, 70.0);
  rack_follow_tempo(rack, uid, TEMPO, 0U, 19.0);
  rack_follow_tempo(rack, uid, TEMPO, 0U, (double)NAN);
  ck_assert(rack_equal(rack, before));
}

TEST(a_tempo_is_rounded_for_whole_numbers_and_refused_for_new_nodes)
{
  const FxParam whole = {
    .id = "bpm", .kind = PARAM_INTEGER, .unit = UNIT_BPM, .min = 30.0, .max = 200.0
  };
  const FxInfo fx = { .name = "whole", .params = &whole, .n_params = 1U };
  RackValue follows = { .kind = VALUE_TEMPO };
  RackNode node = { .fx = &fx, .values = &follows, .tempo_bpm = 120.6 };
  ck_assert(rack_can_follow_tempo(&whole));
  ck_assert(rack_number(&node, 0U, 48000.0) == 121.0);
  node.tempo_bpm = 20.0;
  ck_assert(rack_number(&node, 0U, 48000.0) == 30.0);
  FxParam structural = whole;
  structural.structural = true;
  ck_assert(!rack_can_follow_tempo(&structural));
  RackValue value = { .kind = VALUE_INITIAL };
  ck_assert_int_eq(rack_value_from_text(&structural, "tempo", &value, NULL), STATUS_BAD_RACK);
}

TEST(a_tempo_is_no_end_of_a_morph)
{
  SCOPED_RACK Rack* const rack = rack_of("phaser", NULL);
  double number = 0.0;
  ck_assert(rack_read_number(&rack->nodes[0], TEMPO, "80", &number) && number == 80.0);
  ck_assert(!rack_read_number(&rack->nodes[0], TEMPO, "tempo", &number));
}

SUITE_MAIN("rack_tempo")
