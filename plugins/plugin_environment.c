// SPDX-License-Identifier: GPL-3.0-or-later

#include "plugin_environment.h"

#include "engine/base/child_output.h"

#include <stdlib.h>
#include <unistd.h>

#define MAX_LINES 20U // in LINES_S
#define LINES_S   60U

void
plugin_environment(void)
{
  unsetenv("DISPLAY");
  unsetenv("WAYLAND_DISPLAY");
  setenv("QT_QPA_PLATFORM", "offscreen", 1);
  setenv("LC_ALL", "C.UTF-8", 1);
}

Status
plugin_output_start(Error* const error)
{
  const ChildOutputSetup lines = {
    .who = "a plugin", .begins = "plugin: ", .max_lines = MAX_LINES, .seconds = LINES_S
  };
  ChildOutput* output = NULL; // until the process ends
  int from = -1;
  const Status status = child_output_start(&lines, STDERR_FILENO, &from, &output, error);
  if (!status) {
    dup2(from, STDOUT_FILENO);
    close(from);
  }
  return status;
}
