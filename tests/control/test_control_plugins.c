// SPDX-License-Identifier: GPL-3.0-or-later
// Plugins over OSC: lists and descriptions of them, an argument names one as in the rack language,
// undo restores it, its values have its own units and numbers, and a thousand parameters are read
// in steps.  The plugins are those of support/fx_plugins.c.

#include "control/folder.h"
#include "tests/support/control_rig.h"
#include "tests/support/fake_engine.h"
#include "tests/support/fx_plugins.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIL4 "\"http://gareus.org/oss/lv2/fil4#stereo\""
#define TUBE "\"urn:zamaudio:ZamTube\""

TEST(a_plugin_is_added_and_inserted_by_one_argument)
{
  client_ask(rig.client, "/done /rack/add 1 640", "/rack/add", "sssf", "a",
             "lv2 urn:zamaudio:ZamTube", "tubedrive", 3.0);
  client_ask(rig.client, "/done /rack/insert 2 640", "/rack/insert", "ssssssss", "b", "lv2 " FIL4,
             "before", "vol", "HPfreq", "0.1kHz", "bypass", "on");
  client_ask(rig.client, "/done /rack/do 3 640", "/rack/do", "s", "add c ladspa tap_reverb 2s");
  control_rig_expect_rack("add a lv2 " TUBE " tubedrive=3\n"
                          "add b lv2 " FIL4 " HPfreq=100Hz bypass=on\n"
                          "add c ladspa tap_reverb/tap_reverb decay=2000ms\n");
}

TEST(a_plugin_that_is_no_single_argument_is_explained)
{
  client_ask(rig.client,
             "/fail /rack/add 1 takes name effect [param value]... (ss[sv]...), not \"sss\"; write "
             "a plugin as one argument, as in \"lv2 ID\"",
             "/rack/add", "sss", "a", "lv2", "ZamTube");
  client_ask(rig.client, "/fail /rack/add 2 \"lv2\" lacks the id or a short name of a plugin*",
             "/rack/add", "ss", "a", "lv2");
  client_ask(rig.client, "/fail /rack/add 3 no lv2 plugin \"ZamTub\"; did you mean \"ZamTube\"?",
             "/rack/add", "ss", "a", "lv2 ZamTub");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 0);
}

TEST(undo_and_redo_restore_a_plugin_and_its_node)
{
  client_ask(rig.client, "/done*", "/rack/add", "ss", "a", "lv2 ZamTube");
  client_ask(rig.client, "/done /node/a/tubedrive", "/node/a/tubedrive", "f", 2.0);
  const uint32_t uid = fake_engine_set(rig.engine, 0).messages[0].uid;
  client_ask(rig.client, "/done*", "/rack/remove", "s", "a");
  client_ask(rig.client, "/done /rack/undo*", "/rack/undo", "");
  control_rig_expect_rack("add a lv2 " TUBE " tubedrive=2\n");
  client_ask(rig.client, "/done /node/a/tubedrive", "/node/a/tubedrive", "f", 4.0);
  ck_assert_uint_eq(fake_engine_set(rig.engine, 1).messages[0].uid, uid);
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: lv2 " TUBE " 5 | clap ZamComp");
  client_ask(rig.client, "/done /node/a/tubedrive", "/node/a/tubedrive", "f", 6.0);
  ck_assert_uint_eq(fake_engine_set(rig.engine, 2).messages[0].uid, uid);
}

