// SPDX-License-Identifier: GPL-3.0-or-later
// The runner's edits: a queue of racks, the builder thread that plans them one by one, and
// parameter messages that come while no worker runs.

#include "rt.h"
#include "runner_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HEARD_POLL_NS   200000U   // between looks whether the worker has taken a plan
#define HOUSEKEEPING_NS 50000000U // between looks for what has finished dying
#define FULL_LOOK       2U        // what a look that finds all slots full counts, ...
#define LOOKS_BEHIND    20U       // ... and when tails end, for the worker cannot play them
#define POSTPONED_S     0.5       // of audio, for which edits postpone a measurement
// No block for so long and two periods: no audio runs.  A driver that stalls because its machine is
// overloaded goes on before that, and frames that edits were meant for still come.
#define STANDSTILL_NS 2000000000U

static void
sleep_ns(const uint64_t ns)
{
  const struct timespec time = { .tv_sec = (time_t)(ns / 1000000000U),
                                 .tv_nsec = (long)(ns % 1000000000U) };
  nanosleep(&time, NULL);
}

// ---- handing plans to the worker ----

/// Watches whether blocks still come.
typedef struct Pulse {
  uint64_t n_submitted, since_ns;
} Pulse;

/// True when no use is in waiting for blocks any longer.
static bool
stands_still(const Runner* const runner, Pulse* const pulse)
{
  if (atomic_load(&runner->n_ending)) {
    return true;
  }
  const uint64_t n_submitted = ring_n_submitted(runner->ring);
  const uint64_t now = rt_now_ns();
  const double period_ns = 1e9 * runner->format.block_frames / runner->format.rate_hz;
  if (pulse->since_ns == 0U || n_submitted != pulse->n_submitted) {
    *pulse = (Pulse){ n_submitted, now };
  }
  return now - pulse->since_ns > STANDSTILL_NS + (uint64_t)(2.0 * period_ns);
}

/// Until the worker has left the plan `heard` for the one that it was offered.  Later blocks of a
/// plan that a device has failed in have no sound: then only another plan helps.
static void
wait_until_taken(Runner* const runner, const Plan* const heard, const Plan* const plan)
{
  Worker* const worker = &runner->worker;
  Pulse pulse = { 0 };
  atomic_store(&runner->awaited_frame, plan->at_frame);
  ring_wake(runner->ring);
  while (!worker_has_taken(worker)) {
    if (stands_still(runner, &pulse) || plan_has_failed(heard)) {
      atomic_store(&worker->hurry, true);
      ring_wake(runner->ring);
    }
    sleep_ns(HEARD_POLL_NS);
  }
  atomic_store(&runner->awaited_frame, 0U);
}

/// Give the plan to the worker and wait until it is heard; returns the frame.
static uint64_t
hand_over(Runner* const runner, Plan* const plan)
{
  Worker* const worker = &runner->worker;
  const Plan* const heard = worker->plan;
  atomic_store(&worker->hurry, !runner->has_worker_thread);
  worker_offer(worker, plan);
  if (runner->has_worker_thread) {
    wait_until_taken(runner, heard, plan);
  } else {
    worker_idle(worker); // nobody else is there
  }
  const uint64_t heard_at = atomic_load(&worker->heard_at);
  plan_heard(plan, heard_at);
  runner_show_plan(runner, plan);
  Plan* const left = worker_collect(worker);
  runner_note_failure(runner, left);
  plan_free(left);
  return heard_at;
}

static Status
plan_once(Runner* const runner, const PlanRequest* const request, bool* const tangled,
          uint64_t* const heard_at, Error* const error)
{
  Plan* plan = NULL;
  const Status status = runner_make_plan(runner, request, &plan, tangled, error);
  if (status) {
    return status;
  }
  *heard_at = hand_over(runner, plan);
  return STATUS_OK;
}

static PlanRequest
request_for(Runner* const runner, const Rack* const rack)
{
  const bool has_run = atomic_load(&runner->worker.counts.blocks) > 0U;
  PlanRequest request = { .rack = rack,
                          .previous = has_run ? runner->worker.plan : NULL,
                          .heard = runner->worker.plan,
                          .now_frame = atomic_load(&runner->worker.next_frame),
                          .format = &runner->format,
                          .loader = &runner->loader,
                          .pool = runner->pool };
  runner_place(runner, &request);
  return request;
}

// ---- two-step edits ----

static bool
same_end(const RackEnd* const a, const RackEnd* const b)
{
  return a->uid == b->uid && a->first == b->first && a->last == b->last;
}

