// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Answers to /server/sync that wait until the audio has come far enough.

   When its turn comes, all edits before it have been heard or refused, and all values before it are
   with the engine, which applies them in the next block that it begins.  That block has reached the
   driver once `depth` further ones have been submitted.
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
  uint64_t frame;    ///< Audible once the engine's next frame is here
  uint64_t limit_ns; ///< Give up then: no audio runs
} Sync;

typedef struct Syncs {
  Sync items[SYNC_MAX];
  uint32_t n;
} Syncs;

/// Begin to wait.  STATUS_LIMIT when too many wait.
NODISCARD Status syncs_add(Syncs* syncs, Engine* engine, const Peer* peer, const Message* message,
                           uint64_t now_ns, Error* error);

/// Take out one that is answered: STATUS_OK, or STATUS_AUDIO_IO when it was given up.
bool syncs_take(Syncs* syncs, Engine* engine, uint64_t now_ns, Sync* sync, Status* status);

#endif
