// SPDX-License-Identifier: GPL-3.0-or-later
// The worker's life: created, armed for a format, disarmed, freed; and its status.

#include "worker.h"

#include "worker_private.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- arming ----

/// Leave the ring.  [planning_lock held]
static void
leave_ring(Worker* const worker)
{
  worker_stop_player(worker);
  worker_note_failure(worker, worker->player.plan); // before its stages are freed
  if (worker->ring) {
    player_drain(&worker->player, worker->ring);
    worker->player.reports = NULL;
    worker_detach_ring(worker);
    worker->ring = NULL;
  }
}

/// Take `planning_lock`.  The builder may hold the lock while it waits for blocks; n_ending ends
/// that wait, because no more blocks come.
static void
lock_to_end(Worker* const worker)
{
  atomic_fetch_add(&worker->n_ending, 1U);
  pthread_mutex_lock(&worker->planning_lock);
  atomic_fetch_sub(&worker->n_ending, 1U);
}

/// [planning_lock held]
static void
disarm(Worker* const worker)
{
  leave_ring(worker);
  worker_end_offline(worker); // before its plan is freed
}

static void
worker_disarm(void* const context)
{
  Worker* const worker = context;
  lock_to_end(worker);
  disarm(worker);
  pthread_mutex_unlock(&worker->planning_lock);
}

/// Copy the parameter values that messages have set from the plan's nodes to the document, before
/// the document is planned again with new nodes.
static void
refresh_rack(Worker* const worker)
{
  const Plan* const plan = worker->player.plan;
  for (uint32_t v = 0; plan && v < plan->n_living; ++v) {
    const Node* const node = plan->nodes[v].node;
    RackNode* const rack_node = &worker->rack->nodes[v];
    for (uint32_t p = 0; p < node->fx->n_params; ++p) {
      if (!node->fx->params[p].structural && node->stamps[p]) {
        rack_node->values[p].kind = VALUE_NUMBER;
        rack_node->values[p].number = node->targets[p];
      }
    }
  }
}

static bool
same_format(const Format* const a, const Format* const b)
{
  return a->rate_hz == b->rate_hz && a->block_frames == b->block_frames && a->n_in == b->n_in &&
         (b->n_out == 0U || a->n_out == b->n_out);
}

/// Free the old plan, to make room.  refresh_rack() has copied its values to the rack.
static void
drop_plan(Worker* const worker)
{
  worker_show_plan(worker, NULL);
  plan_free(worker->player.plan);
  worker->player.plan = NULL;
  worker->has_format = false;
}

/// Plan the current rack for a new format, with new nodes.  On failure the old plan stays, unless
/// the memory limit does not allow both: then it is freed first.
static Status
plan_for_format(Worker* const worker, const WorkerStart* const start, Error* const error)
{
  refresh_rack(worker);
  PlanRequest request = { .rack = worker->rack,
                          .format = &start->format,
                          .loader = &worker->loader,
                          .no_fusion = worker->config.no_fusion,
                          .pool = worker->pool,
                          .stamp = start->n_sent,
                          .finds_all = start->refused != NULL };
  worker_place(worker, &request);
  Plan* plan = NULL;
  PlanFault fault = { 0 };
  const Fallbacks before = worker->fallbacks;
  const Fallbacks measured_before = worker->measured;
  worker_choose_first_fallbacks(worker, &request);
  Status status = worker_make_plan(worker, &request, &plan, &fault, error);
  if (status == STATUS_LIMIT && request.held_bytes) {
    drop_plan(worker);
    request.held_bytes = 0;
    worker_choose_first_fallbacks(worker, &request);
    status = worker_make_plan(worker, &request, &plan, &fault, error);
  }
  if (status) {
    worker->fallbacks = before;
    worker->measured = measured_before;
    worker->must_measure = true; // for the next attempt or the old plan
    if (start->refused) {
      *start->refused = fault.refused;
    }
  } else {
    worker_show_plan(worker, plan);
    plan_free(worker->player.plan);
    worker->player.plan = plan;
    plan_begin(plan);
    plan_became_active(plan, start->first_frame);
    worker->format = start->format;
    worker->has_format = true;
  }
  return status;
}

/// Run the blocks of a ring that has the channels of the plan.
static Status
join_ring(Worker* const worker, Ring* const ring, Error* const error)
{
  Status status = worker_attach_ring(worker, ring, error);
  if (status) {
    worker_detach_ring(worker);
    return status;
  }
  worker->ring = ring;
  worker->still_since_ns = 0U;
  status = worker_start_player(worker, error);
  if (status) {
    leave_ring(worker);
  }
  return status;
}

static Status
arm_once(Worker* const worker, const WorkerStart* const start, Error* const error)
{
  const Format* const format = &start->format;
  worker_set_deadline(worker, format);
  if (!worker->has_format || !same_format(&worker->format, format)) {
    const Status status = plan_for_format(worker, start, error);
    if (status) {
      return status;
    }
  }
  worker_publish_facts(worker);
  worker->next_frame = start->first_frame;
  worker->player.rate_hz = format->rate_hz;
  atomic_store(&worker->player.next_frame, start->first_frame);
  worker->outdated_at = start->first_frame; // the frame count may have restarted
  return start->ring ? join_ring(worker, start->ring, error)
                     : worker_prepare_offline(worker, error);
}

