// SPDX-License-Identifier: GPL-3.0-or-later
/// What is probably not meant in the rack that is heard (rack_warnings()), and what of it is new.
#ifndef WARPRACK_CONTROL_ADVICE_H
#define WARPRACK_CONTROL_ADVICE_H

#include "../engine/rack.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Advice {
  char* text;       ///< All warnings, a line each; NULL: not looked yet
  uint64_t of;      ///< Number of the document that it is about
  double rate_hz;   ///< ... at this rate
  uint32_t n_lines; ///< Warnings
} Advice;

/// Look at a document, unless that has been done.  True when the warnings are other ones; `*fresh`
/// then has those that are new, "" for none, for the caller to free.  False without memory, too.
bool advice_update(Advice* advice, const Rack* rack, uint64_t number, double rate_hz, char** fresh);

/// "" before the first look.
const char* advice_text(const Advice* advice);

void advice_clear(Advice* advice);

#endif
