// SPDX-License-Identifier: GPL-3.0-or-later
// Messages between server and worker, as they arrive over a socket.  The first byte selects the
// receiver; the rest is sent by the other side.

#include "fuzz.h"

#include "engine/wire/wire.h"
#include "tests/support/wire_samples.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_BYTES 32768U // fits into a socket without a reader

/// Check that every field is in its range, and that the message can be sent again unchanged.
static void
check_message(const WireMessage* const message)
{
  unsigned char* body = NULL;
  uint32_t n_bytes = 0;
  WireMessage again;
  const WireSide side = wire_sample_side(message->kind);
  fuzz_check(!wire_field_out_of_range(message), "a received field is in its range");
  if (message->kind == WIRE_EDIT && !message->edit.rack) {
    return; // a document that is no rack has nothing to send
  }
  fuzz_check(!wire_encode(message, &body, &n_bytes, NULL), "a received message can be sent");
  fuzz_check(!wire_decode(side, message->kind, body, n_bytes, -1, &again, NULL),
             "a sent message can be received");
  fuzz_check(wire_messages_equal(message, &again), "a message arrives unchanged");
  wire_message_clear(&again);
  free(body);
}

/// Receive until the bytes end or an error occurs.
static void
receive_all(Wire* const wire)
{
  WireMessage message;
  Error error = { STATUS_OK, "" };
  Status status = STATUS_OK;
  while (!(status = wire_receive(wire, &message, &error))) {
    fuzz_check(message.kind != WIRE_NONE, "the end of the socket is an error");
    check_message(&message);
    wire_message_clear(&message);
  }
  fuzz_check(status == STATUS_NET || status == STATUS_BAD_ARG,
             "the error is the end of the socket or an invalid message");
  fuzz_check(error.text[0] != '\0', "an error has a reason");
  fuzz_check(wire_receive(wire, &message, &error) == status, "an error persists");
}

int
LLVMFuzzerTestOneInput(const uint8_t* const bytes, const size_t n_bytes)
{
  int sockets[2];
  Wire* wire = NULL;
  Error error;
  if (n_bytes < 1U || n_bytes > MAX_BYTES) {
    return 0;
  }
  fuzz_check(!wire_pair(sockets, &error), "sockets");
  fuzz_check(!wire_new(sockets[0], bytes[0] % 2U ? WIRE_WORKER : WIRE_SERVER, &wire, &error),
             "one end");
  fuzz_check(write(sockets[1], bytes + 1U, n_bytes - 1U) == (ssize_t)(n_bytes - 1U), "bytes sent");
  shutdown(sockets[1], SHUT_WR);
  receive_all(wire);
  wire_free(wire);
  close(sockets[1]);
  return 0;
}

void
fuzz_examples(FuzzVisit* const visit, void* const context)
{
  static uint8_t all[2][MAX_BYTES]; // all messages of a side in sequence
  size_t n_all[2] = { 1, 1 };
  for (WireKind kind = WIRE_CONFIG; kind < WIRE_N_KINDS; ++kind) {
    const WireMessage message = wire_sample(kind);
    const bool is_to_worker = wire_sample_side(kind) == WIRE_WORKER;
    unsigned char* body = NULL;
    uint32_t header[2] = { kind, 0 };
    fuzz_check(!wire_encode(&message, &body, &header[1], NULL), "a sample can be sent");
    uint8_t one[MAX_BYTES] = { is_to_worker };
    memcpy(one + 1, header, sizeof(header));
    if (header[1]) {
      memcpy(one + 1 + sizeof(header), body, header[1]);
    }
    free(body);
    const size_t n = sizeof(header) + header[1];
    visit(context, one, 1U + n);
    all[is_to_worker][0] = is_to_worker;
    if (!wire_sample_has_fd(kind)) { // the bytes cannot carry its descriptor
      memcpy(all[is_to_worker] + n_all[is_to_worker], one + 1, n);
      n_all[is_to_worker] += n;
    }
  }
  visit(context, all[0], n_all[0]);
  visit(context, all[1], n_all[1]);
  wire_samples_clear();
}
