// SPDX-License-Identifier: GPL-3.0-or-later
// The loops of the callback.  They have no branches, so the compiler vectorises them.  Wider
// vectors than the 4 lanes of baseline x86-64 would save little: with these, 64 channels in and out
// at 64 frames cost 0.45 % of the period.
//
// The knee is the usual quadratic one (Giannoulis, Massberg, Reiss, "Digital Dynamic Range
// Compressor Design - A Tutorial and Analysis", J. Audio Eng. Soc. 60(6), 2012, eq. 4, with an
// infinite ratio), here on amplitudes instead of decibels.  The formula is relative to the top of
// the knee.  Each operation, with its rounding, is monotone in x, so the curve is monotone; it only
// subtracts from the ceiling, so no result exceeds the ceiling.
//
// The bits of a sample show if it is denormal or not finite: on a thread that flushes denormals,
// comparisons treat denormals as 0, and other machines do not flush at all.

#include "guard.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define KNEE_DB 0.5 // below the ceiling

#define MAGNITUDE    0x7FFFFFFF
#define INFINITE     0x7F800000
#define FIRST_NORMAL 0x00800000

// The compiler does not add floats in another order, so the sum of the squares needs the lanes that
// it makes of the other loops by itself.
#define LANES 4U
typedef int32_t Ints __attribute__((vector_size(4U * LANES)));
typedef float Floats __attribute__((vector_size(4U * LANES)));
typedef int64_t Words __attribute__((vector_size(4U * LANES)));

