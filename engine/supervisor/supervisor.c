// SPDX-License-Identifier: GPL-3.0-or-later
// WorkerCalls of a supervisor: each call stores the request and sends it to the worker, if there is
// one.  The supervisor thread does the rest.

#include "supervisor.h"

#include "supervisor_private.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define ARM_LIMIT_S 10 // then the engine starts dry; the worker may become armed later

static void
close_if_open(const int fd)
{
  if (fd >= 0) {
    close(fd);
  }
}

/// Wake the supervisor thread.
static void
wake(const Supervisor* const supervisor)
{
  const uint64_t one = 1;
  // Fails only after 2^64 - 2 writes without a read.
  (void)!write(supervisor->wake, &one, sizeof(one));
}

// ---- arming ----

/// Wait until the worker has answered or is lost, or for ARM_LIMIT_S. [lock held]
static void
await_armed(Supervisor* const supervisor)
{
  const uint64_t until_ns = time_now_ns() + ARM_LIMIT_S * NS_PER_S;
  supervisor->is_arming = true;
  while (!supervisor->armed.is_there &&
         time_cond_wait(&supervisor->changed, &supervisor->lock, until_ns)) {
  }
  supervisor->is_arming = false;
}

static Status
supervisor_arm(void* const self, const WorkerStart* const start, WorkerFacts* const facts,
               Error* const error)
{
  Supervisor* const supervisor = self;
  // hold() keeps the supervisor thread from reporting an earlier loss as a loss of this worker.
  supervisor->host.hold(supervisor->host.context);
  supervisor_lock(supervisor);
  supervisor->wanted = (Wanted){ .armed = true,
                                 .generation = supervisor->wanted.generation + 1U,
                                 .format = start->format,
                                 .shape = *ring_shape(start->ring) };
  supervisor->armed = (Answer){ 0 };
  supervisor->plays_on = start->plays_on;
  Child* const worker = supervisor_ready_worker(supervisor);
  if (worker) {
    child_arm(worker, supervisor, start->ring, false, start->first_frame);
    supervisor->host.given(supervisor->host.context);
  } else {
    supervisor->host.lost(supervisor->host.context);
  }
  supervisor->host.release(supervisor->host.context);
  if (worker) {
    await_armed(supervisor);
  }
  const Answer answer = supervisor->armed;
  *facts = supervisor->facts;
  supervisor_unlock(supervisor);
  wake(supervisor);
  return answer.error.status ? error_set(error, answer.error.status, "%s", answer.error.text)
                             : STATUS_OK;
}

static void
supervisor_disarm(void* const self)
{
  Supervisor* const supervisor = self;
  supervisor->host.hold(supervisor->host.context); // the supervisor thread may be offering a ring
  supervisor_lock(supervisor);
  supervisor->wanted.armed = false;
  ++supervisor->wanted.generation;
  rack_fades_clear(&supervisor->fades); // with the audio, fades end at their values
  if (supervisor->worker) {
    child_disarm(supervisor->worker);
  }
  if (supervisor->next) {
    child_disarm(supervisor->next);
  }
  supervisor_unlock(supervisor);
  supervisor->host.release(supervisor->host.context);
  wake(supervisor);
}

// ---- edits and parameters ----

static Status
supervisor_edit(void* const self, const uint64_t id, const Rack* const rack,
                const uint64_t at_frame, const uint64_t stamp)
{
  (void)stamp; // a worker counts its own messages, see Child::n_sent
  Supervisor* const supervisor = self;
  supervisor_lock(supervisor);
  const Status status = rack_history_add(&supervisor->history, id, rack, at_frame, time_now_ns());
  if (!status && supervisor_takes_edits(supervisor)) {
    child_give_edit(supervisor->worker, &supervisor->history);
  }
  supervisor_unlock(supervisor);
  wake(supervisor);
  return status;
}

/// True if parameters go through the child's ring, or will as soon as the ring is offered.
/// [lock held]
static bool
is_served(const Child* const child)
{
  return child && child->state == CHILD_SERVING;
}

static bool
supervisor_set(void* const self, const ParamMessage* const messages, const uint32_t n)
{
  Supervisor* const supervisor = self;
  const uint64_t now = supervisor->host.frame_now(supervisor->host.context);
  supervisor_lock(supervisor);
  const bool has_ring = is_served(supervisor->worker) || is_served(supervisor->next);
  if (!has_ring) {
    if (supervisor->wanted.armed) {
      supervisor_note_fades(supervisor, messages, n, now);
    }
    rack_history_note(&supervisor->history, messages, n);
    if (supervisor->worker) {
      child_set(supervisor->worker, messages, n);
    }
    if (supervisor->next) {
      child_set(supervisor->next, messages, n);
    }
  }
  supervisor_unlock(supervisor);
  return !has_ring;
}

