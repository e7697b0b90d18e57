// SPDX-License-Identifier: GPL-3.0-or-later
// A list of datagrams, whose bytes follow each other in one buffer.  Each has room for the header
// of a bundle before its first message.

#include "outbox.h"

#include "packet_check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define N_DATAGRAMS 64U // in one system call
#define N_BYTES     (128U << 10U)

static const uint8_t header[16] = "#bundle\0\0\0\0\0\0\0\0\1"; // at once

#define SIZE_BYTES   4U
#define PREFIX_BYTES (sizeof(header) + SIZE_BYTES) // before the first message

typedef struct Datagram {
  Peer to;
  int socket;
  uint64_t group;
  size_t at; ///< Of its first byte in Outbox::bytes: the header of a bundle
  uint32_t n_messages;
} Datagram;

struct Outbox {
  uint32_t n;
  size_t n_bytes;
  Datagram datagrams[N_DATAGRAMS];
  struct mmsghdr headers[N_DATAGRAMS];
  struct iovec parts[N_DATAGRAMS];
  PeerControl controls[N_DATAGRAMS];
  uint8_t bytes[N_BYTES];
};

Outbox*
outbox_new(void)
{
  return calloc(1, sizeof(Outbox));
}

void
outbox_free(Outbox* const outbox)
{
  free(outbox);
}

// ---- messages ----

static void
write_u32(uint8_t* const to, const size_t number)
{
  to[0] = (uint8_t)(number >> 24U);
  to[1] = (uint8_t)(number >> 16U);
  to[2] = (uint8_t)(number >> 8U);
  to[3] = (uint8_t)number;
}

/// Append a message behind its size.
static void
append(Outbox* const outbox, const void* const message, const size_t n_bytes)
{
  uint8_t* const to = outbox->bytes + outbox->n_bytes;
  write_u32(to, n_bytes);
  memcpy(to + SIZE_BYTES, message, n_bytes);
  outbox->n_bytes += SIZE_BYTES + n_bytes;
}

static bool
is_same_peer(const Peer* const a, const Peer* const b)
{
  return a->n_bytes == b->n_bytes && memcmp(&a->address, &b->address, a->n_bytes) == 0 &&
         memcmp(&a->local, &b->local, sizeof(a->local)) == 0;
}

bool
outbox_can_extend(const Outbox* const outbox, const Peer* const to, const uint64_t group,
                  const size_t n_bytes)
{
  const Datagram* const newest = outbox->n ? &outbox->datagrams[outbox->n - 1U] : NULL;
  const size_t n_more = SIZE_BYTES + n_bytes;
  return group && newest && newest->group == group &&
         outbox->n_bytes - newest->at + n_more <= OUTBOX_BUNDLE_BYTES &&
         n_more <= N_BYTES - outbox->n_bytes && is_same_peer(&newest->to, to);
}

void
outbox_extend(Outbox* const outbox, const void* const message, const size_t n_bytes)
{
  append(outbox, message, n_bytes);
  ++outbox->datagrams[outbox->n - 1U].n_messages;
}

bool
outbox_add(Outbox* const outbox, const Peer* const to, const int socket, const uint64_t group,
           const void* const message, const size_t n_bytes)
{
  if (outbox->n == N_DATAGRAMS || PREFIX_BYTES + n_bytes > N_BYTES - outbox->n_bytes) {
    return false;
  }
  outbox->datagrams[outbox->n++] = (Datagram){
    .to = *to, .socket = socket, .group = group, .at = outbox->n_bytes, .n_messages = 1
  };
  memcpy(outbox->bytes + outbox->n_bytes, header, sizeof(header));
  outbox->n_bytes += sizeof(header);
  append(outbox, message, n_bytes);
  return true;
}

// ---- datagrams ----

/// Fill in what the kernel needs for one datagram.  The source is the address that the peer has
/// sent to, because a client may accept answers only from that address.
static void
prepare(Outbox* const outbox, const uint32_t d)
{
  Datagram* const datagram = &outbox->datagrams[d];
  const size_t end = d + 1U < outbox->n ? outbox->datagrams[d + 1U].at : outbox->n_bytes;
  const size_t at = datagram->at + (datagram->n_messages == 1U ? PREFIX_BYTES : 0U);
  outbox->parts[d] = (struct iovec){ outbox->bytes + at, end - at };
  outbox->headers[d].msg_hdr =
      (struct msghdr){ .msg_name = &datagram->to.address,
                       .msg_namelen = datagram->to.n_bytes,
                       .msg_iov = &outbox->parts[d],
                       .msg_iovlen = 1,
                       .msg_control = &outbox->controls[d],
                       .msg_controllen = peer_write_local(&datagram->to, &outbox->controls[d]) };
}

/// Number of datagrams from `first` on with the same socket.
static uint32_t
count_run(const Outbox* const outbox, const uint32_t first)
{
  uint32_t n = 1;
  while (first + n < outbox->n &&
         outbox->datagrams[first + n].socket == outbox->datagrams[first].socket) {
    ++n;
  }
  return n;
}

void
outbox_send(Outbox* const outbox, uint64_t* const sent, uint64_t* const failed)
{
  for (uint32_t d = 0; d < outbox->n; ++d) {
    prepare(outbox, d);
  }
  for (uint32_t d = 0; d < outbox->n;) {
    const int n = sendmmsg(outbox->datagrams[d].socket, &outbox->headers[d], count_run(outbox, d),
                           MSG_DONTWAIT | MSG_NOSIGNAL);
    // After an error the kernel has sent none from this one on: it is left out.
    const uint32_t end = d + (n > 0 ? (uint32_t)n : 1U);
    for (uint64_t* const count = n > 0 ? sent : failed; d < end; ++d) {
      *count += outbox->datagrams[d].n_messages;
    }
  }
  outbox->n = 0;
  outbox->n_bytes = 0;
}
