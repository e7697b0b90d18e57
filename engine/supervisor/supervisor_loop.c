// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The supervisor thread: starts worker processes and ends them.  One round: wait for an event, read
  the messages of the children and check their health, then continue towards the wanted state.
*/

#include "supervisor_private.h"

#include "engine/base/time.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Between checks while a child starts, owes an answer or sends without end; otherwise it is
// SUPERVISOR_REST_MS.
#define CHECK_MS 20

// ---- waiting ----

/// A child that sends without end gets the next MESSAGES_A_ROUND read after CHECK_MS only, so that
/// it keeps neither this thread busy nor those that log its notes.
static uint32_t
add_child(const Child* const child, struct pollfd* const fds, uint32_t n)
{
  if (child) {
    const int in = child->has_more ? 0 : POLLIN;
    const int out = wire_queued(child->wire) ? POLLOUT : 0;
    fds[n++] = (struct pollfd){ wire_fd(child->wire), (short)(in | out), 0 };
    fds[n++] = (struct pollfd){ process_fd(child->process), POLLIN, 0 };
  }
  return n;
}

/// True if a child plays or rests, and owes no answer.  Then SUPERVISOR_REST_MS between checks are
/// enough: its messages and its end wake this thread, and the watchdog counts up to that time.
/// [lock held]
static bool
only_plays(const Supervisor* const supervisor, const Child* const child)
{
  const bool is_settled =
      child->state == CHILD_SERVING || (child->state == CHILD_IDLE && !supervisor->wanted.armed);
  return is_settled && !child->has_edit && !child->has_load && !child->n_disarms_out &&
         !child->has_more && child->is_healthy && !child->must_reload;
}

static int
time_to_check(Supervisor* const supervisor)
{
  supervisor_lock(supervisor);
  const Child* const worker = supervisor->worker;
  const bool rests = !supervisor->next && !supervisor->wants_exchange &&
                     !supervisor_is_saving(supervisor) &&
                     (!worker || only_plays(supervisor, worker));
  supervisor_unlock(supervisor);
  return rests ? SUPERVISOR_REST_MS : CHECK_MS;
}

static void
wait_for_events(Supervisor* const supervisor)
{
  struct pollfd fds[5] = { { supervisor->wake, POLLIN, 0 } };
  uint32_t n = add_child(supervisor->worker, fds, 1U);
  n = add_child(supervisor->next, fds, n);
  (void)poll(fds, n, time_to_check(supervisor));
  uint64_t count = 0;
  (void)!read(supervisor->wake, &count, sizeof(count)); // fails if nothing was written
}

// ---- a child takes over ----

/// [lock held]
static void
note_start(Supervisor* const supervisor)
{
  if (supervisor->started.is_there) {
    ++supervisor->n_starts;
  }
  supervisor->started.is_there = true;
  pthread_cond_broadcast(&supervisor->changed);
}

/// Make the next worker the current one.  Returns the old one, for let_end(). [lock held]
static Child*
exchange(Supervisor* const supervisor)
{
  Child* const left = supervisor->worker;
  if (left) {
    const bool has_lost_device = !left->is_stuck && left->status.needs_new_process;
    snprintf(supervisor->note, sizeof(supervisor->note), "worker %d replaces worker %d, %s",
             (int)process_id(supervisor->next->process), (int)process_id(left->process),
             left->is_stuck    ? "in which a plugin hung"
             : has_lost_device ? "whose device hung or was lost"
                               : "which had old code of plugins");
    supervisor->n_renewals += !left->is_stuck && !has_lost_device;
    supervisor_keep_facts(supervisor, left);
  }
  supervisor->wants_exchange = false;
  supervisor->worker = supervisor->next;
  supervisor->next = NULL;
  note_start(supervisor);
  return left;
}

/// Let the process of a child that was replaced end, without waiting for it.  Accepts NULL.
static void
let_end(Supervisor* const supervisor, Child* const child)
{
  child_leave(child, &supervisor->left, child && !child->is_stuck);
}

/// Let the next worker take over if it is idle and need not be armed.  One lock covers check and
/// exchange, because another thread may arm the worker.
static bool
take_over_idle(Supervisor* const supervisor)
{
  supervisor_lock(supervisor);
  const Child* const next = supervisor->next;
  const bool is_postponed = next->arm_at_ns && !supervisor->worker;
  const bool is_ready = next->state == CHILD_IDLE && !supervisor_is_saving(supervisor) &&
                        (!supervisor->wanted.armed || is_postponed);
  Child* const left = is_ready ? exchange(supervisor) : NULL;
  supervisor_unlock(supervisor);
  if (is_ready) {
    supervisor_publish(supervisor, supervisor->worker);
    let_end(supervisor, left);
  }
  return is_ready;
}

