// SPDX-License-Identifier: GPL-3.0-or-later
/// The choice of fallback.h, from a rack's response to an impulse.
#ifndef WARPRACK_ENGINE_FALLBACK_CHOOSE_H
#define WARPRACK_ENGINE_FALLBACK_CHOOSE_H

#include "fallback.h"
#include "plan.h"
#include "rack.h"
#include "status.h"

/**
   Choose for each output of a rack.

   @param request For a plan of the rack; the files that it loads stay cached.
   @param on_late For outputs that the rack has no word on.
   @param[out] fallbacks Untouched on error.
   @return Why the rack cannot be planned; STATUS_LIMIT when there is no room for a copy. [builder]
*/
NODISCARD Status fallback_choose(const PlanRequest* request, RackFallback on_late,
                                 Fallbacks* fallbacks, Error* error);

/// The same without a response: where the choice is left open an output is silent, for this reason.
void fallback_choose_unheard(const Rack* rack, RackFallback on_late, uint32_t n_out,
                             FallbackWhy why, Fallbacks* fallbacks);

#endif
