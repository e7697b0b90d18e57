// SPDX-License-Identifier: GPL-3.0-or-later
/// Chooses the fallbacks (fallback.h) of a rack from its response to impulses.
#ifndef WARPRACK_ENGINE_WORKER_FALLBACK_CHOOSE_H
#define WARPRACK_ENGINE_WORKER_FALLBACK_CHOOSE_H

#include "engine/base/status.h"
#include "engine/contract/fallback.h"
#include "engine/plan/plan.h"
#include "engine/rack/rack.h"

/// A copy of a rack that processes impulses.
typedef struct FallbackProbe FallbackProbe;

/**
   Make the copy.

   @param request For a plan of the rack; the files that it loads stay cached.
   @return Why the rack cannot be planned; STATUS_LIMIT when there is no room for a copy. [builder]
*/
NODISCARD Status fallback_probe_new(const PlanRequest* request, FallbackProbe** out, Error* error);

/// Free the copy.  Accepts NULL.
void fallback_probe_free(FallbackProbe* probe);

/// Run one block of the copy.  True after the last block: the rack is measured. [builder]
bool fallback_probe_run(FallbackProbe* probe);

/// Choose for each output as if it were `auto`.  `probe` must have run to its end; if it is
/// NULL, because the rack could not be measured, all outputs are silent (FALLBACK_UNKNOWN). [any]
void fallback_measure(const FallbackProbe* probe, uint32_t n_out, Fallbacks* measured);

/// The rack has changed since fallback_measure(): keep the choices, and forget the responses, so
/// that no warning uses them.  Without choices for `n_out` outputs, the choice is the level of the
/// output, which begins with silence. [any]
void fallback_outdate(uint32_t n_out, Fallbacks* measured);

/// Set the fallback of each output of `measured`: the level of rack or option, or for `auto` the
/// choice of `measured`.  Returns true if there is an `auto` output. [any]
bool fallback_choose(const Rack* rack, RackFallback on_late, const Fallbacks* measured,
                     Fallbacks* fallbacks);

#endif
