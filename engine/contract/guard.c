// SPDX-License-Identifier: GPL-3.0-or-later
// The loops of the callback and of offline blocks.  They have no branches, so the compiler
// vectorises them; the sum of the squares, which it would otherwise add in order, by the pragma.
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

#include "engine/base/simd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define KNEE_DB 0.5 // below the ceiling

#define MAGNITUDE    0x7FFFFFFF
#define INFINITE     0x7F800000
#define FIRST_NORMAL 0x00800000

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

__attribute__((always_inline)) static inline GuardCounts
clean_row(float* restrict const out, const float* restrict const in, const uint32_t n_frames,
          const bool measures)
{
  int32_t bad = 0;
  int32_t denormal = 0;
  int32_t peak = 0;
  float energy = 0.0F;
#pragma omp simd reduction(+ : bad, denormal, energy) reduction(max : peak)
  for (uint32_t i = 0; i < n_frames; ++i) {
    const int32_t bits = bits_of(in[i]);
    const int32_t magnitude = bits & MAGNITUDE;
    const int32_t is_bad = magnitude >= INFINITE;
    const int32_t is_denormal = (magnitude < FIRST_NORMAL) & (magnitude > 0);
    // No condition: with one, the compiler does not vectorise the loop that adds the energy.
    const int32_t clean = bits & ((is_bad | is_denormal) - 1);
    const int32_t clean_magnitude = clean & MAGNITUDE;
    const float x = float_of(clean);
    out[i] = x;
    bad += is_bad;
    denormal += is_denormal;
    peak = clean_magnitude > peak ? clean_magnitude : peak;
    if (measures) {
      energy += x * x;
    }
  }
  return (GuardCounts){ .bad = (uint32_t)bad,
                        .denormal = (uint32_t)denormal,
                        .peak = float_of(peak),
                        .out = { measures ? float_of(peak) : 0.0F, (double)energy } };
}

VECTOR_CLONES GuardCounts
guard_clean(float* restrict const out, const float* restrict const in, const uint32_t n_frames)
{
  return clean_row(out, in, n_frames, false);
}

VECTOR_CLONES GuardCounts
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

void
guard_bend(float* const row, const uint32_t n_frames, const GuardCurve* const curve,
           GuardCounts* const counts)
{
  const GuardCurve c = *curve;
  if (counts->peak <= c.knee) {
    return;
  }
  int32_t bent = 0;
  int32_t full = 0;
  for (uint32_t i = 0; i < n_frames; ++i) {
    const float x = fabsf(row[i]);
    const int32_t is_bent = x > c.knee;
    row[i] = is_bent ? copysignf(limited(&c, x), row[i]) : row[i];
    bent += is_bent;
    full += x >= c.top;
  }
  counts->bent = (uint32_t)bent;
  counts->full = (uint32_t)full;
  counts->out = (Level){ limited(&c, counts->peak), guard_energy(row, n_frames) };
}

GuardCounts
guard_limit(float* restrict const out, const float* restrict const in, const uint32_t n_frames,
            const GuardCurve* const curve)
{
  GuardCounts counts = guard_measure(out, in, n_frames);
  guard_bend(out, n_frames, curve, &counts);
  return counts;
}

VECTOR_CLONES float
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
