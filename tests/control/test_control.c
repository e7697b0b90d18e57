// SPDX-License-Identifier: GPL-3.0-or-later
// The server from outside: the effect and the reply of each address, their receivers, and refused
// messages.

#include "control/net/clock.h"
#include "control/net/senders.h"
#include "tests/support/control_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(ping_and_version_are_answered_to_the_sender_only)
{
  client_ask(rig.client, "/done /server/ping", "/server/ping", "");
  client_ask(rig.client, "/server/version warprack " WARPRACK_VERSION, "/server/version", "");
  client_expect_nothing(rig.other);
}

/// Receive all of these bytes, or fail the test.
static void
receive_all(const int fd, uint8_t* const bytes, const size_t n_bytes)
{
  for (size_t n = 0; n < n_bytes;) {
    const ssize_t got = recv(fd, bytes + n, n_bytes - n, 0);
    ck_assert_int_gt(got, 0);
    n += (size_t)got;
  }
}

TEST(no_answer_of_a_connection_is_lost_if_its_client_reads_late)
{
  static const char question[24] = "\0\0\0\x14/server/status\0\0,\0\0"; // with its size
  static uint8_t answer[65536];
  SCOPED_FD const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const struct timeval limit = { .tv_sec = 20 };
  const int n_kernel = 32768; // of the client's receive buffer
  struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(control_port(rig.control)) };
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
  ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n_kernel, sizeof(n_kernel)), 0);
  ck_assert_int_eq(connect(fd, (const struct sockaddr*)&to, sizeof(to)), 0);
  enum { N = 600 }; // 14 kB of questions, some MB of answers
  for (uint32_t q = 0; q < N; ++q) {
    ck_assert_int_eq(send(fd, question, sizeof(question), 0), sizeof(question));
  }
  for (uint32_t p = 0; p < 300U; ++p) { // meanwhile the server has time for all questions
    client_ask(rig.client, "/done /server/ping", "/server/ping", "");
  }
  for (uint32_t a = 0; a < N; ++a) {
    receive_all(fd, answer, 4U);
    const size_t n_bytes = (size_t)answer[2] << 8U | answer[3];
    receive_all(fd, answer, n_bytes);
    ck_assert_str_eq((const char*)answer, "/server/status");
  }
}

TEST(a_port_in_use_is_named_with_a_way_out)
{
  Control* second = NULL;
  Error error;
  const ControlConfig config = { .engine = rig.engine, .port = control_port(rig.control) };
  SCOPED_RACK Rack* const rack = rack_new();
  ck_assert_int_eq(control_start(&config, rack, &second, &error), STATUS_NET);
  ck_assert_ptr_null(second);
  char port[16];
  snprintf(port, sizeof(port), "%u", control_port(rig.control));
  assert_says(error.text, port);
  assert_says(error.text, "--osc-port");
}

TEST(a_bad_address_or_folder_is_refused)
{
  Engine* const engine = fake_engine_new();
  Rack* const rack = rack_new();
  Control* control = NULL;
  Error error;
  const ControlConfig name = { .engine = engine, .bind_address = "localhost" };
  ck_assert_int_eq(control_start(&name, rack, &control, &error), STATUS_BAD_ARG);
  const ControlConfig folder = { .engine = engine, .root = "/nowhere/at/all" };
  ck_assert_int_eq(control_start(&folder, rack, &control, &error), STATUS_FILE);
  ck_assert_ptr_null(control);
  rack_free(rack);
  fake_engine_free(engine);
}

TEST(only_loopback_is_listened_on_by_default)
{
  SCOPED_FD const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  const struct sockaddr_in any = { .sin_family = AF_INET,
                                   .sin_port = htons(control_port(rig.control)),
                                   .sin_addr.s_addr = htonl(0x7F000002) };  // 127.0.0.2
  ck_assert_int_eq(bind(fd, (const struct sockaddr*)&any, sizeof(any)), 0); // still free
}

