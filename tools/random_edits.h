// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Random edits of a rack, like those of a busy user: set a value, change a connection's gain,
   insert or remove a node, change a structural parameter.  The same seed makes the same edits.
*/
#ifndef WARPRACK_TOOLS_RANDOM_EDITS_H
#define WARPRACK_TOOLS_RANDOM_EDITS_H

#include "engine/base/status.h"
#include "engine/rack/rack.h"

#include <stdint.h>

#define RANDOM_EDITS_MIN 2U // minimum number of nodes
#define RANDOM_EDITS_MAX 8U // maximum number of nodes

typedef struct RandomEdits {
  Rack* rack;     ///< A chain; the result of the last edit
  uint64_t state; ///< State of the random number generator
  uint32_t names; ///< Number of nodes named so far
} RandomEdits;

/// Begin with a chain of RANDOM_EDITS_MIN nodes.
NODISCARD Status random_edits_new(RandomEdits* edits, uint64_t seed, Error* error);

/// Make the next edit; edits->rack is the new rack.
NODISCARD Status random_edits_next(RandomEdits* edits, Error* error);

void random_edits_clear(RandomEdits* edits);

#endif
