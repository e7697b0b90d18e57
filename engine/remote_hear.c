// SPDX-License-Identifier: GPL-3.0-or-later
// What children say.  The wire has checked each message by itself; here it must fit the state that
// the child is in, and what it was asked.

#include "plan.h"
#include "remote_private.h"
#include "rt.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES_A_ROUND 64U         // of one child: it can send without end
#define MAX_NEW_PLANS    65536U      // from one message to the next
#define END_WAIT_MS      500         // after its socket has closed
#define FIRST_REST_NS    1000000000U // before a rack that cannot be planned is tried again
#define LONGEST_REST_NS  60000000000U

// ---- facts ----

/// [lock held]
static bool
has_possible_latency(const Remote* const remote, const RunnerFacts* const facts)
{
  return facts->rack_latency_frames <= LATENCY_LIMIT_SECONDS * remote->wanted.format.rate_hz;
}

/// Keep facts, unless newer ones have come.
static bool
take_facts(Remote* const remote, Child* const child, const RunnerFacts* const facts,
           Cause* const cause)
{
  remote_lock(remote);
  // Until it is armed, they may be of the format before.
  const bool can_be = child->state <= CHILD_ARMING || has_possible_latency(remote, facts);
  const bool is_new = facts->serial >= child->facts.serial;
  const bool is_far = is_new && facts->serial - child->facts.serial > MAX_NEW_PLANS;
  if (can_be && is_new && !is_far) {
    child->facts = *facts;
  }
  remote_unlock(remote);
  if (is_far) {
    return remote_is_lost(cause, "told of more plans than it can have made", false);
  }
  return can_be || remote_is_lost(cause, "told a latency that cannot be", false);
}

/// The child's facts as the engine gets them: numbered over all children. [lock held]
static RunnerFacts
number_facts(Remote* const remote, const Child* const child)
{
  const uint64_t serial = remote->facts.serial + 1U;
  remote->facts = child->facts;
  remote->facts.serial = serial;
  return remote->facts;
}

void
remote_publish(Remote* const remote, const Child* const child)
{
  remote_lock(remote);
  const RunnerFacts facts = number_facts(remote, child);
  remote_unlock(remote);
  remote->events.changed(remote->events.context, &facts);
}

// ---- one kind each ----

static bool
hear_ready(Remote* const remote, Child* const child, const RunnerStatus* const status,
           Cause* const cause)
{
  if (child->is_ready) {
    return remote_is_lost(cause, "was ready twice", false);
  }
  if (remote->worker && !status->device[0] && remote->config.backend != ENGINE_BACKEND_CPU) {
    return remote_is_lost(cause, "has no device either", false);
  }
  remote_lock(remote);
  child->status = *status;
  child->is_ready = true;
  remote->had_gpu |= status->device[0] != '\0';
  remote_unlock(remote);
  return true;
}

static bool
hear_failed(Remote* const remote, const Error* const error, Cause* const cause)
{
  remote_lock(remote);
  if (!remote->started.is_there) {
    remote->started.error = *error;
  }
  remote_unlock(remote);
  return remote_is_lost(cause, error->text, false);
}

/// The first pending edit is heard or refused.  [lock held]
static void
settle_edit(Remote* const remote, Child* const child, const bool is_heard)
{
  if (is_heard) {
    blame_new_rack(&remote->blame, remote->book.first->losses.n_crashes, rt_now_ns());
    book_first_heard(&remote->book);
    child->arm_at_ns = 0;
  } else {
    book_drop_first(&remote->book);
  }
  child->has_edit = false;
  if (child->n_missed && (child->state == CHILD_IDLE || child->state == CHILD_SERVING)) {
    child_reload(child, &remote->book);
  }
  if (remote_takes_edits(remote)) {
    child_give_edit(child, &remote->book);
  }
}