TEST(unknown_addresses_and_wrong_arguments_are_explained)
{
  client_ask(rig.client, "/fail /rack/connct 3 no such address; did you mean \"/rack/connect\"?",
             "/rack/connct", "ss", "in", "vol");
  client_ask(rig.client, "/fail /rack/connect 1 takes from to [gain in dB] (ss[n]), not \"s\"",
             "/rack/connect", "s", "in");
  client_ask(rig.client, "/fail /rack/undo 1 takes no arguments, not \"i\"", "/rack/undo", "i", 1);
  client_send(rig.client, "/rack/add", "sss", "a", "gain", "gain");
  client_expect(rig.client,
                "/fail /rack/add 1 takes name effect [param value]... (ss[sv]...), not \"sss\"*");
  client_ask(rig.client, "/fail /node/vol 3 parameters are addressed as /node/<node>/<param>",
             "/node/vol", "f", 1.0);
  client_ask(rig.client, "/fail /node/vol/gain 1 takes value [seconds] (v[n]), not \"N\"",
             "/node/vol/gain", "N");
}

TEST(a_time_behind_a_value_makes_a_fade)
{
  static const uint32_t frames[] = { 96000U, 1U, 0U, 0U };
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "si", "-20dB", 2);
  client_ask(rig.client, "/done /rack/set", "/rack/set", "sff", "vol.gain", -3.0, 1e-9);
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "ff", -6.0, 0.0);
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -7.0);
  for (uint32_t s = 0; s < ARRAY_LEN(frames); ++s) {
    const ParamMessage message = fake_engine_set(rig.engine, s).messages[0];
    ck_assert_uint_eq(message.fade_frames, frames[s]);
    ck_assert_uint_eq(message.curve, 0U);
  }
}

TEST(late_takes_words_and_levels_for_outputs)
{
  client_ask(rig.client, "/done /rack/late 1 640", "/rack/late", "ss", "out:1", "silence");
  client_ask(rig.client, "/done /rack/late 2 640", "/rack/late", "sf", "out:2", -20.0);
  control_rig_expect_rack("late out:1 silence\nlate out:2 -20dB\n");
  client_ask(rig.client, "/done /rack/undo 3 640", "/rack/undo", "");
  control_rig_expect_rack("late out:1 silence\n");
  client_ask(rig.client, "/fail /rack/late 2 late is for the rack's outputs; write out or out:1-2",
             "/rack/late", "ss", "in", "dry");
  client_ask(rig.client, "/fail /rack/late 2 *", "/rack/late", "sf", "out", (double)NAN);
  client_ask(rig.client, "/fail /rack/late 1 takes out[:channels] fallback (sv), not \"s\"",
             "/rack/late", "s", "out");
}

TEST(edits_change_the_rack_and_are_answered_with_revision_and_frame)
{
  client_ask(rig.client, "/done /rack/add 1 640", "/rack/add", "sssfsi", "low", "highpass",
             "frequency", 120.0, "order", 4);
  client_ask(rig.client, "/done /rack/connect 2 640", "/rack/connect", "ssf", "vol", "low", -3.0);
  client_send(rig.client, "/rack/disconnect", "ss", "vol", "out");
  client_expect(
      rig.client, // the sender of the edit gets a new warning first
      "/rack/warning nothing reaches out, so the rack is silent; connect a node to out\n");
  client_expect(rig.client, "/done /rack/disconnect 3 640");
  client_ask(rig.client, "/done /rack/do 4 640", "/rack/do", "s", "connect low out");
  control_rig_expect_rack("add low highpass frequency=120Hz order=4");
  control_rig_expect_rack("connect vol low gain=-3dB");
  char* const active = fake_engine_newest(rig.engine, NULL);
  ck_assert_msg(strstr(active, "connect low out") && !strstr(active, "connect vol out"), "%s",
                active);
  free(active);
  client_ask(rig.client, "/done /rack/remove 5 640", "/rack/remove", "s", "low");
  client_ask(rig.client, "/done /rack/chain 6 640", "/rack/chain", "s", "a: gain 3 | b: gain 4");
  control_rig_expect_rack("add b gain gain=4dB");
  client_ask(rig.client, "/done /rack/clear 7 640", "/rack/clear", "");
}

