// SPDX-License-Identifier: GPL-3.0-or-later
// What runs the nodes: the backend that a runner was asked for, and the device that it has open.

#include "calibrate.h"
#include "rt.h"
#include "runner_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Until runner_set_deadline(), and offline: nobody waits for a block; long racks on slow devices.
#define PATIENT_NS 60000000000U

static const char* const api_names[] = {
  [ENGINE_BACKEND_CUDA] = "cuda",
  [ENGINE_BACKEND_OPENCL] = "opencl",
};

Status
runner_open_device(const Runner* const runner, Backend** const device, Error* const error)
{
  const EngineConfig* const config = &runner->config;
  const DeviceChoice choice = { .api = api_names[config->backend],
                                .index = config->gpu_index,
                                .deadline_ns =
                                    config->gpu_deadline_ns ? config->gpu_deadline_ns : PATIENT_NS,
                                .keep_awake = !config->gpu_may_sleep };
  return device_backend_new(&choice, device, error);
}

static void PRINTF_LIKE(2, 3) say(const Runner* const runner, const char* const format, ...)
{
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (runner->config.note) {
    runner->config.note(runner->config.note_context, text);
  }
}

/// Costs as they were given, kept from an earlier start, or measured now.
static Status
find_costs(Runner* const runner, PlacementCosts* const costs, Error* const error)
{
  char name[CALIBRATE_NAME_BYTES];
  calibrate_name(name);
  if (runner->config.costs) {
    *costs = *runner->config.costs;
    return STATUS_OK;
  }
  if (device_recall(runner->device, name, costs, sizeof(*costs))) {
    return STATUS_OK;
  }
  say(runner, "measuring what effects cost on %s, once; this takes some seconds",
      device_backend_summary(runner->device));
  const uint64_t began_ns = rt_now_ns();
  Error first = { STATUS_OK, "" };
  const Status status = calibrate(runner->device, NULL, costs, &first);
  if (status) {
    return error_set(error, status, "%s", first.text);
  }
  const double seconds = (double)(rt_now_ns() - began_ns) * 1e-9;
  if (first.status) {
    say(runner, "measured in %.1f s, but not all effects, as in %s", seconds, first.text);
  } else {
    say(runner, "measured in %.1f s", seconds);
  }
  if (first.status == STATUS_NO_MEM) {
    return STATUS_OK; // that may be otherwise at the next start
  }
  if (!device_remember(runner->device, name, costs, sizeof(*costs))) {
    say(runner, "the cache folder cannot be written: the next start measures again");
  }
  return STATUS_OK;
}

/// Leave the choice to the costs; without them, to the CPU.
static Status
choose_by_cost(Runner* const runner)
{
  runner->costs = calloc(1, sizeof(PlacementCosts));
  Error why = { STATUS_NO_MEM, "out of memory" };
  if (!runner->costs) {
    return why.status;
  }
  runner->why_backend = "cost";
  if (find_costs(runner, runner->costs, &why)) {
    free(runner->costs);
    runner->costs = NULL;
    runner->why_backend = "unmeasured";
    snprintf(runner->backend_note, sizeof(runner->backend_note),
             "effects run on the CPU: what they cost on the GPU could not be measured: %s",
             why.text);
  }
  return STATUS_OK;
}

/// A GPU may be used if there is one; else it is the CPU, which is said.
static Status
choose_by_itself(Runner* const runner, Error* const error)
{
  Error why = { STATUS_OK, "" };
  if (!runner_open_device(runner, &runner->device, &why)) {
    const Status status = choose_by_cost(runner);
    return status ? error_set(error, status, "out of memory") : STATUS_OK;
  }
  snprintf(runner->no_gpu, sizeof(runner->no_gpu), "%s", why.text);
  snprintf(runner->backend_note, sizeof(runner->backend_note), "effects run on the CPU: %s",
           why.text);
  runner->why_backend = "no-gpu";
  if (runner->config.gpu_may_be_lost) {
    runner_begin_lost(runner, &why);
  }
  return STATUS_OK;
}

Status
runner_open_backend(Runner* const runner, Error* const error)
{
  runner->backend = &backend_cpu;
  switch (runner->config.backend) {
  case ENGINE_BACKEND_AUTO:
    return choose_by_itself(runner, error);
  case ENGINE_BACKEND_CPU:
    runner->why_backend = "option";
    strcpy(runner->no_gpu, "--backend cpu leaves GPUs alone");
    return STATUS_OK;
  case ENGINE_BACKEND_CUDA:
  case ENGINE_BACKEND_OPENCL:
    break;
  }
  runner->why_backend = "option";
  Error why = { STATUS_OK, "" };
  const Status status = runner_open_device(runner, &runner->device, &why);
  if (status && !runner->config.gpu_may_be_lost) {
    return error_set(error, status, "%s", why.text);
  }
  runner->backend = runner->device;
  if (status) {
    runner_begin_lost(runner, &why);
  }
  return STATUS_OK;
}

