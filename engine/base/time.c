// SPDX-License-Identifier: GPL-3.0-or-later
// The clocks of the system in nanoseconds.

#include "time.h"

uint64_t
time_now_ns(void)
{
  return time_clock_ns(CLOCK_MONOTONIC);
}

uint64_t
time_clock_ns(const clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void
time_sleep_until(const uint64_t at_ns)
{
  const struct timespec at = time_spec(at_ns);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
  }
}

void
time_cond_init(pthread_cond_t* const condition)
{
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &monotonic);
  pthread_condattr_destroy(&monotonic);
}