TEST(nodes_are_inserted_renamed_and_removed_without_a_gap)
{
  client_ask(rig.client, "/done /rack/insert 1 640", "/rack/insert", "sssssf", "low", "highpass",
             "before", "vol", "frequency", 120.0);
  control_rig_expect_rack("connect lowcut low\nconnect vol out\nconnect low vol\n");
  client_ask(rig.client, "/done /rack/rename 2 640", "/rack/rename", "ss", "low", "second");
  client_ask(rig.client, "/node/second/frequency 120", "/node/second/frequency", "");
  client_ask(rig.client, "/done /rack/remove 3 640", "/rack/remove", "s", "second");
  control_rig_expect_rack("connect lowcut vol\nconnect vol out\n");
  client_ask(rig.client, "/fail /rack/insert 2 \"beside\" is neither before nor after*",
             "/rack/insert", "ssss", "x", "gain", "beside", "vol");
  client_ask(rig.client, "/fail /rack/rename 4 the name \"lowcut\" is taken*", "/rack/rename", "ss",
             "vol", "lowcut");
}

TEST(several_statements_of_one_message_are_one_edit)
{
  client_ask(rig.client, "/done /rack/do 1 640", "/rack/do", "sss", "add x gain -3dB",
             "disconnect vol out\nconnect vol x", "connect x out");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 1);
  control_rig_expect_rack("connect lowcut vol\nconnect vol x\nconnect x out\n");
  client_ask(rig.client, "/fail /rack/do 3 statement:2:8: no node \"y\"*", "/rack/do", "ss",
             "remove x", "remove y");
  client_ask(rig.client, "/fail /rack/do 2 statement:1:1: *", "/rack/do", "s", "");
  client_ask(rig.client, "/done /rack/undo 2 640", "/rack/undo", "");
  control_rig_expect_rack("connect lowcut vol\nconnect vol out\n");
}

TEST(invalid_edits_are_refused_and_leave_the_rack)
{
  client_ask(rig.client, "/fail /rack/add 1 frequency is given twice; remove one", "/rack/add",
             "sssfsf", "twice", "highpass", "frequency", 80.0, "frequency", 90.0);
  client_ask(rig.client, "/fail /rack/add 4 *", "/rack/add", "ss", "vol", "gain");
  client_ask(rig.client, "/fail /rack/add 3 *", "/rack/add", "ss", "x", "gian");
  client_ask(rig.client, "/fail /rack/connect 2 *", "/rack/connect", "ss", "vol", "lowcut");
  client_ask(rig.client, "/fail /rack/remove 3 *", "/rack/remove", "s", "voll");
  client_ask(rig.client, "/fail /rack/chain 2 chain:1:*", "/rack/chain", "s", "gain | | gain");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 0);
  control_rig_expect_rack("connect lowcut vol");
}

TEST(parameters_are_set_at_once_without_a_new_plan)
{
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -12.0);
  ck_assert_double_eq(control_rig_newest_value(), -12.0);
  ck_assert_uint_eq(fake_engine_set(rig.engine, 0).frame, 0);
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "i", -20);
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "d", -20.5);
  client_ask(rig.client, "/done /node/lowcut/frequency", "/node/lowcut/frequency", "s", "1.5kHz");
  ck_assert_double_eq(control_rig_newest_value(), 1500.0);
  client_ask(rig.client, "/done /node/lowcut/type", "/node/lowcut/type", "s", "elliptic");
  ck_assert_double_eq(control_rig_newest_value(), 2.0);
  client_ask(rig.client, "/done /rack/set", "/rack/set", "ss", "vol.gain", "-1dB");
  ck_assert_double_eq(control_rig_newest_value(), -1.0);
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 0);
}

TEST(parameters_are_read_with_the_message_that_sets_them)
{
  client_ask(rig.client, "/node/vol/gain -6", "/node/vol/gain", "");
  client_ask(rig.client, "/node/lowcut/order 2", "/node/lowcut/order", "");
  client_ask(rig.client, "/node/lowcut/type butterworth", "/node/lowcut/type", "");
  client_ask(rig.client, "/node/lowcut/frequency 80", "/node/{lowcut,vol}/[f-g]*", "");
  client_expect(rig.client, "/node/vol/gain -6");
}

