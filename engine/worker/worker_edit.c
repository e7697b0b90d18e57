// SPDX-License-Identifier: GPL-3.0-or-later
// The worker's edits: the one that waits, the builder thread that plans it, and parameter messages
// that come while no player runs.

#include "worker_private.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEARD_POLL_NS   200000U           // between looks whether the player has taken a plan
#define HOUSEKEEPING_NS (50U * NS_PER_MS) // between looks for what has finished dying
#define FULL_LOOK       2U                // what a look that finds all slots full counts, ...
#define LOOKS_BEHIND    20U               // ... and when tails end, for the player cannot play them
#define POSTPONED_S     0.5               // of audio, for which edits postpone a measurement
// No block for so long and two periods: no audio runs.  A driver that stalls because its machine is
// overloaded goes on before that, and frames that edits were meant for still come.
#define STANDSTILL_NS (2U * NS_PER_S)

// ---- handing plans to the player ----

/// Watches whether blocks still come.
typedef struct Pulse {
  uint64_t n_submitted, since_ns;
} Pulse;

/// True when no use is in waiting for blocks any longer.
static bool
stands_still(const Worker* const worker, Pulse* const pulse)
{
  if (atomic_load(&worker->n_ending)) {
    return true;
  }
  const uint64_t n_submitted = ring_n_submitted(worker->ring);
  const uint64_t now = time_now_ns();
  const double period_ns = 1e9 * worker->format.block_frames / worker->format.rate_hz;
  if (pulse->since_ns == 0U || n_submitted != pulse->n_submitted) {
    *pulse = (Pulse){ n_submitted, now };
  }
  return now - pulse->since_ns > STANDSTILL_NS + (uint64_t)(2.0 * period_ns);
}

/// Until the player has left the plan `heard` for the one that it was offered.  Later blocks of a
/// plan that a device has failed in have no sound: then only another plan helps.
static void
wait_until_taken(Worker* const worker, const Plan* const heard, const Plan* const plan)
{
  Player* const player = &worker->player;
  Pulse pulse = { 0 };
  atomic_store(&worker->awaited_frame, plan->at_frame);
  ring_wake(worker->ring);
  while (!player_has_taken(player)) {
    if (stands_still(worker, &pulse) || plan_has_failed(heard)) {
      atomic_store(&player->hurry, true);
      ring_wake(worker->ring);
    }
    time_sleep(HEARD_POLL_NS);
  }
  atomic_store(&worker->awaited_frame, 0U);
}

/// Give the plan to the player and wait until it is heard; returns the frame.
static uint64_t
hand_over(Worker* const worker, Plan* const plan)
{
  Player* const player = &worker->player;
  const Plan* const heard = player->plan;
  atomic_store(&player->hurry, !worker->has_player_thread);
  player_offer(player, plan);
  if (worker->has_player_thread) {
    wait_until_taken(worker, heard, plan);
  } else {
    player_idle(player); // nobody else is there
  }
  const uint64_t heard_frame = atomic_load(&player->heard_frame);
  plan_heard(plan, heard_frame);
  worker_show_plan(worker, plan);
  Plan* const left = player_collect(player);
  worker_note_failure(worker, left);
  plan_free(left);
  return heard_frame;
}

static Status
plan_once(Worker* const worker, const PlanRequest* const request, PlanFault* const fault,
          uint64_t* const heard_frame, Error* const error)
{
  Plan* plan = NULL;
  const Status status = worker_make_plan(worker, request, &plan, fault, error);
  if (status) {
    return status;
  }
  *heard_frame = hand_over(worker, plan);
  return STATUS_OK;
}

