// SPDX-License-Identifier: GPL-3.0-or-later
// Passes racks to the program, and its lines to the client.

#include "checks.h"

#include "control_private.h"

#include <stdlib.h>
#include <string.h>

#define ADDRESS "/rack/check"

Status
query_check(Control* const control, const Peer* const peer, Message* const message,
            Error* const error)
{
  const ControlChecks* const checks = control->config.checks;
  if (outlet_check_trust(&control->outlet, peer, error)) {
    return error->status;
  }
  if (!checks) {
    return error_set(error, STATUS_NO_BACKEND, "this server checks no racks");
  }
  const char* const text =
      message_n_arguments(message) ? message_text(message, 0) : control_rack_text(control);
  const Status status = text ? checks->begin(control->config.context, text, error)
                             : error_set(error, STATUS_NO_MEM, "out of memory");
  if (!status) {
    control->check = (RackCheck){ true, *peer };
  }
  return status; // STATUS_OK: the answer follows when the check has ended
}

/// Add the value of a line.  The line has run through a process with plugins: it may be anything.
static void
add_line(lo_message* const to, char* const line)
{
  char* rest = line;
  const char* const key = strsep(&rest, "\t");
  const char* const type = rest ? strsep(&rest, "\t") : "";
  if (!rest || !*key || strlen(type) != 1U) {
    return;
  }
  switch (*type) {
  case 'h':
    outlet_add(to, "sh", key, (int64_t)strtoll(rest, NULL, 10));
    break;
  case 'f':
    outlet_add(to, "sf", key, strtod(rest, NULL));
    break;
  case 's':
    outlet_add(to, "ss", key, rest);
    break;
  default:
    break;
  }
}

void
checks_run(Control* const control)
{
  const ControlChecks* const checks = control->config.checks;
  RackCheck* const check = &control->check;
  char* lines = NULL;
  Error why;
  if (!check->runs || !checks->take(control->config.context, &lines, &why)) {
    return;
  }
  check->runs = false;
  if (!lines) {
    outlet_fail(&control->outlet, &check->peer, 0, ADDRESS, &why);
    return;
  }
  lo_message arguments = lo_message_new();
  char* rest = lines;
  for (char* line = NULL; (line = strsep(&rest, "\n"));) {
    add_line(&arguments, line);
  }
  outlet_send(&control->outlet, &check->peer, 0, ADDRESS, arguments);
  free(lines);
}
