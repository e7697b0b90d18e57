// SPDX-License-Identifier: GPL-3.0-or-later
// The order of edits and values: values overtake edits, edits wait for their turn, and undo, redo
// and the engine go back to earlier racks.

#include "control/history.h"
#include "engine/base/time.h"
#include "tests/support/control_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// Wait until the server has read all packets of the client, which has no answer yet.  A ping of
/// another client may overtake packets that cost much time.
static void
settle(void)
{
  client_expect_nothing(rig.client);
}

static void
accept_edit(void)
{
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
}

// ---- edits in order ----

TEST(one_edit_is_in_flight_and_the_others_wait_in_order)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_send(rig.client, "/rack/add", "ss", "b", "gain");
  client_send(rig.client, "/rack/connect", "ss", "a", "b");
  client_expect_nothing(rig.client);
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 1);
  accept_edit();
  client_expect(rig.client, "/done /rack/add 1 640");
  accept_edit();
  client_expect(rig.client, "/done /rack/add 2 640");
  accept_edit();
  client_expect(rig.client, "/done /rack/connect 3 640");
}

/// Send an edit, and one command behind it.  Both are refused; returns the number of
/// engine_overtake() calls.
static uint32_t
overtakes_of(const char* const text, const char* const address, const char* const argument)
{
  const uint32_t before = fake_engine_n_overtakes(rig.engine);
  client_send(rig.client, "/rack/do", "s", text);
  settle();
  client_send(rig.client, address, argument ? "s" : "", argument);
  settle();
  fake_engine_answer(rig.engine, STATUS_WORKER, "no", 0);
  client_expect(rig.client, "/fail /rack/do 12 no");
  fake_engine_answer(rig.engine, STATUS_WORKER, "no", 0);
  client_expect(rig.client, "/fail *");
  return fake_engine_n_overtakes(rig.engine) - before;
}

TEST(an_edit_that_shrinks_the_rack_overtakes_one_that_adds_nodes)
{
  client_ask(rig.client, "/done*", "/rack/add", "ss", "old", "gain"); // to undo
  fake_engine_hold(rig.engine, true);
  ck_assert_uint_eq(overtakes_of("add a gain", "/rack/clear", NULL), 1);
  ck_assert_uint_eq(overtakes_of("add a gain", "/rack/undo", NULL), 1);
  ck_assert_uint_eq(overtakes_of("add a gain", "/rack/remove", "vol"), 1);
  ck_assert_uint_eq(overtakes_of("add a gain", "/rack/do", " remove vol"), 1);
  ck_assert_uint_eq(overtakes_of("add a gain", "/rack/chain", "gain"), 1);
  ck_assert_uint_eq(overtakes_of("add a gain", "/rack/do", "add b gain"), 0);
  ck_assert_uint_eq(overtakes_of("connect in out", "/rack/clear", NULL), 0); // adds no node
  ck_assert_uint_eq(overtakes_of("remove old", "/rack/remove", "vol"), 0);
}

TEST(an_edit_that_shrinks_the_rack_overtakes_each_edit_before_it)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/chain", "s", "a: gain");
  client_send(rig.client, "/rack/add", "ss", "b", "gain");
  settle();
  ck_assert_uint_eq(fake_engine_n_overtakes(rig.engine), 0);
  client_send(rig.client, "/rack/clear", "");
  client_send(rig.client, "/rack/add", "ss", "c", "gain");
  settle();
  ck_assert_uint_eq(fake_engine_n_overtakes(rig.engine), 1);
  fake_engine_answer(rig.engine, STATUS_WORKER, "no", 0);
  client_expect(rig.client, "/fail /rack/chain 12 no");
  accept_edit();
  client_expect(rig.client, "/done /rack/add 1 640");
  ck_assert_uint_eq(fake_engine_n_overtakes(rig.engine), 2);
  accept_edit();
  client_expect(rig.client, "/done /rack/clear 2 640");
  accept_edit();
  client_expect(rig.client, "/done /rack/add 3 640");
  ck_assert_uint_eq(fake_engine_n_overtakes(rig.engine), 2);
  control_rig_expect_rack("add c gain");
}

