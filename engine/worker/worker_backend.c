// SPDX-License-Identifier: GPL-3.0-or-later
// The backend of the nodes: opens the device that the configuration asks for, records that it has
// failed, and reports on it.

#include "calibrate.h"
#include "worker_private.h"

#include "engine/base/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The deadline until worker_set_deadline(), and offline.  It is long because no output depends on
// it, and a large rack on a slow device takes long.
#define PATIENT_NS (60U * NS_PER_S)

#define PROGRESS_NS (5U * NS_PER_S) // between two logs of long work

// Delays between attempts to open a device that has failed.
#define FIRST_REST_NS   NS_PER_S
#define LONGEST_REST_NS (60U * NS_PER_S)

Status
worker_open_device(const Worker* const worker, Backend** const device, Error* const error)
{
  const EngineConfig* const config = &worker->config;
  const DeviceChoice choice = { .api = config->backend,
                                .index = config->gpu_index,
                                .deadline_ns =
                                    config->gpu_deadline_ns ? config->gpu_deadline_ns : PATIENT_NS,
                                .keep_awake = !config->gpu_may_sleep };
  return device_backend_new(&choice, device, error);
}

/// Log the progress of long work, every few seconds.
typedef struct ProgressLog {
  Worker* worker;
  const char* what; ///< "measured", "compiled"
  const char* of;
  uint64_t next_ns;
} ProgressLog;

static void
log_progress(void* const context, const uint32_t n_done, const uint32_t n)
{
  ProgressLog* const log = context;
  const uint64_t now_ns = time_now_ns();
  if (now_ns >= log->next_ns) {
    log->next_ns = now_ns + PROGRESS_NS;
    worker_log(log->worker, "%s %u %% of the %s", log->what, 100U * n_done / n, log->of);
  }
}

/// Get the costs: from the configuration, from an earlier start, or from a measurement.
static Status
find_costs(Worker* const worker, PlacementCosts* const costs, Error* const error)
{
  char name[CALIBRATE_NAME_BYTES];
  calibrate_name(worker->config.gpu_may_sleep, name);
  if (worker->config.costs) {
    *costs = *worker->config.costs;
    return STATUS_OK;
  }
  if (device_recall(worker->device, name, costs, sizeof(*costs))) {
    return STATUS_OK;
  }
  worker_log(worker,
             "compiling all kernels and measuring their cost on %s, once; this takes at least 20 s",
             device_backend_summary(worker->device));
  const uint64_t began_ns = time_now_ns();
  ProgressLog log = { worker, "measured", "costs", began_ns + PROGRESS_NS };
  const CalibrateProgress progress = { log_progress, &log };
  Error first = { STATUS_OK, "" };
  const Status status = calibrate(worker->device, NULL, &progress, costs, &first);
  if (status) {
    return error_set(error, status, "%s", first.text);
  }
  const double seconds = (double)(time_now_ns() - began_ns) * 1e-9;
  if (first.status) {
    worker_log(worker, "measured in %.1f s, but not all effects, as in %s", seconds, first.text);
  } else {
    worker_log(worker, "measured in %.1f s", seconds);
  }
  if (first.status == STATUS_NO_MEM) {
    return STATUS_OK; // do not store them: there may be more memory at the next start
  }
  if (!device_remember(worker->device, name, costs, sizeof(*costs))) {
    worker_log(worker, "cannot write to the cache folder: the next start measures again");
  }
  return STATUS_OK;
}

/// Let the costs choose the backend.  If they cannot be measured, choose the CPU.
static Status
choose_by_cost(Worker* const worker)
{
  worker->costs = calloc(1, sizeof(PlacementCosts));
  Error why = { STATUS_NO_MEM, "out of memory" };
  if (!worker->costs) {
    return why.status;
  }
  worker->reason = PLACE_COST;
  if (find_costs(worker, worker->costs, &why)) {
    free(worker->costs);
    worker->costs = NULL;
    worker->reason = PLACE_UNMEASURED;
    snprintf(worker->backend_note, sizeof(worker->backend_note),
             "effects run on the CPU: cannot measure their cost on the GPU: %s", why.text);
  }
  return STATUS_OK;
}

