// SPDX-License-Identifier: GPL-3.0-or-later
/// The two ends of a wire in one process, for tests.  If a call fails, the test fails.
#ifndef WARPRACK_TESTS_WIRE_ENDS_H
#define WARPRACK_TESTS_WIRE_ENDS_H

#include "engine/wire/wire.h"

#include <stddef.h>

typedef struct WireEnds {
  Wire* server; ///< The server's end; NULL if the test plays the server by hand
  Wire* worker; ///< The worker's end; NULL if the test plays the worker by hand
  int by_hand;  ///< Socket of the end that the test plays by hand, else -1
} WireEnds;

#define WIRE_MESSAGE_BYTES 8192U // at least the bytes of any sample

WireEnds wire_ends_new(void);

/// Make the end of `side`; the test plays the other end by hand.
WireEnds wire_ends_half(WireSide side);

void wire_ends_free(const WireEnds* ends);

/// Receive the next message.  The server's end polls for it.
WireMessage wire_next(Wire* wire);

/// Write header and body of a message to `bytes`.  Returns their length.
size_t wire_message_bytes(const WireMessage* message, unsigned char bytes[WIRE_MESSAGE_BYTES]);

/// Number of open file descriptors of this process.
unsigned descriptors_open(void);

#endif
