// SPDX-License-Identifier: GPL-3.0-or-later
// Receives packets with recvmmsg(2) into a few large buffers, and copies each packet to a queue
// entry of its size.

#include "intake.h"

#include "packet_check.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#define N_DATAGRAMS 32 // datagrams per system call
// Limit for one socket, so that a flood of packets does not delay the turns.  Queueing one packet
// takes about 1 us.
#define PACKETS_AT_ONCE 256
// Calls that find a few packets each, one soon after the other, before the thread pauses.  A full
// batch shows a flood, which could fill the socket's buffer during a pause.
#define N_QUICK      8U
#define PACKET_BYTES (PACKET_MAX_BYTES + 1U) // one more byte, to detect a larger packet

struct IntakeBuffers {
  Peer peers[N_DATAGRAMS];
  PeerControl controls[N_DATAGRAMS];
  struct iovec parts[N_DATAGRAMS];
  struct mmsghdr headers[N_DATAGRAMS];
  uint8_t bytes[N_DATAGRAMS][PACKET_BYTES];
};

/// Make one system call.  Returns the number of packets received, or -1.
static int
receive_datagrams(const Intake* const intake, const int socket)
{
  struct IntakeBuffers* const buffers = intake->buffers;
  for (int i = 0; i < N_DATAGRAMS; ++i) {
    buffers->parts[i] = (struct iovec){ buffers->bytes[i], PACKET_BYTES };
    buffers->headers[i].msg_hdr = (struct msghdr){ .msg_name = &buffers->peers[i].address,
                                                   .msg_namelen = sizeof(buffers->peers[i].address),
                                                   .msg_iov = &buffers->parts[i],
                                                   .msg_iovlen = 1,
                                                   .msg_control = &buffers->controls[i],
                                                   .msg_controllen = sizeof(PeerControl) };
  }
  return recvmmsg(socket, buffers->headers, N_DATAGRAMS, MSG_DONTWAIT, NULL);
}

static void
put(Intake* const intake, const uint32_t index, const uint64_t now_ns)
{
  struct IntakeBuffers* const buffers = intake->buffers;
  Peer* const peer = &buffers->peers[index];
  peer->n_bytes = buffers->headers[index].msg_hdr.msg_namelen;
  peer_read_local(peer, &buffers->headers[index].msg_hdr);
  ++intake->packets;
  if (allow_has(&intake->allow, peer)) {
    senders_put(&intake->senders, peer, now_ns, buffers->bytes[index],
                buffers->headers[index].msg_len);
  } else {
    ++intake->forbidden;
    const WatchNote note = { .verdict = WATCH_FORBIDDEN,
                             .address = (const char*)buffers->bytes[index],
                             .n_address_bytes = buffers->headers[index].msg_len,
                             .n_messages = 1,
                             .reason = "--osc-allow does not list this machine" };
    watch_note(&intake->watch, now_ns, peer, &note);
  }
}

/// Receive packets and queue them.  Returns the number received, or -1.
static int
put_datagrams(Intake* const intake, const int socket, const uint64_t now_ns)
{
  const int n = receive_datagrams(intake, socket);
  for (int i = 0; i < n; ++i) {
    put(intake, (uint32_t)i, now_ns);
  }
  return n;
}

static void
empty_socket(Intake* const intake, const int socket, const uint64_t now_ns)
{
  int n = N_DATAGRAMS;
  for (int n_all = 0; n == N_DATAGRAMS && n_all < PACKETS_AT_ONCE; n_all += N_DATAGRAMS) {
    n = put_datagrams(intake, socket, now_ns);
  }
}

void
intake_receive(Intake* const intake, const uint64_t now_ns)
{
  const uint64_t n_before = intake->packets;
  for (uint32_t s = 0; s < INTAKE_SOCKETS && intake->sockets[s] >= 0; ++s) {
    empty_socket(intake, intake->sockets[s], now_ns);
  }
  const uint64_t n = intake->packets - n_before;
  const bool is_quick =
      n && n < N_DATAGRAMS && now_ns - intake->received_ns < 2U * INTAKE_INTERVAL_NS;
  intake->n_quick = is_quick ? intake->n_quick + 1U : 0U;
  intake->received_ns = now_ns;
}

uint64_t
intake_next_ns(const Intake* const intake)
{
  return intake->n_quick >= N_QUICK ? intake->received_ns + INTAKE_INTERVAL_NS : 0U;
}

bool
intake_is_due(const Intake* const intake, const uint64_t now_ns)
{
  return now_ns - intake->received_ns >= INTAKE_INTERVAL_NS;
}

Status
intake_init(Intake* const intake, const int sockets[const INTAKE_SOCKETS], const Allow* const allow,
            Error* const error)
{
  memcpy(intake->sockets, sockets, sizeof(intake->sockets));
  intake->allow = *allow;
  intake->buffers = calloc(1, sizeof(*intake->buffers));
  uint64_t salt = 0;
  if (getrandom(&salt, sizeof(salt), 0) != (ssize_t)sizeof(salt)) {
    return error_set(error, STATUS_NET, "control: no random numbers: %s", strerror(errno));
  }
  if (!intake->buffers || !senders_init(&intake->senders, salt)) {
    return error_set(error, STATUS_NO_MEM, "control: out of memory");
  }
  const int n = put_datagrams(intake, intake->sockets[0], 0);
  if (n < 0 && errno != EAGAIN) {
    return error_set(error, STATUS_NET, "cannot receive packets: recvmmsg: %s", strerror(errno));
  }
  return STATUS_OK;
}

void
intake_clear(Intake* const intake)
{
  senders_clear(&intake->senders);
  free(intake->buffers);
  intake->buffers = NULL;
}

uint64_t
intake_lost(const Intake* const intake)
{
  uint64_t lost = 0;
  for (uint32_t s = 0; s < INTAKE_SOCKETS && intake->sockets[s] >= 0; ++s) {
    uint32_t info[SK_MEMINFO_VARS] = { 0 };
    socklen_t n_bytes = sizeof(info);
    if (getsockopt(intake->sockets[s], SOL_SOCKET, SO_MEMINFO, info, &n_bytes) == 0) {
      lost += info[SK_MEMINFO_DROPS];
    }
  }
  return lost;
}