TEST(a_refused_edit_changes_nothing_and_edits_that_depend_on_it_are_refused)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_send(rig.client, "/rack/connect", "ss", "vol", "a");
  client_send(rig.client, "/rack/add", "ss", "b", "gain");
  settle();
  fake_engine_answer(rig.engine, STATUS_LIMIT, "would not meet the deadline", 0);
  client_expect(rig.client, "/fail /rack/add 5 would not meet the deadline");
  client_expect(rig.client, "/fail /rack/connect 3 *");
  accept_edit();
  client_expect(rig.client, "/done /rack/add 1 640");
  control_rig_expect_rack("add b gain\nconnect in lowcut");
}

TEST(a_node_whose_neighbours_cannot_be_connected_is_to_be_disconnected_first)
{
  static const char widths[] = "lowcut gives 2; channels";
  // connections: in lowcut, lowcut vol, vol out
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/remove", "s", "vol");
  fake_engine_refuse_edge(rig.engine, 1, widths);
  client_expect(rig.client, "/fail /rack/remove 2 remove vol connects its neighbours; first "
                            "disconnect lowcut vol: lowcut gives 2; channels");
  client_send(rig.client, "/rack/do", "ss", "rename vol quiet", "remove lowcut");
  fake_engine_refuse_edge(rig.engine, 0, "in gives 2");
  client_expect(rig.client, "/fail /rack/do 2 remove lowcut connects its neighbours; first "
                            "disconnect in lowcut: in gives 2");
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/rack/remove", "s", "vol");
  bundle_add(bundle, "/rack/set", "sf", "lowcut.frequency", 90.0);
  client_send_bundle(rig.client, bundle);
  fake_engine_refuse_edge(rig.engine, 1, widths);
  client_expect(rig.client, "/fail /rack/remove 2 remove vol connects its neighbours; *");
  client_expect(rig.client, "/fail /rack/set 2 remove vol connects its neighbours; *");
}

TEST(a_refusal_for_another_reason_does_not_mention_a_removed_node)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/remove", "s", "vol");
  fake_engine_answer(rig.engine, STATUS_BAD_RACK, "lowcut would have 999 channels", 0);
  client_expect(rig.client, "/fail /rack/remove 2 lowcut would have 999 channels");
  client_send(rig.client, "/rack/remove", "s", "vol");
  fake_engine_refuse_edge(rig.engine, 0, "in gives 2"); // not a connection that `remove` makes
  client_expect(rig.client, "/fail /rack/remove 2 in gives 2");
  client_send(rig.client, "/rack/do", "ss", "remove vol", "connect lowcut out");
  fake_engine_refuse_edge(rig.engine, 1, "lowcut gives 2"); // a `connect` makes it, too
  client_expect(rig.client, "/fail /rack/do 2 lowcut gives 2");
  client_send(rig.client, "/rack/remove", "s", "vol");
  fake_engine_refuse_edge(rig.engine, 99, "no such connection");
  client_expect(rig.client, "/fail /rack/remove 2 no such connection");
  client_send(rig.client, "/rack/remove", "s", "vol");
  accept_edit();
  client_expect(rig.client, "/done /rack/remove*");
  client_send(rig.client, "/rack/rename", "ss", "lowcut", "low");
  fake_engine_refuse_edge(rig.engine, 1, "low gives 2"); // an earlier, accepted edit made it
  client_expect(rig.client, "/fail /rack/rename 2 low gives 2");
}

TEST(a_rack_that_no_document_can_hold_is_refused)
{
  static char row[60001];
  memset(row, ' ', sizeof(row) - 1U);
  uint32_t n = 0;
  const char* answer = "/done";
  for (; !strncmp(answer, "/done", 5) && n <= RACK_MAX_TEXT / sizeof(row); ++n) {
    char name[16];
    snprintf(name, sizeof(name), "m%u", n);
    client_send(rig.client, "/rack/add", "ssss", name, "matrix", "rows", row);
    answer = client_receive(rig.client);
  }
  ck_assert_msg(!strncmp(answer, "/fail /rack/add 5 the rack would be a text of ", 46), "%s",
                answer);
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), n - 1U); // the last one was not submitted
}

TEST(an_edit_that_changes_nothing_is_done_without_the_engine)
{
  client_ask(rig.client, "/done /rack/connect 0 *", "/rack/connect", "ss", "lowcut", "vol");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 0);
}