TEST(values_have_the_units_and_numbers_of_the_plugin)
{
  client_ask(rig.client, "/done*", "/rack/add", "ss", "a", "lv2 fil4-stereo");
  client_ask(rig.client, "/node/a/slope 24 dB/oct", "/node/a/slope", "");
  client_ask(rig.client, "/done /node/a/slope", "/node/a/slope", "s", "12 dB/oct");
  ck_assert_double_eq(control_rig_newest_value(), 12.0);
  client_ask(rig.client, "/done /node/a/slope", "/node/a/slope", "f", 0.1);
  ck_assert_double_eq(control_rig_newest_value(), 0.1); // not as a float
  client_ask(rig.client, "/node/a/slope steep", "/node/a/slope", "");
  client_ask(rig.client, "/fail /node/a/slope 2 slope has no choice 2; one of*", "/node/a/slope",
             "i", 2);
  client_ask(rig.client, "/done /node/a/decay", "/node/a/decay", "s", "20ms");
  ck_assert_double_eq(control_rig_newest_value(), 0.02);
  client_ask(rig.client, "/done /node/a/level", "/node/a/level", "s", "-20dB");
  ck_assert_double_eq(control_rig_newest_value(), 0.1);
  client_ask(rig.client, "/done /node/a/level", "/node/a/level", "f", 15.84893);
  ck_assert_double_eq(control_rig_newest_value(), 15.84893); // the maximum; the float is above it
  client_ask(rig.client, "/done /node/a/wet", "/node/a/wet", "i", 30);
  client_ask(rig.client, "/done /node/a/mark", "/node/a/mark", "s", "1/4");
  client_ask(rig.client, "/node/a/mark 0.25", "/node/a/mark", "");
  control_rig_expect_rack(" level=15.84893 wet=30% decay=0.02s slope=steep mark=0.25\n");
}

TEST(an_outdated_plugin_takes_no_values_if_the_worker_is_a_process)
{
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: lv2 changed 1 | b: gain -3");
  client_ask(rig.client, "/done*", "/node/a/tubedrive", "f", 2.0);
  const FxInfo* fx = NULL;
  OK(fx_find_plugin("lv2", "changed", &fx, &error));
  atomic_store(fx->outdated, true);
  client_ask(rig.client, "/done*", "/node/a/tubedrive", "f", 2.0);
  fake_engine_tell_worker(rig.engine, WORKER_RUNNING, 9, "");
  const uint32_t n_sets = fake_engine_n_sets(rig.engine);
  client_ask(rig.client,
             "/fail /node/a/tubedrive 2 the plugin of a has changed; read the rack again "
             "(/rack/load)",
             "/node/a/tubedrive", "f", 3.0);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), n_sets);
  client_ask(rig.client, "/node/a/tubedrive 2", "/node/a/tubedrive", "");
  client_ask(rig.client, "/done*", "/node/b/gain", "f", -6.0);
  atomic_store(fx->outdated, false);
  client_ask(rig.client, "/done*", "/node/a/tubedrive", "f", 3.0);
}

TEST(presets_are_those_of_the_node_s_own_effect)
{
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: lv2 changed 1");
  const FxInfo* fx = NULL;
  OK(fx_find_plugin("lv2", "changed", &fx, &error));
  atomic_store(fx->outdated, true); // the newest catalogue has another one
  client_ask(rig.client, "/node/a/presets of changed\n 1 1", "/node/a/presets", "");
  atomic_store(fx->outdated, false);
}

// ---- plugins that are missing ----

#define MISSING "a: lv2 late thr=-20dB | b: gain"

