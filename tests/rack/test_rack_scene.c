// SPDX-License-Identifier: GPL-3.0-or-later
// Scenes and safes are statements of the rack: checked, printed and compared as such.  Their values
// follow a node that is renamed, go with a node that is removed, and are kept as they are written
// while the node or its plugin is missing.

#include "engine/rack/rack_private.h"
#include "tests/support/fx_plugins.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RACK "add hall delay\nadd low highpass\nadd room convolver\nconnect in hall\n"

/// Statements after RACK, and their canonical text.
static const struct {
  const char *statements, *canonical;
} good[] = {
  { "scene verse hall.time=0.25s low.frequency=1k",
    "scene verse hall.time=250ms low.frequency=1000Hz\n" },
  { "scene v hall.feedback=20% low.type=elliptic hall.pingpong=yes",
    "scene v hall.feedback=0.2 low.type=elliptic hall.pingpong=on\n" },
  { "scene v hall.time=480frames low.type=elliptic low.type=\"elliptic\"", NULL }, // twice
  { "scene v hall.time=480frames low.order=4 low.backend=cpu",
    "scene v hall.time=480frames low.order=4 low.backend=cpu\n" },
  { "scene v room.ir=\"my hall.wav\" hall.note=\"\" room.mix=1",
    "scene v room.ir=\"my hall.wav\" hall.note=1/4 room.mix=1\n" },
  { "scene 12-a_B", "scene 12-a_B\n" },
  { "scene v fade=1500ms curve=s hall.time=1\nrename hall h",
    "scene v fade=1.5s curve=s h.time=1ms\n" },
  { "scene v fade=0 curve=linear\nscene w curve=out", "scene v\nscene w curve=out\n" },
  { "scene b\nscene a hall.time=1\n\nsafe hall.* {low,room}.[!a]?x\nsafe low.type hall.*",
    "scene b\nscene a hall.time=1ms\nsafe hall.* {low,room}.[!a]?x low.type\n" },
  { "scene v hall.time=1 gone.mix=\"20 %\" gone.a=1e+20",
    "scene v hall.time=1ms gone.mix=\"20 %\" gone.a=\"1e+20\"\n" },
  { "add tube lv2 ZamTube\nscene v tube.tubedrive=3 hall.time=1",
    "scene v tube.tubedrive=3 hall.time=1ms\n" },
  { "add tube lv2 ZamTube\nscene v tube.tubedrive=999 tube.drive=\"3 x\" hall.time=1",
    "scene v tube.tubedrive=999 tube.drive=\"3 x\" hall.time=1ms\n" }, // of another version
  { "scene v hall.time=1 room.mix=0.5\nremove hall", "scene v room.mix=0.5\n" },
  { "scene v hall.time=1\nsafe hall.time room.mix\nremove hall",
    "scene v\nsafe hall.time room.mix\n" },
  { "scene v room.mix=0.5 gone.x=1\nsafe room.mix r*.mix\nrename room cellar",
    "scene v cellar.mix=0.5 gone.x=1\nsafe cellar.mix r*.mix\n" },
};

/// The part of the text from the first scene or safe on.
static const char*
scenes_of(const char* const text)
{
  const char* const scene = strstr(text, "\nscene ");
  const char* const at = scene ? scene : strstr(text, "\nsafe ");
  return at ? at + 1 : "";
}

TEST_ROWS(a_scene_is_printed_in_canonical_form, good)
{
  char document[1024];
  snprintf(document, sizeof(document), RACK "%s", good[row].statements);
  if (!good[row].canonical) {
    Rack* none = NULL;
    Error error;
    ck_assert_int_eq(rack_parse(document, "t", NULL, &none, &error), STATUS_BAD_RACK);
    assert_says(error.text, "t:5:7: low.type is given twice");
    return;
  }
  SCOPED_RACK Rack* const rack = rack_of(document, NULL);
  SCOPED_MEMORY char* const text = rack_print(rack);
  ck_assert_str_eq(scenes_of(text), good[row].canonical);
  SCOPED_RACK Rack* const again = rack_of(text, NULL);
  ck_assert(rack_equal(rack, again));
  SCOPED_MEMORY char* const twice = rack_print(again);
  ck_assert_str_eq(text, twice);
  SCOPED_MEMORY char* const sound = rack_print_sound(rack);
  ck_assert_str_eq(scenes_of(sound), "");
  ck_assert_int_eq(strncmp(text, sound, strlen(sound)), 0);
}

