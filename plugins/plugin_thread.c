// SPDX-License-Identifier: GPL-3.0-or-later
// The thread on which plugins are made and freed.

#include "plugin_thread.h"

#include "engine/base/rt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static struct {
  pthread_mutex_t turn;        ///< Held by the caller whose call runs
  pthread_mutex_t lock;        ///< Of `call` and `context`
  pthread_cond_t changed;      ///< A call has come, or has ended
  void (*call)(void* context); ///< NULL: the thread waits
  void* context;
  pthread_t id;
  _Atomic pid_t process; ///< In which the thread runs: not in a process that was forked; 0: none
} thread = { .turn = PTHREAD_MUTEX_INITIALIZER,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .changed = PTHREAD_COND_INITIALIZER };

static void*
run_calls(void* const context)
{
  (void)context;
  pthread_mutex_lock(&thread.lock);
  for (;;) {
    while (!thread.call) {
      pthread_cond_wait(&thread.changed, &thread.lock);
    }
    pthread_mutex_unlock(&thread.lock);
    thread.call(thread.context);
    pthread_mutex_lock(&thread.lock);
    thread.call = NULL;
    pthread_cond_broadcast(&thread.changed);
  }
  return NULL;
}

bool
plugin_thread_exists(void)
{
  return atomic_load(&thread.process) == getpid();
}

static void
lock_on_fault(void)
{
  Error error = { STATUS_OK, "" };
  if (rt_lock_on_fault(&error)) {
    fprintf(stderr, "plugin: %s\n", error.text);
  }
}

Status
plugin_thread_start(Error* const error)
{
  Status status = STATUS_OK;
  pthread_mutex_lock(&thread.turn);
  if (!plugin_thread_exists()) {
    status = rt_thread_start("warprack-plugin", run_calls, NULL, &thread.id, error);
    if (!status) {
      pthread_detach(thread.id);
      atomic_store(&thread.process, getpid());
      lock_on_fault();
    }
  }
  pthread_mutex_unlock(&thread.turn);
  return status;
}

void
plugin_thread_run(void (*const call)(void* context), void* const context)
{
  if (pthread_equal(pthread_self(), thread.id)) {
    call(context);
    return;
  }
  pthread_mutex_lock(&thread.turn);
  pthread_mutex_lock(&thread.lock);
  thread.context = context;
  thread.call = call;
  pthread_cond_broadcast(&thread.changed);
  while (thread.call) {
    pthread_cond_wait(&thread.changed, &thread.lock);
  }
  pthread_mutex_unlock(&thread.lock);
  pthread_mutex_unlock(&thread.turn);
}
