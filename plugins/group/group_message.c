// SPDX-License-Identifier: GPL-3.0-or-later
// Packets with descriptors, and the report in a ring.

#include "group_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MOST_LATENCY 16777215U // a float has all whole numbers up to here

float
group_report(const uint32_t latency_frames, const bool wants_restart)
{
  const float latency = (float)(latency_frames < MOST_LATENCY ? latency_frames : MOST_LATENCY);
  return wants_restart ? -1.0F - latency : latency;
}

bool
group_read_report(const float report, uint32_t* const latency_frames, bool* const wants_restart)
{
  const float latency = report < 0.0F ? -1.0F - report : report;
  if (!(latency >= 0.0F && latency <= (float)MOST_LATENCY)) { // also NaN
    return false;
  }
  *latency_frames = (uint32_t)latency;
  *wants_restart = report < 0.0F;
  return true;
}

typedef union Control {
  struct cmsghdr header;
  unsigned char bytes[CMSG_SPACE(GROUP_FDS * sizeof(int))];
} Control;

Status
group_send(const int socket, const void* const packet, const size_t n_bytes, const int* const fds,
           const uint32_t n_fds, Error* const error)
{
  struct iovec piece = { (void*)packet, n_bytes };
  struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
  Control control = { .bytes = { 0 } };
  if (n_fds) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
    control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(n_fds * sizeof(int)),
                                       .cmsg_level = SOL_SOCKET,
                                       .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(&control.header), fds, n_fds * sizeof(int));
  }
  ssize_t n = 0;
  do {
    n = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (n < 0 && errno == EINTR);
  return n == (ssize_t)n_bytes
             ? STATUS_OK
             : error_set(error, STATUS_NET, "the other process has ended: %s", strerror(errno));
}

/// Take the descriptors of a message.  Returns false if there are too many.
static bool
take_fds(struct msghdr* const message, int fds[GROUP_FDS])
{
  uint32_t n_taken = 0;
  bool is_good = !(message->msg_flags & (MSG_CTRUNC | MSG_TRUNC));
  for (struct cmsghdr* c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
    const size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && i < n; ++i) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      if (n_taken < GROUP_FDS) {
        fds[n_taken++] = fd;
      } else {
        close(fd);
        is_good = false;
      }
    }
  }
  return is_good;
}

Status
group_receive(const int socket, void* const packet, const size_t n_bytes, int fds[GROUP_FDS],
              Error* const error)
{
  struct iovec piece = { packet, n_bytes };
  Control control;
  struct msghdr message = { .msg_iov = &piece,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof(control.bytes) };
  ssize_t n = 0;
  fds[0] = fds[1] = -1;
  do {
    n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  const bool is_good = n >= 0 && take_fds(&message, fds) && (size_t)n == n_bytes;
  if (!is_good) {
    group_close_fds(fds);
  }
  return is_good  ? STATUS_OK
         : n <= 0 ? error_set(error, STATUS_NET, "the other process has ended")
                  : error_set(error, STATUS_BAD_ARG, "an invalid message");
}

void
group_close_fds(int fds[GROUP_FDS])
{
  for (uint32_t f = 0; f < GROUP_FDS; ++f) {
    if (fds[f] >= 0) {
      close(fds[f]);
    }
    fds[f] = -1;
  }
}
