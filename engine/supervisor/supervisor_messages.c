// SPDX-License-Identifier: GPL-3.0-or-later
// Handles messages of children.  The wire has checked the values of each message; this file checks
// that it fits the child's state and the request.

#include "supervisor_private.h"

#include "engine/base/backoff.h"
#include "engine/base/time.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES_A_ROUND 64U    // limit for one child, which can send without end
#define MESSAGES_AT_END  1024U  // more than the kernel holds of a process that has ended
#define MAX_NEW_PLANS    65536U // limit between two messages
#define END_WAIT_MS      500    // for a process to end after its socket has closed

// ---- facts ----

/// True if the latency is within the limit. [lock held]
static bool
has_possible_latency(const Supervisor* const supervisor, const WorkerFacts* const facts)
{
  return facts->rack_latency_frames <= LATENCY_LIMIT_SECONDS * supervisor->wanted.format.rate_hz;
}

/// Store facts, unless newer ones have arrived.  Returns false, with the cause, for invalid facts.
static bool
take_facts(Supervisor* const supervisor, Child* const child, const WorkerFacts* const facts,
           Cause* const cause)
{
  supervisor_lock(supervisor);
  // Until the child is armed, the facts may refer to the previous format.
  const bool can_be = child->state <= CHILD_ARMING || has_possible_latency(supervisor, facts);
  const bool is_new = facts->serial >= child->facts.serial;
  const bool is_far = is_new && facts->serial - child->facts.serial > MAX_NEW_PLANS;
  if (can_be && is_new && !is_far) {
    child->facts = *facts;
  }
  supervisor_unlock(supervisor);
  if (is_far) {
    return supervisor_fail(cause, "reported more plans than it can have made", false);
  }
  return can_be || supervisor_fail(cause, "reported an invalid latency", false);
}

/// Make the child's facts those of the engine, with a serial that continues over all children.  An
/// output that the child has not measured keeps the fallback of the child before. [lock held]
static WorkerFacts
number_facts(Supervisor* const supervisor, const Child* const child)
{
  WorkerFacts facts = child->facts;
  facts.serial = supervisor->facts.serial + 1U;
  fallback_keep(&supervisor->facts.fallbacks, &facts.fallbacks);
  supervisor->facts = facts;
  return facts;
}

void
supervisor_publish(Supervisor* const supervisor, const Child* const child)
{
  supervisor_lock(supervisor);
  const WorkerFacts facts = number_facts(supervisor, child);
  supervisor_unlock(supervisor);
  supervisor->events.changed(supervisor->events.context, &facts);
}

// ---- one function per kind ----

static bool
handle_ready(Supervisor* const supervisor, Child* const child, const WorkerStatus* const status,
             Cause* const cause)
{
  if (child->is_ready) {
    return supervisor_fail(cause, "was ready twice", false);
  }
  if (supervisor->worker && supervisor->worker->status.needs_new_process && !status->device[0] &&
      supervisor->config.backend != ENGINE_BACKEND_CPU) {
    return supervisor_fail(cause, "has no device either", false);
  }
  supervisor_lock(supervisor);
  child->status = *status;
  child->is_ready = true;
  supervisor->had_gpu |= status->device[0] != '\0';
  supervisor_unlock(supervisor);
  return true;
}

static bool
handle_failed(Supervisor* const supervisor, const Error* const error, Cause* const cause)
{
  supervisor_lock(supervisor);
  if (!supervisor->started.is_there) {
    supervisor->started.error = *error;
  }
  supervisor_unlock(supervisor);
  return supervisor_fail(cause, error->text, false);
}

/// Handle the reply to the pending edit: its rack is active, or the edit is refused. [lock held]
static void
finish_edit(Supervisor* const supervisor, Child* const child, const bool is_active)
{
  if (is_active) {
    crash_policy_new_rack(&supervisor->policy, supervisor->history.pending->losses.n_crashes,
                          time_now_ns());
    rack_history_activate_pending(&supervisor->history);
    child->arm_at_ns = 0;
    supervisor_accept_nodes(supervisor, child);
  } else {
    rack_history_drop_pending(&supervisor->history);
  }
  child->has_edit = false;
}

