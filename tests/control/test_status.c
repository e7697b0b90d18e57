// SPDX-License-Identifier: GPL-3.0-or-later
// warprack status: keys and values in columns, selected keys, JSON, and the errors for an unknown
// key or a missing server.

#include "tests/support/control_rig.h"
#include "tests/support/program.h"
#include "tests/support/suite.h"

#include <jansson.h>
#include <string.h>

#define STATUS(...) RUN("status", "-p", rig.port, __VA_ARGS__)

TEST(keys_and_values_stand_in_columns)
{
  RUN("status", "-p", rig.port);
  ck_assert_msg(program.exit_code == 0 && !strncmp(program.out, "version  ", 9), "%s", program.out);
  const char* const first = strchr(program.out, '\n') + 1;
  const size_t column = strcspn(first, " ") + strspn(first + strcspn(first, " "), " ");
  uint32_t n_lines = 0;
  for (char* line = strtok(program.out, "\n"); line; line = strtok(NULL, "\n"), ++n_lines) {
    ck_assert_msg(strlen(line) >= column && line[column - 1U] == ' ', "%s", line);
  }
  ck_assert_uint_gt(n_lines, 50);
}

TEST(keys_are_picked_by_name_and_pattern)
{
  STATUS("revision", "undo_steps");
  program_expect_end(0, "revision    0\nundo_steps  0\n", "");
  STATUS("*do_steps", "revision");
  program_expect_end(0, "revision    0\nundo_steps  0\nredo_steps  0\n", "");
  STATUS("--json", "late", "revision");
  program_expect_end(0, "{\"late\":0,\"revision\":0}\n", "");
  STATUS("late", "revison");
  program_expect_end(2, "", "no key 'revison'; did you mean \"revision\"?");
  STATUS("nothing*");
  program_expect_end(2, "", "no key 'nothing*'");
  control_rig_stop_server();
  STATUS("late");
  program_expect_end(3, "", "no server listens on 127.0.0.1, UDP port");
}

TEST(a_host_is_a_name_or_an_address)
{
  STATUS("--host", "localhost", "late");
  program_expect_end(0, "late  0\n", "");
  STATUS("--host", "127.0.0.1", "late");
  program_expect_end(0, "late  0\n", "");
  STATUS("--host", "nowhere.invalid", "late");
  program_expect_end(3, "", "no machine \"nowhere.invalid\": ");
  STATUS("--host", "127.0.0.1:9770", "late");
  program_expect_end(3, "", "the port goes into --osc-port");
  STATUS("--host", "[::1]:9770", "late");
  program_expect_end(3, "", "the port goes into --osc-port");
  STATUS("--host", "fe80::nowhere", "late"); // colons of an address, not of a port
  ck_assert_ptr_null(strstr(program.err, "--osc-port"));
}

SUITE_MAIN_WITH("status", control_rig_start, control_rig_stop)
