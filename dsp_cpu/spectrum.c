// SPDX-License-Identifier: GPL-3.0-or-later
// The inner loops of convolution.  Each body is plain C over fixed cells of bins, which the
// compiler vectorises.  A function with a target attribute inlines the body, so that the compiler
// compiles it once per instruction set.  A table is chosen at run time, which gives tests access to
// every set; the resolvers of the compiler's own dispatch run before a sanitizer is ready.

#include "spectrum.h"

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define CELL        SPECTRUM_CELL
#define LINE_BYTES  64U
#define AHEAD_BYTES 4096U // a page: the processor itself does not read ahead beyond its end
#define BODY        static inline __attribute__((always_inline)) void

BODY
fold_body(const float* const early, const float* const late, const uint32_t stride,
          const float* const weight, const uint32_t n_rows, const uint32_t n_points,
          float* const out)
{
  float* z = out;
  for (uint32_t r = 0; r < n_rows; ++r) {
    const float wr = weight[2U * r];
    const float wi = weight[2U * r + 1U];
    for (uint32_t c = 0; c < n_points; c += CELL, z += SPECTRUM_CELL_FLOATS) {
      const float* const a = early + (size_t)r * stride + c;
      const float* const b = late + (size_t)r * stride + c;
      float re[CELL];
      float im[CELL];
#pragma omp simd
      for (uint32_t k = 0; k < CELL; ++k) {
        re[k] = a[k] * wr + b[k] * wi;
        im[k] = a[k] * wi - b[k] * wr;
      }
#pragma omp simd
      for (uint32_t k = 0; k < CELL; ++k) {
        z[2U * k] = re[k];
        z[2U * k + 1U] = im[k];
      }
    }
  }
}

BODY
unfold_body(const float* const in, const float* const weight, const uint32_t n_rows,
            const uint32_t n_points, const uint32_t stride, float* const sum)
{
  const float* z = in;
  for (uint32_t r = 0; r < n_rows; ++r) {
    const float wr = weight[2U * r];
    const float wi = weight[2U * r + 1U];
    for (uint32_t c = 0; c < n_points; c += CELL, z += SPECTRUM_CELL_FLOATS) {
      float* const y = sum + (size_t)r * stride + c;
      float re[CELL];
      float im[CELL];
#pragma omp simd
      for (uint32_t k = 0; k < CELL; ++k) {
        re[k] = z[2U * k];
        im[k] = z[2U * k + 1U];
      }
#pragma omp simd
      for (uint32_t k = 0; k < CELL; ++k) {
        y[k] += re[k] * wi - im[k] * wr;
      }
    }
  }
}

/// out[r][k] = in[r][k] * (re + i sign im) of the twiddles.  A cell is read completely before it is
/// written, so out may be in.
BODY
twist_body(const float* const in, const uint32_t in_stride, const float* const twiddle,
           const uint32_t n_rows, const uint32_t n_points, float* const out,
           const uint32_t out_stride, const float sign)
{
  const float* t = twiddle;
  for (uint32_t r = 0; r < n_rows; ++r) {
    for (uint32_t c = 0; c < n_points; c += CELL, t += SPECTRUM_CELL_FLOATS) {
      const float* const x = in + ((size_t)r * in_stride + c) * 2U;
      float* const z = out + ((size_t)r * out_stride + c) * 2U;
      float re[CELL];
      float im[CELL];
#pragma omp simd
      for (uint32_t k = 0; k < CELL; ++k) {
        re[k] = x[2U * k] * t[k] - x[2U * k + 1U] * sign * t[CELL + k];
        im[k] = x[2U * k] * sign * t[CELL + k] + x[2U * k + 1U] * t[k];
      }
#pragma omp simd
      for (uint32_t k = 0; k < CELL; ++k) {
        z[2U * k] = re[k];
        z[2U * k + 1U] = im[k];
      }
    }
  }
}

