// SPDX-License-Identifier: GPL-3.0-or-later
/**
   TCP connections: OSC packets over TCP, on the same port number as over UDP.

       listeners ──▶ allow ──▶ connections ──▶ senders ──▶ turns
                                    ▲
                     answers: outlet┘

   Each connection is a sender of its own, and answers have its framing (framing.h).  A client that
   has connected cannot have forged its address.

   Nothing here waits.  The server reads no further from a connection while STREAM_QUEUE_BYTES of
   its packets wait for their turns, or half of its output buffer is in use; in that case its
   packets get no turns either (streams_is_full()).  Then TCP stops the client.  A client that does
   not read is disconnected after STREAM_LIMIT_NS, and so is one that begins a packet and does not
   end it.  A client that has shut down its side of the connection still gets answers for that time;
   its place is free for another client.  All functions [control], except where another thread is
   named.
*/
#ifndef WARPRACK_CONTROL_NET_STREAMS_H
#define WARPRACK_CONTROL_NET_STREAMS_H

#include "allow.h"
#include "framing.h"
#include "peer.h"
#include "senders.h"
#include "watch.h"

#include "engine/base/time.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAMS_MAX         32U
#define STREAMS_PER_MACHINE 8U // peer_machine(); so that one leaves places for others
#define STREAMS_LISTENERS   2U
#define STREAMS_POLLED      (STREAMS_LISTENERS + STREAMS_MAX)
#define STREAM_OUT_BYTES    (256U << 10U) // any packet in any framing, or 32 parts of a text
#define STREAM_QUEUE_BYTES  (128U << 10U) // as counted by senders.h
#define STREAM_LIMIT_NS     (10U * NS_PER_S)

/// One connection.
typedef struct Stream {
  struct StreamBuffers* buffers; ///< NULL: it is not open, and `fd` is not valid
  int fd;
  Peer peer;         ///< With the number of the connection; 0: the entry is free
  bool has_ended;    ///< The client sends no more ...
  uint64_t ended_ns; ///< ... since this time
  uint64_t begun_ns; ///< Time at which the incomplete packet began; 0: there is none
  uint64_t waits_ns; ///< Time since which output waits for the client; 0: none does
  size_t out_begin;  ///< Where the output begins in its buffer ...
  size_t n_out;      ///< ... and its size
} Stream;

/// Called when a connection has ended and its number will not be used again.
typedef void (*StreamClosed)(void* context, const Peer* peer);

typedef struct Streams {
  int listeners[STREAMS_LISTENERS]; ///< Owned; -1: none
  Stream items[STREAMS_MAX];
  const Allow* allow; ///< Borrowed
  Watch* watch;       ///< Of connections that are refused or too slow; borrowed
  StreamClosed closed;
  void* context;
  uint64_t serial;    ///< Connections so far
  uint64_t now_ns;    ///< Time of the last call with a time
  uint64_t accept_ns; ///< No connection is accepted before, because the system has refused one
  uint64_t packets;   ///< Number of packets received
  uint64_t forbidden; ///< Connections of senders that are not allowed
  uint64_t refused;   ///< Connections without a place, and those with an invalid framing
  uint64_t slow;      ///< Connections that were closed because the client was too slow
} Streams;

/// Initialise without listeners.  `allow` and `watch` are borrowed. [main]
void streams_init(Streams* streams, const Allow* allow, Watch* watch, StreamClosed closed,
                  void* context);

/// Close all connections and listeners, without calling StreamClosed. [main]
void streams_clear(Streams* streams);

/// Open a TCP listener with the address and the port of `at`.  Returns -1 with errno on failure.
/// [main]
int streams_listen(const Peer* at);

/// Before ppoll(2): send what can be sent, and fill in what to wait for.  Returns the number of
/// elements of `fds` that are used.
uint32_t streams_prepare(Streams* streams, Senders* senders, uint64_t now_ns,
                         struct pollfd fds[STREAMS_POLLED]);

/// After ppoll(2), with the same `fds`: accept connections, move packets to the queues of their
/// senders, and close connections that have ended.
void streams_serve(Streams* streams, Senders* senders, uint64_t now_ns,
                   const struct pollfd fds[STREAMS_POLLED]);

/// Send a packet.  Returns false if the connection has ended or its output buffer is full; then
/// nothing of the packet is sent.
bool streams_send(Streams* streams, const Peer* to, const void* packet, size_t n_bytes);

/// True if half of the output buffer of the peer's connection is in use.  False for a connection
/// that has ended, and for a UDP peer.
bool streams_is_full(Streams* streams, const Peer* peer);

/// Close the connection of a subscriber that has no room for news, because it would go on with old
/// values.  Does nothing if the connection has ended, or for a UDP peer.
void streams_close_slow(Streams* streams, const Peer* peer);

/// True if the peer's connection is open: StreamClosed will be called for it.
bool streams_has(Streams* streams, const Peer* peer);

/// Number of open connections.
uint32_t streams_count(const Streams* streams);

#endif
