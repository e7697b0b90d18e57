// SPDX-License-Identifier: GPL-3.0-or-later
// The worker's edits: the edit that waits, the builder thread that plans it, and parameter messages
// that arrive while no player runs.

#include "worker_private.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRY_SHARE   0.25  // share of time with fallbacks that an edit may leave behind
#define DRY_LIMIT_S 0.375 // time with fallbacks beyond that share, until tails end
// Rest after a plan for a latency that has changed: some plugins change it all the time.
#define MOVED_FIRST_NS   (NS_PER_S / 2U)
#define MOVED_LONGEST_NS (8U * NS_PER_S)
// Rest after a plan for a node that asked to be replaced: some plugins ask in every block.
#define RESTARTED_FIRST_NS   NS_PER_S
#define RESTARTED_LONGEST_NS (600U * NS_PER_S)

// The longest time without housekeeping, while edits follow each other without a pause.
#define HOUSEKEEPING_LIMIT_NS NS_PER_S

// The time for plugins to start again, while an edit may have to wait.
#define TIDY_LIMIT_NS (20U * NS_PER_S)

// ---- the builder ----

/// Plan the rack of an edit from the active plan, and wait until the new plan is active.  Takes
/// ownership of the rack on success.  An `auto` output keeps the choice of the last measurement
/// until worker_measure_fallbacks().
/// [planning_lock held]
static Status
plan_edit(Worker* const worker, const Edit* const edit, PlanFault* const fault,
          uint64_t* const first_frame, Error* const error)
{
  Rack* const rack = edit->rack;
  PlanRequest request = worker_request(worker, rack);
  worker_request_at(worker, &request, edit->at_frame);
  request.stamp = edit->stamp;
  request.edit = edit->id;
  if (edit->is_replayed) {
    request.now_frame = edit->planned;
    request.previous = edit->is_first_plan ? NULL : worker->player.plan;
  }
  request.finds_all = true;
  const Status status = worker_play(worker, &request, fault, first_frame, error);
  if (!status) {
    if (!worker->format.offline && !rack_differs_in_values(rack, worker->rack)) {
      (void)worker_outdate_fallbacks(worker, rack, worker->format.n_out);
    }
    rack_free(worker->rack);
    worker->rack = rack;
    plan_keep_saved(worker->player.plan, rack);
    plan_count_memory(worker->player.plan);
  }
  worker_publish_facts(worker);
  return status;
}

static void
reply_to(Worker* const worker, const Edit* const edit, const Status status,
         const Error* const error, const PlanFault* const fault, const uint64_t frame)
{
  const WorkerFacts facts = worker_facts(worker);
  EngineReply reply = { .status = status,
                        .frame = frame,
                        .latency_frames = facts.rack_latency_frames,
                        .refused_edge = fault->edge,
                        .refused = fault->refused };
  if (status) {
    memcpy(reply.text, error->text, sizeof(reply.text));
  }
  worker->events.replied(worker->events.context, edit->id, &reply, &facts);
}

/// Take the waiting edit; NULL if there is none.
static Edit*
take_edit(Worker* const worker)
{
  pthread_mutex_lock(&worker->edits_lock);
  Edit* const edit = worker->edit;
  worker->edit = NULL;
  pthread_mutex_unlock(&worker->edits_lock);
  return edit;
}

/// Plan the waiting edit, or keep its rack for the first worker_arm().  The edit stays in
/// Worker::edit until this thread holds `planning_lock`, so that worker_set() can set values in it.
static void
perform_edit(Worker* const worker)
{
  Error error = { STATUS_OK, "" };
  PlanFault fault = { 0 };
  uint64_t first_frame = 0;
  pthread_mutex_lock(&worker->planning_lock);
  Edit* const edit = take_edit(worker);
  worker_renew_nodes(worker, worker->player.plan);
  worker_update_device(worker);
  worker_report_groups(worker, NULL);
  Status status = STATUS_OK;
  if (worker->has_format) {
    worker_limit_request(worker, &worker->format, edit->given_ns);
    status = plan_edit(worker, edit, &fault, &first_frame, &error);
    if (worker_take_loss(worker, status, &error)) {
      status = plan_edit(worker, edit, &fault, &first_frame, &error);
    }
    fx_set_deadline(0U);
  } else {
    rack_free(worker->rack);
    worker->rack = edit->rack;
  }
  worker_report_groups(worker, status ? edit->rack : NULL);
  worker->ended_ns = time_now_ns();
  pthread_mutex_unlock(&worker->planning_lock);
  if (status) {
    rack_free(edit->rack);
  }
  reply_to(worker, edit, status, &error, &fault, first_frame);
  free(edit);
}