static inline int32_t
bits_of(const float x)
{
  int32_t bits = 0;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

static inline float
float_of(const int32_t bits)
{
  float x = 0.0F;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

GuardCurve
guard_curve(const float ceiling)
{
  if (ceiling == 0.0F) {
    return (GuardCurve){ .knee = FLT_MAX, .top = INFINITY, .ceiling = FLT_MAX };
  }
  const float knee = (float)(ceiling * pow(10.0, -KNEE_DB / 20.0));
  return (GuardCurve){
    .knee = knee, .top = 2.0F * ceiling - knee, .ceiling = ceiling, .bend = 0.25F / (ceiling - knee)
  };
}

uint32_t
guard_count_bad(const float* const in, const uint32_t n_frames)
{
  int32_t bad = 0;
  for (uint32_t i = 0; i < n_frames; ++i) {
    bad += (bits_of(in[i]) & MAGNITUDE) >= INFINITE;
  }
  return (uint32_t)bad;
}

/// Counts of four channels of samples: each lane has every fourth sample.
typedef struct Lanes {
  Ints bad, denormal, peak;
  Floats energy;
} Lanes;

static inline Ints
larger_of(const Ints a, const Ints b)
{
  const Ints is_larger = a > b;
  return (a & is_larger) | (b & ~is_larger);
}

/// Clean four samples, and count.  Comparisons of vectors give -1 and 0.
static inline Ints
clean_four(const Ints bits, Lanes* const lanes, const bool measures)
{
  const Ints magnitude = bits & MAGNITUDE;
  const Ints is_bad = magnitude > INFINITE - 1;
  const Ints is_denormal = (magnitude < FIRST_NORMAL) & (magnitude > 0);
  const Ints clean = bits & ~(is_bad | is_denormal);
  lanes->peak = larger_of(clean & MAGNITUDE, lanes->peak);
  lanes->bad -= is_bad;
  lanes->denormal -= is_denormal;
  if (measures) {
    lanes->energy += (Floats)clean * (Floats)clean;
  }
  return clean;
}

/// True if a lane is not 0.
static inline bool
any_of(const Ints lanes)
{
  const Words words = (Words)lanes;
  return (words[0] | words[1]) != 0;
}

static inline uint32_t
sum_of(const Ints lanes)
{
  return (uint32_t)(lanes[0] + lanes[1] + lanes[2] + lanes[3]);
}

static inline GuardCounts
counts_of(const Lanes* const lanes, const bool measures)
{
  const Words halves = (Words)lanes->peak;
  const Ints two = larger_of(lanes->peak, (Ints)(Words){ halves[1], halves[0] });
  const float peak = float_of(two[0] > two[1] ? two[0] : two[1]);
  GuardCounts counts = { .peak = peak };
  if (any_of(lanes->bad | lanes->denormal)) {
    counts.bad = sum_of(lanes->bad);
    counts.denormal = sum_of(lanes->denormal);
  }
  if (measures) {
    const Floats energy = lanes->energy;
    counts.out = (Level){ peak, (double)(energy[0] + energy[1] + energy[2] + energy[3]) };
  }
  return counts;
}

static inline GuardCounts
clean_row(float* restrict const out, const float* restrict const in, const uint32_t n_frames,
          const bool measures)
{
  Lanes lanes = { { 0 }, { 0 }, { 0 }, { 0.0F } };
  const uint32_t n_whole = n_frames & ~(LANES - 1U);
  for (uint32_t i = 0; i < n_whole; i += LANES) {
    Ints four;
    memcpy(&four, in + i, sizeof(four));
    four = clean_four(four, &lanes, measures);
    memcpy(out + i, &four, sizeof(four));
  }
  if (n_whole < n_frames) {
    Ints rest = { 0 };
    memcpy(&rest, in + n_whole, (n_frames - n_whole) * sizeof(float));
    rest = clean_four(rest, &lanes, measures);
    memcpy(out + n_whole, &rest, (n_frames - n_whole) * sizeof(float));
  }
  return counts_of(&lanes, measures);
}

GuardCounts
guard_clean(float* restrict const out, const float* restrict const in, const uint32_t n_frames)
{
  return clean_row(out, in, n_frames, false);
}

GuardCounts
guard_measure(float* restrict const out, const float* restrict const in, const uint32_t n_frames)
{
  return clean_row(out, in, n_frames, true);
}

/// The magnitude that a magnitude above the knee becomes.
static inline float
limited(const GuardCurve* const c, const float x)
{
  const float below_top = c->top > x ? c->top - x : 0.0F;
  return c->ceiling - below_top * below_top * c->bend;
}

GuardCounts
guard_limit(float* restrict const out, const float* restrict const in, const uint32_t n_frames,
            const GuardCurve* const curve)
{
  const GuardCurve c = *curve;
  GuardCounts counts = guard_measure(out, in, n_frames);
  if (counts.peak <= c.knee) {
    return counts;
  }
  int32_t bent = 0;
  int32_t full = 0;
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float x = fabsf(out[i]);
    const int32_t is_bent = x > c.knee;
    out[i] = is_bent ? copysignf(limited(&c, x), out[i]) : out[i];
    bent += is_bent;
    full += x >= c.top;
  }
  counts.bent = (uint32_t)bent;
  counts.full = (uint32_t)full;
  counts.out = (Level){ limited(&c, counts.peak), guard_energy(out, n_frames) };
  return counts;
}

float
guard_peak(const float* const in, const uint32_t n_frames)
{
  int32_t peak = 0;
  for (uint32_t i = 0; i < n_frames; ++i) {
    const int32_t magnitude = bits_of(in[i]) & MAGNITUDE;
    peak = magnitude > peak ? magnitude : peak;
  }
  return float_of(peak);
}

double
guard_energy(const float* const in, const uint32_t n_frames)
{
  double sums[4] = { 0.0 }; // independent sums, which the compiler vectorises
  uint32_t i = 0;
  for (; i + 4U <= n_frames; i += 4U) {
    for (uint32_t s = 0; s < 4U; ++s) {
      sums[s] += (double)in[i + s] * (double)in[i + s];
    }
  }
  for (; i < n_frames; ++i) {
    sums[0] += (double)in[i] * (double)in[i];
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void
guard_fade(float* const out, const float* const from, const float* const to,
           const uint32_t n_frames)
{
  const float step = 1.0F / (float)n_frames;
  for (uint32_t i = 0; i + 1U < n_frames; ++i) {
    const float way = (float)(i + 1U) * step;
    const float gain = way * way * (3.0F - 2.0F * way);
    out[i] = from[i] * (1.0F - gain) + to[i] * gain;
  }
  out[n_frames - 1U] = to[n_frames - 1U];
}