static bool
has_edge(const Rack* const rack, const RackEdge* const edge)
{
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    if (same_end(&rack->edges[e].from, &edge->from) && same_end(&rack->edges[e].to, &edge->to)) {
      return true;
    }
  }
  return false;
}

/// What is heard now, with no gain where `next` has no connection.
static Rack*
muted_rack(const Rack* const now, const Rack* const next)
{
  Rack* const rack = rack_copy(now);
  for (uint32_t e = 0; rack && e < rack->n_edges; ++e) {
    if (!has_edge(next, &rack->edges[e])) {
      rack->edges[e].gain_db = -INFINITY;
    }
  }
  return rack;
}

static void
wait_for_fades(Runner* const runner, const uint64_t heard_at)
{
  const uint64_t until = heard_at + (uint64_t)(2.0 * LINK_RAMP_SECONDS * runner->format.rate_hz);
  Pulse pulse = { 0 };
  atomic_store(&runner->awaited_frame, runner->has_worker_thread ? until : 0U);
  while (runner->has_worker_thread && atomic_load(&runner->worker.next_frame) < until &&
         !stands_still(runner, &pulse)) {
    sleep_ns(HEARD_POLL_NS);
  }
  atomic_store(&runner->awaited_frame, 0U);
}

/// The first of two steps: fade what `next` does not have, and all tails, and wait until they are
/// silent.
static Status
fade_the_tangle(Runner* const runner, const PlanRequest* const next, Error* const error)
{
  Rack* const muted = muted_rack(runner->rack, next->rack);
  if (!muted) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  PlanRequest request = request_for(runner, muted);
  request.at_frame = next->at_frame;
  request.keep_values = true;
  request.end_tails = true;
  bool tangled = false;
  uint64_t heard_at = 0;
  const Status status = plan_once(runner, &request, &tangled, &heard_at, error);
  rack_free(muted);
  if (!status) {
    wait_for_fades(runner, heard_at);
  }
  return status;
}

/// Plan the rack that is heard once more, with the values that were set.
static Status
replan(Runner* const runner, const bool end_tails, Error* const error)
{
  PlanRequest request = request_for(runner, runner->rack);
  request.keep_values = true;
  request.end_tails = end_tails;
  bool tangled = false;
  uint64_t heard_at = 0;
  const Status status = plan_once(runner, &request, &tangled, &heard_at, error);
  if (!status) {
    runner_publish_facts(runner);
  }
  return status;
}

Status
runner_replan(Runner* const runner, Error* const error)
{
  return replan(runner, false, error);
}

/// Back to the rack that was heard before the first step.
static void
fade_back(Runner* const runner)
{
  Error error = { STATUS_OK, "" };
  if (runner_replan(runner, &error)) {
    // No memory, not even for this: the next plan of any rack that has them brings them back.
  }
}

/// New connections and fading ones would make a cycle: let the old ones fade before the new ones
/// come.
static Status
plan_in_two_steps(Runner* const runner, const PlanRequest* const last, uint64_t* const heard_at,
                  Error* const error)
{
  Status status = fade_the_tangle(runner, last, error);
  if (status) {
    return status;
  }
  PlanRequest second = *last;
  second.previous = second.heard = runner->worker.plan;
  second.drop_silent = true;
  bool tangled = false;
  status = plan_once(runner, &second, &tangled, heard_at, error);
  if (status) {
    fade_back(runner);
  }
  return status;
}

/// Plan `rack` from the active plan, and wait until the new plan is active.  Takes ownership of
/// `rack` on success.  An `auto` output has the choice of the last measurement until measure().
/// [planning held]
static Status
plan_edit(Runner* const runner, Rack* const rack, const uint64_t at_frame, const uint64_t stamp,
          uint64_t* const heard_at, Error* const error)
{
  PlanRequest request = request_for(runner, rack);
  request.at_frame = at_frame;
  request.stamp = stamp;
  bool tangled = false;
  Status status = plan_once(runner, &request, &tangled, heard_at, error);
  if (status && tangled) {
    status = plan_in_two_steps(runner, &request, heard_at, error);
  }
  if (!status) {
    if (!runner->format.offline && !rack_differs_in_values(rack, runner->rack)) {
      (void)runner_outdate_fallbacks(runner, rack, runner->format.n_out);
    }
    rack_free(runner->rack);
    runner->rack = rack;
  }
  runner_publish_facts(runner);
  return status;
}

// ---- the builder ----

