// SPDX-License-Identifier: GPL-3.0-or-later
// Scenes: what a store takes, and a recall as one group of values, one step of undo and one answer
// that names the missing parameters.

#include "control/history.h"
#include "control/scenes.h"
#include "tests/support/control_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Two scenes of the rack of the rig: low (40 Hz, -20 dB) and high (200 Hz, -1 dB).
static void
make_scenes(void)
{
  client_ask(rig.client, "/done /rack/do 1*", "/rack/do", "ss",
             "scene low lowcut.frequency=40 vol.gain=-20",
             "scene high lowcut.frequency=200 vol.gain=-1");
}

static const struct {
  const char* message[4]; ///< Arguments of /scene/store
  const char* answer;
  const char* scene; ///< NULL: none
} stores[] = {
  { { "a" }, "/done*", "scene a lowcut.frequency=80Hz lowcut.type=butterworth vol.gain=-6dB\n" },
  { { "a", "*.gain" }, "/done*", "scene a vol.gain=-6dB\n" },
  { { "a", "lowcut.*", "vol.g*" },
    "/done*",
    "scene a lowcut.frequency=80Hz lowcut.type=butterworth vol.gain=-6dB\n" },
  { { "a", "lowcut.order", "{lowcut,no}.backend" }, "/done*", "scene a lowcut.order=2\n" },
  { { "a", "vol.backend" }, "/done*", "scene a vol.backend=auto\n" },
  { { "a", "safe.*" }, "/fail /scene/store 3 no parameter to store: all are safe, *", NULL },
  { { "a", "safe.gain" }, "/done*", "scene a safe.gain=0dB\n" },
  { { "a", "[!v]*.gain", "x.y" }, "/fail /scene/store 3 no node \"x\"; *", NULL },
  { { "a", "*.gian" }, "/fail /scene/store 3 no node \"*\" has a parameter \"gian\"", NULL },
  { { "a", "vol.gian" }, "/fail /scene/store 3 gain has no parameter \"gian\"; did you *", NULL },
  { { "a", "vol" }, "/fail /scene/store 2 \"vol\" is not a pattern *", NULL },
  { { "a", "vol.[a" }, "/fail /scene/store 2 \"vol.[a\" is not a pattern *", NULL },
  { { "a b" }, "/fail /scene/store 2 \"a b\" is not a valid name of a scene; *", NULL },
  { { "" }, "/fail /scene/store 2 \"\" is not a valid name of a scene; *", NULL },
};

TEST_ROWS(a_store_takes_the_values_that_its_patterns_match, stores)
{
  client_ask(rig.client, "/done*", "/rack/do", "s", "add safe gain\nsafe safe.*");
  const char* const* const words = stores[row].message;
  const char types[] = { 's', words[1] ? 's' : '\0', words[2] ? 's' : '\0', '\0' };
  client_send(rig.client, "/scene/store", types, words[0], words[1], words[2]);
  const char* answer = client_receive(rig.client);
  if (!strncmp(answer, "/rack/warning", 13)) { // of the scene with a structural parameter
    answer = client_receive(rig.client);
  }
  const size_t n = strcspn(stores[row].answer, "*\0");
  ck_assert_msg(!strncmp(answer, stores[row].answer, n), "%s", answer);
  SCOPED_MEMORY char* const rack = fake_engine_newest(rig.engine, NULL);
  if (stores[row].scene) {
    control_rig_expect_rack(stores[row].scene);
  } else {
    ck_assert_ptr_null(strstr(rack, "scene"));
  }
}

/// Expect the answer of a subscriber and both values, in any order.
static void
expect_as_subscriber(const char* const done, const char* const frequency, const char* const gain)
{
  uint32_t n_found = 0;
  for (uint32_t a = 0; a < 3U; ++a) {
    const char* const answer = client_receive(rig.other);
    n_found +=
        !strncmp(answer, done, strlen(done)) || !strcmp(answer, frequency) || !strcmp(answer, gain);
  }
  ck_assert_msg(n_found == 3U, "the last answer is %s", rig.other->answer);
}

