// SPDX-License-Identifier: GPL-3.0-or-later
// Makes both ends of a wire for tests.

#include "wire_ends.h"

#include "suite.h"

#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Wire*
end_of(const int socket, const WireSide side)
{
  Wire* wire = NULL;
  OK(wire_new(socket, side, &wire, &error));
  ck_assert_int_eq(wire_fd(wire), socket);
  return wire;
}

WireEnds
wire_ends_new(void)
{
  int sockets[2];
  OK(wire_pair(sockets, &error));
  return (WireEnds){ end_of(sockets[0], WIRE_SERVER), end_of(sockets[1], WIRE_WORKER), -1 };
}

WireEnds
wire_ends_half(const WireSide side)
{
  int sockets[2];
  OK(wire_pair(sockets, &error));
  Wire* const wire = end_of(sockets[0], side);
  return (WireEnds){ side == WIRE_SERVER ? wire : NULL, side == WIRE_WORKER ? wire : NULL,
                     sockets[1] };
}

void
wire_ends_free(const WireEnds* const ends)
{
  wire_free(ends->server);
  wire_free(ends->worker);
  if (ends->by_hand >= 0) {
    close(ends->by_hand);
  }
}

unsigned
descriptors_open(void)
{
  unsigned n = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder)) {
    ++n;
  }
  closedir(folder);
  return n;
}

WireMessage
wire_next(Wire* const wire)
{
  WireMessage message = { .kind = WIRE_NONE };
  while (message.kind == WIRE_NONE) {
    struct pollfd there = { .fd = wire_fd(wire), .events = POLLIN };
    ck_assert_int_eq(poll(&there, 1, 20000), 1);
    OK(wire_receive(wire, &message, &error));
  }
  return message;
}

size_t
wire_message_bytes(const WireMessage* const message, unsigned char bytes[const WIRE_MESSAGE_BYTES])
{
  unsigned char* body = NULL;
  uint32_t header[2] = { message->kind, 0 };
  OK(wire_encode(message, &body, &header[1], &error));
  memcpy(bytes, header, sizeof(header));
  if (header[1]) {
    memcpy(bytes + sizeof(header), body, header[1]);
  }
  free(body);
  return sizeof(header) + header[1];
}
