// SPDX-License-Identifier: GPL-3.0-or-later
// The thread that works for an instance, and the rings between it and the audio thread.

#include "lv2_worker.h"

#include "engine/base/recorder.h"
#include "engine/base/rt.h"
#include "plugins/process_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/// Messages from one thread to another: each its size, then its bytes.
typedef struct Ring {
  _Atomic uint32_t written; ///< Bytes in all; the writer's
  _Atomic uint32_t read;    ///< Bytes in all; the reader's
  char bytes[WORKER_RING_BYTES];
} Ring;

struct Lv2Worker {
  LV2_Worker_Schedule schedule;
  const LV2_Worker_Interface* calls;
  LV2_Handle handle; ///< NULL: not started; requests of instantiate() wait
  uint32_t node;     ///< The node that it works for, for the flight recorder
  bool offline;
  bool is_at_once;   ///< Work is done within its request
  bool has_requests; ///< The thread must be woken at the end of this run
  bool has_thread;
  pthread_t thread;
  _Atomic uint32_t n_calls; ///< How often the thread was woken: it sleeps on it
  _Atomic bool ends;        ///< The thread must end
  Ring requests;
  Ring responses;
  char request[WORKER_RING_BYTES];  ///< Of the thread
  char response[WORKER_RING_BYTES]; ///< Of the audio thread
};

// ---- rings ----

static void
ring_copy_in(Ring* const ring, const uint32_t at, const void* const data, const uint32_t n_bytes)
{
  const uint32_t begin = at % WORKER_RING_BYTES;
  const uint32_t room = WORKER_RING_BYTES - begin;
  const uint32_t n_first = n_bytes < room ? n_bytes : room;
  memcpy(ring->bytes + begin, data, n_first);
  memcpy(ring->bytes, (const char*)data + n_first, n_bytes - n_first);
}

static void
ring_copy_out(const Ring* const ring, const uint32_t at, void* const data, const uint32_t n_bytes)
{
  const uint32_t begin = at % WORKER_RING_BYTES;
  const uint32_t room = WORKER_RING_BYTES - begin;
  const uint32_t n_first = n_bytes < room ? n_bytes : room;
  memcpy(data, ring->bytes + begin, n_first);
  memcpy((char*)data + n_first, ring->bytes, n_bytes - n_first);
}

static bool
ring_write(Ring* const ring, const void* const data, const uint32_t n_bytes)
{
  const uint32_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
  const uint32_t used = written - atomic_load_explicit(&ring->read, memory_order_acquire);
  const uint32_t room = WORKER_RING_BYTES - used;
  if (room < sizeof(n_bytes) || n_bytes > room - sizeof(n_bytes)) {
    return false;
  }
  ring_copy_in(ring, written, &n_bytes, sizeof(n_bytes));
  if (n_bytes) {
    ring_copy_in(ring, written + (uint32_t)sizeof(n_bytes), data, n_bytes);
  }
  atomic_store_explicit(&ring->written, written + (uint32_t)sizeof(n_bytes) + n_bytes,
                        memory_order_release);
  return true;
}

/// Read a message to WORKER_RING_BYTES of memory.  False if there is none.
static bool
ring_read(Ring* const ring, void* const data, uint32_t* const n_bytes)
{
  const uint32_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);
  if (read == atomic_load_explicit(&ring->written, memory_order_acquire)) {
    return false;
  }
  ring_copy_out(ring, read, n_bytes, sizeof(*n_bytes));
  ring_copy_out(ring, read + (uint32_t)sizeof(*n_bytes), data, *n_bytes);
  atomic_store_explicit(&ring->read, read + (uint32_t)sizeof(*n_bytes) + *n_bytes,
                        memory_order_release);
  return true;
}

static void
ring_clear(Ring* const ring)
{
  atomic_store_explicit(&ring->read, atomic_load_explicit(&ring->written, memory_order_relaxed),
                        memory_order_relaxed);
}

// ---- calls of the plugin ----

static LV2_Worker_Status
respond(const LV2_Worker_Respond_Handle to, const uint32_t n_bytes, const void* const data)
{
  Lv2Worker* const worker = to;
  return ring_write(&worker->responses, data, n_bytes) ? LV2_WORKER_SUCCESS
                                                       : LV2_WORKER_ERR_NO_SPACE;
}

static LV2_Worker_Status
schedule_work(const LV2_Worker_Schedule_Handle to, const uint32_t n_bytes, const void* const data)
{
  Lv2Worker* const worker = to;
  if (worker->is_at_once && worker->handle) {
    return worker->calls->work(worker->handle, respond, worker, n_bytes, data);
  }
  if (!ring_write(&worker->requests, data, n_bytes)) {
    return LV2_WORKER_ERR_NO_SPACE;
  }
  worker->has_requests = true;
  return LV2_WORKER_SUCCESS;
}