static PlanRequest
request_for(Worker* const worker, const Rack* const rack)
{
  const bool has_run = atomic_load(&worker->player.counts.worker_blocks) > 0U;
  PlanRequest request = { .rack = rack,
                          .previous = has_run ? worker->player.plan : NULL,
                          .heard = worker->player.plan,
                          .now_frame = atomic_load(&worker->player.next_frame),
                          .format = &worker->format,
                          .loader = &worker->loader,
                          .pool = worker->pool };
  worker_place(worker, &request);
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
wait_for_fades(Worker* const worker, const uint64_t heard_frame)
{
  const uint64_t until = heard_frame + (uint64_t)(2.0 * LINK_RAMP_SECONDS * worker->format.rate_hz);
  Pulse pulse = { 0 };
  atomic_store(&worker->awaited_frame, worker->has_player_thread ? until : 0U);
  while (worker->has_player_thread && atomic_load(&worker->player.next_frame) < until &&
         !stands_still(worker, &pulse)) {
    time_sleep(HEARD_POLL_NS);
  }
  atomic_store(&worker->awaited_frame, 0U);
}

/// The first of two steps: fade what `next` does not have, and all tails, and wait until they are
/// silent.
static Status
fade_the_tangle(Worker* const worker, const PlanRequest* const next, Error* const error)
{
  Rack* const muted = muted_rack(worker->rack, next->rack);
  if (!muted) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  PlanRequest request = request_for(worker, muted);
  request.at_frame = next->at_frame;
  request.keep_values = true;
  request.end_tails = true;
  PlanFault fault;
  uint64_t heard_frame = 0;
  const Status status = plan_once(worker, &request, &fault, &heard_frame, error);
  rack_free(muted);
  if (!status) {
    wait_for_fades(worker, heard_frame);
  }
  return status;
}

/// Plan the rack that is heard once more, with the values that were set.
static Status
replan(Worker* const worker, const bool end_tails, Error* const error)
{
  PlanRequest request = request_for(worker, worker->rack);
  request.keep_values = true;
  request.end_tails = end_tails;
  PlanFault fault;
  uint64_t heard_frame = 0;
  const Status status = plan_once(worker, &request, &fault, &heard_frame, error);
  if (!status) {
    worker_publish_facts(worker);
  }
  return status;
}

Status
worker_replan(Worker* const worker, Error* const error)
{
  return replan(worker, false, error);
}

/// Back to the rack that was heard before the first step.
static void
fade_back(Worker* const worker)
{
  Error error = { STATUS_OK, "" };
  if (worker_replan(worker, &error)) {
    // No memory, not even for this: the next plan of any rack that has them brings them back.
  }
}

/// New connections and fading ones would make a cycle: let the old ones fade before the new ones
/// come.
static Status
plan_in_two_steps(Worker* const worker, const PlanRequest* const last, uint64_t* const heard_frame,
                  Error* const error)
{
  Status status = fade_the_tangle(worker, last, error);
  if (status) {
    return status;
  }
  PlanRequest second = *last;
  second.previous = second.heard = worker->player.plan;
  second.drop_silent = true;
  PlanFault fault;
  status = plan_once(worker, &second, &fault, heard_frame, error);
  if (status) {
    fade_back(worker);
  }
  return status;
}

/// Plan `rack` from the active plan, and wait until the new plan is active.  Takes ownership of
/// `rack` on success.  An `auto` output has the choice of the last measurement until measure().
/// [planning_lock held]
static Status
plan_edit(Worker* const worker, Rack* const rack, const uint64_t at_frame, const uint64_t stamp,
          PlanFault* const fault, uint64_t* const heard_frame, Error* const error)
{
  PlanRequest request = request_for(worker, rack);
  request.at_frame = at_frame;
  request.stamp = stamp;
  Status status = plan_once(worker, &request, fault, heard_frame, error);
  if (status && fault->is_tangled) {
    status = plan_in_two_steps(worker, &request, heard_frame, error);
  }
  if (!status) {
    if (!worker->format.offline && !rack_differs_in_values(rack, worker->rack)) {
      (void)worker_outdate_fallbacks(worker, rack, worker->format.n_out);
    }
    rack_free(worker->rack);
    worker->rack = rack;
  }
  worker_publish_facts(worker);
  return status;
}

// ---- the builder ----

static void
reply_to(Worker* const worker, const Edit* const edit, const Status status,
         const Error* const error, const uint32_t refused_edge, const uint64_t frame)
{
  const WorkerFacts facts = worker_facts(worker);
  EngineReply reply = { .status = status,
                        .frame = frame,
                        .latency_frames = facts.rack_latency_frames,
                        .refused_edge = refused_edge };
  if (status) {
    memcpy(reply.text, error->text, sizeof(reply.text));
  }
  worker->events.replied(worker->events.context, edit->id, &reply, &facts);
}

/// Take the edit that waits; NULL when none does.
static Edit*
take_edit(Worker* const worker)
{
  pthread_mutex_lock(&worker->edits_lock);
  Edit* const edit = worker->edit;
  worker->edit = NULL;
  pthread_mutex_unlock(&worker->edits_lock);
  return edit;
}

/// Plan the edit that waits, or keep its rack for the first worker_arm().  Until `planning_lock` is
/// held the edit waits on, where worker_set() finds it.
static void
perform(Worker* const worker)
{
  Error error = { STATUS_OK, "" };
  PlanFault fault = { 0 };
  uint64_t heard_frame = 0;
  pthread_mutex_lock(&worker->planning_lock);
  Edit* const edit = take_edit(worker);
  worker_update_device(worker);
  Status status = STATUS_OK;
  if (worker->has_format) {
    status =
        plan_edit(worker, edit->rack, edit->at_frame, edit->stamp, &fault, &heard_frame, &error);
    if (worker_take_loss(worker, status, &error)) {
      status =
          plan_edit(worker, edit->rack, edit->at_frame, edit->stamp, &fault, &heard_frame, &error);
    }
  } else {
    rack_free(worker->rack);
    worker->rack = edit->rack;
  }
  pthread_mutex_unlock(&worker->planning_lock);
  if (status) {
    rack_free(edit->rack);
  }
  reply_to(worker, edit, status, &error, fault.edge, heard_frame);
  free(edit);
}

/// True when the player has not kept up for half a second or more, with tails of what was removed
/// to play: the tails of a rack that was too much.  A player that is late by a little empties a
/// slot now and then, so a look that finds one empty takes back half of what a full one counts.
static bool
has_heavy_tails(Worker* const worker, const Plan* const plan)
{
  const Ring* const ring = worker->ring;
  const bool is_full =
      ring && ring_n_submitted(ring) - ring_n_finished(ring) + 1U >= ring_shape(ring)->n_slots;
  if (is_full && worker->n_behind < LOOKS_BEHIND) {
    worker->n_behind += FULL_LOOK;
  } else if (!is_full && worker->n_behind > 0U) {
    --worker->n_behind;
  }
  return worker->n_behind >= LOOKS_BEHIND && plan->n_nodes > plan->n_living;
}

/// Measure the present rack for its fallbacks: after its edit, and not while another edit waits. An
/// edit that comes then waits until the copy of the rack is planned. [planning_lock held]
static void
measure(Worker* const worker)
{
  const PlanRequest request = request_for(worker, worker->rack);
  worker_choose_fallbacks(worker, &request, true);
  file_cache_clear(&worker->loader);
  if (!worker->must_measure) {
    worker_publish_facts(worker);
  }
}

/// Leave a device that failed, and leave out what has finished dying, or is too much to play.
/// [planning_lock held]
static void
tidy(Worker* const worker)
{
  worker_update_device(worker);
  const Plan* const plan = worker->player.plan;
  if (!worker->has_format || !plan) {
    return;
  }
  if (worker->must_measure) {
    measure(worker);
  }
  const bool end_tails = has_heavy_tails(worker, plan);
  if (end_tails || plan_next_expiry(plan) <= atomic_load(&worker->player.next_frame)) {
    Error error = { STATUS_OK, "" };
    worker->n_behind = 0;
    if (replan(worker, end_tails, &error)) {
      // Out of memory, at worst: the dead stay a little longer, and the next round tries again.
    }
  }
}

/// True when edits have postponed or ended the measurement for long enough. [planning_lock held]
static bool
is_overdue(const Worker* const worker)
{
  const uint64_t n_frames = atomic_load(&worker->player.next_frame) - worker->outdated_at;
  return worker->must_measure && (double)n_frames >= POSTPONED_S * worker->format.rate_hz;
}

static void
keep_house(Worker* const worker)
{
  pthread_mutex_lock(&worker->planning_lock);
  const uint64_t before = worker_facts(worker).serial;
  tidy(worker);
  const WorkerFacts facts = worker_facts(worker);
  pthread_mutex_unlock(&worker->planning_lock);
  if (facts.serial != before) {
    worker->events.changed(worker->events.context, &facts);
  }
}

bool
worker_ends_measurement(Worker* const worker)
{
  pthread_mutex_lock(&worker->edits_lock);
  const bool has_edit = worker->edit != NULL;
  pthread_mutex_unlock(&worker->edits_lock);
  return (has_edit && !is_overdue(worker)) || atomic_load(&worker->n_ending);
}

static bool
must_keep_house(Worker* const worker)
{
  pthread_mutex_lock(&worker->planning_lock);
  const bool is_late = is_overdue(worker);
  pthread_mutex_unlock(&worker->planning_lock);
  return is_late;
}

/// Wait for an edit, for a while; true when one waits.
static bool
await_edit(Worker* const worker)
{
  const uint64_t until_ns = time_now_ns() + HOUSEKEEPING_NS;
  pthread_mutex_lock(&worker->edits_lock);
  if (!worker->edit && !worker->builder_stops) {
    time_cond_wait(&worker->edits_changed, &worker->edits_lock, until_ns);
  }
  const bool has_edit = worker->edit != NULL;
  pthread_mutex_unlock(&worker->edits_lock);
  return has_edit;
}

static bool
builder_stops(Worker* const worker)
{
  pthread_mutex_lock(&worker->edits_lock);
  const bool stops = worker->builder_stops;
  pthread_mutex_unlock(&worker->edits_lock);
  return stops;
}

static void*
builder_main(void* const context)
{
  Worker* const worker = context;
  while (!builder_stops(worker)) {
    const bool has_edit = await_edit(worker);
    if (has_edit) {
      perform(worker);
    }
    if (!has_edit || must_keep_house(worker)) {
      keep_house(worker);
    }
  }
  return NULL;
}

Status
worker_start_builder(Worker* const worker, Error* const error)
{
  const Status status =
      rt_thread_start("warprack-build", builder_main, worker, &worker->builder, error);
  worker->has_builder = !status;
  return status;
}

void
worker_stop_builder(Worker* const worker)
{
  if (worker->has_builder) {
    pthread_mutex_lock(&worker->edits_lock);
    worker->builder_stops = true;
    pthread_cond_signal(&worker->edits_changed);
    pthread_mutex_unlock(&worker->edits_lock);
    atomic_fetch_add(&worker->n_ending, 1U);
    pthread_join(worker->builder, NULL);
    atomic_fetch_sub(&worker->n_ending, 1U);
    worker->has_builder = false;
  }
  Edit* const edit = take_edit(worker);
  if (edit) {
    const Error error = { STATUS_LIMIT, "the engine stops" };
    rack_free(edit->rack);
    reply_to(worker, edit, error.status, &error, 0U, 0U);
    free(edit);
  }
}

// ---- what control calls ----

Status
worker_edit(void* const context, const uint64_t id, const Rack* const rack, const uint64_t at_frame,
            const uint64_t stamp)
{
  Worker* const worker = context;
  Edit* const edit = calloc(1, sizeof(Edit));
  Rack* const copy = rack_copy(rack);
  if (!edit || !copy) {
    free(edit);
    rack_free(copy);
    return STATUS_NO_MEM;
  }
  *edit = (Edit){ .id = id, .rack = copy, .at_frame = at_frame, .stamp = stamp };
  pthread_mutex_lock(&worker->edits_lock);
  const bool has_room = !worker->edit;
  worker->edit = has_room ? edit : worker->edit;
  pthread_cond_signal(&worker->edits_changed);
  pthread_mutex_unlock(&worker->edits_lock);
  if (!has_room) {
    rack_free(copy);
    free(edit);
    return STATUS_LIMIT;
  }
  if (!worker->has_builder) {
    perform(worker);
  }
  return STATUS_OK;
}

/// Set values in all documents that are to be planned.  [planning_lock held]
static void
set_in_racks(Worker* const worker, const ParamMessage* const messages, const uint32_t n)
{
  pthread_mutex_lock(&worker->edits_lock);
  for (uint32_t m = 0; m < n; ++m) {
    const ParamMessage* const message = &messages[m];
    rack_set_value(worker->rack, message->uid, message->param, message->value);
    if (worker->edit) {
      rack_set_value(worker->edit->rack, message->uid, message->param, message->value);
    }
  }
  pthread_mutex_unlock(&worker->edits_lock);
}

bool
worker_set(void* const context, const ParamMessage* const messages, const uint32_t n)
{
  Worker* const worker = context;
  Player* const player = &worker->player;
  pthread_mutex_lock(&worker->planning_lock);
  const bool has_ring = worker->ring != NULL;
  for (uint32_t m = 0; m < n && !has_ring && player->plan; ++m) {
    player_apply(player, &messages[m]); // no player runs: the plan can be touched here
  }
  if (!player->plan) {
    set_in_racks(worker, messages, n);
  }
  pthread_mutex_unlock(&worker->planning_lock);
  return !has_ring;
}
