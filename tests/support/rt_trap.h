// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The real-time trap: counts what an audio thread must not do between rt_section_enter() and
   rt_section_leave() (engine/base/rt.h).

   A shared library, to be linked to a test or put in front of any program:

       WARPRACK_RT_TRAP=fail LD_PRELOAD=build/tests/librt_trap.so build/warprack run …

   Two nets.  Functions of the C library that allocate, lock, print or call the kernel are
   interposed and counted by name, also where they would have stayed in user space.  Where the
   kernel has Syscall User Dispatch (Linux 5.11 on x86-64; documented in the kernel's
   admin-guide/syscall-user-dispatch and in prctl(2)), every other system call raises a signal in
   the section and is counted by number.  Everything counted is also carried out.

   The futex between processes, which is what engine/base/rt.h uses, is counted apart: a wake is
   what the design allows, a wait is a sleep that is part of somebody's contract (a depth of 0,
   freewheel, a pool whose helper lost its core).

   Page faults are the difference of the thread's own counters from the section's begin to its end,
   read outside of it.  The first RT_TRAP_WARM_UP sections of a thread, which touch its stack and
   its code for the first time, do not count.  Memory that is not locked may fault at any time, so
   that faults are no violations; whoever has locked it asserts that there are none.

   WARPRACK_RT_TRAP=report writes a summary to stderr at the end of the program.  =fail also ends
   the program with the status RT_TRAP_EXIT at the first violation, with its stack.
*/
#ifndef WARPRACK_TESTS_RT_TRAP_H
#define WARPRACK_TESTS_RT_TRAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RT_TRAP_EXIT    86
#define RT_TRAP_WARM_UP 1000U // sections of a thread

typedef struct RtTrapCounts {
  uint64_t sections;   ///< Entered, nested ones not counted
  uint64_t violations; ///< Calls that must not be
  uint64_t wakes;      ///< Futex wakes
  uint64_t most_wakes; ///< In one section
  uint64_t waits;      ///< Futex waits
  uint64_t faults;     ///< Page faults, minor and major, after the warm-up
  bool raw;            ///< System calls are caught too, not only library calls
} RtTrapCounts;

/// What all threads have done since the last reset.
RtTrapCounts rt_trap_counts(void);

/// What the threads of that name have done since.
RtTrapCounts rt_trap_thread_counts(const char* thread_name);

/// Name of the library function that detector `index` counts, NULL behind the last.  One of them is
/// "raw".
const char* rt_trap_detector(uint32_t index);

/// Violations by one library function ("malloc"), or by raw system calls of any kind ("raw").
uint64_t rt_trap_calls(const char* name);

/// Forget all counts.  No thread may be in a section.
void rt_trap_reset(void);

/// One line of totals, then per thread with violations its name, counts by function and the stack
/// of the first.
void rt_trap_report(FILE* to);

#endif
