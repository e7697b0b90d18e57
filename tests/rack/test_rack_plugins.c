// SPDX-License-Identifier: GPL-3.0-or-later
// Plugins in the rack language: a format and an id stand for an effect in every statement,
// canonical text has the complete id, mistakes are reported with their place, and values have the
// units, names and numbers of a plugin.  The plugins are those of support/fx_plugins.c.

#include "engine/rack/rack_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIL4  "\"http://gareus.org/oss/lv2/fil4#stereo\""
#define TUBE  "\"urn:zamaudio:ZamTube\""
#define ALONE "\nconnect in fil4-stereo\nconnect fil4-stereo out\n"

/// Documents and their expected canonical text.
static const struct {
  const char *document, *canonical;
} good[] = {
  { "tube: lv2 " TUBE " tubedrive=3 | ladspa tap_reverb/tap_reverb | gain -1dB",
    "add tube lv2 " TUBE " tubedrive=3\nadd tap_reverb ladspa tap_reverb/tap_reverb\n"
    "add gain gain gain=-1dB\nconnect in tube\nconnect tube tap_reverb\n"
    "connect tap_reverb gain\nconnect gain out\n" },
  { "lv2 ZamTube 3 on", // a short name, and values in the order of the parameters
    "add ZamTube lv2 " TUBE " tubedrive=3 bypass=on\nconnect in ZamTube\nconnect ZamTube out\n" },
  { "(lv2 ZamTube + lv2 ZamTube)|clap com.zamaudio.ZamComp -20dB",
    "add ZamTube lv2 " TUBE "\nadd ZamTube2 lv2 " TUBE "\n"
    "add ZamComp clap com.zamaudio.ZamComp thr=-20dB\nconnect in ZamTube\nconnect in ZamTube2\n"
    "connect ZamTube ZamComp\nconnect ZamTube2 ZamComp\nconnect ZamComp out\n" },
  { "add eq lv2 " FIL4 " HPfreq=80Hz bypass=on backend=cpu",
    "add eq lv2 " FIL4 " HPfreq=80Hz bypass=on backend=cpu\n" },
  { "add eq lv2 fil4-stereo\nset eq.HPfreq 0.1kHz", "add eq lv2 " FIL4 " HPfreq=100Hz\n" },
  { "chain gain\ninsert eq lv2 fil4-stereo before out 80\ninsert t lv2 " TUBE " after gain",
    "add gain gain\nadd eq lv2 " FIL4 " HPfreq=80Hz\nadd t lv2 " TUBE "\nconnect in gain\n"
    "connect t eq\nconnect eq out\nconnect gain t\n" },
  { "lv2: gain | lv2 ZamTube", // before a colon, a format is a name
    "add lv2 gain\nadd ZamTube lv2 " TUBE "\nconnect in lv2\nconnect lv2 ZamTube\n"
    "connect ZamTube out\n" },
  { "add lv2 gain\nadd clap clap ZamComp\nconnect lv2 clap",
    "add lv2 gain\nadd clap clap com.zamaudio.ZamComp\nconnect lv2 clap\n" },
  { "urn:gain", "add urn gain\nconnect in urn\nconnect urn out\n" },
  { "lv2 fil4-stereo slope=24 level=0dB mark=0 decay=1000ms wet=100", // the initial values
    "add fil4-stereo lv2 " FIL4 ALONE },
  { "lv2 fil4-stereo slope=\"12 dB/oct\"",
    "add fil4-stereo lv2 " FIL4 " slope=\"12 dB/oct\"" ALONE },
  { "lv2 fil4-stereo slope=0.1", "add fil4-stereo lv2 " FIL4 " slope=steep" ALONE },
  { "lv2 fil4-stereo slope=7", "add fil4-stereo lv2 " FIL4 " slope=7" ALONE },
  { "lv2 fil4-stereo mark=1/4 hold=12ms",
    "add fil4-stereo lv2 " FIL4 " mark=0.25 hold=12ms" ALONE },
};

TEST(a_format_and_an_id_stand_for_an_effect)
{
  for (size_t i = 0; i < ARRAY_LEN(good); ++i) {
    assert_canonical(good[i].document, good[i].canonical);
  }
}

