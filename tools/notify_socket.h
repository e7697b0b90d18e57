// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Tells a service manager how things are: the protocol of sd_notify(3), one datagram per message
   to the socket that NOTIFY_SOCKET names.  Without a manager all of it does nothing.

   Never waits: a message that the manager's socket cannot take now is lost, but the next one of
   its kind says the same.
*/
#ifndef WARPRACK_TOOLS_NOTIFY_SOCKET_H
#define WARPRACK_TOOLS_NOTIFY_SOCKET_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

typedef struct NotifySocket {
  int fd; ///< -1: no service manager
  struct sockaddr_un address;
  socklen_t n_bytes;    ///< Of the address
  uint64_t watchdog_ns; ///< The manager waits so long for a sign of life; 0: for ever
  char status[256];     ///< As it was said last
  uint64_t status_ns;   ///< When
  int lost_errno;       ///< Why the last message could not be sent, 0 when it was
} NotifySocket;

/// Read the variables of the environment and remove them: they are not for child processes.
/// STATUS_NET when there is a manager that cannot be reached. [main]
NODISCARD Status notify_socket_open(NotifySocket* notify, Error* error);

void notify_socket_close(NotifySocket* notify);

/// Send assignments, one per line: "READY=1\nSTATUS=…". False when it could not be sent. [main]
bool notify_socket_send(NotifySocket* notify, const char* assignments);

/// Send STATUS= when `text` is new, once a second at most; call it again until it is. [main]
void notify_socket_status(NotifySocket* notify, const char* text, uint64_t now_ns);

#endif