static bool
hear_reply(Remote* const remote, Child* const child, const WireReply* const message,
           Cause* const cause)
{
  if (!take_facts(remote, child, &message->facts, cause)) {
    return false;
  }
  const Status status = message->reply.status;
  RunnerFacts facts = { 0 };
  remote_lock(remote);
  const bool is_load = child->n_loads_out && message->id == 0U;
  const bool is_edit = child->has_edit && message->id == remote->book.first->id;
  if (is_load) {
    --child->n_loads_out;
    if (child->state == CHILD_LOADING) {
      child_set_state(child, CHILD_IDLE);
    }
  } else if (is_edit) {
    settle_edit(remote, child, !status);
    facts = number_facts(remote, child);
  }
  remote_unlock(remote);
  if (is_edit) {
    remote->events.replied(remote->events.context, message->id, &message->reply, &facts);
  } else if (!is_load || status) {
    return remote_is_lost(cause, is_load ? message->reply.text : "answered what it was not asked",
                          false);
  }
  return true;
}

/// It cannot be armed.  [lock held]
static void
put_off_arming(Remote* const remote, Child* const child, const Error* const error)
{
  const uint64_t rest_ns = child->arm_rest_ns ? 2U * child->arm_rest_ns : FIRST_REST_NS;
  child->arm_rest_ns = rest_ns < LONGEST_REST_NS ? rest_ns : LONGEST_REST_NS;
  child->arm_at_ns = rt_now_ns() + child->arm_rest_ns;
  snprintf(remote->note, sizeof(remote->note), "the rack cannot be planned again: %.240s",
           error->text);
}

/// Armed with a ring of the engine's, or not. Returns whether the engine believes so wrongly. [lock
/// held]
static bool
answer_arm(Remote* const remote, Child* const child, const Error* const error)
{
  const bool is_refused = error->status && remote->is_arming && !remote->plays_on;
  if (!error->status) {
    child_set_state(child, CHILD_SERVING);
    if (child->n_missed && !child->has_edit) {
      child_reload(child, &remote->book);
    }
    number_facts(remote, child);
  } else if (is_refused) {
    remote->wanted.armed = false;
    remote->armed.error = *error;
  } else {
    put_off_arming(remote, child, error);
  }
  remote->armed.is_there = true;
  pthread_cond_broadcast(&remote->changed);
  return error->status && !is_refused;
}

static bool
hear_armed(Remote* const remote, Child* const child, const WireArmed* const message,
           Cause* const cause)
{
  if (!take_facts(remote, child, &message->facts, cause)) {
    return false;
  }
  remote->host.hold(remote->host.context);
  remote_lock(remote); // who has just asked still holds it
  const bool was_asked = child->n_arms_out != 0U;
  child->n_arms_out -= was_asked;
  child->has_plan |= !message->error.status;
  const bool is_newest = was_asked && !child->n_arms_out && child->state == CHILD_ARMING;
  const bool can_be =
      !is_newest || message->error.status || has_possible_latency(remote, &message->facts);
  if (is_newest && message->error.status) {
    child_set_state(child, CHILD_IDLE);
  }
  if (!can_be) {
    // It stays as it is until it is lost, below.
  } else if (is_newest && !child->ring) {
    if (answer_arm(remote, child, &message->error)) {
      remote->host.lost(remote->host.context);
    }
  } else if (is_newest && message->error.status) {
    put_off_arming(remote, child, &message->error);
    ring_free(child->ring);
    child->ring = NULL;
  } else if (is_newest) {
    child_set_state(child, CHILD_ARMED);
    child->arm_rest_ns = 0;
  }
  remote_unlock(remote);
  remote->host.release(remote->host.context);
  if (!was_asked) {
    return remote_is_lost(cause, "was armed without being asked", false);
  }
  if (!can_be) {
    return remote_is_lost(cause, "told a latency that cannot be", false);
  }
  // Beside a worker that plays, one that cannot is of no use.
  const bool is_useless = message->error.status && remote->worker && child == remote->next;
  return !is_useless || remote_is_lost(cause, message->error.text, false);
}

static bool
hear_disarmed(Remote* const remote, Child* const child, Cause* const cause)
{
  remote_lock(remote); // who has just asked still holds it
  const bool was_asked = child->n_disarms_out != 0U;
  child->n_disarms_out -= was_asked;
  remote_unlock(remote);
  return was_asked || remote_is_lost(cause, "was disarmed without being asked", false);
}