/// Documents with a mistake, and a part of the expected message.
static const struct {
  const char *document, *message;
} bad[] = {
  { "lv2", "t:1:4: unexpected end; the id or a short name of a plugin comes here, see warprack" },
  { "lv2 | gain", "t:1:5: unexpected \"|\"; the id or a short name" },
  { "chain lv2\nadd x gain", "t:1:10: unexpected end of the line; the id or a short name" },
  { "add eq lv2 HPfreq=80", "t:1:12: unexpected \"HPfreq\"; the id or a short name" },
  { "lv2 \"\"", "t:1:5: unexpected \"\"; the id or a short name" },
  { "lv2=fil4", "t:1:4: unexpected \"=\"; the id or a short name" },
  { "chain lv2 ZamTub", "t:1:11: no lv2 plugin \"ZamTub\"; did you mean \"ZamTube\"?" },
  { "gain | ladspa \"urn:x\"", "t:1:15: no ladspa plugin \"urn:x\"; one of tap_reverb" },
  { "add x gain\nadd t lv2 ZamComp", "t:2:11: no lv2 plugin \"ZamComp\"; " },
  { "lv2 urn:zamaudio:ZamTube 3",
    "t:1:5: put quotes around an id with a colon: lv2 \"urn:zamaudio:ZamTube\"" },
  { "add eq lv2 http://gareus.org/oss/lv2/fil4#stereo HPfreq=80",
    "t:1:12: put quotes around an id with a colon: lv2 " FIL4 },
  { "lv2 ZamTube: gain", "t:1:12: unexpected \":\"" },
  { "chain " TUBE, "t:1:7: \"urn:zamaudio:ZamTube\" is the id of a plugin; write: lv2 " TUBE },
  { "gain | urn:zamaudio:ZamTube | gain",
    "t:1:8: \"urn:zamaudio:ZamTube\" is the id of a plugin; write: lv2 " TUBE },
  { "http://gareus.org/oss/lv2/fil4#stereo",
    "t:1:1: \"http://gareus.org/oss/lv2/fil4#stereo\" is" },
  { "add eq http://gareus.org/oss/lv2/fil4#stereo",
    "t:1:8: \"http://gareus.org/oss/lv2/fil4#ster" },
  { "add eq " FIL4, "t:1:8: \"http://gareus.org/oss/lv2/fil4#stereo\" is the id of a plugin" },
  { "eq: urn:zamaudio:ZamTube", "t:1:5: \"urn:zamaudio:ZamTube\" is the id of a plugin" },
  { "urn: gian", "t:1:6: no effect \"gian\"; did you mean \"gain\"?" },
  { "highpass " TUBE, "t:1:10: \"urn:zamaudio:ZamTube\" is the id of a plugin; write: lv2" },
  { "highpass urn:zamaudio:ZamTube", "t:1:10: \"urn:zamaudio:ZamTube\" is the id of a plugin" },
  { "highpass \"a:b\"", "t:1:10: frequency takes a number in Hz or kHz, not \"a:b\"" },
  { "ZamTube 3", "t:1:1: \"ZamTube\" is a plugin; write: lv2 ZamTube" },
  { "add t ZamComp", "t:1:7: \"ZamComp\" is a plugin; write: clap ZamComp" },
  { "LV2 ZamTube", "t:1:1: no effect \"LV2\"; did you mean \"lv2\"?" },
  { "lv2: 3", "t:1:1: put a space, not :, after the effect: lv2 3" },
  { "lv2: ZamTube", "t:1:1: put a space, not :, after the effect: lv2 ZamTube" },
  { "lv2 : gain", "t:1:5: unexpected \":\"; put | between effects and a space between values" },
  { "gain 3 lv2 ZamTube", "t:1:8: \"lv2\" is an effect; put | before it" },
  { "gain 3 and lv2 ZamTube", "t:1:8: unexpected \"and\"; put | between effects" },
  { "vol=lv2 ZamTube", "t:1:4: put a colon, not =, after a name: vol: lv2" },
  { "add lv2 " TUBE, "t:1:9: unexpected \"urn:zamaudio:ZamTube\"; write: add NAME EFFECT" },
  { "add gain lv2", "t:1:13: unexpected end; the id or a short name" },
  { "add lv2 ZamTube", "t:1:9: unexpected \"ZamTube\"; write: add NAME EFFECT" },
  { "add x gain\nlv2 ZamTube", "t:2:1: \"lv2\" is no statement; write: chain lv2" },
  { "add tube lv2 ZamTube\nremove ZamTube",
    "t:2:8: no node \"ZamTube\"; the node with this effect is \"tube\"" },
  { "lv2 ZamTube state=x.state",
    "t:1:13: ZamTube has no parameter \"state\", because the values of its "
    "parameters are all its state; one of tubedrive, bypass" },
  { "lv2 ZamTube drive=3", "t:1:13: ZamTube has no parameter \"drive\"; one of tubedrive, bypass" },
  { "lv2 ZamTube 3 on 4", "t:1:18: ZamTube takes at most 2 values; \"4\" is one too many" },
  { "lv2 ZamTube=3", "t:1:5: unexpected \"ZamTube\"; the id or a short name" },
};

