// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Values to send to subscribers, because an edit that replaced the document has changed them: a set
   of parameters, at most all parameters of one rack.  The owner takes some of them at a time.
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

/// A zeroed Backlog is empty.
typedef struct Backlog {
  NotifyKey* keys; ///< [n], sorted; the keys before `next` are taken
  uint32_t n, next;
  Peer maker;
  bool has_maker; ///< The client that made all the changes and knows their values
} Backlog;

/**
   Add the differences between `before` and `now`: parameters with another value, and all parameters
   of nodes whose name is new or has another effect.  `before` NULL: all parameters.  Keys that are
   no longer in `now` are dropped.

   @param maker Client that knows the values and gets none; NULL: all subscribers get the values.
   @return False if out of memory; then no key is added.
*/
bool backlog_add(Backlog* backlog, const Rack* before, const Rack* now, const Peer* maker);

/// Take the next key.  Returns false if there is none.
bool backlog_take(Backlog* backlog, NotifyKey* key);

bool backlog_is_empty(const Backlog* backlog);

void backlog_clear(Backlog* backlog);

#endif
