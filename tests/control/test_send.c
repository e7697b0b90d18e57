// SPDX-License-Identifier: GPL-3.0-or-later
// warprack send: the types of arguments follow from their form or from --types, replies are printed
// as text or JSON, and the exit code tells scripts the result.

#include "control/commands.h"
#include "tests/support/control_rig.h"
#include "tests/support/program.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SEND(...) RUN("send", "--osc-port", rig.port, __VA_ARGS__)

TEST(an_answer_is_printed_with_its_types)
{
  SEND("/rack/connect", "vol", "lowcut");
  ck_assert_int_eq(program.exit_code, 2);
  ck_assert_msg(!strncmp(program.out, "/fail sis \"/rack/connect\" 2 \"", 28), "%s", program.out);
  SEND("/rack/add", "a", "gain", "gain", "-3");
  program_expect_end(0, "/done sih \"/rack/add\" 1 640\n", "");
  SEND("/server/ping");
  program_expect_end(0, "/done s \"/server/ping\"\n", "");
}

TEST(all_answers_of_a_read_are_printed)
{
  SEND("/node/*/[fg]*");
  program_expect_end(0, "/node/lowcut/frequency f 80\n/node/vol/gain f -6\n", "");
}

TEST(an_edit_is_waited_for)
{
  fake_engine_hold(rig.engine, true);
  const char* const words[] = { "send", "-p", rig.port, "/rack/clear", NULL };
  program_start(&program, words);
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  program_wait(&program);
  program_expect_end(0, "/done sih \"/rack/clear\" 1 640\n", "");
}

// Rounds of the server in which it handles the rest of a bundle after the edit has begun.
#define REST_ROUNDS 4U