TEST(commands_that_wait_for_an_edit_do_not_delay_other_senders)
{
  enum { N_WAITING = 900 };
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  for (uint32_t i = 0; i < N_WAITING; ++i) {
    client_send(rig.client, "/node/a/gain", "f", -0.1 * i);
    if (i % 64U == 63U) {
      client_expect_nothing(rig.client); // lets the server empty the socket's buffer
    }
  }
  client_expect_nothing(rig.client);
  rig.hold = true;
  AWAIT(rig.is_held); // the server asks for the audio state four times a second
  accept_edit();
  client_send(rig.other, "/server/status", "");
  rig.hold = false;
  const char* const answer = strstr(client_receive(rig.other), " edits_waiting ");
  ck_assert_ptr_nonnull(answer);
  ck_assert_int_gt(atoi(answer + strlen(" edits_waiting ")), N_WAITING / 2);
  client_expect(rig.client, "/done /rack/add 1 640");
  for (uint32_t i = 0; i < N_WAITING; ++i) {
    client_expect(rig.client, "/done /node/a/gain");
  }
  ck_assert_float_eq_tol((float)control_rig_newest_value(), -0.1F * (N_WAITING - 1), 1e-3F);
}

// ---- values and edits ----

TEST(values_of_nodes_that_play_overtake_an_edit_in_flight)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -30.0);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1);
  accept_edit();
  client_expect(rig.client, "/done /rack/add 1 640");
  client_expect_nothing(rig.client);
  // Only once: in the engine a value has priority over documents that are older than the value.
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1);
  ck_assert_double_eq(control_rig_newest_value(), -30.0);
  control_rig_expect_rack("add vol gain gain=-30dB");
}

TEST(values_of_a_new_node_wait_until_it_plays)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_send(rig.client, "/node/a/gain", "f", -30.0);
  client_send(rig.client, "/node/nobody/gain", "f", -30.0);
  client_expect_nothing(rig.client);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
  accept_edit();
  client_expect(rig.client, "/done /rack/add 1 640");
  client_expect(rig.client, "/done /node/a/gain");
  client_expect(rig.client, "/fail /node/nobody/gain 3 *");
  ck_assert_double_eq(control_rig_newest_value(), -30.0);
}

TEST(values_of_a_refused_node_are_refused)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_send(rig.client, "/node/a/gain", "f", -30.0);
  settle();
  fake_engine_answer(rig.engine, STATUS_FILE, "no", 0);
  client_expect(rig.client, "/fail /rack/add 9 *");
  client_expect(rig.client, "/fail /node/a/gain 3 *");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
}

TEST(a_new_node_with_an_old_name_gets_its_own_values)
{
  fake_engine_hold(rig.engine, true);
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/rack/remove", "s", "vol");
  bundle_add(bundle, "/rack/add", "ss", "vol", "gain");
  client_send_bundle(rig.client, bundle);
  client_send(rig.client, "/node/vol/gain", "f", -30.0);
  client_expect_nothing(rig.client); // the value waits; the old node does not get it
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
  accept_edit();
  client_expect(rig.client, "/done /rack/remove*");
  client_expect(rig.client, "/done /rack/add*");
  client_expect(rig.client, "/done /node/vol/gain");
  control_rig_expect_rack("add vol gain gain=-30dB");
}

TEST(the_last_value_wins_over_edits_that_waited)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_send(rig.client, "/rack/chain", "s", "vol: gain -1dB");
  for (int i = 1; i <= 10; ++i) {
    client_send(rig.client, "/node/vol/gain", "f", -40.0 - i);
    client_expect(rig.client, "/done /node/vol/gain"); // set at once
  }
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 10);
  accept_edit();
  client_expect(rig.client, "/done /rack/add 1 640");
  accept_edit();
  client_expect(rig.client, "/done /rack/chain 2 640");
  client_expect_nothing(rig.client);
  ck_assert_double_eq(control_rig_newest_value(), -50.0);
  control_rig_expect_rack("add vol gain gain=-50dB");
}

// ---- undo ----

/// Let the engine go back to this rack, and report that its rack is in quarantine.
static void
take_back(const char* const text)
{
  SCOPED_RACK Rack* const rack = rack_of(text, NULL);
  fake_engine_take_back(rig.engine, rack, "it crashed twice");
}

