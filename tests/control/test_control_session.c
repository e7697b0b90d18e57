// SPDX-License-Identifier: GPL-3.0-or-later
// The order of edits, values and times: what overtakes what, what waits, what is taken back.

#include "control/net/clock.h"
#include "tests/support/control_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOON_S 1.5 // longer than a virtual machine stalls between sending and receiving

/// Everything sent so far has been read by the server.
static void
settle(void)
{
  client_expect_nothing(rig.other);
}

static void
hear(void)
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
  hear();
  client_expect(rig.client, "/done /rack/add 1 640");
  hear();
  client_expect(rig.client, "/done /rack/add 2 640");
  hear();
  client_expect(rig.client, "/done /rack/connect 3 640");
}

TEST(a_rejected_edit_changes_nothing_and_edits_that_depend_on_it_are_rejected)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_send(rig.client, "/rack/connect", "ss", "vol", "a");
  client_send(rig.client, "/rack/add", "ss", "b", "gain");
  settle();
  fake_engine_answer(rig.engine, STATUS_LIMIT, "would not meet the deadline", 0);
  client_expect(rig.client, "/fail /rack/add 5 would not meet the deadline");
  client_expect(rig.client, "/fail /rack/connect 3 *");
  hear();
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

TEST(a_rejection_for_another_reason_does_not_mention_a_removed_node)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/remove", "s", "vol");
  fake_engine_answer(rig.engine, STATUS_BAD_RACK, "lowcut would have 999 channels", 0);
  client_expect(rig.client, "/fail /rack/remove 2 lowcut would have 999 channels");
  client_send(rig.client, "/rack/remove", "s", "vol");
  fake_engine_refuse_edge(rig.engine, 0, "in gives 2"); // the document had it before
  client_expect(rig.client, "/fail /rack/remove 2 in gives 2");
  client_send(rig.client, "/rack/do", "ss", "remove vol", "connect lowcut out");
  fake_engine_refuse_edge(rig.engine, 1, "lowcut gives 2"); // a statement of its own makes it
  client_expect(rig.client, "/fail /rack/do 2 lowcut gives 2");
  client_send(rig.client, "/rack/remove", "s", "vol");
  fake_engine_refuse_edge(rig.engine, 99, "no such connection");
  client_expect(rig.client, "/fail /rack/remove 2 no such connection");
  client_send(rig.client, "/rack/remove", "s", "vol");
  hear();
  client_expect(rig.client, "/done /rack/remove*");
  client_send(rig.client, "/rack/rename", "ss", "lowcut", "low");
  fake_engine_refuse_edge(rig.engine, 1, "low gives 2"); // made by an edit that was accepted
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
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), n - 1U); // which could not tell it a worker
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
      client_expect_nothing(rig.client); // not faster than the socket's buffer
    }
  }
  client_expect_nothing(rig.client);
  rig.hold = true;
  while (!rig.is_held) { // the server asks four times a second
    usleep(1000);
  }
  hear();
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
  hear();
  client_expect(rig.client, "/done /rack/add 1 640");
  client_expect_nothing(rig.client);
  // Once: in the engine a value wins over documents that were made before it.
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
  hear();
  client_expect(rig.client, "/done /rack/add 1 640");
  client_expect(rig.client, "/done /node/a/gain");
  client_expect(rig.client, "/fail /node/nobody/gain 3 *");
  ck_assert_double_eq(control_rig_newest_value(), -30.0);
}

TEST(values_of_a_rejected_node_are_rejected)
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
  client_expect_nothing(rig.client); // the old one is not touched
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
  hear();
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
    client_expect(rig.client, "/done /node/vol/gain"); // heard at once
  }
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 10);
  hear();
  client_expect(rig.client, "/done /rack/add 1 640");
  hear();
  client_expect(rig.client, "/done /rack/chain 2 640");
  client_expect_nothing(rig.client);
  ck_assert_double_eq(control_rig_newest_value(), -50.0);
  control_rig_expect_rack("add vol gain gain=-50dB");
}

// ---- undo ----

/// The engine's words and the rack that it goes back to.
static void
take_back(const char* const text)
{
  SCOPED_RACK Rack* rack = NULL;
  Error error;
  ck_assert_msg(!rack_parse(text, "test", NULL, &rack, &error), "%s", error.text);
  fake_engine_take_back(rig.engine, rack, "it crashed twice");
}

