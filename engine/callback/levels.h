// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The levels of all ports of a period, from the callback to one reader, without locks.

   The callback adds to one of two halves (engine/base/halves.h).  The reader asks for the other one
   with levels_collect(); the next period begins there, and the half before is the reader's until it
   asks again.  So each sample is in exactly one span, the spans follow each other without a gap,
   and neither side waits.  While nobody collects, a span goes on: the first one of a new reader may
   be long.
*/
#ifndef WARPRACK_ENGINE_CALLBACK_LEVELS_H
#define WARPRACK_ENGINE_CALLBACK_LEVELS_H

#include "engine/base/status.h"
#include "engine/contract/level.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Levels Levels;

/// Make the levels of n_in inputs and n_out outputs, of which none has sounded. [main]
NODISCARD Status levels_new(uint32_t n_in, uint32_t n_out, Levels** out, Error* error);

/// Free levels.  Accepts NULL. [main]
void levels_free(Levels* levels);

/// Begin a period whose first frame is `frame`: change the half if the reader has asked. [rt]
REALTIME void levels_begin(Levels* levels, uint64_t frame);

/// Add a block of one input or output. [rt]
REALTIME void levels_add_in(Levels* levels, uint32_t channel, const Level* block);
REALTIME void levels_add_out(Levels* levels, uint32_t channel, const Level* block);

/// End a period of n_frames. [rt]
REALTIME void levels_end(Levels* levels, uint32_t n_frames);

/// Take the span before the present one, and ask for the present one.  Returns false, and `to` is
/// undefined, if the callback has begun no span since the last call, or the span has no frames.
/// [one thread at a time]
bool levels_collect(Levels* levels, PortLevels* to);

#endif
