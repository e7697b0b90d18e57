// SPDX-License-Identifier: GPL-3.0-or-later
/// Sends messages from the server's socket, and limits the size of answers to other machines.
#ifndef WARPRACK_CONTROL_NET_OUTLET_H
#define WARPRACK_CONTROL_NET_OUTLET_H

#include "message.h"
#include "own.h"
#include "peer.h"

#include <lo/lo.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Outlet {
  int socket;
  int loopback;         ///< Bound to 127.0.0.1 if `socket` is bound to another address; else -1
  PeerKey own;          ///< Address that `socket` is bound to, perhaps the unspecified one
  OwnAddresses machine; ///< Those of all interfaces
  uint64_t sent;        ///< Datagrams handed to the kernel
  uint64_t withheld;    ///< Answers larger than a stranger's request, or to the server itself
  uint64_t failed;      ///< Datagrams that the kernel did not take, or that could not be made
} Outlet;

/// Add arguments to a message: `types` is of i (int32_t), h (int64_t), f (double) and s (const
/// char*).  Out of memory, now or before, `*arguments` is NULL: outlet_send() then counts it, so
/// that no message is sent with arguments missing.
void outlet_add(lo_message* arguments, const char* types, ...);

/**
   Send one message; never waits.

   A sender's address can be forged, so a stranger gets no answer that is larger than its request:
   otherwise the server would amplify an attack on somebody else.  Loopback and the addresses of
   this machine cannot be forged from outside.  The server sends nothing to its own address, because
   it would receive that packet.

   @param request_bytes Size of the message that is being answered, less that of answers to it that
   have been sent.
   @param arguments Given away; NULL (out of memory) counts as failed.
   @return Size of the answer, 0 when it was not sent.
*/
size_t outlet_send(Outlet* outlet, const Peer* to, size_t request_bytes, const char* address,
                   lo_message arguments);

/// `/done address`, and for an edit its revision and first frame.
void outlet_done(Outlet* outlet, const Peer* to, const char* address, size_t request_bytes);
void outlet_done_edit(Outlet* outlet, const Peer* to, const Message* message, uint32_t revision,
                      uint64_t frame);

/// `/fail address code text`.
void outlet_fail(Outlet* outlet, const Peer* to, size_t request_bytes, const char* address,
                 const Error* error);

#endif