/// Handle the reply to the active rack: the child has planned it. [lock held]
static void
finish_load(Supervisor* const supervisor, Child* const child)
{
  child->has_load = false;
  if (child->state == CHILD_LOADING) {
    child_set_state(child, CHILD_IDLE);
  }
  supervisor_accept_nodes(supervisor, child);
}

/// Send a refused rack again if the nodes that could not be made are in quarantine now.  An edit
/// may be the cause itself, except for a node that was in quarantine before.  If another reason is
/// named, the nodes that are tried again may be the cause, for example because they need too much
/// memory: then the quarantine of all of them goes on. [lock held]
static bool
repeat(Supervisor* const supervisor, Child* const child, const EngineReply* const reply)
{
  const bool has_other = supervisor->worker && child == supervisor->next; // which plays on
  const bool is_bypassed = supervisor_bypass_refused(supervisor, child, &reply->refused,
                                                     child->has_edit || has_other, reply->text);
  if (!is_bypassed && !node_quarantine_put_back(&supervisor->history.nodes, time_now_ns())) {
    return false;
  }
  if (child->has_edit) {
    child->has_edit = false;
    child_give_edit(child, &supervisor->history);
  } else {
    child->has_load = false;
    (void)child_resend(child, &supervisor->history); // it is free now
  }
  return true;
}

static bool
handle_reply(Supervisor* const supervisor, Child* const child, const WireReply* const message,
             Cause* const cause)
{
  if (child->is_stuck) {
    return true; // too late: the edit is refused, or waits for the next worker
  }
  if (!take_facts(supervisor, child, &message->facts, cause)) {
    return false;
  }
  const Status status = message->reply.status;
  WorkerFacts facts = { 0 };
  supervisor_lock(supervisor);
  child->replied_ns = time_now_ns();
  const bool is_load = child->has_load && message->id == 0U;
  const bool is_edit = child->has_edit && message->id == supervisor->history.pending->id;
  if (status && (is_load || is_edit) && repeat(supervisor, child, &message->reply)) {
    supervisor_unlock(supervisor);
    return true;
  }
  if (is_load) {
    finish_load(supervisor, child);
  } else if (is_edit) {
    finish_edit(supervisor, child, !status);
    facts = number_facts(supervisor, child);
  }
  supervisor_unlock(supervisor);
  if (is_edit) {
    supervisor->events.replied(supervisor->events.context, message->id, &message->reply, &facts);
  } else if (!is_load || status) {
    return supervisor_fail(cause, is_load ? message->reply.text : "sent a reply to no request",
                           false);
  }
  return true;
}

/// Schedule the next attempt after a failure to arm: at once if the nodes that could not be made
/// are in quarantine now.  Returns true for that. [lock held]
static bool
postpone_arming(Supervisor* const supervisor, Child* const child, const WireArmed* const message)
{
  const Error* const error = &message->error;
  const bool has_other = supervisor->worker && child == supervisor->next; // which plays on
  if (supervisor_bypass_refused(supervisor, child, &message->refused, has_other, error->text)) {
    child->must_reload = true;
    child->arm_at_ns = 0;
    return true;
  }
  child->arm_rest_ns =
      backoff_next(child->arm_rest_ns, CRASH_POLICY_FIRST_REST_NS, CRASH_POLICY_LONGEST_REST_NS);
  child->arm_at_ns = time_now_ns() + child->arm_rest_ns;
  snprintf(supervisor->note, sizeof(supervisor->note), "cannot plan the rack again: %.240s",
           error->text);
  return false;
}

/// Handle the reply to an ARM with the engine's own ring.  Returns true if the caller must call
/// host.lost(), because the ring has no worker. [lock held]
static bool
answer_arm(Supervisor* const supervisor, Child* const child, const WireArmed* const message)
{
  const Error* const error = &message->error;
  const bool is_refused = error->status && supervisor->is_arming && !supervisor->plays_on;
  if (!error->status) {
    child_set_state(child, CHILD_SERVING);
    supervisor_accept_nodes(supervisor, child);
    number_facts(supervisor, child);
  } else if (is_refused) {
    supervisor->wanted.armed = false;
    supervisor->armed.error = *error;
  } else {
    (void)postpone_arming(supervisor, child, message);
  }
  supervisor->armed.is_there = true;
  pthread_cond_broadcast(&supervisor->changed);
  return error->status && !is_refused;
}

