// SPDX-License-Identifier: GPL-3.0-or-later

#include "reverb_rows.h"

#include "engine/base/simd.h"

#define N_LINES REVERB_LINES
#define N_PAIRS REVERB_PAIRS

// Vectors of the compiler.  Where the processor has only shorter ones, it splits them.
typedef float FourFloats __attribute__((vector_size(16)));
typedef float EightFloats __attribute__((vector_size(32)));
typedef uint32_t EightBits __attribute__((vector_size(32)));
typedef double FourDoubles __attribute__((vector_size(32)));
typedef double EightDoubles __attribute__((vector_size(64)));

// The same at any address.  gcc 12 keeps vectors that memcpy() fills out of the registers.
typedef FourFloats FourFloatsAt __attribute__((aligned(4), may_alias));
typedef EightFloats EightFloatsAt __attribute__((aligned(4), may_alias));
typedef EightDoubles EightDoublesAt __attribute__((aligned(8), may_alias));
typedef FourDoubles FourDoublesAt __attribute__((aligned(8), may_alias));

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

INLINE void
load(EightFloats* const v, const float* const from)
{
  *v = *(const EightFloatsAt*)from;
}

INLINE void
store(float* const to, const EightFloats* const v)
{
  *(EightFloatsAt*)to = *v;
}

/// Invert the sign if bit l of `signs` is set.
INLINE void
set_sign(EightFloats* const v, const uint32_t signs, const uint32_t l)
{
  const uint32_t bit = (signs >> l & 1U) << 31U;
  *v = (EightFloats)((EightBits)*v ^ bit);
}

/// v = H v, the n x n matrix.  A constant n keeps the rows in registers.
INLINE void
hadamard(EightFloats* const v, const uint32_t n)
{
  UNROLL
  for (uint32_t half = 1; half < n; half *= 2U) {
    UNROLL
    for (uint32_t r = 0; r < n; ++r) {
      if (!(r & half)) {
        const EightFloats sum = v[r] + v[r + half];
        v[r + half] = v[r] - v[r + half];
        v[r] = sum;
      }
    }
  }
}

/// n: the channels, rounded up to a power of two.
INLINE void
spread(const float* const* const channels, const uint32_t n_channels, const uint32_t n,
       const uint32_t signs, const float* const gain, const bool add, float* const rows,
       const size_t stride, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; i += 8U) {
    EightFloats v[N_LINES] = { 0 };
    EightFloats g;
    load(&g, gain + i);
    UNROLL
    for (uint32_t c = 0; c < n; ++c) {
      if (c < n_channels) {
        load(&v[c], channels[c] + i);
        v[c] *= g;
      }
    }
    hadamard(v, n);
    UNROLL
    for (uint32_t l = 0; l < N_LINES; ++l) {
      EightFloats x = v[l % n];
      set_sign(&x, signs, l);
      if (add) {
        EightFloats sum;
        load(&sum, rows + l * stride + i);
        x += sum;
      }
      store(rows + l * stride + i, &x);
    }
  }
}

VECTOR_CLONES_512 void
reverb_spread(const float* const* const channels, const uint32_t n_channels, const uint32_t signs,
              const float* const gain, const bool add, float* const rows, const size_t stride,
              const uint32_t n_frames)
{
  if (n_channels > 8U || signs || add) {
    spread(channels, n_channels, 16U, signs, gain, add, rows, stride, n_frames);
  } else if (n_channels > 2U) {
    spread(channels, n_channels, 8U, 0U, gain, false, rows, stride, n_frames);
  } else {
    spread(channels, n_channels, 2U, 0U, gain, false, rows, stride, n_frames);
  }
}

/// n: the channels, rounded up to a power of two.
INLINE void
gather(const float* const* const rows, const uint32_t signs, const float* const* const in,
       const float* const mix, float* const* const out, const uint32_t n_channels, const uint32_t n,
       const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; i += 8U) {
    EightFloats v[N_LINES];
    UNROLL
    for (uint32_t l = 0; l < N_LINES; ++l) {
      load(&v[l], rows[l] + i);
      set_sign(&v[l], signs, l);
    }
    UNROLL
    for (uint32_t half = N_LINES / 2U; half >= n; half /= 2U) {
      UNROLL
      for (uint32_t r = 0; r < half; ++r) {
        v[r] += v[r + half];
      }
    }
    hadamard(v, n);
    EightFloats wet;
    load(&wet, mix + i);
    UNROLL
    for (uint32_t c = 0; c < n; ++c) {
      if (c < n_channels) {
        EightFloats x;
        load(&x, in[c] + i);
        x = (1.0F - wet) * x + wet * v[c];
        store(out[c] + i, &x);
      }
    }
  }
}

