// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Time in nanoseconds: units, the monotonic clock, sleep, and conditions with a deadline.
*/
#ifndef WARPRACK_ENGINE_BASE_TIME_H
#define WARPRACK_ENGINE_BASE_TIME_H

#include "macros.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

/// Nanoseconds of CLOCK_MONOTONIC (vDSO: no system call). [rt]
REALTIME uint64_t time_now_ns(void);

/// Nanoseconds of `clock`. [any]
uint64_t time_clock_ns(clockid_t clock);

/// `ns` as a struct for system calls: a duration or a point in time. [any]
static inline struct timespec
time_spec(const uint64_t ns)
{
  return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S) };
}

/// Sleep for `ns`, less if a signal handler runs. [any]
static inline void
time_sleep(const uint64_t ns)
{
  const struct timespec time = time_spec(ns);
  nanosleep(&time, NULL);
}

/// Sleep until time_now_ns() is `at_ns`, also across signal handlers. [any]
void time_sleep_until(uint64_t at_ns);

/// Initialise a condition for time_cond_wait(); it uses the monotonic clock, so that changes of
/// the wall clock have no effect. [any]
void time_cond_init(pthread_cond_t* condition);

/// Wait for a signal until time_now_ns() is `until_ns`; may also return spuriously.  Returns false
/// after the deadline. [any]
static inline bool
time_cond_wait(pthread_cond_t* const condition, pthread_mutex_t* const lock,
               const uint64_t until_ns)
{
  const struct timespec until = time_spec(until_ns);
  return pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT;
}

#endif
