// SPDX-License-Identifier: GPL-3.0-or-later
// Saves of states: each waits for a worker that plays the rack, and is answered once, by that
// worker, or by the supervisor if no worker does it in time.

#include "supervisor_private.h"

#include "engine/base/time.h"

#define WORKER_LIMIT_NS (30U * NS_PER_S) // for a worker that plays the rack

/// The worker, if it has made the nodes of the active rack, also if another one is about to take
/// over: what its plugins have learnt is in none of the files of the rack.
static Child*
find_worker(const Supervisor* const supervisor)
{
  Child* const worker = supervisor_ready_worker(supervisor);
  const bool plays =
      worker && !worker->is_stuck && (worker->state == CHILD_SERVING || !supervisor->wanted.armed);
  return plays ? worker : NULL;
}

bool
supervisor_is_saving(const Supervisor* const supervisor)
{
  const Child* const worker = supervisor->worker;
  return worker && supervisor->save.child == worker && !worker->is_stuck;
}

/// True while a child reports that it measures a GPU, before it plays; the watchdog limits this
/// time.
static bool
is_measured(const Supervisor* const supervisor)
{
  const Child* const worker = supervisor->worker;
  const Child* const next = supervisor->next;
  return (worker && worker->state < CHILD_ARMED && worker->busy_ns) || (next && next->busy_ns);
}

/// Ask the worker for the state that waits for one.  If its socket is closed, the save waits for
/// the next worker. [lock held]
static void
ask(Supervisor* const supervisor)
{
  SaveRequest* const save = &supervisor->save;
  Child* const worker = save->id && !save->child ? find_worker(supervisor) : NULL;
  Error error;
  if (!worker) {
    return;
  }
  const WireMessage message = { .kind = WIRE_SAVE, .save = { save->id, save->uid } };
  if (wire_send(worker->wire, &message, &error)) {
    worker->broken = error;
  } else {
    save->child = worker;
    save->asked_ns = time_now_ns();
    ++worker->n_saves_out;
  }
}

Status
supervisor_save(void* const self, const uint64_t id, const RackUid uid, Error* const error)
{
  Supervisor* const supervisor = self;
  supervisor_lock(supervisor);
  Status status = STATUS_OK;
  if (supervisor->save.id) {
    status = error_set(error, STATUS_LIMIT, "another state is being saved");
  } else {
    supervisor->save = (SaveRequest){ .id = id, .uid = uid, .asked_ns = time_now_ns() };
    ask(supervisor);
  }
  supervisor_unlock(supervisor);
  return status;
}

bool
supervisor_handle_saved(Supervisor* const supervisor, Child* const child,
                        const WireSaved* const message, Cause* const cause)
{
  supervisor_lock(supervisor);
  const bool was_asked = child->n_saves_out != 0U;
  const bool is_awaited = was_asked && supervisor->save.id == message->id; // else it is too late
  child->n_saves_out -= was_asked;
  if (is_awaited) {
    supervisor->save = (SaveRequest){ 0 };
  }
  supervisor_unlock(supervisor);
  if (is_awaited) {
    supervisor->events.saved(supervisor->events.context, message->id, &message->saved);
  }
  return was_asked || supervisor_fail(cause, "saved a state without being asked", false);
}

/// Why the save cannot be done; NULL: it waits, for a worker or for its answer. [lock held]
static const char*
find_failure(const Supervisor* const supervisor)
{
  const SaveRequest* const save = &supervisor->save;
  const Child* const worker = supervisor->worker;
  const uint64_t waited_ns = time_now_ns() - save->asked_ns;
  const bool is_of_other = save->child && worker != save->child;
  if (supervisor->quits || (is_of_other && !worker) || (save->child && worker->is_stuck)) {
    return "the worker was lost or hung";
  }
  if (is_of_other) {
    return "the worker was replaced before it saved the state";
  }
  if (save->child) { // a worker may plan an edit first
    return waited_ns >= supervisor_plan_limit(supervisor) ? "the worker has not saved in time"
                                                          : NULL;
  }
  if (worker && worker->state == CHILD_IDLE && supervisor->wanted.armed && worker->arm_at_ns) {
    return "no worker can play the rack"; // before an edit that waits behind this save
  }
  return waited_ns >= WORKER_LIMIT_NS ? "no worker has played the rack for 30 s" : NULL;
}

void
supervisor_check_save(Supervisor* const supervisor)
{
  EngineSaved failed = { .bytes = NULL };
  supervisor_lock(supervisor);
  const uint64_t id = supervisor->save.id;
  if (!supervisor->save.child && is_measured(supervisor)) {
    supervisor->save.asked_ns = time_now_ns();
  }
  const char* const why = id ? find_failure(supervisor) : NULL;
  if (why) {
    error_set(&failed.error, STATUS_WORKER, "%s: %.240s", why, supervisor->note);
    supervisor->save = (SaveRequest){ 0 };
  } else {
    ask(supervisor);
  }
  supervisor_unlock(supervisor);
  if (why) {
    supervisor->events.saved(supervisor->events.context, id, &failed);
  }
}
