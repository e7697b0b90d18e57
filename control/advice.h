// SPDX-License-Identifier: GPL-3.0-or-later
/// The warnings of the active rack (rack_warnings(), and MIDI lines without ports), and the new
/// ones among them.
#ifndef WARPRACK_CONTROL_ADVICE_H
#define WARPRACK_CONTROL_ADVICE_H

#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define ADVICE_BYTES 8192U // limit for the text of one message with warnings

typedef struct Advice {
  char* text;       ///< All warnings, one per line; NULL before the first advice_update()
  uint64_t of;      ///< Number of the document of `text`
  double rate_hz;   ///< ... at this rate
  uint32_t n_lines; ///< Number of warnings
  bool lacks_midi;  ///< The run has no MIDI ports: MIDI lines get a warning.  Set by the owner
} Advice;

/// Collect the warnings of a document, once per document and rate.  Returns true if they differ
/// from the previous ones; `*fresh` is then a text of the new warnings ("" if there are none),
/// which the caller frees.  Returns false also if out of memory.
bool advice_update(Advice* advice, const Rack* rack, uint64_t number, double rate_hz, char** fresh);

/// Print the warnings for one message: as many lines as fit, then "N more warnings".
void advice_print(const Advice* advice, char text[ADVICE_BYTES]);

void advice_clear(Advice* advice);

#endif
