// SPDX-License-Identifier: GPL-3.0-or-later
/// The choice of fallback.h, from a rack's response to an impulse.
#ifndef WARPRACK_ENGINE_FALLBACK_CHOOSE_H
#define WARPRACK_ENGINE_FALLBACK_CHOOSE_H

#include "fallback.h"
#include "plan.h"
#include "rack.h"
#include "status.h"

/**
   Measure a rack and choose for each of its outputs.

   @param request For a plan of the rack; the files that it loads stay cached.
   @param on_late For outputs that the rack has no word on.
   @param[out] fallbacks On error the outputs that `auto` decides are silent: FALLBACK_UNKNOWN.
   @return Why the rack cannot be planned; STATUS_LIMIT when there is no room for a copy. [builder]
*/
NODISCARD Status fallback_choose(const PlanRequest* request, RackFallback on_late,
                                 Fallbacks* fallbacks, Error* error);

/// Before a rack is measured: `fallbacks`, those of the rack before it, become as the rack and the
/// option say; the outputs that `auto` decides keep theirs.  Returns true when there is one. [any]
bool fallback_keep(const Rack* rack, RackFallback on_late, uint32_t n_out, Fallbacks* fallbacks);

#endif
