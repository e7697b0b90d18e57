// SPDX-License-Identifier: GPL-3.0-or-later
/// The choice of fallback.h, from a rack's response to an impulse.
#ifndef WARPRACK_ENGINE_FALLBACK_CHOOSE_H
#define WARPRACK_ENGINE_FALLBACK_CHOOSE_H

#include "fallback.h"
#include "plan.h"
#include "rack.h"
#include "status.h"

/// What the rack, or `on_late`, says of its outputs; false, and `fallbacks` untouched, where they
/// leave a choice.  Without their responses: no copy has to be heard for it. [builder]
bool
fallback_take_words(const Rack* rack, RackFallback on_late, uint32_t n_out, Fallbacks* fallbacks);

/**
   Choose for each output of a rack.

   @param request The plan of the rack that comes next; the files that it loads stay cached.
   @param on_late For outputs that the rack has no word on.
   @param[out] fallbacks Untouched on error.
   @return Why the rack cannot be planned; STATUS_LIMIT when there is no room for a copy. [builder]
*/
NODISCARD Status fallback_choose(const PlanRequest* request, RackFallback on_late,
                                 Fallbacks* fallbacks, Error* error);

#endif
