// SPDX-License-Identifier: GPL-3.0-or-later
// A function that may block for ever, called on a separate thread.

#include "async_call.h"

#include "rt.h"
#include "time.h"

#include <stdlib.h>

struct AsyncCall {
  AsyncFunction function;
  AsyncFunction discard;
  void* context;
  pthread_t thread;
  pthread_mutex_t lock; // Guards the members below
  pthread_cond_t returned;
  bool is_done;
  bool is_abandoned;
};

static void
call_free(AsyncCall* const call)
{
  pthread_cond_destroy(&call->returned);
  pthread_mutex_destroy(&call->lock);
  free(call);
}

static void
discard_and_free(AsyncCall* const call)
{
  if (call->discard) {
    call->discard(call->context);
  }
  call_free(call);
}

static void*
call_run(void* const context)
{
  AsyncCall* const call = context;
  call->function(call->context);
  pthread_mutex_lock(&call->lock);
  call->is_done = true;
  const bool is_abandoned = call->is_abandoned;
  pthread_cond_signal(&call->returned);
  pthread_mutex_unlock(&call->lock);
  if (is_abandoned) {
    discard_and_free(call);
  }
  return NULL;
}

Status
async_call_start(const char* const name, const AsyncFunction function, void* const context,
                 AsyncCall** const out, Error* const error)
{
  AsyncCall* const call = calloc(1, sizeof(AsyncCall));
  if (!call) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  call->function = function;
  call->context = context;
  time_cond_init(&call->returned);
  pthread_mutex_init(&call->lock, NULL);
  const Status status = rt_thread_start(name, call_run, call, &call->thread, error);
  if (status) {
    call_free(call);
    return status;
  }
  *out = call;
  return STATUS_OK;
}

bool
async_call_wait(AsyncCall* const call, const uint32_t timeout_ms)
{
  const uint64_t until_ns = time_now_ns() + timeout_ms * NS_PER_MS;
  pthread_mutex_lock(&call->lock);
  while (!call->is_done && time_cond_wait(&call->returned, &call->lock, until_ns)) {
  }
  const bool is_done = call->is_done;
  pthread_mutex_unlock(&call->lock);
  if (is_done) {
    pthread_join(call->thread, NULL);
    call_free(call);
  }
  return is_done;
}

void
async_call_abandon(AsyncCall* const call, const AsyncFunction discard)
{
  pthread_detach(call->thread);
  pthread_mutex_lock(&call->lock);
  call->discard = discard;
  call->is_abandoned = true;
  const bool is_done = call->is_done;
  pthread_mutex_unlock(&call->lock);
  if (is_done) {
    discard_and_free(call);
  }
}