TEST(a_rack_that_is_taken_back_is_as_an_undo)
{
  client_ask(rig.other, "/done /server/notify", "/server/notify", "i", 1);
  client_ask(rig.client, "/done /rack/chain 1 640", "/rack/chain", "s", "a: gain -1dB");
  client_expect(rig.other, "/rack/changed 1");
  client_expect(rig.other, "/node/a/gain -1");
  client_ask(rig.client, "/done /rack/chain 2 640", "/rack/chain", "s", "b: gain -2dB");
  client_expect(rig.other, "/rack/changed 2");
  client_expect(rig.other, "/node/b/gain -2");
  client_send(rig.client, "/node/b/gain", "f", -3.0); // one more step, of the rack that crashes
  client_expect(rig.client, "/done /node/b/gain");
  client_expect(rig.other, "/node/b/gain -3");
  take_back("a: gain -1dB");
  client_expect(rig.other, "/rack/changed 3");
  client_expect(rig.other, "/server/quarantine it crashed twice");
  client_expect(rig.other, "/node/a/gain -1");
  control_rig_expect_rack("add a gain gain=-1dB");

  client_send(rig.client, "/rack/undo", ""); // what was before the one that is heard again
  client_expect(rig.client, "/done /rack/undo 4*");
  control_rig_expect_rack("add lowcut");
  client_ask(rig.client, "/done /rack/redo 5*", "/rack/redo", "");
  control_rig_expect_rack("add a gain gain=-1dB");
  client_send(rig.client, "/rack/redo", ""); // the one that crashed, as it was last
  client_expect(rig.client, "/done /rack/redo 6*");
  control_rig_expect_rack("add b gain gain=-3dB");
}

TEST(an_edit_that_is_on_its_way_when_a_rack_is_taken_back_is_answered)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_ask(rig.other, "/done /server/notify", "/server/notify", "i", 1);
  take_back("b: gain -2dB");
  client_expect(rig.other, "/rack/changed 1");
  client_expect(rig.other, "/server/quarantine it crashed twice");
  control_rig_expect_rack("add b gain gain=-2dB");
  fake_engine_answer(rig.engine, STATUS_WORKER, "made from a rack that crashed", 0);
  client_expect(rig.client, "/fail /rack/add 12 made from a rack that crashed");
  client_send(rig.client, "/rack/add", "ss", "c", "gain");
  hear();
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
  client_send(rig.client, "/node/vol/gain", "f", -8.0); // has gone when its turn comes
  client_send(rig.client, "/node/level/gain", "f", -9.0);
  client_expect_nothing(rig.client);
  hear();
  client_expect(rig.client, "/done /rack/rename 1 640");
  client_expect(rig.client, "/fail /node/vol/gain 3 no node \"vol\"*");
  client_expect(rig.client, "/done /node/level/gain");
  const RackUid uid = (RackUid)fake_engine_set(rig.engine, 0).params[0].uid;
  client_send(rig.client, "/rack/undo", ""); // the value
  hear();
  client_expect(rig.client, "/done /rack/undo*");
  control_rig_expect_rack("add level gain gain=-6dB");
  client_send(rig.client, "/rack/undo", ""); // the name
  hear();
  client_expect(rig.client, "/done /rack/undo*");
  control_rig_expect_rack("add vol gain gain=-6dB");
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -8.0);
  ck_assert_uint_eq(fake_engine_set(rig.engine, 1).params[0].uid, uid); // the same node all along
}