/// Seal the ring of the last ARM, which the child has mapped.  False if the child has prevented it.
/// [host held: nobody arms or disarms meanwhile]
static bool
seal_ring(const Child* const child, const WireArmed* const message)
{
  const Ring* const ring = child->ring ? child->ring : child->lent;
  const bool is_newest = child->n_arms_out == 1U && child->state == CHILD_ARMING;
  return message->error.status || !is_newest || !ring || ring_seal(ring);
}

static bool
handle_armed(Supervisor* const supervisor, Child* const child, const WireArmed* const message,
             Cause* const cause)
{
  if (!take_facts(supervisor, child, &message->facts, cause)) {
    return false;
  }
  supervisor->host.hold(supervisor->host.context);
  const bool is_sealed = seal_ring(child, message);
  supervisor_lock(supervisor); // the caller of arm() may still hold the lock
  const bool was_asked = child->n_arms_out != 0U;
  child->n_arms_out -= was_asked;
  child->replied_ns = time_now_ns();
  child->has_plan |= !message->error.status;
  const bool is_newest = was_asked && !child->n_arms_out && child->state == CHILD_ARMING;
  bool is_repeated = false;
  const bool can_be =
      !is_newest || message->error.status || has_possible_latency(supervisor, &message->facts);
  if (is_newest && message->error.status) {
    child_set_state(child, CHILD_IDLE);
  }
  if (!can_be || !is_sealed) {
    // The state stays: the child is lost, see below.
  } else if (is_newest && !child->ring) {
    if (answer_arm(supervisor, child, message)) {
      supervisor->host.lost(supervisor->host.context);
    }
  } else if (is_newest && message->error.status) {
    is_repeated = postpone_arming(supervisor, child, message);
    ring_free(child->ring);
    child->ring = NULL;
  } else if (is_newest) {
    child_set_state(child, CHILD_ARMED);
    supervisor_accept_nodes(supervisor, child);
    child->arm_rest_ns = 0;
  }
  supervisor_unlock(supervisor);
  supervisor->host.release(supervisor->host.context);
  if (!was_asked) {
    return supervisor_fail(cause, "was armed without being asked", false);
  }
  if (!is_sealed) {
    return supervisor_fail(cause, "has sealed the block ring", false);
  }
  if (!can_be) {
    return supervisor_fail(cause, "reported an invalid latency", false);
  }
  // If the next worker fails to arm, the current worker plays on.
  const bool is_useless =
      message->error.status && !is_repeated && supervisor->worker && child == supervisor->next;
  return !is_useless || supervisor_fail(cause, message->error.text, false);
}

static bool
handle_disarmed(Supervisor* const supervisor, Child* const child, Cause* const cause)
{
  supervisor_lock(supervisor); // the caller of arm() may still hold the lock
  const bool was_asked = child->n_disarms_out != 0U;
  child->n_disarms_out -= was_asked;
  supervisor_unlock(supervisor);
  return was_asked || supervisor_fail(cause, "was disarmed without being asked", false);
}

static bool
handle_changed(Supervisor* const supervisor, Child* const child, const WorkerFacts* const facts,
               Cause* const cause)
{
  if (!take_facts(supervisor, child, facts, cause)) {
    return false;
  }
  if (child == supervisor->worker) {
    supervisor_publish(supervisor, child);
  }
  return true;
}

static bool
handle_placements(Supervisor* const supervisor, Child* const child,
                  const WirePlacements* const message, Cause* const cause)
{
  EnginePlacement* const placements = malloc((message->n + 1U) * sizeof(EnginePlacement));
  if (!placements) {
    return supervisor_fail(cause, "out of memory for its message", false);
  }
  memcpy(placements, message->placements, message->n * sizeof(EnginePlacement));
  supervisor_lock(supervisor);
  free(child->placements);
  child->placements = placements;
  child->n_placements = message->n;
  supervisor_unlock(supervisor);
  return true;
}

