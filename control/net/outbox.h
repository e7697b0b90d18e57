// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Datagrams that wait to be sent, many with one system call, in order.

   Messages of one *group* to one peer share a datagram, as an OSC bundle of at most
   OUTBOX_BUNDLE_BYTES, if no other datagram was added between them.  A bundle that has got one
   message only is sent as that message.  All functions [control].
*/
#ifndef WARPRACK_CONTROL_NET_OUTBOX_H
#define WARPRACK_CONTROL_NET_OUTBOX_H

#include "peer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTBOX_BUNDLE_BYTES 1400U      // fits into a packet of Ethernet, with the headers of IPv6
#define OUTBOX_MAX_BYTES    65507U     // largest datagram
#define OUTBOX_ANY          UINT64_MAX // a group of all messages

typedef struct Outbox Outbox;

/// NULL if out of memory. [main]
Outbox* outbox_new(void);

/// Free the outbox, without sending.  Accepts NULL. [main]
void outbox_free(Outbox* outbox);

/// True if outbox_extend() has room for a message in the newest datagram, which is a bundle of this
/// group (0: none) to this peer.
bool outbox_can_extend(const Outbox* outbox, const Peer* to, uint64_t group, size_t n_bytes);

/// Append a message to the newest datagram.
void outbox_extend(Outbox* outbox, const void* message, size_t n_bytes);

/// Add a datagram with one message, of at most OUTBOX_MAX_BYTES; `group` 0: others cannot follow.
/// Returns false if the outbox must be sent before.
bool outbox_add(Outbox* outbox, const Peer* to, int socket, uint64_t group, const void* message,
                size_t n_bytes);

/// Send all datagrams without waiting, and add the numbers of messages sent and refused.
void outbox_send(Outbox* outbox, uint64_t* sent, uint64_t* failed);

#endif
