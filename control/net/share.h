// SPDX-License-Identifier: GPL-3.0-or-later
/// Limits of a list of waiting bundles: for the whole list, and for one sender's bundles.
#ifndef WARPRACK_CONTROL_NET_SHARE_H
#define WARPRACK_CONTROL_NET_SHARE_H

#include "message.h"

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct Share {
  uint32_t n_bundles;
  size_t n_bytes; ///< Approximate memory
} Share;

/**
   Check that there is room for one more bundle.

   The bundles in the list are at most `max`, and those of one sender at most as many as the list
   has room for after them: a sender that is alone may use half of `max`.

   @param used The number and memory of waiting bundles of all senders.
   @param list The waiting bundles.
   @param what Subject of the error text: "edits already wait".
   @return STATUS_LIMIT if number or memory exceeds its limit; the error names which.
*/
NODISCARD Status share_check(const Share* max, const Share* used, const Bundle* list,
                             const Bundle* bundle, const char* what, Error* error);

#endif
