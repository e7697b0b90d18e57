// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What a thread needs to be an audio thread: priority, locked memory, flush-to-zero, a clock, and
   the futex.  Everything degrades loudly: what could not be had is a text for the status, said
   once.
*/
#ifndef WARPRACK_ENGINE_RT_H
#define WARPRACK_ENGINE_RT_H

#include "status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/// Nanoseconds of CLOCK_MONOTONIC (vDSO: no system call). [rt]
REALTIME uint64_t rt_now_ns(void);

/// Flush denormals to zero and treat them as zero, on this thread (x86: FTZ and DAZ; arm64: FZ).
/// [rt]
REALTIME void rt_flush_denormals(void);

/// SCHED_FIFO at `priority` for this thread; STATUS_LIMIT without the privilege (the thread goes on
/// as it is). [any]
Status rt_become_realtime(int priority, Error* error);

/// Lock present and future memory; touches the stack.  STATUS_LIMIT when the limit is too small.
/// [main]
Status rt_lock_memory(Error* error);

/// Sleep while *word == expected; wakes also spuriously.  timeout_ns relative, UINT64_MAX: none.
/// Works across processes. [worker]
void rt_futex_wait(_Atomic uint32_t* word, uint32_t expected, uint64_t timeout_ns);

/// Wake everyone that sleeps on `word`: the one system call that audio threads may make. [rt]
REALTIME void rt_futex_wake(_Atomic uint32_t* word);

/// One spin-wait pause. [rt]
REALTIME void rt_pause(void);

#endif