TEST(every_mistake_is_reported_with_its_line_and_column)
{
  for (size_t i = 0; i < ARRAY_LEN(bad); ++i) {
    assert_refused(bad[i].document, bad[i].message);
  }
}

TEST(an_edit_takes_a_plugin_as_one_text)
{
  static const char* const effects[] = { "lv2 ZamTube", "lv2  urn:zamaudio:ZamTube",
                                         "lv2\turn:zamaudio:ZamTube", "lv2 " TUBE };
  for (size_t i = 0; i < ARRAY_LEN(effects); ++i) {
    SCOPED_RACK Rack* const rack = rack_new();
    OK(rack_add(rack, "a", effects[i], &error));
    OK(rack_insert(rack, "b", effects[i], "before", "out", &error));
    ck_assert_str_eq(rack->nodes[0].fx->origin->id, "urn:zamaudio:ZamTube");
    ck_assert_ptr_eq(rack->nodes[0].fx, rack->nodes[1].fx);
  }
}

TEST(an_edit_with_an_unknown_plugin_changes_nothing)
{
  const struct {
    const char* effect;
    Status status;
    const char* message;
  } cases[] = {
    { "lv2 ZamTub", STATUS_NOT_FOUND, "did you mean \"ZamTube\"?" },
    { "lv2", STATUS_BAD_RACK, "\"lv2\" lacks the id or a short name of a plugin after it" },
    { "lv2 ", STATUS_BAD_RACK, "lacks the id" },
    { "lv2 " TUBE " 3", STATUS_NOT_FOUND, "no lv2 plugin" },
    { "lv2 \"urn:zamaudio:ZamTube", STATUS_NOT_FOUND, "no lv2 plugin" },
    { "ZamTube", STATUS_NOT_FOUND, "\"ZamTube\" is a plugin; write: lv2 ZamTube" },
    { "urn:zamaudio:ZamTube", STATUS_NOT_FOUND, "is a plugin; write: lv2 urn:zamaudio:ZamTube" },
  };
  SCOPED_RACK Rack* const empty = rack_new();
  SCOPED_RACK Rack* const rack = rack_new();
  Error error;
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    ck_assert_int_eq(rack_add(rack, "a", cases[i].effect, &error), cases[i].status);
    assert_says(error.text, cases[i].message);
    ck_assert_int_eq(rack_insert(rack, "a", cases[i].effect, "before", "out", &error),
                     cases[i].status);
    ck_assert(rack_equal(rack, empty));
  }
}

TEST(a_node_with_the_same_name_and_plugin_keeps_its_uid)
{
  SCOPED_RACK Rack* const before = rack_of("t: lv2 ZamTube | r: ladspa tap_reverb", NULL);
  SCOPED_RACK Rack* const rack =
      rack_of("r: lv2 ZamTube | t: lv2 " TUBE " 3 | c: clap ZamComp", before);
  ck_assert_uint_eq(rack_find(rack, "t")->uid, rack_find(before, "t")->uid);
  ck_assert_uint_ge(rack_find(rack, "r")->uid, before->next_uid);
}

