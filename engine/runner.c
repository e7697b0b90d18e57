// SPDX-License-Identifier: GPL-3.0-or-later
// The runner's life: made, armed for a format, disarmed; and what it tells about itself.

#include "runner.h"

#include "rt.h"
#include "runner_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- facts ----

static void
lock_told(const Runner* const runner)
{
  pthread_mutex_lock((pthread_mutex_t*)&runner->told);
}

static void
unlock_told(const Runner* const runner)
{
  pthread_mutex_unlock((pthread_mutex_t*)&runner->told);
}

void
runner_publish_facts(Runner* const runner)
{
  const Plan* const plan = runner->worker.plan;
  lock_told(runner);
  runner->facts = (RunnerFacts){ .serial = runner->facts.serial + 1U,
                                 .rack_latency_frames = plan->latency_frames,
                                 .n_out = plan->n_out,
                                 .n_nodes = plan->n_living,
                                 .n_units = plan->n_units,
                                 .n_levels = plan->n_levels,
                                 .tail_frames = plan->tail_frames,
                                 .memory_bytes = plan->n_bytes,
                                 .making_bytes = plan->making_bytes,
                                 .fallbacks = runner->fallbacks };
  unlock_told(runner);
}

RunnerFacts
runner_facts(const Runner* const runner)
{
  lock_told(runner);
  const RunnerFacts facts = runner->facts;
  unlock_told(runner);
  return facts;
}

// ---- arming ----

/// Leave the ring.  [planning held]
static void
leave_ring(Runner* const runner)
{
  runner_stop_worker(runner);
  runner_note_failure(runner, runner->worker.plan); // its stages go
  if (runner->ring) {
    worker_drain(&runner->worker, runner->ring);
    runner_detach_ring(runner);
    runner->ring = NULL;
  }
}

/// Take `planning`.  The builder may hold it until blocks come: none do any more.
static void
lock_to_end(Runner* const runner)
{
  atomic_fetch_add(&runner->n_ending, 1U);
  pthread_mutex_lock(&runner->planning);
  atomic_fetch_sub(&runner->n_ending, 1U);
}

/// [planning held]
static void
disarm(Runner* const runner)
{
  leave_ring(runner);
  runner_end_offline(runner); // before its plan goes
}

static void
runner_disarm(void* const context)
{
  Runner* const runner = context;
  lock_to_end(runner);
  disarm(runner);
  pthread_mutex_unlock(&runner->planning);
}

