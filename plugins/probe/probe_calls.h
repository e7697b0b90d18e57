// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Counts calls that have no place in real time: those that allocate, and those that lock or wait.

   The addresses of these functions are replaced in the tables (GOT) of all loaded libraries but the
   C library and this program.  The C library's own calls, such as the allocation in fopen(), are
   not seen.
*/
#ifndef WARPRACK_PLUGINS_PROBE_PROBE_CALLS_H
#define WARPRACK_PLUGINS_PROBE_PROBE_CALLS_H

#include <stdint.h>

typedef struct CallCounts {
  uint32_t n_allocations; ///< malloc() and its kind, free()
  uint32_t n_locks;       ///< Mutexes, conditions, semaphores, sleeps
} CallCounts;

/// Replace the functions in all libraries that are loaded now.  Calls are not counted yet.
/// [child, not rt]
void calls_watch(void);

/// Count the calls of this thread into `counts` from now on; NULL: no longer. [child]
void calls_count(CallCounts* counts);

#endif