static void
supervisor_sent(void* const self, const ParamMessage* const messages, const uint32_t n,
                const uint64_t now)
{
  Supervisor* const supervisor = self;
  const bool are_values = messages[0].kind == MESSAGE_VALUE; // no other worker gets notes
  supervisor_lock(supervisor);
  if (supervisor->worker) {
    supervisor->worker->n_sent += n;
  }
  if (are_values) {
    supervisor_note_fades(supervisor, messages, n, now);
    rack_history_note(&supervisor->history, messages, n);
  }
  if (are_values && supervisor->worker) {
    // Unless the worker is armed, messages in the ring are lost.
    child_set(supervisor->worker, messages, n);
  }
  if (are_values && supervisor->next) {
    child_set(supervisor->next, messages, n);
  }
  supervisor_unlock(supervisor);
}

static void
supervisor_overtake(void* const self)
{
  Supervisor* const supervisor = self;
  supervisor_lock(supervisor);
  if (supervisor->history.pending) {
    supervisor->history.pending->is_overtaken = true;
  }
  supervisor_unlock(supervisor);
  wake(supervisor);
}

// ---- plugins ----

/// Duplicate the descriptor of a catalogue.
static Status
keep_plugins(const int fd, int* const copy, Error* const error)
{
  *copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return *copy < 0 ? error_set(error, STATUS_NO_MEM, "cannot keep the catalogue of plugins: %s",
                               strerror(errno))
                   : STATUS_OK;
}

static Status
supervisor_use_plugins(void* const self, const int fd, const bool has_new_code, Error* const error)
{
  Supervisor* const supervisor = self;
  int copy = -1;
  bool has_lifted = false;
  const Status status = keep_plugins(fd, &copy, error);
  if (status) {
    return status;
  }
  supervisor_lock(supervisor);
  const int before = supervisor->plugins_fd;
  supervisor->plugins_fd = copy;
  if (has_new_code) {
    ++supervisor->n_plugins;
    node_quarantine_new_code(&supervisor->history.nodes, time_now_ns());
    supervisor->exchange = (Backoff){ 0 };
  } else {
    has_lifted = node_quarantine_lift(&supervisor->history.nodes, time_now_ns());
  }
  Child* const children[] = { supervisor->worker, supervisor->next };
  for (size_t c = 0; c < ARRAY_LEN(children); ++c) {
    if (children[c]) {
      child_use_plugins(children[c], copy);
      children[c]->must_reload |= has_lifted; // tries the nodes again that could not be made
    }
  }
  supervisor_unlock(supervisor);
  close_if_open(before);
  wake(supervisor);
  return STATUS_OK;
}

// ---- queries ----

static void
query_status(void* const self, WorkerStatus* const status)
{
  Supervisor* const supervisor = self;
  supervisor_lock(supervisor);
  *status = supervisor->worker ? supervisor->worker->status : (WorkerStatus){ 0 };
  status->facts = supervisor->facts;
  worker_counts_add(&status->counts, &supervisor->past);
  if (!status->realtime_note[0]) {
    memcpy(status->realtime_note, supervisor->realtime_note, sizeof(status->realtime_note));
  }
  supervisor_unlock(supervisor);
}

static uint32_t
query_placements(void* const self, EnginePlacement* const placements, const uint32_t max)
{
  Supervisor* const supervisor = self;
  supervisor_lock(supervisor);
  const Child* const worker = supervisor->worker;
  const uint32_t n = worker ? worker->n_placements : 0U;
  const uint32_t n_told = n < max ? n : max;
  if (n_told) {
    memcpy(placements, worker->placements, n_told * sizeof(EnginePlacement));
  }
  supervisor_unlock(supervisor);
  return n;
}

static void
reset_load(void* const self)
{
  Supervisor* const supervisor = self;
  supervisor_lock(supervisor);
  if (supervisor->worker && !supervisor->worker->broken.status) {
    // The supervisor thread detects a failed send.
    (void)!wire_send(supervisor->worker->wire, &(WireMessage){ .kind = WIRE_RESET_LOAD }, NULL);
  }
  supervisor_unlock(supervisor);
}

static WorkerState
state_of_worker(const Supervisor* const supervisor)
{
  if (supervisor->worker) {
    return WORKER_RUNNING;
  }
  return supervisor->next ? WORKER_STARTING : WORKER_RESTING;
}

