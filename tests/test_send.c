// SPDX-License-Identifier: GPL-3.0-or-later
// warprack send: types as typed, answers as they come, an exit code that a script can use.

#include "support/control_rig.h"
#include "support/program.h"
#include "support/suite.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static ControlRig rig;
static Program program;
static char port[16];

static void
start(void)
{
  control_rig_start(&rig);
  snprintf(port, sizeof(port), "%u", control_port(rig.control));
}

static void
stop(void)
{
  control_rig_stop(&rig);
}

#define SEND(...) PROGRAM_RUN(&program, "send", "--osc-port", port, __VA_ARGS__)

static void
expect(const int exit_code, const char* const out)
{
  ck_assert_msg(program.exit_code == exit_code, "%d: %s%s", program.exit_code, program.out,
                program.err);
  ck_assert_str_eq(program.out, out);
  program_clear(&program);
}

START_TEST(an_answer_is_printed_with_its_types)
{
  start();
  SEND("/rack/connect", "vol", "lowcut");
  ck_assert_int_eq(program.exit_code, 2);
  ck_assert_msg(!strncmp(program.out, "/fail sis \"/rack/connect\" 2 \"", 28), "%s", program.out);
  program_clear(&program);
  SEND("/rack/add", "a", "gain", "gain", "-3");
  expect(0, "/done sih \"/rack/add\" 1 640\n");
  SEND("/server/ping");
  expect(0, "/done s \"/server/ping\"\n");
  stop();
}
END_TEST

START_TEST(all_answers_of_a_read_are_printed)
{
  start();
  SEND("/node/*/[fg]*");
  expect(0, "/node/lowcut/frequency f 80\n/node/vol/gain f -6\n");
  stop();
}
END_TEST

START_TEST(an_edit_is_waited_for)
{
  start();
  fake_engine_hold(rig.engine, true);
  const char* const words[] = { "send", "-p", port, "/rack/clear", NULL };
  program_start(&program, words);
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  program_wait(&program);
  expect(0, "/done sih \"/rack/clear\" 1 640\n");
  stop();
}
END_TEST

START_TEST(a_bundle_is_one_edit_and_waited_for)
{
  start();
  fake_engine_hold(rig.engine, true);
  const char* const words[] = { "send",
                                "-b",
                                "-p",
                                port,
                                "/rack/remove",
                                "vol",
                                ",",
                                "/rack/add",
                                "x",
                                "gain",
                                ",",
                                "/node/lowcut/frequency",
                                ",",
                                "/server/ping",
                                ",",
                                "/rack/connect",
                                "lowcut",
                                "x",
                                "-6",
                                NULL };
  program_start(&program, words);
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  program_wait(&program);
  expect(0,
         "/node/lowcut/frequency f 80\n/done s \"/server/ping\"\n/done sih \"/rack/remove\" 1 640\n"
         "/done sih \"/rack/add\" 1 640\n/done sih \"/rack/connect\" 1 640\n");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 1);
  fake_engine_hold(rig.engine, false);
  SEND("-b", "/rack/do", "set x.gain -3", "remove lowcut", ",", "/node/nobody/gain", "3");
  ck_assert_int_eq(program.exit_code, 2);
  ck_assert_msg(
      strstr(program.out, "not done, because /node/nobody/gain in the same bundle failed"), "%s",
      program.out);
  program_clear(&program);
  control_rig_expect_rack(&rig, "add lowcut");
  SEND("/node/x/gain", ",", "3"); // without --bundle it is a word as any other
  ck_assert_int_eq(program.exit_code, 2);
  program_clear(&program);
  stop();
}
END_TEST

START_TEST(a_bundle_that_cannot_be_is_not_sent)
{
  start();
  SEND("-b", "/rack/clear", ",", "rack/clear");
  ck_assert_msg(strstr(program.err, "\"rack/clear\" is no OSC address") != NULL, "%s", program.err);
  expect(2, "");
  SEND("-b", "/rack/clear", ",");
  ck_assert_msg(strstr(program.err, "\"\" is no OSC address") != NULL, "%s", program.err);
  expect(2, "");
  SEND("-b", "/rack/clear", ",", "/rack/");
  ck_assert_msg(strstr(program.err, "bundle: an empty part in the address") != NULL, "%s",
                program.err);
  expect(2, "");
  SEND("-b", "--types", "s", "/rack/remove", "a");
  ck_assert_msg(strstr(program.err, "--types is for one message") != NULL, "%s", program.err);
  expect(2, "");
  stop();
}
END_TEST