TEST(a_rack_that_is_taken_back_is_as_an_undo)
{
  client_subscribe(rig.other, "/node/vol/gain ");
  client_ask(rig.client, "/done /rack/chain 1 640", "/rack/chain", "s", "a: gain -1dB");
  client_expect(rig.other, "/rack/changed 1");
  client_expect(rig.other, "/node/a/gain -1");
  client_ask(rig.client, "/done /rack/chain 2 640", "/rack/chain", "s", "b: gain -2dB");
  client_expect(rig.other, "/rack/changed 2");
  client_expect(rig.other, "/node/b/gain -2");
  client_send(rig.client, "/node/b/gain", "f", -3.0); // another undo step, in the rack that crashes
  client_expect(rig.client, "/done /node/b/gain");
  client_expect(rig.other, "/node/b/gain -3");
  take_back("a: gain -1dB");
  client_expect(rig.other, "/rack/changed 3");
  client_expect(rig.other, "/server/quarantine it crashed twice");
  client_expect(rig.other, "/node/a/gain -1");
  control_rig_expect_rack("add a gain gain=-1dB");

  client_send(rig.client, "/rack/undo", ""); // to the rack before "a"
  client_expect(rig.client, "/done /rack/undo 4*");
  control_rig_expect_rack("add lowcut");
  client_ask(rig.client, "/done /rack/redo 5*", "/rack/redo", "");
  control_rig_expect_rack("add a gain gain=-1dB");
  client_send(rig.client, "/rack/redo", ""); // to the newest state of the rack that crashed
  client_expect(rig.client, "/done /rack/redo 6*");
  control_rig_expect_rack("add b gain gain=-3dB");
}

TEST(a_node_in_quarantine_is_news_and_does_not_change_the_document)
{
  client_ask(rig.client, "/done /rack/chain 1 640", "/rack/chain", "s", "comp: gain -1dB");
  client_subscribe(rig.other, "/node/comp/gain ");
  fake_engine_bypass_node(rig.engine, "comp: clap com.x crashed twice in run");
  client_expect(rig.other, "/server/quarantine comp: clap com.x crashed twice in run");
  client_expect_nothing(rig.other);
  control_rig_expect_rack("add comp gain gain=-1dB");
}

TEST(an_edit_that_is_on_its_way_when_a_rack_is_taken_back_is_answered)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_subscribe(rig.other, "/node/vol/gain ");
  take_back("b: gain -2dB");
  client_expect(rig.other, "/rack/changed 1");
  client_expect(rig.other, "/server/quarantine it crashed twice");
  control_rig_expect_rack("add b gain gain=-2dB");
  fake_engine_answer(rig.engine, STATUS_WORKER, "made from a rack that crashed", 0);
  client_expect(rig.client, "/fail /rack/add 12 made from a rack that crashed");
  client_send(rig.client, "/rack/add", "ss", "c", "gain");
  accept_edit();
  client_expect(rig.client, "/done /rack/add*");
  control_rig_expect_rack("add b gain gain=-2dB\nadd c gain");
}

TEST(undo_and_redo_walk_through_the_documents)
{
  client_ask(rig.client, "/fail /rack/undo 3 nothing to undo", "/rack/undo", "");
  client_ask(rig.client, "/done*", "/rack/add", "ss", "a", "gain");
  client_ask(rig.client, "/done*", "/node/vol/gain", "f", -33.0);
  client_ask(rig.client, "/done*", "/rack/clear", "");

  client_ask(rig.client, "/done /rack/undo*", "/rack/undo", "");
  control_rig_expect_rack("add vol gain gain=-33dB\nadd a gain");
  client_ask(rig.client, "/done /rack/undo*", "/rack/undo", "");
  control_rig_expect_rack("add vol gain gain=-6dB\nadd a gain");
  client_ask(rig.client, "/done /rack/redo*", "/rack/redo", "");
  control_rig_expect_rack("add vol gain gain=-33dB\nadd a gain");
  client_ask(rig.client, "/done /rack/undo*", "/rack/undo", "");
  client_ask(rig.client, "/done /rack/undo*", "/rack/undo", "");
  control_rig_expect_rack("add vol gain gain=-6dB\nconnect");
  client_ask(rig.client, "/done*", "/rack/add", "ss", "b", "gain");
  client_ask(rig.client, "/fail /rack/redo 3 nothing to redo", "/rack/redo", "");
}

