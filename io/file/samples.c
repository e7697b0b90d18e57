// SPDX-License-Identifier: GPL-3.0-or-later
// Conversion of samples.  The compiler vectorises the loops over samples; the exchange of channels
// and frames uses vectors of four floats, which every x86-64 processor has.

#include "samples.h"

#include "engine/base/simd.h"

#include <endian.h>
#include <math.h>
#include <string.h>

typedef float Four __attribute__((vector_size(16)));

#define INLINE __attribute__((always_inline)) static inline // into each clone of the caller

// ---- channels ----

INLINE void
transpose(Four rows[static 4])
{
  const Four left01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5);
  const Four left23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5);
  const Four right01 = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Four right23 = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(left01, left23, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(left01, left23, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(right01, right23, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(right01, right23, 2, 3, 6, 7);
}

/// Move four channels, four frames at a time, and the last frames one by one.
INLINE void
deinterleave_four(const float* from, const uint32_t n_channels, float* const* const to,
                  const uint32_t first, const uint32_t n_frames)
{
  uint32_t i = 0;
  for (; i + 4U <= n_frames; i += 4U, from += (size_t)4U * n_channels) {
    Four rows[4];
    for (uint32_t r = 0; r < 4U; ++r) {
      memcpy(&rows[r], from + (size_t)r * n_channels, sizeof(Four));
    }
    transpose(rows);
    for (uint32_t r = 0; r < 4U; ++r) {
      memcpy(to[r] + first + i, &rows[r], sizeof(Four));
    }
  }
  for (; i < n_frames; ++i, from += n_channels) {
    for (uint32_t r = 0; r < 4U; ++r) {
      to[r][first + i] = from[r];
    }
  }
}

INLINE void
interleave_four(const float* const* const from, const uint32_t n_channels, const uint32_t first,
                const uint32_t n_frames, float* to)
{
  uint32_t i = 0;
  for (; i + 4U <= n_frames; i += 4U, to += (size_t)4U * n_channels) {
    Four rows[4];
    for (uint32_t r = 0; r < 4U; ++r) {
      memcpy(&rows[r], from[r] + first + i, sizeof(Four));
    }
    transpose(rows);
    for (uint32_t r = 0; r < 4U; ++r) {
      memcpy(to + (size_t)r * n_channels, &rows[r], sizeof(Four));
    }
  }
  for (; i < n_frames; ++i, to += n_channels) {
    for (uint32_t r = 0; r < 4U; ++r) {
      to[r] = from[r][first + i];
    }
  }
}

INLINE void
deinterleave_two(const float* restrict const from, float* restrict const left,
                 float* restrict const right, const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    left[i] = from[(size_t)2U * i];
    right[i] = from[(size_t)2U * i + 1U];
  }
}

INLINE void
interleave_two(const float* restrict const left, const float* restrict const right,
               const uint32_t n_frames, float* restrict const to)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    to[(size_t)2U * i] = left[i];
    to[(size_t)2U * i + 1U] = right[i];
  }
}

VECTOR_CLONES void
samples_deinterleave(const float* const from, const uint32_t n_channels, float* const* const to,
                     const uint32_t first, const uint32_t n_frames)
{
  if (n_channels == 1U) {
    memcpy(to[0] + first, from, n_frames * sizeof(float));
    return;
  }
  if (n_channels == 2U) {
    deinterleave_two(from, to[0] + first, to[1] + first, n_frames);
    return;
  }
  uint32_t c = 0;
  for (; c + 4U <= n_channels; c += 4U) {
    deinterleave_four(from + c, n_channels, to + c, first, n_frames);
  }
  for (; c < n_channels; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      to[c][first + i] = from[(size_t)i * n_channels + c];
    }
  }
}

VECTOR_CLONES void
samples_interleave(const float* const* const from, const uint32_t n_channels, const uint32_t first,
                   const uint32_t n_frames, float* const to)
{
  if (n_channels == 1U) {
    memcpy(to, from[0] + first, n_frames * sizeof(float));
    return;
  }
  if (n_channels == 2U) {
    interleave_two(from[0] + first, from[1] + first, n_frames, to);
    return;
  }
  uint32_t c = 0;
  for (; c + 4U <= n_channels; c += 4U) {
    interleave_four(from + c, n_channels, first, n_frames, to + c);
  }
  for (; c < n_channels; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      to[(size_t)i * n_channels + c] = from[c][first + i];
    }
  }
}

// ---- numbers ----

/// The little-endian integer at `from`, in the upper bits.
INLINE int32_t
integer_at(const unsigned char* const from, const uint32_t n_bytes)
{
  uint32_t bits = 0;
  if (n_bytes == 2U) {
    uint16_t half = 0;
    memcpy(&half, from, sizeof(half));
    bits = (uint32_t)le16toh(half) << 16U;
  } else {
    memcpy(&bits, from, sizeof(bits)); // of 3: and a byte of the next one, or of SAMPLES_SLACK
    bits = le32toh(bits) << (n_bytes == 3U ? 8U : 0U);
  }
  return (int32_t)bits;
}

INLINE void
unpack(const unsigned char* restrict const from, const uint32_t n_bytes, const size_t n,
       float* restrict const to)
{
  for (size_t i = 0; i < n; ++i) {
    to[i] = (float)integer_at(from + i * n_bytes, n_bytes) * 0x1p-31F;
  }
}

VECTOR_CLONES void
samples_unpack(const unsigned char* const from, const uint32_t n_bytes, const size_t n,
               float* const to)
{
  if (n_bytes == 2U) {
    unpack(from, 2U, n, to);
  } else if (n_bytes == 3U) {
    unpack(from, 3U, n, to);
  } else {
    unpack(from, 4U, n, to);
  }
}

// Adding 1.5 * 2^52 to a small double rounds it to a whole number, in the lower bits of the sum.
VECTOR_CLONES uint32_t
samples_round(const float* restrict const from, const uint32_t bits, const uint32_t n,
              int32_t* restrict const to)
{
  const double full = ldexp(1.0, (int)bits - 1);
  uint32_t beyond = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const float x = from[i];
    double y = (double)x * full;
    y = y < full - 1.0 ? y : full - 1.0;
    y = y > -full ? y : -full;
    y += 0x1.8p52;
    int64_t sum = 0;
    memcpy(&sum, &y, sizeof(sum));
    to[i] = x == x ? (int32_t)sum : 0;
    beyond += !(fabsf(x) <= 1.0F); // also true for NaN
  }
  return beyond;
}

INLINE void
pack(const int32_t* restrict const from, const uint32_t n_bytes, const size_t n,
     unsigned char* restrict const to)
{
  for (size_t i = 0; i < n; ++i) {
    if (n_bytes == 2U) {
      const uint16_t half = htole16((uint16_t)from[i]);
      memcpy(to + 2U * i, &half, sizeof(half));
    } else {
      const uint32_t bits = htole32((uint32_t)from[i]);
      memcpy(to + n_bytes * i, &bits, sizeof(bits)); // of 3: and one of the next, or the slack
    }
  }
}

VECTOR_CLONES void
samples_pack(const int32_t* const from, const uint32_t n_bytes, const size_t n,
             unsigned char* const to)
{
  if (n_bytes == 2U) {
    pack(from, 2U, n, to);
  } else if (n_bytes == 3U) {
    pack(from, 3U, n, to);
  } else {
    pack(from, 4U, n, to);
  }
}

void
samples_swap_floats(void* const samples, const size_t n)
{
  uint32_t* const words = samples;
  for (size_t i = 0; i < n; ++i) {
    words[i] = htole32(words[i]); // nothing on little-endian machines
  }
}