TEST(a_rack_with_missing_plugins_is_loaded_with_the_word_bypass_only)
{
  scratch_write(&rig.folder, "m.rack", MISSING, strlen(MISSING));
  client_ask(rig.client, "/fail /rack/load 3 m.rack:1:8: no lv2 plugin \"late\"*", "/rack/load",
             "s", "m.rack");
  client_ask(rig.client, "/fail /rack/load 1 \"refuse\" is not the word bypass", "/rack/load", "ss",
             "m.rack", "refuse");
  client_ask(rig.client, "/rack/warning a only passes its input on: no lv2 plugin \"late\"*",
             "/rack/load", "ss", "m.rack", "bypass");
  client_expect(rig.client, "/done /rack/load*");
  control_rig_expect_rack("add a lv2 late thr=-20dB\nadd b gain\n");
  client_ask(rig.client,
             "/fail /node/a/thr 3 the plugin of a is missing, so its parameters are not known; the "
             "rack keeps each value that you set until it is there",
             "/node/a/thr", "");
  client_ask(rig.client, "/fail /node/a/values 3 the plugin of a is missing*", "/node/a/values",
             "");
  client_ask(rig.client, "/fail /node/a/?* 3 the plugin of a is missing*", "/node/a/?*", "");
  client_ask(rig.client, "/fail /node/*/v* 3 no node \"*\" has a parameter \"v*\"", "/node/*/v*",
             "f", -3.0);
  client_ask(rig.client, "/fail /norm/a/thr 3 the plugin of a is missing*", "/norm/a/thr", "");
  client_ask(rig.client, "/fail /norm/a/thr 3 the plugin of a is missing, so the ranges*",
             "/norm/a/thr", "f", 0.5);
  client_ask(rig.client, "/fail /node/a/presets 3 the plugin of a is missing*", "/node/a/presets",
             "");
  client_ask(rig.client, "/fail /note/a 3 the plugin of a is missing", "/note/a", "ii", 60, 100);
  client_ask(rig.client, "/fail /note/* 3 no node \"*\" takes notes", "/note/*", "ii", 60, 100);
  client_ask(rig.client,
             "/fail /rack/connect 3 \"a\" has no side input \"key\"; its plugin is missing",
             "/rack/connect", "ss", "in", "a.key");
  client_ask(rig.client, "/fail /rack/load 1 takes file [bypass] (s[s]), not \"sss\"", "/rack/load",
             "sss", "m.rack", "bypass", "x");
  client_ask(rig.client, "/done*", "/node/b/gain", "f", -3.0);
  client_ask(rig.client, "/done /rack/find*", "/rack/find", ""); // still missing
  control_rig_expect_rack("add a lv2 late thr=-20dB\nadd b gain gain=-3dB\n");
  client_ask(rig.client, "/done /rack/save*", "/rack/save", "s", "n.rack");
  client_ask(rig.client, "/done*", "/rack/clear", "");
  client_ask(rig.client, "/rack/warning a only*", "/rack/load", "ss", "n.rack", "bypass");
  client_expect(rig.client, "/done /rack/load*");
  control_rig_expect_rack("add a lv2 late thr=-20dB\nadd b gain gain=-3dB\n");
}

static void
load_missing(void)
{
  scratch_write(&rig.folder, "m.rack", MISSING, strlen(MISSING));
  client_ask(rig.client, "/rack/warning a only*", "/rack/load", "ss", "m.rack", "bypass");
  client_expect(rig.client, "/done /rack/load*");
}

TEST(a_node_whose_plugin_is_missing_keeps_the_values_that_are_set)
{
  load_missing();
  client_ask(rig.client, "/done /node/a/thr*", "/node/a/thr", "f", -3.0);
  control_rig_expect_rack("add a lv2 late thr=-3\nadd b gain\n");
  client_ask(rig.client, "/done /rack/set*", "/rack/set", "ss", "a.mode", "12 dB/oct");
  control_rig_expect_rack("add a lv2 late thr=-3 mode=\"12 dB/oct\"\nadd b gain\n");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("add a lv2 late thr=-3\nadd b gain\n");
  client_ask(rig.client, "/done /node/a/thr*", "/node/a/thr", "s", "-4dB");
  client_ask(rig.client, "/done /node/a/backend*", "/node/a/backend", "s", "cpu");
  control_rig_expect_rack("add a lv2 late thr=-4dB backend=cpu\nadd b gain\n");
  fx_plugins_install_late(true);
  client_ask(rig.client, "/done /rack/find*", "/rack/find", "");
  control_rig_expect_rack("add a lv2 \"urn:test:late\" thr=-4dB backend=cpu\nadd b gain\n");
}

TEST(values_of_a_node_whose_plugin_is_missing_do_not_replace_each_other_while_they_wait)
{
  load_missing();
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/node/a/thr", "f", -3.0);
  client_send(rig.client, "/node/a/mode", "s", "fast");
  client_send(rig.client, "/node/a/mix", "f", 0.5);
  client_expect_nothing(rig.client); // the first edit is in flight
  fake_engine_hold(rig.engine, false);
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  client_expect(rig.client, "/done /node/a/thr 2*");
  client_expect(rig.client, "/done /node/a/mode 3*");
  client_expect(rig.client, "/done /node/a/mix 4*");
  control_rig_expect_rack("add a lv2 late thr=-3 mode=fast mix=0.5\nadd b gain\n");
}

