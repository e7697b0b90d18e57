// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The link: the thread that starts worker processes and ends them.  One round: wait for something to
  happen, hear what the children say and look how they do, go on with what is wanted.
*/

#include "remote_private.h"
#include "rt.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 20  // between looks at a child
#define REST_MS 100 // while there is none

// ---- waiting ----

static uint32_t
add_child(const Child* const child, struct pollfd* const fds, uint32_t n)
{
  if (child) {
    const short events = wire_queued(child->wire) ? POLLIN | POLLOUT : POLLIN;
    fds[n++] = (struct pollfd){ wire_fd(child->wire), events, 0 };
    fds[n++] = (struct pollfd){ process_fd(child->process), POLLIN, 0 };
  }
  return n;
}

static void
wait_for_news(const Remote* const remote)
{
  struct pollfd fds[5] = { { remote->wake, POLLIN, 0 } };
  uint32_t n = add_child(remote->worker, fds, 1U);
  n = add_child(remote->next, fds, n);
  (void)poll(fds, n, n > 1U ? LOOK_MS : REST_MS);
  uint64_t count = 0;
  (void)!read(remote->wake, &count, sizeof(count)); // nothing to read is as good
}

// ---- a child takes over ----

/// [lock held]
static void
note_start(Remote* const remote)
{
  if (remote->started.is_there) {
    ++remote->n_starts;
  }
  remote->started.is_there = true;
  pthread_cond_broadcast(&remote->changed);
}

/// The next worker is the worker; returns the one before, for child_free(). [lock held]
static Child*
exchange(Remote* const remote)
{
  Child* const left = remote->worker;
  if (left) {
    snprintf(remote->note, sizeof(remote->note),
             "worker %d takes over from worker %d, whose device hung or was lost for good",
             (int)process_id(remote->next->process), (int)process_id(left->process));
    remote_keep_counts(remote, left);
  }
  remote->wants_exchange = false;
  remote->worker = remote->next;
  remote->next = NULL;
  note_start(remote);
  return left;
}

/// The next one takes over when it is idle and as far as it can come: ready for all that is wanted
/// but sound.  In one piece, or the worker might be armed meanwhile.
static bool
take_over_idle(Remote* const remote)
{
  remote_lock(remote);
  const Child* const next = remote->next;
  const bool is_put_off = next->arm_at_ns && !remote->worker;
  const bool is_ready = next->state == CHILD_IDLE && (!remote->wanted.armed || is_put_off);
  Child* const left = is_ready ? exchange(remote) : NULL;
  if (is_ready) {
    child_give_edit(remote->worker, &remote->book);
  }
  remote_unlock(remote);
  if (is_ready) {
    remote_publish(remote, remote->worker);
    child_free(left, true);
  }
  return is_ready;
}

/// Give its ring to the callback; the first that goes through it is what the worker has missed.
static bool
serve(Remote* const remote, Child* const child)
{
  remote_lock(remote);
  Ring* const ring = child->ring;
  const bool is_wanted = child->state == CHILD_ARMED && remote->wanted.armed &&
                         child->generation == remote->wanted.generation &&
                         child->n_missed <= remote->wanted.shape.n_messages;
  if (is_wanted) {
    child->ring = NULL;
    child_set_state(child, CHILD_SERVING);
  }
  remote_unlock(remote);
  const bool is_served =
      is_wanted && remote->host.offer(remote->host.context, ring, child->missed, child->n_missed);
  remote_lock(remote);
  if (is_served) {
    child->n_sent += child->n_missed;
    child->n_missed = 0;
  } else if (is_wanted && child->state == CHILD_SERVING) {
    child->ring = ring;
    child_set_state(child, CHILD_ARMED);
  } else if (is_wanted) {
    ring_free(ring); // disarmed meanwhile
  }
  remote_unlock(remote);
  return is_served;
}

/// Its ring is ready: let it be heard.
static void
take_over_armed(Remote* const remote, Child* const child)
{
  remote->host.hold(remote->host.context);
  Child* left = NULL;
  const bool is_served = serve(remote, child);
  remote_lock(remote);
  if (is_served && child == remote->next) {
    left = exchange(remote);
  }
  remote_unlock(remote);
  remote->host.release(remote->host.context);
  if (is_served) {
    remote_publish(remote, child);
    blame_heard(&remote->blame, rt_now_ns());
    remote_lock(remote);
    child_give_edit(child, &remote->book);
    remote_unlock(remote);
  }
  child_free(left, true);
}

// ---- going on ----

/// Disarm it when it has been armed for what is not wanted any more, with a ring of the link's.
static void
drop_old_format(Remote* const remote, Child* const child)
{
  remote_lock(remote);
  if (child->ring && (child->generation != remote->wanted.generation ||
                      child->n_missed > remote->wanted.shape.n_messages)) {
    child_disarm(child);
  }
  remote_unlock(remote);
}

static bool
can_be_armed(const Remote* const remote, const Child* const child, const uint64_t now_ns)
{
  return child->state == CHILD_IDLE && remote->wanted.armed && now_ns >= child->arm_at_ns;
}

