// SPDX-License-Identifier: GPL-3.0-or-later
/// Bounds of a list of waiting bundles: for all of it, and for the part of one sender.
#ifndef WARPRACK_CONTROL_NET_SHARE_H
#define WARPRACK_CONTROL_NET_SHARE_H

#include "message.h"

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct Share {
  uint32_t n_bundles;
  size_t n_bytes; ///< Of memory, about
} Share;

/**
   Check that there is room for one more bundle.

   All that waits is at most `max`, and what waits of one sender is at most as much as there is room
   left: half of `max` for a sender that is alone.

   @param used What waits already, of all senders.
   @param list The bundles that wait.
   @param what For the error: "edits already wait".
   @return STATUS_LIMIT when the number or the bytes leave no room; the error says which.
*/
NODISCARD Status share_check(const Share* max, const Share* used, const Bundle* list,
                             const Bundle* bundle, const char* what, Error* error);

#endif
