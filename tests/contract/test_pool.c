// SPDX-License-Identifier: GPL-3.0-or-later
// pool_run() runs every job exactly once, on several threads, and returns when all jobs are done.

#include "engine/base/rt.h"
#include "engine/contract/pool.h"
#include "tests/support/suite.h"

#include <dirent.h>
#include <float.h>
#include <stdio.h>
#include <time.h>

#define MAX_JOBS 300U

static Pool*
new_pool(const uint32_t n_helpers)
{
  Pool* pool = NULL;
  OK(pool_new(n_helpers, false, 0, &pool, &error));
  return pool;
}

typedef struct Tally {
  uint32_t runs[MAX_JOBS]; // not atomic: one per job, and pool_run() orders them
} Tally;

static void
count_job(void* const context, const uint32_t index)
{
  ++((Tally*)context)->runs[index];
}

TEST(every_job_runs_exactly_once)
{
  static const uint32_t n_helpers[] = { 0, 1, 3 };
  uint64_t n_wrong = 0;
  for (uint32_t h = 0; h < ARRAY_LEN(n_helpers); ++h) {
    Pool* const pool = new_pool(n_helpers[h]);
    ck_assert_uint_eq(pool_size(pool), n_helpers[h] + 1U);
    for (uint32_t n_jobs = 0; n_jobs <= MAX_JOBS; ++n_jobs) {
      Tally tally = { { 0 } };
      pool_run(pool, count_job, &tally, n_jobs);
      for (uint32_t j = 0; j < MAX_JOBS; ++j) {
        n_wrong += tally.runs[j] != (j < n_jobs);
      }
    }
    pool_free(pool);
  }
  ck_assert_uint_eq(n_wrong, 0);
}

TEST(without_a_pool_jobs_run_on_the_caller)
{
  Tally tally = { { 0 } };
  ck_assert_uint_eq(pool_size(NULL), 1);
  pool_run(NULL, count_job, &tally, 5);
  for (uint32_t j = 0; j < 6U; ++j) {
    ck_assert_uint_eq(tally.runs[j], j < 5U);
  }
  pool_free(NULL);
}

/// A job that ends only when all jobs have begun, so that each job needs its own thread.
typedef struct Meeting {
  uint32_t n_jobs;
  _Atomic uint32_t n_here;
} Meeting;

static void
meet(void* const context, const uint32_t index)
{
  (void)index;
  Meeting* const meeting = context;
  atomic_fetch_add(&meeting->n_here, 1U);
  while (atomic_load(&meeting->n_here) < meeting->n_jobs) {
    rt_pause();
  }
}

TEST(helpers_work_at_the_same_time_as_the_caller_also_after_a_sleep)
{
  Pool* const pool = new_pool(2);
  for (uint32_t k = 0; k < 30U; ++k) {
    Meeting meeting = { .n_jobs = 3 };
    pool_run(pool, meet, &meeting, 3);
    ck_assert_uint_eq(atomic_load(&meeting.n_here), 3);
    if (k % 2U) {
      const struct timespec pause = { 0, 2000000 }; // longer than helpers spin before they sleep
      nanosleep(&pause, NULL);
    }
  }
  pool_free(pool);
}

/// Two steps of a block: the second reads the results of the first in another order.
typedef struct Steps {
  uint64_t first[MAX_JOBS], second[MAX_JOBS];
  uint64_t round;
} Steps;

static void
write_first(void* const context, const uint32_t index)
{
  Steps* const steps = context;
  steps->first[index] = steps->round * MAX_JOBS + index;
}

static void
write_second(void* const context, const uint32_t index)
{
  Steps* const steps = context;
  steps->second[index] = steps->first[MAX_JOBS - 1U - index] + 1U;
}

TEST(each_run_sees_what_the_last_one_wrote)
{
  static Steps steps;
  uint64_t n_wrong = 0; // counted: each assertion of Check makes a system call
  Pool* const pool = new_pool(2);
  for (steps.round = 0; steps.round < 2000U; ++steps.round) {
    pool_run(pool, write_first, &steps, MAX_JOBS);
    pool_run(pool, write_second, &steps, MAX_JOBS);
    for (uint32_t j = 0; j < MAX_JOBS; ++j) {
      n_wrong += steps.second[j] != steps.round * MAX_JOBS + MAX_JOBS - j;
    }
  }
  ck_assert_uint_eq(n_wrong, 0);
  pool_free(pool);
}

static void
add_one(void* const context, const uint32_t index)
{
  (void)index;
  atomic_fetch_add_explicit((_Atomic uint64_t*)context, 1U, memory_order_relaxed);
}

TEST(no_job_is_lost_or_doubled_over_many_short_runs)
{
  Pool* const pool = new_pool(2);
  _Atomic uint64_t sum = 0;
  uint64_t wanted = 0;
  uint64_t n_wrong = 0;
  for (uint32_t k = 0; k < 100000U; ++k) {
    const uint32_t n_jobs = k % 5U;
    pool_run(pool, add_one, &sum, n_jobs);
    wanted += n_jobs;
    n_wrong += atomic_load(&sum) != wanted;
  }
  ck_assert_uint_eq(n_wrong, 0);
  pool_free(pool);
}

typedef struct Product {
  Meeting meeting;
  float factor, result[2];
} Product;

static void
make_denormal(void* const context, const uint32_t index)
{
  Product* const product = context;
  meet(&product->meeting, index);
  product->result[index] = FLT_MIN * product->factor;
}

TEST(helpers_flush_denormals)
{
  Pool* const pool = new_pool(1);
  Product product = { .meeting = { .n_jobs = 2 }, .factor = 0.5F };
  rt_flush_denormals();
  pool_run(pool, make_denormal, &product, 2);
  ck_assert(product.result[0] == 0.0F && product.result[1] == 0.0F);
  pool_free(pool);
}

/// True if the kernel shows both helpers of a pool as sleeping.
static bool
both_sleep(void)
{
  uint32_t n = 0;
  DIR* const threads = opendir("/proc/self/task");
  for (const struct dirent* entry; (entry = readdir(threads));) {
    char name[300];
    char state = '\0';
    snprintf(name, sizeof(name), "/proc/self/task/%s/stat", entry->d_name);
    FILE* const file = fopen(name, "r");
    n += file && fscanf(file, "%*d (warprack-helper) %c", &state) == 1 && state == 'S';
    if (file) {
      fclose(file);
    }
  }
  closedir(threads);
  return n == 2U;
}

TEST(idle_helpers_sleep)
{
  Pool* const pool = new_pool(2);
  Meeting meeting = { .n_jobs = 3 };
  pool_run(pool, meet, &meeting, 3);
  AWAIT(both_sleep());
  pool_free(pool);
}

TEST(a_pool_that_never_ran_or_sleeps_can_be_freed)
{
  for (uint32_t k = 0; k < 20U; ++k) {
    Pool* const pool = new_pool(3);
    if (k % 2U) {
      const struct timespec pause = { 0, 1000000 };
      nanosleep(&pause, NULL);
    }
    pool_free(pool);
  }
}

TEST(too_many_helpers_are_refused)
{
  Pool* pool = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert(pool_new(POOL_MAX_HELPERS + 1U, false, 0, &pool, &error) == STATUS_BAD_ARG);
  ck_assert(!pool && error.text[0]);
}

SUITE_MAIN("pool")