static void
recall_as_subscriber(const char* const scene, const char* const done, const char* const frequency,
                     const char* const gain)
{
  client_send(rig.other, "/scene/recall", "s", scene);
  expect_as_subscriber(done, frequency, gain);
}

TEST(a_recall_is_one_group_one_step_and_news_to_all)
{
  make_scenes();
  client_subscribe(rig.other, "/node/vol/gain ");
  recall_as_subscriber("low", "/done /scene/recall 2 ", "/node/lowcut/frequency 40",
                       "/node/vol/gain -20");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1);
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 1); // the scenes
  const FakeSet set = fake_engine_set(rig.engine, 0);
  ck_assert_uint_eq(set.n, 2);
  ck_assert_double_eq(set.messages[0].value, 40.0);
  ck_assert_double_eq(set.messages[1].value, -20.0);
  // Within the second of a gesture:
  recall_as_subscriber("high", "/done /scene/recall 3 ", "/node/lowcut/frequency 200",
                       "/node/vol/gain -1");
  client_ask(rig.client, "/done /scene/recall 4 *", "/scene/recall", "s", "high"); // no step
  control_rig_expect_rack("frequency=200Hz\nadd vol gain gain=-1dB");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("frequency=40Hz\nadd vol gain gain=-20dB");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("frequency=80Hz\nadd vol gain gain=-6dB");
  client_ask(rig.client, "/done*", "/rack/redo", "");
  control_rig_expect_rack("frequency=40Hz\nadd vol gain gain=-20dB");
}

TEST(next_and_previous_follow_the_order_of_the_scenes)
{
  client_ask(rig.client, "/fail /scene/next 3 the rack has no scene yet", "/scene/next", "");
  make_scenes();
  client_ask(rig.client, "/scene/list low\t2\t\nhigh\t2\t\n 1 1", "/scene/list", "");
  client_ask(rig.client, "/done /scene/next*", "/scene/next", "");
  ck_assert_double_eq(fake_engine_set(rig.engine, 0).messages[1].value, -20.0);
  client_ask(rig.client, "/done /scene/next*", "/scene/next", "");
  ck_assert_double_eq(fake_engine_set(rig.engine, 1).messages[1].value, -1.0);
  client_ask(rig.client, "/scene/list low\t2\t\nhigh\t2\trecalled\n 1 1", "/scene/list", "");
  client_ask(rig.client, "/fail /scene/next 3 \"high\" is the last scene", "/scene/next", "");
  client_ask(rig.client, "/done /scene/previous*", "/scene/previous", "");
  client_ask(rig.client, "/fail /scene/previous 3 \"low\" is the first scene", "/scene/previous",
             "");
  client_ask(rig.client, "/done*", "/scene/remove", "s", "low");
  client_ask(rig.client,
             "/fail /scene/next 3 the scene \"low\", which was recalled last, is gone; recall *",
             "/scene/next", "");
  client_ask(rig.client, "/done*", "/rack/undo", ""); // the scene is back
  client_ask(rig.client, "/done /scene/next*", "/scene/next", "");
}

TEST(missing_parameters_are_named_and_the_rest_is_done)
{
  make_scenes();
  client_send(rig.client, "/rack/do", "s",
              "scene low gone.mix=1 vol.gain=-20 lowcut.type=elliptic"
              "\nscene none gone.x=2");
  client_expect(rig.client, "/rack/warning scene low names gone.mix, not there now; a recall leaves"
                            " it out\nscene none names*");
  client_expect(rig.client, "/done /rack/do 2*");
  client_send(rig.client, "/scene/recall", "ss", "low", "strict");
  client_expect(rig.client, "/fail /scene/recall 3 the scene \"low\" names 1 missing parameter: "
                            "gone.mix");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
  client_send(rig.client, "/scene/recall", "s", "low");
  ck_assert_ptr_nonnull(strstr(client_receive(rig.client), " gone.mix"));
  ck_assert_str_eq(strrchr(rig.client->answer, ' '), " gone.mix");
  ck_assert_uint_eq(fake_engine_set(rig.engine, 0).n, 2);
  client_ask(rig.client, "/done /scene/recall 4 *", "/scene/recall", "s", "none");
  client_ask(rig.client, "/fail /scene/recall 3 no scene \"lo\"; did you mean \"low\"?",
             "/scene/recall", "s", "lo");
  // A node of that name with a parameter that does not take the value is missing, too.
  client_ask(rig.client, "/done*", "/rack/add", "ss", "gone", "gain");
  client_send(rig.client, "/scene/recall", "ss", "low", "strict");
  client_expect(rig.client, "/fail /scene/recall 3 the scene \"low\" names 1 *");
  client_ask(rig.client, "/done*", "/rack/remove", "s", "vol");
  client_send(rig.client, "/scene/recall", "ss", "high", "strict"); // its value is gone with it
  client_expect(rig.client, "/done /scene/recall*");
}