TEST(values_find_a_node_that_is_renamed_by_the_name_that_it_has_then)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/rename", "ss", "vol", "level");
  client_send(rig.client, "/node/vol/gain", "f", -8.0); // the name is gone when its turn comes
  client_send(rig.client, "/node/level/gain", "f", -9.0);
  client_expect_nothing(rig.client);
  accept_edit();
  client_expect(rig.client, "/done /rack/rename 1 640");
  client_expect(rig.client, "/fail /node/vol/gain 3 no node \"vol\"*");
  client_expect(rig.client, "/done /node/level/gain");
  const RackUid uid = (RackUid)fake_engine_set(rig.engine, 0).messages[0].uid;
  client_send(rig.client, "/rack/undo", ""); // undoes the value
  accept_edit();
  client_expect(rig.client, "/done /rack/undo*");
  control_rig_expect_rack("add level gain gain=-6dB");
  client_send(rig.client, "/rack/undo", ""); // undoes the name
  accept_edit();
  client_expect(rig.client, "/done /rack/undo*");
  control_rig_expect_rack("add vol gain gain=-6dB");
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -8.0);
  ck_assert_uint_eq(fake_engine_set(rig.engine, 1).messages[0].uid, uid); // still the same node
}

/// Returns true if each of two faders moved within a gesture.
static bool
move_two_faders(void)
{
  const uint64_t began_ns = time_now_ns();
  for (int i = 0; i < 20; ++i) {
    client_ask(rig.client, "/done*", "/node/vol/gain", "f", -10.0 - i);
  }
  for (int i = 0; i < 20; ++i) {
    client_ask(rig.client, "/done*", "/node/lowcut/frequency", "f", 100.0 + i);
  }
  return time_now_ns() - began_ns < HISTORY_GESTURE_NS;
}

TEST(a_fader_is_one_step_and_another_fader_another)
{
  while (!move_two_faders()) { // the machine stalled
    control_rig_stop();
    control_rig_start();
  }
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("frequency=80Hz\nadd vol gain gain=-29dB");
  client_ask(rig.client, "/done*", "/rack/undo", "");
  control_rig_expect_rack("frequency=80Hz\nadd vol gain gain=-6dB");
}

TEST(a_value_set_during_an_undo_does_not_confuse_the_steps)
{
  client_ask(rig.client, "/done*", "/rack/add", "ss", "a", "gain");
  client_ask(rig.client, "/done*", "/rack/add", "ss", "b", "gain");
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/undo", "");
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -9.0);
  accept_edit();
  client_expect(rig.client, "/done /rack/undo*");
  control_rig_expect_rack("add vol gain gain=-9dB\nadd a gain\nconnect");
  client_send(rig.client, "/rack/undo", "");
  accept_edit();
  client_expect(rig.client, "/done /rack/undo*");
  control_rig_expect_rack("add vol gain gain=-6dB\nconnect");
}

TEST(an_undone_node_does_not_pass_on_its_uid)
{
  client_ask(rig.client, "/done*", "/rack/add", "ss", "a", "gain");
  client_ask(rig.client, "/done*", "/node/a/gain", "f", -1.0);
  const RackUid first = fake_engine_set(rig.engine, 0).messages[0].uid;
  for (int i = 0; i < 2; ++i) {
    client_ask(rig.client, "/done*", "/rack/undo", "");
  }
  client_ask(rig.client, "/done*", "/rack/add", "ss", "b", "gain");
  client_ask(rig.client, "/done*", "/node/b/gain", "f", -1.0);
  ck_assert_uint_ne(fake_engine_set(rig.engine, 1).messages[0].uid, first);
}

// ---- bundles ----

TEST(a_bundle_with_an_edit_is_one_edit)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/rack/add", "ss", "a", "gain");
  bundle_add(bundle, "/rack/disconnect", "ss", "vol", "out");
  bundle_add(bundle, "/rack/connect", "ss", "vol", "a");
  bundle_add(bundle, "/rack/connect", "ss", "a", "out");
  bundle_add(bundle, "/node/a/gain", "f", -2.0);
  bundle_add(bundle, "/node/vol/gain", "f", -3.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /rack/add 1 640");
  client_expect(rig.client, "/done /rack/disconnect 1 640");
  client_expect(rig.client, "/done /rack/connect 1 640");
  client_expect(rig.client, "/done /rack/connect 1 640");
  client_expect(rig.client, "/done /node/a/gain 1 640");
  client_expect(rig.client, "/done /node/vol/gain 1 640");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 1);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
  control_rig_expect_rack("add vol gain gain=-3dB\nadd a gain gain=-2dB");
}

