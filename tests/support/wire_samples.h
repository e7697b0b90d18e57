// SPDX-License-Identifier: GPL-3.0-or-later
/// One message of every kind, with a value in every field, and the check of received messages.
#ifndef WARPRACK_TESTS_WIRE_SAMPLES_H
#define WARPRACK_TESTS_WIRE_SAMPLES_H

#include "engine/wire/wire.h"

#include <stdbool.h>

/// The side that receives a kind.
WireSide wire_sample_side(WireKind kind);

/// True if messages of this kind have a descriptor.
bool wire_sample_has_fd(WireKind kind);

/// A message of a kind, to send.  The samples own its rack, arrays and descriptor.
WireMessage wire_sample(WireKind kind);

/// Free the messages of wire_sample().
void wire_samples_clear(void);

/// Whether two messages have the same contents.  Descriptors must refer to the same file.
bool wire_messages_equal(const WireMessage* a, const WireMessage* b);

/// Whether two racks are the same, including uids, orders and every bit of each number.
bool wire_racks_equal(const Rack* a, const Rack* b);

/// Name of a field of a received message that is outside of the range that wire.h promises, or
/// NULL.
const char* wire_field_out_of_range(const WireMessage* message);

#endif