TEST(safes_and_patterns_limit_a_recall)
{
  make_scenes();
  client_ask(rig.client, "/done /scene/safe*", "/scene/safe", "ss", "vol.*", "x.y");
  client_ask(rig.client, "/done*", "/scene/recall", "s", "low");
  ck_assert_uint_eq(fake_engine_set(rig.engine, 0).n, 1);
  control_rig_expect_rack("frequency=40Hz\nadd vol gain gain=-6dB");
  control_rig_expect_rack("\nsafe vol.* x.y\n");
  client_ask(rig.client, "/done*", "/scene/recall", "ss", "high", "v*.gain"); // still safe
  client_ask(rig.client, "/done*", "/scene/recall", "ss", "high", "vol.gain");
  control_rig_expect_rack("frequency=40Hz\nadd vol gain gain=-1dB");
  client_ask(rig.client, "/fail /scene/unsafe 3 no safe \"vol.gain\"; *", "/scene/unsafe", "s",
             "vol.gain");
  client_ask(rig.client, "/done /scene/unsafe*", "/scene/unsafe", "ss", "vol.*", "x.y");
  client_ask(rig.client, "/done*", "/scene/recall", "ss", "low", "*.{gain,mix}");
  control_rig_expect_rack("frequency=40Hz\nadd vol gain gain=-20dB");
  client_ask(rig.client, "/fail /scene/recall 2 \"volume\" is not a pattern *", "/scene/recall",
             "ss", "low", "volume");
}

TEST(a_scene_with_a_structural_parameter_is_recalled_as_an_edit)
{
  client_send(rig.client, "/rack/do", "s", "scene a lowcut.order=8 vol.gain=-9\nscene b");
  client_expect(rig.client, "/rack/warning scene a sets lowcut.order*");
  client_expect(rig.client, "/done /rack/do 1*");
  client_ask(rig.client, "/done /scene/recall 2 640", "/scene/recall", "s", "a");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
  control_rig_expect_rack("order=8\nadd vol gain gain=-9dB");
  client_ask(rig.client, "/done /scene/recall*", "/scene/recall", "s", "a"); // changes nothing
  client_ask(rig.client, "/done /scene/next*", "/scene/next", "");           // is "b"
  client_ask(rig.client, "/fail /scene/next 3 \"b\" is the last scene", "/scene/next", "");
}

TEST(a_scene_follows_its_nodes_and_undo_brings_it_back)
{
  make_scenes();
  client_ask(rig.client, "/done*", "/rack/rename", "ss", "vol", "level");
  control_rig_expect_rack("scene low lowcut.frequency=40Hz level.gain=-20dB\n");
  client_ask(rig.client, "/done*", "/rack/remove", "s", "lowcut");
  control_rig_expect_rack("scene low level.gain=-20dB\nscene high level.gain=-1dB\n");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("scene low lowcut.frequency=40Hz level.gain=-20dB\n");
  client_ask(rig.client, "/done /rack/save", "/rack/save", "s", "a.rack");
  client_ask(rig.client, "/done*", "/rack/clear", "");
  client_ask(rig.client, "/scene/list  1 1", "/scene/list", "");
  client_ask(rig.client, "/done*", "/rack/load", "s", "a.rack");
  control_rig_expect_rack("scene high lowcut.frequency=200Hz level.gain=-1dB\n");
}

