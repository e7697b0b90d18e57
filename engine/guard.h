// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The loops of the callback over one channel: copy with a guard, and fade.
*/
#ifndef WARPRACK_ENGINE_GUARD_H
#define WARPRACK_ENGINE_GUARD_H

#include "status.h"

#include <stdint.h>

/// What a guard met.
typedef struct GuardCounts {
  uint32_t bad;     ///< NaN or Inf samples, now 0
  uint32_t clipped; ///< Finite samples beyond the ceiling, now at the ceiling
} GuardCounts;

/// Copy `n_frames` samples; NaN and Inf become 0, the rest is limited to ±ceiling (at most FLT_MAX,
/// which limits nothing).  Samples within the ceiling are copied exactly, but for denormal ones on
/// a thread that flushes them. [rt]
REALTIME GuardCounts guard_copy(float* restrict out, const float* restrict in, uint32_t n_frames,
                                float ceiling);

/// Fade from one signal to the other.  `to` has weight 3 w² - 2 w³ at w = (i + 1) / n_frames,
/// `from` the rest: equal gain, without a corner at either end, and the last frame is `to` alone.
/// `out` may be `from` or `to`. [rt]
REALTIME void guard_fade(float* out, const float* from, const float* to, uint32_t n_frames);

#endif