/// True if the callback plays fallbacks for too much of the time while the player plays tails of
/// removed nodes: the edit may have removed nodes that were too heavy.  After a late block the wet
/// signal returns only after FALLBACK_GOOD_BLOCKS blocks on time.  dry_s increases by the time with
/// fallbacks and decreases by DRY_SHARE of all time.  With nothing but fallbacks it reaches the
/// limit in half a second; one stall of the machine does not.
static bool
has_heavy_tails(Worker* const worker, const Plan* const plan)
{
  const double block_s = (double)worker->format.block_frames / worker->format.rate_hz;
  const uint64_t n_blocks = atomic_load(&worker->player.counts.worker_blocks);
  const uint64_t n_late = atomic_load(&worker->n_late);
  const double n_new = (double)(n_blocks - worker->seen_blocks);
  const double n_after_late = (double)(n_late - worker->seen_late) * (1.0 + FALLBACK_GOOD_BLOCKS);
  const double more_s = (fmin(n_after_late, n_new) - DRY_SHARE * n_new) * block_s;
  worker->seen_blocks = n_blocks;
  worker->seen_late = n_late;
  worker->dry_s = fmin(fmax(worker->dry_s + more_s, 0.0), DRY_LIMIT_S);
  return worker->dry_s >= DRY_LIMIT_S && plan->n_nodes > plan->n_living;
}

/// If the latency of a node has changed, plan the rack with the new one. [planning_lock held]
static void
follow_latency(Worker* const worker)
{
  const uint64_t now_ns = time_now_ns();
  const int moved = now_ns < worker->moving.at_ns ? -1 : plan_find_moved(worker->player.plan);
  if (moved < 0) {
    return;
  }
  const PlanNode* const plan_node = &worker->player.plan->nodes[moved];
  const char* const name = worker->rack->nodes[moved].name;
  const uint32_t before = plan_node->latency_frames;
  const uint32_t now = node_latency(plan_node->node);
  Error error = { STATUS_OK, "" };
  backoff_fail(&worker->moving, MOVED_FIRST_NS, MOVED_LONGEST_NS, now_ns);
  if (worker_replan_in_turn(worker, &error)) {
    worker_log(worker,
               "%s: its latency has changed from %u to %u frames, which cannot be compensated: %s",
               name, before, now, error.text);
  } else {
    counter_add(&worker->player.counts.latency_changes, 1U);
    worker_log(worker, "%s: its latency has changed from %u to %u frames", name, before, now);
  }
}

/// If a switch of a node on a device is on for the first time, plan the rack with a mix for its
/// switches. [planning_lock held]
static void
follow_switches(Worker* const worker)
{
  const uint64_t now_ns = time_now_ns();
  const int switched =
      now_ns < worker->placing.at_ns ? -1 : plan_find_switched(worker->player.plan);
  Error error = { STATUS_OK, "" };
  if (switched >= 0 && worker_replan(worker, false, &error)) {
    backoff_fail(&worker->placing, MOVED_FIRST_NS, MOVED_LONGEST_NS, now_ns);
    worker_log(worker, "%s: bypass and mute have no effect yet: %s",
               worker->rack->nodes[switched].name, error.text);
  }
}

/// If a node asks for it, plan the rack with a new node in its place, which cross-fades in.
/// [planning_lock held]
static void
replace_restarting(Worker* const worker)
{
  const uint64_t now_ns = time_now_ns();
  const Plan* const plan = worker->player.plan;
  const int index = plan_find_restart(plan, now_ns);
  if (index < 0) {
    return;
  }
  Node* const node = plan->nodes[index].node;
  const char* const name = worker->rack->nodes[index].name;
  Error error = { STATUS_OK, "" };
  backoff_fail(&node->restart, RESTARTED_FIRST_NS, RESTARTED_LONGEST_NS, now_ns);
  node->is_left = true;
  if (worker_replan_in_turn(worker, &error)) {
    node->is_left = false;
    worker_log(worker, "%s: its plugin asks for a restart, which fails: %s", name, error.text);
  } else {
    worker_log(worker, "%s: its plugin has asked for a restart, and a new instance plays", name);
  }
}

