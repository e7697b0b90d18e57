// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A GPU that looks for what a device that runs a group on one thread cannot show: gpu.h on the
   host, with every access of a kernel to memory looked at.

   Kernels are compiled as C++ from the CUDA half of the dialect by the compiler WARPRACK_CXX,
   which calls checked_access.c where ThreadSanitizer would be called.  Threads of a group are
   contexts that take turns at barriers, so every run finds the same.  Found are

   - races: two threads of a group at one word between two barriers, or two groups of a launch at
     one word, unless all read or write the same value;
   - words outside of buffers, host memory, local memory and the stack; addresses of vectors that
     are not aligned (the program ends with SIGILL);
   - barriers that some threads of a group do not reach.

   Local memory is made of NaNs before each group.  What is found is counted, and the first of it
   printed with the kernel's line.

   A program that links checked_gpu.c has this as its only device, "checked" 0.
*/
#ifndef WARPRACK_TESTS_CHECKED_GPU_CHECKED_GPU_H
#define WARPRACK_TESTS_CHECKED_GPU_CHECKED_GPU_H

#include "dsp_gpu/gpu.h"

/// Faults so far.
uint32_t checked_n_faults(void);

// Between checked_gpu.c and checked_access.c.

#define CHECKED_MAX_ARGS 10U

/// A kernel: pointers and u32, which all take a register, or 8 bytes of the stack.
typedef void CheckedEntry(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                          uint64_t, uint64_t, uint64_t);

typedef struct CheckedLaunch {
  CheckedEntry* entry;
  uint64_t args[CHECKED_MAX_ARGS];
  uint32_t groups[2];
  uint32_t group_size;
  char* local; ///< Local memory of a group
  size_t local_bytes;
} CheckedLaunch;

/// Memory that kernels may be given; `at` is kept, and aligned to 16 bytes.
void checked_add_range(char* at, size_t n_bytes);
void checked_remove_range(const char* at);

/// Run a kernel: all groups, one after the other.
void checked_launch(const CheckedLaunch* launch);

#endif
