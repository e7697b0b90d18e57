// SPDX-License-Identifier: GPL-3.0-or-later
// The thread that works for all instances, and the rings between it and their audio threads.

#include "lv2_worker.h"

#include "engine/base/rt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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
  bool offline;
  bool is_at_once;   ///< Work is done within its request
  bool has_requests; ///< The thread must be woken at the end of this run
  Lv2Worker* next;   ///< In the thread's list, under its lock
  Ring requests;
  Ring responses;
  char response[WORKER_RING_BYTES]; ///< Of the audio thread
};

/// The thread.
static struct {
  pthread_mutex_t lock;
  pthread_cond_t idle;      ///< Signalled after each piece of work
  Lv2Worker* first;         ///< All started workers
  const Lv2Worker* busy;    ///< Whose work is in progress
  bool runs;                ///< The thread was started
  _Atomic uint32_t n_calls; ///< How often it was woken: the thread sleeps on it
} thread = { .lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER };

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

static void
wake_thread(void)
{
  atomic_fetch_add(&thread.n_calls, 1U);
  rt_futex_wake(&thread.n_calls);
}

static void
list_append(Lv2Worker* const worker)
{
  Lv2Worker** link = &thread.first;
  while (*link) {
    link = &(*link)->next;
  }
  *link = worker;
  worker->next = NULL;
}

static void
list_remove(const Lv2Worker* const worker)
{
  for (Lv2Worker** link = &thread.first; *link; link = &(*link)->next) {
    if (*link == worker) {
      *link = worker->next;
      return;
    }
  }
}

/// Take the oldest request of the first instance that has one.  NULL if none has one.
static Lv2Worker*
take_request(char request[WORKER_RING_BYTES], uint32_t* const n_bytes)
{
  Lv2Worker* worker = thread.first;
  while (worker && !ring_read(&worker->requests, request, n_bytes)) {
    worker = worker->next;
  }
  return worker;
}

/// Do all work that is requested.  The lock is held, except during the work.
static void
do_work(void)
{
  static char request[WORKER_RING_BYTES];
  uint32_t n_bytes = 0;
  Lv2Worker* worker = NULL;
  while ((worker = take_request(request, &n_bytes))) {
    list_remove(worker); // to the end, so that every instance has its turn
    list_append(worker);
    thread.busy = worker;
    pthread_mutex_unlock(&thread.lock);
    worker->calls->work(worker->handle, respond, worker, n_bytes, request);
    pthread_mutex_lock(&thread.lock);
    thread.busy = NULL;
    pthread_cond_broadcast(&thread.idle);
  }
}

static void*
run_thread(void* const context)
{
  (void)context;
  for (;;) {
    const uint32_t n_calls = atomic_load(&thread.n_calls);
    pthread_mutex_lock(&thread.lock);
    do_work();
    pthread_mutex_unlock(&thread.lock);
    rt_futex_wait(&thread.n_calls, n_calls, UINT64_MAX);
  }
  return NULL;
}

static Status
ensure_thread(Error* const error)
{
  Status status = STATUS_OK;
  pthread_mutex_lock(&thread.lock);
  if (!thread.runs) {
    pthread_t id;
    status = rt_thread_start("warprack-work", run_thread, NULL, &id, error);
    thread.runs = !status;
    if (thread.runs) {
      pthread_detach(id);
    }
  }
  pthread_mutex_unlock(&thread.lock);
  return status;
}

// ---- the worker of an instance ----

Status
lv2_worker_new(const bool offline, Lv2Worker** const out, Error* const error)
{
  const Status status = offline ? STATUS_OK : ensure_thread(error);
  if (status) {
    return status;
  }
  Lv2Worker* const worker = rt_memory(sizeof(*worker));
  if (!worker) {
    return error_set(error, STATUS_NO_MEM, "out of memory for the work of a plugin");
  }
  worker->schedule = (LV2_Worker_Schedule){ .handle = worker, .schedule_work = schedule_work };
  worker->offline = offline;
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
lv2_worker_start(Lv2Worker* const worker, const LV2_Worker_Interface* const calls,
                 const LV2_Handle handle)
{
  worker->calls = calls;
  worker->handle = handle;
  worker->is_at_once = true;
  uint32_t n_bytes = 0;
  while (ring_read(&worker->requests, worker->response, &n_bytes)) { // from instantiate()
    calls->work(handle, respond, worker, n_bytes, worker->response);
  }
}

void
lv2_worker_release(Lv2Worker* const worker)
{
  if (worker->offline) {
    return;
  }
  worker->is_at_once = false;
  pthread_mutex_lock(&thread.lock);
  list_append(worker);
  pthread_mutex_unlock(&thread.lock);
}

void
lv2_worker_stop(Lv2Worker* const worker)
{
  pthread_mutex_lock(&thread.lock);
  list_remove(worker);
  while (thread.busy == worker) {
    pthread_cond_wait(&thread.idle, &thread.lock);
  }
  pthread_mutex_unlock(&thread.lock);
  worker->handle = NULL;
  ring_clear(&worker->requests);
  ring_clear(&worker->responses);
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
    wake_thread();
  }
}
