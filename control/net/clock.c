// SPDX-License-Identifier: GPL-3.0-or-later
// Wall clock, monotonic clock, and OSC time tags between them (NTP format: RFC 5905, section 6).

#include "clock.h"

#include "engine/base/time.h"

#define NTP_UNIX_SECONDS UINT64_C(2208988800) // 1900-01-01 to 1970-01-01

static uint64_t
ntp_of_ns(const uint64_t ns)
{
  return (ns / NS_PER_S) << 32U | ((ns % NS_PER_S) << 32U) / NS_PER_S;
}

Instant
instant_now(void)
{
  // Take the closest of three pairs, because the thread may lose the CPU between the two reads.
  Instant best = { 0, 0 };
  uint64_t best_gap = UINT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = time_clock_ns(CLOCK_MONOTONIC);
    const uint64_t wall = time_clock_ns(CLOCK_REALTIME);
    const uint64_t gap = time_clock_ns(CLOCK_MONOTONIC) - before;
    if (gap < best_gap) {
      best_gap = gap;
      best = (Instant){ (NTP_UNIX_SECONDS << 32U) + ntp_of_ns(wall), before + gap / 2U };
    }
  }
  return best;
}

Instant
instant_after(const Instant* const instant, const uint64_t monotonic_ns)
{
  return (Instant){ instant->ntp + ntp_of_ns(monotonic_ns - instant->monotonic_ns), monotonic_ns };
}

bool
tag_is_immediate(const uint64_t tag)
{
  return tag <= TAG_IMMEDIATELY;
}

int64_t
tag_minus(const uint64_t a, const uint64_t b)
{
  return (int64_t)(a - b);
}

uint64_t
instant_of_tag(const Instant* const arrival, const uint64_t tag)
{
  if (tag_is_immediate(tag)) {
    return 0;
  }
  const int64_t ahead = tag_minus(tag, arrival->ntp);
  const int64_t fraction_ns = (int64_t)(((uint64_t)(uint32_t)ahead * NS_PER_S) >> 32U);
  const int64_t ns =
      (int64_t)arrival->monotonic_ns + (ahead >> 32U) * (int64_t)NS_PER_S + fraction_ns;
  return ns < 1 ? 1U : (uint64_t)ns;
}
