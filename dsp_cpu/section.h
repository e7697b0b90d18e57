// SPDX-License-Identifier: GPL-3.0-or-later
/**
   One second-order section of a filter, written by the filter designs and run by the cascade: an
   analog transfer function

            b2 s^2 + b1 s + b0
     H(s) = ------------------      with  s = (1 - z^-1) / (1 + z^-1)
               s^2 + a1 s + a0

   in the variable of the bilinear transform, so that a frequency f is the point
   s = j tan(pi f / rate): section_warp() computes the prewarping.  The section is stable for a1 > 0
   and a0 > 0.  Unlike the coefficients of 1 + a1 z^-1 + a2 z^-2, these numbers do not lose
   precision by cancellation at low frequencies.
*/
#ifndef WARPRACK_DSP_CPU_SECTION_H
#define WARPRACK_DSP_CPU_SECTION_H

#include <math.h>

typedef struct Section {
  double b2, b1, b0;
  double a1, a0;
} Section;

/// Designs clamp their frequencies to this fraction of the rate, just below Nyquist.
#define SECTION_MAX_FREQUENCY 0.499

/// The imaginary part of s at a frequency: tan(pi f / rate).
static inline double
section_warp(const double frequency_hz, const double rate_hz)
{
  return tan(M_PI * fmin(frequency_hz / rate_hz, SECTION_MAX_FREQUENCY));
}

/// (b1 s + b0) / (s + a0), times (s + 1) / (s + 1): the added pole and zero lie at z = 0.
static inline Section
section_first_order(const double b1, const double b0, const double a0)
{
  return (Section){ .b2 = b1, .b1 = b1 + b0, .b0 = b0, .a1 = a0 + 1.0, .a0 = a0 };
}

#endif