TEST(a_recall_overtakes_an_edit_in_flight_but_not_one_that_changes_its_scene)
{
  make_scenes();
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_ask(rig.client, "/done /scene/recall 2 *", "/scene/recall", "s", "low");
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  client_expect(rig.client, "/done /rack/add 3 640");
  control_rig_expect_rack("frequency=40Hz\nadd vol gain gain=-20dB\nadd a gain\n");
  client_send(rig.client, "/scene/store", "ss", "high", "vol.gain"); // -20 dB
  client_send(rig.client, "/scene/recall", "s", "high");
  client_expect_nothing(rig.client);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1);
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  client_expect(rig.client, "/done /scene/store 4 640");
  client_expect(rig.client, "/done /scene/recall 5 *");
  control_rig_expect_rack("frequency=40Hz\nadd vol gain gain=-20dB\n");
}

TEST(a_recall_with_a_time_is_sent_ahead_with_its_frame)
{
  make_scenes();
  const lo_bundle bundle = lo_bundle_new(tag_in(2.0));
  bundle_add(bundle, "/scene/next", "");
  client_send_bundle(rig.client, bundle);
  client_ask(rig.client, "/node/vol/gain -6", "/node/vol/gain", "");
  client_expect(rig.client, "/done /scene/next 2 *");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1);
  ck_assert_uint_gt(fake_engine_set(rig.engine, 0).frame, 0);
  client_ask(rig.client, "/node/vol/gain -20", "/node/vol/gain", "");
}

TEST(a_recall_fades_by_its_scene_or_its_message)
{
  static const struct {
    const char* types;
    double seconds;
    const char* curve;
    uint32_t fade_frames, fade_curve;
  } rows[] = { { "s", 0.0, NULL, 96000, CURVE_S },
               { "sd", 0.5, NULL, 24000, CURVE_S },
               { "sds", 1.0, "out", 48000, CURVE_OUT },
               { "sd", 0.0, NULL, 0, CURVE_S } };
  client_ask(rig.client, "/done*", "/rack/do", "s", "scene a fade=2s curve=s vol.gain=-20");
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    if (rows[r].types[1]) {
      client_ask(rig.client, "/done*", "/scene/recall", rows[r].types, "a", rows[r].seconds,
                 rows[r].curve);
    } else {
      client_ask(rig.client, "/done*", "/scene/recall", "s", "a");
    }
    const FakeSet set = fake_engine_set(rig.engine, r);
    ck_assert_uint_eq(set.messages[0].fade_frames, rows[r].fade_frames);
    ck_assert_uint_eq(set.messages[0].curve, rows[r].fade_curve);
    ck_assert_double_eq(set.messages[0].value, -20.0);
  }
  client_ask(rig.client, "/fail /scene/next 3 \"a\" is the last scene", "/scene/next", "fs", 1.0,
             "in");
  client_ask(rig.client, "/fail /scene/recall 1 the time is -1; it is 0 to 3600 s", "/scene/recall",
             "sf", "a", -1.0);
  client_ask(rig.client, "/done*", "/scene/store", "s", "a"); // keeps the fade
  control_rig_expect_rack("scene a fade=2s curve=s lowcut.frequency=80Hz");
}

#define STOP_AHEAD 240U // frames from a stop to the end of the fade: 5 ms

