// SPDX-License-Identifier: GPL-3.0-or-later
// FIR filters by the window method; see fir_design.h for the sources.

#include "fir_design.h"

#include <math.h>

static double
sinc(const double x)
{
  return x == 0.0 ? 1.0 : sin(M_PI * x) / (M_PI * x);
}

/// Ideal low pass up to `edge`, at `t` frames from the middle.
static double
ideal(const double edge, const double t)
{
  return edge * sinc(edge * t);
}

static double
ideal_band(const FirDesign* const design, const double t)
{
  switch (design->band) {
  case FIR_LOWPASS:
    return ideal(design->low, t);
  case FIR_HIGHPASS:
    return ideal(1.0, t) - ideal(design->low, t);
  case FIR_BANDPASS:
    return ideal(design->high, t) - ideal(design->low, t);
  default:
    return ideal(1.0, t) - ideal(design->high, t) + ideal(design->low, t);
  }
}

/// The frequency at which the gain is scaled to 1, as a fraction of half the rate.
static double
reference_frequency(const FirDesign* const design)
{
  switch (design->band) {
  case FIR_HIGHPASS:
    return 1.0;
  case FIR_BANDPASS:
    return 0.5 * (design->low + design->high);
  default:
    return 0.0;
  }
}

/// Modified Bessel function of the first kind, order 0, by its power series: all terms are
/// positive, so it is exact to rounding.
static double
bessel_i0(const double x)
{
  double sum = 1.0;
  double term = 1.0;
  for (uint32_t k = 1; term > 1e-17 * sum; ++k) {
    const double factor = x / (2.0 * k);
    term *= factor * factor;
    sum += term;
  }
  return sum;
}

/// The window at `x` in [-1, 1]; its centre is 0.
static double
window_at(const FirWindow window, const double beta, const double x)
{
  static const double cosines[][4] = {
    [FIR_HANN] = { 0.5, 0.5 },
    [FIR_HAMMING] = { 0.54, 0.46 },
    [FIR_BLACKMAN] = { 0.42, 0.5, 0.08 },
    [FIR_BLACKMANHARRIS] = { 0.35875, 0.48829, 0.14128, 0.01168 },
  };
  if (window == FIR_KAISER) {
    return bessel_i0(beta * sqrt(fmax(0.0, 1.0 - x * x))) / bessel_i0(beta);
  }
  double sum = 0.0;
  for (int k = 0; k < 4; ++k) {
    sum += cosines[window][k] * cos(k * M_PI * x);
  }
  return sum;
}

void
fir_design(const FirDesign* const design, double* const taps)
{
  const double middle = 0.5 * (design->n_taps - 1.0);
  const double reference = reference_frequency(design);
  double gain = 0.0;
  for (uint32_t i = 0; i < design->n_taps; ++i) {
    const double t = i - middle;
    const double x = middle > 0.0 ? t / middle : 0.0;
    taps[i] = ideal_band(design, t) * window_at(design->window, design->beta, x);
    gain += taps[i] * cos(M_PI * reference * t);
  }
  for (uint32_t i = 0; i < design->n_taps; ++i) {
    taps[i] /= gain;
  }
}