TEST(a_read_of_many_nodes_answers_each_of_them)
{
  enum { N_NODES = 40 }; // more than one step of a read, and no multiple of a step
  char chain[N_NODES * 32] = "n0: gain 0dB";
  for (int n = 1; n < N_NODES; ++n) {
    sprintf(chain + strlen(chain), " | n%d: gain -%ddB", n, n);
  }
  client_ask(rig.client, "/done*", "/rack/chain", "s", chain);
  client_send(rig.client, "/node/n*/gain", "");
  for (int n = 0; n < N_NODES; ++n) {
    char expected[64];
    snprintf(expected, sizeof(expected), "/node/n%d/gain %d", n, -n);
    client_expect(rig.client, expected);
  }
  client_ask(rig.client, "/node/n39/gain -39", "/node/*39/gain", ""); // only in the last step
  client_ask(rig.client, "/fail /node/x*/gain 3 no node \"x*\" has a parameter \"gain\"",
             "/node/x*/gain", "");
  client_expect_nothing(rig.client);
}

TEST(values_out_of_range_or_of_no_parameter_are_refused)
{
  client_ask(rig.client, "/fail /node/vol/gain *", "/node/vol/gain", "f", 1000.0);
  client_ask(rig.client, "/fail /node/vol/gain 1 *", "/node/vol/gain", "f", (double)NAN);
  client_ask(rig.client,
             "/fail /node/vol/gian 3 vol (gain) has no parameter \"gian\"; did you "
             "mean \"gain\"?",
             "/node/vol/gian", "f", 0.0);
  client_ask(rig.client, "/fail /node/voll/gain 3 no node \"voll\"; did you mean \"vol\"?",
             "/node/voll/gain", "f", 0.0);
  client_ask(rig.client, "/fail /node/x*/gain 3 no node \"x*\" has a parameter \"gain\"",
             "/node/x*/gain", "f", 0.0);
  client_ask(rig.client, "/fail /node/lowcut/type *", "/node/lowcut/type", "s", "besel");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
}

TEST(structural_parameters_become_edits)
{
  client_ask(rig.client, "/done /node/lowcut/order 1 640", "/node/lowcut/order", "i", 8);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
  client_ask(rig.client, "/done /node/lowcut/backend 2 640", "/node/lowcut/backend", "s", "cpu");
  control_rig_expect_rack("order=8 backend=cpu");
}

TEST(switches_are_parameters_of_every_node)
{
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: phaser | b: phaser");
  client_ask(rig.client, "/done /node/*/mute", "/node/*/mute", "i", 1);
  const FakeSet set = fake_engine_set(rig.engine, 0);
  ck_assert_uint_eq(set.n, 2);
  ck_assert_int_eq(fx_find("phaser")->params[set.messages[1].param].of_engine, FX_SWITCH_MUTE);
  ck_assert_double_eq(set.messages[1].value, 1.0);
  client_ask(rig.client, "/done /node/b/bypass", "/node/b/bypass", "s", "on");
  client_ask(rig.client, "/node/b/bypass 1", "/node/b/bypass", "");
  control_rig_expect_rack("add b phaser bypass=on mute=on\n");
  client_ask(rig.client, "/done /rack/undo*", "/rack/undo", "");
  control_rig_expect_rack("add b phaser mute=on\n");
  const uint32_t n_edits = fake_engine_n_edits(rig.engine);
  client_ask(rig.client, "/done /node/a/solo*", "/node/a/solo", "i", 1);
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), n_edits + 1U);
  control_rig_expect_rack("add a phaser mute=on solo=on\n");
}

TEST(patterns_set_all_that_match_in_one_group)
{
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a1: gain | a2: gain | b1: gain");
  client_ask(rig.client, "/done /node/a?/gain", "/node/a?/gain", "f", -3.0);
  const FakeSet set = fake_engine_set(rig.engine, 0);
  const FxInfo* const gain = fx_find("gain");
  ck_assert_uint_eq(set.messages[0].param_id, fx_param_hash(&gain->params[set.messages[0].param]));
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 1);
  ck_assert_uint_eq(set.n, 2);
  ck_assert_double_eq(set.messages[1].value, -3.0);
  control_rig_expect_rack("add a2 gain gain=-3dB");
  control_rig_expect_rack("add b1 gain\n");
}