/// The document as it is heard, with the values that messages have set since: before the nodes are
/// made anew.
static void
refresh_rack(Runner* const runner)
{
  const Plan* const plan = runner->worker.plan;
  for (uint32_t v = 0; plan && v < plan->n_living; ++v) {
    const Node* const node = plan->nodes[v].node;
    RackNode* const rack_node = &runner->rack->nodes[v];
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

bool
runner_outdate_fallbacks(Runner* const runner, const Rack* const rack, const uint32_t n_out)
{
  fallback_outdate(n_out, &runner->measured);
  if (!runner->must_measure) {
    runner->outdated_at = atomic_load(&runner->worker.next_frame);
  }
  runner->must_measure = true;
  return fallback_choose(rack, runner->config.on_late, &runner->measured, &runner->fallbacks);
}

void
runner_choose_fallbacks(Runner* const runner, const PlanRequest* const request,
                        const bool gives_way)
{
  FallbackProbe* probe = NULL;
  Error error = { STATUS_OK, "" };
  if (fallback_probe_new(request, &probe, &error)) {
    // The `auto` outputs are silent, and EngineStatus::late_note reports it.
  }
  bool is_measured = !probe;
  while (!is_measured && !(gives_way && runner_ends_measurement(runner))) {
    is_measured = fallback_probe_run(probe);
  }
  if (is_measured) {
    fallback_measure(probe, request->format->n_out, &runner->measured);
    (void)fallback_choose(request->rack, runner->config.on_late, &runner->measured,
                          &runner->fallbacks);
    runner->must_measure = false;
  }
  fallback_probe_free(probe);
}

/// Measure a rack with an `auto` output before it first plays.  Without one only the warnings need
/// the response: the builder measures later.
static void
choose_first_fallbacks(Runner* const runner, const PlanRequest* const request)
{
  const Format* const format = request->format;
  if (format->offline) {
    return;
  }
  if (runner_outdate_fallbacks(runner, request->rack, format->n_out)) {
    runner_choose_fallbacks(runner, request, false);
  }
}

/// The plan that does not play any more makes room; its values are in the rack.
static void
drop_plan(Runner* const runner)
{
  runner_show_plan(runner, NULL);
  plan_free(runner->worker.plan);
  runner->worker.plan = NULL;
  runner->has_format = false;
}

/// Plan the present rack from nothing for a new format; keeps the old plan when that fails, but
/// where there is no room for both.
static Status
plan_for_format(Runner* const runner, const RunnerStart* const start, Error* const error)
{
  refresh_rack(runner);
  PlanRequest request = { .rack = runner->rack,
                          .format = &start->format,
                          .loader = &runner->loader,
                          .pool = runner->pool,
                          .stamp = start->n_sent };
  runner_place(runner, &request);
  Plan* plan = NULL;
  bool tangled = false;
  const Fallbacks before = runner->fallbacks;
  const Fallbacks measured_before = runner->measured;
  choose_first_fallbacks(runner, &request);
  Status status = runner_make_plan(runner, &request, &plan, &tangled, error);
  if (status == STATUS_LIMIT && request.held_bytes) {
    drop_plan(runner);
    request.held_bytes = 0;
    choose_first_fallbacks(runner, &request);
    status = runner_make_plan(runner, &request, &plan, &tangled, error);
  }
  if (status) {
    runner->fallbacks = before;
    runner->measured = measured_before;
    runner->must_measure = true; // the rack of the old plan, if that was kept
  } else {
    runner_show_plan(runner, plan);
    plan_free(runner->worker.plan);
    runner->worker.plan = plan;
    plan_begin(plan);
    plan_heard(plan, start->first_frame);
    runner->format = start->format;
    runner->has_format = true;
  }
  return status;
}

/// Run what comes through a ring that is as wide as the plan.
static Status
join_ring(Runner* const runner, Ring* const ring, Error* const error)
{
  Status status = runner_attach_ring(runner, ring, error);
  if (status) {
    runner_detach_ring(runner);
    return status;
  }
  runner->ring = ring;
  status = runner_start_worker(runner, error);
  if (status) {
    leave_ring(runner);
  }
  return status;
}

static Status
arm_once(Runner* const runner, const RunnerStart* const start, Error* const error)
{
  const Format* const format = &start->format;
  runner_set_deadline(runner, format);
  if (!runner->has_format || !same_format(&runner->format, format)) {
    const Status status = plan_for_format(runner, start, error);
    if (status) {
      return status;
    }
  }
  runner_publish_facts(runner);
  runner->next_frame = start->first_frame;
  runner->worker.rate_hz = format->rate_hz;
  atomic_store(&runner->worker.next_frame, start->first_frame);
  runner->outdated_at = start->first_frame; // the frames may begin again
  return start->ring ? join_ring(runner, start->ring, error)
                     : runner_prepare_offline(runner, error);
}

/// [planning held]
static Status
arm(Runner* const runner, const RunnerStart* const start, Error* const error)
{
  disarm(runner);
  runner->worker.n_received = start->n_sent;
  runner_mind_device(runner);
  const Status status = arm_once(runner, start, error);
  return runner_take_loss(runner, status, error) ? arm_once(runner, start, error) : status;
}

static Status
runner_arm(void* const context, const RunnerStart* const start, RunnerFacts* const facts,
           Error* const error)
{
  Runner* const runner = context;
  lock_to_end(runner);
  const Status status = arm(runner, start, error);
  *facts = runner_facts(runner);
  pthread_mutex_unlock(&runner->planning);
  return status;
}

// ---- made and freed ----

/// Ask for what real time needs; what is missing becomes a note, not an error.
static void
become_realtime(Runner* const runner)
{
  Error priority = { STATUS_OK, "" };
  Error memory = { STATUS_OK, "" };
  if (!runner->config.realtime) {
    return;
  }
  const bool has_priority = !rt_try_realtime(runner->config.priority, &priority);
  const bool has_memory = !rt_lock_memory(&memory);
  snprintf(runner->realtime_note, sizeof(runner->realtime_note), "%.240s%s%.240s", priority.text,
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
init_locks(Runner* const runner)
{
  pthread_mutex_init(&runner->planning, NULL);
  pthread_mutex_init(&runner->edits, NULL);
  pthread_mutex_init(&runner->told, NULL);
  pthread_condattr_t monotonic; // a wait that the setting of the wall clock does not prolong
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&runner->edits_changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

static void
runner_free(void* const context)
{
  Runner* const runner = context;
  runner_stop_builder(runner);
  runner_disarm(runner);
  worker_clear(&runner->worker);
  runner_close_backend(runner);
  pool_free(runner->pool);
  rack_free(runner->rack);
  free(runner->offline_rows);
  pthread_cond_destroy(&runner->edits_changed);
  pthread_mutex_destroy(&runner->told);
  pthread_mutex_destroy(&runner->edits);
  pthread_mutex_destroy(&runner->planning);
  free(runner);
}

Status
runner_new(const EngineConfig* const config, const RunnerEvents* const events, Runner** const out,
           Error* const error)
{
  Runner* const runner = calloc(1, sizeof(Runner));
  if (!runner) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  runner->config = *config;
  runner->events = *events;
  runner->loader = (FileLoader){ .load = config->load_file,
                                 .read = config->read_file,
                                 .free = config->free_file,
                                 .context = config->file_context };
  runner->last_edit = &runner->first_edit;
  init_locks(runner);
  runner->rack = rack_new();
  Status status = runner->rack ? runner_open_backend(runner, error)
                               : error_set(error, STATUS_NO_MEM, "out of memory");
  if (!status) {
    status = worker_init(&runner->worker, error);
  }
  const uint32_t n_helpers = number_of_helpers(config);
  if (!status && n_helpers) {
    status = pool_new(n_helpers, config->realtime, config->priority, &runner->pool, error);
  }
  if (!status && !config->offline) {
    become_realtime(runner);
    status = runner_start_builder(runner, error);
  }
  if (status) {
    runner_free(runner);
    return status;
  }
  *out = runner;
  return STATUS_OK;
}

// ---- queries ----

static void
runner_status(const void* const context, RunnerStatus* const status)
{
  const Runner* const runner = context;
  const WorkerCounts* const counts = &runner->worker.counts;
  lock_told(runner);
  *status = (RunnerStatus){ .facts = runner->facts,
                            .blocks = atomic_load(&counts->blocks),
                            .plans = atomic_load(&counts->plans),
                            .params_applied = atomic_load(&counts->params_applied),
                            .params_dropped = atomic_load(&counts->params_dropped),
                            .units_reset = atomic_load(&counts->units_reset),
                            .device_errors = atomic_load(&counts->device_errors),
                            .load_p50 = load_quantile(&runner->worker.load, 0.5),
                            .load_p99 = load_quantile(&runner->worker.load, 0.99),
                            .load_max = load_largest(&runner->worker.load) };
  runner_tell_backend(runner, status);
  unlock_told(runner);
  memcpy(status->realtime_note, runner->realtime_note, sizeof(status->realtime_note));
}

static void
runner_reset_load(void* const context)
{
  Runner* const runner = context;
  load_reset(&runner->worker.load);
}

const RunnerCalls runner_calls = { .arm = runner_arm,
                                   .disarm = runner_disarm,
                                   .edit = runner_edit,
                                   .set = runner_set,
                                   .status = runner_status,
                                   .places = runner_places,
                                   .reset_load = runner_reset_load,
                                   .failure = runner_failure,
                                   .free = runner_free };
