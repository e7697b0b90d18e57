// SPDX-License-Identifier: GPL-3.0-or-later
// A scan of the plugins in a child process, which sends the catalogue as sealed memory.

#include "scan_child.h"

#include "engine/base/sealed_text.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdalign.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

static char* const scan_argv[] = { "/proc/self/exe", "scan", NULL };

// ---- the catalogue on its way ----

/// A message of one byte with a descriptor.
typedef struct Mail {
  struct msghdr message;
  struct iovec part;
  char byte;
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
} Mail;

static void
mail_init(Mail* const mail)
{
  *mail = (Mail){ .part = { &mail->byte, 1 },
                  .message = { .msg_iov = &mail->part,
                               .msg_iovlen = 1,
                               .msg_control = mail->control,
                               .msg_controllen = sizeof(mail->control) } };
}

Status
scan_child_answer(const Catalogue* const catalogue, Error* const error)
{
  int fd = -1;
  size_t n_bytes = 0;
  const char* const text = catalogue_text(catalogue, &n_bytes);
  Status status = sealed_text_new(text, n_bytes, &fd, error);
  if (status) {
    return status;
  }
  Mail mail;
  mail_init(&mail);
  struct cmsghdr* const header = CMSG_FIRSTHDR(&mail.message);
  header->cmsg_len = CMSG_LEN(sizeof(fd));
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  if (sendmsg(PROCESS_SOCKET, &mail.message, MSG_NOSIGNAL) != 1) {
    status = error_set(error, STATUS_WORKER, "the catalogue of plugins cannot be sent: %s",
                       strerror(errno));
  }
  close(fd);
  return status;
}

/// Receive the descriptor of the catalogue; -1: none was sent.
static int
receive(const int socket)
{
  int fd = -1;
  Mail mail;
  mail_init(&mail);
  const ssize_t n = recvmsg(socket, &mail.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const struct cmsghdr* const header = n == 1 ? CMSG_FIRSTHDR(&mail.message) : NULL;
  if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(fd))) {
    memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  }
  return fd;
}

/// Read the catalogue that an ended child has sent; NULL: there is none, for this `reason`.
static Catalogue*
take_answer(const ScanChild* const child, const char* const reason, Error* const why)
{
  char* text = NULL;
  size_t n_bytes = 0;
  Catalogue* catalogue = NULL;
  const int fd = receive(child->socket);
  if (fd < 0) {
    error_set(why, STATUS_FILE, "the scan of plugins %s", reason);
    return NULL;
  }
  const Status status = sealed_text_read(fd, CATALOGUE_MAX_BYTES, &text, &n_bytes, why);
  close(fd);
  return status || catalogue_new(text, n_bytes, &catalogue, why) ? NULL : catalogue;
}

// ---- the child ----

Status
scan_child_start(ScanChild* const child, Error* const error)
{
  int sockets[2]; // by which the child also knows that it is one
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
    return error_set(error, STATUS_NO_MEM, "no socket for the scan of plugins: %s",
                     strerror(errno));
  }
  const Status status = process_start(scan_argv[0], scan_argv, sockets[1], &child->process, error);
  close(sockets[1]);
  child->socket = sockets[0];
  if (status) {
    close(sockets[0]);
  }
  return status;
}

bool
scan_child_has_ended(ScanChild* const child, Catalogue** const out, Error* const why)
{
  char reason[PROCESS_REASON_BYTES];
  if (!process_has_ended(child->process, reason)) {
    return false;
  }
  *out = take_answer(child, reason, why);
  scan_child_stop(child);
  return true;
}

/// A descriptor that is readable once SIGINT or SIGTERM waits, which this process blocks.
static int
watch_signals(void)
{
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  return signalfd(-1, &ends, SFD_CLOEXEC);
}

Status
scan_child_run(Catalogue** const out, Error* const error)
{
  ScanChild child = { NULL };
  const Status status = scan_child_start(&child, error);
  if (status) {
    return status;
  }
  struct pollfd events[] = { { .fd = process_fd(child.process), .events = POLLIN },
                             { .fd = watch_signals(), .events = POLLIN } };
  Error why = { STATUS_OK, "" };
  *out = NULL;
  while (!why.status && !scan_child_has_ended(&child, out, &why) && !why.status) {
    (void)poll(events, ARRAY_LEN(events), -1);
    if (events[1].revents & POLLIN) {
      error_set(&why, STATUS_WORKER, "the scan of plugins was interrupted");
    }
  }
  close(events[1].fd);
  scan_child_stop(&child);
  return *out ? STATUS_OK : error_set(error, why.status, "%s", why.text);
}

void
scan_child_stop(ScanChild* const child)
{
  if (child->process) {
    process_free(child->process);
    close(child->socket);
  }
  child->process = NULL;
}
