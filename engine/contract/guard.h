// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The loops of the callback over one channel: copy with a guard, and fade.

   The guard of the outputs has a soft knee, so that a signal that just reaches the ceiling is not
   clipped with a corner.  With C the ceiling, K = C - 0.5 dB the knee and T = 2 C - K (0.47 dB
   above C):

     |x| <= K       y = x                          to the bit
     K < |x| < T    |y| = C - (T - |x|)² / (4 (C - K))
     T <= |x|       |y| = C

   Value and slope are continuous (slope 1 at K, 0 at T), |y| never falls as |x| grows and is never
   above C.  At the default ceiling of -0.3 dBFS the knee is at -0.8 dBFS: a rack that ends in a
   limiter at -1 dB is not altered.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_GUARD_H
#define WARPRACK_ENGINE_CONTRACT_GUARD_H

#include "level.h"

#include "engine/base/status.h"

#include <stdint.h>

/// The curve of an output guard; linear amplitudes.
typedef struct GuardCurve {
  float knee;    ///< K: samples up to here are unchanged
  float top;     ///< T: samples from here on are at the ceiling
  float ceiling; ///< C
  float bend;    ///< 1 / (4 (C - K))
} GuardCurve;

/// Counts of one call of a guard.
typedef struct GuardCounts {
  uint32_t bad;      ///< NaN or Inf samples, replaced by 0
  uint32_t denormal; ///< Denormal samples, replaced by 0
  uint32_t bent;     ///< Finite samples above the knee, reduced
  uint32_t full;     ///< Samples among `bent` that are at the ceiling
  float peak;        ///< Largest finite magnitude of the input
  Level out;         ///< Of the output; guard_clean() does not measure it
} GuardCounts;

/// The curve for a ceiling; a ceiling of 0 gives a curve that does not limit. [any]
GuardCurve guard_curve(float ceiling);

/// The number of NaN or Inf among `n_frames` samples. [rt]
REALTIME uint32_t guard_count_bad(const float* in, uint32_t n_frames);

/// Copy `n_frames` samples; NaN, Inf and denormals become 0. [rt]
REALTIME GuardCounts guard_clean(float* restrict out, const float* restrict in, uint32_t n_frames);

/// As guard_clean(), and measure the output in the same pass. [rt]
REALTIME GuardCounts guard_measure(float* restrict out, const float* restrict in,
                                   uint32_t n_frames);

/// As guard_measure(), but samples above the knee follow the curve. [rt]
REALTIME GuardCounts guard_limit(float* restrict out, const float* restrict in, uint32_t n_frames,
                                 const GuardCurve* curve);

/// The rest of guard_limit() after guard_measure(): let samples above the knee follow the curve.
/// `counts`: of that call; counts and measures the result. [rt]
REALTIME void
guard_bend(float* row, uint32_t n_frames, const GuardCurve* curve, GuardCounts* counts);

/// Largest magnitude of `n_frames` finite samples. [rt]
REALTIME float guard_peak(const float* in, uint32_t n_frames);

/// The sum of the squares of `n_frames` samples. [rt]
REALTIME double guard_energy(const float* in, uint32_t n_frames);

/// Cross-fade `from` to `to`.  The weight of `to` is 3 w² - 2 w³ with w = (i + 1) / n_frames, that
/// of `from` is 1 minus it: equal gain, no corner at either end, the last frame is `to` alone.
/// `out` may be `from` or `to`. [rt]
REALTIME void guard_fade(float* out, const float* from, const float* to, uint32_t n_frames);

#endif
