// SPDX-License-Identifier: GPL-3.0-or-later
// A message of one byte carries the descriptor of the text.

#include "child_mail.h"

#include "engine/base/sealed_text.h"

#include <errno.h>
#include <stdalign.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHILD_NICE 10 // beside a live server

// ---- texts ----

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
child_mail_send(const int socket, const char* const text, const size_t n_bytes, Error* const error)
{
  int fd = -1;
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
  if (sendmsg(socket, &mail.message, MSG_NOSIGNAL) != 1) {
    status = error_set(error, STATUS_WORKER, "a text cannot be sent to another process: %s",
                       strerror(errno));
  }
  close(fd);
  return status;
}

Status
child_mail_receive(const int socket, const size_t max_bytes, char** const text,
                   size_t* const n_bytes, Error* const error)
{
  int fd = -1;
  Mail mail;
  mail_init(&mail);
  const ssize_t n = recvmsg(socket, &mail.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const struct cmsghdr* const header = n == 1 ? CMSG_FIRSTHDR(&mail.message) : NULL;
  if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(fd))) {
    memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  }
  if (fd < 0) {
    return error_set(error, STATUS_FILE, "no text was sent");
  }
  const Status status = sealed_text_read(fd, max_bytes, text, n_bytes, error);
  close(fd);
  return status;
}

// ---- the parent ----

Status
child_mail_start(ChildMail* const child, const char* const subcommand, Error* const error)
{
  char* const argv[] = { "/proc/self/exe", (char*)subcommand, NULL };
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
    return error_set(error, STATUS_NO_MEM, "no socket for %s: %s", subcommand, strerror(errno));
  }
  const Status status = process_start(argv[0], argv, sockets[1], &child->process, error);
  close(sockets[1]);
  child->socket = sockets[0];
  if (status) {
    close(sockets[0]);
  }
  return status;
}

bool
child_mail_has_ended(ChildMail* const child, const char* const what, const size_t max_bytes,
                     char** const text, size_t* const n_bytes, Error* const why)
{
  char reason[PROCESS_REASON_BYTES];
  Error none;
  if (!process_has_ended(child->process, reason)) {
    return false;
  }
  *text = NULL;
  const Status status = child_mail_receive(child->socket, max_bytes, text, n_bytes, &none);
  if (status == STATUS_FILE) {
    error_set(why, STATUS_FILE, "%s %s", what, reason);
  } else if (status) {
    *why = none;
  }
  child_mail_stop(child);
  return true;
}

void
child_mail_stop(ChildMail* const child)
{
  if (child->process) {
    process_free(child->process);
    close(child->socket);
  }
  child->process = NULL;
}

// ---- the child ----

bool
child_mail_begin(void)
{
  setpriority(PRIO_PROCESS, 0, CHILD_NICE);
  process_be_killed_first(0);
  return process_follow_parent(PROCESS_SOCKET);
}
