// SPDX-License-Identifier: GPL-3.0-or-later
/// The choice of fallback.h, from a rack's response to an impulse.
#ifndef WARPRACK_ENGINE_FALLBACK_CHOOSE_H
#define WARPRACK_ENGINE_FALLBACK_CHOOSE_H

#include "fallback.h"
#include "plan.h"
#include "rack.h"
#include "status.h"

/// A copy of a rack that hears impulses.
typedef struct FallbackProbe FallbackProbe;

/**
   Make the copy.

   @param request For a plan of the rack; the files that it loads stay cached.
   @return Why the rack cannot be planned; STATUS_LIMIT when there is no room for a copy. [builder]
*/
NODISCARD Status fallback_probe_new(const PlanRequest* request, FallbackProbe** out, Error* error);

/// Free the copy.  Accepts NULL.
void fallback_probe_free(FallbackProbe* probe);

/// Run one block of the copy; true when it was the last one, and the rack is measured. [builder]
bool fallback_probe_run(FallbackProbe* probe);

/// Choose for each output of a rack.  `probe` has run to its end; NULL if the rack could not be
/// measured: then `auto` outputs are silent, FALLBACK_UNKNOWN. [any]
void fallback_choose(const Rack* rack, RackFallback on_late, uint32_t n_out,
                     const FallbackProbe* probe, Fallbacks* fallbacks);

/// Turn the fallbacks of one rack into those of the next one, before that is measured: `auto`
/// outputs keep theirs, the others get the level of rack or option, and no response is known.
/// Returns true if there is an `auto` output. [any]
bool fallback_keep(const Rack* rack, RackFallback on_late, uint32_t n_out, Fallbacks* fallbacks);

#endif
