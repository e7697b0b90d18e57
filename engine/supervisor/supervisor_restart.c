// SPDX-License-Identifier: GPL-3.0-or-later
// Loss of a child: hide it, kill it, find the cause, and schedule the next start.

#include "supervisor_private.h"

#include "engine/base/time.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

// Longest wait for a killed process.  A process that hangs in a driver ends slowly.
#define KILL_LIMIT_NS (2U * NS_PER_S)
// The same while another worker plays, which nobody watches meanwhile.
#define KILL_LIMIT_PLAYING_NS (NS_PER_S / 10U)

// ---- the end of a child ----

/// Kill the child, and wait for its end for at most `limit_ns`.  If it was already crashing (for
/// example writing its core), make that crash the cause.
static void
end(const Child* const child, const uint64_t limit_ns, Cause* const cause)
{
  char reason[PROCESS_REASON_BYTES];
  if (process_kill(child->process, limit_ns, reason) &&
      supervisor_is_own_signal(process_signal(child->process))) {
    cause->from_outside = false;
    cause->kind = CAUSE_CRASH;
    snprintf(cause->text, sizeof(cause->text), "%s", reason);
  }
}

void
supervisor_keep_facts(Supervisor* const supervisor, Child* const child)
{
  worker_counts_add(&supervisor->past, &child->status.counts);
  if (child->n_placements) { // else it has made no node
    free(supervisor->placements);
    supervisor->placements = child->placements;
    supervisor->n_placements = child->n_placements;
    child->placements = NULL;
    child->n_placements = 0;
  }
}

/// Hide the child from other threads: afterwards only the supervisor thread uses it.
static Loss
hide_child(Supervisor* const supervisor, Child* const child)
{
  supervisor_lock(supervisor);
  const Loss loss = { .was_healthy = child->is_healthy,
                      .had_edit = child->has_edit,
                      .had_rack = child->state > CHILD_STARTING };
  supervisor_keep_facts(supervisor, child);
  if (child == supervisor->worker) {
    supervisor->worker = NULL;
    supervisor->armed.is_there = true; // wakes the caller of arm()
  } else {
    supervisor->next = NULL;
  }
  pthread_cond_broadcast(&supervisor->changed);
  supervisor_unlock(supervisor);
  return loss;
}

// ---- the cause of a loss ----

/// Put the active rack, which has crashed too often, into quarantine.  Returns false if it must
/// stay. [lock held]
static bool
quarantine(Supervisor* const supervisor, const char* const why)
{
  const bool has_before = supervisor->history.before != NULL;
  if (!has_before && !supervisor->history.active->n_nodes) {
    return false; // the empty rack cannot be reverted
  }
  char words[SUPERVISOR_NOTE_BYTES];
  snprintf(words, sizeof(words), "this rack crashed two workers (%.180s)", why);
  if (!rack_history_quarantine(&supervisor->history, words, time_now_ns())) {
    return false;
  }
  rack_history_refuse(&supervisor->history, "the edit is based on a rack that crashed two workers");
  ++supervisor->n_quarantined;
  snprintf(supervisor->quarantine, sizeof(supervisor->quarantine),
           "the rack crashed two workers (%.180s); %s", why,
           has_before ? "the previous rack is active again" : "the empty rack is active");
  return true;
}

/// Find the cause of a loss.  Returns true if an edit, the rack or a node is the cause and has been
/// removed. [lock held]
static bool
judge(Supervisor* const supervisor, const Child* const child, const Loss* const loss,
      const Suspect* const suspect, const Cause* const cause)
{
  RackHistoryEdit* const edit = supervisor->history.pending;
  const uint64_t now_ns = time_now_ns();
  const bool has_name = suspect->node || (suspect->one_of && suspect->phase == RECORDER_RUN);
  const bool is_of_edit =
      loss->had_edit && (!has_name || supervisor_is_of_edit(supervisor, suspect));
  const bool has_stood = crash_policy_has_stood(&supervisor->policy, now_ns);
  if (suspect->node && !is_of_edit && !loss->from_outside) {
    crash_policy_stopped_to_play(&supervisor->policy);
    return supervisor_judge_node(supervisor, child, suspect, cause, has_stood);
  }
  if (!is_of_edit && !loss->from_outside && supervisor_part_nodes(supervisor, suspect)) {
    crash_policy_stopped_to_play(&supervisor->policy);
    return false;
  }
  const Verdict verdict =
      crash_policy_loss(&supervisor->policy, loss, loss->had_edit ? &edit->losses : NULL, now_ns);
  if (verdict == VERDICT_EDIT || (is_of_edit && cause->kind == CAUSE_STUCK)) {
    supervisor_refuse_edit(supervisor, cause);
    return true;
  }
  return verdict == VERDICT_RACK && quarantine(supervisor, cause->text);
}

