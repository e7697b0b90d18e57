// SPDX-License-Identifier: GPL-3.0-or-later
/// The two ends of a wire in one process, for tests; what fails, fails the test.
#ifndef WARPRACK_TESTS_WIRE_ENDS_H
#define WARPRACK_TESTS_WIRE_ENDS_H

#include "engine/wire/wire.h"

#include <stddef.h>

typedef struct WireEnds {
  Wire* server; ///< NULL where the test plays the server by hand
  Wire* worker; ///< As `server`
  int by_hand;  ///< The bare socket then, else -1
} WireEnds;

#define WIRE_FRAME_BYTES 8192U // of every sample

WireEnds wire_ends_new(void);

/// One end, and the other one's bare socket.
WireEnds wire_ends_half(WireSide side);

void wire_ends_free(const WireEnds* ends);

/// The next message; the server polls for it.
WireMessage wire_next(Wire* wire);

/// Header and body of a message that fits; returns their bytes.
size_t wire_frame(const WireMessage* message, unsigned char bytes[WIRE_FRAME_BYTES]);

/// How many descriptors this process has open.
unsigned descriptors_open(void);

#endif
