// SPDX-License-Identifier: GPL-3.0-or-later
// Answers: liblo encodes them, except the most frequent one; they are sent from the server's
// socket, or over a connection.

#include "outlet.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int
add_argument(const lo_message arguments, const char type, va_list* const values)
{
  switch (type) {
  case 'i':
    return lo_message_add_int32(arguments, va_arg(*values, int32_t));
  case 'h':
    return lo_message_add_int64(arguments, va_arg(*values, int64_t));
  case 'f':
    return lo_message_add_float(arguments, (float)va_arg(*values, double));
  default:
    return lo_message_add_string(arguments, va_arg(*values, const char*));
  }
}

void
outlet_add(lo_message* const arguments, const char* types, ...)
{
  va_list values;
  va_start(values, types);
  for (; *arguments && *types; ++types) {
    if (add_argument(*arguments, *types, &values)) {
      lo_message_free(*arguments);
      *arguments = NULL;
    }
  }
  va_end(values);
}

/// True if the server itself would receive packets sent to this peer.
static bool
is_own(Outlet* const outlet, const Peer* const to)
{
  const PeerKey* const own = &outlet->own;
  const PeerKey key = peer_key(to);
  if (!own->is_ip || to->connection || key.port != own->port) {
    return false;
  }
  if (outlet->loopback >= 0 && peer_is_loopback(to)) {
    return true;
  }
  return peer_key_is_any(own) ? own_has(&outlet->machine, to) : peer_key_equal(&key, own);
}

/// The socket that the peer has sent to.
static int
socket_to(const Outlet* const outlet, const Peer* const to)
{
  const bool is_loopback = to->address.ss_family == AF_INET && peer_is_loopback(to);
  return outlet->loopback >= 0 && is_loopback ? outlet->loopback : outlet->socket;
}

bool
outlet_reaches(Outlet* const outlet, Peer* const peer)
{
  const Peer own = peer_bound(outlet->socket);
  if (outlet->loopback >= 0 && socket_to(outlet, peer) == outlet->loopback) {
    return true;
  }
  return peer_fit(peer, &own) && (!peer_is_loopback(&own) || own_has(&outlet->machine, peer));
}

bool
outlet_trusts(Outlet* const outlet, const Peer* const peer)
{
  return peer->connection || trust_has(&outlet->trust, peer) || own_has(&outlet->machine, peer);
}

Status
outlet_check_trust(Outlet* const outlet, const Peer* const peer, Error* const error)
{
  if (peer->connection && !streams_has(outlet->streams, peer)) {
    return error_set(error, STATUS_NET, "the connection has ended");
  }
  return outlet_trusts(outlet, peer)
             ? STATUS_OK
             : error_set(error, STATUS_BAD_ARG,
                         "this machine has not proved its address: send /server/hello");
}

static bool
may_be_sent(Outlet* const outlet, const Peer* const to, const size_t request_bytes,
            const size_t answer_bytes)
{
  const bool may_reach = answer_bytes <= request_bytes || outlet_trusts(outlet, to);
  return may_reach && !is_own(outlet, to);
}

/// Send a datagram, or queue it.
static void
send_datagram(Outlet* const outlet, const Peer* const to, const void* const packet,
              const size_t n_bytes)
{
  Outbox* const outbox = outlet->outbox;
  const uint64_t group = outlet->group && outlet_trusts(outlet, to) ? outlet->group : 0U;
  const int socket = socket_to(outlet, to);
  if (!outbox_add(outbox, to, socket, group, packet, n_bytes)) {
    outlet_flush(outlet);
    (void)outbox_add(outbox, to, socket, group, packet, n_bytes); // it is empty
  }
}

/// Send a packet, or queue it.  Returns its size, 0 if it was not sent.
static size_t
send_packet(Outlet* const outlet, const Peer* const to, const size_t request_bytes,
            const void* const packet, const size_t n_bytes)
{
  if (!to->connection && outbox_can_extend(outlet->outbox, to, outlet->group, n_bytes)) {
    outbox_extend(outlet->outbox, packet, n_bytes);
  } else if (!may_be_sent(outlet, to, request_bytes, n_bytes)) {
    ++outlet->withheld;
    return 0;
  } else if (!to->connection && n_bytes <= OUTBOX_MAX_BYTES) {
    send_datagram(outlet, to, packet, n_bytes);
  } else if (!to->connection || !streams_send(outlet->streams, to, packet, n_bytes)) {
    ++outlet->failed;
    return 0;
  } else {
    ++outlet->sent;
  }
  return n_bytes;
}

void
outlet_flush(Outlet* const outlet)
{
  outbox_send(outlet->outbox, &outlet->sent, &outlet->failed);
}

size_t
outlet_send(Outlet* const outlet, const Peer* const to, const size_t request_bytes,
            const char* const address, const lo_message arguments)
{
  size_t n_bytes = 0;
  void* const packet = arguments ? lo_message_serialise(arguments, address, NULL, &n_bytes) : NULL;
  const size_t n_sent = packet ? send_packet(outlet, to, request_bytes, packet, n_bytes) : 0U;
  outlet->failed += !packet;
  free(packet);
  if (arguments) {
    lo_message_free(arguments);
  }
  return n_sent;
}

void
outlet_done(Outlet* const outlet, const Peer* const to, const char* const address,
            const size_t request_bytes)
{
  static const char head[12] = "/done\0\0\0,s\0";
  uint8_t packet[sizeof(head) + PACKET_MAX_ADDRESS + 1U];
  const size_t n_text = strnlen(address, PACKET_MAX_ADDRESS);
  const size_t n_padded = (n_text + 4U) & ~(size_t)3U;
  memcpy(packet, head, sizeof(head));
  memset(packet + sizeof(head) + n_padded - 4U, 0, 4);
  memcpy(packet + sizeof(head), address, n_text);
  send_packet(outlet, to, request_bytes, packet, sizeof(head) + n_padded);
}

void
outlet_done_edit(Outlet* const outlet, const Peer* const to, const Message* const message,
                 const uint32_t revision, const uint64_t frame, const char* const file)
{
  lo_message answer = lo_message_new();
  outlet_add(&answer, "sih", message->address, (int32_t)revision, (int64_t)frame);
  if (file) {
    outlet_add(&answer, "s", file);
  }
  outlet_send(outlet, to, message->n_bytes, "/done", answer);
}

void
outlet_fail(Outlet* const outlet, const Peer* const to, const size_t request_bytes,
            const char* const address, const Error* const error)
{
  lo_message answer = lo_message_new();
  outlet_add(&answer, "sis", address, (int32_t)error->status, error->text);
  outlet_send(outlet, to, request_bytes, "/fail", answer);
}

Peer
outlet_own_peer(const Outlet* const outlet)
{
  return peer_bound(outlet->loopback >= 0 ? outlet->loopback : outlet->socket);
}
