// SPDX-License-Identifier: GPL-3.0-or-later
// A call that may block for ever, made on a thread of its own.

#include "errand.h"

#include "../engine/rt.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

struct Errand {
  ErrandCall call;
  ErrandCall discard;
  void* context;
  pthread_t thread;
  pthread_mutex_t lock; // Guards what follows
  pthread_cond_t returned;
  bool is_done;
  bool is_abandoned;
};

static void
errand_free(Errand* const errand)
{
  pthread_cond_destroy(&errand->returned);
  pthread_mutex_destroy(&errand->lock);
  free(errand);
}

static void
discard_and_free(Errand* const errand)
{
  if (errand->discard) {
    errand->discard(errand->context);
  }
  errand_free(errand);
}

static void*
errand_run(void* const context)
{
  Errand* const errand = context;
  errand->call(errand->context);
  pthread_mutex_lock(&errand->lock);
  errand->is_done = true;
  const bool is_abandoned = errand->is_abandoned;
  pthread_cond_signal(&errand->returned);
  pthread_mutex_unlock(&errand->lock);
  if (is_abandoned) {
    discard_and_free(errand);
  }
  return NULL;
}

Status
errand_start(const ErrandCall call, void* const context, Errand** const out, Error* const error)
{
  Errand* const errand = calloc(1, sizeof(Errand));
  if (!errand) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  errand->call = call;
  errand->context = context;
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&errand->returned, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&errand->lock, NULL);
  const Status status = rt_thread_start("errand", errand_run, errand, &errand->thread, error);
  if (status) {
    errand_free(errand);
    return status;
  }
  *out = errand;
  return STATUS_OK;
}

bool
errand_wait(Errand* const errand, const uint32_t timeout_ms)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += timeout_ms / 1000U;
  until.tv_nsec += (long)(timeout_ms % 1000U) * 1000000L;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_nsec -= 1000000000L;
    ++until.tv_sec;
  }
  pthread_mutex_lock(&errand->lock);
  int result = 0;
  while (!errand->is_done && result != ETIMEDOUT) {
    result = pthread_cond_timedwait(&errand->returned, &errand->lock, &until);
  }
  const bool is_done = errand->is_done;
  pthread_mutex_unlock(&errand->lock);
  if (is_done) {
    pthread_join(errand->thread, NULL);
    errand_free(errand);
  }
  return is_done;
}

void
errand_abandon(Errand* const errand, const ErrandCall discard)
{
  pthread_detach(errand->thread);
  pthread_mutex_lock(&errand->lock);
  errand->discard = discard;
  errand->is_abandoned = true;
  const bool is_done = errand->is_done;
  pthread_mutex_unlock(&errand->lock);
  if (is_done) {
    discard_and_free(errand);
  }
}
