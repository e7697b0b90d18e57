// SPDX-License-Identifier: GPL-3.0-or-later
/*
   Helpers claim jobs from one 64-bit ticket, {run number : 32, jobs left to claim : 32}, by
   compare-and-swap.  A helper that is late for a run cannot claim a job of the next run by
   mistake, because its compare-and-swap has the old run number.  It may read `job` and `context`
   while the caller writes the values of the next run, but then its claim fails and it discards the
   values; `job` and `context` are atomic only to make this read defined.

   Sleeping: a helper increments `sleepers`, then reads `run` once more, then sleeps on `run`; the
   caller changes `run`, then reads `sleepers`.  Both pairs are sequentially consistent, so the
   helper sees the new run or the caller sees the sleeper.  The caller waits for the last job in the
   same way, with `caller_sleeps` and `done`.
*/

#include "pool.h"

#include "engine/base/recorder.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <sched.h>
#include <stdalign.h>
#include <stdlib.h>

#define LINE_BYTES 128U // two cache lines: the prefetcher fetches pairs

// Steps of a block are microseconds apart, blocks hundreds of microseconds: helpers spin between
// steps and sleep between blocks.
#define SPIN_NS 50000U

// Pauses between two calls of time_now_ns(), which costs as much as a few pauses.
#define PAUSES_PER_CHECK 16U

struct Pool {
  alignas(LINE_BYTES) _Atomic uint64_t ticket;   // claimed by all threads
  alignas(LINE_BYTES) _Atomic uint32_t run;      // number of the run; helpers sleep on it
  _Atomic(void (*)(void*, uint32_t)) job;        // written by the caller, before `ticket`
  _Atomic(void*) context;                        // written by the caller, before `ticket`
  _Atomic bool stop;                             // written by pool_free()
  alignas(LINE_BYTES) _Atomic uint32_t done;     // jobs of this run that are done
  _Atomic uint32_t n_jobs;                       // of this run
  _Atomic bool caller_sleeps;                    // the caller sleeps on `done`
  alignas(LINE_BYTES) _Atomic uint32_t sleepers; // helpers that sleep or are about to
  uint32_t n_helpers;
  bool realtime;
  int priority;
  pthread_t helpers[POOL_MAX_HELPERS];
};

/// Spin until *word differs from `old`; false if SPIN_NS pass first.  `yields`: let other threads
/// run on this core meanwhile.
static bool
spin_while(const _Atomic uint32_t* const word, const uint32_t old, const bool yields)
{
  const uint64_t began = time_now_ns();
  do {
    for (uint32_t i = 0; i < PAUSES_PER_CHECK; ++i) {
      if (atomic_load_explicit(word, memory_order_acquire) != old) {
        return true;
      }
      rt_pause();
    }
    if (yields) {
      sched_yield();
    }
  } while (time_now_ns() - began < SPIN_NS);
  return false;
}

static void
finish_job(Pool* const pool)
{
  const uint32_t n_jobs = atomic_load_explicit(&pool->n_jobs, memory_order_relaxed);
  if (atomic_fetch_add(&pool->done, 1U) + 1U == n_jobs && atomic_load(&pool->caller_sleeps)) {
    rt_futex_wake(&pool->done);
  }
}

/// Claim and run jobs of the current run until none is left.
static void
take_part(Pool* const pool)
{
  uint64_t ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
  while ((uint32_t)ticket) {
    void (*const job)(void*, uint32_t) = atomic_load_explicit(&pool->job, memory_order_relaxed);
    void* const context = atomic_load_explicit(&pool->context, memory_order_relaxed);
    if (atomic_compare_exchange_weak_explicit(&pool->ticket, &ticket, ticket - 1U,
                                              memory_order_acquire, memory_order_acquire)) {
      job(context, (uint32_t)ticket - 1U);
      finish_job(pool);
      ticket = atomic_load_explicit(&pool->ticket, memory_order_acquire);
    }
  }
}