static bool
hear_changed(Remote* const remote, Child* const child, const RunnerFacts* const facts,
             Cause* const cause)
{
  if (!take_facts(remote, child, facts, cause)) {
    return false;
  }
  if (child == remote->worker) {
    remote_publish(remote, child);
  }
  return true;
}

static bool
hear_places(Remote* const remote, Child* const child, const WirePlaces* const message,
            Cause* const cause)
{
  EnginePlace* const places = malloc((message->n + 1U) * sizeof(EnginePlace));
  if (!places) {
    return remote_is_lost(cause, "no memory for what it says", false);
  }
  memcpy(places, message->places, message->n * sizeof(EnginePlace));
  remote_lock(remote);
  free(child->places);
  child->places = places;
  child->n_places = message->n;
  remote_unlock(remote);
  return true;
}

static void
hear_note(Remote* const remote, Child* const child, const char* const text)
{
  remote_lock(remote);
  child->busy_ns = rt_now_ns();
  remote_unlock(remote);
  if (remote->config.note) {
    remote->config.note(remote->config.note_context, text);
  }
}

static bool
hear_message(Remote* const remote, Child* const child, const WireMessage* const message,
             Cause* const cause)
{
  switch (message->kind) {
  case WIRE_READY:
    return hear_ready(remote, child, &message->status, cause);
  case WIRE_FAILED:
    return hear_failed(remote, &message->failed, cause);
  case WIRE_ARMED:
    return hear_armed(remote, child, &message->armed, cause);
  case WIRE_DISARMED:
    return hear_disarmed(remote, child, cause);
  case WIRE_REPLY:
    return hear_reply(remote, child, &message->reply, cause);
  case WIRE_CHANGED:
    return hear_changed(remote, child, &message->changed, cause);
  case WIRE_STATUS:
    remote_lock(remote);
    child->status = message->status;
    remote_unlock(remote);
    return true;
  case WIRE_PLACES:
    return hear_places(remote, child, &message->places, cause);
  case WIRE_NOTE:
    hear_note(remote, child, message->note);
    return true;
  default:
    return remote_is_lost(cause, "sent what is not for the server", false);
  }
}

// ---- the end ----

/// True when the process has ended; then why.
static bool
has_ended(const Child* const child, Cause* const cause)
{
  char reason[PROCESS_REASON_BYTES];
  if (!process_has_ended(child->process, reason)) {
    return false;
  }
  remote_is_lost(cause, reason, false);
  const int number = process_signal(child->process);
  cause->from_outside = number && !remote_is_own_signal(number);
  return true;
}

/// Nothing comes or goes any more: mostly because the process ends at this moment.
static bool
hear_end(const Child* const child, const Error* const error, Cause* const cause)
{
  struct pollfd end = { process_fd(child->process), POLLIN, 0 };
  if (error->status == STATUS_NET) {
    (void)poll(&end, 1, END_WAIT_MS);
  }
  if (!has_ended(child, cause)) {
    remote_is_lost(cause, error->text, false);
    cause->from_outside = error->status == STATUS_NO_MEM; // ours
  }
  return false;
}

bool
remote_hear(Remote* const remote, Child* const child, Cause* const cause)
{
  bool has_more = true;
  for (uint32_t m = 0; m < MESSAGES_A_ROUND && has_more; ++m) {
    WireMessage message;
    Error error;
    if (wire_receive(child->wire, &message, &error)) {
      return hear_end(child, &error, cause);
    }
    has_more = message.kind != WIRE_NONE;
    const bool is_fine = !has_more || hear_message(remote, child, &message, cause);
    wire_message_clear(&message);
    if (!is_fine) {
      return false;
    }
  }
  if (!has_more && has_ended(child, cause)) {
    return false;
  }
  remote_lock(remote);
  const Error broken = child->broken;
  remote_unlock(remote);
  return !broken.status || hear_end(child, &broken, cause);
}