BODY
pack_body(const float* const in, const uint32_t n_points, float* const restrict cells,
          const uint32_t cell_stride)
{
  for (uint32_t c = 0; c < n_points / CELL; ++c) {
    const float* const z = in + (size_t)c * SPECTRUM_CELL_FLOATS;
    float* const restrict cell = cells + (size_t)c * cell_stride;
#pragma omp simd
    for (uint32_t k = 0; k < CELL; ++k) {
      cell[k] = z[2U * k];
      cell[CELL + k] = z[2U * k + 1U];
    }
  }
}

#define FIR_TILE  256U // outputs at once: their sums stay in the first-level cache
#define FIR_PITCH 272U // from phase to phase; not a multiple of 4096 bytes apart

typedef float Four __attribute__((vector_size(16)));
typedef float LooseFour __attribute__((vector_size(16), aligned(4), may_alias));

/// One set of functions: the bodies above, inlined into functions of the given target.
#define SPECTRUM_OPS(set, label, TARGET)                                                           \
  TARGET static void fold_##set(const float* early, const float* late, uint32_t stride,            \
                                const float* weight, uint32_t n_rows, uint32_t n_points,           \
                                float* out)                                                        \
  {                                                                                                \
    fold_body(early, late, stride, weight, n_rows, n_points, out);                                 \
  }                                                                                                \
  TARGET static void unfold_##set(const float* in, const float* weight, uint32_t n_rows,           \
                                  uint32_t n_points, uint32_t stride, float* sum)                  \
  {                                                                                                \
    unfold_body(in, weight, n_rows, n_points, stride, sum);                                        \
  }                                                                                                \
  TARGET static void twist_##set(const float* in, uint32_t in_stride, const float* twiddle,        \
                                 uint32_t n_rows, uint32_t n_points, float* out,                   \
                                 uint32_t out_stride)                                              \
  {                                                                                                \
    twist_body(in, in_stride, twiddle, n_rows, n_points, out, out_stride, 1.0F);                   \
  }                                                                                                \
  TARGET static void untwist_##set(const float* in, uint32_t in_stride, const float* twiddle,      \
                                   uint32_t n_rows, uint32_t n_points, float* out,                 \
                                   uint32_t out_stride)                                            \
  {                                                                                                \
    twist_body(in, in_stride, twiddle, n_rows, n_points, out, out_stride, -1.0F);                  \
  }                                                                                                \
  TARGET static void pack_##set(const float* in, uint32_t n_points, float* cells,                  \
                                uint32_t cell_stride)                                              \
  {                                                                                                \
    pack_body(in, n_points, cells, cell_stride);                                                   \
  }                                                                                                \
  static const SpectrumOps ops_##set = { .name = label,                                            \
                                         .fold = fold_##set,                                       \
                                         .unfold = unfold_##set,                                   \
                                         .twist = twist_##set,                                     \
                                         .untwist = untwist_##set,                                 \
                                         .pack = pack_##set,                                       \
                                         .mac = mac_##set,                                         \
                                         .mac_newest = mac_newest_##set,                           \
                                         .fir = fir_##set }

#define SET   plain
#define LANES 4
#define TARGET
#include "spectrum_lanes.inc"
SPECTRUM_OPS(plain, "baseline", );
#if defined(__x86_64__)
#define SET    avx2
#define LANES  8
#define TARGET __attribute__((target("avx2,fma")))
#include "spectrum_lanes.inc"
SPECTRUM_OPS(avx2, "AVX2", __attribute__((target("avx2,fma"))));
#define SET    avx512
#define LANES  16
#define TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma")))
#include "spectrum_lanes.inc"
SPECTRUM_OPS(avx512, "AVX-512", __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,fma"))));
#endif

const SpectrumOps* const*
spectrum_all_ops(uint32_t* const n_ops)
{
  static const SpectrumOps* const all[] = {
    &ops_plain,
#if defined(__x86_64__)
    &ops_avx2,
    &ops_avx512,
#endif
  };
  uint32_t n = 1;
#if defined(__x86_64__)
  __builtin_cpu_init();
  n += __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  n += n == 2U && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
#endif
  *n_ops = n;
  return all;
}

const SpectrumOps*
spectrum_ops(void)
{
  uint32_t n = 0;
  const SpectrumOps* const* const all = spectrum_all_ops(&n);
  return all[n - 1U];
}
