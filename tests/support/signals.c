// SPDX-License-Identifier: GPL-3.0-or-later
// Test signals and comparisons.

#include "signals.h"

#include <math.h>

uint64_t
signal_random(uint64_t* const state)
{
  uint64_t z = (*state += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

void
signal_noise(float* const out, const size_t n, const uint64_t seed)
{
  uint64_t state = seed;
  for (size_t i = 0; i < n; ++i) {
    out[i] = (float)((double)(signal_random(&state) >> 40U) / 8388608.0 -
                     1.0); // 24 bits: exact in float
  }
}

void
signal_bursts(float* const out, const size_t n, const uint64_t seed, const float loud)
{
  const float levels[] = { 0.02F, loud, 0.3F, 0.0F };
  signal_noise(out, n, seed);
  for (size_t i = 0; i < n; ++i) {
    out[i] *= levels[i / 1800U % 4U];
  }
}

void
signal_sine(float* const out, const size_t n, const double frequency_hz, const double rate_hz,
            const double amplitude, const double phase_rad)
{
  for (size_t i = 0; i < n; ++i) {
    out[i] = (float)(amplitude * sin(2.0 * M_PI * frequency_hz * (double)i / rate_hz + phase_rad));
  }
}

static void
keep_largest(const double difference, const size_t i, double* const largest, size_t* const where)
{
  if (!(difference <= *largest)) { // also true for NaN
    *largest = isnan(difference) ? INFINITY : difference;
    if (where) {
      *where = i;
    }
  }
}

double
max_difference(const float* const a, const float* const b, const size_t n, size_t* const where)
{
  double largest = 0.0;
  for (size_t i = 0; i < n; ++i) {
    keep_largest(fabs((double)a[i] - (double)b[i]), i, &largest, where);
  }
  return largest;
}

double
max_difference_double(const float* const a, const double* const b, const size_t n,
                      size_t* const where)
{
  double largest = 0.0;
  for (size_t i = 0; i < n; ++i) {
    keep_largest(fabs((double)a[i] - b[i]), i, &largest, where);
  }
  return largest;
}

double
max_second_difference(const float* const x, const size_t n)
{
  double largest = 0.0;
  for (size_t i = 0; i + 2U < n; ++i) {
    keep_largest(fabs((double)x[i] - 2.0 * (double)x[i + 1U] + (double)x[i + 2U]), i, &largest,
                 NULL);
  }
  return largest;
}

double
decibels(const double x)
{
  return x > 1e-20 ? 20.0 * log10(x) : -400.0;
}
