// SPDX-License-Identifier: GPL-3.0-or-later
/// The fades that run in the worker, for a worker that takes over in the middle of them: it goes on
/// with them as if it had begun them.
#ifndef WARPRACK_ENGINE_SUPERVISOR_FADE_LIST_H
#define WARPRACK_ENGINE_SUPERVISOR_FADE_LIST_H

#include "engine/rack/rack.h"
#include "engine/ring/ring.h"

typedef struct FadeList {
  ParamMessage* fades; ///< [n] with ParamMessage::is_running
  uint32_t n, max;
} FadeList;

void fade_list_clear(FadeList* list);

/**
   Record messages of values, before `rack` gets the values.  Without memory a fade is not recorded:
   the next worker then begins at its end.

   @param rate_hz The rate of the audio that runs.
   @param now Frame time: messages for earlier frames begin now, and fades that end earlier are
   forgotten.
*/
void fade_list_note(FadeList* list, const Rack* rack, double rate_hz, const ParamMessage* messages,
                    uint32_t n, uint64_t now);

/// Forget the fades whose end is no longer the value of the rack: an edit has changed it.
void fade_list_follow(FadeList* list, const Rack* rack, double rate_hz);

#endif
