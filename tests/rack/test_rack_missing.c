// SPDX-License-Identifier: GPL-3.0-or-later
// Plugins that are not there: a rack that may have them keeps their values and connections as they
// are written, and gets the plugins back when they are known.  The plugins are those of
// support/fx_plugins.c.

#include "engine/rack/rack_private.h"
#include "tests/support/fx_plugins.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GONE "\"urn:test:gone\""
#define LATE "\"urn:test:late\""

static Rack*
bypassed(const char* const text, const Rack* const previous)
{
  Rack* rack = NULL;
  OK(rack_parse_bypass(text, "t", previous, &rack, &error));
  return rack;
}

static void
expect_text(const Rack* const rack, const char* const expected)
{
  SCOPED_MEMORY char* const text = rack_print(rack);
  ck_assert_str_eq(text, expected);
}

static const struct {
  const char *document, *canonical;
} kept[] = {
  { "lv2 " GONE, "add gone lv2 " GONE "\nconnect in gone\nconnect gone out\n" },
  { "lv2 " GONE " -3 0.50 on | gain", // positions, and numbers as they are written
    "add gone lv2 " GONE " -3 0.50 on\nadd gain gain\nconnect in gone\nconnect gone gain\n"
    "connect gain out\n" },
  { "a: lv2 gone thr=-24dB  Mode=\"half a \\\"word\\\"\" p=\"on\"",
    "add a lv2 gone thr=-24dB Mode=\"half a \\\"word\\\"\" p=\"on\"\nconnect in a\n"
    "connect a out\n" },
  { "add a clap x.y backend=cpu z=1", "add a clap x.y z=1 backend=cpu\n" },
  { "add k gain\nadd a ladspa x/y 1\nconnect k a.key:2 gain=-6dB\nconnect k a.other\n"
    "connect a:5 out:2",
    "add k gain\nadd a ladspa x/y 1\nconnect k a.key:2 gain=-6dB\nconnect k a.other\n"
    "connect a:5 out:2\n" },
  { "add a lv2 gone x=1\nadd b lv2 gone x=2\nadd k gain\nconnect k b.key",
    "add a lv2 gone x=1\nadd b lv2 gone x=2\nadd k gain\nconnect k b.key\n" },
};

TEST_ROWS(values_and_connections_stay_as_they_are_written, kept)
{
  SCOPED_RACK Rack* const rack = bypassed(kept[row].document, NULL);
  expect_text(rack, kept[row].canonical);
  ck_assert(rack_has_missing(rack));
  OK(rack_check(rack, &error));
  SCOPED_RACK Rack* const again = bypassed(kept[row].canonical, rack);
  ck_assert(rack_equal(rack, again));
  ck_assert_uint_eq(again->nodes[0].uid, rack->nodes[0].uid);
  SCOPED_RACK Rack* const copy = rack_copy(rack);
  expect_text(copy, kept[row].canonical);
}

TEST(the_text_of_a_rack_without_plugins_does_not_depend_on_those_of_the_machine)
{
  static const char document[] = "a: lv2 late -20 | lv2 ZamTube 3 | gain 1";
  for (int is_there = 0; is_there < 2; ++is_there) {
    Rack* rack = NULL;
    fx_plugins_install_late(is_there);
    OK(rack_parse_without_plugins(document, "t", &rack, &error));
    expect_text(rack, "add a lv2 late -20\nadd ZamTube lv2 ZamTube 3\nadd gain gain gain=1dB\n"
                      "connect in a\nconnect a ZamTube\nconnect ZamTube gain\nconnect gain out\n");
    rack_free(rack);
  }
}

TEST_ROWS(without_the_word_such_a_rack_is_refused, kept)
{
  Rack* rack = NULL;
  Error why;
  ck_assert_int_eq(rack_parse(kept[row].document, "t", NULL, &rack, &why), STATUS_NOT_FOUND);
  assert_says(why.text, "plugin \"");
}

TEST(a_rack_without_missing_plugins_is_the_same_in_both_ways)
{
  SCOPED_RACK Rack* const rack = bypassed("lv2 ZamTube 3 | gain -1", NULL);
  ck_assert(!rack_has_missing(rack));
  expect_text(rack,
              "add ZamTube lv2 \"urn:zamaudio:ZamTube\" tubedrive=3\nadd gain gain gain=-1dB\n"
              "connect in ZamTube\nconnect ZamTube gain\nconnect gain out\n");
}

static const struct {
  const char *document, *says;
} refused[] = {
  { "lv2 " GONE " thr=", "t:1:25: unexpected end; a value comes here" },
  { "lv2 " GONE " a:b", "put quotes around a text with a colon" },
  { "lv2 " GONE " backend=fpga", "backend has no choice \"fpga\"" },
  { "lv2 " GONE " backend=cpu backend=cpu", "backend is given twice" },
  { "lv2 " GONE " | nothing", "no effect \"nothing\"" },
  { "add k gain\nadd a lv2 gone\nconnect k a.", "has no side input \"\"" },
  { "add k gain\nadd a lv2 gone\nconnect a.key k", "has no side input \"key\"" },
  { "add k gain\nadd a lv2 gone\nconnect k b.key", "no node \"b\"" },
  { "add a lv2 gone\nset a. 3", "the lv2 plugin is missing, so its parameters are not known" },
  { "add a lv2 gone\nset a.thr", "unexpected end; a value comes here" },
  { "add a lv2 gone\nset a.thr = 3", "write: set NODE.PARAM VALUE" },
  { "add a lv2 gone\nset a.backend fpga", "backend has no choice \"fpga\"" },
};