TEST(a_value_that_the_engine_cannot_take_is_not_in_the_document)
{
  fake_engine_be_full(rig.engine, true);
  client_ask(rig.client, "/fail /node/vol/gain 5 *", "/node/vol/gain", "ff", -12.0, 1.0); // a fade
  client_ask(rig.client, "/node/vol/gain -6", "/node/vol/gain", "");
}

TEST(values_without_a_time_are_merged_while_the_engine_takes_none)
{
  fake_engine_be_full(rig.engine, true);
  for (int value = 1; value <= 100; ++value) {
    client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -0.25 * value);
  }
  client_ask(rig.client, "/done /node/lowcut/frequency", "/node/lowcut/frequency", "f", 200.0);
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 0);
  ck_assert_double_eq(control_rig_status("values_merged"), 99.0);
  ck_assert_double_eq(control_rig_status("values_set"), 101.0);
  client_ask(rig.client, "/fail /rack/add 5 *", "/rack/add", "ss", "a",
             "gain"); // it would be older
  fake_engine_be_full(rig.engine, false);
  AWAIT(fake_engine_n_sets(rig.engine) == 1);
  const FakeSet set = fake_engine_set(rig.engine, 0);
  ck_assert_uint_eq(set.n, 2);
  ck_assert_double_eq(set.messages[0].value, -25.0);
  ck_assert_double_eq(set.messages[1].value, 200.0);
}

TEST(what_follows_values_reaches_the_engine_after_them)
{
  lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  lo_bundle fade = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/node/vol/gain", "f", -1.0);
  bundle_add(fade, "/node/vol/gain", "ff", -20.0, 1.0);
  lo_bundle_add_bundle(bundle, fade); // in the same packet
  client_send_bundle(rig.client, bundle);
  client_expect(rig.client, "/done /node/vol/gain");
  client_expect(rig.client, "/done /node/vol/gain");
  ck_assert_uint_eq(fake_engine_n_sets(rig.engine), 2);
  ck_assert_double_eq(fake_engine_set(rig.engine, 0).messages[0].value, -1.0);
  ck_assert_double_eq(fake_engine_set(rig.engine, 1).messages[0].value, -20.0);
}

/// Send a bundle of three sets.
static void
send_three(void)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  bundle_add(bundle, "/node/vol/gain", "f", -9.0);
  bundle_add(bundle, "/node/lowcut/frequency", "f", 90.0);
  bundle_add(bundle, "/norm/vol/gain", "f", 1.0);
  client_send_bundle(rig.client, bundle);
}

/// Receive the answers to send_three().  Returns the number of packets.
static uint32_t
expect_three(void)
{
  const uint32_t n_before = rig.client->n_packets;
  client_expect(rig.client, "/done /node/vol/gain");
  client_expect(rig.client, "/done /node/lowcut/frequency");
  client_expect(rig.client, "/done /norm/vol/gain");
  return rig.client->n_packets - n_before;
}

TEST(the_answers_to_a_bundle_are_one_bundle)
{
  send_three();
  ck_assert_uint_eq(expect_three(), 1);
  for (uint32_t n = 0; n < 2U; ++n) { // one bundle for each, and none for single messages
    client_send(rig.client, "/server/ping", "");
    send_three();
  }
  for (uint32_t n = 0; n < 2U; ++n) {
    client_expect(rig.client, "/done /server/ping");
    ck_assert_uint_eq(expect_three(), 1);
  }
}

TEST(a_client_that_wants_bundles_gets_all_answers_in_bundles)
{
  client_ask(rig.client, "/done /server/answers", "/server/answers", "s", "bundles");
  rig.hold = true;
  AWAIT(rig.is_held); // then all packets arrive before the next round
  for (uint32_t n = 0; n < 10U; ++n) {
    client_send(rig.client, "/server/ping", "");
  }
  const uint32_t n_before = rig.client->n_packets;
  rig.hold = false;
  for (uint32_t n = 0; n < 10U; ++n) {
    client_expect(rig.client, "/done /server/ping");
  }
  ck_assert_uint_lt(rig.client->n_packets - n_before, 10U);
  client_ask(rig.client, "/done /server/answers", "/server/answers", "s", "all");
}