static void
sleep_until_run(Pool* const pool, const uint32_t last_run)
{
  atomic_fetch_add(&pool->sleepers, 1U);
  while (atomic_load(&pool->run) == last_run) {
    rt_futex_wait(&pool->run, last_run, UINT64_MAX);
  }
  atomic_fetch_sub(&pool->sleepers, 1U);
}

static void*
helper_main(void* const context)
{
  Pool* const pool = context;
  rt_flush_denormals();
  recorder_thread_plays();
  if (pool->realtime) {
    // The caller of pool_new() tests the privilege and reports its absence.
    (void)rt_become_realtime(pool->priority, NULL);
  }
  for (uint32_t run = 0; !atomic_load_explicit(&pool->stop, memory_order_acquire);) {
    // Without a real-time priority, other threads may need this core: in `render`, those that read
    // and write the files.
    if (!spin_while(&pool->run, run, !pool->realtime)) {
      sleep_until_run(pool, run);
    }
    run = atomic_load_explicit(&pool->run, memory_order_acquire);
    rt_section_enter();
    take_part(pool);
    rt_section_leave();
  }
  recorder_thread_end();
  return NULL;
}

Status
pool_new(const uint32_t n_helpers, const bool realtime, const int priority, Pool** const out,
         Error* const error)
{
  if (n_helpers > POOL_MAX_HELPERS) {
    return error_set(error, STATUS_BAD_ARG, "%u helper threads: at most %u", n_helpers,
                     POOL_MAX_HELPERS);
  }
  Pool* const pool = aligned_alloc(LINE_BYTES, sizeof(Pool));
  if (!pool) {
    return error_set(error, STATUS_NO_MEM, "no memory for the worker pool");
  }
  *pool = (Pool){ .realtime = realtime, .priority = priority };
  for (; pool->n_helpers < n_helpers; ++pool->n_helpers) {
    const Status status = rt_thread_start("warprack-helper", helper_main, pool,
                                          &pool->helpers[pool->n_helpers], error);
    if (status) {
      pool_free(pool);
      return status;
    }
  }
  *out = pool;
  return STATUS_OK;
}

void
pool_free(Pool* const pool)
{
  if (!pool) {
    return;
  }
  atomic_store(&pool->stop, true);
  atomic_fetch_add(&pool->run, 1U);
  rt_futex_wake(&pool->run);
  for (uint32_t h = 0; h < pool->n_helpers; ++h) {
    pthread_join(pool->helpers[h], NULL);
  }
  free(pool);
}

uint32_t
pool_size(const Pool* const pool)
{
  return pool ? pool->n_helpers + 1U : 1U;
}

/// Wait until every job is done.
static void
wait_done(Pool* const pool, const uint32_t n_jobs)
{
  uint32_t done = atomic_load_explicit(&pool->done, memory_order_acquire);
  while (done != n_jobs) {
    if (!spin_while(&pool->done, done, false)) {
      atomic_store(&pool->caller_sleeps, true);
      done = atomic_load(&pool->done);
      if (done != n_jobs) {
        rt_futex_wait(&pool->done, done, UINT64_MAX);
      }
      atomic_store(&pool->caller_sleeps, false);
    }
    done = atomic_load_explicit(&pool->done, memory_order_acquire);
  }
}

void
pool_run(Pool* const pool, void (*const job)(void* context, uint32_t index), void* const context,
         const uint32_t n_jobs)
{
  if (pool_size(pool) == 1U || n_jobs < 2U) {
    for (uint32_t i = 0; i < n_jobs; ++i) {
      job(context, i);
    }
    return;
  }
  const uint32_t run = atomic_load_explicit(&pool->run, memory_order_relaxed) + 1U;
  atomic_store_explicit(&pool->job, job, memory_order_relaxed);
  atomic_store_explicit(&pool->context, context, memory_order_relaxed);
  atomic_store_explicit(&pool->n_jobs, n_jobs, memory_order_relaxed);
  atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
  atomic_store_explicit(&pool->ticket, (uint64_t)run << 32U | n_jobs, memory_order_release);
  atomic_store(&pool->run, run);
  if (atomic_load(&pool->sleepers)) {
    rt_futex_wake(&pool->run);
  }
  take_part(pool);
  wait_done(pool, n_jobs);
}