/// Start without the device, which cannot be opened, as if it had just failed.
static void
begin_lost(Worker* const worker, const Error* const why)
{
  worker_mark_lost(worker, why);
  worker_rest_device(worker);
  worker->needs_new_process = true;
}

/// Choose a GPU if there is one, else the CPU, and report the choice.
static Status
choose_by_itself(Worker* const worker, Error* const error)
{
  Error why = { STATUS_OK, "" };
  if (!worker_open_device(worker, &worker->device, &why)) {
    const Status status = choose_by_cost(worker);
    return status ? error_set(error, status, "out of memory") : STATUS_OK;
  }
  snprintf(worker->no_gpu, sizeof(worker->no_gpu), "%s", why.text);
  snprintf(worker->backend_note, sizeof(worker->backend_note), "effects run on the CPU: %s",
           why.text);
  worker->reason = PLACE_NO_GPU;
  if (worker->config.gpu_may_be_lost) {
    begin_lost(worker, &why);
  }
  return STATUS_OK;
}

Status
worker_open_backend(Worker* const worker, Error* const error)
{
  worker->backend = &backend_cpu;
  if (worker->config.backend == ENGINE_BACKEND_AUTO) {
    return choose_by_itself(worker, error);
  }
  worker->reason = PLACE_OPTION;
  if (worker->config.backend == ENGINE_BACKEND_CPU) {
    strcpy(worker->no_gpu, "--backend cpu does not use GPUs");
    return STATUS_OK;
  }
  Error why = { STATUS_OK, "" };
  const Status status = worker_open_device(worker, &worker->device, &why);
  if (status && !worker->config.gpu_may_be_lost) {
    return error_set(error, status, "%s", why.text);
  }
  worker->backend = worker->device;
  if (status) {
    begin_lost(worker, &why);
  }
  return STATUS_OK;
}

void
worker_close_backend(Worker* const worker)
{
  device_backend_free(worker->device);
  free(worker->costs);
  worker->device = NULL;
  worker->backend = NULL;
}

/// Load what edits will need, before the device plays.
static void
load_device(Worker* const worker)
{
  ProgressLog log = { worker, "compiled", "kernels", time_now_ns() + PROGRESS_NS };
  Error why = { STATUS_OK, "" };
  if (device_backend_load(worker->device, worker->format.rate_hz, worker->format.block_frames,
                          log_progress, &log, &why)) {
    worker_log(worker, "edits may have to load kernels: %s", why.text);
  }
}

void
worker_map_ring(Worker* const worker, const Ring* const ring)
{
  size_t n_bytes = 0;
  void* const region = ring_memory(ring, &n_bytes);
  Error why = { STATUS_OK, "" };
  if (worker->device->attach(worker->device, region, n_bytes, &why)) {
    pthread_mutex_lock(&worker->status_lock);
    snprintf(worker->backend_note, sizeof(worker->backend_note),
             "audio is copied to the device and back: %s", why.text);
    pthread_mutex_unlock(&worker->status_lock);
  }
  load_device(worker);
  device_backend_play(worker->device, true);
}

Status
worker_attach_ring(Worker* const worker, const Ring* const ring, Error* const error)
{
  if (!worker->device) {
    return STATUS_OK;
  }
  plan_drop_stages(worker->player.plan); // only a plan that was made while disarmed has stages
  worker_map_ring(worker, ring);
  return plan_make_stages(worker->player.plan, worker->pool, error);
}

void
worker_detach_ring(Worker* const worker)
{
  if (worker->device) {
    plan_drop_stages(worker->player.plan);
    device_backend_play(worker->device, false);
    worker->device->detach(worker->device);
  }
}

void
worker_place(const Worker* const worker, PlanRequest* const request)
{
  const bool is_lost = worker->is_lost;
  request->backend = worker->backend;
  request->reason = is_lost && worker->was_used ? PLACE_LOST : worker->reason;
  request->gpu = is_lost ? &backend_cpu : worker->device;
  request->no_gpu = worker->no_gpu;
  request->lost = is_lost ? worker->device : NULL;
  request->max_bytes = worker->config.memory_bytes;
  request->held_bytes = worker->player.plan ? worker->player.plan->n_bytes : 0U;
}