/// Renew nodes, leave a failed device or try it again, measure the rack if needed, follow latencies
/// and switches, and remove nodes whose tails have ended or are too heavy to play.
/// [planning_lock held]
static void
tidy(Worker* const worker)
{
  fx_idle();
  worker_report_groups(worker, NULL);
  worker_renew_nodes(worker, worker->player.plan);
  worker_update_device(worker);
  if (!worker->has_format || !worker->player.plan) {
    return;
  }
  // As for the rack that it copies.
  worker_limit_starts(&worker->format, time_now_ns() + engine_plugin_start_ns(&worker->config));
  if (worker->must_measure) {
    worker_measure_fallbacks(worker);
  }
  worker_limit_starts(&worker->format, time_now_ns() + TIDY_LIMIT_NS);
  replace_restarting(worker);
  worker_restore_groups(worker);
  follow_latency(worker);
  follow_switches(worker);
  const Plan* const plan = worker->player.plan;
  const bool end_tails = has_heavy_tails(worker, plan);
  if (end_tails || plan_next_expiry(plan) <= atomic_load(&worker->player.next_frame)) {
    Error error = { STATUS_OK, "" };
    worker->dry_s = 0.0;
    if (worker_replan(worker, end_tails, &error)) {
      // Out of memory: the removed nodes stay in the plan, and the next round tries again.
    }
  }
}

static void
do_housekeeping(Worker* const worker)
{
  pthread_mutex_lock(&worker->planning_lock);
  const uint64_t before = worker_facts(worker).serial;
  tidy(worker);
  fx_set_deadline(0U);
  const WorkerFacts facts = worker_facts(worker);
  pthread_mutex_unlock(&worker->planning_lock);
  if (facts.serial != before) {
    worker->events.changed(worker->events.context, &facts);
  }
}

/// True if housekeeping cannot wait for a pause between edits.  `last_ns`: when it was done last.
static bool
housekeeping_is_due(Worker* const worker, const uint64_t last_ns)
{
  pthread_mutex_lock(&worker->planning_lock);
  const bool is_late = worker_measurement_is_overdue(worker);
  pthread_mutex_unlock(&worker->planning_lock);
  return is_late || time_now_ns() - last_ns >= HOUSEKEEPING_LIMIT_NS;
}

/// Wait for an edit or a save, at most WORKER_IDLE_NS.  Returns true if an edit waits.
static bool
await_edit(Worker* const worker)
{
  const uint64_t until_ns = time_now_ns() + WORKER_IDLE_NS;
  pthread_mutex_lock(&worker->edits_lock);
  if (!worker->edit && !worker->save.id && !worker->builder_stops) {
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
  uint64_t last_ns = time_now_ns();
  while (!builder_stops(worker)) {
    const bool has_edit = await_edit(worker);
    if (has_edit) {
      perform_edit(worker);
    }
    worker_perform_save(worker, false);
    if (!has_edit || housekeeping_is_due(worker, last_ns)) {
      do_housekeeping(worker);
      last_ns = time_now_ns();
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
    reply_to(worker, edit, error.status, &error, &(PlanFault){ 0 }, 0U);
    free(edit);
  }
  worker_perform_save(worker, true);
}

// ---- calls of the control thread ----

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
  *edit = (Edit){
    .id = id, .rack = copy, .at_frame = at_frame, .stamp = stamp, .given_ns = time_now_ns()
  };
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
    perform_edit(worker);
  }
  return STATUS_OK;
}

Status
worker_replay_edit(Worker* const worker, const Rack* const rack, const uint64_t stamp,
                   const uint64_t planned, const bool is_first_plan, Error* const error)
{
  const Edit edit = { .rack = rack_copy(rack),
                      .stamp = stamp,
                      .planned = planned,
                      .is_replayed = true,
                      .is_first_plan = is_first_plan };
  if (!edit.rack) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  PlanFault fault = { 0 };
  uint64_t first_frame = 0;
  pthread_mutex_lock(&worker->planning_lock);
  const Status status = plan_edit(worker, &edit, &fault, &first_frame, error);
  const WorkerFacts facts = worker_facts(worker);
  pthread_mutex_unlock(&worker->planning_lock);
  if (status) {
    rack_free(edit.rack);
  } else {
    worker->events.changed(worker->events.context, &facts);
  }
  return status;
}

/// Set values in the current document and in that of the waiting edit. [planning_lock held]
static void
set_in_racks(Worker* const worker, const ParamMessage* const messages, const uint32_t n)
{
  pthread_mutex_lock(&worker->edits_lock);
  for (uint32_t m = 0; m < n; ++m) {
    const ParamMessage* const message = &messages[m];
    rack_set_value(worker->rack, message->uid, message->param, message->param_id, message->value);
    if (worker->edit) {
      rack_set_value(worker->edit->rack, message->uid, message->param, message->param_id,
                     message->value);
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
    player_apply(player, &messages[m]); // no player runs, so this thread may change the plan
  }
  if (!player->plan) {
    set_in_racks(worker, messages, n);
  }
  pthread_mutex_unlock(&worker->planning_lock);
  return !has_ring;
}