TEST(a_long_name_leaves_room_for_the_number_of_a_default_name)
{
  SCOPED_RACK Rack* const rack =
      rack_of("lv2 \"urn:test:long\" | lv2 \"urn:test:long\" | lv2 \"urn:test:long\"", NULL);
  const char* const name = rack->nodes[0].fx->name;
  ck_assert_uint_eq(strlen(name), RACK_NAME_BYTES - 1U);
  ck_assert_str_eq(rack->nodes[0].name, name);
  for (uint32_t n = 1; n < 3U; ++n) {
    const size_t length = strlen(rack->nodes[n].name);
    ck_assert_uint_lt(length, RACK_NAME_BYTES);
    ck_assert(!strncmp(rack->nodes[n].name, name, length - 1U));
    ck_assert_int_eq(rack->nodes[n].name[length - 1U], (int)('1' + n));
  }
}

TEST(a_value_that_presets_have_is_kept_also_if_it_is_the_initial_one)
{
  SCOPED_RACK Rack* const rack = rack_of("c: clap ZamComp 0dB", NULL);
  SCOPED_RACK Rack* const without = rack_of("c: clap ZamComp", NULL);
  SCOPED_RACK Rack* const copy = rack_copy(rack);
  ck_assert(rack_equal(copy, rack));
  ck_assert(!rack_equal(without, rack));
  SCOPED_MEMORY char* const text = rack_print(rack);
  assert_says(text, "ZamComp thr=0dB\n");
  SCOPED_RACK Rack* const again = rack_of(text, NULL);
  ck_assert(rack_equal(again, rack));
  rack_set_value(without, without->nodes[0].uid, 0, 0, 0.0);
  ck_assert(rack_equal(without, rack));
}

TEST(a_plugin_may_have_a_thousand_parameters)
{
  SCOPED_RACK Rack* const rack = rack_of("gain | lv2 wide | gain | lv2 wide", NULL);
  const uint32_t n_params = rack->nodes[1].fx->n_params;
  for (uint32_t p = 0; p < n_params; ++p) {
    OK(rack_set_param_number(&rack->nodes[1], p, 0.5, &error));
    OK(rack_set_param_number(&rack->nodes[3], p, 0.25, &error));
  }
  SCOPED_MEMORY char* const text = rack_print(rack);
  SCOPED_RACK Rack* const again = rack_of(text, NULL);
  ck_assert(rack_equal(rack, again));
  Rack* none = NULL;
  Error error;
  ck_assert_int_eq(rack_parse("lv2 wide p999=1 p998=1 p999=1", "t", NULL, &none, &error),
                   STATUS_BAD_RACK);
  assert_says(error.text, "t:1:24: p999 is given twice");
}

// ---- values ----

/// Parameter of fil4, text, and the number that it stands for.
static const struct {
  const char *param, *text;
  double number;
  const char* printed;
} values[] = {
  { "decay", "2.5", 2.5, "2.5s" },
  { "decay", "2.5s", 2.5, "2.5s" },
  { "decay", "20ms", 0.02, "0.02s" },
  { "decay", "1.1e5us", 0.11, "0.11s" },
  { "wet", "30", 30.0, "30%" },
  { "wet", "12.5%", 12.5, "12.5%" },
  { "level", "2", 2.0, "2" },
  { "level", "20dB", 10.0, "10" },
  { "level", "-20dB", 0.1, "0.1" },
  { "level", "24dB", 15.84893, "15.84893" }, // rounded bounds: 15.848932
  { "level", "-24dB", 0.0631, "0.0631" },    // and 0.063096
  { "slope", "12 dB/oct", 12.0, "\"12 dB/oct\"" },
  { "slope", "12", 12.0, "\"12 dB/oct\"" },
  { "slope", "2.4e1", 24.0, "\"24 dB/oct\"" },
  { "slope", "7", 96.0, "7" }, // a name first
  { "slope", "96", 96.0, "7" },
  { "mark", "off", 0.0, "0" },
  { "mark", "1/4", 0.25, "0.25" },
  { "mark", "2", 2.0, "2" }, // a number first
  { "hold", "12ms", 12.0, "12ms" },
  { "hold", "0.012s", 12.0, "12ms" },
  { "hold", "1/4", 1.0, "1ms" },
};