// ---- a device that has failed ----

void
worker_mark_lost(Worker* const worker, const Error* const why)
{
  pthread_mutex_lock(&worker->status_lock);
  worker->is_lost = true;
  worker->was_used = worker->backend != &backend_cpu;
  worker->backend = &backend_cpu;
  worker->lost_why = *why;
  snprintf(worker->backend_note, sizeof(worker->backend_note), "%.400s; effects run on the CPU",
           why->text);
  pthread_mutex_unlock(&worker->status_lock);
}

void
worker_note_failure(Worker* const worker, const Plan* const plan)
{
  const Backend* backend = NULL;
  Error why = { STATUS_OK, "" };
  if (!worker->is_lost && plan && plan_failure(plan, &backend, &why)) {
    worker_mark_lost(worker, &why);
  }
}

void
worker_rest_device(Worker* const worker)
{
  backoff_fail(&worker->retry, FIRST_REST_NS, LONGEST_REST_NS, time_now_ns());
}

Status
worker_failure(Worker* const worker, Error* const error)
{
  pthread_mutex_lock(&worker->status_lock);
  const bool is_lost = worker->is_lost;
  if (is_lost && error) {
    *error = worker->lost_why;
  }
  pthread_mutex_unlock(&worker->status_lock);
  return is_lost ? STATUS_DEVICE_LOST : STATUS_OK;
}

// ---- reports ----

void
worker_show_plan(Worker* const worker, const Plan* const plan)
{
  pthread_mutex_lock(&worker->status_lock);
  worker->shown = plan;
  pthread_mutex_unlock(&worker->status_lock);
}

EngineBackend
worker_gpu(const Worker* const worker)
{
  return worker->device ? worker->device->kind : ENGINE_BACKEND_CPU;
}

static PlaceReason
reason_of(const PlanNode* const plan_node)
{
  if (plan_node->node->is_quarantined) {
    return PLACE_QUARANTINE;
  }
  if (plan_node->node->fx->is_missing) {
    return PLACE_MISSING;
  }
  return atomic_load(&plan_node->node->health.is_bypassed) ? PLACE_BYPASSED : plan_node->reason;
}

uint32_t
worker_placements(void* const context, EnginePlacement* const placements, const uint32_t max)
{
  Worker* const worker = context;
  pthread_mutex_lock(&worker->status_lock);
  const uint32_t n = worker->shown ? worker->shown->n_living : 0U;
  for (uint32_t i = 0; i < n && i < max; ++i) {
    const PlanNode* const from = &worker->shown->nodes[i];
    placements[i] = (EnginePlacement){ .uid = from->node->uid,
                                       .backend = from->node->backend->kind,
                                       .reason = reason_of(from),
                                       .latency_frames = from->latency_frames };
    node_times_read(&from->node->times, &placements[i].p50_ns, &placements[i].p99_ns);
  }
  pthread_mutex_unlock(&worker->status_lock);
  return n;
}

void
worker_fill_status(const Worker* const worker, WorkerStatus* const status)
{
  const uint32_t n_nodes = worker->shown ? worker->shown->n_living : 0U;
  for (uint32_t n = 0; n < n_nodes; ++n) {
    const Node* const node = worker->shown->nodes[n].node;
    status->n_gpu_nodes += node->backend != &backend_cpu;
    status->n_bypassed += atomic_load(&node->health.is_bypassed);
  }
  const bool is_mixed = status->n_gpu_nodes && status->n_gpu_nodes < n_nodes;
  const bool is_on_gpu = n_nodes ? status->n_gpu_nodes : worker->backend != &backend_cpu;
  status->uses_cpu = is_mixed || !is_on_gpu;
  status->gpu = is_on_gpu ? worker->device->kind : ENGINE_BACKEND_CPU;
  if (worker->device) {
    snprintf(status->device, sizeof(status->device), "%s", device_backend_summary(worker->device));
  }
  for (uint32_t s = 0; s < PLACEMENT_SIDES; ++s) {
    status->cost_us[s] = worker->cost_ns[s] * 1e-3;
  }
  status->needs_new_process = worker->needs_new_process;
  memcpy(status->backend_note, worker->backend_note, sizeof(status->backend_note));
}
