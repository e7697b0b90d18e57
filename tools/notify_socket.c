// SPDX-License-Identifier: GPL-3.0-or-later
// The protocol of sd_notify(3).

#include "notify_socket.h"

#include "engine/base/text.h"
#include "engine/base/time.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATUS_INTERVAL_NS NS_PER_S

/// Read an address: a path, or "@" and the name of an abstract socket.
static bool
read_address(NotifySocket* const notify, const char* const name)
{
  const size_t length = strlen(name);
  if ((name[0] != '/' && name[0] != '@') || length >= sizeof(notify->address.sun_path)) {
    return false;
  }
  notify->address.sun_family = AF_UNIX;
  memcpy(notify->address.sun_path, name, length + 1U);
  if (name[0] == '@') {
    notify->address.sun_path[0] = '\0';
  }
  notify->n_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
  return true;
}

/// Read WATCHDOG_USEC, unless WATCHDOG_PID names another process.
static uint64_t
read_watchdog_ns(void)
{
  const char* const usec = getenv("WATCHDOG_USEC");
  const char* const pid = getenv("WATCHDOG_PID");
  const bool is_ours = usec && (!pid || strtol(pid, NULL, 10) == (long)getpid());
  const unsigned long long value = is_ours ? strtoull(usec, NULL, 10) : 0U;
  return value < UINT64_MAX / NS_PER_US ? value * NS_PER_US : 0U;
}

Status
notify_socket_open(NotifySocket* const notify, Error* const error)
{
  *notify = (NotifySocket){ .fd = -1 };
  const char* const name = getenv("NOTIFY_SOCKET");
  Status status = STATUS_OK;
  if (name && !read_address(notify, name)) {
    status = error_set(error, STATUS_NET, "NOTIFY_SOCKET=%.100s is no socket", name);
  } else if (name) {
    notify->watchdog_ns = read_watchdog_ns();
    notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (notify->fd < 0) {
      status = error_set(error, STATUS_NET, "NOTIFY_SOCKET: %s", strerror(errno));
    }
  }
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  unsetenv("WATCHDOG_PID");
  return status;
}

void
notify_socket_close(NotifySocket* const notify)
{
  if (notify->fd >= 0) {
    close(notify->fd);
  }
  notify->fd = -1;
}

bool
notify_socket_send(NotifySocket* const notify, const char* const assignments)
{
  if (notify->fd < 0) {
    return false;
  }
  const size_t n_bytes = strlen(assignments);
  const bool sent = sendto(notify->fd, assignments, n_bytes, MSG_NOSIGNAL,
                           (const struct sockaddr*)&notify->address, notify->n_bytes) >= 0;
  notify->lost_errno = sent ? 0 : errno;
  return sent;
}

void
notify_socket_status(NotifySocket* const notify, const char* const text, const uint64_t now_ns)
{
  const bool is_early = notify->status_ns && now_ns - notify->status_ns < STATUS_INTERVAL_NS;
  if (notify->fd < 0 || is_early || !strcmp(notify->status, text)) {
    return;
  }
  char line[sizeof("STATUS=") + sizeof(notify->status)];
  snprintf(notify->status, sizeof(notify->status), "%s", text);
  snprintf(line, sizeof(line), "STATUS=%s", notify->status);
  text_make_printable(line); // without newlines, which would begin another assignment
  notify_socket_send(notify, line);
  notify->status_ns = now_ns;
}