TEST(a_client_that_wants_failures_only_gets_no_done)
{
  client_ask(rig.client, "/done /server/answers", "/server/answers", "s", "failures");
  client_send(rig.client, "/node/vol/gain", "f", -9.0);
  client_ask(rig.client, "/fail /node/vol/gain 2 *", "/node/vol/gain", "f", 99.0);
  client_send(rig.client, "/rack/add", "ss", "a", "gain");
  client_send(rig.client, "/rack/save", "s", "a.rack");
  client_send(rig.client, "/server/sync", "i", 1);
  struct pollfd answers = { .fd = rig.client->fd, .events = POLLIN };
  while (poll(&answers, 1, 10) == 0) {
    fake_engine_advance(rig.engine, FAKE_BLOCK_FRAMES);
  }
  client_expect(rig.client, "/server/synced 1");
  client_send(rig.client, "/node/vol/gain", "");
  client_expect(rig.client, "/node/vol/gain -9"); // a question is answered
  client_ask(rig.client, "/done /server/ping", "/server/ping", "");
  client_send(rig.other, "/node/vol/gain", "f", -8.0); // nobody else's wish
  client_expect(rig.other, "/done /node/vol/gain");
  client_ask(rig.client, "/fail /server/answers 1 *", "/server/answers", "s", "some");
  client_ask(rig.client, "/done /server/answers", "/server/answers", "s", "all");
  client_ask(rig.client, "/done /node/vol/gain", "/node/vol/gain", "f", -7.0);
}

TEST(the_status_counts_what_was_refused)
{
  ck_assert_double_eq(control_rig_status("xruns"), 7.0);
  client_send(rig.client, "/server/status", "");
  ck_assert_ptr_nonnull(strstr(client_receive(rig.client),
                               " guarded_ports in:2=2 out:1=1 out:2=2 "
                               "attenuated_ports out:1=muted out:2=-42dB "));
  ck_assert_double_eq(control_rig_status("overlaps"), 3.0);
  ck_assert_double_eq(control_rig_status("audio_hang_s"), 2.5);
  ck_assert_double_eq(control_rig_status("refused_blob"), 0.0);
  client_send_bytes(rig.client, "/a\0\0,b\0\0\0\0\0\1", 12);
  client_expect(rig.client, "/fail  1 packet refused: a blob longer than its packet");
  ck_assert_double_eq(control_rig_status("refused_blob"), 1.0);
  client_ask(rig.client, "/fail*", "/nonsense", "");
  ck_assert_double_eq(control_rig_status("osc_unknown"), 1.0);
}

TEST(the_load_is_a_histogram)
{
  client_ask(
      rig.client,
      "/server/load 0.05 100 0.1 0 0.2 0 0.3 0 0.4 0 0.5 0 0.6 0 0.7 0 0.8 0 0.9 0 1 0 1.25 0 "
      "1.5 0 2 0 4 0 inf 3",
      "/server/load", "");
}

TEST(node_queries_report_the_backend_and_its_reason)
{
  client_ask(rig.client, "/done*", "/rack/chain", "s", "a: gain | b: highpass 80 | c: gain");
  client_ask(rig.client,
             "/server/nodes a gain cpu option 1.5 22.5\nb highpass cpu option 1.5 22.5\n"
             "c gain cpu option - -\n 1 1",
             "/server/nodes", "");
  client_ask(rig.client, "/fail /server/nodes 1 the text has parts 1 to 1", "/server/nodes", "i",
             2);
}

TEST(a_query_of_a_node_that_does_not_play_yet_waits)
{
  client_ask(rig.client, "/server/nodes lowcut highpass - waiting - -\n*", "/server/nodes", "");
}

TEST(an_address_that_ends_in_a_slash_gets_no_amplified_reply)
{
  client_send_bytes(rig.client, "/\0\0\0,\0\0\0", 8);
  client_expect(rig.client, "/fail  1 *");
  client_expect_nothing(rig.client);
}

/// A bundle that takes the server far longer than its sender; the caller frees it.
static void*
make_costly_bundle(size_t* const n_bytes)
{
  const lo_bundle bundle = lo_bundle_new(LO_TT_IMMEDIATE);
  for (int m = 0; m < 1024; ++m) {
    bundle_add(bundle, "/node/vol/gain", "f", -3.0);
  }
  void* const bytes = lo_bundle_serialise(bundle, NULL, n_bytes);
  lo_bundle_free_recursive(bundle);
  return bytes;
}

