// SPDX-License-Identifier: GPL-3.0-or-later
// warprack group: the process of a group of plugins, which a worker starts.

#include "commands.h"

#include "engine/base/process.h"
#include "plugins/group/group.h"

#include <stdio.h>
#include <sys/prctl.h>

static int group_run(int argc, char** argv);

const Command cmd_group = {
  .name = "group",
  .usage = "",
  .summary = "The process of a group of plugins, which a worker starts",
  .run = group_run,
  .may_lose_output = true,
};

static int
group_run(const int argc, char** const argv)
{
  (void)argv;
  if (argc > 1 || !process_has_socket()) {
    fprintf(stderr, PROGRAM_NAME " group: runs the plugins of a group for a " PROGRAM_NAME
                                 " worker, which starts this process itself\n");
    return status_exit_code(STATUS_BAD_ARG);
  }
  prctl(PR_SET_NAME, PROGRAM_NAME "-group"); // the name in ps and top
  return group_main(PROCESS_SOCKET);
}