/// Offer an armed child's ring to the callback.  The ring's first messages are the values that the
/// child has missed, and the fades that run.  No other thread arms or disarms meanwhile.
/// [host held]
static bool
offer_ring(Supervisor* const supervisor, Child* const child)
{
  supervisor_lock(supervisor);
  Ring* const ring = child->ring;
  const bool is_wanted = child->state == CHILD_ARMED && supervisor->wanted.armed &&
                         child->generation == supervisor->wanted.generation &&
                         (child == supervisor->worker || !supervisor_is_saving(supervisor)) &&
                         child->n_missed <= supervisor->wanted.shape.n_messages;
  uint32_t n_first = 0;
  ParamMessage* const first =
      is_wanted ? supervisor_first_messages(supervisor, child, &n_first) : NULL;
  if (first) {
    child->ring = NULL;
    child_set_state(child, CHILD_SERVING);
  }
  supervisor_unlock(supervisor);
  const bool is_served =
      first && supervisor->host.offer(supervisor->host.context, ring, first, n_first);
  supervisor_lock(supervisor);
  if (is_served) {
    child->n_sent += n_first;
    child_forget_missed(child);
  } else if (first) {
    child->ring = ring;
    child_set_state(child, CHILD_ARMED);
  }
  supervisor_unlock(supervisor);
  free(first);
  return is_served;
}

/// Offer the child's ring to the callback if it is armed, and make it the worker if it was the next
/// one.
static void
take_over_armed(Supervisor* const supervisor, Child* const child)
{
  supervisor->host.hold(supervisor->host.context);
  Child* left = NULL;
  const bool is_served = offer_ring(supervisor, child);
  supervisor_lock(supervisor);
  if (is_served && child == supervisor->next) {
    left = exchange(supervisor);
  }
  supervisor_unlock(supervisor);
  supervisor->host.release(supervisor->host.context);
  if (is_served) {
    supervisor_publish(supervisor, child);
    crash_policy_began_to_play(&supervisor->policy, time_now_ns());
  }
  let_end(supervisor, left);
}

// ---- next steps ----

/// Disarm a child that the supervisor armed for a format that is no longer wanted.
static void
drop_old_format(Supervisor* const supervisor, Child* const child)
{
  supervisor_lock(supervisor);
  if (child->ring && (child->generation != supervisor->wanted.generation ||
                      child->n_missed > supervisor->wanted.shape.n_messages)) {
    child_disarm(child);
  }
  supervisor_unlock(supervisor);
}

static bool
can_be_armed(const Supervisor* const supervisor, const Child* const child, const uint64_t now_ns)
{
  return child->state == CHILD_IDLE && supervisor->wanted.armed && now_ns >= child->arm_at_ns &&
         !child->must_reload;
}

/// Arm an idle child with a ring of its own.
static void
arm(Supervisor* const supervisor, Child* const child, const uint64_t now_ns)
{
  supervisor_lock(supervisor);
  const Wanted wanted = supervisor->wanted;
  const bool is_due = can_be_armed(supervisor, child, now_ns);
  supervisor_unlock(supervisor);
  Ring* ring = NULL;
  Error error;
  if (!is_due) {
    return;
  }
  if (ring_new(&wanted.shape, &ring, &error)) {
    supervisor_lock(supervisor);
    child->arm_at_ns = now_ns + CRASH_POLICY_FIRST_REST_NS;
    snprintf(supervisor->note, sizeof(supervisor->note), "%.240s; next attempt in %.0f s",
             error.text, (double)CRASH_POLICY_FIRST_REST_NS * 1e-9);
    supervisor_unlock(supervisor);
    return;
  }
  const uint64_t frame = supervisor->host.frame_now(supervisor->host.context);
  supervisor_lock(supervisor);
  if (can_be_armed(supervisor, child, now_ns) &&
      wanted.generation == supervisor->wanted.generation) {
    child_arm(child, supervisor, ring, true, frame);
    ring = NULL;
  }
  supervisor_unlock(supervisor);
  ring_free(ring);
}

/// Send a ready child the active rack, unless an edit is about to replace that rack; later again if
/// it has missed values, or if the quarantine has changed.
static void
load(Supervisor* const supervisor, Child* const child)
{
  supervisor_lock(supervisor);
  if (child->is_ready && child->state == CHILD_STARTING &&
      !(supervisor->worker && supervisor->worker->has_edit)) {
    child_load(child, &supervisor->history);
  }
  if (child->state == CHILD_SERVING || (child->state == CHILD_IDLE && child->must_reload)) {
    child_reload(child, &supervisor->history);
  }
  child_ping(child);
  supervisor_unlock(supervisor);
}

static void
advance_child(Supervisor* const supervisor, Child* const child, const uint64_t now_ns)
{
  load(supervisor, child);
  drop_old_format(supervisor, child);
  if (child != supervisor->next || !take_over_idle(supervisor)) {
    arm(supervisor, child, now_ns);
    take_over_armed(supervisor, child);
  }
}