/// Reports of dropped packets that have come to a client; nothing else has.
static uint32_t
take_reports(OscClient* const client)
{
  uint32_t n = 0;
  struct pollfd fd = { .fd = client->fd, .events = POLLIN };
  for (; poll(&fd, 1, 0) == 1; ++n) {
    client_expect(client, "/fail  5 *");
    assert_says(client->answer, " packets dropped: they arrived faster than");
    ck_assert_int_gt(atoi(client->answer + strlen("/fail  5 ")), 0);
  }
  return n;
}

TEST(only_a_sender_that_floods_gets_a_report_once_a_second)
{
  size_t n_bytes = 0;
  SCOPED_MEMORY void* const bundle = make_costly_bundle(&n_bytes);
  client_ask(rig.other, "/done /server/answers", "/server/answers", "s", "failures");
  const uint64_t begin_ns = instant_now().monotonic_ns;
  for (uint32_t n_reports = 0; n_reports < 2; n_reports += take_reports(rig.other)) {
    client_send_bytes(rig.other, bundle, n_bytes);
  }
  ck_assert_uint_ge(instant_now().monotonic_ns - begin_ns, SENDERS_REPORT_NS);
  ck_assert_double_gt(control_rig_status("osc_dropped"), 0.0);
  client_expect_nothing(rig.client);
}

TEST(a_check_is_answered_when_it_has_ended)
{
  client_send(rig.client, "/rack/check", "s", "reverb | gain");
  AWAIT(rig.check_state == 1);
  ck_assert_str_eq(rig.check_text, "reverb | gain");
  client_ask(rig.client, "/fail /rack/check 5 a check of this client*", "/rack/check", "");
  client_send(rig.other, "/rack/check", "");
  client_ask(rig.other, "/done /server/ping", "/server/ping", "");
  ck_assert_str_eq(rig.check_text, "reverb | gain"); // that of the other client waits
  rig.check_state = 2;
  client_expect(rig.client, "/rack/check needs_us 12.5 backend cpu memory_bytes 5000000000");
  AWAIT(rig.check_state == 1);
  assert_says(rig.check_text, "add lowcut highpass"); // the present rack
  rig.check_state = 3;
  client_expect(rig.other, "/fail /rack/check 5 the check took too long");
}

TEST(quit_is_answered_before_it_is_done)
{
  client_ask(rig.client, "/done /server/quit", "/server/quit", "");
  client_expect_nothing(rig.client);
  ck_assert_int_eq(rig.n_quits, 1);
}

TEST(a_long_rack_is_read_in_parts)
{
  SCOPED_MEMORY char* const chain = malloc(65536);
  strcpy(chain, "n0: gain");
  for (int i = 1; i < 600; ++i) {
    sprintf(chain + strlen(chain), " | node-number-%d: gain -%d.5dB", i, i % 90);
  }
  client_ask(rig.client, "/done*", "/rack/chain", "s", chain);
  SCOPED_MEMORY char* const whole = fake_engine_newest(rig.engine, NULL);
  client_send(rig.client, "/rack/get", "");
  size_t n = 0;
  int part = 0;
  int n_parts = 1;
  while (part < n_parts) {
    SCOPED_MEMORY char* const answer = strdup(client_receive(rig.client));
    char* const text = answer + strlen("/rack/get ");
    char* end = strrchr(text, ' ');
    n_parts = atoi(end + 1);
    *end = 0;
    end = strrchr(text, ' ');
    ck_assert_int_eq(atoi(end + 1), ++part);
    *end = 0;
    ck_assert_int_eq(strncmp(whole + n, text, strlen(text)), 0);
    n += strlen(text);
  }
  ck_assert_int_gt(n_parts, 1);
  ck_assert_uint_eq(n, strlen(whole));
  client_ask(rig.client, "/rack/get *", "/rack/get", "i", n_parts);
  client_ask(rig.client, "/fail /rack/get 1 the text has parts 1 to *", "/rack/get", "i",
             n_parts + 1);
}

