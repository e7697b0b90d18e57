// SPDX-License-Identifier: GPL-3.0-or-later
/// Chooses the fallbacks (fallback.h) of a rack from its response to impulses.
#ifndef WARPRACK_ENGINE_FALLBACK_CHOOSE_H
#define WARPRACK_ENGINE_FALLBACK_CHOOSE_H

#include "fallback.h"
#include "plan.h"
#include "rack.h"
#include "status.h"

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

/// Choose the fallback of each output of a rack.  `probe` must have run to its end; if it is NULL,
/// because the rack could not be measured, `auto` outputs are silent (FALLBACK_UNKNOWN). [any]
void fallback_choose(const Rack* rack, RackFallback on_late, uint32_t n_out,
                     const FallbackProbe* probe, Fallbacks* fallbacks);

/// Replace the fallbacks of the previous rack by those of `rack`, before `rack` is measured: `auto`
/// outputs keep their fallback, the others get the level of the rack or of `on_late`.  All
/// responses are 0.  Returns true if there is an `auto` output. [any]
bool fallback_keep(const Rack* rack, RackFallback on_late, uint32_t n_out, Fallbacks* fallbacks);

#endif