static const struct {
  const char *statements, *message;
} bad[] = {
  { "scene",
    "t:5:6: unexpected end; write: scene NAME [fade=TIME] [curve=CURVE] NODE.PARAM=VALUE" },
  { "scene \"v\" hall.time=1", "t:5:7: unexpected \"v\"; write: scene NAME" },
  { "scene hall.time=1", "t:5:7: \"hall.time\" is not a valid name of a scene; use letters" },
  { "scene v\xC3\xA9 hall.time=1", "t:5:7: \"v\xC3\xA9\" is not a valid name of a scene" },
  { "scene x234567890123456789012345678901234567890123456789012345678901234",
    "t:5:7: the name is too long; at most 63" },
  { "scene v hall.time", "t:5:18: unexpected end; write: scene NAME" },
  { "scene v hall.time 20", "t:5:19: unexpected \"20\"; write: scene NAME" },
  { "scene v time=20", "t:5:9: unexpected \"time\"; write: scene NAME" },
  { "scene v hall.time=", "t:5:19: unexpected end; a value comes here" },
  { "scene v hall.tmie=1", "t:5:14: delay has no parameter \"tmie\"; did you mean \"time\"?" },
  { "scene v low.order=4 hall.time=9s", "t:5:31: time 9000ms is out of range; 1ms to 5000ms" },
  { "scene v hall.time=20 ms", "t:5:22: \"ms\" stands alone; write the number and its unit "
                               "without a space: 20ms" },
  { "scene v low.type=bessel", "t:5:18: type has no choice \"bessel\"" },
  { "scene v .time=1", "t:5:9: no node can have the name \".time\"" },
  { "scene v h%.time=1", "t:5:9: no node can have the name \"h%.time\"" },
  { "scene v hall.time=1\nscene v hall.time=2", "t:6:7: the scene \"v\" is there twice" },
  { "scene v hall.time=1 | gain", "t:5:21: unexpected \"|\"; write: scene NAME" },
  { "scene v fade=2 s", "t:5:16: \"s\" stands alone" },
  { "scene v fade=1h", "t:5:14: fade takes a number in s or ms, not \"1h\"" },
  { "scene v fade=3601s", "t:5:14: fade 3601s is out of range; 0s to 3600s" },
  { "scene v curve=sine", "t:5:15: curve has no choice \"sine\"" },
  { "scene v hall.time=1 fade=2s", "t:5:21: unexpected \"fade\"; write: scene NAME [fade=TIME]" },
  { "safe", "t:5:5: unexpected end; write: safe NODE.PARAM ..." },
  { "safe hall", "t:5:6: \"hall\" is not a pattern of parameters, such as hall.mix" },
  { "safe hall.*  [a.b", "t:5:14: \"[a.b\" is not a pattern" },
  { "safe {a[b]}.c", "\"{a[b]}.c\" is not a pattern" },
  { "safe a.b=3", "t:5:9: unexpected \"=\"; write: safe NODE.PARAM" },
};

TEST_ROWS(a_wrong_scene_is_refused_with_its_place, bad)
{
  char document[1024];
  snprintf(document, sizeof(document), RACK "%s", bad[row].statements);
  Rack* none = NULL;
  Error error;
  ck_assert(rack_parse(document, "t", NULL, &none, &error));
  assert_says(error.text, bad[row].message);
}

TEST(an_edit_replaces_a_scene_and_a_document_replaces_all)
{
  SCOPED_RACK Rack* const rack = rack_of(RACK "scene a hall.time=1\nscene b hall.time=2", NULL);
  SCOPED_RACK Rack* const before = rack_copy(rack);
  OK(rack_apply(rack, "scene a hall.time=3\nscene c\nsafe *.*", "t", &error));
  SCOPED_MEMORY char* const text = rack_print(rack);
  ck_assert_str_eq(scenes_of(text),
                   "scene a hall.time=3ms\nscene b hall.time=2ms\nscene c\nsafe *.*\n");
  ck_assert(!rack_equal(rack, before) && rack_sounds_equal(rack, before));
  ck_assert(rack_differs_in_values(rack, before));
  OK(rack_remove_scene(rack, "b", &error));
  Error error;
  ck_assert_int_eq(rack_remove_scene(rack, "b", &error), STATUS_NOT_FOUND);
  assert_says(error.text, "no scene \"b\"; one of a, c");
  ck_assert_int_eq(rack_remove_safe(rack, "*.x", &error), STATUS_NOT_FOUND);
  ck_assert_int_eq(rack_remove_safe(rack, "*.*", &error), STATUS_OK);
  ck_assert_ptr_null(rack->safes);
  SCOPED_RACK Rack* const next = rack_of("gain", rack);
  ck_assert_uint_eq(next->n_scenes, 0);
  ck_assert_ptr_nonnull(rack_find_scene(before, "b")); // shared with the copy
}

TEST(a_refused_edit_leaves_the_scenes)
{
  SCOPED_RACK Rack* const rack = rack_of(RACK "scene a hall.time=1\nsafe hall.*", NULL);
  SCOPED_RACK Rack* const before = rack_copy(rack);
  Error error;
  ck_assert(rack_apply(rack, "scene a\nsafe x.y\nremove hall\nremove hall", "t", &error));
  ck_assert(rack_equal(rack, before));
  ck_assert(rack_rename(rack, "hall", "low", &error));
  ck_assert(rack_remove(rack, "hal", &error));
  ck_assert(rack_equal(rack, before));
}

