// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Analog lowpass prototypes with their edge at 1 rad/s: the classic families as poles and zeros.

   Plain data and bounded arithmetic: prototypes may be computed on an audio thread.
*/
#ifndef WARPRACK_DSP_CPU_PROTOTYPE_H
#define WARPRACK_DSP_CPU_PROTOTYPE_H

#include "engine/base/status.h"

#include <complex.h>
#include <stdint.h>

#define FILTER_MAX_ORDER 16U

typedef enum FilterType {
  FILTER_BUTTERWORTH,   ///< Edge: -3 dB
  FILTER_CHEBYSHEV1,    ///< Edge: the end of the ripple
  FILTER_CHEBYSHEV2,    ///< Edge: where the stopband begins
  FILTER_ELLIPTIC,      ///< Edge: the end of the ripple
  FILTER_BESSEL,        ///< Edge: half of the total phase (SciPy's norm='phase')
  FILTER_LINKWITZ_RILEY ///< Edge: -6 dB
} FilterType;

/// A prototype H(s), |H| <= 1.  Conjugate pairs are listed from the highest Q to the lowest, each
/// with the zeros nearest to it.
typedef struct Prototype {
  uint32_t n_pairs;
  double complex pole[FILTER_MAX_ORDER / 2U]; ///< Of each pair, the pole above the real axis
  double zero_period[FILTER_MAX_ORDER / 2U];  ///< 1 / frequency of the zero pair on the imaginary
                                              ///< axis; 0 when it is at infinity
  double real_pole;                           ///< Odd orders: the pole at s = -real_pole; else 0
  double gain;                                ///< H(0)
} Prototype;

/**
   The poles and zeros of one family.

   @param type Any but FILTER_LINKWITZ_RILEY, which is a Butterworth filter run twice.
   @param order 1 to FILTER_MAX_ORDER.
   @param ripple_db Passband ripple, > 0 (Chebyshev 1, elliptic).
   @param stopband_db Stopband attenuation, > ripple_db (Chebyshev 2, elliptic).
*/
REALTIME void // [rt]
prototype_make(FilterType type, uint32_t order, double ripple_db, double stopband_db,
               Prototype* out);

#endif
