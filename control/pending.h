// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Values without a time that wait for the engine: the latest one of each parameter.

       sets ──▶ [pending: latest value of each parameter] ──one group──▶ engine

   A worker makes a limited number of changes in a block.  Values that arrive faster are merged
   here, so that the engine has at most a block of them to do, and no value is refused: it is
   replaced by a later one.  All pending values are sent as one group, so that no group of sets is
   split.

   Messages that are not merged, such as values with a time, notes and edits, follow the values that
   were set before them: their senders call pending_send() first.  All functions [control].
*/
#ifndef WARPRACK_CONTROL_PENDING_H
#define WARPRACK_CONTROL_PENDING_H

#include "engine/base/status.h"
#include "engine/base/time.h"
#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

#define PENDING_MAX     2048U // parameters; together with PENDING_AT_ONCE they fit into the ring
#define PENDING_AT_ONCE 1024U // messages that wait in the ring: as many as a block changes
#define PENDING_POLL_NS NS_PER_MS // while values wait for room in the ring

/// Zeroed, it is empty.
typedef struct Pending {
  ParamMessage messages[PENDING_MAX]; ///< [n]
  uint16_t slots_of[PENDING_MAX];     ///< [n] their places in `slots`
  uint16_t slots[2U * PENDING_MAX];   ///< By hash of the parameter: indices from 1; 0: none
  uint32_t n;
  uint64_t merged; ///< Values that a later one has replaced
} Pending;

/// Add values, all or none, each in place of the one of the same parameter.  If there is no room,
/// sends those that were there before.  STATUS_LIMIT: the engine takes none.
NODISCARD Status pending_add(Pending* pending, Engine* engine, const ParamMessage* messages,
                             uint32_t n);

/// Let a value that the worker has set by itself replace the older one of its parameter, if that
/// waits.
void pending_follow(Pending* pending, const ParamMessage* message);

/// Send all values now.  STATUS_LIMIT: the engine takes none, and they stay.
NODISCARD Status pending_send(Pending* pending, Engine* engine);

/// Send all values if the engine has room for more; else they stay, to be merged with later ones.
void pending_send_if_room(Pending* pending, Engine* engine);

#endif