TEST(values_that_a_plugin_does_not_take_are_reported)
{
  SCOPED_RACK Rack* const rack =
      rack_of(RACK "add tube lv2 ZamTube\nscene v tube.tubedrive=3 tube.tubedrive2=1\n"
                   "scene w tube.tubedrive=999 tube.bypass=perhaps tube.tubedrive3=2 hall.time=1",
              NULL);
  SCOPED_MEMORY char* const text = rack_warnings(rack, 48000.0);
  ck_assert_msg(strstr(text, "scene v names tube.tubedrive2, not there now; a recall leaves it "
                             "out\nscene w names tube.tubedrive3, not there now; a recall leaves "
                             "it out\nscene w has values that are not taken: tube.tubedrive and 1 "
                             "more, which a recall leaves out\n"),
                "%s", text);
}

TEST(values_of_a_missing_plugin_are_kept)
{
  Rack* rack = NULL;
  OK(rack_parse_bypass("add a lv2 gone x=1\nscene v a.x=3 a.y=\"b c\"\n", "t", NULL, &rack,
                       &error));
  SCOPED_MEMORY char* const text = rack_print(rack);
  ck_assert_str_eq(scenes_of(text), "scene v a.x=3 a.y=\"b c\"\n");
  OK(rack_rename(rack, "a", "b", &error));
  ck_assert_str_eq(rack->scenes[0]->line, "scene v b.x=3 b.y=\"b c\"\n");
  rack_free(rack);
}

TEST(a_value_finds_its_parameter)
{
  SCOPED_RACK Rack* const rack =
      rack_of(RACK "scene v hall.note=1 hall.time=2 no.x=1 low.frequency=80 low.backend=cpu", NULL);
  static const struct {
    const char* node;
    uint32_t param;
    bool is_structural;
  } expected[] = { { "hall", 3, true },
                   { "hall", 0, false },
                   { NULL, 0, false },
                   { "low", 0, false },
                   { "low", 3, true } };
  RackSceneFinder finder = { 0 };
  for (uint32_t v = 0; v < ARRAY_LEN(expected); ++v) {
    uint32_t param = 0;
    const RackNode* const node =
        rack_find_scene_value(rack, &rack->scenes[0]->values[v], &finder, &param);
    ck_assert(node == (expected[v].node ? rack_find(rack, expected[v].node) : NULL));
    ck_assert(!node || (param == expected[v].param &&
                        rack_is_structural(node, param) == expected[v].is_structural));
  }
}

TEST(a_scene_with_missing_or_structural_parameters_is_a_warning)
{
  SCOPED_RACK Rack* const rack = rack_of("chain hall: delay | low: highpass\n"
                                         "scene a hall.time=1 low.order=3\n"
                                         "scene b no.x=1 hall.time=1 no.y=2 nor.z=3",
                                         NULL);
  SCOPED_MEMORY char* const warnings = rack_warnings(rack, 48000.0);
  ck_assert_str_eq(warnings, "scene a sets low.order, structural; it is recalled as an edit\n"
                             "scene b names no.x and 2 more, not there now; a recall leaves it "
                             "out\n");
}

/// Append a scene of n values of nodes that are not there.
static void
add_scene(TextBuffer* const text, const uint32_t number, const uint32_t n)
{
  text_buffer_print(text, "scene s%u", number);
  for (uint32_t v = 0; v < n; ++v) {
    text_buffer_print(text, " n.p%u=1", v);
  }
  text_buffer_add(text, "\n");
}

TEST(bounds_are_kept)
{
  static const struct {
    uint32_t n_scenes, n_values, n_safes;
    const char* message;
  } cases[] = {
    { 1, RACK_MAX_SCENE_VALUES, RACK_MAX_SAFES, NULL },
    { 1, 10000, 0, "t:1:39860: too many values in the scene; at most 4096" },
    { RACK_MAX_SCENES, 1, 0, NULL },
    { RACK_MAX_SCENES + 1U, 0, 0, "t:257:7: too many scenes; at most 256" },
    { 17, RACK_MAX_SCENE_VALUES, 0, "t:17:7: too many values in all scenes; at most 65536" },
    { 0, 0, RACK_MAX_SAFES + 1U, "too many safes; at most 64" },
  };
  for (size_t c = 0; c < ARRAY_LEN(cases); ++c) {
    TextBuffer buffer = { 0 };
    for (uint32_t s = 0; s < cases[c].n_scenes; ++s) {
      add_scene(&buffer, s, cases[c].n_values);
    }
    for (uint32_t s = 0; s < cases[c].n_safes; ++s) {
      text_buffer_print(&buffer, "safe n.p%u\n", s);
    }
    SCOPED_MEMORY char* const text = text_buffer_take(&buffer);
    SCOPED_RACK Rack* rack = NULL;
    Error error;
    const Status status = rack_parse(text, "t", NULL, &rack, &error);
    ck_assert_msg(!status == !cases[c].message, "%zu: %s", c, error.text);
    if (status) {
      ck_assert_int_eq(status, STATUS_LIMIT);
      assert_says(error.text, cases[c].message);
    }
  }
}

SUITE_MAIN("rack_scene")
