// SPDX-License-Identifier: GPL-3.0-or-later
// Names that are made from what plugins call their parts are valid in racks, short and readable.

#include "engine/rack/rack.h"
#include "plugins/plugin.h"
#include "plugins/plugin_names.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <stdio.h>

static const struct {
  const char *name, *id;
} ids[] = {
  { "Input gain (dB)", "input_gain" },
  { "LFO 1: Depth [Hz], fine", "lfo_1_depth_fine" },
  { "Dry/Wet", "dry_wet" },
  { "50Hz gain (low shelving)", "_50hz_gain" },
  { "Mode (0=none, 1=(AM), 2=RM) left", "mode_left" },
  { "(dB)", "db" },
  { "Gain (dB", "gain" },
  { "Gain) x", "gain_x" },
  { "  --Gain--  ", "gain" },
  { "Gr\xC3\xB6\xC3\x9F"
    "e",
    "gr_e" },
  { "\xff\xfe", "param" },
  { "_", "param" },
  { "", "param" },
  { "a name that is much longer than a name of a parameter may ever be in a rack",
    "a_name_that_is_much_longer_than_a_name_of_a_para" },
};

TEST_ROWS(an_id_is_the_name_without_its_unit, ids)
{
  char id[PLUGIN_ID_BYTES];
  plugin_param_id(ids[row].name, id);
  ck_assert_str_eq(id, ids[row].id);
}

static const struct {
  const char *id, *name;
} short_names[] = {
  { "urn:zamaudio:ZamTube", "ZamTube" },
  { "http://gareus.org/oss/lv2/fil4#stereo", "fil4-stereo" },
  { "http://plugin.org.uk/swh-plugins/amp", "amp" },
  { "http://invadarecords.com/plugins/lv2/compressor/mono", "compressor-mono" },
  { "http://example.org/lv2/filter/sum/", "filter-sum" },
  { "http://example.org/x#", "x" },
  { "http://example.org/3band.v2", "_3band-v2" },
  { "tap_reverb/tap_reverb", "tap_reverb" },
  { "com.zamaudio.ZamComp", "ZamComp" },
  { "mono", "mono" },
  { "urn:mono", "urn-mono" },
  { "http://example.org/in", "in_" },
  { "urn:out", "out_" },
  { "urn:-x", "_-x" },
  { "///", "plugin" },
  { "\xff", "plugin" },
  { "", "plugin" },
  { "urn:a-name-that-is-much-longer-than-a-name-of-a-node-may-ever-be-in-a-rack",
    "a-name-that-is-much-longer-than-a-name-of-a-node" },
};

TEST_ROWS(a_short_name_is_the_last_part_of_an_id, short_names)
{
  char name[PLUGIN_ID_BYTES];
  plugin_short_name(short_names[row].id, name);
  ck_assert_str_eq(name, short_names[row].name);
}

TEST_ROWS(a_short_name_can_name_a_node, short_names)
{
  char name[PLUGIN_ID_BYTES];
  char chain[PLUGIN_ID_BYTES + 16U];
  plugin_short_name(short_names[row].id, name);
  snprintf(chain, sizeof(chain), "%s: gain", name);
  SCOPED_RACK Rack* rack = NULL;
  OK(rack_parse(chain, "test", NULL, &rack, &error));
}

static const struct {
  const char *label, *word;
} words[] = {
  { "Low pass (12 dB)", "Low-pass-12-dB" },
  { "-6 dB", "-6-dB" },
  { "1/4", "1/4" },
  { "Gr\xC3\xBC\xC3\x9F"
    "e",
    "Gr\xC3\xBC\xC3\x9F"
    "e" },
  { "\"quoted\" \\ text", "quoted-text" },
  { "a=b|c+d#e", "a-b-c-d-e" },
  { "+", "-1.5" },
  { "", "-1.5" },
};

TEST_ROWS(a_word_needs_no_quotes, words)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  const char* const word = names_word(&arena, words[row].label, -1.5);
  ck_assert_str_eq(word, words[row].word);
  ck_assert_uint_eq(rack_quote(word, NULL), strlen(word) + 1U);
}

TEST(equal_names_are_numbered_past_those_that_are_there)
{
  SCOPED(arena_clear) Arena arena = { .chunks = NULL };
  NameSet set = names_begin(&arena, 5);
  ck_assert_str_eq(names_add(&set, "a", '_'), "a");
  ck_assert_str_eq(names_add(&set, "a_2", '_'), "a_2");
  ck_assert_str_eq(names_add(&set, "a", '_'), "a_3");
  ck_assert_str_eq(names_add(&set, "a", '_'), "a_4");
  ck_assert_str_eq(names_add(&set, "b", '_'), "b");
}

SUITE_MAIN("plugin_names")