TEST(a_bundle_fails_as_a_whole_and_names_the_failed_message)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/rack/add", "ss", "a", "gain");
  bundle_add(bundle, "/rack/connect", "ss", "a", "nobody");
  bundle_add(bundle, "/node/vol/gain", "f", -3.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client,
                "/fail /rack/add 3 not done, because /rack/connect in the same bundle*");
  client_expect(rig.client, "/fail /rack/connect 3 no node*");
  client_expect(rig.client, "/fail /node/vol/gain 3 not done, because*");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 0);
  control_rig_expect_rack("add vol gain gain=-6dB\nconnect");
}

TEST(an_unknown_address_fails_its_bundle)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/node/vol/gain", "f", -3.0);
  bundle_add(bundle, "/nowhere", "");
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/fail /node/vol/gain 3 not done*");
  client_expect(rig.client, "/fail /nowhere 3 no such address*");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
}

TEST(a_bundle_of_values_is_one_group_or_nothing)
{
  lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/node/vol/gain", "f", -3.0);
  bundle_add(bundle, "/node/lowcut/frequency", "f", 200.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/vol/gain");
  client_expect(rig.client, "/done /node/lowcut/frequency");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1);
  ck_assert_uint_eq(fake_engine_set(rig.engine, 0).n, 2);

  bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/node/vol/gain", "f", -4.0);
  bundle_add(bundle, "/node/lowcut/frequency", "f", 1e9);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/fail /node/vol/gain*");
  client_expect(rig.client, "/fail /node/lowcut/frequency*");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1);
  control_rig_expect_rack("frequency=200Hz\nadd vol gain gain=-3dB");
}

TEST(a_text_survives_its_bundle_failing_at_a_later_message)
{
  client_send(rig.client, "/rack/add", "ssss", "m", "matrix", "rows", "1 0 0 1 0 0");
  client_expect(rig.client, "/done /rack/add*");
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/node/m/rows", "s", "0 1 0 0 1 0");
  bundle_add(bundle, "/node/nobody/gain", "f", -3.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/fail /node/m/rows 3 not done, because /node/nobody/gain*");
  client_expect(rig.client, "/fail /node/nobody/gain 3 no node*");
  control_rig_expect_rack("add m matrix rows=\"1 0 0 1 0 0\"");
}

TEST(reads_and_saves_in_a_bundle_follow_its_changes)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/rack/save", "s", "after.rack");
  bundle_add(bundle, "/node/vol/gain", "");
  bundle_add(bundle, "/node/vol/gain", "f", -7.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/vol/gain");
  client_expect(rig.client, "/node/vol/gain -7");
  client_expect(rig.client, "/done /rack/save");
  client_ask(rig.client, "/done*", "/rack/clear", "");
  client_ask(rig.client, "/done*", "/rack/load", "s", "after.rack");
  control_rig_expect_rack("gain=-7dB");
}

TEST(undo_is_refused_in_a_bundle)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/rack/undo", "");
  bundle_add(bundle, "/node/vol/gain", "f", -4.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/fail /rack/undo 1 is not allowed in a bundle with other commands");
  client_expect(rig.client, "/fail /node/vol/gain 1 not done*");
}

// ---- sync ----

TEST(sync_waits_for_edits_and_for_the_audio)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_send(rig.other, "/server/sync", "i", 42);
  fake_engine_advance(rig.engine, 10U * FAKE_BLOCK_FRAMES);
  settle();
  client_expect_nothing(rig.other);
  accept_edit();
  client_expect(rig.client, "/done /rack/add*");
  client_expect_nothing(rig.other); // no reply yet: the block has not been played
  fake_engine_advance(rig.engine, FAKE_BLOCK_FRAMES);
  usleep(50000); // a reply now would be too early
  client_expect_nothing(rig.other);
  fake_engine_advance(rig.engine, FAKE_DEPTH * FAKE_BLOCK_FRAMES);
  client_expect(rig.other, "/server/synced 42");
}

SUITE_MAIN_WITH("control_editor", control_rig_start, control_rig_stop)