/// Targets and values that a rack cannot keep.
static const struct {
  const char *target, *value, *says;
} not_kept[] = {
  { "a.thr -1 #", "2", "no rack can have a parameter of this name" },
  { "a.thr\nremove", "2", "no rack can have a parameter of this name" },
  { "a.thr", "2\nremove b", "no rack can have a value with control characters" },
};

TEST(a_node_whose_plugin_is_missing_keeps_no_statements)
{
  load_missing();
  for (size_t i = 0; i < ARRAY_LEN(not_kept); ++i) {
    char answer[160];
    snprintf(answer, sizeof(answer), "/fail /rack/set 2 a: the plugin is missing, and %s",
             not_kept[i].says);
    client_ask(rig.client, answer, "/rack/set", "ss", not_kept[i].target, not_kept[i].value);
  }
  client_ask(rig.client, "/fail /node/a/thr 1 a.thr: not a finite number", "/node/a/thr", "f",
             (double)NAN);
  control_rig_expect_rack("add a lv2 late thr=-20dB\nadd b gain\n");
}

TEST(a_scan_that_finds_a_missing_plugin_lets_it_play)
{
  load_missing();
  client_ask(rig.client, "/done*", "/node/b/gain", "f", -3.0);
  fx_plugins_install_late(true);
  client_ask(rig.client, "/done /server/scan", "/server/scan", "");
  AWAIT(fake_engine_n_edits(rig.engine) == 2);
  control_rig_expect_rack("add a lv2 \"urn:test:late\" thr=-20dB\nadd b gain gain=-3dB\n");
  client_ask(rig.client, "/done /node/a/thr", "/node/a/thr", "f", -3.0);
  ck_assert_double_eq(control_rig_status("osc_withheld"), 0.0); // nobody has asked
}

TEST(plugins_that_are_there_and_do_not_play_are_reported)
{
  load_missing();
  fx_plugins_install_late(true);
  fake_engine_hold(rig.engine, true);
  client_ask(rig.client, "/done /server/scan", "/server/scan", "");
  AWAIT(fake_engine_n_edits(rig.engine) == 2);
  fake_engine_answer(rig.engine, STATUS_LIMIT, "a: no memory", 0);
  AWAIT(control_rig_has_warned(
      "plugins that were missing are installed now, but do not play: a: no memory\n"));
  control_rig_expect_rack("add a lv2 late thr=-20dB\n");
}

TEST(a_scan_that_finds_a_plugin_which_does_not_fit_says_why)
{
  static const char rack[] = "a: lv2 late gone=1";
  scratch_write(&rig.folder, "m.rack", rack, strlen(rack));
  client_ask(rig.client, "/rack/warning a only*", "/rack/load", "ss", "m.rack", "bypass");
  client_expect(rig.client, "/done /rack/load*");
  client_ask(rig.other, "/done /server/notify", "/server/notify", "i", 1); // it has no value
  fx_plugins_install_late(true);
  client_ask(rig.client, "/done /server/scan", "/server/scan", "");
  client_expect(rig.other, "/server/scanned*");
  client_expect(rig.other, "/rack/warning a only passes its input on: late has no parameter*");
  control_rig_expect_rack("add a lv2 late gone=1\n");
}

TEST(undo_leaves_a_plugin_that_has_been_found)
{
  load_missing();
  client_ask(rig.client, "/done*", "/rack/add", "ss", "c", "gain");
  fx_plugins_install_late(true);
  client_ask(rig.client, "/done /rack/find*", "/rack/find", "");
  client_ask(rig.client, "/done*", "/rack/undo", ""); // the edit before the plugin was found
  control_rig_expect_rack("add a lv2 \"urn:test:late\" thr=-20dB\nadd b gain\nconnect");
  client_ask(rig.client, "/done*", "/rack/redo", "");
  control_rig_expect_rack("add a lv2 \"urn:test:late\" thr=-20dB\nadd b gain\nadd c gain\n");
}