static void
reply_to(const Runner* const runner, const Edit* const edit, const Status status,
         const Error* const error, const uint64_t frame)
{
  const RunnerFacts facts = runner_facts(runner);
  EngineReply reply = { .status = status,
                        .frame = frame,
                        .latency_frames = facts.rack_latency_frames };
  if (status) {
    memcpy(reply.text, error->text, sizeof(reply.text));
  }
  runner->events.replied(runner->events.context, edit->id, &reply, &facts);
}

/// Take an edit out of the queue, if it is there: it is the first then.
static void
unqueue(Runner* const runner, const Edit* const edit)
{
  pthread_mutex_lock(&runner->edits);
  if (runner->first_edit == edit) {
    runner->first_edit = edit->next;
    runner->last_edit = runner->first_edit ? runner->last_edit : &runner->first_edit;
  }
  pthread_mutex_unlock(&runner->edits);
}

/// Plan one edit, or keep its rack for the first runner_arm().  Until `planning` is held it stays
/// in the queue, where runner_set() finds it.
static void
perform(Runner* const runner, Edit* const edit)
{
  Error error = { STATUS_OK, "" };
  uint64_t heard_at = 0;
  pthread_mutex_lock(&runner->planning);
  unqueue(runner, edit);
  runner_mind_device(runner);
  Status status = rack_check(edit->rack, &error);
  if (!status && runner->has_format) {
    status = plan_edit(runner, edit->rack, edit->at_frame, edit->stamp, &heard_at, &error);
    if (runner_take_loss(runner, status, &error)) {
      status = plan_edit(runner, edit->rack, edit->at_frame, edit->stamp, &heard_at, &error);
    }
  } else if (!status) {
    rack_free(runner->rack);
    runner->rack = edit->rack;
  }
  pthread_mutex_unlock(&runner->planning);
  if (status) {
    rack_free(edit->rack);
  }
  reply_to(runner, edit, status, &error, heard_at);
  free(edit);
}

/// True when the worker has not kept up for half a second or more, with tails of what was removed
/// to play: the tails of a rack that was too much.  A worker that is late by a little empties a
/// slot now and then, so a look that finds one empty takes back half of what a full one counts.
static bool
has_heavy_tails(Runner* const runner, const Plan* const plan)
{
  const Ring* const ring = runner->ring;
  const bool is_full =
      ring && ring_n_submitted(ring) - ring_n_finished(ring) + 1U >= ring_shape(ring)->n_slots;
  if (is_full && runner->n_behind < LOOKS_BEHIND) {
    runner->n_behind += FULL_LOOK;
  } else if (!is_full && runner->n_behind > 0U) {
    --runner->n_behind;
  }
  return runner->n_behind >= LOOKS_BEHIND && plan->n_nodes > plan->n_living;
}

/// Measure the present rack for its fallbacks: after its edit, and not while another edit waits. An
/// edit that comes then waits until the copy of the rack is planned. [planning held]
static void
measure(Runner* const runner)
{
  const PlanRequest request = request_for(runner, runner->rack);
  runner_choose_fallbacks(runner, &request, true);
  file_cache_clear(&runner->loader);
  if (!runner->must_measure) {
    runner_publish_facts(runner);
  }
}

/// Leave a device that failed, and leave out what has finished dying, or is too much to play.
/// [planning held]
static void
tidy(Runner* const runner)
{
  runner_mind_device(runner);
  const Plan* const plan = runner->worker.plan;
  if (!runner->has_format || !plan) {
    return;
  }
  if (runner->must_measure) {
    measure(runner);
  }
  const bool end_tails = has_heavy_tails(runner, plan);
  if (end_tails || plan_next_expiry(plan) <= atomic_load(&runner->worker.next_frame)) {
    Error error = { STATUS_OK, "" };
    runner->n_behind = 0;
    if (replan(runner, end_tails, &error)) {
      // Out of memory, at worst: the dead stay a little longer, and the next round tries again.
    }
  }
}

/// True when edits have postponed or ended the measurement for long enough. [planning held]
static bool
is_overdue(const Runner* const runner)
{
  const uint64_t n_frames = atomic_load(&runner->worker.next_frame) - runner->outdated_at;
  return runner->must_measure && (double)n_frames >= POSTPONED_S * runner->format.rate_hz;
}

static void
keep_house(Runner* const runner)
{
  pthread_mutex_lock(&runner->planning);
  const uint64_t before = runner_facts(runner).serial;
  tidy(runner);
  const RunnerFacts facts = runner_facts(runner);
  pthread_mutex_unlock(&runner->planning);
  if (facts.serial != before) {
    runner->events.changed(runner->events.context, &facts);
  }
}

