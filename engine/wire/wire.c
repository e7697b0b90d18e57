// SPDX-License-Identifier: GPL-3.0-or-later
// One end of the socket between server and worker: messages leave through a queue and arrive in
// pieces.

#include "wire_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct Header {
  uint32_t kind, bytes;
} Header;

/// A message as bytes, in the queue.
typedef struct EncodedMessage {
  struct EncodedMessage* next;
  int fd; ///< Sent with the first byte; -1: none, or already sent
  size_t n_bytes, n_sent;
  unsigned char bytes[];
} EncodedMessage;

struct Wire {
  int socket;
  WireSide side;

  pthread_mutex_t lock; // guards the members of the sending side, up to n_queued
  EncodedMessage* first;
  EncodedMessage* last;
  size_t n_queued; // memory of the messages in the queue

  Header header; // of the message that is being received
  uint32_t n_header;
  unsigned char* body; // [header.bytes], NULL until the header is complete
  uint32_t n_body;
  int fd;       // Received with the header, -1: none
  Error broken; // The error that ended receiving
};

Status
wire_pair(int sockets[const 2], Error* const error)
{
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return error_set(error, STATUS_NO_MEM, "no sockets for a worker: %s", strerror(errno));
  }
  return STATUS_OK;
}

Status
wire_new(const int socket, const WireSide side, Wire** const out, Error* const error)
{
  Wire* const wire = calloc(1, sizeof(Wire));
  if (!wire || pthread_mutex_init(&wire->lock, NULL) != 0) {
    free(wire);
    return error_set(error, STATUS_NO_MEM, "no memory for a socket");
  }
  wire->socket = socket;
  wire->side = side;
  wire->fd = -1;
  *out = wire;
  return STATUS_OK;
}

static void
close_if_open(int* const fd)
{
  if (*fd >= 0) {
    close(*fd);
  }
  *fd = -1;
}

static void
drop_first(Wire* const wire)
{
  EncodedMessage* const encoded = wire->first;
  wire->first = encoded->next;
  wire->last = wire->first ? wire->last : NULL;
  wire->n_queued -= sizeof(EncodedMessage) + encoded->n_bytes;
  close_if_open(&encoded->fd);
  free(encoded);
}

void
wire_free(Wire* const wire)
{
  if (!wire) {
    return;
  }
  while (wire->first) {
    drop_first(wire);
  }
  close_if_open(&wire->fd);
  close(wire->socket);
  pthread_mutex_destroy(&wire->lock);
  free(wire->body);
  free(wire);
}

int
wire_fd(const Wire* const wire)
{
  return wire->socket;
}

// ---- sending ----

static Status
encoded_new(const WireMessage* const message, EncodedMessage** const out, Error* const error)
{
  unsigned char* body = NULL;
  uint32_t n_body = 0;
  const Status status = wire_encode(message, &body, &n_body, error);
  if (status) {
    return status;
  }
  const Header header = { message->kind, n_body };
  EncodedMessage* const encoded = malloc(sizeof(EncodedMessage) + sizeof(header) + n_body);
  if (!encoded) {
    free(body);
    return error_set(error, STATUS_NO_MEM, "no memory for a message");
  }
  *encoded = (EncodedMessage){ .fd = -1, .n_bytes = sizeof(header) + n_body };
  memcpy(encoded->bytes, &header, sizeof(header));
  if (n_body) {
    memcpy(encoded->bytes + sizeof(header), body, n_body);
  }
  free(body);
  const int* const fd = wire_descriptor((WireMessage*)message); // only read
  if (fd) {
    // The message may wait in the queue.
    encoded->fd = fcntl(*fd, F_DUPFD_CLOEXEC, 0);
    if (encoded->fd < 0) {
      free(encoded);
      return error_set(error, errno == EMFILE ? STATUS_LIMIT : STATUS_BAD_ARG,
                       "%s: its descriptor: %s", wire_kind_name(message->kind), strerror(errno));
    }
  }
  *out = encoded;
  return STATUS_OK;
}

