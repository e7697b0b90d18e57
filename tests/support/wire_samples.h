// SPDX-License-Identifier: GPL-3.0-or-later
/// One message of every kind, with a value in every field, and the check of received messages.
#ifndef WARPRACK_TESTS_WIRE_SAMPLES_H
#define WARPRACK_TESTS_WIRE_SAMPLES_H

#include "engine/wire/wire.h"

#include <stdbool.h>

/// The side that receives a kind.
WireSide wire_sample_side(WireKind kind);

/// A message to send; its rack, arrays and descriptor belong to the samples.
WireMessage wire_sample(WireKind kind);

/// Free the messages of wire_sample().
void wire_samples_clear(void);

/// Whether both say the same.  Descriptors: the same file.
bool wire_messages_equal(const WireMessage* a, const WireMessage* b);

/// Whether two racks are the same with uids, orders and every bit of a number.
bool wire_racks_equal(const Rack* a, const Rack* b);

/// NULL, or the field of a received message that is out of the range that wire.h promises.
const char* wire_field_out_of_range(const WireMessage* message);

#endif
