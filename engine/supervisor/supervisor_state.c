// SPDX-License-Identifier: GPL-3.0-or-later
// The supervisor's state: its lock, the worker that takes edits, the cause of a loss.

#include "supervisor_private.h"

#include <signal.h>
#include <stdio.h>

#define PLAN_LIMIT_NS (60U * NS_PER_S) // also for a rack without plugins: kernels are compiled
#define LAST_CALL_NS  (15U * NS_PER_S) // a call of a plugin may take 10 s

void
supervisor_lock(Supervisor* const supervisor)
{
  pthread_mutex_lock(&supervisor->lock);
}

void
supervisor_unlock(Supervisor* const supervisor)
{
  pthread_mutex_unlock(&supervisor->lock);
}

// ---- the current worker ----

Child*
supervisor_ready_worker(const Supervisor* const supervisor)
{
  Child* const worker = supervisor->worker;
  return worker && !worker->broken.status ? worker : NULL;
}

bool
supervisor_has_old_code(const Supervisor* const supervisor)
{
  return supervisor->worker && supervisor->worker->n_plugins != supervisor->n_plugins;
}

bool
supervisor_takes_edits(const Supervisor* const supervisor)
{
  return supervisor->worker && !supervisor->worker->is_stuck &&
         (!supervisor->next || supervisor->next->state == CHILD_STARTING) &&
         (!supervisor_has_old_code(supervisor) || supervisor->exchange.rest_ns);
}

// ---- losses ----

uint64_t
supervisor_plan_limit(const Supervisor* const supervisor)
{
  const uint64_t start_ns = engine_plugin_start_ns(&supervisor->config) + LAST_CALL_NS;
  return start_ns > PLAN_LIMIT_NS ? start_ns : PLAN_LIMIT_NS;
}

bool
supervisor_fail(Cause* const cause, const char* const text, const bool from_outside)
{
  cause->from_outside = from_outside;
  snprintf(cause->text, sizeof(cause->text), "%.*s", (int)sizeof(cause->text) - 1, text);
  return false;
}

bool
supervisor_is_own_signal(const int number)
{
  static const int own[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
  for (size_t s = 0; s < ARRAY_LEN(own); ++s) {
    if (own[s] == number) {
      return true;
    }
  }
  return false;
}

void
supervisor_refuse_edit(Supervisor* const supervisor, const Cause* const cause)
{
  RackHistoryEdit* const edit = supervisor->history.pending;
  const bool has_crashed = edit->losses.n_crashes >= CRASH_POLICY_CRASHES;
  error_set(&edit->refusal, STATUS_WORKER,
            cause->kind == CAUSE_STUCK ? "a worker hung while it planned it (%s)"
            : has_crashed              ? "two workers crashed while they planned it (%s)"
                                       : "three workers were lost while they planned it (%s)",
            cause->text);
}