static void
handle_note(Supervisor* const supervisor, Child* const child, const char* const text)
{
  supervisor_lock(supervisor);
  child->busy_ns = time_now_ns();
  supervisor_unlock(supervisor);
  if (supervisor->config.note) {
    supervisor->config.note(supervisor->config.note_context, text);
  }
}

static bool
handle_message(Supervisor* const supervisor, Child* const child, const WireMessage* const message,
               Cause* const cause)
{
  switch (message->kind) {
  case WIRE_READY:
    return handle_ready(supervisor, child, &message->status, cause);
  case WIRE_FAILED:
    return handle_failed(supervisor, &message->failed, cause);
  case WIRE_ARMED:
    return handle_armed(supervisor, child, &message->armed, cause);
  case WIRE_DISARMED:
    return handle_disarmed(supervisor, child, cause);
  case WIRE_REPLY:
    return handle_reply(supervisor, child, &message->reply, cause);
  case WIRE_SAVED:
    return supervisor_handle_saved(supervisor, child, &message->saved, cause);
  case WIRE_CHANGED:
    return handle_changed(supervisor, child, &message->changed, cause);
  case WIRE_STATUS:
    supervisor_lock(supervisor);
    child->status = message->status;
    supervisor_unlock(supervisor);
    return true;
  case WIRE_PLACEMENTS:
    return handle_placements(supervisor, child, &message->placements, cause);
  case WIRE_LOST:
    supervisor_handle_lost(supervisor, child, &message->lost);
    return true;
  case WIRE_NOTE:
    handle_note(supervisor, child, message->note);
    return true;
  default:
    return supervisor_fail(cause, "sent a message that is not for the server", false);
  }
}

// ---- the end ----

/// True if the process has ended; sets the cause.
static bool
has_ended(const Child* const child, Cause* const cause)
{
  char reason[PROCESS_REASON_BYTES];
  if (!process_has_ended(child->process, reason)) {
    return false;
  }
  supervisor_fail(cause, reason, false);
  cause->kind = CAUSE_CRASH;
  const int number = process_signal(child->process);
  cause->from_outside = number && !supervisor_is_own_signal(number);
  return true;
}

/// Handle a closed or failed socket.  A process that is ending closes its socket first: wait for
/// its exit status.
static bool
handle_end(const Child* const child, const Error* const error, Cause* const cause)
{
  struct pollfd end = { process_fd(child->process), POLLIN, 0 };
  if (error->status == STATUS_NET) {
    (void)poll(&end, 1, END_WAIT_MS);
  }
  if (!has_ended(child, cause)) {
    supervisor_fail(cause, error->text, false);
    cause->from_outside = error->status == STATUS_NO_MEM; // an error of this process
  }
  return false;
}

bool
supervisor_receive(Supervisor* const supervisor, Child* const child, Cause* const cause)
{
  // What the process has sent is there once it has ended.  Another process that it has started may
  // hold the socket, and send without end.
  Cause end = { 0 };
  const bool is_over = has_ended(child, &end);
  const uint32_t max = is_over ? MESSAGES_AT_END : MESSAGES_A_ROUND;
  bool has_more = true;
  for (uint32_t m = 0; m < max && has_more; ++m) {
    WireMessage message;
    Error error;
    if (wire_receive(child->wire, &message, &error)) {
      return handle_end(child, &error, cause);
    }
    has_more = message.kind != WIRE_NONE;
    const bool is_fine = !has_more || handle_message(supervisor, child, &message, cause);
    wire_message_clear(&message);
    if (!is_fine) {
      return false;
    }
  }
  child->has_more = has_more;
  if (is_over || (!has_more && has_ended(child, cause))) {
    *cause = is_over ? end : *cause;
    return false;
  }
  supervisor_lock(supervisor);
  const Error broken = child->broken;
  supervisor_unlock(supervisor);
  return !broken.status || handle_end(child, &broken, cause);
}
