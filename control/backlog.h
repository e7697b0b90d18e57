// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Values that subscribers have yet to get, because an edit has replaced the document: whatever the
   edit changed, down to a whole rack.  A set of parameters, emptied some at a time; bounded by the
   parameters of one rack.
*/
#ifndef WARPRACK_CONTROL_BACKLOG_H
#define WARPRACK_CONTROL_BACKLOG_H

#include "control/net/peer.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

/// A parameter of a node, or an event with uid RACK_UID_NONE.
typedef struct NotifyKey {
  RackUid uid;
  uint32_t param; ///< Or NotifyEvent
} NotifyKey;

/// Zeroed is empty.
typedef struct Backlog {
  NotifyKey* keys; ///< [n], sorted; those before `next` have been taken
  uint32_t n, next;
  Peer maker;
  bool has_maker; ///< Who made all the changes in it, and knows their values
} Backlog;

/**
   Add what differs in `now` from `before`: parameters of another value, and all of nodes whose name
   is new or has another effect.  `before` NULL: all parameters.  What waits already, and is not in
   `now` any more, is dropped.

   @param maker Client that knows the values already and gets none; NULL: all subscribers get them.
   @return false when out of memory, with nothing added.
*/
bool backlog_add(Backlog* backlog, const Rack* before, const Rack* now, const Peer* maker);

/// Take the next one; false when there is none.
bool backlog_take(Backlog* backlog, NotifyKey* key);

bool backlog_is_empty(const Backlog* backlog);

void backlog_clear(Backlog* backlog);

#endif
