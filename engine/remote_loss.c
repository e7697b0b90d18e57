// SPDX-License-Identifier: GPL-3.0-or-later
// A child is lost: it is taken out of sight and killed, whose fault it was is judged, and when the
// next one comes.

#include "remote_private.h"
#include "rt.h"

#include <signal.h>
#include <stdio.h>

// ---- its end ----

bool
remote_is_lost(Cause* const cause, const char* const text, const bool from_outside)
{
  cause->from_outside = from_outside;
  snprintf(cause->text, sizeof(cause->text), "%.*s", (int)sizeof(cause->text) - 1, text);
  return false;
}

bool
remote_is_own_signal(const int number)
{
  static const int own[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
  for (size_t s = 0; s < ARRAY_LEN(own); ++s) {
    if (own[s] == number) {
      return true;
    }
  }
  return false;
}

/// Kill it.  Where it had been dying by its own doing, as a process that takes long to write its
/// core, that is the cause.
static void
end(const Child* const child, Cause* const cause)
{
  char reason[PROCESS_REASON_BYTES];
  if (process_kill(child->process, REMOTE_KILL_LIMIT_NS, reason) &&
      remote_is_own_signal(process_signal(child->process))) {
    cause->from_outside = false;
    snprintf(cause->text, sizeof(cause->text), "%s", reason);
  }
}

void
remote_keep_counts(Remote* const remote, const Child* const child)
{
  RunnerStatus* const past = &remote->past;
  past->blocks += child->status.blocks;
  past->plans += child->status.plans;
  past->params_applied += child->status.params_applied;
  past->params_dropped += child->status.params_dropped;
  past->units_reset += child->status.units_reset;
  past->device_errors += child->status.device_errors;
}

/// Take it out of sight; from here on it is the link's alone.
static Loss
unlink_child(Remote* const remote, const Child* const child)
{
  remote_lock(remote);
  const Loss loss = { .was_healthy = child->is_healthy,
                      .had_edit = child->has_edit,
                      .had_rack = child->state > CHILD_STARTING };
  remote_keep_counts(remote, child);
  if (child == remote->worker) {
    remote->worker = NULL;
    remote->armed.is_there = true; // who waits for that waits no longer
  } else {
    remote->next = NULL;
  }
  pthread_cond_broadcast(&remote->changed);
  remote_unlock(remote);
  return loss;
}

// ---- whose fault ----

/// The edit on its way has cost too many workers. [lock held]
static void
refuse_edit(Remote* const remote, const char* const why)
{
  BookEdit* const edit = remote->book.first;
  const bool has_crashed = edit->losses.n_crashes >= BLAME_CRASHES;
  error_set(&edit->refusal, STATUS_WORKER,
            has_crashed ? "the worker crashed twice while planning it (%s)"
                        : "three workers were lost while planning it (%s)",
            why);
  book_refuse_followers(&remote->book, "the rack that it was made from cost too many workers");
}

/// The rack that is heard has crashed too often.  False when it has to stay. [lock held]
static bool
quarantine(Remote* const remote, const char* const why)
{
  const bool has_before = remote->book.before != NULL;
  if (!has_before && !remote->book.heard->n_nodes) {
    return false; // it is none, and nothing worse can be taken back
  }
  char words[REMOTE_NOTE_BYTES];
  snprintf(words, sizeof(words), "this rack has crashed the worker twice (%.180s)", why);
  if (!book_quarantine(&remote->book, words, rt_now_ns())) {
    return false;
  }
  book_refuse_all(&remote->book, "the rack that it was made from has crashed the worker twice");
  ++remote->n_quarantined;
  snprintf(remote->quarantine, sizeof(remote->quarantine),
           "the rack has crashed the worker twice (%.180s); %s", why,
           has_before ? "the one before it is heard again" : "the empty one is heard");
  return true;
}

/// Judge a loss; true when what was to blame has been taken away. [lock held]
static bool
judge(Remote* const remote, const Loss* const loss, const char* const why)
{
  BookEdit* const edit = remote->book.first;
  switch (blame_loss(&remote->blame, loss, loss->had_edit ? &edit->losses : NULL, rt_now_ns())) {
  case VERDICT_EDIT:
    refuse_edit(remote, why);
    return true;
  case VERDICT_RACK:
    return quarantine(remote, why);
  case VERDICT_NONE:
    break;
  }
  return false;
}

// ---- and then ----

/// Say what was lost, and when the next one comes. [lock held]
static void
note_loss(Remote* const remote, const int64_t pid, const char* const why, const uint64_t rest_ns)
{
  char when[32] = "";
  if (rest_ns) {
    snprintf(when, sizeof(when), " in %.0f s", (double)rest_ns * 1e-9);
  }
  snprintf(remote->note, sizeof(remote->note), "worker %lld: %.200s; the next one starts%s",
           (long long)pid, why, when);
}

void
remote_put_off_exchange(Remote* const remote, const uint64_t now_ns)
{
  const uint64_t rest_ns = remote->exchange_rest_ns;
  const bool is_first = !rest_ns || now_ns > remote->exchange_at_ns + BLAME_LONGEST_REST_NS;
  const uint64_t next_ns = is_first ? BLAME_FIRST_REST_NS : 2U * rest_ns;
  remote->exchange_rest_ns = next_ns < BLAME_LONGEST_REST_NS ? next_ns : BLAME_LONGEST_REST_NS;
  remote->exchange_at_ns = now_ns + remote->exchange_rest_ns;
}

/// The next one will not do, and the worker plays on.
static void
give_up_exchange(Remote* const remote, Child* const child, Cause* const cause)
{
  const int64_t pid = process_id(child->process);
  (void)unlink_child(remote, child);
  end(child, cause);
  child_free(child, false);
  remote_put_off_exchange(remote, rt_now_ns());
  remote_lock(remote);
  snprintf(remote->note, sizeof(remote->note),
           "worker %lld was to bring the device back: %.160s; tried again in %.0f s",
           (long long)pid, cause->text, (double)remote->exchange_rest_ns * 1e-9);
  child_give_edit(remote->worker, &remote->book);
  remote_unlock(remote);
}

void
remote_overtake(Remote* const remote)
{
  if (!remote->worker || !remote->worker->has_edit) {
    book_overtake(&remote->book, "a worker was lost while planning it, and a later edit takes away "
                                 "something of what it has");
  }
}

void
remote_lose(Remote* const remote, Child* const child, Cause* const cause)
{
  if (child == remote->next && remote->worker) {
    give_up_exchange(remote, child, cause);
    return;
  }
  const bool was_worker = child == remote->worker;
  const int64_t pid = process_id(child->process);
  remote->host.hold(remote->host.context);
  Loss loss = unlink_child(remote, child);
  if (was_worker) {
    remote->host.lost(remote->host.context);
  }
  remote->host.release(remote->host.context);
  end(child, cause);
  loss.from_outside = cause->from_outside;
  child_free(child, false);
  remote_lock(remote);
  const bool cured = judge(remote, &loss, cause->text);
  remote_overtake(remote);
  const uint64_t rest_ns = blame_rest(&remote->blame, &loss, cured);
  remote->start_at_ns = rt_now_ns() + rest_ns;
  note_loss(remote, pid, cause->text, rest_ns);
  if (!remote->started.is_there) {
    remote->started.is_there = true;
    if (!remote->started.error.status) {
      error_set(&remote->started.error, STATUS_WORKER, "the worker process %s", cause->text);
    }
  }
  pthread_cond_broadcast(&remote->changed);
  remote_unlock(remote);
}