TEST(a_stop_holds_a_recall_where_it_is)
{
  make_scenes();
  client_ask(rig.client, "/done*", "/rack/do", "s", "scene high lowcut.frequency=320 vol.gain=-1");
  client_ask(rig.client, "/done /scene/stop 3 *", "/scene/stop", ""); // nothing fades
  client_subscribe(rig.other, "/node/vol/gain ");
  client_ask(rig.client, "/done /scene/recall 4 *", "/scene/recall", "sf", "high", 1.0);
  client_receive(rig.other);
  client_receive(rig.other);
  fake_engine_advance(rig.engine, 24000U - STOP_AHEAD);
  client_send(rig.other, "/scene/stop", "");
  expect_as_subscriber("/done /scene/stop 5 24000", "/node/lowcut/frequency 160",
                       "/node/vol/gain -3.5");
  const FakeSet set = fake_engine_set(rig.engine, 1);
  ck_assert_uint_eq(set.n, 2);
  ck_assert_uint_eq(set.frame, 24000U);
  ck_assert_double_eq_tol(set.messages[0].value, 160.0, 1e-9); // by its taper
  ck_assert_double_eq_tol(set.messages[1].value, -3.5, 1e-9);
  ck_assert_uint_eq(set.messages[1].fade_frames, 0U);
  client_ask(rig.client, "/done /scene/stop 6 *", "/scene/stop", ""); // stopped already
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 2);
  client_ask(rig.client, "/done*", "/scene/store", "ss", "half", "vol.gain");
  control_rig_expect_rack("scene half vol.gain=-3.5dB\n");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  client_ask(rig.client, "/done*", "/rack/undo", ""); // of the stop: the values of the scene
  control_rig_expect_rack("frequency=320Hz\nadd vol gain gain=-1dB");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("frequency=80Hz\nadd vol gain gain=-6dB");
}

TEST(a_stop_leaves_alone_what_others_have_set_since)
{
  make_scenes();
  client_ask(rig.client, "/done*", "/scene/recall", "sf", "high", 1.0);
  client_ask(rig.client, "/done*", "/node/vol/gain", "f", -15.0); // a hand
  client_ask(rig.client, "/done*", "/rack/do", "s", "set lowcut.frequency 300");
  fake_engine_advance(rig.engine, 1000U);
  client_ask(rig.client, "/done /scene/stop*", "/scene/stop", "");
  client_ask(rig.client, "/done*", "/scene/recall", "sf", "low", 1.0);
  client_ask(rig.client, "/done*", "/node/vol/gain", "ff", -3.0, 9.0); // fades, but of no recall
  fake_engine_advance(rig.engine, 1000U);
  client_ask(rig.client, "/done /scene/stop*", "/scene/stop", "");
  const FakeSet set = fake_engine_set(rig.engine, 4);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 5);
  ck_assert_uint_eq(set.n, 1);
  ck_assert_uint_eq(set.messages[0].uid, fake_engine_set(rig.engine, 0).messages[0].uid);
  fake_engine_advance(rig.engine, 48000U);
  client_ask(rig.client, "/done*", "/scene/recall", "sf", "high", 1.0);
  fake_engine_advance(rig.engine, 48000U); // it has ended
  client_ask(rig.client, "/done /scene/stop*", "/scene/stop", "");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 6);
}

/// Move a fader between two scenes.  Returns true if it moved within a gesture.
static bool
move_fader(void)
{
  const uint64_t began_ns = time_now_ns();
  for (int i = 0; i <= 20; ++i) {
    client_ask(rig.client, "/done /scene/morph", "/scene/morph", "ssd", "a", "b", i / 20.0);
  }
  return time_now_ns() - began_ns < HISTORY_GESTURE_NS;
}

static void
make_morphs(void)
{
  client_send(
      rig.client, "/rack/do", "sss", "add d delay",
      "scene a vol.gain=-20 lowcut.frequency=100 lowcut.type=elliptic lowcut.order=4 d.time=1",
      "scene b d.feedback=0.5 lowcut.order=8 lowcut.type=butterworth vol.gain=-10\nscene c "
      "d.time=1");
  client_expect(rig.client, "/rack/warning*"); // structural
  client_expect(rig.client, "/done /rack/do 1*");
}

