// SPDX-License-Identifier: GPL-3.0-or-later
// Answers: coded by liblo, sent through our own socket.

#include "outlet.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/// True when the server itself would receive what is sent to this peer.
static bool
is_own(Outlet* const outlet, const Peer* const to)
{
  const PeerKey* const own = &outlet->own;
  const PeerKey key = peer_key(to);
  if (!own->is_ip || key.port != own->port) {
    return false;
  }
  if (outlet->loopback >= 0 && peer_is_loopback(to)) {
    return true;
  }
  return peer_key_is_any(own) ? own_has(&outlet->machine, to) : peer_key_equal(&key, own);
}

/// The one that the peer has sent to.
static int
socket_to(const Outlet* const outlet, const Peer* const to)
{
  const bool is_loopback = to->address.ss_family == AF_INET && peer_is_loopback(to);
  return outlet->loopback >= 0 && is_loopback ? outlet->loopback : outlet->socket;
}

static bool
may_be_sent(Outlet* const outlet, const Peer* const to, const size_t request_bytes,
            const size_t answer_bytes)
{
  // The kernel drops packets of other machines that say to come from an address of this one.
  const bool may_reach = answer_bytes <= request_bytes || own_has(&outlet->machine, to);
  return may_reach && !is_own(outlet, to);
}

size_t
outlet_send(Outlet* const outlet, const Peer* const to, const size_t request_bytes,
            const char* const address, const lo_message arguments)
{
  size_t n_bytes = 0;
  size_t n_sent = 0;
  void* const packet = arguments ? lo_message_serialise(arguments, address, NULL, &n_bytes) : NULL;
  if (!packet) {
    ++outlet->failed;
  } else if (!may_be_sent(outlet, to, request_bytes, n_bytes)) {
    ++outlet->withheld;
  } else if (sendto(socket_to(outlet, to), packet, n_bytes, MSG_DONTWAIT | MSG_NOSIGNAL,
                    (const struct sockaddr*)&to->address, to->n_bytes) < 0) {
    ++outlet->failed;
  } else {
    ++outlet->sent;
    n_sent = n_bytes;
  }
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
  const lo_message answer = lo_message_new();
  if (answer) {
    lo_message_add_string(answer, address);
  }
  outlet_send(outlet, to, request_bytes, "/done", answer);
}

void
outlet_done_edit(Outlet* const outlet, const Peer* const to, const Message* const message,
                 const uint32_t revision, const uint64_t frame)
{
  const lo_message answer = lo_message_new();
  if (answer) {
    lo_message_add_string(answer, message->address);
    lo_message_add_int32(answer, (int32_t)revision);
    lo_message_add_int64(answer, (int64_t)frame);
  }
  outlet_send(outlet, to, message->n_bytes, "/done", answer);
}

void
outlet_fail(Outlet* const outlet, const Peer* const to, const size_t request_bytes,
            const char* const address, const Error* const error)
{
  const lo_message answer = lo_message_new();
  if (answer) {
    lo_message_add_string(answer, address);
    lo_message_add_int32(answer, (int32_t)error->status);
    lo_message_add_string(answer, error->text);
  }
  outlet_send(outlet, to, request_bytes, "/fail", answer);
}
