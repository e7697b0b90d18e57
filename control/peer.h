// SPDX-License-Identifier: GPL-3.0-or-later
/// Who sent a packet: a UDP address and port.
#ifndef WARPRACK_CONTROL_PEER_H
#define WARPRACK_CONTROL_PEER_H

#include <stdbool.h>
#include <sys/socket.h>

typedef struct Peer {
  struct sockaddr_storage address;
  socklen_t n_bytes;
} Peer;

/// Same address and same port. [any]
bool peer_equal(const Peer* a, const Peer* b);

/// 127.0.0.0/8, ::1, or the former inside the latter (::ffff:127.x.x.x). [any]
bool peer_is_loopback(const Peer* peer);

#endif
