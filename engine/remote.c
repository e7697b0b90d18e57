// SPDX-License-Identifier: GPL-3.0-or-later
// A remote runner as the engine calls it: what is wanted is written down, the worker is told if
// there is one, and the link sees to the rest.

#include "remote.h"

#include "remote_private.h"
#include "rt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define ARM_LIMIT_S 10 // then the engine goes on dry, and the worker may still come

void
remote_lock(const Remote* const remote)
{
  pthread_mutex_lock((pthread_mutex_t*)&remote->lock);
}

void
remote_unlock(const Remote* const remote)
{
  pthread_mutex_unlock((pthread_mutex_t*)&remote->lock);
}

void
remote_wake(const Remote* const remote)
{
  const uint64_t one = 1;
  // It can only fail when the link has not looked 2^64 - 2 times.
  (void)!write(remote->wake, &one, sizeof(one));
}

bool
remote_takes_edits(const Remote* const remote)
{
  return remote->worker && (!remote->next || remote->next->state == CHILD_STARTING);
}

// ---- arming ----

/// The worker that can be armed at once, or NULL. [lock held]
static Child*
ready_worker(const Remote* const remote)
{
  Child* const worker = remote->worker;
  return worker && !worker->broken.status ? worker : NULL;
}

/// Until the worker has answered, or is lost, or the time is over. [lock held]
static void
await_armed(Remote* const remote)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += ARM_LIMIT_S;
  int code = 0;
  remote->is_arming = true;
  while (!remote->armed.is_there && code != ETIMEDOUT) {
    code = pthread_cond_timedwait(&remote->changed, &remote->lock, &until);
  }
  remote->is_arming = false;
}

static Status
remote_arm(void* const runner, const RunnerStart* const start, RunnerFacts* const facts,
           Error* const error)
{
  Remote* const remote = runner;
  // In one piece for the link: whom it lost before is not this worker, and whom it loses from here
  // on is.
  remote->host.hold(remote->host.context);
  remote_lock(remote);
  remote->wanted = (Wanted){ .armed = true,
                             .generation = remote->wanted.generation + 1U,
                             .format = start->format,
                             .shape = *ring_shape(start->ring) };
  remote->armed = (Answer){ 0 };
  remote->plays_on = start->plays_on;
  Child* const worker = ready_worker(remote);
  if (worker) {
    child_arm(worker, remote, start->ring, false, start->first_frame);
    remote->host.given(remote->host.context);
  } else {
    remote->host.lost(remote->host.context);
  }
  remote->host.release(remote->host.context);
  if (worker) {
    await_armed(remote);
  }
  const Answer answer = remote->armed;
  *facts = remote->facts;
  remote_unlock(remote);
  remote_wake(remote);
  return answer.error.status ? error_set(error, answer.error.status, "%s", answer.error.text)
                             : STATUS_OK;
}

static void
remote_disarm(void* const runner)
{
  Remote* const remote = runner;
  remote_lock(remote);
  remote->wanted.armed = false;
  ++remote->wanted.generation;
  if (remote->worker) {
    child_disarm(remote->worker);
  }
  if (remote->next) {
    child_disarm(remote->next);
  }
  remote_unlock(remote);
  remote_wake(remote);
}

// ---- edits and parameters ----

static Status
remote_edit(void* const runner, const uint64_t id, const Rack* const rack, const uint64_t at_frame,
            const uint64_t stamp)
{
  (void)stamp; // a worker counts its own messages, see Child::n_sent
  Remote* const remote = runner;
  remote_lock(remote);
  const Status status = book_add(&remote->book, id, rack, at_frame, rt_now_ns());
  remote_overtake(remote);
  if (!status && remote_takes_edits(remote)) {
    child_give_edit(remote->worker, &remote->book);
  }
  remote_unlock(remote);
  remote_wake(remote);
  return status;
}

/// Its ring is the one that parameters go through, or will be before this lock is free again.
static bool
is_served(const Child* const child)
{
  return child && child->state == CHILD_SERVING;
}

static bool
remote_set(void* const runner, const ParamMessage* const messages, const uint32_t n)
{
  Remote* const remote = runner;
  remote_lock(remote);
  const bool has_ring = is_served(remote->worker) || is_served(remote->next);
  if (!has_ring) {
    book_note(&remote->book, messages, n);
    if (remote->worker) {
      child_set(remote->worker, messages, n);
    }
    if (remote->next) {
      child_set(remote->next, messages, n);
    }
  }
  remote_unlock(remote);
  return !has_ring;
}

static void
remote_sent(void* const runner, const ParamMessage* const messages, const uint32_t n)
{
  Remote* const remote = runner;
  remote_lock(remote);
  book_note(&remote->book, messages, n);
  if (remote->worker) {
    remote->worker->n_sent += n;
    if (remote->worker->state != CHILD_SERVING) { // what is in the ring is lost if it is not armed
      child_set(remote->worker, messages, n);
    }
  }
  if (remote->next) {
    child_set(remote->next, messages, n);
  }
  remote_unlock(remote);
}

// ---- queries ----