TEST(a_fader_is_one_step_and_another_fader_another)
{
  for (int i = 0; i < 20; ++i) {
    client_ask(rig.client, "/done*", "/node/vol/gain", "f", -10.0 - i);
  }
  for (int i = 0; i < 20; ++i) {
    client_ask(rig.client, "/done*", "/node/lowcut/frequency", "f", 100.0 + i);
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
  hear();
  client_expect(rig.client, "/done /rack/undo*");
  control_rig_expect_rack("add vol gain gain=-9dB\nadd a gain\nconnect");
  client_send(rig.client, "/rack/undo", "");
  hear();
  client_expect(rig.client, "/done /rack/undo*");
  control_rig_expect_rack("add vol gain gain=-6dB\nconnect");
}

TEST(an_undone_node_does_not_pass_on_its_uid)
{
  client_ask(rig.client, "/done*", "/rack/add", "ss", "a", "gain");
  client_ask(rig.client, "/done*", "/node/a/gain", "f", -1.0);
  const RackUid first = fake_engine_set(rig.engine, 0).params[0].uid;
  for (int i = 0; i < 2; ++i) {
    client_ask(rig.client, "/done*", "/rack/undo", "");
  }
  client_ask(rig.client, "/done*", "/rack/add", "ss", "b", "gain");
  client_ask(rig.client, "/done*", "/node/b/gain", "f", -1.0);
  ck_assert_uint_ne(fake_engine_set(rig.engine, 1).params[0].uid, first);
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

TEST(undo_is_rejected_in_a_bundle)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/rack/undo", "");
  bundle_add(bundle, "/node/vol/gain", "f", -4.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/fail /rack/undo 1 is not allowed in a bundle with other commands");
  client_expect(rig.client, "/fail /node/vol/gain 1 not done*");
}

// ---- times ----

/// Frame of a time tag by the fake engine's clock.
static double
frame_of(const lo_timetag tag)
{
  const Instant now = instant_now();
  const uint64_t ns = instant_of_tag(&now, (uint64_t)tag.sec << 32U | tag.frac);
  return (double)engine_frame_at(rig.engine, ns);
}

TEST(values_with_a_time_are_sent_ahead_and_enter_the_document_in_time)
{
  const lo_timetag tag = tag_in(SOON_S);
  const double frame = frame_of(tag);
  const lo_bundle bundle = lo_bundle_new(tag);
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_send(rig.client, "/node/vol/gain", "");
  client_expect(rig.client, "/node/vol/gain -6"); // not yet
  client_expect(rig.client, "/done /node/vol/gain");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1); // and not once more when it was due
  const FakeSet set = fake_engine_set(rig.engine, 0);
  // Both clocks were read again to know the frame: the frame is exact, the reading is not quite.
  ck_assert_double_le(fabs((double)set.frame - frame), 48.0);
  client_ask(rig.client, "/node/vol/gain -5", "/node/vol/gain", "");
}

TEST(edits_with_a_time_are_given_to_the_engine_with_their_frame)
{
  const lo_timetag tag = tag_in(SOON_S);
  const double frame = frame_of(tag);
  const lo_bundle bundle = lo_bundle_new(tag);
  bundle_add(bundle, "/rack/add", "ss", "a", "gain");
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_expect_nothing(rig.client);
  client_expect(rig.client, "/done /rack/add*");
  client_expect(rig.client, "/done /node/vol/gain*");
  uint64_t at_frame = 0;
  free(fake_engine_newest(rig.engine, &at_frame));
  ck_assert_double_le(fabs((double)at_frame - frame), 48.0);
}

TEST(bundles_are_done_in_the_order_of_their_times)
{
  const double delays[] = { SOON_S + 0.2, SOON_S, SOON_S + 0.1 };
  const lo_timetag tags[] = { tag_in(delays[0]), tag_in(delays[1]), tag_in(delays[2]) };
  for (uint32_t i = 0; i < 3; ++i) {
    const lo_bundle bundle = lo_bundle_new(tags[i]);
    bundle_add(bundle, "/node/vol/gain", "f", -10.0 * delays[i]);
    client_send_bundle(rig.client, bundle);
  }
  for (uint32_t i = 0; i < 3; ++i) {
    client_expect(rig.client, "/done /node/vol/gain");
  }
  ck_assert_double_eq_tol(fake_engine_set(rig.engine, 0).params[0].value, -10.0 * SOON_S, 1e-6);
  ck_assert_double_eq_tol(fake_engine_set(rig.engine, 2).params[0].value, -10.0 * (SOON_S + 0.2),
                          1e-6);
}

TEST(a_nested_bundle_is_an_edit_of_its_own_at_its_own_time)
{
  const lo_bundle outer = lo_bundle_new(LO_TT_IMMEDIATE);
  const lo_bundle inner = lo_bundle_new(tag_in(SOON_S));
  bundle_add(inner, "/rack/add", "ss", "b", "gain");
  lo_bundle_add_bundle(outer, inner);
  bundle_add(outer, "/rack/add", "ss", "a", "gain");
  client_send_bundle(rig.client, outer);
  client_expect(rig.client, "/done /rack/add 1 640");
  client_expect(rig.client, "/done /rack/add 2 640");
  control_rig_expect_rack("add a gain\nadd b gain\n");
}

TEST(a_time_that_is_past_means_at_once_and_one_far_ahead_is_refused)
{
  lo_bundle bundle = lo_bundle_new(tag_in(-5.0));
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/vol/gain");
  ck_assert_uint_eq(fake_engine_set(rig.engine, 0).frame, 0);
  ck_assert_double_eq(control_rig_status("osc_late"), 1.0);
  bundle = lo_bundle_new(tag_in(30.0));
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/fail  1 packet refused: a time tag more than 10 s ahead");
}

/// Libraries send the time tag 0 for a bundle that was given none.
TEST(a_time_tag_of_zero_means_at_once_or_the_time_of_the_outer_bundle)
{
  const lo_timetag zero = { 0, 0 };
  lo_bundle bundle = lo_bundle_new(zero);
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/vol/gain");
  ck_assert_uint_eq(fake_engine_set(rig.engine, 0).frame, 0);
  ck_assert_double_eq(control_rig_status("osc_late"), 0.0);
  bundle = lo_bundle_new(tag_in(SOON_S));
  const lo_bundle inner = lo_bundle_new(zero);
  bundle_add(inner, "/node/vol/gain", "f", -6.0);
  lo_bundle_add_bundle(bundle, inner);
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/vol/gain");
  ck_assert_uint_gt(fake_engine_set(rig.engine, 1).frame, 0);
}

TEST(only_so_many_bundles_wait_for_their_time)
{
  for (uint32_t i = 0; i < 1030U; ++i) {
    const lo_bundle bundle = lo_bundle_new(tag_in(9.0));
    bundle_add(bundle, "/node/vol/gain", "f", -5.0);
    client_send_bundle(rig.other, bundle);
    if (i % 64U == 63U) {
      client_send(rig.other, "/server/ping", ""); // not faster than the socket's buffer
      client_expect(rig.other, "/done /server/ping");
    }
  }
  for (uint32_t i = 1024U; i < 1030U; ++i) {
    client_expect(rig.other, "/fail /node/vol/gain 5 1024 bundles already wait*");
  }
  ck_assert_double_eq(control_rig_status("osc_unscheduled"), 6.0);
}

TEST(a_node_that_has_gone_by_the_time_is_reported)
{
  const lo_bundle bundle = lo_bundle_new(tag_in(SOON_S));
  bundle_add(bundle, "/node/vol/gain", "f", -5.0);
  client_send_bundle(rig.client, bundle);
  client_ask(rig.client, "/done /rack/remove*", "/rack/remove", "s", "vol");
  client_expect(rig.client, "/fail /node/vol/gain 3 no node*");
}

TEST(time_tags_do_not_follow_a_wall_clock_that_jumps)
{
  // What arrives is placed on the monotonic clock once; a later jump has nothing to act on.
  const Instant arrival = { UINT64_C(3900000000) << 32U, 5000000000U };
  ck_assert_uint_eq(instant_of_tag(&arrival, TAG_IMMEDIATELY), 0);
  ck_assert_uint_eq(instant_of_tag(&arrival, arrival.ntp), 5000000000U);
  ck_assert_uint_eq(instant_of_tag(&arrival, arrival.ntp + TAG_SECOND / 2U), 5500000000U);
  ck_assert_uint_eq(instant_of_tag(&arrival, arrival.ntp - 3U * TAG_SECOND), 2000000000U);
  ck_assert_uint_eq(instant_of_tag(&arrival, arrival.ntp - 9U * TAG_SECOND), 1U);
}

// ---- sync ----

TEST(sync_waits_for_edits_and_for_the_audio)
{
  fake_engine_hold(rig.engine, true);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_send(rig.other, "/server/sync", "i", 42);
  fake_engine_advance(rig.engine, 10U * FAKE_BLOCK_FRAMES);
  settle();
  hear();
  client_expect(rig.client, "/done /rack/add*");
  settle(); // still nothing: the block is not out yet
  fake_engine_advance(rig.engine, FAKE_BLOCK_FRAMES);
  usleep(50000); // time to answer too early
  settle();
  fake_engine_advance(rig.engine, FAKE_DEPTH * FAKE_BLOCK_FRAMES);
  client_expect(rig.other, "/server/synced 42");
}

SUITE_MAIN_WITH("control_session", control_rig_start, control_rig_stop)
