// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Fits a cascade of filters to a curve of gain over frequency: a low shelf, peaks a third of an
   octave apart, and a high shelf.

   Method: damped least squares (Kenneth Levenberg, "A Method for the Solution of Certain Non-Linear
   Problems in Least Squares", 1944) on the decibels of the whole cascade, at four points per
   filter. The filters are the sections that the effects run (dsp_cpu/rbj.h) at EQ_CURVE_RATE_HZ: at
   other rates the bilinear transform moves their upper ends.
*/
#ifndef WARPRACK_TOOLS_EQ_CURVE_H
#define WARPRACK_TOOLS_EQ_CURVE_H

#include <stdint.h>

#define EQ_CURVE_FILTERS 29U     // 25 Hz to 16 kHz
#define EQ_CURVE_RATE_HZ 48000.0 // of the fit

typedef struct EqPoint {
  double frequency_hz, gain_db;
} EqPoint;

/// Filter 0 is the low shelf, the last one the high shelf.
typedef struct EqCurve {
  double gain_db; ///< Gain before the filters
  double frequency_hz[EQ_CURVE_FILTERS];
  double gains_db[EQ_CURVE_FILTERS];
  double q[EQ_CURVE_FILTERS];
  double worst_db;    ///< Largest difference from the curve, 20 Hz to 20 kHz
  double worst_at_hz; ///< Frequency of that difference
} EqCurve;

/// Fit filters to a curve through points of ascending frequency.  Like Equalizer APO's GraphicEQ,
/// the curve is straight between the points over the logarithm of the frequency, and flat outside.
/// [main]
void eq_curve_fit(const EqPoint* points, uint32_t n_points, EqCurve* curve);

#endif
