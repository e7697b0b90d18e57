// SPDX-License-Identifier: GPL-3.0-or-later
// What runs the nodes: the backend that an engine was asked for, and the device that it has open.

#include "calibrate.h"
#include "engine_private.h"
#include "rt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Until engine_set_deadline(), and offline: nobody waits for a block; long racks on slow devices.
#define PATIENT_NS 60000000000U

static const char* const api_names[] = {
  [ENGINE_BACKEND_CUDA] = "cuda",
  [ENGINE_BACKEND_OPENCL] = "opencl",
};

Status
engine_open_device(const Engine* const engine, Backend** const device, Error* const error)
{
  const EngineConfig* const config = &engine->config;
  const DeviceChoice choice = { .api = api_names[config->backend],
                                .index = config->gpu_index,
                                .deadline_ns =
                                    config->gpu_deadline_ns ? config->gpu_deadline_ns : PATIENT_NS,
                                .keep_awake = !config->gpu_may_sleep };
  return device_backend_new(&choice, device, error);
}

static void PRINTF_LIKE(2, 3) say(const Engine* const engine, const char* const format, ...)
{
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (engine->config.note) {
    engine->config.note(engine->config.note_context, text);
  }
}

/// Costs as they were given, kept from an earlier start, or measured now.
static Status
find_costs(Engine* const engine, PlacementCosts* const costs, Error* const error)
{
  char name[CALIBRATE_NAME_BYTES];
  calibrate_name(name);
  if (engine->config.costs) {
    *costs = *engine->config.costs;
    return STATUS_OK;
  }
  if (device_recall(engine->device, name, costs, sizeof(*costs))) {
    return STATUS_OK;
  }
  say(engine, "measuring what effects cost on %s, once; this takes some seconds",
      device_backend_summary(engine->device));
  const uint64_t began_ns = rt_now_ns();
  Error first = { STATUS_OK, "" };
  const Status status = calibrate(engine->device, NULL, costs, &first);
  if (status) {
    return error_set(error, status, "%s", first.text);
  }
  const double seconds = (double)(rt_now_ns() - began_ns) * 1e-9;
  if (first.status) {
    say(engine, "measured in %.1f s, but not all effects, as in %s", seconds, first.text);
  } else {
    say(engine, "measured in %.1f s", seconds);
  }
  if (first.status == STATUS_NO_MEM) {
    return STATUS_OK; // that may be otherwise at the next start
  }
  if (!device_remember(engine->device, name, costs, sizeof(*costs))) {
    say(engine, "the cache folder cannot be written: the next start measures again");
  }
  return STATUS_OK;
}

/// Leave the choice to the costs; without them, to the CPU.
static Status
choose_by_cost(Engine* const engine)
{
  engine->costs = calloc(1, sizeof(PlacementCosts));
  Error why = { STATUS_NO_MEM, "out of memory" };
  if (!engine->costs) {
    return why.status;
  }
  engine->why_backend = "cost";
  if (find_costs(engine, engine->costs, &why)) {
    free(engine->costs);
    engine->costs = NULL;
    engine->why_backend = "unmeasured";
    snprintf(engine->backend_note, sizeof(engine->backend_note),
             "effects run on the CPU: what they cost on the GPU could not be measured: %s",
             why.text);
  }
  return STATUS_OK;
}

/// A GPU may be used if there is one; else it is the CPU, which is said.
static Status
choose_by_itself(Engine* const engine, Error* const error)
{
  Error why = { STATUS_OK, "" };
  if (!engine_open_device(engine, &engine->device, &why)) {
    const Status status = choose_by_cost(engine);
    return status ? error_set(error, status, "out of memory") : STATUS_OK;
  }
  snprintf(engine->no_gpu, sizeof(engine->no_gpu), "%s", why.text);
  snprintf(engine->backend_note, sizeof(engine->backend_note), "effects run on the CPU: %s",
           why.text);
  engine->why_backend = "no-gpu";
  return STATUS_OK;
}

