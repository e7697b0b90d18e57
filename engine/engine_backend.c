// SPDX-License-Identifier: GPL-3.0-or-later
// What runs the nodes: the backend that an engine was asked for, and the device that it has open.

#include "engine_private.h"

#include <stdio.h>
#include <string.h>

#define LIVE_DEADLINE_NS    1000000000U  // a GPU that hangs: the dry signal plays meanwhile
#define OFFLINE_DEADLINE_NS 60000000000U // nobody waits for a block; long racks on slow devices

static const char* const api_names[] = {
  [ENGINE_BACKEND_CUDA] = "cuda",
  [ENGINE_BACKEND_OPENCL] = "opencl",
};

static Status
open_device(Engine* const engine, const char* const api, Error* const error)
{
  const EngineConfig* const config = &engine->config;
  const uint64_t usual_ns = config->offline ? OFFLINE_DEADLINE_NS : LIVE_DEADLINE_NS;
  const DeviceChoice choice = { .api = api,
                                .index = config->gpu_index,
                                .deadline_ns =
                                    config->gpu_deadline_ns ? config->gpu_deadline_ns : usual_ns };
  return device_backend_new(&choice, &engine->device, error);
}

/// A GPU if there is one; else the CPU, which is said.
static void
choose_by_itself(Engine* const engine)
{
  Error why = { STATUS_OK, "" };
  if (!open_device(engine, NULL, &why)) {
    return;
  }
  snprintf(engine->no_gpu, sizeof(engine->no_gpu), "%s", why.text);
  snprintf(engine->backend_note, sizeof(engine->backend_note), "effects run on the CPU: %s",
           why.text);
  engine->why_backend = "no-gpu";
}

Status
engine_open_backend(Engine* const engine, Error* const error)
{
  engine->backend = &backend_cpu;
  engine->why_backend = "auto";
  switch (engine->config.backend) {
  case ENGINE_BACKEND_AUTO:
    choose_by_itself(engine);
    return STATUS_OK;
  case ENGINE_BACKEND_CPU:
    engine->why_backend = "option";
    strcpy(engine->no_gpu, "--backend cpu leaves GPUs alone");
    return STATUS_OK;
  case ENGINE_BACKEND_CUDA:
  case ENGINE_BACKEND_OPENCL:
    break;
  }
  const Status status = open_device(engine, api_names[engine->config.backend], error);
  engine->backend = engine->device;
  engine->why_backend = "option";
  return status;
}

void
engine_close_backend(Engine* const engine)
{
  device_backend_free(engine->device);
  engine->device = NULL;
  engine->backend = NULL;
}

Status
engine_attach_ring(Engine* const engine, const Ring* const ring, Error* const error)
{
  if (!engine->device) {
    return STATUS_OK;
  }
  plan_drop_stages(engine->worker.plan); // none but after plans that were made while disarmed
  size_t n_bytes = 0;
  void* const region = ring_memory(ring, &n_bytes);
  Error why = { STATUS_OK, "" };
  if (engine->device->attach(engine->device, region, n_bytes, &why)) {
    snprintf(engine->backend_note, sizeof(engine->backend_note),
             "audio is copied on its way to the device: %s", why.text);
  }
  return plan_make_stages(engine->worker.plan, engine->pool, error);
}

void
engine_detach_ring(Engine* const engine)
{
  if (engine->device) {
    plan_drop_stages(engine->worker.plan);
    engine->device->detach(engine->device);
  }
}

void
engine_place(const Engine* const engine, PlanRequest* const request)
{
  request->backend = engine->backend;
  request->why_backend = engine->why_backend;
  request->gpu = engine->device;
  request->no_gpu = engine->no_gpu;
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
  memcpy(status->backend_note, engine->backend_note, sizeof(status->backend_note));
}