TEST(a_morph_is_between_two_scenes)
{
  make_morphs();
  client_ask(rig.client, "/done /scene/morph", "/scene/morph", "ssf", "a", "b", 0.25);
  const FakeSet set = fake_engine_set(rig.engine, 0);
  ck_assert_uint_eq(set.n, 2);
  ck_assert_double_eq(set.messages[0].value, -17.5);
  ck_assert_double_eq(set.messages[1].value, 2.0); // elliptic
  client_ask(rig.client, "/done /scene/morph", "/scene/morph", "ssf", "a", "b", 0.5);
  ck_assert_double_eq(fake_engine_set(rig.engine, 1).messages[1].value, 0.0);
  client_ask(rig.client, "/done*", "/rack/do", "ss", "scene d lowcut.frequency=100",
             "scene e lowcut.frequency=400");
  client_ask(rig.client, "/done /scene/morph", "/scene/morph", "ssf", "d", "e", 0.5);
  ck_assert_double_eq_tol(control_rig_newest_value(), 200.0, 1e-9); // by its taper
  client_ask(rig.client, "/fail /scene/morph 1 the position is 0 to 1, not 1.5", "/scene/morph",
             "ssf", "a", "b", 1.5);
  client_ask(rig.client, "/fail /scene/morph 3 no scene \"x\"; one of a, b, c, d, e",
             "/scene/morph", "ssf", "a", "x", 0.5);
  client_ask(rig.client, "/fail /scene/morph 3 no parameter is in both scenes *", "/scene/morph",
             "ssf", "c", "b", 0.5);
}

TEST(a_fader_between_scenes_is_one_step)
{
  make_morphs();
  while (!move_fader()) { // the machine stalled
    control_rig_stop();
    control_rig_start();
    make_morphs();
  }
  control_rig_expect_rack("frequency=80Hz\nadd vol gain gain=-10dB");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("frequency=80Hz\nadd vol gain gain=-6dB");
}

TEST(a_comparison_goes_back_and_forth_without_a_step)
{
  client_ask(rig.client, "/fail /scene/compare 3 no scene was recalled yet", "/scene/compare", "");
  make_scenes();
  client_ask(rig.client, "/done*", "/scene/recall", "s", "low");
  client_ask(rig.client, "/done*", "/node/vol/gain", "f", -15.0); // a hand
  for (int i = 0; i < 3; ++i) {
    client_ask(rig.client, "/done /scene/compare*", "/scene/compare", "");
    control_rig_expect_rack("frequency=40Hz\nadd vol gain gain=-20dB");
    client_ask(rig.client, "/done /scene/compare*", "/scene/compare", "");
    control_rig_expect_rack("frequency=40Hz\nadd vol gain gain=-15dB");
  }
  client_ask(rig.client, "/done*", "/rack/undo", ""); // of the hand
  control_rig_expect_rack("frequency=40Hz\nadd vol gain gain=-20dB");
  client_ask(rig.client, "/done*", "/node/vol/gain", "f", -16.0);
  client_ask(rig.client, "/done*", "/scene/compare", "");
  client_ask(rig.client, "/done*", "/scene/recall", "s", "high"); // ends the comparison
  client_ask(rig.client, "/done*", "/node/vol/gain", "f", -17.0);
  client_ask(rig.client, "/done*", "/scene/compare", "");
  control_rig_expect_rack("frequency=200Hz\nadd vol gain gain=-1dB");
  client_ask(rig.client, "/done*", "/rack/rename", "ss", "vol", "level");
  client_ask(rig.client, "/done*", "/rack/remove", "s", "lowcut");
  client_ask(rig.client, "/done*", "/scene/compare", "");
  control_rig_expect_rack("add level gain gain=-17dB");
}

TEST(a_rack_begins_with_a_scene)
{
  SCOPED_RACK Rack* const rack = rack_of(
      "add a gain\nadd b delay\nscene s a.gain=-3 b.note=1/8 no.x=1 b.time=3\nsafe b.time", NULL);
  OK(scenes_begin(rack, "s", &error));
  SCOPED_MEMORY char* const text = rack_print_sound(rack);
  ck_assert_msg(strstr(text, "add a gain gain=-3dB\nadd b delay note=1/8\n"), "%s", text);
  Error error;
  ck_assert_int_eq(scenes_begin(rack, "t", &error), STATUS_NOT_FOUND);
}

SUITE_MAIN_WITH("control_scenes", control_rig_start, control_rig_stop)
