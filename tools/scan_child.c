// SPDX-License-Identifier: GPL-3.0-or-later
// A scan of the plugins in a child process, which sends the catalogue as sealed memory.

#include "scan_child.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

Status
scan_child_answer(const Catalogue* const catalogue, Error* const error)
{
  size_t n_bytes = 0;
  const char* const text = catalogue_text(catalogue, &n_bytes);
  return child_mail_send(PROCESS_SOCKET, text, n_bytes, error);
}

bool
scan_child_has_ended(ChildMail* const child, Catalogue** const out, Error* const why)
{
  char* text = NULL;
  size_t n_bytes = 0;
  if (!child_mail_has_ended(child, "the scan of plugins", CATALOGUE_MAX_BYTES, &text, &n_bytes,
                            why)) {
    return false;
  }
  if (!text || catalogue_new(text, n_bytes, out, why)) {
    *out = NULL;
  }
  return true;
}

/// A descriptor that is readable once SIGINT or SIGTERM waits, which this process blocks.
static int
watch_signals(void)
{
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  return signalfd(-1, &ends, SFD_CLOEXEC);
}

Status
scan_child_run(Catalogue** const out, Error* const error)
{
  ChildMail child = { NULL };
  const Status status = child_mail_start(&child, "scan", error);
  if (status) {
    return status;
  }
  struct pollfd events[] = { { .fd = process_fd(child.process), .events = POLLIN },
                             { .fd = watch_signals(), .events = POLLIN } };
  Error why = { STATUS_OK, "" };
  *out = NULL;
  while (!why.status && !scan_child_has_ended(&child, out, &why) && !why.status) {
    (void)poll(events, ARRAY_LEN(events), -1);
    if (events[1].revents & POLLIN) {
      error_set(&why, STATUS_WORKER, "the scan of plugins was interrupted");
    }
  }
  close(events[1].fd);
  child_mail_stop(&child);
  return *out ? STATUS_OK : error_set(error, why.status, "%s", why.text);
}