bool
runner_ends_measurement(Runner* const runner)
{
  pthread_mutex_lock(&runner->edits);
  const bool has_edit = runner->first_edit != NULL;
  pthread_mutex_unlock(&runner->edits);
  return (has_edit && !is_overdue(runner)) || atomic_load(&runner->n_ending);
}

static bool
must_keep_house(Runner* const runner)
{
  pthread_mutex_lock(&runner->planning);
  const bool is_late = is_overdue(runner);
  pthread_mutex_unlock(&runner->planning);
  return is_late;
}

/// The first edit in the queue, if there is one.
static Edit*
await_edit(Runner* const runner)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += (long)HOUSEKEEPING_NS;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  pthread_mutex_lock(&runner->edits);
  if (!runner->first_edit && !runner->builder_stops) {
    pthread_cond_timedwait(&runner->edits_changed, &runner->edits, &until);
  }
  Edit* const edit = runner->first_edit;
  pthread_mutex_unlock(&runner->edits);
  return edit;
}

static bool
builder_stops(Runner* const runner)
{
  pthread_mutex_lock(&runner->edits);
  const bool stops = runner->builder_stops;
  pthread_mutex_unlock(&runner->edits);
  return stops;
}

static void*
builder_main(void* const context)
{
  Runner* const runner = context;
  while (!builder_stops(runner)) {
    Edit* const edit = await_edit(runner);
    if (edit) {
      perform(runner, edit);
    }
    if (!edit || must_keep_house(runner)) {
      keep_house(runner);
    }
  }
  return NULL;
}

Status
runner_start_builder(Runner* const runner, Error* const error)
{
  const Status status =
      rt_thread_start("warprack-build", builder_main, runner, &runner->builder, error);
  runner->has_builder = !status;
  return status;
}

void
runner_stop_builder(Runner* const runner)
{
  if (runner->has_builder) {
    pthread_mutex_lock(&runner->edits);
    runner->builder_stops = true;
    pthread_cond_signal(&runner->edits_changed);
    pthread_mutex_unlock(&runner->edits);
    atomic_fetch_add(&runner->n_ending, 1U);
    pthread_join(runner->builder, NULL);
    atomic_fetch_sub(&runner->n_ending, 1U);
    runner->has_builder = false;
  }
  while (runner->first_edit) {
    Edit* const edit = runner->first_edit;
    const Error error = { STATUS_LIMIT, "the engine stops" };
    runner->first_edit = edit->next;
    rack_free(edit->rack);
    reply_to(runner, edit, error.status, &error, 0U);
    free(edit);
  }
  runner->last_edit = &runner->first_edit;
}

// ---- what control calls ----

Status
runner_edit(void* const context, const uint64_t id, const Rack* const rack, const uint64_t at_frame,
            const uint64_t stamp)
{
  Runner* const runner = context;
  Edit* const edit = calloc(1, sizeof(Edit));
  Rack* const copy = rack_copy(rack);
  if (!edit || !copy) {
    free(edit);
    rack_free(copy);
    return STATUS_NO_MEM;
  }
  *edit = (Edit){ .id = id, .rack = copy, .at_frame = at_frame, .stamp = stamp };
  if (!runner->has_builder) {
    perform(runner, edit);
    return STATUS_OK;
  }
  pthread_mutex_lock(&runner->edits);
  *runner->last_edit = edit;
  runner->last_edit = &edit->next;
  pthread_cond_signal(&runner->edits_changed);
  pthread_mutex_unlock(&runner->edits);
  return STATUS_OK;
}

/// Set values in all documents that are to be planned.  [planning held]
static void
set_in_racks(Runner* const runner, const ParamMessage* const messages, const uint32_t n)
{
  pthread_mutex_lock(&runner->edits);
  for (uint32_t m = 0; m < n; ++m) {
    const ParamMessage* const message = &messages[m];
    rack_set_value(runner->rack, message->uid, message->param, message->value);
    for (const Edit* edit = runner->first_edit; edit; edit = edit->next) {
      rack_set_value(edit->rack, message->uid, message->param, message->value);
    }
  }
  pthread_mutex_unlock(&runner->edits);
}

bool
runner_set(void* const context, const ParamMessage* const messages, const uint32_t n)
{
  Runner* const runner = context;
  Worker* const worker = &runner->worker;
  pthread_mutex_lock(&runner->planning);
  const bool has_ring = runner->ring != NULL;
  for (uint32_t m = 0; m < n && !has_ring && worker->plan; ++m) {
    worker_apply(worker, &messages[m]); // no worker runs: the plan can be touched here
  }
  if (!worker->plan) {
    set_in_racks(runner, messages, n);
  }
  pthread_mutex_unlock(&runner->planning);
  return !has_ring;
}