TEST(a_plugin_that_is_found_leaves_the_edits_to_redo)
{
  load_missing();
  client_ask(rig.client, "/done*", "/rack/add", "ss", "c", "gain");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  fx_plugins_install_late(true);
  client_ask(rig.client, "/done /server/scan", "/server/scan", "");
  AWAIT(fake_engine_n_edits(rig.engine) == 4);
  client_ask(rig.client, "/done*", "/rack/redo", "");
  control_rig_expect_rack("add a lv2 \"urn:test:late\" thr=-20dB\nadd b gain\nadd c gain\n");
}

static void
await_end_of_round(void)
{
  const uint64_t n_rounds = control_rounds(rig.control) + 2U;
  AWAIT(control_rounds(rig.control) >= n_rounds);
}

TEST(a_scan_that_ends_before_the_answer_to_an_edit_lets_its_plugin_play)
{
  scratch_write(&rig.folder, "m.rack", MISSING, strlen(MISSING));
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/load", "ss", "m.rack", "bypass");
  AWAIT(fake_engine_n_edits(rig.engine) == 1);
  fx_plugins_install_late(true);
  client_subscribe(rig.other, "/node/vol/gain ");
  client_ask(rig.client, "/done /server/scan", "/server/scan", "");
  client_expect(rig.other, "/server/scanned*");
  await_end_of_round(); // of the report
  fake_engine_hold(rig.engine, false);
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  client_expect(rig.client, "/rack/warning a only*");
  client_expect(rig.client, "/done /rack/load*");
  AWAIT(fake_engine_n_edits(rig.engine) == 2);
  await_end_of_round(); // of the edit
  control_rig_expect_rack("add a lv2 \"urn:test:late\" thr=-20dB\nadd b gain\n");
}

TEST(a_thousand_parameters_are_read_in_steps)
{
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: lv2 wide | b: gain | c: lv2 wide");
  client_ask(rig.client, "/done*", "/node/c/p995", "f", 0.5);
  client_send(rig.client, "/node/a/p??4", "");
  for (int n = 104; n < 1000; n += 10) {
    char expected[64];
    snprintf(expected, sizeof(expected), "/node/a/p%d 0", n);
    client_expect(rig.client, expected);
  }
  client_send(rig.client, "/node/?/{gain,p0,p994,p995}", "");
  client_expect(rig.client, "/node/a/p0 0");
  client_expect(rig.client, "/node/a/p994 0");
  client_expect(rig.client, "/node/a/p995 0");
  client_expect(rig.client, "/node/b/gain 0");
  client_expect(rig.client, "/node/c/p0 0");
  client_expect(rig.client, "/node/c/p994 0");
  client_expect(rig.client, "/node/c/p995 0.5");
  client_ask(rig.client, "/fail /node/a/q* 3 a (wide) has no parameter \"q*\"*", "/node/a/q*", "");
  client_ask(rig.client, "/fail /node/?/q* 3 no node \"?\" has a parameter \"q*\"", "/node/?/q*",
             "");
  client_ask(rig.client,
             "/fail /node/a/p9990 3 a (wide) has no parameter \"p9990\"; did you mean \"p990\"?",
             "/node/a/p9990", "");
  client_expect_nothing(rig.client);
}

// ---- states ----

static void
assert_file(const char* const name, const char* const content)
{
  char bytes[64] = "";
  FILE* const file = fopen(scratch_path(&rig.folder, name), "r");
  ck_assert_msg(file != NULL, "%s", name);
  (void)!fread(bytes, 1, sizeof(bytes) - 1U, file);
  fclose(file);
  ck_assert_str_eq(bytes, content);
}

/// The name of the file with this state.
static const char*
name_of(const char* const state)
{
  static char name[FX_STATE_NAME_BYTES];
  const FxInfo* fx = NULL;
  OK(fx_find_plugin("lv2", "keeper", &fx, &error));
  fx_state_name(fx, state, strlen(state), name);
  return name;
}

