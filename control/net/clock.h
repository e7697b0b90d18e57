// SPDX-License-Identifier: GPL-3.0-or-later
/**
   OSC time tags on the monotonic clock.

   A time tag is wall-clock time (NTP, 32.32 bits).  It is translated once, against both clocks at
   the moment its packet arrived; from then on only the monotonic clock counts, so that a jump of
   the wall clock moves nothing that is already scheduled.
*/
#ifndef WARPRACK_CONTROL_NET_CLOCK_H
#define WARPRACK_CONTROL_NET_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define TAG_IMMEDIATELY 1U // OSC 1.0, "OSC Time Tags"
#define TAG_SECOND      (UINT64_C(1) << 32U)

/// One moment on both clocks.
typedef struct Instant {
  uint64_t ntp;          ///< Seconds since 1900 in the upper half, their fraction in the lower
  uint64_t monotonic_ns; ///< CLOCK_MONOTONIC, as the engine's
} Instant;

/// Now. [any]
Instant instant_now(void);

/// True for "immediately", and for 0, which is no time: libraries send it for a bundle without one.
/// [any]
bool tag_is_immediate(uint64_t tag);

/// Signed distance a - b of two time tags in 2^-32 s; right across the end of the NTP era in 2036.
int64_t tag_minus(uint64_t a, uint64_t b);

/// A time tag on the monotonic clock, at least 1; 0 for one that is immediate. [any]
uint64_t instant_of_tag(const Instant* arrival, uint64_t tag);

#endif
