// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A pool of helper threads for the worker: runs the independent jobs of one step on several cores.

   A job is a function and an index.  Any thread may run any index, so jobs of one call must not
   depend on each other.  Helpers spin for a bounded time after a run, because the steps of a block
   follow each other within microseconds, then sleep on a futex until the next one.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_POOL_H
#define WARPRACK_ENGINE_CONTRACT_POOL_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Pool Pool;

/**
   Start the helpers.

   @param n_helpers Threads besides the caller, 0..POOL_MAX_HELPERS; 0 runs all jobs on the caller.
   @param realtime Give helpers SCHED_FIFO at `priority`.  Without the privilege they keep their
   scheduling; the caller tests the privilege with rt_try_realtime() and reports its absence.
   @param[out] out New pool, owned by the caller; free with pool_free().  Untouched on error.
   @return #STATUS_BAD_ARG, #STATUS_NO_MEM, also if threads cannot be started, or #STATUS_OK.
*/
NODISCARD Status // [main]
pool_new(uint32_t n_helpers, bool realtime, int priority, Pool** out, Error* error);

#define POOL_MAX_HELPERS 255U

/// Stop and join the helpers.  Accepts NULL. [main]
void pool_free(Pool* pool);

/// Number of threads in a run: the helpers and the caller. 1 for NULL. [any]
uint32_t pool_size(const Pool* pool);

/**
   Run job(context, 0) … job(context, n_jobs - 1), each exactly once; the caller takes part.

   Returns when all jobs are done; the caller sees all their writes.  Makes at most one futex call
   to wake helpers, and only if a helper sleeps.  The caller sleeps only if a helper has not
   finished its last job when the spin ends (the helper lost its core).  One caller at a time.  A
   NULL pool runs all jobs on the caller.
*/
REALTIME void // [player]
pool_run(Pool* pool, void (*job)(void* context, uint32_t index), void* context, uint32_t n_jobs);

#endif
