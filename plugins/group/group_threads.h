// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The threads that run the blocks of all instances in the process of a group.

   The threads sleep on the bell of the process, which the worker rings once for all blocks that it
   submits together.  One of them wakes and visits all places, of which each is run by the thread
   that comes first: if the last visit took long, the thread wakes helpers.  If a unit does not
   return, its thread is missing at the next rings, which wake the others.  A unit runs one block in
   a visit, and a thread repeats its visit while units have further blocks: slow units take turns
   with the others, also if there are more of them than threads.
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

/// Let the threads call run(unit) from now on, which runs a block that waits, if there is one, and
/// returns true if another one waits.  NULL: nothing any more; returns when no thread runs it.
/// `place`: below GROUP_SLOTS. [thread of plugins]
void group_threads_set(uint32_t place, bool (*run)(void* unit), void* unit);

/// Keep the threads from the unit of a place, which may miss no block: they run what has come
/// meanwhile after group_threads_unlock(). [thread of plugins]
void group_threads_lock(uint32_t place);
void group_threads_unlock(uint32_t place);

#endif
