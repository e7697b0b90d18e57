// SPDX-License-Identifier: GPL-3.0-or-later
// A scan of the plugins in a child process.

#include "scan_child.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char* const scan_argv[] = { "/proc/self/exe", "scan", NULL };

Status
scan_child_start(ScanChild* const child, Error* const error)
{
  int sockets[2]; // by which the child knows that it is one
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
    return error_set(error, STATUS_NO_MEM, "no socket for the scan of plugins: %s",
                     strerror(errno));
  }
  const Status status = process_start(scan_argv[0], scan_argv, sockets[1], &child->process, error);
  close(sockets[0]);
  close(sockets[1]);
  return status;
}

bool
scan_child_has_ended(ScanChild* const child, Error* const why)
{
  char reason[PROCESS_REASON_BYTES];
  if (!process_has_ended(child->process, reason)) {
    return false;
  }
  const bool is_good = !process_signal(child->process) && !process_exit_code(child->process);
  *why = (Error){ STATUS_OK, "" };
  if (!is_good) {
    error_set(why, STATUS_FILE, "the scan of plugins %s", reason);
  }
  scan_child_stop(child);
  return true;
}

Status
scan_child_run(Error* const error)
{
  ScanChild child = { NULL };
  Error why = { STATUS_OK, "" };
  const Status status = scan_child_start(&child, error);
  if (status) {
    return status;
  }
  struct pollfd end = { .fd = process_fd(child.process), .events = POLLIN };
  while (!scan_child_has_ended(&child, &why)) {
    (void)poll(&end, 1, -1);
  }
  return why.status ? error_set(error, why.status, "%s", why.text) : STATUS_OK;
}

void
scan_child_stop(ScanChild* const child)
{
  process_free(child->process);
  child->process = NULL;
}