TEST_ROWS(other_mistakes_are_refused_in_such_racks_too, refused)
{
  Rack* rack = NULL;
  Error why;
  ck_assert_int_ne(rack_parse_bypass(refused[row].document, "t", NULL, &rack, &why), STATUS_OK);
  assert_says(why.text, refused[row].says);
}

static const struct {
  const char *values, *set, *kept;
} sets[] = {
  { "", "a.thr -3dB", " thr=-3dB" },
  { " 3 on", "a.thr -3", " 3 on thr=-3" },
  { " thr=1 on=2", "a.thr 3", " thr=3 on=2" },
  { " on=2 thr=1", "a.thr 3", " on=2 thr=3" },
  { " xthr=1 a=\"b thr=4\" thr=\"5 \\\" 6\" on=2", "a.thr \"x y\"",
    " xthr=1 a=\"b thr=4\" thr=\"x y\" on=2" },
  { " thr=1", "a.thr 2\nset a.on 1\nset a.thr 3", " thr=3 on=1" },
  { " thr=1 backend=cpu", "a.backend auto", " thr=1" },
};

TEST_ROWS(a_value_that_is_set_is_kept_with_the_others, sets)
{
  char document[256];
  char expected[256];
  snprintf(document, sizeof(document), "add a lv2 gone%s\nset %s\nconnect in a", sets[row].values,
           sets[row].set);
  snprintf(expected, sizeof(expected), "add a lv2 gone%s\nconnect in a\n", sets[row].kept);
  SCOPED_RACK Rack* const rack = bypassed(document, NULL);
  expect_text(rack, expected);
}

TEST(a_value_that_is_set_is_checked_when_the_plugin_is_there)
{
  SCOPED_RACK Rack* const rack = bypassed("a: lv2 " LATE, NULL);
  OK(rack_apply(rack, "set a.thr 1dB", "t", &error));
  fx_plugins_install_late(true);
  ck_assert_uint_eq(rack_return_plugins(rack), 0);
  SCOPED_MEMORY char* const warnings = rack_warnings(rack, 48000.0);
  assert_says(warnings, "thr 1dB is out of range; -60dB to 0dB");
  OK(rack_apply(rack, "set a.thr -1dB", "t", &error));
  ck_assert_uint_eq(rack_return_plugins(rack), 1);
  ck_assert_double_eq(rack->nodes[0].values[0].number, -1.0);
}

TEST(a_value_that_is_set_by_name_replaces_the_one_in_its_place)
{
  SCOPED_RACK Rack* const rack = bypassed("a: lv2 " LATE " -20 on", NULL);
  OK(rack_apply(rack, "set a.thr -3dB", "t", &error));
  SCOPED_MEMORY char* const saved = rack_print(rack);
  ck_assert_str_eq(saved, "add a lv2 " LATE " -20 on thr=-3dB\nconnect in a\nconnect a out\n");
  fx_plugins_install_late(true);
  ck_assert_uint_eq(rack_return_plugins(rack), 1);
  expect_text(rack, "add a lv2 " LATE " thr=-3dB bypass=on\nconnect in a\nconnect a out\n");
  SCOPED_RACK Rack* const again = rack_of(saved, NULL);
  ck_assert(rack_equal(rack, again));
  Rack* none = NULL;
  Error why;
  ck_assert_int_eq(rack_parse("lv2 late -20 thr=-3 thr=-4", "t", NULL, &none, &why),
                   STATUS_BAD_RACK);
  assert_says(why.text, "t:1:21: thr is given twice");
}

TEST(edits_of_other_nodes_leave_a_missing_plugin_alone)
{
  SCOPED_RACK Rack* const rack = bypassed("a: lv2 gone x=1 | b: gain", NULL);
  OK(rack_apply(rack, "set b.gain -3dB\nrename a c\ninsert d gain after c", "t", &error));
  expect_text(rack, "add c lv2 gone x=1\nadd b gain gain=-3dB\nadd d gain\nconnect in c\n"
                    "connect d b\nconnect b out\nconnect c d\n");
  ck_assert_int_eq(set_number_by_name(rack, "c", "values", 1.0, NULL), STATUS_NOT_FOUND);
  OK(rack_apply(rack, "remove c", "t", &error));
  ck_assert(!rack_has_missing(rack));
}

