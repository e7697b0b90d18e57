// SPDX-License-Identifier: GPL-3.0-or-later
// Checks a child's health: replies and blocks in time, and a valid ring.

#include "supervisor_private.h"

#include "engine/base/time.h"

#include <stdio.h>
#include <string.h>

#define START_LIMIT_NS (60U * NS_PER_S) // until READY, while the worker opens its device
// Total time until READY or ARMED if the child has sent a note: compiling and timing all kernels
// takes minutes on a slow machine.  Longer than any supervisor_plan_limit().
#define BUSY_LIMIT_NS (600U * NS_PER_S)
#define LOAD_LIMIT_NS (10U * NS_PER_S)
// If no reply has come for this time, check whether the process is stopped.
#define STOPPED_NS   (NS_PER_S / 2U)
#define STALL_NS     (NS_PER_S / 2U) // without a finished block, and at least STALL_BLOCKS periods
#define STALL_BLOCKS 8U
// The limit without real-time priority, because the scheduler may delay the process.
#define STARVED_NS (2U * NS_PER_S)
// The limit while an edit is planned on a device, because the driver may delay blocks while it
// compiles.
#define COMPILE_NS (10U * NS_PER_S)
#define WAITED_NS  (10U * NS_PER_S) // the limit if the callback waits for each block
#define CHECK_NS   (SUPERVISOR_REST_MS * NS_PER_MS) // most that counts from one check to the next
#define HEALTHY_NS (NS_PER_S / 2U)                  // playing for this time makes a child healthy
#define AGE_NS     (10U * NS_PER_S)                 // without audio: being idle for this time

// ---- answers ----

/// A snapshot of the state that other threads may change.
typedef struct View {
  uint64_t now_ns; ///< Time of the snapshot
  ChildState state;
  bool is_ready, is_asked, has_load, has_edit;
  uint64_t since_ns, busy_ns, asked_ns, given_ns, replied_ns;
  uint64_t plan_limit_ns; ///< supervisor_plan_limit()
  Format format;
  bool is_realtime, may_compile;
} View;

static View
view(Supervisor* const supervisor, const Child* const child)
{
  supervisor_lock(supervisor);
  const View view = { .now_ns = time_now_ns(),
                      .state = child->state,
                      .is_ready = child->is_ready,
                      .is_asked = child->n_disarms_out != 0U,
                      .has_load = child->has_load,
                      .has_edit = child->has_edit,
                      .since_ns = child->since_ns,
                      .busy_ns = child->busy_ns,
                      .asked_ns = child->asked_ns,
                      .given_ns = child->given_ns,
                      .replied_ns = child->replied_ns,
                      .plan_limit_ns = supervisor_plan_limit(supervisor),
                      .format = supervisor->wanted.format,
                      .is_realtime = supervisor->config.realtime && !child->status.realtime_note[0],
                      .may_compile = child->has_edit && !child->status.awaits_frame &&
                                     child->status.device[0] != '\0' };
  supervisor_unlock(supervisor);
  return view;
}

/// Time of the last note of a worker that is being armed, or of the ARM; limited, so that all notes
/// together extend the time to BUSY_LIMIT_NS at most.
static uint64_t
silent_since(const View* const now)
{
  const uint64_t latest_ns = now->since_ns + BUSY_LIMIT_NS - now->plan_limit_ns;
  const uint64_t busy_ns = now->busy_ns < latest_ns ? now->busy_ns : latest_ns;
  return busy_ns > now->since_ns ? busy_ns : now->since_ns;
}

/// A pending reply.
typedef struct Wait {
  uint64_t since_ns, limit_ns; ///< Limit 0: no reply is pending
  const char* what;            ///< What has not come in time, for the error text
} Wait;

/// The pending reply to a rack that was sent again.  The worker plans it after ARM, so the time
/// counts from the later of the two.
static Wait
reply_to_load(const View* const now)
{
  const uint64_t since_ns = now->given_ns > now->since_ns ? now->given_ns : now->since_ns;
  return now->has_load ? (Wait){ since_ns, now->plan_limit_ns, "did not take its rack" }
                       : (Wait){ 0 };
}

static Wait
awaited(const View* const now)
{
  switch (now->state) {
  case CHILD_STARTING:
    if (now->is_ready) { // the supervisor's turn: it sends the rack
      return (Wait){ 0 };
    }
    return (Wait){ now->since_ns, now->busy_ns ? BUSY_LIMIT_NS : START_LIMIT_NS, "was not ready" };
  case CHILD_LOADING:
    return (Wait){ now->since_ns, LOAD_LIMIT_NS, "did not take its rack" };
  case CHILD_IDLE:
    if (now->is_asked) {
      // The reply to DISARM may wait for an edit.
      return (Wait){ now->asked_ns, now->plan_limit_ns, "did not answer" };
    }
    return reply_to_load(now);
  case CHILD_ARMING:
    return (Wait){ silent_since(now), now->plan_limit_ns, "had no plan" };
  case CHILD_ARMED:
  case CHILD_SERVING:
    break;
  }
  return reply_to_load(now);
}

