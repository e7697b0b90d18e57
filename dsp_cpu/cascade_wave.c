// SPDX-License-Identifier: GPL-3.0-or-later
// The instruction sets that cascade_wave.inc is compiled for, and what they share.

#include "cascade_wave.h"

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define CHUNK_FRAMES 512U
#define SHORT_FRAMES 32U

// Frames between two sections, the fastest on Zen 5: the output of a section waits until the
// latency of filter and move, and of the rounding, has passed.  Two waves do more work in a step,
// and short calls pay more for the steps in which some lanes do not work.
#define SKEW             4U
#define ROUNDED_SKEW     6U
#define TWO_SKEW         3U
#define TWO_ROUNDED_SKEW 4U
#define MAX_SKEW         6U

// Of the last section behind the first one: one wave has at most 8 sections, two have at most 16.
#define MAX_LAG (TWO_ROUNDED_SKEW * (CASCADE_MAX_SECTIONS - 1U))

// Of each signal: the outputs of lanes before the first frame, the chunk, and the steps behind it,
// whose inputs reach no output and no state.
#define BUFFER_FRAMES (MAX_LAG + CHUNK_FRAMES + MAX_LAG + MAX_SKEW)

/// What run_waves() is compiled for.
typedef struct Shape {
  uint32_t n_waves;
  uint32_t n_signals; ///< Of a wave: 1 or 2, interleaved
  uint32_t skew;
  bool is_linked; ///< Two waves for the same signals, else for others
  bool rounds;    ///< A node ends before the last section
} Shape;

/// The steps of a call.
typedef struct Course {
  uint32_t n_frames;
  uint32_t lag; ///< Frames of the last section behind the first one
} Course;

/// A strand is one signal, or two that are interleaved in the same vectors.
typedef struct Strands {
  uint32_t n_strands; ///< 1; 2 with one wave each
  uint32_t n_signals; ///< Of a strand
  uint32_t n_waves;   ///< Of a strand
  bool rounds;
} Strands;

#define LANES      4
#define WAVE_NAME  avx2
#define WAVE_WHERE __attribute__((target("avx2,fma")))
#define Mask       __m256d
#define MASK_OF(bits)                                                                              \
  ((__m256d)(-(Frames){ (bits)&1U, (bits) >> 1U & 1U, (bits) >> 2U & 1U, (bits) >> 3U & 1U }))
#define GATHER(rows, member)                                                                       \
  ((Lanes){ (rows)[0]->member, (rows)[1]->member, (rows)[2]->member, (rows)[3]->member })
#define FMA(a, b, c)       ((Lanes)_mm256_fmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define FNMA(a, b, c)      ((Lanes)_mm256_fnmadd_pd((__m256d)(a), (__m256d)(b), (__m256d)(c)))
#define SELECT(mask, a, b) ((Lanes)_mm256_blendv_pd((__m256d)(a), (__m256d)(b), mask))
#define SELECT_FRAME(mask, a, frame, n)                                                            \
  SELECT(mask, a,                                                                                  \
         (n) == 2U ? _mm256_broadcast_pd((const __m128d*)(frame)) : _mm256_broadcast_sd(frame))
#define ROUND(mask, a)   SELECT(mask, a, _mm256_cvtps_pd(_mm256_cvtpd_ps((__m256d)(a))))
#define WORKS(frames, n) ((__m256d)(((frames) >= 0) & ((frames) < (int64_t)(n))))
#define MOVE(a, b, n)                                                                              \
  ((n) == 2U ? __builtin_shufflevector(b, a, 2, 3, 4, 5)                                           \
             : __builtin_shufflevector(b, a, 1, 2, 3, 4))
#define PUT(to, a, n)                                                                              \
  ((n) == 2U ? _mm_storeu_pd(to, _mm256_castpd256_pd128((__m256d)(a)))                             \
             : _mm_store_sd(to, _mm256_castpd256_pd128((__m256d)(a))))
#include "cascade_wave.inc"

#define LANES         8
#define WAVE_NAME     avx512
#define WAVE_WHERE    __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma")))
#define Mask          __mmask8
#define MASK_OF(bits) ((__mmask8)(bits))
#define GATHER(rows, member)                                                                       \
  ((Lanes){ (rows)[0]->member, (rows)[1]->member, (rows)[2]->member, (rows)[3]->member,            \
            (rows)[4]->member, (rows)[5]->member, (rows)[6]->member, (rows)[7]->member })
#define FMA(a, b, c)       ((Lanes)_mm512_fmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define FNMA(a, b, c)      ((Lanes)_mm512_fnmadd_pd((__m512d)(a), (__m512d)(b), (__m512d)(c)))
#define SELECT(mask, a, b) ((Lanes)_mm512_mask_mov_pd((__m512d)(a), mask, (__m512d)(b)))
#define SELECT_FRAME(mask, a, frame, n)                                                            \
  ((Lanes)((n) == 2U ? _mm512_mask_broadcast_f64x2((__m512d)(a), mask, _mm_loadu_pd(frame))        \
                     : _mm512_mask_broadcastsd_pd((__m512d)(a), mask, _mm_load_sd(frame))))
#define ROUND(mask, a)                                                                             \
  ((Lanes)_mm512_mask_cvtps_pd((__m512d)(a), mask, _mm512_cvtpd_ps((__m512d)(a))))
#define WORKS(frames, n) _mm512_cmplt_epu64_mask((__m512i)(frames), _mm512_set1_epi64(n))
#define MOVE(a, b, n)                                                                              \
  ((Lanes)((n) == 2U ? _mm512_alignr_epi64((__m512i)(a), (__m512i)(b), 2)                          \
                     : _mm512_alignr_epi64((__m512i)(a), (__m512i)(b), 1)))
#define PUT(to, a, n)                                                                              \
  ((n) == 2U ? _mm_storeu_pd(to, _mm512_castpd512_pd128((__m512d)(a)))                             \
             : _mm_store_sd(to, _mm512_castpd512_pd128((__m512d)(a))))
#include "cascade_wave.inc"

#endif
