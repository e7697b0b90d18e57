// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Implements gpu.h on the host and checks every memory access of a kernel.  It finds faults that do
   not show on a device that runs a whole group in one thread, such as PoCL.

   The compiler WARPRACK_CXX compiles kernels as C++, from the CUDA half of the dialect, and adds
   the calls for ThreadSanitizer, which checked_access.c implements.  The threads of a group are
   contexts that take turns at barriers, so every run finds the same faults:

   - races: two threads of a group at one word between two barriers, or two groups of a launch at
     one word, unless all read or write the same value;
   - words outside of buffers, host memory, local memory and the stack; addresses of vectors that
     are not aligned (the program ends with SIGILL);
   - barriers that some threads of a group do not reach.

   Local memory is filled with NaN before each group.  Faults are counted, and the first ones are
   printed with the line of the kernel.

   A program that links checked_gpu.c has this device only, as device 0.
*/
#ifndef WARPRACK_TESTS_CHECKED_GPU_CHECKED_GPU_H
#define WARPRACK_TESTS_CHECKED_GPU_CHECKED_GPU_H

#include "dsp_gpu/gpu.h"

/// Number of faults so far.
uint32_t checked_n_faults(void);

/// How often kernels have read a word since its memory was declared.
uint32_t checked_n_reads(const void* word);

// Between checked_gpu.c and checked_access.c.

#define CHECKED_MAX_ARGS 10U

/// A kernel.  Its arguments are pointers and u32: each takes a register or 8 bytes of the stack.
typedef void CheckedEntry(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                          uint64_t, uint64_t, uint64_t);

typedef struct CheckedLaunch {
  CheckedEntry* entry;
  uint64_t args[CHECKED_MAX_ARGS];
  uint32_t groups[2];
  uint32_t group_size;
  char* local; ///< Local memory, for one group at a time
  size_t local_bytes;
} CheckedLaunch;

/// Declare memory that kernels may access.  `at` must be aligned to 16 bytes, and stay valid until
/// checked_remove_range().
void checked_add_range(char* at, size_t n_bytes);
void checked_remove_range(const char* at);

/// Run a kernel: all groups, one after the other.
void checked_launch(const CheckedLaunch* launch);

#endif