/// True if it is time to start another process beside the worker.
static bool
exchange_is_due(Supervisor* const supervisor, const uint64_t now_ns)
{
  supervisor_lock(supervisor);
  const bool is_urgent = supervisor_has_old_code(supervisor) || supervisor->worker->is_stuck;
  const bool needs_one = supervisor->worker->status.needs_new_process || is_urgent;
  if (needs_one && !supervisor->wants_exchange && !is_urgent) {
    supervisor_postpone_exchange(supervisor, now_ns);
  }
  supervisor->wants_exchange = needs_one;
  const bool is_due = needs_one && now_ns >= supervisor->exchange.at_ns;
  supervisor_unlock(supervisor);
  return is_due;
}

/// Start the next worker when it is due.
static void
start_next(Supervisor* const supervisor, const uint64_t now_ns)
{
  const bool is_due =
      supervisor->worker ? exchange_is_due(supervisor, now_ns) : now_ns >= supervisor->start_at_ns;
  if (supervisor->next || !is_due || supervisor->started.error.status) {
    return;
  }
  Child* child = NULL;
  Error error;
  Status status = child_start(supervisor, &child, &error);
  supervisor_lock(supervisor);
  status = status ? status : child_configure(child, supervisor, &error);
  supervisor->next = status ? NULL : child;
  pthread_cond_broadcast(&supervisor->changed);
  if (status && supervisor->worker) {
    supervisor_postpone_exchange(supervisor, now_ns);
  } else if (status) {
    const uint64_t rest_ns = crash_policy_rest(&supervisor->policy, &(Loss){ 0 }, false);
    supervisor->start_at_ns = now_ns + rest_ns;
    snprintf(supervisor->note, sizeof(supervisor->note), "%.240s; next attempt in %.0f s",
             error.text, (double)rest_ns * 1e-9);
    if (!supervisor->started.is_there) {
      supervisor->started = (Answer){ true, error };
    }
  }
  supervisor_unlock(supervisor);
  if (status) {
    child_free(child);
  }
}

/// Reply to the pending edit if it is refused; otherwise send it to the worker.
static void
handle_edit(Supervisor* const supervisor)
{
  EngineReply reply = { 0 };
  supervisor_lock(supervisor);
  if (supervisor_refuse_overtaken(supervisor)) {
    supervisor->start_at_ns = 0; // the cause is removed
  }
  const RackHistoryEdit* const edit = supervisor->history.pending;
  const bool is_refused = edit && edit->refusal.status;
  const uint64_t id = is_refused ? edit->id : 0U;
  if (is_refused) {
    reply.status = edit->refusal.status;
    memcpy(reply.text, edit->refusal.text, sizeof(reply.text));
    reply.latency_frames = supervisor->facts.rack_latency_frames;
    rack_history_drop_pending(&supervisor->history);
  } else if (supervisor_takes_edits(supervisor)) {
    child_give_edit(supervisor->worker, &supervisor->history);
  }
  const WorkerFacts facts = supervisor->facts;
  supervisor_unlock(supervisor);
  if (is_refused) {
    supervisor->events.replied(supervisor->events.context, id, &reply, &facts);
  }
}

static void
handle_child(Supervisor* const supervisor, Child* const child, const uint64_t now_ns)
{
  Cause cause = { 0 };
  Error error;
  if (!child) {
    return;
  }
  (void)!wire_flush(child->wire, &error); // supervisor_receive() detects a closed socket
  if (supervisor_receive(supervisor, child, &cause) &&
      supervisor_watch(supervisor, child, &cause)) {
    advance_child(supervisor, child, now_ns);
  } else {
    supervisor_lose(supervisor, child, &cause);
  }
}

static bool
quits(Supervisor* const supervisor)
{
  supervisor_lock(supervisor);
  const bool quits = supervisor->quits;
  supervisor_unlock(supervisor);
  return quits;
}

/// End all children at the same time, and refuse the pending edit.
static void
end_all(Supervisor* const supervisor)
{
  child_leave(supervisor->next, &supervisor->left, false);
  child_leave(supervisor->worker, &supervisor->left, true);
  supervisor->next = supervisor->worker = NULL;
  process_end_left(&supervisor->left);
  rack_history_refuse(&supervisor->history, "the engine stops");
  handle_edit(supervisor);
  supervisor_check_save(supervisor);
}

void
supervisor_round(Supervisor* const supervisor)
{
  wait_for_events(supervisor);
  const uint64_t now_ns = time_now_ns();
  process_reap_left(&supervisor->left, now_ns);
  handle_child(supervisor, supervisor->worker, now_ns);
  handle_child(supervisor, supervisor->next, now_ns);
  handle_edit(supervisor);
  supervisor_check_save(supervisor);
  start_next(supervisor, now_ns);
}

void*
supervisor_loop(void* const context)
{
  Supervisor* const supervisor = context;
  while (!quits(supervisor)) {
    supervisor_round(supervisor);
  }
  end_all(supervisor);
  return NULL;
}
