// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Answers to /server/sync, which wait until earlier changes are audible.

   When the turn of a /server/sync comes, all earlier edits are active or refused, and the engine
   has all earlier values, which it applies in the next block that begins.  The driver has that
   block once `depth` further blocks are submitted.
*/
#ifndef WARPRACK_CONTROL_SYNC_H
#define WARPRACK_CONTROL_SYNC_H

#include "control/net/message.h"
#include "engine/base/time.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

#define SYNC_MAX        64U
#define SYNC_TIMEOUT_NS (5U * NS_PER_S)
#define SYNC_POLL_NS    NS_PER_MS

typedef struct Sync {
  Peer peer;
  int32_t number;
  size_t request_bytes;
  uint64_t frame;    ///< The changes are audible once the engine's frame has reached this one
  uint64_t limit_ns; ///< Time to give up, because no audio runs
} Sync;

typedef struct Syncs {
  Sync items[SYNC_MAX];
  uint32_t n;
} Syncs;

/// Add an answer that waits.  STATUS_LIMIT if too many wait.
NODISCARD Status syncs_add(Syncs* syncs, Engine* engine, const Peer* peer, const Message* message,
                           uint64_t now_ns, Error* error);

/// Take an answer that need not wait any longer.  Sets *status to STATUS_OK, or to STATUS_AUDIO_IO
/// if no audio runs.  Returns false if there is none.
bool syncs_take(Syncs* syncs, Engine* engine, uint64_t now_ns, Sync* sync, Status* status);

#endif
