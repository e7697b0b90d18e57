// SPDX-License-Identifier: GPL-3.0-or-later
/// Wakes the process of a group: a ring without blocks, kept while members may ring it.
#ifndef WARPRACK_PLUGINS_GROUP_GROUP_BELL_H
#define WARPRACK_PLUGINS_GROUP_GROUP_BELL_H

#include "engine/ring/ring.h"

/// The worker rings it once for each batch, so N times in a block for nodes of N plugins.  To ring
/// it only after the last batch would cost less, but the process would begin the blocks of the
/// first batches later.
typedef struct GroupBell {
  Ring* ring;
  _Atomic bool is_due; ///< A block was submitted after the last wake; threads of the player
  uint32_t n_users;    ///< The process and its members, also after its loss
} GroupBell;

/// Make a bell with one user.  STATUS_NO_MEM. [the thread of plugins]
NODISCARD Status group_bell_new(GroupBell** out, Error* error);

/// One user less; the last one frees the bell. [the thread of plugins]
void group_bell_leave(GroupBell* bell);

#endif