/// [planning_lock held]
static Status
arm(Worker* const worker, const WorkerStart* const start, Error* const error)
{
  disarm(worker);
  worker->player.n_received = start->n_sent;
  worker_update_device(worker);
  const Status status = arm_once(worker, start, error);
  return worker_take_loss(worker, status, error) ? arm_once(worker, start, error) : status;
}

static Status
worker_arm(void* const context, const WorkerStart* const start, WorkerFacts* const facts,
           Error* const error)
{
  Worker* const worker = context;
  const uint64_t asked_ns = time_now_ns();
  lock_to_end(worker);
  worker_limit_request(worker, &start->format, asked_ns);
  const Status status = arm(worker, start, error);
  fx_set_deadline(0U);
  worker->ended_ns = time_now_ns();
  *facts = worker_facts(worker);
  pthread_mutex_unlock(&worker->planning_lock);
  return status;
}

// ---- made and freed ----

/// Request real-time priority and locked memory.  A failure becomes a note, not an error.
static void
become_realtime(Worker* const worker)
{
  Error priority = { STATUS_OK, "" };
  Error memory = { STATUS_OK, "" };
  if (!worker->config.realtime) {
    return;
  }
  const bool has_priority = !rt_try_realtime(worker->config.priority, &priority);
  const bool has_memory = !rt_lock_memory(&memory);
  fx_set_realtime(has_memory, has_priority ? worker->config.priority : 0);
  snprintf(worker->realtime_note, sizeof(worker->realtime_note), "%.240s%s%.240s", priority.text,
           has_priority || has_memory ? "" : "; ", memory.text);
}

static uint32_t
number_of_helpers(const EngineConfig* const config)
{
  if (config->n_helpers != UINT32_MAX) {
    return config->n_helpers < POOL_MAX_HELPERS ? config->n_helpers : POOL_MAX_HELPERS;
  }
  const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
  return n_cores > 1 ? (uint32_t)n_cores - 1U : 0U;
}

static void
init_locks(Worker* const worker)
{
  pthread_mutex_init(&worker->planning_lock, NULL);
  pthread_mutex_init(&worker->edits_lock, NULL);
  pthread_mutex_init(&worker->status_lock, NULL);
  time_cond_init(&worker->edits_changed);
}

static void
worker_free(void* const context)
{
  Worker* const worker = context;
  worker_stop_builder(worker);
  worker_disarm(worker);
  player_clear(&worker->player);
  worker_close_backend(worker);
  pool_free(worker->pool);
  rack_free(worker->rack);
  free(worker->offline_rows);
  pthread_cond_destroy(&worker->edits_changed);
  pthread_mutex_destroy(&worker->status_lock);
  pthread_mutex_destroy(&worker->edits_lock);
  pthread_mutex_destroy(&worker->planning_lock);
  free(worker);
}

Status
worker_new(const EngineConfig* const config, const WorkerEvents* const events, Worker** const out,
           Error* const error)
{
  Worker* const worker = calloc(1, sizeof(Worker));
  if (!worker) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  worker->config = *config;
  worker->events = *events;
  worker->loader.files = config->files;
  init_locks(worker);
  worker->rack = rack_new();
  Status status = worker->rack ? worker_open_backend(worker, error)
                               : error_set(error, STATUS_NO_MEM, "out of memory");
  status = status ? status : player_init(&worker->player, error);
  const uint32_t n_helpers = number_of_helpers(config);
  if (!status && n_helpers) {
    status = pool_new(n_helpers, config->realtime, config->priority, &worker->pool, error);
  }
  if (!status && !config->offline) {
    become_realtime(worker);
    status = worker_start_builder(worker, error);
  }
  if (status) {
    worker_free(worker);
    return status;
  }
  *out = worker;
  return STATUS_OK;
}

// ---- queries ----

static void
worker_status(void* const context, WorkerStatus* const status)
{
  Worker* const worker = context;
  pthread_mutex_lock(&worker->status_lock);
  *status = (WorkerStatus){ .facts = worker->facts,
                            .load_p50 = load_quantile(&worker->player.load, 0.5),
                            .load_p99 = load_quantile(&worker->player.load, 0.99),
                            .load_max = load_largest(&worker->player.load),
                            .awaits_frame = atomic_load(&worker->awaited_frame) != 0U };
  counters_read(worker->player.counts.of, N_WORKER_COUNTS, status->counts.of);
  worker_fill_status(worker, status);
  pthread_mutex_unlock(&worker->status_lock);
  memcpy(status->realtime_note, worker->realtime_note, sizeof(status->realtime_note));
}

static void
worker_reset_load(void* const context)
{
  Worker* const worker = context;
  load_reset(&worker->player.load);
}

const WorkerCalls worker_calls = { .arm = worker_arm,
                                   .disarm = worker_disarm,
                                   .edit = worker_edit,
                                   .save = worker_save,
                                   .set = worker_set,
                                   .status = worker_status,
                                   .placements = worker_placements,
                                   .reset_load = worker_reset_load,
                                   .free = worker_free };
