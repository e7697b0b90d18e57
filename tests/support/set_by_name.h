// SPDX-License-Identifier: GPL-3.0-or-later
/// Racks for tests: from a text, checks of texts, and parameters set by the names of node and
/// parameter.
#ifndef WARPRACK_TESTS_SET_BY_NAME_H
#define WARPRACK_TESTS_SET_BY_NAME_H

#include "engine/rack/rack.h"

/// Parse a text, which must be a valid rack.  `previous` may be NULL; nodes that it has, too, keep
/// their uids.
Rack* rack_of(const char* text, const Rack* previous);

/// Fail the test unless the document has this canonical text, from which an equal rack is read.
void assert_canonical(const char* document, const char* canonical);

/// Fail the test unless the document, at the place "t", is refused with one line of this beginning
/// and no full stop.
void assert_refused(const char* document, const char* message);

NODISCARD Status set_text_by_name(const Rack* rack, const char* node, const char* param,
                                  const char* text, Error* error);
NODISCARD Status set_number_by_name(const Rack* rack, const char* node, const char* param,
                                    double number, Error* error);

#endif