TEST(a_saved_state_is_a_file_that_the_rack_names)
{
  char expected[256];
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: lv2 keeper 0.5 | b: gain -3");
  fake_engine_save_as(rig.engine, STATUS_OK, "a state");
  snprintf(expected, sizeof(expected), "/done /node/a/state/save 2 640 %s", name_of("a state"));
  client_ask(rig.client, expected, "/node/a/state/save", "");
  assert_file(name_of("a state"), "a state");
  snprintf(expected, sizeof(expected), "level=0.5 state=%s\n", name_of("a state"));
  control_rig_expect_rack(expected);
  client_ask(rig.client, "/done*", "/node/a/state/save", ""); // the same: no edit
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 2);
  ck_assert_uint_eq(scratch_count(&rig.folder), 1);
  fake_engine_save_as(rig.engine, STATUS_OK, "another");
  client_ask(rig.client, "/done /node/a/state/save 3*", "/node/a/state/save", "");
  ck_assert_uint_eq(scratch_count(&rig.folder), 2);
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack(expected);
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("level=0.5\n");
  client_ask(rig.client, "/done*", "/rack/redo", "");
  snprintf(expected, sizeof(expected), "/node/a/state %s", name_of("a state"));
  client_ask(rig.client, expected, "/node/a/state", "");
}

TEST(the_files_of_a_state_are_beside_it)
{
  static const char* const package = "# warprack package 1\nfile state 7\na statefile wav 5\nsound";
  const PackageFile sound = { "wav", "sound", 5 };
  char name[FX_STATE_NAME_BYTES];
  char expected[256];
  const FxInfo* fx = NULL;
  OK(fx_find_plugin("lv2", "keeper", &fx, &error));
  package_name(fx, &sound, name);
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: lv2 keeper 0.5 | b: gain -3");
  fake_engine_save_as(rig.engine, STATUS_OK, package);
  snprintf(expected, sizeof(expected), "/done /node/a/state/save 2 640 %s", name_of("a state"));
  client_ask(rig.client, expected, "/node/a/state/save", "");
  assert_file(name_of("a state"), "a state");
  assert_file(name, "sound");
  ck_assert_uint_eq(scratch_count(&rig.folder), 2);
  fake_engine_save_as(rig.engine, STATUS_OK, "# warprack package 1\nfile state 7\na state?");
  client_ask(rig.client, "/fail /node/a/state/save*", "/node/a/state/save", "");
  ck_assert_uint_eq(scratch_count(&rig.folder), 2);
}

TEST(a_folder_has_room_for_so_many_states)
{
  char name[32];
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: lv2 keeper | b: gain -3");
  for (uint32_t s = 0; s < FOLDER_MAX_STATES; ++s) {
    snprintf(name, sizeof(name), "x-%016x.state", s);
    scratch_write(&rig.folder, name, "", 0);
  }
  fake_engine_save_as(rig.engine, STATUS_OK, "a state");
  client_ask(
      rig.client,
      "/fail /node/a/state/save 5 the server's folder has 1024 states of 0 MiB; at most 1024 "
      "of 1024 MiB; `warprack list states` shows which ones no rack uses",
      "/node/a/state/save", "");
  ck_assert_int_eq(unlink(scratch_path(&rig.folder, name)), 0);
  client_ask(rig.client, "/done /node/a/state/save 2*", "/node/a/state/save", "");
  client_ask(rig.client, "/done /node/a/state/save 2*", "/node/a/state/save", ""); // it is there
  ck_assert_int_eq(truncate(scratch_path(&rig.folder, "x-0000000000000000.state"), 1L << 30U), 0);
  fake_engine_save_as(rig.engine, STATUS_OK, "another state");
  client_ask(rig.client,
             "/fail /node/a/state/save 5 the server's folder has 1024 states of 1024 MiB*",
             "/node/a/state/save", "");
}