static ssize_t
send_encoded(const Wire* const wire, const EncodedMessage* const encoded)
{
  struct iovec piece = { (void*)(encoded->bytes + encoded->n_sent),
                         encoded->n_bytes - encoded->n_sent };
  union {
    struct cmsghdr header;
    unsigned char bytes[CMSG_SPACE(sizeof(int))];
  } control = { .bytes = { 0 } };
  struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
  if (encoded->fd >= 0) {
    control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
                                       .cmsg_level = SOL_SOCKET,
                                       .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(&control.header), &encoded->fd, sizeof(int));
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
  }
  const int flags = MSG_NOSIGNAL | (wire->side == WIRE_SERVER ? MSG_DONTWAIT : 0);
  ssize_t n = 0;
  do {
    n = sendmsg(wire->socket, &message, flags);
  } while (n < 0 && errno == EINTR);
  return n;
}

/// Send as much as the socket takes.  The caller holds the lock.
static Status
flush(Wire* const wire, Error* const error)
{
  while (wire->first) {
    EncodedMessage* const encoded = wire->first;
    const ssize_t n = send_encoded(wire, encoded);
    if (n < 0) {
      return errno == EAGAIN
                 ? STATUS_OK
                 : error_set(error, STATUS_NET, "the other process has ended: %s", strerror(errno));
    }
    close_if_open(&encoded->fd);
    encoded->n_sent += (size_t)n;
    if (encoded->n_sent == encoded->n_bytes) {
      drop_first(wire);
    }
  }
  return STATUS_OK;
}

static bool
enqueue(Wire* const wire, EncodedMessage* const encoded)
{
  const size_t n_bytes = sizeof(EncodedMessage) + encoded->n_bytes;
  if (n_bytes > WIRE_QUEUE_BYTES - wire->n_queued) {
    return false;
  }
  *(wire->last ? &wire->last->next : &wire->first) = encoded;
  wire->last = encoded;
  wire->n_queued += n_bytes;
  return true;
}

Status
wire_send(Wire* const wire, const WireMessage* const message, Error* const error)
{
  uint32_t max_bytes = 0;
  if (wire_kind_bytes(wire->side, message->kind, &max_bytes)) {
    return error_set(error, STATUS_BAD_ARG, "%s is not a message for the other process",
                     wire_kind_name(message->kind));
  }
  EncodedMessage* encoded = NULL;
  Status status = encoded_new(message, &encoded, error);
  if (status) {
    return status;
  }
  pthread_mutex_lock(&wire->lock);
  if (enqueue(wire, encoded)) {
    status = flush(wire, error);
  } else {
    close_if_open(&encoded->fd);
    free(encoded);
    status = error_set(error, STATUS_LIMIT, "the worker does not read: %zu bytes wait for it",
                       wire->n_queued);
  }
  pthread_mutex_unlock(&wire->lock);
  return status;
}

Status
wire_flush(Wire* const wire, Error* const error)
{
  pthread_mutex_lock(&wire->lock);
  const Status status = flush(wire, error);
  pthread_mutex_unlock(&wire->lock);
  return status;
}

size_t
wire_queued(Wire* const wire)
{
  pthread_mutex_lock(&wire->lock);
  const size_t n = wire->n_queued;
  pthread_mutex_unlock(&wire->lock);
  return n;
}

// ---- receiving ----

/// Take the received descriptors.  The header of a message to the worker may carry one; close any
/// other.
static Status
take_descriptors(Wire* const wire, struct msghdr* const message, const bool is_header)
{
  bool is_good = !(message->msg_flags & MSG_CTRUNC);
  for (struct cmsghdr* c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
    const size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && i < n; ++i) {
      int fd = -1;
      memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
      if (wire->side == WIRE_WORKER && is_header && wire->fd < 0) {
        wire->fd = fd;
      } else {
        close(fd);
        is_good = false;
      }
    }
  }
  return is_good ? STATUS_OK
                 : error_set(&wire->broken, STATUS_BAD_ARG, "an unexpected file descriptor");
}