void
runner_close_backend(Runner* const runner)
{
  device_backend_free(runner->device);
  free(runner->costs);
  runner->device = NULL;
  runner->backend = NULL;
}

void
runner_show_ring(Runner* const runner, const Ring* const ring)
{
  size_t n_bytes = 0;
  void* const region = ring_memory(ring, &n_bytes);
  Error why = { STATUS_OK, "" };
  if (runner->device->attach(runner->device, region, n_bytes, &why)) {
    pthread_mutex_lock(&runner->told);
    snprintf(runner->backend_note, sizeof(runner->backend_note),
             "audio is copied on its way to the device: %s", why.text);
    pthread_mutex_unlock(&runner->told);
  }
  device_backend_play(runner->device, true);
}

Status
runner_attach_ring(Runner* const runner, const Ring* const ring, Error* const error)
{
  if (!runner->device) {
    return STATUS_OK;
  }
  plan_drop_stages(runner->worker.plan); // none but after plans that were made while disarmed
  runner_show_ring(runner, ring);
  return plan_make_stages(runner->worker.plan, runner->pool, error);
}

void
runner_detach_ring(Runner* const runner)
{
  if (runner->device) {
    plan_drop_stages(runner->worker.plan);
    device_backend_play(runner->device, false);
    runner->device->detach(runner->device);
  }
}

void
runner_place(const Runner* const runner, PlanRequest* const request)
{
  const bool is_lost = runner->is_lost;
  request->backend = runner->backend;
  request->why_backend = is_lost && runner->was_used ? "lost" : runner->why_backend;
  request->gpu = is_lost ? &backend_cpu : runner->device;
  request->no_gpu = runner->no_gpu;
  request->lost = is_lost ? runner->device : NULL;
  request->max_bytes = runner->config.memory_bytes;
  request->held_bytes = runner->worker.plan ? runner->worker.plan->n_bytes : 0U;
}

// ---- what is told ----

void
runner_show_plan(Runner* const runner, const Plan* const plan)
{
  pthread_mutex_lock(&runner->told);
  runner->shown = plan;
  pthread_mutex_unlock(&runner->told);
}

EngineBackend
runner_gpu(const Runner* const runner)
{
  return !runner->device                         ? ENGINE_BACKEND_CPU
         : !strcmp(runner->device->name, "cuda") ? ENGINE_BACKEND_CUDA
                                                 : ENGINE_BACKEND_OPENCL;
}

uint32_t
runner_places(const void* const context, EnginePlace* const places, const uint32_t max)
{
  const Runner* const runner = context;
  pthread_mutex_t* const told = (pthread_mutex_t*)&runner->told;
  pthread_mutex_lock(told);
  const uint32_t n = runner->shown ? runner->shown->n_living : 0U;
  for (uint32_t i = 0; i < n && i < max; ++i) {
    const PlanNode* const from = &runner->shown->nodes[i];
    const bool is_bypassed = atomic_load(&from->node->health.is_bypassed);
    places[i] = (EnginePlace){ from->node->uid, from->node->backend->name,
                               is_bypassed ? "bypassed" : from->why };
  }
  pthread_mutex_unlock(told);
  return n;
}

void
runner_tell_backend(const Runner* const runner, RunnerStatus* const status)
{
  const uint32_t n_nodes = runner->shown ? runner->shown->n_living : 0U;
  for (uint32_t n = 0; n < n_nodes; ++n) {
    const Node* const node = runner->shown->nodes[n].node;
    status->n_gpu_nodes += node->backend != &backend_cpu;
    status->n_bypassed += atomic_load(&node->health.is_bypassed);
  }
  const bool is_mixed = status->n_gpu_nodes && status->n_gpu_nodes < n_nodes;
  const bool is_on_gpu = n_nodes ? status->n_gpu_nodes : runner->backend != &backend_cpu;
  snprintf(status->backend, sizeof(status->backend), "%s%s%s",
           is_mixed || !is_on_gpu ? backend_cpu.name : "", is_mixed ? "+" : "",
           is_on_gpu ? runner->device->name : "");
  if (runner->device) {
    snprintf(status->device, sizeof(status->device), "%s", device_backend_summary(runner->device));
  }
  for (uint32_t s = 0; s < PLACEMENT_SIDES; ++s) {
    status->cost_us[s] = runner->cost_ns[s] * 1e-3;
  }
  status->needs_new_process = runner->needs_new_process;
  memcpy(status->backend_note, runner->backend_note, sizeof(status->backend_note));
}
