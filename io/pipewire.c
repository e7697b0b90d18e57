// SPDX-License-Identifier: GPL-3.0-or-later
// Detects PipeWire.  Source for the path of the socket: pipewire(1), environment variables.

#include "pipewire.h"

#include <jack/jack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool
pipewire_is_libjack(void)
{
  const char* const version = jack_get_version_string();
  return version && strstr(version, "PipeWire");
}

static const char*
variable_or(const char* const name, const char* const other)
{
  const char* const value = getenv(name);
  return value && value[0] ? value : other;
}

bool
pipewire_runs(void)
{
  const char* const folder =
      variable_or("PIPEWIRE_RUNTIME_DIR", variable_or("XDG_RUNTIME_DIR", ""));
  const char* const remote = variable_or("PIPEWIRE_REMOTE", "pipewire-0");
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const int length =
      remote[0] == '/'
          ? snprintf(address.sun_path, sizeof(address.sun_path), "%s", remote)
          : snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", folder, remote);
  if (length < 0 || (size_t)length >= sizeof(address.sun_path) || address.sun_path[0] != '/') {
    return false;
  }
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool runs = fd >= 0 && !connect(fd, (struct sockaddr*)&address, sizeof(address));
  if (fd >= 0) {
    close(fd);
  }
  return runs;
}
