// SPDX-License-Identifier: GPL-3.0-or-later
// Queries of the engine: its latency, its status.

#include "engine_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- facts of the rack ----

static WorkerFacts
facts_of(Engine* const engine)
{
  pthread_mutex_lock(&engine->pointers_lock);
  const WorkerFacts facts = engine->facts;
  pthread_mutex_unlock(&engine->pointers_lock);
  return facts;
}

uint32_t
engine_rack_latency(Engine* const engine)
{
  return facts_of(engine).rack_latency_frames;
}

/// [pointers_lock held]
static uint32_t
whole_latency(const Engine* const engine)
{
  return engine->config.depth * engine->format.block_frames + engine->facts.rack_latency_frames;
}

uint32_t
engine_latency(Engine* const engine)
{
  pthread_mutex_lock(&engine->pointers_lock);
  const uint32_t latency = whole_latency(engine);
  pthread_mutex_unlock(&engine->pointers_lock);
  return latency;
}

uint64_t
engine_tail(Engine* const engine)
{
  return facts_of(engine).tail_frames;
}

uint32_t
engine_n_out(Engine* const engine)
{
  return facts_of(engine).n_out;
}

uint32_t
engine_placements(Engine* const engine, EnginePlacement* const placements, const uint32_t max)
{
  return engine->calls->placements(engine_half(engine), placements, max);
}

Rack*
engine_rack(Engine* const engine)
{
  return engine->supervisor ? supervisor_rack(engine->supervisor) : NULL;
}

// ---- status ----

/// [pointers_lock held]
static PeriodCounts
all_counts(const Engine* const engine)
{
  PeriodCounts counts = engine->past;
  const Period* const period = atomic_load(&engine->period);
  if (period) {
    const PeriodCounts now = period_counts(period);
    counters_add(period_counters, N_PERIOD_COUNTERS, counts.of, now.of);
  }
  return counts;
}

static void
put_backends(EngineStatus* const status, const WorkerStatus* const worker)
{
  const bool uses_gpu = worker->gpu > ENGINE_BACKEND_CPU;
  snprintf(status->backend, sizeof(status->backend), "%s%s%s",
           worker->uses_cpu ? engine_backend_names[ENGINE_BACKEND_CPU] : "",
           worker->uses_cpu && uses_gpu ? "+" : "",
           uses_gpu ? engine_backend_names[worker->gpu] : "");
}

/// Copy the worker's status.
static void
put_worker(EngineStatus* const status, const WorkerStatus* const worker)
{
  status->n_nodes = worker->facts.n_nodes;
  status->n_units = worker->facts.n_units;
  status->n_ranks = worker->facts.n_ranks;
  status->load_p50 = worker->load_p50;
  status->load_p99 = worker->load_p99;
  status->load_max = worker->load_max;
  status->n_gpu_nodes = worker->n_gpu_nodes;
  status->n_bypassed = worker->n_bypassed;
  status->worker_counts = worker->counts;
  memcpy(status->cost_us, worker->cost_us, sizeof(status->cost_us));
  put_backends(status, worker);
  memcpy(status->device, worker->device, sizeof(status->device));
  memcpy(status->backend_note, worker->backend_note, sizeof(status->backend_note));
  memcpy(status->realtime_note, worker->realtime_note, sizeof(status->realtime_note));
}

/// Copy the first warning about fallbacks.
static void
put_fallbacks(EngineStatus* const status, const Fallbacks* const fallbacks)
{
  char* const warnings = fallback_warnings(fallbacks);
  if (warnings) {
    snprintf(status->late_note, sizeof(status->late_note), "%.*s", (int)strcspn(warnings, "\n"),
             warnings);
  }
  free(warnings);
}

void
engine_status(Engine* const engine, EngineStatus* const status)
{
  WorkerStatus worker;
  engine->calls->status(engine_half(engine), &worker);
  pthread_mutex_lock(&engine->pointers_lock);
  *status = (EngineStatus){ .armed = engine->armed,
                            .rate_hz = engine->format.rate_hz,
                            .block_frames = engine->format.block_frames,
                            .depth = engine->config.depth,
                            .n_in = engine->format.n_in,
                            .n_out = engine->facts.n_out,
                            .latency_frames = whole_latency(engine),
                            .rack_latency_frames = engine->facts.rack_latency_frames,
                            .edits_refused = atomic_load(&engine->edits_refused),
                            .counts = all_counts(engine),
                            .worker = WORKER_IN_PROCESS };
  pthread_mutex_unlock(&engine->pointers_lock);
  if (engine->supervisor) {
    engine_fill_supervisor_status(engine, status);
  }
  put_worker(status, &worker);
  put_fallbacks(status, &worker.facts.fallbacks);
}

void
engine_reset_load(Engine* const engine)
{
  engine->calls->reset_load(engine_half(engine));
}