TEST(a_state_that_is_not_saved_changes_nothing)
{
  char expected[256];
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: lv2 keeper | b: gain -3");
  client_ask(rig.client, "/fail /node/a/state/save 12 no worker", "/node/a/state/save", "");
  fake_engine_save_as(rig.engine, STATUS_LIMIT, "too much");
  client_ask(rig.client, "/fail /node/a/state/save 5 too much", "/node/a/state/save", "");
  fake_engine_save_as(rig.engine, STATUS_OK, "a state");
  client_ask(rig.client, "/fail /node/b/state/save 3 it has no state*", "/node/b/state/save", "");
  client_ask(rig.client, "/fail /node/c/state/save 3 no node \"c\"*", "/node/c/state/save", "");
  client_ask(rig.client, "/fail /node/a/state/save 1 takes no arguments*", "/node/a/state/save",
             "i", 1);
  client_ask(rig.client, "/fail /node/a/state/load 3*", "/node/a/state/load", "");
  scratch_write(&rig.folder, name_of("a state"), "damaged", 7);
  snprintf(expected, sizeof(expected),
           "/fail /node/a/state/save 4 %s: a file of that name exists and has another content",
           name_of("a state"));
  client_ask(rig.client, expected, "/node/a/state/save", "");
  assert_file(name_of("a state"), "damaged");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 1);
}

TEST(a_link_out_of_the_folder_is_not_written_through)
{
  char expected[256];
  SCOPED(scratch_remove) Scratch outside = scratch_new();
  scratch_write(&outside, "victim", "old", 3);
  ck_assert_int_eq(
      symlink(scratch_path(&outside, "victim"), scratch_path(&rig.folder, name_of("a state"))), 0);
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: lv2 keeper");
  fake_engine_save_as(rig.engine, STATUS_OK, "a state");
  snprintf(expected, sizeof(expected),
           "/fail /node/a/state/save 9 %s: outside the server's folder*", name_of("a state"));
  client_ask(rig.client, expected, "/node/a/state/save", "");
}

TEST(plugins_are_listed_by_words_and_described_in_parts)
{
  client_ask(rig.client, "/server/plugins plugins 1 1", "/server/plugins", "");
  client_ask(rig.client, "/server/plugins plugins a b 1 1", "/server/plugins", "ss", "a", "b");
  client_ask(rig.client, "/server/plugins plugins a 1 1", "/server/plugins", "is", 1, "a");
  client_ask(rig.client, "/fail /server/plugins 1 the text has parts 1 to 1", "/server/plugins",
             "is", 2, "a");
  client_ask(rig.client, "/server/plugin xxx*", "/server/plugin", "ssi", "lv2", "long", 2);
  client_ask(rig.client, "/fail /server/plugin 1 the text has parts 1 to 2", "/server/plugin",
             "ssi", "lv2", "long", 3);
  client_ask(rig.client, "/fail /server/plugin 3 no lv2 plugin \"short\"", "/server/plugin", "ss",
             "lv2", "short");
}

TEST(presets_of_a_node_are_listed)
{
  client_ask(rig.client, "/done*", "/rack/chain", "s",
             "t: lv2 ZamTube | c: clap ZamComp | g: gain");
  client_ask(rig.client, "/node/t/presets Warm\nVery cold\n 1 1", "/node/t/presets", "");
  client_ask(rig.client, "/node/t/presets Warm\nVery cold\n 1 1", "/node/t/presets", "i", 1);
  client_ask(rig.client, "/fail /node/t/presets 1 the text has parts 1 to 1", "/node/t/presets",
             "i", 2);
  client_ask(rig.client, "/node/c/presets of ZamComp\n 1 1", "/node/c/presets", "");
  client_ask(rig.client, "/fail /node/g/presets 3 g is no plugin, so it has no presets",
             "/node/g/presets", "");
  client_ask(rig.client, "/fail /node/x/presets 3 no node \"x\"*", "/node/x/presets", "");
}

TEST(too_many_words_for_a_list_of_plugins_are_refused)
{
  client_ask(rig.client, "/fail /server/plugins 5 at most 16 words", "/server/plugins",
             "sssssssssssssssss", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a", "a",
             "a", "a", "a", "a");
}

TEST(the_end_of_a_scan_is_news)
{
  client_subscribe(rig.other, "/node/vol/gain ");
  client_ask(rig.client, "/done /server/scan", "/server/scan", "");
  client_expect(rig.other, "/server/scanned 7 2 1 found");
}

SUITE_MAIN_WITH("control_plugins", control_rig_start, control_rig_stop)
