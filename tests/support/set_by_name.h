// SPDX-License-Identifier: GPL-3.0-or-later
/// Racks for tests: from a text, and parameters set by the names of node and parameter.
#ifndef WARPRACK_TESTS_SET_BY_NAME_H
#define WARPRACK_TESTS_SET_BY_NAME_H

#include "engine/rack/rack.h"

/// Parse a text, which must be a valid rack.  `previous` may be NULL; nodes that it has, too, keep
/// their uids.
Rack* rack_of(const char* text, const Rack* previous);

NODISCARD Status set_text_by_name(const Rack* rack, const char* node, const char* param,
                                  const char* text, Error* error);
NODISCARD Status set_number_by_name(const Rack* rack, const char* node, const char* param,
                                    double number, Error* error);

#endif
