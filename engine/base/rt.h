// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Set-up of audio threads: priority, memory, flush-to-zero, and the futex.  If the system refuses
   priority or locked memory, the function fails with a text, which the caller reports once.

   rt_section_enter() and rt_section_leave() mark the code that must not allocate, lock or call the
   kernel.  A normal program defines neither hook, so that a marker costs one test of a pointer; the
   real-time trap of the tests (tests/support/rt_trap.c) defines both and counts what happens
   between them.
*/
#ifndef WARPRACK_ENGINE_BASE_RT_H
#define WARPRACK_ENGINE_BASE_RT_H

#include "status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void warprack_rt_enter(void) __attribute__((weak));
void warprack_rt_leave(void) __attribute__((weak));

/// This thread's real-time code begins; sections may nest. [rt, player]
static inline void
rt_section_enter(void)
{
  if (warprack_rt_enter) {
    warprack_rt_enter();
  }
}

/// This thread's real-time code ends. [rt, player]
static inline void
rt_section_leave(void)
{
  if (warprack_rt_leave) {
    warprack_rt_leave();
  }
}

/// Flush denormals to zero and treat them as zero, on this thread (x86: FTZ and DAZ; arm64: FZ).
/// [rt]
REALTIME void rt_flush_denormals(void);

/// The floating-point mode of this thread: rounding, denormals, exceptions that trap.  Foreign code
/// may change it. [any]
REALTIME uint64_t rt_float_mode(void);

/// Return to a mode that rt_float_mode() has read.  Costs nothing if it has not changed. [any]
REALTIME void rt_keep_float_mode(uint64_t mode);

/// Start a thread named `name` (at most 15 bytes) that handles no asynchronous signals, so that
/// Ctrl-C never runs on an audio thread.  Handlers with SA_ONSTACK have a stack of their own there,
/// so that they also run after the thread's stack has overflowed.  STATUS_NO_MEM if no thread can
/// be started. [main]
NODISCARD Status rt_thread_start(const char* name, void* (*run)(void* context), void* context,
                                 pthread_t* thread, Error* error);

/// Threads that start from now on have a stack of 1 MiB, unless the code that starts them sets
/// another size.  For a process without plugins' code: rt_lock_memory() makes the kernel map the
/// whole stack of each thread, which takes 3 ms for the usual 8 MiB. [main, before other threads]
void rt_limit_stacks(void);

/// Give the main thread such a stack for handlers, too. [main]
void rt_main_handler_stack(void);

/// Touch the stack of this thread, and give it SCHED_FIFO at `priority`.  Without the privilege,
/// returns STATUS_LIMIT and keeps the scheduling. [any]
Status rt_become_realtime(int priority, Error* error);

/// Test on a temporary thread if threads of this process may have SCHED_FIFO at `priority`.
/// Errors as rt_become_realtime(). [main]
Status rt_try_realtime(int priority, Error* error);

/// Lock current and future memory, and touch the stack.  If a limit applies to this process, locks
/// nothing and returns STATUS_LIMIT, because later allocations would fail at the limit. [main]
Status rt_lock_memory(Error* error);

/// If rt_lock_memory() has locked the memory of this process, lock what is allocated from now on
/// only once it is touched: plugins reserve gigabytes of which they use little.  Freed memory stays
/// with the process, except pieces of more than 32 MiB, so that an allocation in a plugin's audio
/// code makes fewer system calls.  STATUS_LIMIT with the reason: then all that is reserved stays
/// locked. [any but rt]
Status rt_lock_on_fault(Error* error);

/// Map all pages of shared memory into this process, without a change: another process may use it
/// meanwhile.  After rt_lock_on_fault(), mmap() does so for nobody, not even with MAP_POPULATE.
/// [any but rt]
void rt_touch_shared(const void* memory, size_t n_bytes);

/// Allocate zeroed memory at a multiple of 64 bytes, a cache line, with all pages present: after
/// calloc(), the kernel maps a page at its first write, which may be in the callback.  The caller
/// frees it; NULL if out of memory.  0 bytes are possible.  Large memory gets huge pages if the
/// kernel has some and the process does not lock its memory: with small ones, loops over it miss
/// the TLB, the processor's cache of page addresses. [any]
void* rt_memory(size_t n_bytes);

/// State and type of cancellation of a thread, before rt_hold_cancel().
typedef struct CancelMode {
  int state, type;
} CancelMode;

/// Let nobody cancel this thread until rt_allow_cancel(): a library may cancel its thread at any
/// instruction, also in a callback that holds a lock. [rt]
REALTIME CancelMode rt_hold_cancel(void);

/// Return to the mode from before rt_hold_cancel().  If that mode is asynchronous and somebody has
/// cancelled this thread, the call does not return. [rt]
REALTIME void rt_allow_cancel(CancelMode before);

/// Sleep while *word == expected, for at most timeout_ns (UINT64_MAX: no limit); may also wake
/// spuriously.  Works across processes. [player]
void rt_futex_wait(_Atomic uint32_t* word, uint32_t expected, uint64_t timeout_ns);

/// Wake all threads that sleep on `word`: the only system call that audio threads may make, beside
/// rt_futex_wake_one(). [rt]
REALTIME void rt_futex_wake(_Atomic uint32_t* word);

/// Wake one of the threads that sleep on `word`. [rt]
REALTIME void rt_futex_wake_one(_Atomic uint32_t* word);

/// One spin-wait pause. [rt]
REALTIME void rt_pause(void);

#endif
