// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The clock that plugins see: it rolls from frame 0 of an instance, at the tempo of the host, in
   4/4.
*/
#ifndef WARPRACK_PLUGINS_HOST_CLOCK_H
#define WARPRACK_PLUGINS_HOST_CLOCK_H

#include "engine/base/macros.h"

#include <stdbool.h>
#include <stdint.h>

#define HOST_CLOCK_BEATS_PER_BAR 4U
#define HOST_CLOCK_BEAT_UNIT     4U

typedef struct HostClock {
  double rate_hz, bpm;
  uint64_t n_frames;  ///< From the start to the next block
  uint64_t bpm_since; ///< Frame at which the tempo changed, ...
  double beats;       ///< ... and the beats until then
} HostClock;

/// A clock at the tempo that plugins have until host_clock_set(). [any]
HostClock host_clock(double rate_hz);

/// Go back to frame 0; the tempo stays. [any]
void host_clock_restart(HostClock* clock);

/// The beats from the start to a frame of the next block. [rt]
REALTIME double host_clock_beats(const HostClock* clock, uint32_t frame);

/// Set the tempo from a frame of the next block on, which is not before the last one.  Returns
/// false if it is that tempo already. [rt]
REALTIME bool host_clock_set(HostClock* clock, double bpm, uint32_t frame);

/// Go to the end of a block. [rt]
REALTIME void host_clock_advance(HostClock* clock, uint32_t n_frames);

#endif