TEST(racks_are_saved_and_loaded_inside_the_folder)
{
  client_ask(rig.client, "/done /rack/save", "/rack/save", "s", "mine.rack");
  client_ask(rig.client, "/done*", "/rack/clear", "");
  client_ask(rig.client, "/done /rack/load 2 640", "/rack/load", "s", "mine.rack");
  control_rig_expect_rack("add lowcut highpass frequency=80Hz");
  ck_assert_uint_eq(scratch_count(&rig.folder), 1); // no temporary file is left
  scratch_write(&rig.folder, "bad.rack", "add x\nadd y", 11);
  client_ask(rig.client, "/fail /rack/load 2 bad.rack:1:*", "/rack/load", "s", "bad.rack");
  client_ask(rig.client, "/fail /rack/load 9 none.rack: No such file or directory", "/rack/load",
             "s", "none.rack");
  control_rig_expect_rack("add lowcut highpass frequency=80Hz");
  ck_assert_double_eq(control_rig_status("commands_failed"), 2.0);
  client_ask(rig.client, "/fail /rack/save 9*", "/rack/save", "s", "no/such/mine.rack");
  ck_assert_double_eq(control_rig_status("commands_failed"), 3.0);
}

TEST(no_message_returns_terminal_control_characters)
{
  client_ask(rig.client,
             "/fail /rack/chain 2 chain:1:6: gain takes a number in dB, not "
             "\"??????3\"",
             "/rack/chain", "s",
             "gain \xC2\x9B\xE2\x80\xAE\xFF"
             "3");
  client_ask(rig.client, "/fail /rack/load 9 a?????.rack: No such file or directory", "/rack/load",
             "s", "a\xC2\x9B\xE2\x80\xAE.rack");
}

TEST(no_file_name_leads_out_of_the_folder)
{
  static const char* const names[] = { "/etc/x.rack",    "../x.rack",     "a/../../x.rack",
                                       "link.rack",      "fifo.rack",     "dir.rack",
                                       "/dev/zero.rack", "linkdir/x.rack" };
  ck_assert_int_eq(symlink("/etc/passwd", scratch_path(&rig.folder, "link.rack")), 0);
  ck_assert_int_eq(symlink("/tmp", scratch_path(&rig.folder, "linkdir")), 0);
  ck_assert_int_eq(mkfifo(scratch_path(&rig.folder, "fifo.rack"), 0600), 0);
  ck_assert_int_eq(mkdir(scratch_path(&rig.folder, "dir.rack"), 0700), 0);
  for (uint32_t i = 0; i < ARRAY_LEN(names); ++i) {
    client_ask(rig.client, "/fail /rack/load 9 *", "/rack/load", "s", names[i]);
  }
  scratch_write(&rig.folder, "key.txt", "SECRET\n", 7); // what is no rack is not quoted either
  static const char* const others[] = { "", "key.txt", "/etc/passwd", ".rack", "key.rack.txt" };
  for (uint32_t i = 0; i < ARRAY_LEN(others); ++i) {
    char expected[128];
    snprintf(expected, sizeof(expected),
             "/fail /rack/load 1 %s: the name of a rack ends in \".rack\"", others[i]);
    client_ask(rig.client, expected, "/rack/load", "s", others[i]);
  }
  static char large[RACK_MAX_TEXT + 1U];
  memset(large, '#', sizeof(large));
  scratch_write(&rig.folder, "large.rack", large, sizeof(large));
  client_ask(rig.client, "/fail /rack/load 5 large.rack: larger than*", "/rack/load", "s",
             "large.rack");
  static const char* const targets[] = { "/tmp/x.rack", "../x.rack", "linkdir/x.rack" };
  for (uint32_t i = 0; i < ARRAY_LEN(targets); ++i) {
    client_ask(rig.client, "/fail /rack/save 9 *", "/rack/save", "s", targets[i]);
  }
  client_ask(rig.client, "/fail /rack/save 1 *", "/rack/save", "s", "hall.wav");
  unlink(scratch_path(&rig.folder, "link.rack"));
  unlink(scratch_path(&rig.folder, "linkdir"));
  unlink(scratch_path(&rig.folder, "fifo.rack"));
  rmdir(scratch_path(&rig.folder, "dir.rack"));
}

SUITE_MAIN_WITH("control", control_rig_start, control_rig_stop)
