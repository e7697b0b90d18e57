// SPDX-License-Identifier: GPL-3.0-or-later
// Saves of states: each is answered once, by its worker, or by the supervisor if that worker does
// not.

#include "supervisor_private.h"

#include "engine/base/time.h"

#define ANSWER_LIMIT_NS (60U * NS_PER_S) // a worker may plan an edit first

Status
supervisor_save(void* const self, const uint64_t id, const RackUid uid, Error* const error)
{
  Supervisor* const supervisor = self;
  supervisor_lock(supervisor);
  Child* const worker = supervisor_ready_worker(supervisor);
  Status status = STATUS_OK;
  if (supervisor->save.id) {
    status = error_set(error, STATUS_LIMIT, "another state is being saved");
  } else if (!worker) {
    status = error_set(error, STATUS_WORKER, "no worker runs the rack now");
  } else if (!supervisor_takes_edits(supervisor)) {
    status = error_set(error, STATUS_WORKER, "another worker is about to take over; try again");
  } else {
    const WireMessage message = { .kind = WIRE_SAVE, .save = { id, uid } };
    status = wire_send(worker->wire, &message, error);
  }
  if (!status) {
    supervisor->save = (SaveRequest){ id, worker, time_now_ns() };
    ++worker->n_saves_out;
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
  return was_asked || supervisor_is_lost(cause, "saved a state without being asked", false);
}

void
supervisor_attend_save(Supervisor* const supervisor)
{
  EngineSaved failed = { .bytes = NULL };
  supervisor_lock(supervisor);
  const SaveRequest save = supervisor->save;
  const Child* const worker = supervisor->worker;
  const bool is_lost = !worker || worker != save.child || worker->is_stuck || supervisor->quits;
  const bool is_late = time_now_ns() - save.asked_ns >= ANSWER_LIMIT_NS;
  if (save.id && (is_lost || is_late)) {
    supervisor->save = (SaveRequest){ 0 };
    error_set(&failed.error, STATUS_WORKER, "%s: %.240s",
              is_lost ? "the worker was lost or hung" : "the worker has not saved in 60 s",
              supervisor->note);
  }
  supervisor_unlock(supervisor);
  if (failed.error.status) {
    supervisor->events.saved(supervisor->events.context, save.id, &failed);
  }
}
