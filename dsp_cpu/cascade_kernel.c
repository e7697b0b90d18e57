// SPDX-License-Identifier: GPL-3.0-or-later
// The instruction sets that cascade_lanes.inc is compiled for, the choice among them, and the share
// of the jobs that each form of the loop runs.

#include "cascade_kernel.h"
#include "cascade_wave.h"

#include <stdbool.h>
#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define CHUNK 128U // frames between two checks for small states; a multiple of TILE

typedef float FourFloats __attribute__((vector_size(16)));

#define LANES         4
#define VECTORS       1
#define TILE          4U
#define LANES_NAME    base
#define LANES_WHERE   // the compiler's baseline: on x86, a vector is two SSE2 halves
#define FMA(a, b, c)  ((a) * (b) + (c))
#define FNMA(a, b, c) ((c) - (a) * (b))
#define WIDEN(v)      __builtin_convertvector(v, Lanes)
#define NARROW(v)     __builtin_convertvector(v, FloatLanes)
#include "cascade_lanes.inc"

#ifdef __x86_64__
#define AVX2_WHERE         __attribute__((target("avx2,fma")))
#define AVX2_FMA(a, b, c)  ((Lanes)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define AVX2_FNMA(a, b, c) ((Lanes)_mm256_fnmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define AVX2_WIDEN(v)      ((Lanes)_mm256_cvtps_pd((__m128)(v)))
#define AVX2_NARROW(v)     ((FloatLanes)_mm256_cvtpd_ps((__m256d)(v)))

#define LANES       4
#define VECTORS     1
#define TILE        4U
#define LANES_NAME  avx2
#define LANES_WHERE AVX2_WHERE
#define FMA         AVX2_FMA
#define FNMA        AVX2_FNMA
#define WIDEN       AVX2_WIDEN
#define NARROW      AVX2_NARROW
#include "cascade_lanes.inc"

#define LANES       4
#define VECTORS     2
#define TILE        32U
#define LANES_NAME  avx2_twice
#define LANES_WHERE AVX2_WHERE
#define FMA         AVX2_FMA
#define FNMA        AVX2_FNMA
#define WIDEN       AVX2_WIDEN
#define NARROW      AVX2_NARROW
#include "cascade_lanes.inc"

#define LANES         8
#define VECTORS       1
#define TILE          8U
#define LANES_NAME    avx512
#define LANES_WHERE   __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define FMA(a, b, c)  ((Lanes)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define FNMA(a, b, c) ((Lanes)_mm512_fnmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define WIDEN(v)      ((Lanes)_mm512_cvtps_pd((__m256)(v)))
#define NARROW(v)     ((FloatLanes)_mm512_cvtpd_ps((__m512d)(v)))
#include "cascade_lanes.inc"
#endif

/// Run the last jobs of a call in a loop that takes n_lanes of them, at most 8.  The last job fills
/// the lanes that are left: it runs there again, with the same result.
static void
run_padded(void (*const run)(const CascadeJob*, CascadeForm, uint32_t), const uint32_t n_lanes,
           const CascadeJob* const jobs, const uint32_t n_jobs, const CascadeForm form,
           const uint32_t n_frames)
{
  CascadeJob padded[8];
  for (uint32_t l = 0; l < n_lanes; ++l) {
    padded[l] = jobs[l < n_jobs ? l : n_jobs - 1U];
  }
  run(padded, form, n_frames);
}

static void
run_base(const CascadeJob* jobs, uint32_t n_jobs, const CascadeForm form, const uint32_t n_frames)
{
  for (; n_jobs >= 4U; jobs += 4, n_jobs -= 4U) {
    lanes_base(jobs, form, n_frames);
  }
  if (n_jobs) {
    run_padded(lanes_base, 4U, jobs, n_jobs, form, n_frames);
  }
}

#ifdef __x86_64__
/// Run at most four jobs.  A wave of one section would leave most lanes empty.
static void
run_rest(const CascadeJob* const jobs, const uint32_t n_jobs, const CascadeForm form,
         const uint32_t n_frames)
{
  if (n_jobs > 2U || (n_jobs && form.n_sections == 1U)) {
    run_padded(lanes_avx2, 4U, jobs, n_jobs, form, n_frames);
  } else if (n_jobs) {
    cascade_wave_avx2(jobs, n_jobs, form, n_frames);
  }
}

static void
run_avx2(const CascadeJob* jobs, uint32_t n_jobs, const CascadeForm form, const uint32_t n_frames)
{
  for (; n_jobs >= 8U; jobs += 8, n_jobs -= 8U) {
    lanes_avx2_twice(jobs, form, n_frames);
  }
  if (n_jobs == 7U) {
    run_padded(lanes_avx2_twice, 8U, jobs, n_jobs, form, n_frames);
    return;
  }
  if (n_jobs > 4U) {
    lanes_avx2(jobs, form, n_frames);
    jobs += 4;
    n_jobs -= 4U;
  }
  run_rest(jobs, n_jobs, form, n_frames);
}

/// True if at most four jobs run faster in waves of eight lanes than in vectors of four.
static bool
pays_wide_wave(const uint32_t n_jobs, const uint32_t n_sections, const uint32_t n_frames)
{
  if (n_jobs <= 2U) {
    return n_jobs * n_sections > 4U;
  }
  return n_sections > 2U && (n_sections <= 4U || n_frames >= 32U);
}

static void
run_avx512(const CascadeJob* jobs, uint32_t n_jobs, const CascadeForm form, const uint32_t n_frames)
{
  for (; n_jobs >= 8U; jobs += 8, n_jobs -= 8U) {
    lanes_avx512(jobs, form, n_frames);
  }
  if (n_jobs > 4U) {
    run_padded(lanes_avx512, 8U, jobs, n_jobs, form, n_frames);
  } else if (pays_wide_wave(n_jobs, form.n_sections, n_frames)) {
    cascade_wave_avx512(jobs, n_jobs, form, n_frames);
  } else {
    run_rest(jobs, n_jobs, form, n_frames);
  }
}
#endif

static const CascadeKernel base = { .name = "base", .run = run_base };
#ifdef __x86_64__
static const CascadeKernel avx2 = { .name = "avx2", .run = run_avx2 };
static const CascadeKernel avx512 = { .name = "avx512", .run = run_avx512 };

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