VECTOR_CLONES_512 void
reverb_gather(const float* const* const rows, const uint32_t signs, const float* const* const in,
              const float* const mix, float* const* const out, const uint32_t n_channels,
              const uint32_t n_frames)
{
  if (n_channels > 8U || signs) {
    gather(rows, signs, in, mix, out, n_channels, 16U, n_frames);
  } else if (n_channels > 2U) {
    gather(rows, 0U, in, mix, out, n_channels, 8U, n_frames);
  } else {
    gather(rows, 0U, in, mix, out, n_channels, 2U, n_frames);
  }
}

VECTOR_CLONES_512 void
reverb_scatter(const float* const* const from, float* const to, const size_t stride,
               const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; i += 8U) {
    EightFloats v[N_LINES];
    UNROLL
    for (uint32_t l = 0; l < N_LINES; ++l) {
      load(&v[l], from[l] + i);
    }
    hadamard(v, N_LINES);
    UNROLL
    for (uint32_t l = 0; l < N_LINES; ++l) {
      store(to + l * stride + i, &v[l]);
    }
  }
}

VECTOR_CLONES_512 void
reverb_close(ReverbRows turned, const float* const* const scattered, float* const to,
             const size_t stride, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; i += 8U) {
    EightFloats v[N_LINES];
    UNROLL
    for (uint32_t l = 0; l < N_LINES; ++l) {
      EightFloats x;
      load(&x, turned[l] + i);
      load(&v[l], scattered[l] + i);
      v[l] = 0.25F * x + v[l];
    }
    hadamard(v, N_LINES);
    UNROLL
    for (uint32_t l = 0; l < N_LINES; ++l) {
      store(to + l * stride + i, &v[l]);
    }
  }
}

// ---- damping: frames of lines ----

#define TILE 4U // frames

/// A turn, with its steps from frame to frame.
typedef struct Turning {
  EightFloats cos, sin, cos_step, sin_step;
} Turning;

#define ZIP_LOWER(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ZIP_UPPER(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)

/// Transpose four vectors by two rounds of perfect shuffles.
INLINE void
transpose(FourFloats* const v)
{
  const FourFloats even_lower = ZIP_LOWER(v[0], v[2]);
  const FourFloats even_upper = ZIP_UPPER(v[0], v[2]);
  const FourFloats odd_lower = ZIP_LOWER(v[1], v[3]);
  const FourFloats odd_upper = ZIP_UPPER(v[1], v[3]);
  v[0] = ZIP_LOWER(even_lower, odd_lower);
  v[1] = ZIP_UPPER(even_lower, odd_lower);
  v[2] = ZIP_LOWER(even_upper, odd_upper);
  v[3] = ZIP_UPPER(even_upper, odd_upper);
}

/// Load a tile of eight lines as frames.
INLINE void
load_tile(const float* const* const from, const uint32_t first, EightFloats* const frames)
{
  FourFloats halves[2][TILE];
  UNROLL
  for (uint32_t l = 0; l < 8U; ++l) {
    halves[l / 4U][l % 4U] = *(const FourFloatsAt*)(from[l] + first);
  }
  transpose(halves[0]);
  transpose(halves[1]);
  UNROLL
  for (uint32_t i = 0; i < TILE; ++i) {
    frames[i] = __builtin_shufflevector(halves[0][i], halves[1][i], 0, 1, 2, 3, 4, 5, 6, 7);
  }
}

INLINE void
store_tile(const EightFloats* const frames, float (*const to)[REVERB_GRID], const uint32_t first)
{
  FourFloats halves[2][TILE];
  UNROLL
  for (uint32_t i = 0; i < TILE; ++i) {
    halves[0][i] = __builtin_shufflevector(frames[i], frames[i], 0, 1, 2, 3);
    halves[1][i] = __builtin_shufflevector(frames[i], frames[i], 4, 5, 6, 7);
  }
  transpose(halves[0]);
  transpose(halves[1]);
  UNROLL
  for (uint32_t l = 0; l < 8U; ++l) {
    *(FourFloatsAt*)(to[l] + first) = halves[l / 4U][l % 4U];
  }
}

