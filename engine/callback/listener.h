// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Passes the samples of some ports from the callback to one slow reader: a ring without locks.

   The reader names the ports with each call.  When it names others, the callback begins with them
   at its next block, and the reader skips what is older.  If the reader is too slow, whole blocks
   are left out and counted.
*/
#ifndef WARPRACK_ENGINE_CALLBACK_LISTENER_H
#define WARPRACK_ENGINE_CALLBACK_LISTENER_H

#include "engine/base/status.h"
#include "engine/contract/level.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Listener Listener;

/// Make a listener with room for at least n_frames.  Free with listener_free(). [any but rt]
NODISCARD Status listener_new(uint32_t n_frames, Listener** out, Error* error);

/// Accepts NULL. [any but rt]
void listener_free(Listener* listener);

/// Begin a block at a frame time. [rt]
REALTIME void listener_begin(Listener* listener, uint64_t frame, uint32_t n_frames);

/// Record a port in this block, if the reader has named it. [rt]
REALTIME void listener_put(Listener* listener, bool is_output, uint32_t channel,
                           const float* samples, uint32_t n_frames);

/// End the block. [rt]
REALTIME void listener_end(Listener* listener, uint32_t n_frames);

/// Take at most max_frames of `ports`, interleaved.  Returns the number of frames; adds to *n_lost
/// those that were left out. [one thread at a time]
uint32_t listener_take(Listener* listener, const PortRange* ports, float* samples,
                       uint32_t max_frames, uint64_t* n_lost);

/// Frame time of the first frame of its ports, once listener_take() has returned one. [as that]
uint64_t listener_start(const Listener* listener);

#endif
