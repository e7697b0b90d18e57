// SPDX-License-Identifier: GPL-3.0-or-later
// warprack status: keys and values in columns, those that were asked for, as JSON, and what becomes
// of a key or a server that is not there.

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
expect(const int exit_code, const char* const out, const char* const err)
{
  ck_assert_msg(program.exit_code == exit_code && strstr(program.err, err), "%d: %s%s",
                program.exit_code, program.out, program.err);
  ck_assert_str_eq(program.out, out);
  program_clear(&program);
}

#define STATUS(...) PROGRAM_RUN(&program, "status", "-p", port, __VA_ARGS__)

START_TEST(keys_and_values_stand_in_columns)
{
  start();
  PROGRAM_RUN(&program, "status", "-p", port);
  ck_assert_msg(program.exit_code == 0 && !strncmp(program.out, "version  ", 9), "%s", program.out);
  const char* const first = strchr(program.out, '\n') + 1;
  const size_t column = strcspn(first, " ") + strspn(first + strcspn(first, " "), " ");
  uint32_t n_lines = 0;
  for (char* line = strtok(program.out, "\n"); line; line = strtok(NULL, "\n"), ++n_lines) {
    ck_assert_msg(strlen(line) >= column && line[column - 1U] == ' ', "%s", line);
  }
  ck_assert_uint_gt(n_lines, 50);
  program_clear(&program);
  control_rig_stop(&rig);
}
END_TEST

START_TEST(keys_are_picked_by_name_and_pattern)
{
  start();
  STATUS("revision", "undo_steps");
  expect(0, "revision    0\nundo_steps  0\n", "");
  STATUS("*do_steps", "revision");
  expect(0, "revision    0\nundo_steps  0\nredo_steps  0\n", "");
  STATUS("--json", "late", "revision");
  expect(0, "{\"late\":0,\"revision\":0}\n", "");
  STATUS("late", "revison");
  expect(2, "", "no key 'revison'; did you mean \"revision\"?");
  STATUS("nothing*");
  expect(2, "", "no key 'nothing*'");
  control_rig_stop(&rig);
  STATUS("late");
  expect(3, "", "nobody listens on 127.0.0.1, UDP port");
}
END_TEST

START_TEST(a_host_is_a_name_or_an_address)
{
  start();
  STATUS("--host", "localhost", "late");
  expect(0, "late  0\n", "");
  STATUS("--host", "127.0.0.1", "late");
  expect(0, "late  0\n", "");
  STATUS("--host", "nowhere.invalid", "late");
  expect(3, "", "no machine \"nowhere.invalid\": ");
  control_rig_stop(&rig);
}
END_TEST

SUITE_MAIN("status", keys_and_values_stand_in_columns, keys_are_picked_by_name_and_pattern,
           a_host_is_a_name_or_an_address)