/// Damp eight lines by one frame, in place.
INLINE void
damp_eight(EightFloats* const x, const double* const gain, const double* const pole,
           EightDoubles* const y)
{
  // In this order the compiler fuses the product with y: one operation from frame to frame.
  *y = *(const EightDoublesAt*)pole * *y +
       *(const EightDoublesAt*)gain * __builtin_convertvector(*x, EightDoubles);
  *x = __builtin_convertvector(*y, EightFloats);
}

/// Rotate the pairs by one frame, `at` frames after the beginning of the turn, in place.
INLINE void
turn_pairs(EightFloats* const a, EightFloats* const b, const Turning* const turning, const float at)
{
  const EightFloats c = turning->cos + turning->cos_step * at;
  const EightFloats s = turning->sin + turning->sin_step * at;
  const EightFloats turned = c * *a - s * *b;
  *b = s * *a + c * *b;
  *a = turned;
}

/// Damp and turn n_frames of a tile from frame `first` on.  damping_step: 1 if the damping moves,
/// else 0.
INLINE void
damp_tile(const float* const* const from, const ReverbDamping* const damping,
          const uint32_t damping_step, FourDoubles* const y, const Turning* const turning,
          const uint32_t phase, ReverbRows to, const uint32_t first, const uint32_t n_frames)
{
  EightFloats a[TILE], b[TILE];
  load_tile(from, first, a);
  load_tile(from + N_PAIRS, first, b);
  // Between tiles the state is in four vectors: gcc 12 stores longer ones in pieces.
  EightDoubles ya = __builtin_shufflevector(y[0], y[1], 0, 1, 2, 3, 4, 5, 6, 7);
  EightDoubles yb = __builtin_shufflevector(y[2], y[3], 0, 1, 2, 3, 4, 5, 6, 7);
  UNROLL
  for (uint32_t i = 0; i < n_frames; ++i) {
    const ReverbDamping* const now = damping + (size_t)damping_step * (first + i);
    damp_eight(&a[i], now->gain, now->pole, &ya);
    damp_eight(&b[i], now->gain + N_PAIRS, now->pole + N_PAIRS, &yb);
    turn_pairs(&a[i], &b[i], turning, (float)(int32_t)(phase + first + i));
  }
  y[0] = __builtin_shufflevector(ya, ya, 0, 1, 2, 3);
  y[1] = __builtin_shufflevector(ya, ya, 4, 5, 6, 7);
  y[2] = __builtin_shufflevector(yb, yb, 0, 1, 2, 3);
  y[3] = __builtin_shufflevector(yb, yb, 4, 5, 6, 7);
  store_tile(a, to, first);
  store_tile(b, to + N_PAIRS, first);
}

VECTOR_CLONES_512 void
reverb_damp(const float* const* const from, const ReverbDamping* const damping, const bool moves,
            double* const state, const ReverbTurn* const turn, const uint32_t phase, ReverbRows to,
            const uint32_t n_frames)
{
  FourDoublesAt* const ends = (FourDoublesAt*)state;
  FourDoubles y[] = { ends[0], ends[1], ends[2], ends[3] };
  Turning turning;
  load(&turning.cos, turn->cos_from);
  load(&turning.sin, turn->sin_from);
  load(&turning.cos_step, turn->cos_to);
  load(&turning.sin_step, turn->sin_to);
  turning.cos_step = (turning.cos_step - turning.cos) * (1.0F / REVERB_GRID);
  turning.sin_step = (turning.sin_step - turning.sin) * (1.0F / REVERB_GRID);
  uint32_t i = 0;
  for (; i + TILE <= n_frames; i += TILE) {
    damp_tile(from, damping, moves, y, &turning, phase, to, i, TILE);
  }
  if (i < n_frames) {
    damp_tile(from, damping, moves, y, &turning, phase, to, i, n_frames - i);
  }
  for (uint32_t q = 0; q < N_LINES / 4U; ++q) {
    ends[q] = y[q];
  }
}
