// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The real-time trap: counts calls that an audio thread must not make between rt_section_enter()
   and rt_section_leave() (engine/base/rt.h).

   It is a shared library, for tests to link, or to preload into any program:

       WARPRACK_RT_TRAP=fail LD_PRELOAD=build/tests/librt_trap.so build/warprack run …

   It finds calls in two ways.  It interposes functions of the C library that allocate, lock, print
   or call the kernel, and counts each by name, even if the call needs no system call.  Where the
   kernel has Syscall User Dispatch (Linux 5.11 on x86-64; see the kernel's
   admin-guide/syscall-user-dispatch and prctl(2)), every other system call in a section raises a
   signal and is counted as "raw".  All counted calls are carried out, too.

   Futex calls between processes, the kind that engine/base/rt.h makes, are counted separately and
   are no violations.  A wake is part of the design.  A wait is a sleep that some modes allow: depth
   0, freewheel, and a pool whose helper lost its core.

   Page faults are the increase of the thread's counters between begin and end of a section; the
   trap reads them outside of the section.  The first RT_TRAP_WARM_UP sections of a thread do not
   count, because they touch its stack and code for the first time.  Faults are no violations,
   because memory that is not locked may fault at any time.  A test that locks its memory asserts
   that there are none.

   WARPRACK_RT_TRAP=report writes a summary to stderr at the end of the program.  =fail also ends
   the program at the first violation, with exit code RT_TRAP_EXIT, and prints the stack.
*/
#ifndef WARPRACK_TESTS_RT_TRAP_H
#define WARPRACK_TESTS_RT_TRAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RT_TRAP_EXIT    86
#define RT_TRAP_WARM_UP 1000U // sections of a thread

typedef struct RtTrapCounts {
  uint64_t sections;   ///< Sections entered, without nested ones
  uint64_t violations; ///< Forbidden calls
  uint64_t wakes;      ///< Futex wakes
  uint64_t most_wakes; ///< Largest number of futex wakes in one section
  uint64_t waits;      ///< Futex waits
  uint64_t faults;     ///< Page faults, minor and major, after the warm-up
  bool raw;            ///< The kernel reports system calls; false: only library calls are counted
} RtTrapCounts;

/// Counts of all threads since the last reset.
RtTrapCounts rt_trap_counts(void);

/// Counts of the threads with this name since the last reset.
RtTrapCounts rt_trap_thread_counts(const char* thread_name);

/// Name of the library function that detector `index` counts, or "raw" for the one that counts
/// system calls; NULL after the last.
const char* rt_trap_detector(uint32_t index);

/// Violations by one library function ("malloc"), or by raw system calls of any kind ("raw").
uint64_t rt_trap_calls(const char* name);

/// Forget all counts.  No thread may be in a section.
void rt_trap_reset(void);

/// Print one line of totals.  Then, for each thread with violations: its name, the counts of each
/// function, and the stack of the first violation.
void rt_trap_report(FILE* to);

#endif