bool
supervisor_refuse_overtaken(Supervisor* const supervisor)
{
  const RackHistoryEdit* const edit = supervisor->history.pending;
  const bool is_planned = supervisor->worker && supervisor->worker->has_edit;
  if (!edit || edit->refusal.status || !edit->is_overtaken || !edit->losses.n_losses ||
      is_planned) {
    return false;
  }
  rack_history_refuse(&supervisor->history, "a worker was lost while it planned this edit, and a "
                                            "later command makes the rack smaller");
  return true;
}

// ---- next start ----

/// Record the loss, and schedule the next start. [lock held]
static void
note_loss(Supervisor* const supervisor, const int64_t pid, const char* const why,
          const uint64_t rest_ns)
{
  char when[32] = "";
  if (rest_ns) {
    snprintf(when, sizeof(when), " in %.0f s", (double)rest_ns * 1e-9);
  }
  snprintf(supervisor->note, sizeof(supervisor->note), "worker %lld: %.200s; the next one starts%s",
           (long long)pid, why, when);
}

void
supervisor_postpone_exchange(Supervisor* const supervisor, const uint64_t now_ns)
{
  backoff_fail(&supervisor->exchange, CRASH_POLICY_FIRST_REST_NS, CRASH_POLICY_LONGEST_REST_NS,
               now_ns);
}

/// Give up a next worker that cannot take over.  The current worker plays on.
static void
give_up_exchange(Supervisor* const supervisor, Child* const child, Cause* const cause)
{
  const int64_t pid = process_id(child->process);
  (void)hide_child(supervisor, child);
  end(child, KILL_LIMIT_PLAYING_NS, cause);
  supervisor_lock(supervisor);
  supervisor_postpone_exchange(supervisor, time_now_ns());
  const Suspect suspect = supervisor_find_suspect(supervisor, child, cause);
  supervisor_name_suspect(&suspect, cause->text, sizeof(cause->text));
  if (!cause->from_outside &&
      (suspect.node ? supervisor_judge_node(supervisor, child, &suspect, cause, false)
                    : supervisor_part_nodes(supervisor, &suspect))) {
    supervisor->exchange = (Backoff){ 0 }; // the cause is removed, or the next crash names it
  }
  snprintf(supervisor->note, sizeof(supervisor->note),
           "worker %lld cannot take over: %.160s; next attempt in %.0f s", (long long)pid,
           cause->text, (double)supervisor->exchange.rest_ns * 1e-9);
  supervisor_unlock(supervisor);
  child_leave(child, &supervisor->left, false);
}

void
supervisor_lose(Supervisor* const supervisor, Child* const child, Cause* const cause)
{
  if (child == supervisor->next && supervisor->worker) {
    give_up_exchange(supervisor, child, cause);
    return;
  }
  const bool was_worker = child == supervisor->worker;
  const int64_t pid = process_id(child->process);
  supervisor->host.hold(supervisor->host.context);
  Loss loss = hide_child(supervisor, child);
  if (was_worker) {
    supervisor->host.lost(supervisor->host.context);
  }
  supervisor->host.release(supervisor->host.context);
  end(child, KILL_LIMIT_NS, cause);
  loss.from_outside = cause->from_outside;
  supervisor_lock(supervisor);
  const Suspect suspect = supervisor_find_suspect(supervisor, child, cause);
  supervisor_name_suspect(&suspect, cause->text, sizeof(cause->text));
  const bool is_resolved =
      judge(supervisor, child, &loss, &suspect, cause) || supervisor_refuse_overtaken(supervisor);
  const uint64_t rest_ns = crash_policy_rest(&supervisor->policy, &loss, is_resolved);
  supervisor->start_at_ns = time_now_ns() + rest_ns;
  note_loss(supervisor, pid, cause->text, rest_ns);
  if (!supervisor->started.is_there) {
    supervisor->started.is_there = true;
    if (!supervisor->started.error.status) {
      error_set(&supervisor->started.error, STATUS_WORKER, "the worker process %s", cause->text);
    }
  }
  pthread_cond_broadcast(&supervisor->changed);
  supervisor_unlock(supervisor);
  child_leave(child, &supervisor->left, false);
}
