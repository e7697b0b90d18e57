// SPDX-License-Identifier: GPL-3.0-or-later
/**
   OSC time tags on the monotonic clock.

   A time tag is wall-clock time (NTP, 32.32 bits).  The server converts it once, with both clocks
   at the arrival of its packet, and then uses only the monotonic clock.  A later jump of the wall
   clock therefore does not move scheduled bundles.
*/
#ifndef WARPRACK_CONTROL_NET_CLOCK_H
#define WARPRACK_CONTROL_NET_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define TAG_IMMEDIATELY 1U // OSC 1.0, "OSC Time Tags"
#define TAG_SECOND      (UINT64_C(1) << 32U)

/// One instant on both clocks.
typedef struct Instant {
  uint64_t ntp;          ///< Seconds since 1900 in the upper half, the fraction in the lower half
  uint64_t monotonic_ns; ///< CLOCK_MONOTONIC, like the engine's times
} Instant;

/// Read both clocks, several times each, because a pause between them would be an error. [any]
Instant instant_now(void);

/// An instant shortly after another one: both clocks have run on. [any]
Instant instant_after(const Instant* instant, uint64_t monotonic_ns);

/// True for "immediately", and for 0, which libraries send for a bundle without a time. [any]
bool tag_is_immediate(uint64_t tag);

/// Signed difference a - b of two time tags in 2^-32 s; correct across the end of the NTP era in
/// 2036. [any]
int64_t tag_minus(uint64_t a, uint64_t b);

/// Convert a time tag to the monotonic clock: at least 1 ns; 0 for an immediate tag. [any]
uint64_t instant_of_tag(const Instant* arrival, uint64_t tag);

#endif
