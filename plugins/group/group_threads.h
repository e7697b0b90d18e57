// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The threads that run the blocks of all instances in the process of a group.

   The threads sleep on the bell of the process, which the worker rings once for all blocks that it
   submits together.  One thread wakes and visits all places; if its last visit took long, it also
   wakes helpers, and each place is run by the thread that reaches it first.  If a unit does not
   return, its thread does not hear the next rings, which wake other threads.  A unit runs one block
   in a visit, and a thread repeats its visit while units have further blocks, so that slow units
   take turns with the others, also if there are more of them than threads.
*/
#ifndef WARPRACK_PLUGINS_GROUP_GROUP_THREADS_H
#define WARPRACK_PLUGINS_GROUP_GROUP_THREADS_H

#include "engine/base/status.h"
#include "engine/ring/ring.h"

#include <stdbool.h>
#include <stdint.h>

/// Start.  To be called once.
///
/// @param bell A ring without blocks, kept: ring_wake() rings it.
/// @param priority SCHED_FIFO; 0: normal.
/// [main]
NODISCARD Status group_threads_start(Ring* bell, int priority, Error* error);

/// Let the threads call run(unit) from now on.  It runs the oldest waiting block, if there is one,
/// and returns true if another one waits.  NULL: the threads call nothing; group_threads_set()
/// returns when no thread is in the call of before.
/// `place`: below GROUP_SLOTS. [thread of plugins]
void group_threads_set(uint32_t place, bool (*run)(void* unit), void* unit);

/// Keep the threads from running the unit of a place.  No block is lost: the threads run the blocks
/// that have arrived meanwhile after group_threads_unlock(). [thread of plugins]
void group_threads_lock(uint32_t place);
void group_threads_unlock(uint32_t place);

#endif