TEST(a_bundle_is_one_edit_and_waited_for)
{
  fake_engine_hold(rig.engine, true);
  const char* const words[] = { "send",
                                "-b",
                                "-p",
                                rig.port,
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
  AWAIT(fake_engine_n_edits(rig.engine) == 1U);
  const uint64_t n_rounds = control_rounds(rig.control) + REST_ROUNDS;
  AWAIT(control_rounds(rig.control) >= n_rounds);
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  program_wait(&program);
  program_expect_end(
      0,
      "/node/lowcut/frequency f 80\n/done s \"/server/ping\"\n/done sih \"/rack/remove\" 1 640\n"
      "/done sih \"/rack/add\" 1 640\n/done sih \"/rack/connect\" 1 640\n",
      "");
  ck_assert_uint_eq(fake_engine_n_edits(rig.engine), 1);
  fake_engine_hold(rig.engine, false);
  SEND("-b", "/rack/do", "set x.gain -3", "remove lowcut", ",", "/node/nobody/gain", "3");
  ck_assert_int_eq(program.exit_code, 2);
  assert_says(program.out, "not done, because /node/nobody/gain in the same bundle failed");
  control_rig_expect_rack("add lowcut");
  SEND("/node/x/gain", ",", "3"); // without --bundle, "," is an argument
  ck_assert_int_eq(program.exit_code, 2);
}

TEST(an_invalid_bundle_is_not_sent)
{
  SEND("-b", "/rack/clear", ",", "rack/clear");
  program_expect_end(2, "", "\"rack/clear\" is not an OSC address");
  SEND("-b", "/rack/clear", ",");
  program_expect_end(2, "", "\"\" is not an OSC address");
  SEND("-b", "/rack/clear", ",", "/rack/");
  program_expect_end(2, "", "bundle: an empty part in the address");
  SEND("-b", "--types", "s", "/rack/remove", "a");
  program_expect_end(2, "", "--types is for one message");
}

TEST(types_are_guessed_or_given)
{
  SEND("/node/vol/gain", "-12.5");
  program_expect_end(0, "/done s \"/node/vol/gain\"\n", "");
  ck_assert_double_eq(control_rig_newest_value(), -12.5);
  SEND("--types", "s", "/node/vol/gain", "-7");
  program_expect_end(0, "/done s \"/node/vol/gain\"\n", "");
  ck_assert_double_eq(control_rig_newest_value(), -7.0);
  SEND("--types", "d", "/node/vol/gain", "-7.3");
  program_expect_end(0, "/done s \"/node/vol/gain\"\n", "");
  ck_assert_double_eq(control_rig_newest_value(), -7.3);
  SEND("--types", "i", "/node/vol/gain", "loud");
  program_expect_end(2, "", "--types i does not fit the arguments");
}

TEST(a_number_for_an_argument_that_takes_only_strings_is_sent_as_one)
{
  SEND("/server/hello", "0000000000000000");
  program_expect_end(0, "/done s \"/server/hello\"\n", "");
  SEND("/rack/add", "7", "gain", "gain", "-3"); // "sv" is repeated
  assert_says(program.out, "/fail sis \"/rack/add\" 2 ");
  SEND("/meter/subscribe", "5");
  assert_says(program.out, "/fail sis \"/meter/subscribe\" 3 \"no meter \"5\"");
}

TEST(a_message_and_its_answers_can_use_tcp)
{
  SEND("--tcp", "/node/vol/gain");
  program_expect_end(0, "/node/vol/gain f -6\n", "");
  SEND("--tcp", "-b", "/rack/remove", "vol", ",", "/node/lowcut/frequency", "90");
  ck_assert_int_eq(program.exit_code, 0);
  control_rig_stop_server();
  SEND("--tcp", "/server/ping");
  program_expect_end(3, "", "no server listens on 127.0.0.1, TCP port");
}

TEST(answers_can_be_json)
{
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
}

TEST(options_may_stand_anywhere_and_negative_numbers_are_operands)
{
  RUN("send", "/node/vol/gain", "-12", "-p", rig.port);
  program_expect_end(0, "/done s \"/node/vol/gain\"\n", "");
  RUN("send", "/node/vol/gain", "--json", "-p", rig.port);
  ck_assert_msg(program.exit_code == 0 && program.out[0] == '[', "%s%s", program.out, program.err);
  SEND("/rack/chain", "--", "-x");
  ck_assert_msg(strstr(program.out, "no effect \"-x\"") != NULL, "%s%s", program.out, program.err);
}

TEST(replies_about_the_server_are_an_object)
{
  SEND("--json", "/server/status");
  json_t* status = json_loads(program.out, 0, NULL);
  ck_assert_msg(json_is_integer(json_object_get(status, "blocks")), "%s", program.out);
  ck_assert(json_is_string(json_object_get(status, "state")));
  ck_assert(json_is_real(json_object_get(status, "rate_hz")));
  json_decref(status);
  SEND("/server/nodes", "--json");
  json_t* const nodes = json_loads(program.out, 0, NULL);
  const char* text = NULL;
  ck_assert_msg(json_unpack(nodes, "{s:s}", "text", &text) == 0, "%s", program.out);
  ck_assert_msg(!strncmp(text, "lowcut highpass ", 16), "%s", text);
  json_decref(nodes);
  SEND("/server/ping", "--json");
  program_expect_end(0, "{\"done\":\"/server/ping\"}\n", "");
  SEND("/server/statsu", "--json");
  program_expect_end(
      2,
      "{\"fail\":\"/server/statsu\",\"code\":3,\"text\":\"no such address; did you mean "
      "\\\"/server/status\\\"?\"}\n",
      "");
}

/// Send a command of the table with arguments that it accepts, while audio runs.
static void
send_command(const CommandInfo* const command, const char* const option)
{
  const char* const letters = command->required ? command->required : "";
  const bool is_plugin = !strcmp(letters, "ss");
  const char* const second = is_plugin ? "long" : NULL; // a plugin of the rig
  const char* words[8] = { "send", "-p", rig.port, option, command->address, NULL, second };
  if (letters[0]) {
    words[5] = is_plugin ? "lv2" : letters[0] == 's' ? "all" : "0";
  }
  program_start(&program, words);
  while (!strchr(program_peek(&program), '\n')) {
    fake_engine_advance(rig.engine, FAKE_BLOCK_FRAMES);
    usleep(1000);
  }
  program_wait(&program);
  ck_assert_msg(program.exit_code == 0, "%s%s", program.out, program.err);
}

TEST(json_names_each_value_of_an_answer_about_the_server)
{
  uint32_t n_asked = 0;
  for (uint32_t c = 0; c < n_commands; ++c) {
    const CommandInfo* const command = &command_table[c];
    if (strncmp(command->address, "/server/", 8) != 0) {
      continue;
    }
    send_command(command, "--json");
    json_t* const json = json_loads(program.out, 0, NULL);
    send_command(command, "--timeout=5"); // prints the address, a letter for each value, the values
    char letters[4096] = "";
    ck_assert_int_eq(sscanf(program.out, "%*s %4095s", letters), 1);
    const bool has_keys = !strcmp(command->address, "/server/status") || // key value key value ...
                          !strcmp(command->address, "/server/load");
    ck_assert_msg(json_object_size(json) == strlen(letters) / (has_keys ? 2U : 1U),
                  "talk_describe() in tools/talk.c does not name each value of %s", program.out);
    json_decref(json);
    ++n_asked;
  }
  ck_assert_uint_gt(n_asked, 0);
}

TEST(silence_is_an_error)
{
  fake_engine_hold(rig.engine, true);
  SEND("--timeout", "0.2", "/rack/clear");
  program_expect_end(3, "", "no answer from 127.0.0.1, UDP port");
  fake_engine_answer(rig.engine, STATUS_OK, "", 0);
  control_rig_stop_server();
  SEND("/server/ping");
  program_expect_end(3, "", "no server listens on 127.0.0.1");
  SEND("ping");
  program_expect_end(2, "", "");
  SEND("/a/");
  program_expect_end(2, "", "");
}

SUITE_MAIN_WITH("send", control_rig_start, control_rig_stop)