START_TEST(types_are_guessed_or_given)
{
  start();
  SEND("/node/vol/gain", "-12.5");
  expect(0, "/done s \"/node/vol/gain\"\n");
  ck_assert_double_eq(control_rig_newest_value(&rig), -12.5);
  SEND("--types", "s", "/node/vol/gain", "-7");
  expect(0, "/done s \"/node/vol/gain\"\n");
  ck_assert_double_eq(control_rig_newest_value(&rig), -7.0);
  SEND("--types", "d", "/node/vol/gain", "-7.3");
  expect(0, "/done s \"/node/vol/gain\"\n");
  ck_assert_double_eq(control_rig_newest_value(&rig), -7.3);
  SEND("--types", "i", "/node/vol/gain", "loud");
  ck_assert_int_eq(program.exit_code, 2);
  ck_assert_msg(strstr(program.err, "--types i does not fit the arguments") != NULL, "%s",
                program.err);
  program_clear(&program);
  stop();
}
END_TEST

START_TEST(answers_can_be_json)
{
  start();
  SEND("--json", "/node/vol/gain");
  json_t* const json = json_loads(program.out, 0, NULL);
  const char* address = NULL;
  const char* types = NULL;
  double value = 0.0;
  ck_assert_msg(json_unpack(json, "[{s:s, s:s, s:[F]}]", "address", &address, "types", &types,
                            "arguments", &value) == 0,
                "%s", program.out);
  ck_assert_str_eq(address, "/node/vol/gain");
  ck_assert_str_eq(types, "f");
  ck_assert_double_eq(value, -6.0);
  json_decref(json);
  program_clear(&program);
  stop();
}
END_TEST

START_TEST(options_may_stand_anywhere_and_negative_numbers_are_none)
{
  start();
  PROGRAM_RUN(&program, "send", "/node/vol/gain", "-12", "-p", port);
  expect(0, "/done s \"/node/vol/gain\"\n");
  PROGRAM_RUN(&program, "send", "/node/vol/gain", "--json", "-p", port);
  ck_assert_msg(program.exit_code == 0 && program.out[0] == '[', "%s%s", program.out, program.err);
  program_clear(&program);
  SEND("/rack/chain", "--", "-x");
  ck_assert_msg(strstr(program.out, "no effect \"-x\"") != NULL, "%s%s", program.out, program.err);
  program_clear(&program);
  stop();
}
END_TEST

START_TEST(what_the_server_says_of_itself_is_an_object)
{
  start();
  SEND("--json", "/server/status");
  json_t* status = json_loads(program.out, 0, NULL);
  ck_assert_msg(json_is_integer(json_object_get(status, "blocks")), "%s", program.out);
  ck_assert(json_is_string(json_object_get(status, "state")));
  ck_assert(json_is_real(json_object_get(status, "rate_hz")));
  json_decref(status);
  program_clear(&program);
  SEND("/server/nodes", "--json");
  json_t* const nodes = json_loads(program.out, 0, NULL);
  const char* text = NULL;
  ck_assert_msg(json_unpack(nodes, "{s:s}", "text", &text) == 0, "%s", program.out);
  ck_assert_msg(!strncmp(text, "lowcut highpass ", 16), "%s", text);
  json_decref(nodes);
  program_clear(&program);
  SEND("/server/ping", "--json");
  expect(0, "{\"done\":\"/server/ping\"}\n");
  SEND("/server/statsu", "--json");
  expect(2, "{\"fail\":\"/server/statsu\",\"code\":3,\"text\":\"no such address; did you mean "
            "\\\"/server/status\\\"?\"}\n");
  stop();
}
END_TEST

START_TEST(silence_is_an_error)
{
  start();
  fake_engine_hold(rig.engine, true);
  SEND("--timeout", "0.2", "/rack/clear");
  ck_assert_int_eq(program.exit_code, 3);
  ck_assert_msg(strstr(program.err, "no answer from 127.0.0.1, UDP port") != NULL, "%s",
                program.err);
  program_clear(&program);
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  stop();
  SEND("/server/ping");
  ck_assert_int_eq(program.exit_code, 3);
  ck_assert_msg(strstr(program.err, "nobody listens on 127.0.0.1") != NULL, "%s", program.err);
  program_clear(&program);
  SEND("ping");
  expect(2, "");
  SEND("/a/");
  expect(2, "");
}
END_TEST

SUITE_MAIN("send", an_answer_is_printed_with_its_types, all_answers_of_a_read_are_printed,
           an_edit_is_waited_for, a_bundle_is_one_edit_and_waited_for,
           a_bundle_that_cannot_be_is_not_sent, types_are_guessed_or_given, answers_can_be_json,
           options_may_stand_anywhere_and_negative_numbers_are_none,
           what_the_server_says_of_itself_is_an_object, silence_is_an_error)