/// Read up to n bytes; *n_read is 0 if none are available.
static Status
read_some(Wire* const wire, void* const to, const size_t n, const bool is_header,
          uint32_t* const n_read)
{
  struct iovec piece = { to, n };
  union {
    struct cmsghdr header;
    unsigned char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = { .msg_iov = &piece,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof(control.bytes) };
  const int flags = MSG_CMSG_CLOEXEC | (wire->side == WIRE_SERVER ? MSG_DONTWAIT : 0);
  ssize_t got = 0;
  do {
    got = recvmsg(wire->socket, &message, flags);
  } while (got < 0 && errno == EINTR);
  *n_read = got > 0 ? (uint32_t)got : 0U;
  if (got < 0) {
    return errno == EAGAIN ? STATUS_OK
                           : error_set(&wire->broken, STATUS_NET, "the other process has ended: %s",
                                       strerror(errno));
  }
  if (got == 0) {
    return error_set(&wire->broken, STATUS_NET, "the other process has closed the socket%s",
                     wire->n_header ? " in the middle of a message" : "");
  }
  return take_descriptors(wire, &message, is_header);
}

/// Check a complete header, and allocate its body.
static Status
begin_body(Wire* const wire)
{
  uint32_t max_bytes = 0;
  if (!wire_kind_bytes(wire->side, wire->header.kind, &max_bytes)) {
    return error_set(&wire->broken, STATUS_BAD_ARG,
                     "%s (kind %u) is not a message for this process",
                     wire_kind_name(wire->header.kind), wire->header.kind);
  }
  if (wire->header.bytes > max_bytes) {
    return error_set(&wire->broken, STATUS_BAD_ARG, "%s of %u bytes; at most %u",
                     wire_kind_name(wire->header.kind), wire->header.bytes, max_bytes);
  }
  wire->n_body = 0;
  wire->body = malloc(wire->header.bytes + 1U); // the size is never 0
  return wire->body ? STATUS_OK
                    : error_set(&wire->broken, STATUS_NO_MEM, "no memory for a message");
}

/// Continue to read a message.  Sets *is_whole when it is complete.
static Status
read_message(Wire* const wire, bool* const is_whole)
{
  uint32_t n = 1;
  Status status = STATUS_OK;
  while (!status && n && wire->n_header < sizeof(Header)) {
    status = read_some(wire, (unsigned char*)&wire->header + wire->n_header,
                       sizeof(Header) - wire->n_header, true, &n);
    wire->n_header += n;
  }
  const bool has_header = wire->n_header == sizeof(Header);
  if (!status && has_header && !wire->body) {
    status = begin_body(wire);
  }
  while (!status && n && has_header && wire->n_body < wire->header.bytes) {
    status =
        read_some(wire, wire->body + wire->n_body, wire->header.bytes - wire->n_body, false, &n);
    wire->n_body += n;
  }
  *is_whole = !status && has_header && wire->n_body == wire->header.bytes;
  return status;
}

static Status
take_message(Wire* const wire, WireMessage* const message)
{
  const Status status = wire_decode(wire->side, wire->header.kind, wire->body, wire->header.bytes,
                                    wire->fd, message, &wire->broken);
  if (!status) {
    wire->fd = -1; // the message owns the descriptor
  }
  free(wire->body);
  wire->body = NULL;
  wire->n_header = 0;
  return status;
}

Status
wire_receive(Wire* const wire, WireMessage* const message, Error* const error)
{
  *message = (WireMessage){ .kind = WIRE_NONE };
  bool is_whole = false;
  Status status = wire->broken.status;
  status = status ? status : read_message(wire, &is_whole);
  status = !status && is_whole ? take_message(wire, message) : status;
  return status ? error_set(error, status, "%s", wire->broken.text) : STATUS_OK;
}
