// SPDX-License-Identifier: GPL-3.0-or-later
/// Chooses the fallbacks (fallback.h) of a rack from its response to test signals.
#ifndef WARPRACK_ENGINE_WORKER_FALLBACK_CHOOSE_H
#define WARPRACK_ENGINE_WORKER_FALLBACK_CHOOSE_H

#include "engine/base/status.h"
#include "engine/contract/fallback.h"
#include "engine/plan/plan.h"
#include "engine/rack/rack.h"

/// A copy of a rack that processes the signals.
typedef struct FallbackProbe FallbackProbe;

/**
   Make the copy.

   @param request Request for a plan of the rack; the files that it loads stay cached.
   @return The planner's error if the rack cannot be planned; STATUS_LIMIT if the memory limit
   leaves no room for a copy, or if PlanRequest::is_cancelled() returns true. [builder]
*/
NODISCARD Status fallback_probe_new(const PlanRequest* request, FallbackProbe** out, Error* error);

/// Free the copy.  Accepts NULL.
void fallback_probe_free(FallbackProbe* probe);

/// Run one block of the copy.  Returns true after the last block, when the measurement is complete.
/// [builder]
bool fallback_probe_run(FallbackProbe* probe);

/// Choose for each output as if it were `auto`.  `probe` must have run to its end; if it is
/// NULL, because the rack could not be measured, all outputs are silent (FALLBACK_UNKNOWN). [any]
void fallback_measure(const FallbackProbe* probe, uint32_t n_out, Fallbacks* measured);

/// Measure the rack of a request, and set the fallback of each output as a live run would.  Returns
/// the error of fallback_probe_new(). [any but rt]
NODISCARD Status fallback_of_rack(const PlanRequest* request, RackFallback on_late, uint32_t n_out,
                                  Fallbacks* fallbacks, Error* error);

/// The fallback until there is a plan: the level of the option, silence if it states none. [any]
Fallback fallback_before(RackFallback on_late);

/// Update `measured` after the rack has changed: keep the choices, but clear the responses, so that
/// no warning uses them.  If `measured` has no choices for `n_out` outputs, choose the level of the
/// output, which begins with silence. [any]
void fallback_outdate(uint32_t n_out, Fallbacks* measured);

/// Set the fallback of each output of `measured`: the level that the rack or the option states, or
/// for `auto` the choice in `measured`.  Returns true if there is an `auto` output. [any]
bool fallback_choose(const Rack* rack, RackFallback on_late, const Fallbacks* measured,
                     Fallbacks* fallbacks);

#endif
