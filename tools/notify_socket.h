// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reports the state to a service manager: the protocol of sd_notify(3), one datagram per message
   to the socket in NOTIFY_SOCKET.  Without a manager these functions do nothing.

   They never wait.  If the manager's socket is full, a message is lost; the next message of its
   kind has the same information.
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
  uint64_t watchdog_ns; ///< The manager's limit between keep-alive messages; 0: none
  char status[256];     ///< Text of the last STATUS=
  uint64_t status_ns;   ///< Time of the last STATUS=
  int lost_errno;       ///< Error of the last message; 0: it was sent
} NotifySocket;

/// Read the variables of the environment and remove them, so that child processes do not get them.
/// STATUS_NET if there is a manager that cannot be reached. [main]
NODISCARD Status notify_socket_open(NotifySocket* notify, Error* error);

void notify_socket_close(NotifySocket* notify);

/// Send assignments, one per line: "READY=1\nSTATUS=…".  Returns false if they could not be sent.
/// [main]
bool notify_socket_send(NotifySocket* notify, const char* assignments);

/// Send STATUS= if `text` is new, at most once a second; call it again until it is sent. [main]
void notify_socket_status(NotifySocket* notify, const char* text, uint64_t now_ns);

#endif
