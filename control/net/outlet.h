// SPDX-License-Identifier: GPL-3.0-or-later
/// Sends messages from the server's socket or over the client's connection, and limits the size of
/// answers to other machines.
#ifndef WARPRACK_CONTROL_NET_OUTLET_H
#define WARPRACK_CONTROL_NET_OUTLET_H

#include "message.h"
#include "outbox.h"
#include "own.h"
#include "peer.h"
#include "streams.h"
#include "trust.h"

#include <lo/lo.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Outlet {
  int socket;
  int loopback;         ///< Bound to 127.0.0.1 if `socket` is bound to another address; else -1
  PeerKey own;          ///< Address that `socket` is bound to; may be the unspecified address
  OwnAddresses machine; ///< Addresses of all interfaces
  Trust trust;          ///< Other machines that have proved their addresses
  Streams* streams;     ///< Connections; borrowed
  Outbox* outbox;       ///< Datagrams wait here for outlet_flush(); owned by the caller
  uint64_t group;    ///< Of the messages that follow, see outbox.h; 0: each is a datagram.  Those
                     ///< to strangers always are, because their size is limited one by one
  uint64_t sent;     ///< Messages sent
  uint64_t withheld; ///< Answers to strangers that are larger than the request, and answers to
                     ///< the server itself
  uint64_t failed;   ///< Messages that the kernel refused, that a connection had no room for, or
                     ///< that could not be made
} Outlet;

/// Add arguments to a message.  `types` consists of i (int32_t), h (int64_t), f (double) and s
/// (const char*).  If out of memory, now or before, `*arguments` becomes NULL, and outlet_send()
/// counts a failure instead of sending an incomplete message.
void outlet_add(lo_message* arguments, const char* types, ...);

/// Give a peer that has not sent anything the form in which the sockets can send to it.  Returns
/// false if they cannot: it has an address of another family, or the only socket is bound to
/// loopback.
bool outlet_reaches(Outlet* outlet, Peer* peer);

/// True if a packet from this address was not forged: other machines cannot forge the addresses of
/// this machine and of a connection, and a machine in `trust` has proved its address.  Any other
/// peer is a stranger.
bool outlet_trusts(Outlet* outlet, const Peer* peer);

/// Fail with a reason if a peer may have no settings: a stranger, because another client would get,
/// or miss, its messages; or a peer whose connection has ended before this packet had its turn,
/// because nothing would end the settings.
NODISCARD Status outlet_check_trust(Outlet* outlet, const Peer* peer, Error* error);

/**
   Send one message over a connection, or queue it for outlet_flush(); never waits.

   A sender's address can be forged.  An answer to a stranger is therefore not larger than the
   request, because the server would otherwise amplify attacks on third machines.  The server sends
   nothing to its own address, because it would receive that packet.

   @param request_bytes Size of the message to answer, less the size of the answers to it that were
   sent before.
   @param arguments Takes ownership; NULL (out of memory) counts as failed.
   @return Size of the answer in bytes; 0 if it was not sent.
*/
size_t outlet_send(Outlet* outlet, const Peer* to, size_t request_bytes, const char* address,
                   lo_message arguments);

/// Send the datagrams that wait.
void outlet_flush(Outlet* outlet);

/// Send `/done address`, for an edit with its revision and first frame, and with the file that it
/// has written (NULL: none).
void outlet_done(Outlet* outlet, const Peer* to, const char* address, size_t request_bytes);
void outlet_done_edit(Outlet* outlet, const Peer* to, const Message* message, uint32_t revision,
                      uint64_t frame, const char* file);

/// Send `/fail address code text`.
void outlet_fail(Outlet* outlet, const Peer* to, size_t request_bytes, const char* address,
                 const Error* error);

/// The address at which this machine reaches the server.  May be the unspecified address, which
/// Linux connects to loopback.
Peer outlet_own_peer(const Outlet* outlet);

#endif
