// SPDX-License-Identifier: GPL-3.0-or-later
// The table of commands is complete, and control/OSC.md has the same addresses and error codes.

#include "control/commands.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char*
read_readme(void)
{
  const char* const data = getenv("WARPRACK_TEST_DATA");
  ck_assert_ptr_nonnull(data);
  char path[1024];
  snprintf(path, sizeof(path), "%s/../../control/OSC.md", data);
  FILE* const file = fopen(path, "r");
  ck_assert_msg(file != NULL, "%s", path);
  char* const text = calloc(1, 65536);
  ck_assert_uint_gt(fread(text, 1, 65535, file), 0);
  fclose(file);
  return text;
}

TEST(every_row_can_be_carried_out)
{
  for (uint32_t c = 0; c < n_commands; ++c) {
    const CommandInfo* const info = &command_table[c];
    ck_assert_msg(info->help && (!info->required || info->names), "%s", info->address);
    ck_assert_msg((info->kind == COMMAND_EDIT) == (info->apply != NULL), "%s", info->address);
    ck_assert_msg((info->kind == COMMAND_NOW || info->kind == COMMAND_BEHIND) ==
                      (info->run != NULL),
                  "%s", info->address);
  }
}

TEST(the_readme_lists_every_address)
{
  SCOPED_MEMORY char* const readme = read_readme();
  for (uint32_t c = 0; c < n_commands; ++c) {
    const CommandInfo* const info = &command_table[c];
    char types[32];
    char row[256];
    if (*command_types(info, types, sizeof(types))) {
      snprintf(row, sizeof(row), "| `%s` | `%s` %s | %s |", info->address, types, info->names,
               info->help);
    } else {
      snprintf(row, sizeof(row), "| `%s` | | %s |", info->address, info->help);
    }
    ck_assert_msg(strstr(readme, row) != NULL, "control/OSC.md lacks the row\n%s", row);
  }
}

TEST(the_readme_lists_every_code)
{
  SCOPED_MEMORY char* const readme = read_readme();
  for (int s = 1; s < STATUS_N_STATUSES; ++s) {
    char row[128];
    snprintf(row, sizeof(row), "| %d | %s |", s, status_text((Status)s));
    ck_assert_msg(strstr(readme, row) != NULL, "control/OSC.md lacks the row\n%s", row);
  }
}

SUITE_MAIN("commands")
