// SPDX-License-Identifier: GPL-3.0-or-later
// The instruction sets that cascade_lanes.inc is compiled for, and the choice among them.

#include "cascade_kernel.h"

#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define CHUNK 128U // frames between two checks for small states; a multiple of LANES

/// States below this value become zero at the end of a chunk.  The value is far below the smallest
/// float, so no output sample changes, and a decaying tail ends before its states are denormal.
#define SMALLEST_STATE 1e-100

typedef float FourFloats __attribute__((vector_size(16)));

#define LANES       4
#define LANES_NAME  base
#define LANES_WHERE // the compiler's baseline: on x86, a vector is two SSE2 halves
#include "cascade_lanes.inc"

#ifdef __x86_64__
#define LANES       4
#define LANES_NAME  avx2
#define LANES_WHERE __attribute__((target("avx2,fma")))
#include "cascade_lanes.inc"

#define LANES       8
#define LANES_NAME  avx512
#define LANES_WHERE __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#include "cascade_lanes.inc"
#endif

static const CascadeKernel base = { "base", run_base };
#ifdef __x86_64__
static const CascadeKernel avx2 = { "avx2", run_avx2 };
static const CascadeKernel avx512 = { "avx512", run_avx512 };

static const CascadeKernel* const fastest_first[] = { &avx512, &avx2, &base };
#else
static const CascadeKernel* const fastest_first[] = { &base };
#endif

const CascadeKernel* const*
cascade_kernels(uint32_t* const n_kernels)
{
#ifdef __x86_64__
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const uint32_t skip = has_avx512 ? 0U : has_avx2 ? 1U : 2U;
#else
  const uint32_t skip = 0;
#endif
  *n_kernels = (uint32_t)ARRAY_LEN(fastest_first) - skip;
  return fastest_first + skip;
}
