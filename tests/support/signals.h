// SPDX-License-Identifier: GPL-3.0-or-later
/// Test signals and comparisons.  All buffers are plain float arrays.
#ifndef WARPRACK_TESTS_SIGNALS_H
#define WARPRACK_TESTS_SIGNALS_H

#include <stddef.h>
#include <stdint.h>

/// White noise in [-1, 1).  The same seed gives the same noise on every machine.
void signal_noise(float* out, size_t n, uint64_t seed);

/// Noise whose level changes every 1800 frames: 0.02, `loud`, 0.3, 0, and again from 0.02.
void signal_bursts(float* out, size_t n, uint64_t seed, float loud);

/// amplitude * sin(2 pi frequency_hz t + phase_rad)
void signal_sine(float* out, size_t n, double frequency_hz, double rate_hz, double amplitude,
                 double phase_rad);

/// Next number of a small deterministic generator (splitmix64).
uint64_t signal_random(uint64_t* state);

/// Largest |a - b|; stores its index in *where unless `where` is NULL.  A NaN counts as infinity.
double max_difference(const float* a, const float* b, size_t n, size_t* where);

/// max_difference() from reference values in double precision.
double max_difference_double(const float* a, const double* b, size_t n, size_t* where);

/// Largest |x[i] - 2 x[i+1] + x[i+2]|, which is larger where the signal has a click.
double max_second_difference(const float* x, size_t n);

/// 20 log10(x); -400 for 0.
double decibels(double x);

#endif