static void
tell_status(const void* const runner, RunnerStatus* const status)
{
  const Remote* const remote = runner;
  remote_lock(remote);
  const RunnerStatus* const past = &remote->past;
  *status = remote->worker ? remote->worker->status : (RunnerStatus){ 0 };
  status->facts = remote->facts;
  status->blocks += past->blocks;
  status->plans += past->plans;
  status->params_applied += past->params_applied;
  status->params_dropped += past->params_dropped;
  status->units_reset += past->units_reset;
  status->device_errors += past->device_errors;
  if (!status->realtime_note[0]) {
    memcpy(status->realtime_note, remote->realtime_note, sizeof(status->realtime_note));
  }
  remote_unlock(remote);
}

static uint32_t
tell_places(const void* const runner, EnginePlace* const places, const uint32_t max)
{
  const Remote* const remote = runner;
  remote_lock(remote);
  const Child* const worker = remote->worker;
  const uint32_t n = worker ? worker->n_places : 0U;
  const uint32_t n_told = n < max ? n : max;
  if (n_told) {
    memcpy(places, worker->places, n_told * sizeof(EnginePlace));
  }
  remote_unlock(remote);
  return n;
}

static void
reset_load(void* const runner)
{
  Remote* const remote = runner;
  remote_lock(remote);
  if (remote->worker && !remote->worker->broken.status) {
    // One that cannot be told is found by the link.
    (void)!wire_send(remote->worker->wire, &(WireMessage){ .kind = WIRE_RESET_LOAD }, NULL);
  }
  remote_unlock(remote);
}

/// A device that fails is not the end of a live run: RunnerStatus tells of it.
static Status
tell_failure(const void* const runner, Error* const error)
{
  (void)runner;
  (void)error;
  return STATUS_OK;
}

static const char*
state_word(const Remote* const remote)
{
  if (remote->worker) {
    return "running";
  }
  return remote->next ? "starting" : "resting";
}

void
remote_status(const Remote* const remote, RemoteStatus* const status)
{
  remote_lock(remote);
  const Child* const child = remote->worker ? remote->worker : remote->next;
  *status = (RemoteStatus){ .state = state_word(remote),
                            .pid = child ? process_id(child->process) : 0,
                            .n_starts = remote->n_starts,
                            .n_quarantined = remote->n_quarantined };
  memcpy(status->note, remote->note, sizeof(status->note));
  memcpy(status->quarantine, remote->quarantine, sizeof(status->quarantine));
  remote_unlock(remote);
}

Rack*
remote_rack(const Remote* const remote)
{
  remote_lock(remote);
  Rack* const rack = rack_copy(remote->book.heard);
  remote_unlock(remote);
  return rack;
}

// ---- made and freed ----

static void
remote_free(void* const runner)
{
  Remote* const remote = runner;
  if (!remote) {
    return;
  }
  if (remote->has_thread) {
    remote_lock(remote);
    remote->quits = true;
    remote_unlock(remote);
    remote_wake(remote);
    pthread_join(remote->thread, NULL);
  }
  if (remote->wake >= 0) {
    close(remote->wake);
  }
  book_clear(&remote->book);
  pthread_cond_destroy(&remote->changed);
  pthread_mutex_destroy(&remote->lock);
  free(remote);
}

static void
init_locks(Remote* const remote)
{
  pthread_mutex_init(&remote->lock, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&remote->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

/// Start the link, and wait for what becomes of its first worker.
static Status
start_link(Remote* const remote, Error* const error)
{
  Status status = rt_thread_start("warprack-link", remote_link, remote, &remote->thread, error);
  if (status) {
    return status;
  }
  remote->has_thread = true;
  remote_lock(remote);
  while (!remote->started.is_there) {
    pthread_cond_wait(&remote->changed, &remote->lock);
  }
  status = remote->started.error.status;
  remote_unlock(remote);
  return status ? error_set(error, status, "%s", remote->started.error.text) : STATUS_OK;
}

Status
remote_new(const EngineConfig* const config, const RunnerEvents* const events,
           const RemoteHost* const host, Remote** const out, Error* const error)
{
  Remote* const remote = calloc(1, sizeof(Remote));
  if (!remote) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  Error why = { STATUS_OK, "" };
  remote->config = *config;
  remote->events = *events;
  remote->host = *host;
  init_locks(remote);
  if (config->realtime && rt_lock_memory(&why)) {
    memcpy(remote->realtime_note, why.text, sizeof(remote->realtime_note));
  }
  remote->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  Status status =
      remote->wake < 0 || book_init(&remote->book)
          ? error_set(error, STATUS_NO_MEM, "no resources for the worker: %s", strerror(errno))
          : start_link(remote, error);
  if (status) {
    remote_free(remote);
    return status;
  }
  *out = remote;
  return STATUS_OK;
}

const RunnerCalls remote_calls = {
  .arm = remote_arm,
  .disarm = remote_disarm,
  .edit = remote_edit,
  .set = remote_set,
  .sent = remote_sent,
  .status = tell_status,
  .places = tell_places,
  .reset_load = reset_load,
  .failure = tell_failure,
  .free = remote_free,
};
