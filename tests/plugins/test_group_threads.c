// SPDX-License-Identifier: GPL-3.0-or-later
// One ring of the bell runs all places, each by one thread at a time; none that was called is left
// out, also if another thread or a call has it; places that take long hold up no other, also if
// there are as many as threads and they always have work left; long work is shared.

#include "engine/base/rt.h"
#include "plugins/group/group_message.h"
#include "plugins/group/group_threads.h"
#include "tests/support/suite.h"

#include <stdatomic.h>
#include <unistd.h>

#define N_PLACES 3U

static Ring* bell;

static void
start(void)
{
  const RingShape shape = { .block_frames = 1U, .n_slots = 4U, .n_messages = 1U };
  Ring* other_side = NULL;
  OK(ring_new(&shape, &bell, &error));
  OK(ring_attach(ring_fd(bell), &other_side, &error));
  OK(group_threads_start(other_side, 0, &error));
}

static _Atomic uint32_t n_runs[N_PLACES];

static bool
count(void* const n)
{
  atomic_fetch_add((_Atomic uint32_t*)n, 1U);
  return false;
}

TEST(one_wake_runs_all_places)
{
  start();
  for (uint32_t p = 0; p < N_PLACES; ++p) {
    group_threads_set(p * 100U, count, &n_runs[p]); // with empty ones between them
  }
  ring_wake(bell);
  for (uint32_t p = 0; p < N_PLACES; ++p) {
    AWAIT(atomic_load(&n_runs[p]) > 0U);
  }
}

TEST(a_place_that_is_set_free_is_not_run)
{
  start();
  group_threads_set(0U, count, &n_runs[0]);
  group_threads_set(1U, count, &n_runs[1]);
  group_threads_set(0U, NULL, NULL);
  const uint32_t before = atomic_load(&n_runs[0]);
  ring_wake(bell);
  AWAIT(atomic_load(&n_runs[1]) > 0U); // later in the same visit
  ck_assert_uint_eq(atomic_load(&n_runs[0]), before);
}

TEST(a_place_that_a_call_holds_is_run_afterwards)
{
  start();
  group_threads_set(0U, count, &n_runs[0]);
  group_threads_set(1U, count, &n_runs[1]);
  group_threads_lock(0U);
  const uint32_t before = atomic_load(&n_runs[0]);
  const uint32_t before_other = atomic_load(&n_runs[1]);
  ring_wake(bell);
  AWAIT(atomic_load(&n_runs[1]) > before_other);
  ck_assert_uint_eq(atomic_load(&n_runs[0]), before);
  group_threads_unlock(0U);
  AWAIT(atomic_load(&n_runs[0]) > before);
}

// ---- a place that takes long ----

#define N_SLOW 3U

static atomic_bool is_over;
static _Atomic uint32_t n_slow;

static bool
wait_until_over(void* const unused)
{
  (void)unused;
  atomic_fetch_add(&n_slow, 1U);
  while (!atomic_load(&is_over)) {
    time_sleep(NS_PER_MS);
  }
  return false;
}

/// As a plugin that waits for a file.
TEST(places_that_take_long_hold_up_no_other)
{
  start();
  atomic_store(&is_over, true);
  for (uint32_t p = 0; p < N_SLOW; ++p) {
    group_threads_set(p, wait_until_over, NULL);
  }
  group_threads_set(N_SLOW, count, &n_runs[0]);
  ring_wake(bell);
  AWAIT(atomic_load(&n_runs[0]) > 0U && atomic_load(&n_slow) >= N_SLOW);
  time_sleep(20U * NS_PER_MS); // the visits are over
  atomic_store(&n_slow, 0U);
  atomic_store(&is_over, false);
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  while (atomic_load(&n_slow) < N_SLOW) {
    ck_assert_msg(time_now_ns() < end_ns, "%u of %u", atomic_load(&n_slow), N_SLOW);
    ring_wake(bell);
    time_sleep(NS_PER_MS);
  }
  for (uint32_t w = 0; w < 50U; ++w) {
    const uint32_t before = atomic_load(&n_runs[0]);
    ring_wake(bell);
    AWAIT(atomic_load(&n_runs[0]) > before);
  }
  atomic_store(&is_over, true);
}

static bool
work_until_over(void* const n)
{
  atomic_fetch_add((_Atomic uint32_t*)n, 1U);
  time_sleep(2U * NS_PER_MS);
  return !atomic_load(&is_over);
}

#define N_BUSY 16U // more than threads

/// As plugins that take longer than a block, and never catch up.
TEST(places_that_always_have_work_take_turns_with_the_others)
{
  static _Atomic uint32_t n_busy[N_BUSY];
  start();
  atomic_store(&is_over, false);
  for (uint32_t p = 0; p < N_BUSY; ++p) {
    group_threads_set(p, work_until_over, &n_busy[p]);
  }
  group_threads_set(N_BUSY, count, &n_runs[0]);
  for (uint32_t w = 0; w < 20U; ++w) {
    const uint32_t before = atomic_load(&n_runs[0]);
    const uint32_t before_busy = atomic_load(&n_busy[w % N_BUSY]);
    ring_wake(bell);
    AWAIT(atomic_load(&n_runs[0]) > before);
    AWAIT(atomic_load(&n_busy[w % N_BUSY]) > before_busy);
  }
  atomic_store(&is_over, true);
}

// ---- helpers ----

static atomic_bool waits, has_run, has_met;

static bool
work_long(void* const unused)
{
  (void)unused;
  time_sleep(NS_PER_MS);
  while (atomic_load(&waits) && !atomic_load(&has_run)) { // for the other place
    rt_pause();
  }
  atomic_store(&has_met, atomic_load(&waits));
  return false;
}

static bool
meet(void* const unused)
{
  (void)unused;
  atomic_store(&has_run, atomic_load(&waits));
  return false;
}

TEST(long_work_is_shared)
{
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
    suite_skip("one core");
    return;
  }
  start();
  group_threads_set(0U, work_long, NULL);
  group_threads_set(1U, meet, NULL);
  ring_wake(bell);
  time_sleep(20U * NS_PER_MS);
  atomic_store(&waits, true);
  const uint64_t end_ns = time_now_ns() + suite_limit_ns();
  while (!atomic_load(&has_met)) { // each visit calls helpers by the time of the last one
    ck_assert_msg(time_now_ns() < end_ns, "one thread has all the work");
    ring_wake(bell);
    time_sleep(NS_PER_MS);
  }
}

SUITE_MAIN("group_threads")