TEST(values_have_the_units_and_names_of_the_plugin)
{
  for (size_t i = 0; i < ARRAY_LEN(values); ++i) {
    SCOPED_RACK Rack* const rack = rack_of("add n lv2 fil4-stereo", NULL);
    const RackNode* const node = rack_find(rack, "n");
    const uint32_t p = (uint32_t)fx_param_find(node->fx, values[i].param);
    Error error;
    ck_assert_msg(!set_text_by_name(rack, "n", values[i].param, values[i].text, &error), "%s: %s",
                  values[i].text, error.text);
    ck_assert_msg(rack_number(node, p, 48000.0) == values[i].number, "%s is %.17g", values[i].text,
                  rack_number(node, p, 48000.0));
    char text[64];
    ck_assert_str_eq(rack_print_value(node, p, text, sizeof(text)), values[i].printed);
  }
}

static const struct {
  const char *param, *text, *message;
} bad_values[] = {
  { "decay", "40", "decay 40s is out of range; 0.01s to 30s" },
  { "decay", "480frames", "decay takes a number in s or ms, not \"480frames\"" },
  { "decay", "1Hz", "not \"1Hz\"" },
  { "wet", "101%", "wet 101% is out of range; 0% to 100%" },
  { "wet", "10dB", "wet takes a number in %, not \"10dB\"" },
  { "level", "24.1dB", "is out of range; 0.0631 to 15.84893" },
  { "level", "50%", "level takes a factor or a number in dB, not \"50%\"" },
  { "level", "1e9dB", "level takes a finite number; 0.0631 to 15.84893" },
  { "slope", "13", "slope has no choice \"13\"; one of 12 dB/oct, 24 dB/oct, steep" },
  { "slope", "12dB", "slope has no choice \"12dB\"; one of 12 dB/oct, 24" },
  { "slope", "STEEP", "slope has no choice \"STEEP\"; did you mean \"steep\"?" },
  { "mark", "of",
    "mark takes a number or a percentage, or a name, not \"of\"; did you mean \"off\"?" },
  { "mark", "half", "not \"half\"; one of off, 1/4, 2" },
  { "hold", "1.5ms", "hold takes a whole number, not 1.5" },
  { "hold", "48frames", "hold takes a whole number, or a name, not \"48frames\"" },
  { "hold", "5Hz", "not \"5Hz\"" },
  { "bypass", "2", "bypass has no choice \"2\"; one of off, on" },
};

TEST(invalid_values_are_refused_with_the_valid_ones)
{
  SCOPED_RACK Rack* const rack = rack_of("add n lv2 fil4-stereo", NULL);
  SCOPED_RACK Rack* const before = rack_copy(rack);
  Error error;
  for (size_t i = 0; i < ARRAY_LEN(bad_values); ++i) {
    ck_assert_int_eq(set_text_by_name(rack, "n", bad_values[i].param, bad_values[i].text, &error),
                     STATUS_BAD_RACK);
    assert_says(error.text, bad_values[i].message);
    ck_assert(rack_equal(before, rack));
  }
}

TEST(the_number_of_a_choice_is_its_value)
{
  SCOPED_RACK Rack* const rack = rack_of("add n lv2 fil4-stereo", NULL);
  const RackNode* const node = rack_find(rack, "n");
  const uint32_t slope = (uint32_t)fx_param_find(node->fx, "slope");
  OK(set_number_by_name(rack, "n", "slope", 96.0, &error));
  ck_assert(rack_number(node, slope, 48000.0) == 96.0);
  OK(set_number_by_name(rack, "n", "slope", (double)0.1f, &error)); // as from OSC
  ck_assert(rack_number(node, slope, 48000.0) == 0.1);
  Error error;
  ck_assert_int_eq(set_number_by_name(rack, "n", "slope", 1.0, &error), STATUS_BAD_RACK);
  assert_says(error.text, "slope has no choice 1; one of 12 dB/oct, 24");
  rack_set_value(rack, node->uid, slope, 0, 12.0);
  ck_assert(rack_number(node, slope, 48000.0) == 12.0);
  rack_set_value(rack, node->uid, slope, 0, 13.0); // no choice
  ck_assert(rack_number(node, slope, 48000.0) == 12.0);
  rack_set_value(rack, node->uid, slope, fx_param_hash(&node->fx->params[slope]) + 1U, 24.0);
  ck_assert(rack_number(node, slope, 48000.0) == 12.0); // the number of another parameter
  rack_set_value(rack, node->uid, slope, fx_param_hash(&node->fx->params[slope]), 24.0);
  ck_assert_int_eq(node->values[slope].kind, VALUE_INITIAL);
}

