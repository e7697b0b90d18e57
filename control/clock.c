// SPDX-License-Identifier: GPL-3.0-or-later
// Wall clock, monotonic clock, and OSC time tags between them (NTP format: RFC 5905, section 6).

#include "clock.h"

#include <time.h>

#define NTP_UNIX_SECONDS UINT64_C(2208988800) // 1900-01-01 to 1970-01-01
#define SECOND_NS        INT64_C(1000000000)

static uint64_t
read_ns(const clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * (uint64_t)SECOND_NS + (uint64_t)now.tv_nsec;
}

static uint64_t
ntp_of_unix_ns(const uint64_t ns)
{
  const uint64_t seconds = ns / (uint64_t)SECOND_NS + NTP_UNIX_SECONDS;
  return seconds << 32U | ((ns % (uint64_t)SECOND_NS) << 32U) / (uint64_t)SECOND_NS;
}

Instant
instant_now(void)
{
  // The closest of three pairs: a thread that is put to sleep between the two reads tears them.
  Instant best = { 0, 0 };
  uint64_t best_gap = UINT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = read_ns(CLOCK_MONOTONIC);
    const uint64_t wall = read_ns(CLOCK_REALTIME);
    const uint64_t gap = read_ns(CLOCK_MONOTONIC) - before;
    if (gap < best_gap) {
      best_gap = gap;
      best = (Instant){ ntp_of_unix_ns(wall), before + gap / 2U };
    }
  }
  return best;
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
  const int64_t fraction_ns = (int64_t)(((uint64_t)(uint32_t)ahead * (uint64_t)SECOND_NS) >> 32U);
  const int64_t ns = (int64_t)arrival->monotonic_ns + (ahead >> 32U) * SECOND_NS + fraction_ns;
  return ns < 1 ? 1U : (uint64_t)ns;
}
