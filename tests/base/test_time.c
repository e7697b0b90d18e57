// SPDX-License-Identifier: GPL-3.0-or-later
// time_now_ns() reads the monotonic clock, a sleep has the requested length, and the deadline of a
// condition uses the same clock.

#include "engine/base/time.h"
#include "tests/support/suite.h"

TEST(the_clock_is_the_monotonic_one)
{
  struct timespec now;
  const uint64_t before = time_now_ns();
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t between = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
  ck_assert_uint_le(before, between);
  ck_assert_uint_le(between, time_now_ns());
}

TEST(a_length_is_split_into_seconds_and_nanoseconds)
{
  const struct timespec time = time_spec(2U * NS_PER_S + 3U * NS_PER_MS + 5U * NS_PER_US + 7U);
  ck_assert_int_eq(time.tv_sec, 2);
  ck_assert_int_eq(time.tv_nsec, 3005007);
}

TEST(a_sleep_is_not_shorter_than_asked_for)
{
  const uint64_t began_ns = time_now_ns();
  time_sleep(2U * NS_PER_MS);
  ck_assert_uint_ge(time_now_ns(), began_ns + 2U * NS_PER_MS);
  time_sleep_until(began_ns + 5U * NS_PER_MS);
  ck_assert_uint_ge(time_now_ns(), began_ns + 5U * NS_PER_MS);
}

TEST(a_condition_waits_until_the_deadline)
{
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t never;
  time_cond_init(&never);
  const uint64_t until_ns = time_now_ns() + 2U * NS_PER_MS;
  pthread_mutex_lock(&lock);
  while (time_cond_wait(&never, &lock, until_ns)) {
  }
  pthread_mutex_unlock(&lock);
  ck_assert_uint_ge(time_now_ns(), until_ns);
  pthread_cond_destroy(&never);
}

SUITE_MAIN("time")