// ---- the thread ----

/// Do all work that is requested; what a plugin changes in the process is restored.
static bool
do_work(Lv2Worker* const worker)
{
  bool has_worked = false;
  uint32_t n_bytes = 0;
  while (!atomic_load(&worker->ends) && ring_read(&worker->requests, worker->request, &n_bytes)) {
    ProcessState state;
    process_state_save(&state);
    const uint64_t before = recorder_enter(worker->node, RECORDER_WORK);
    worker->calls->work(worker->handle, respond, worker, n_bytes, worker->request);
    recorder_leave(before);
    process_state_restore(&state);
    has_worked = true;
  }
  return has_worked;
}

static void*
run_thread(void* const context)
{
  Lv2Worker* const worker = context;
  while (!atomic_load(&worker->ends)) {
    const uint32_t n_calls = atomic_load(&worker->n_calls);
    (void)do_work(worker);
    if (!atomic_load(&worker->ends)) {
      rt_futex_wait(&worker->n_calls, n_calls, UINT64_MAX);
    }
  }
  recorder_thread_end();
  return NULL;
}

static void
wake_thread(Lv2Worker* const worker)
{
  atomic_fetch_add(&worker->n_calls, 1U);
  rt_futex_wake(&worker->n_calls);
}

/// End the thread.  Returns false if its work does not end in time.
static bool
end_thread(Lv2Worker* const worker)
{
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += WORKER_PATIENCE_S;
  atomic_store(&worker->ends, true);
  wake_thread(worker);
  if (pthread_timedjoin_np(worker->thread, NULL, &until)) {
    pthread_detach(worker->thread);
    return false;
  }
  worker->has_thread = false;
  atomic_store(&worker->ends, false);
  return true;
}

// ---- the worker of an instance ----

Status
lv2_worker_new(const bool offline, Lv2Worker** const out, Error* const error)
{
  Lv2Worker* const worker = rt_memory(sizeof(*worker));
  if (!worker) {
    return error_set(error, STATUS_NO_MEM, "out of memory for the work of a plugin");
  }
  worker->schedule = (LV2_Worker_Schedule){ .handle = worker, .schedule_work = schedule_work };
  worker->offline = offline;
  worker->node = recorder_node(); // which is being made
  *out = worker;
  return STATUS_OK;
}

void
lv2_worker_free(Lv2Worker* const worker)
{
  free(worker);
}

LV2_Worker_Schedule*
lv2_worker_schedule(Lv2Worker* const worker)
{
  return &worker->schedule;
}

void
lv2_worker_forget(Lv2Worker* const worker)
{
  worker->has_requests = false;
  ring_clear(&worker->requests);
  ring_clear(&worker->responses);
}

void
lv2_worker_start(Lv2Worker* const worker, const LV2_Worker_Interface* const calls,
                 const LV2_Handle handle)
{
  worker->calls = calls;
  worker->handle = handle;
  (void)lv2_worker_work(worker); // requests of instantiate()
  worker->is_at_once = true;
}

bool
lv2_worker_work(Lv2Worker* const worker)
{
  worker->is_at_once = false;
  return do_work(worker);
}

Status
lv2_worker_release(Lv2Worker* const worker, Error* const error)
{
  worker->is_at_once = worker->offline;
  if (worker->offline) {
    return STATUS_OK;
  }
  const Status status =
      rt_thread_start("warprack-work", run_thread, worker, &worker->thread, error);
  worker->has_thread = !status;
  return status;
}

bool
lv2_worker_stop(Lv2Worker* const worker)
{
  if (worker->has_thread && !end_thread(worker)) {
    return false;
  }
  worker->handle = NULL;
  return true;
}

void
lv2_worker_end_run(Lv2Worker* const worker)
{
  const LV2_Worker_Interface* const calls = worker->calls;
  // A response may cause another one at once, which is for the next run.
  const uint32_t end = atomic_load_explicit(&worker->responses.written, memory_order_acquire);
  uint32_t n_bytes = 0;
  while (atomic_load_explicit(&worker->responses.read, memory_order_relaxed) != end &&
         ring_read(&worker->responses, worker->response, &n_bytes)) {
    if (calls->work_response) {
      calls->work_response(worker->handle, n_bytes, worker->response);
    }
  }
  if (calls->end_run) {
    calls->end_run(worker->handle);
  }
  if (worker->has_requests) {
    worker->has_requests = false;
    wake_thread(worker);
  }
}