/// Fail because of a reply that has not come in time.
static bool
fail_late(Cause* const cause, const char* const what, const uint64_t limit_ns)
{
  char text[64];
  snprintf(text, sizeof(text), "%s in %.0f s", what, (double)limit_ns * 1e-9);
  return supervisor_fail(cause, text, false);
}

/// The time for which a reply has been pending.  The child handles one request after the other, so
/// the time begins again with the reply to another one.
static uint64_t
waited_for(const View* const now, const uint64_t since_ns)
{
  return now->now_ns - (since_ns > now->replied_ns ? since_ns : now->replied_ns);
}

static bool
answers_in_time(const Child* const child, const View* const now, Cause* const cause)
{
  const Wait wait = awaited(now);
  const uint64_t waited_ns = wait.limit_ns ? waited_for(now, wait.since_ns) : 0U;
  if (waited_ns >= STOPPED_NS && process_is_stopped(child->process)) {
    return supervisor_fail(cause, "stopped from outside", true);
  }
  if (wait.limit_ns && waited_ns >= wait.limit_ns) {
    return fail_late(cause, wait.what, wait.limit_ns);
  }
  if (now->has_edit && waited_for(now, now->given_ns) >= now->plan_limit_ns) {
    return fail_late(cause, "did not answer an edit", now->plan_limit_ns);
  }
  return true;
}

// ---- blocks ----

/// The longest time without a finished block while blocks are due.
static uint64_t
stall_limit(const View* const now)
{
  const uint64_t least_ns = now->may_compile   ? COMPILE_NS
                            : now->is_realtime ? STALL_NS
                                               : STARVED_NS;
  const double blocks_ns =
      STALL_BLOCKS * (double)now->format.block_frames / now->format.rate_hz * (double)NS_PER_S;
  return blocks_ns > (double)least_ns ? (uint64_t)blocks_ns : least_ns;
}

static bool
finishes_blocks(Child* const child, const View* const now, const SupervisorPulse* const pulse,
                Cause* const cause)
{
  const uint64_t passed_ns = now->now_ns - child->checked_ns;
  // The worker cannot write the callback's counters.  It can write the ring's n_submitted, so this
  // is read only while the callback itself waits and does not count.
  const bool is_due = pulse->blocks - child->finished.blocks >= STALL_BLOCKS;
  const bool is_waited_for =
      pulse->blocks == child->pulse.blocks && pulse->n_submitted != pulse->n_finished;
  if (pulse->n_finished != child->finished.n_finished || !(is_due || is_waited_for)) {
    child->stalled_ns = 0;
    return true;
  }
  child->stalled_ns += passed_ns < CHECK_NS ? passed_ns : CHECK_NS;
  if (child->stalled_ns >= STOPPED_NS && process_is_stopped(child->process)) {
    return supervisor_fail(cause, "stopped from outside", true);
  }
  const uint64_t limit_ns = is_due ? stall_limit(now) : WAITED_NS;
  if (child->stalled_ns < limit_ns) {
    return true;
  }
  cause->kind = CAUSE_NO_BLOCKS;
  return supervisor_fail(cause, "finished no blocks in time", false);
}

/// Update the time since which the child plays, and whether it is healthy.
static void
update_health(Child* const child, const SupervisorPulse* const pulse, const uint64_t now_ns)
{
  if (pulse->dry != child->pulse.dry) {
    child->wet_since_ns = 0;
  } else if (!child->wet_since_ns && pulse->blocks != child->pulse.blocks) {
    child->wet_since_ns = now_ns;
  }
  child->is_healthy |= child->wet_since_ns && now_ns - child->wet_since_ns >= HEALTHY_NS;
}

static bool
serves_well(const Supervisor* const supervisor, Child* const child, const View* const now,
            Cause* const cause)
{
  SupervisorPulse pulse;
  if (!supervisor->host.pulse(supervisor->host.context, &pulse)) {
    return true;
  }
  if (pulse.faults) {
    return supervisor_fail(cause, "wrote invalid data to the block ring", false);
  }
  if (child->checked_ns < now->since_ns) { // first check: earlier blocks were another child's
    child->pulse = child->finished = pulse;
    child->checked_ns = now->since_ns;
    child->stalled_ns = 0;
  }
  update_health(child, &pulse, now->now_ns);
  const bool is_fine = finishes_blocks(child, now, &pulse, cause);
  if (pulse.n_finished != child->finished.n_finished) {
    child->finished = pulse;
  }
  child->pulse = pulse;
  child->checked_ns = now->now_ns;
  return is_fine;
}

bool
supervisor_watch(Supervisor* const supervisor, Child* const child, Cause* const cause)
{
  const View now = view(supervisor, child);
  child->is_healthy |= now.state >= CHILD_IDLE && now.now_ns - now.since_ns >= AGE_NS;
  if (!supervisor_watch_calls(supervisor, child, cause)) {
    return false;
  }
  return answers_in_time(child, &now, cause) &&
         (now.state != CHILD_SERVING || serves_well(supervisor, child, &now, cause));
}