Status
engine_open_backend(Engine* const engine, Error* const error)
{
  engine->backend = &backend_cpu;
  switch (engine->config.backend) {
  case ENGINE_BACKEND_AUTO:
    return choose_by_itself(engine, error);
  case ENGINE_BACKEND_CPU:
    engine->why_backend = "option";
    strcpy(engine->no_gpu, "--backend cpu leaves GPUs alone");
    return STATUS_OK;
  case ENGINE_BACKEND_CUDA:
  case ENGINE_BACKEND_OPENCL:
    break;
  }
  const Status status = engine_open_device(engine, &engine->device, error);
  engine->backend = engine->device;
  engine->why_backend = "option";
  return status;
}

void
engine_close_backend(Engine* const engine)
{
  device_backend_free(engine->device);
  free(engine->costs);
  engine->device = NULL;
  engine->backend = NULL;
}

void
engine_show_ring(Engine* const engine, const Ring* const ring)
{
  size_t n_bytes = 0;
  void* const region = ring_memory(ring, &n_bytes);
  Error why = { STATUS_OK, "" };
  if (engine->device->attach(engine->device, region, n_bytes, &why)) {
    pthread_mutex_lock(&engine->pointers);
    snprintf(engine->backend_note, sizeof(engine->backend_note),
             "audio is copied on its way to the device: %s", why.text);
    pthread_mutex_unlock(&engine->pointers);
  }
  device_backend_play(engine->device, true);
}

Status
engine_attach_ring(Engine* const engine, const Ring* const ring, Error* const error)
{
  if (!engine->device) {
    return STATUS_OK;
  }
  plan_drop_stages(engine->worker.plan); // none but after plans that were made while disarmed
  engine_show_ring(engine, ring);
  return plan_make_stages(engine->worker.plan, engine->pool, error);
}

void
engine_detach_ring(Engine* const engine)
{
  if (engine->device) {
    plan_drop_stages(engine->worker.plan);
    device_backend_play(engine->device, false);
    engine->device->detach(engine->device);
  }
}

void
engine_place(const Engine* const engine, PlanRequest* const request)
{
  const bool is_lost = engine->is_lost;
  request->backend = engine->backend;
  request->why_backend = is_lost && engine->was_used ? "lost" : engine->why_backend;
  request->gpu = is_lost ? &backend_cpu : engine->device;
  request->no_gpu = engine->no_gpu;
  request->lost = is_lost ? engine->device : NULL;
}

// ---- what is told ----

void
engine_show_plan(Engine* const engine, const Plan* const plan)
{
  pthread_mutex_lock(&engine->pointers);
  engine->shown = plan;
  pthread_mutex_unlock(&engine->pointers);
}

uint32_t
engine_places(const Engine* const engine, EnginePlace* const places, const uint32_t max)
{
  pthread_mutex_t* const pointers = (pthread_mutex_t*)&engine->pointers;
  pthread_mutex_lock(pointers);
  const uint32_t n = engine->shown ? engine->shown->n_living : 0U;
  for (uint32_t i = 0; i < n && i < max; ++i) {
    const PlanNode* const from = &engine->shown->nodes[i];
    places[i] = (EnginePlace){ from->node->uid, from->node->backend->name, from->why };
  }
  pthread_mutex_unlock(pointers);
  return n;
}

void
engine_tell_backend(const Engine* const engine, EngineStatus* const status)
{
  const uint32_t n_nodes = engine->shown ? engine->shown->n_living : 0U;
  for (uint32_t n = 0; n < n_nodes; ++n) {
    status->n_gpu_nodes += engine->shown->nodes[n].node->backend != &backend_cpu;
  }
  const bool is_mixed = status->n_gpu_nodes && status->n_gpu_nodes < n_nodes;
  const bool is_on_gpu = n_nodes ? status->n_gpu_nodes : engine->backend != &backend_cpu;
  snprintf(status->backend, sizeof(status->backend), "%s%s%s",
           is_mixed || !is_on_gpu ? backend_cpu.name : "", is_mixed ? "+" : "",
           is_on_gpu ? engine->device->name : "");
  if (engine->device) {
    snprintf(status->device, sizeof(status->device), "%s", device_backend_summary(engine->device));
  }
  for (uint32_t s = 0; s < PLACEMENT_SIDES; ++s) {
    status->cost_us[s] = engine->cost_ns[s] * 1e-3;
  }
  status->device_errors = atomic_load(&engine->worker.counts.device_errors);
  memcpy(status->backend_note, engine->backend_note, sizeof(status->backend_note));
}
