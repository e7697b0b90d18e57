// SPDX-License-Identifier: GPL-3.0-or-later
/// Sets a parameter of a rack by the names of node and parameter.  Combines rack_lookup(),
/// rack_find_param() and rack_set_param().
#ifndef WARPRACK_TESTS_SET_BY_NAME_H
#define WARPRACK_TESTS_SET_BY_NAME_H

#include "engine/rack/rack.h"

NODISCARD Status set_text_by_name(const Rack* rack, const char* node, const char* param,
                                  const char* text, Error* error);
NODISCARD Status set_number_by_name(const Rack* rack, const char* node, const char* param,
                                    double number, Error* error);

#endif