TEST(a_copy_for_a_worker_marks_the_nodes_that_are_missing)
{
  RackCopied marks[] = { RACK_COPIED_THERE, RACK_COPIED_MISSING };
  Rack* rack = NULL;
  fx_plugins_install_late(true);
  OK(rack_parse_copy("add a gain\nadd b lv2 " LATE " thr=1\nconnect a b.key\nconnect a b\n", "x",
                     marks, 2, &rack, &error));
  ck_assert(rack->nodes[1].fx->is_missing); // as in the server, although the plugin is there
  // All connections, so that both sides count them alike.
  expect_text(rack, "add a gain\nadd b lv2 " LATE " thr=1\nconnect a b.key\nconnect a b\n");
  rack_free(rack);
  fx_plugins_install_late(false);
  Error why;
  ck_assert_int_eq(rack_parse_copy("add b lv2 " LATE, "x", NULL, 0, &rack, &why), STATUS_NOT_FOUND);
}

TEST(a_copy_names_all_nodes_whose_plugin_is_lacking)
{
  static const char text[] = "add k gain\nadd a lv2 " LATE " thr=1\nadd b lv2 " GONE
                             "\nadd c lv2 " LATE "\nconnect k a.sidechain\nconnect a b\n";
  RackCopied plugins[] = { RACK_COPIED_THERE, RACK_COPIED_BYPASSED, RACK_COPIED_THERE,
                           RACK_COPIED_THERE };
  Rack* rack = NULL;
  Error why;
  ck_assert_int_eq(rack_parse_copy(text, "x", plugins, 4, &rack, &why), STATUS_NOT_FOUND);
  assert_says(why.text, "x:3:11: no lv2 plugin \"urn:test:gone\""); // the first one
  ck_assert_uint_eq(plugins[0], RACK_COPIED_THERE);
  ck_assert_uint_eq(plugins[1], RACK_COPIED_BYPASSED);
  ck_assert_uint_eq(plugins[2], RACK_COPIED_LACKING);
  ck_assert_uint_eq(plugins[3], RACK_COPIED_LACKING);
  plugins[2] = plugins[3] = RACK_COPIED_BYPASSED;
  OK(rack_parse_copy(text, "x", plugins, 4, &rack, &error));
  ck_assert(rack->nodes[1].fx->is_missing && rack->nodes[2].fx->is_missing);
  expect_text(rack, text);
  rack_free(rack);
  fx_plugins_install_late(true);
  OK(rack_parse_copy(text, "x", plugins, 4, &rack, &error));
  ck_assert(!rack->nodes[1].fx->is_missing && rack->nodes[2].fx->is_missing);
  rack_free(rack);
}

// ---- back again ----

TEST(a_plugin_that_is_there_again_gets_its_values_and_connections)
{
  SCOPED_RACK Rack* const rack = bypassed("add k gain\nadd a lv2 " LATE " -20 on backend=cpu\n"
                                          "connect k a.sidechain\nconnect in a\nconnect a out",
                                          NULL);
  const RackUid uid = rack->nodes[1].uid;
  ck_assert_uint_eq(rack_return_plugins(rack), 0);
  fx_plugins_install_late(true);
  ck_assert_uint_eq(rack_return_plugins(rack), 1);
  expect_text(rack, "add k gain\nadd a lv2 " LATE " thr=-20dB bypass=on backend=cpu\n"
                    "connect k a.sidechain\nconnect in a\nconnect a out\n");
  ck_assert(!rack_has_missing(rack));
  ck_assert_uint_eq(rack->nodes[1].uid, uid);
  ck_assert_uint_eq(rack->edges[0].to.side, 2); // its second one
  OK(rack_check(rack, &error));
}

static const struct {
  const char *document, *why;
} unfit[] = {
  { "a: lv2 " LATE " thr=1", "thr 1dB is out of range; -60dB to 0dB" },
  { "a: lv2 " LATE " gone=1", "late has no parameter \"gone\"" },
  { "add k gain\nadd a lv2 " LATE "\nconnect k a.low", "the plugin has no side input \"low\"" },
  { "a: lv2 " GONE, "no lv2 plugin \"urn:test:gone\"" },
};

TEST_ROWS(a_node_that_its_plugin_does_not_fit_stays_and_says_why, unfit)
{
  SCOPED_RACK Rack* const rack = bypassed(unfit[row].document, NULL);
  SCOPED_MEMORY char* const before = rack_print(rack);
  fx_plugins_install_late(true);
  ck_assert_uint_eq(rack_return_plugins(rack), 0);
  expect_text(rack, before);
  SCOPED_MEMORY char* const warnings = rack_warnings(rack, 48000.0);
  assert_says(warnings, "a only passes its input on: ");
  assert_says(warnings, unfit[row].why);
}

TEST(a_warning_names_the_missing_plugin)
{
  SCOPED_RACK Rack* const rack = bypassed("a: lv2 gone | b: lv2 late | gain", NULL);
  SCOPED_MEMORY char* const warnings = rack_warnings(rack, 48000.0);
  assert_says(warnings, "a only passes its input on: no lv2 plugin \"gone\"");
  assert_says(warnings, "\nb only passes its input on: no lv2 plugin \"late\"");
  fx_plugins_install_late(true);
  SCOPED_MEMORY char* const now = rack_warnings(rack, 48000.0);
  assert_says(now, "\nb only passes its input on: its plugin is there again; /rack/find lets it");
}

SUITE_MAIN("rack_missing")
