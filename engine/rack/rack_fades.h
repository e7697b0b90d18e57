// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The fades of a rack that run, or begin later, as the server knows them: so that another worker
   goes on with them, and /scene/stop finds where they are.

   The server does not know in which block the worker begins a fade that states no frame; it counts
   from the next block that the driver submits, which is a few blocks early at most.
*/
#ifndef WARPRACK_ENGINE_RACK_RACK_FADES_H
#define WARPRACK_ENGINE_RACK_RACK_FADES_H

#include "rack.h"

#include "engine/base/key_index.h"

#define RACK_FADES_PER_PARAM 64U // so that a search among them takes less than a microsecond

/// A parameter moves to a value.
typedef struct RackFade {
  RackUid uid;
  uint32_t param, param_id; ///< fx_param_hash(); 0: not known
  double from, to;
  uint64_t start;    ///< Frame time
  uint32_t n_frames; ///< 0: it has the value `to` from `start` on
  uint32_t curve;    ///< FxCurve
  uint64_t until;    ///< Frame time at which a later change of the parameter takes over
  uint32_t later;    ///< The place of that change in the list; KEY_INDEX_NONE: none
} RackFade;

/// Begins as zeros.
typedef struct RackFades {
  RackFade* items; ///< [n]
  uint32_t n, max;
  uint32_t n_over;   ///< Of them: those that later changes have taken over
  uint64_t next_end; ///< No fade ends before this frame
  KeyIndex first;    ///< By uid and parameter: the place of the earliest fade
} RackFades;

/// Free the memory. [any, not rt]
void rack_fades_clear(RackFades* fades);

/**
   Record that a message sets a parameter.  Without memory, beyond FADE_MAX fades, and beyond
   RACK_FADES_PER_PARAM changes of a parameter that are still to come, a change is not recorded:
   then its fade counts as ended.

   @param row The row of the parameter.  Only those that fade are recorded.
   @param change `from`: the value that the rack has before, which counts if no fade is known.
   @param now Frame time: a change for an earlier frame happens now, and fades that end earlier are
   forgotten.
   [any, not rt]
*/
void rack_fades_note(RackFades* fades, const FxParam* row, const RackFade* change, uint64_t now);

/// Forget the fades that end before or at a frame. [any, not rt]
void rack_fades_forget(RackFades* fades, uint64_t now);

/// Forget the fades of a parameter whose last one does not lead to the value of the rack: an edit
/// has changed it. [any, not rt]
void rack_fades_follow(RackFades* fades, const Rack* rack, double rate_hz);

/// True if the parameter moves at a frame by this fade. [any]
bool rack_fade_runs(const RackFade* fade, uint64_t frame);

/// The value of a fade at a frame from its start on. [any]
double rack_fade_value(const RackFade* fade, const FxParam* row, uint64_t frame);

#endif
