// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The real-time trap: counts what an audio thread must not do between rt_section_enter() and
   rt_section_leave() (engine/rt.h).

   A shared library, to be linked to a test or put in front of any program:

       WARPRACK_RT_TRAP=fail LD_PRELOAD=build/tests/librt_trap.so build/warprack run …

   Two nets.  Functions of the C library that allocate, lock, print or call the kernel are
   interposed and counted by name, also where they would have stayed in user space.  Where the
   kernel has Syscall User Dispatch (Linux 5.11 on x86-64; documented in the kernel's
   admin-guide/syscall-user-dispatch and in prctl(2)), every other system call raises a signal in
   the section and is counted by number.  Everything counted is also carried out.

   The futex is counted apart: a wake is what the design allows, a wait is a sleep that is part of
   somebody's contract (a depth of 0, freewheel, a pool whose helper lost its core).

   WARPRACK_RT_TRAP=report writes a summary to stderr at the end of the program; =fail also turns
   the exit status into RT_TRAP_EXIT if there was a violation.
*/
#ifndef WARPRACK_TESTS_RT_TRAP_H
#define WARPRACK_TESTS_RT_TRAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define RT_TRAP_EXIT 86

typedef struct RtTrapCounts {
  uint64_t sections;   ///< Entered, nested ones not counted
  uint64_t violations; ///< Calls that must not be
  uint64_t wakes;      ///< Futex wakes
  uint64_t waits;      ///< Futex waits
  bool raw;            ///< System calls are caught too, not only library calls
} RtTrapCounts;

/// What all threads have done since the last reset.
RtTrapCounts rt_trap_counts(void);

/// Violations by one library function ("malloc"), or by raw system calls of any kind ("raw").
uint64_t rt_trap_calls(const char* name);

/// Forget all counts.  No thread may be in a section.
void rt_trap_reset(void);

/// One line of totals, then per thread with violations its name, counts by function and the address
/// of the first.
void rt_trap_report(FILE* to);

#endif