void
supervisor_status(Supervisor* const supervisor, SupervisorStatus* const status)
{
  supervisor_lock(supervisor);
  const Child* const child = supervisor->worker ? supervisor->worker : supervisor->next;
  *status = (SupervisorStatus){ .state = state_of_worker(supervisor),
                                .pid = child ? process_id(child->process) : 0,
                                .n_starts = supervisor->n_starts,
                                .n_renewals = supervisor->n_renewals,
                                .n_quarantined = supervisor->n_quarantined,
                                .n_nodes_quarantined = supervisor->n_nodes_quarantined };
  memcpy(status->note, supervisor->note, sizeof(status->note));
  memcpy(status->quarantine, supervisor->quarantine, sizeof(status->quarantine));
  supervisor_unlock(supervisor);
}

Rack*
supervisor_rack(Supervisor* const supervisor)
{
  supervisor_lock(supervisor);
  Rack* const rack = rack_copy(supervisor->history.active);
  supervisor_unlock(supervisor);
  return rack;
}

// ---- made and freed ----

static void
supervisor_free(void* const self)
{
  Supervisor* const supervisor = self;
  if (!supervisor) {
    return;
  }
  if (supervisor->has_thread) {
    supervisor_lock(supervisor);
    supervisor->quits = true;
    supervisor_unlock(supervisor);
    wake(supervisor);
    pthread_join(supervisor->thread, NULL);
  }
  close_if_open(supervisor->wake);
  close_if_open(supervisor->plugins_fd);
  free(supervisor->placements);
  rack_history_clear(&supervisor->history);
  rack_fades_clear(&supervisor->fades);
  pthread_cond_destroy(&supervisor->changed);
  pthread_mutex_destroy(&supervisor->lock);
  free(supervisor);
}

static void
init_locks(Supervisor* const supervisor)
{
  pthread_mutex_init(&supervisor->lock, NULL);
  time_cond_init(&supervisor->changed);
}

/// Lock the memory of this process, while the first worker starts.  This function first waits until
/// the worker's process exists: the kernel would delay its creation until all memory is locked.
static void
lock_memory(Supervisor* const supervisor)
{
  Error why;
  supervisor_lock(supervisor);
  while (!supervisor->next && !supervisor->started.is_there) {
    pthread_cond_wait(&supervisor->changed, &supervisor->lock);
  }
  supervisor_unlock(supervisor);
  if (rt_lock_memory(&why)) {
    supervisor_lock(supervisor);
    memcpy(supervisor->realtime_note, why.text, sizeof(supervisor->realtime_note));
    supervisor_unlock(supervisor);
  }
}

/// Start the supervisor thread, and wait until its first worker is ready or has failed.
static Status
start_thread(Supervisor* const supervisor, Error* const error)
{
  wake(supervisor); // so that the first round starts the worker without waiting for an event
  Status status =
      rt_thread_start("warprack-link", supervisor_loop, supervisor, &supervisor->thread, error);
  if (status) {
    return status;
  }
  supervisor->has_thread = true;
  if (supervisor->config.realtime) {
    lock_memory(supervisor);
  }
  supervisor_lock(supervisor);
  while (!supervisor->started.is_there) {
    pthread_cond_wait(&supervisor->changed, &supervisor->lock);
  }
  status = supervisor->started.error.status;
  supervisor_unlock(supervisor);
  return status ? error_set(error, status, "%s", supervisor->started.error.text) : STATUS_OK;
}

Status
supervisor_new(const EngineConfig* const config, const WorkerEvents* const events,
               const SupervisorHost* const host, Supervisor** const out, Error* const error)
{
  Supervisor* const supervisor = calloc(1, sizeof(Supervisor));
  if (!supervisor) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  supervisor->config = *config;
  supervisor->events = *events;
  supervisor->host = *host;
  init_locks(supervisor);
  supervisor->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  supervisor->plugins_fd = -1;
  Status status =
      supervisor->wake < 0 || rack_history_init(&supervisor->history)
          ? error_set(error, STATUS_NO_MEM, "no resources for the worker: %s", strerror(errno))
          : STATUS_OK;
  if (!status && config->plugins_fd > 0) {
    status = keep_plugins(config->plugins_fd, &supervisor->plugins_fd, error);
  }
  status = status ? status : start_thread(supervisor, error);
  if (status) {
    supervisor_free(supervisor);
    return status;
  }
  *out = supervisor;
  return STATUS_OK;
}

const WorkerCalls supervisor_calls = {
  .arm = supervisor_arm,
  .disarm = supervisor_disarm,
  .edit = supervisor_edit,
  .save = supervisor_save,
  .overtake = supervisor_overtake,
  .use_plugins = supervisor_use_plugins,
  .set = supervisor_set,
  .sent = supervisor_sent,
  .status = query_status,
  .placements = query_placements,
  .reset_load = reset_load,
  .free = supervisor_free,
};