TEST(a_bound_as_a_float_is_the_bound)
{
  SCOPED_RACK Rack* const rack = rack_of("add n lv2 fil4-stereo", NULL);
  const RackNode* const node = rack_find(rack, "n");
  const uint32_t level = (uint32_t)fx_param_find(node->fx, "level");
  const FxParam* const row = &node->fx->params[level];
  ck_assert((double)(float)row->max > row->max);
  OK(set_number_by_name(rack, "n", "level", (double)(float)row->max, &error));
  ck_assert(rack_number(node, level, 48000.0) == row->max);
  const double inside = row->max - 1e-9; // not rounded
  OK(set_number_by_name(rack, "n", "level", inside, &error));
  ck_assert(rack_number(node, level, 48000.0) == inside);
  Error error;
  ck_assert_int_eq(set_number_by_name(rack, "n", "level", row->max + 1e-5, &error),
                   STATUS_BAD_RACK);
}

TEST(the_range_of_a_choice_has_all_its_numbers)
{
  SCOPED_RACK Rack* const rack = rack_of("add n lv2 fil4-stereo", NULL);
  const FxInfo* const fx = rack_find(rack, "n")->fx;
  const FxParam* const slope = &fx->params[fx_param_find(fx, "slope")];
  double min = 0.0;
  double max = 0.0;
  ck_assert(fx_param_range(slope, &min, &max));
  ck_assert(min == 0.1 && max == 96.0);
  ck_assert(fx_param_accepts(slope, 0.1) && fx_param_accepts(slope, (double)0.1f));
  ck_assert(!fx_param_accepts(slope, 2.0) && !fx_param_accepts(slope, 0.0 / 0.0));
}

TEST(a_copy_leaves_out_values_that_a_plugin_does_not_take)
{
  static const char text[] = "add a lv2 " TUBE " gone=3dB tubedrive=99 bypass=on\n"
                             "add b gain gain=-3dB\n"
                             "connect in a\nconnect a b\nconnect b out\n";
  Rack* rack = NULL;
  Error why;
  ck_assert_int_ne(rack_parse(text, "x", NULL, &rack, &why), STATUS_OK);
  OK(rack_parse_copy(text, "x", NULL, 0, &rack, &error));
  SCOPED_MEMORY char* const printed = rack_print(rack);
  ck_assert_str_eq(printed, "add a lv2 " TUBE " bypass=on\nadd b gain gain=-3dB\n"
                            "connect in a\nconnect a b\nconnect b out\n");
  rack_free(rack);
  ck_assert_int_ne(rack_parse_copy("add b gain gone=3", "x", NULL, 0, &rack, &why), STATUS_OK);
  ck_assert_int_ne(rack_parse_copy("add a lv2 " TUBE " gone=", "x", NULL, 0, &rack, &why),
                   STATUS_OK);
}

TEST(a_copy_leaves_out_connections_to_inputs_that_a_plugin_does_not_have)
{
  static const char nodes[] = "add g gain\nadd s lv2 \"urn:test:synth\"\n";
  static const char* const wrong[] = {
    "connect g.old s.keys", "connect in g.old",    "connect g x.old",        "connect g s.keys:0",
    "connect g s:0",        "connect g s.old 3dB", "connect g s.old gain=x", "disconnect g s.old",
  };
  char text[256];
  Rack* rack = NULL;
  Error why;
  snprintf(text, sizeof(text),
           "%sconnect in g\nconnect g s\nconnect g s.old:2 gain=-6dB\n"
           "connect g s.keys\nconnect s out\n",
           nodes);
  ck_assert_int_ne(rack_parse(text, "x", NULL, &rack, &why), STATUS_OK);
  OK(rack_parse_copy(text, "x", NULL, 0, &rack, &error));
  SCOPED_MEMORY char* const printed = rack_print(rack);
  rack_free(rack);
  ck_assert_str_eq(printed + strlen(nodes), "connect in g\nconnect g s.keys\nconnect s out\n");
  for (size_t w = 0; w < ARRAY_LEN(wrong); ++w) {
    snprintf(text, sizeof(text), "%s%s\n", nodes, wrong[w]);
    ck_assert_msg(rack_parse_copy(text, "x", NULL, 0, &rack, &why) != STATUS_OK, "%s", wrong[w]);
  }
}

SUITE_MAIN("rack_plugins")