/// Arm an idle child with a ring of its own.
static void
arm(Remote* const remote, Child* const child, const uint64_t now_ns)
{
  remote_lock(remote);
  const Wanted wanted = remote->wanted;
  const bool is_due = can_be_armed(remote, child, now_ns);
  remote_unlock(remote);
  Ring* ring = NULL;
  Error error;
  if (!is_due) {
    return;
  }
  if (ring_new(&wanted.shape, &ring, &error)) {
    remote_lock(remote);
    child->arm_at_ns = now_ns + BLAME_FIRST_REST_NS;
    snprintf(remote->note, sizeof(remote->note), "%.240s; tried again in %.0f s", error.text,
             (double)BLAME_FIRST_REST_NS * 1e-9);
    remote_unlock(remote);
    return;
  }
  const uint64_t frame = remote->host.frame_now(remote->host.context);
  remote_lock(remote);
  if (can_be_armed(remote, child, now_ns) && wanted.generation == remote->wanted.generation) {
    child_arm(child, remote, ring, true, frame);
    ring = NULL;
  }
  remote_unlock(remote);
  ring_free(ring);
}

/// Give it the rack, unless that is about to be another one.
static void
load(Remote* const remote, Child* const child)
{
  remote_lock(remote);
  if (child->is_ready && child->state == CHILD_STARTING &&
      !(remote->worker && remote->worker->has_edit)) {
    child_load(child, &remote->book);
  }
  child_ask(child);
  remote_unlock(remote);
}

static void
go_on(Remote* const remote, Child* const child, const uint64_t now_ns)
{
  load(remote, child);
  drop_old_format(remote, child);
  if (child != remote->next || !take_over_idle(remote)) {
    arm(remote, child, now_ns);
    take_over_armed(remote, child);
  }
}

/// Whether it is time for another process beside the worker.
static bool
exchange_is_due(Remote* const remote, const uint64_t now_ns)
{
  const bool needs_one = remote->worker->status.needs_new_process;
  if (needs_one && !remote->wants_exchange) {
    remote_put_off_exchange(remote, now_ns);
  }
  remote->wants_exchange = needs_one;
  return needs_one && now_ns >= remote->exchange_at_ns;
}

/// Start the next worker when it is time.
static void
start_next(Remote* const remote, const uint64_t now_ns)
{
  const bool is_due =
      remote->worker ? exchange_is_due(remote, now_ns) : now_ns >= remote->start_at_ns;
  if (remote->next || !is_due || remote->started.error.status) {
    return;
  }
  Child* child = NULL;
  Error error;
  const Status status = child_start(remote, &child, &error);
  remote_lock(remote);
  remote->next = child;
  if (status && remote->worker) {
    remote_put_off_exchange(remote, now_ns);
  } else if (status) {
    const uint64_t rest_ns = blame_rest(&remote->blame, &(Loss){ 0 }, false);
    remote->start_at_ns = now_ns + rest_ns;
    snprintf(remote->note, sizeof(remote->note), "%.240s; tried again in %.0f s", error.text,
             (double)rest_ns * 1e-9);
    if (!remote->started.is_there) {
      remote->started = (Answer){ true, error };
      pthread_cond_broadcast(&remote->changed);
    }
  }
  remote_unlock(remote);
}

/// Answer the edits that are refused by now, as far as they are first.
static void
refuse_edits(Remote* const remote)
{
  for (;;) {
    EngineReply reply = { 0 };
    remote_lock(remote);
    const BookEdit* const edit = remote->book.first;
    const bool is_refused = edit && edit->refusal.status;
    const uint64_t id = is_refused ? edit->id : 0U;
    if (is_refused) {
      reply.status = edit->refusal.status;
      memcpy(reply.text, edit->refusal.text, sizeof(reply.text));
      reply.latency_frames = remote->facts.rack_latency_frames;
      book_drop_first(&remote->book);
    }
    if (remote_takes_edits(remote)) {
      child_give_edit(remote->worker, &remote->book);
    }
    const RunnerFacts facts = remote->facts;
    remote_unlock(remote);
    if (!is_refused) {
      return;
    }
    remote->events.replied(remote->events.context, id, &reply, &facts);
  }
}

static void
attend(Remote* const remote, Child* const child, const uint64_t now_ns)
{
  Cause cause = { 0 };
  Error error;
  if (!child) {
    return;
  }
  (void)!wire_flush(child->wire, &error); // that it is gone is heard
  if (remote_hear(remote, child, &cause) && remote_watch(remote, child, &cause)) {
    go_on(remote, child, now_ns);
  } else {
    remote_lose(remote, child, &cause);
  }
}

static bool
quits(Remote* const remote)
{
  remote_lock(remote);
  const bool quits = remote->quits;
  remote_unlock(remote);
  return quits;
}

/// The engine stops: edits that wait are told.
static void
end_all(Remote* const remote)
{
  child_free(remote->next, false);
  child_free(remote->worker, true);
  remote->next = remote->worker = NULL;
  book_refuse_all(&remote->book, "the engine stops");
  refuse_edits(remote);
}

void*
remote_link(void* const context)
{
  Remote* const remote = context;
  while (!quits(remote)) {
    wait_for_news(remote);
    const uint64_t now_ns = rt_now_ns();
    attend(remote, remote->worker, now_ns);
    attend(remote, remote->next, now_ns);
    refuse_edits(remote);
    start_next(remote, now_ns);
  }
  end_all(remote);
  return NULL;
}
