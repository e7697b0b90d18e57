// SPDX-License-Identifier: GPL-3.0-or-later
// recvmmsg(2) into a few large buffers, and from there into queues of what the packets really take.

#include "intake.h"

#include "gate.h"
#include "sieve.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BATCH 32U // datagrams per system call
// Then one of those that wait has its turn, however fast more arrive: one of a flood from more
// ports than the table holds takes about 2 us, 256 of them a quarter of a round.
#define PACKETS_AT_ONCE 256U
#define PACKET_BYTES    (GATE_MAX_BYTES + 1U) // one byte tells a packet that is too large

struct Intake {
  int sockets[INTAKE_SOCKETS];
  Allow allow;
  Sources sources;
  uint64_t sieve_until_ns; // when the sieve has to be made anew
  uint64_t packets;
  uint64_t forbidden;
  Peer peers[BATCH];
  struct iovec parts[BATCH];
  struct mmsghdr headers[BATCH];
  uint8_t bytes[BATCH][PACKET_BYTES];
};

Intake*
intake_new(const int sockets[const INTAKE_SOCKETS], const Allow* const allow)
{
  Intake* const intake = calloc(1, sizeof(Intake));
  if (intake) {
    memcpy(intake->sockets, sockets, sizeof(intake->sockets));
    intake->allow = *allow;
    intake->sieve_until_ns = UINT64_MAX;
    for (uint32_t i = 0; i < BATCH; ++i) {
      intake->parts[i] = (struct iovec){ intake->bytes[i], PACKET_BYTES };
    }
  }
  return intake;
}

void
intake_free(Intake* const intake)
{
  if (intake) {
    sources_clear(&intake->sources);
    free(intake);
  }
}

/// Tell the kernel who is shut out from now on.
static void
set_sieve(Intake* const intake, const uint64_t now_ns)
{
  PeerKey keys[SIEVE_MAX];
  const uint32_t n = sources_shut(&intake->sources, now_ns, keys, SIEVE_MAX);
  for (uint32_t s = 0; s < INTAKE_SOCKETS && intake->sockets[s] >= 0; ++s) {
    (void)sieve_set(intake->sockets[s], keys, n); // else their packets are dropped here
  }
  intake->sieve_until_ns = sources_wake_ns(&intake->sources, now_ns);
}

/// One system call; how many packets it brought.
static uint32_t
receive_batch(Intake* const intake, const int socket)
{
  for (uint32_t i = 0; i < BATCH; ++i) {
    intake->headers[i].msg_hdr = (struct msghdr){ .msg_name = &intake->peers[i].address,
                                                  .msg_namelen = sizeof(intake->peers[i].address),
                                                  .msg_iov = &intake->parts[i],
                                                  .msg_iovlen = 1 };
  }
  const int n = recvmmsg(socket, intake->headers, BATCH, MSG_DONTWAIT, NULL);
  return n > 0 ? (uint32_t)n : 0U;
}

/// Sort one packet in; true when the sieve has to be made anew.
static bool
put(Intake* const intake, const uint32_t index, const uint64_t now_ns)
{
  Peer* const peer = &intake->peers[index];
  peer->n_bytes = intake->headers[index].msg_hdr.msg_namelen;
  if (!allow_has(&intake->allow, peer)) {
    ++intake->forbidden;
    return false;
  }
  return sources_put(&intake->sources, peer, now_ns, intake->bytes[index],
                     intake->headers[index].msg_len);
}

static void
empty_socket(Intake* const intake, const int socket, const uint64_t now_ns)
{
  uint32_t n = BATCH;
  for (uint32_t n_all = 0; n == BATCH && n_all < PACKETS_AT_ONCE; n_all += n) {
    n = receive_batch(intake, socket);
    bool is_news = false;
    for (uint32_t i = 0; i < n; ++i) {
      is_news |= put(intake, i, now_ns);
    }
    intake->packets += n;
    if (is_news) {
      set_sieve(intake, now_ns);
    }
  }
}

void
intake_receive(Intake* const intake, const uint64_t now_ns)
{
  if (now_ns >= intake->sieve_until_ns) {
    set_sieve(intake, now_ns);
  }
  for (uint32_t s = 0; s < INTAKE_SOCKETS && intake->sockets[s] >= 0; ++s) {
    empty_socket(intake, intake->sockets[s], now_ns);
  }
}

Parcel*
intake_take(Intake* const intake)
{
  return sources_take(&intake->sources);
}

bool
intake_charge(Intake* const intake, const Peer* const peer, const uint64_t now_ns,
              const uint32_t n_messages)
{
  return sources_charge(&intake->sources, peer, now_ns, n_messages);
}

bool
intake_is_waiting(const Intake* const intake)
{
  return intake->sources.n_parcels > 0;
}

uint64_t
intake_wake_ns(const Intake* const intake)
{
  return intake->sieve_until_ns;
}

IntakeCounts
intake_counts(const Intake* const intake)
{
  uint64_t lost = 0;
  for (uint32_t s = 0; s < INTAKE_SOCKETS && intake->sockets[s] >= 0; ++s) {
    lost += sieve_n_lost(intake->sockets[s]);
  }
  return (IntakeCounts){ .packets = intake->packets,
                         .forbidden = intake->forbidden,
                         .slowed = intake->sources.slowed,
                         .shut_out = intake->sources.shut_out,
                         .lost = lost };
}
