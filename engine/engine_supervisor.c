// SPDX-License-Identifier: GPL-3.0-or-later
// The engine's SupervisorHost: exchanges the rings of worker processes while audio runs.

#include "engine_private.h"

#include "engine/base/rt.h"

#include <string.h>

static void
hold(void* const context)
{
  Engine* const engine = context;
  pthread_mutex_lock(&engine->pointers_lock);
}

static void
release(void* const context)
{
  Engine* const engine = context;
  pthread_mutex_unlock(&engine->pointers_lock);
}

/// [pointers_lock held]
static bool
offer(void* const context, Ring* const ring, const ParamMessage* const messages, const uint32_t n)
{
  Engine* const engine = context;
  Period* const period = atomic_load(&engine->period);
  Ring** const place = engine_ring_place(engine);
  // ring_send() comes last, because after another failure the supervisor offers the same ring
  // again.
  if (!period || !place || !ring_send(ring, messages, n)) {
    return false;
  }
  *place = ring;
  engine_drop_ring(engine, period_offer_ring(period, ring));
  engine_set_ring(engine, ring);
  engine->n_sent += n;
  engine->is_lost = false;
  return true;
}

/// [pointers_lock held]
static void
given(void* const context)
{
  Engine* const engine = context;
  engine->is_lost = false;
}

/// [pointers_lock held]
static void
lost(void* const context)
{
  Engine* const engine = context;
  Period* const period = atomic_load(&engine->period);
  engine_set_ring(engine, NULL);
  engine->is_lost = true;
  if (period) {
    // An offered ring has no worker either.
    engine_drop_ring(engine, period_offer_ring(period, NULL));
    period_abandon(period);
  }
}

static bool
pulse(void* const context, SupervisorPulse* const pulse)
{
  Engine* const engine = context;
  pthread_mutex_lock(&engine->pointers_lock);
  Period* const period = atomic_load(&engine->period);
  const Ring* const ring = engine->ring;
  if (period) {
    engine_drop_ring(engine, period_collect_ring(period));
  }
  if (period && ring) {
    const PeriodCounts counts = period_counts(period);
    *pulse = (SupervisorPulse){ .blocks = counts.blocks,
                                .dry = counts.dry,
                                .n_submitted = ring_n_submitted(ring),
                                .n_finished = ring_n_finished(ring),
                                .faults = ring_faults(ring) };
  }
  pthread_mutex_unlock(&engine->pointers_lock);
  return period && ring;
}

static uint64_t
frame_now(void* const context)
{
  return engine_frame_now(context);
}

Status
engine_start_supervisor(Engine* const engine, const WorkerEvents* const events, Error* const error)
{
  const SupervisorHost host = { engine, hold, release, offer, given, lost, pulse, frame_now };
  engine->calls = &supervisor_calls;
  return supervisor_new(&engine->config, events, &host, &engine->supervisor, error);
}

void
engine_fill_supervisor_status(Engine* const engine, EngineStatus* const status)
{
  SupervisorStatus supervisor;
  supervisor_status(engine->supervisor, &supervisor);
  status->worker = supervisor.state;
  status->worker_pid = (int32_t)supervisor.pid;
  status->worker_restarts = supervisor.n_starts;
  status->worker_renewals = supervisor.n_renewals;
  status->quarantined = supervisor.n_quarantined;
  status->nodes_quarantined = supervisor.n_nodes_quarantined;
  memcpy(status->worker_note, supervisor.note, sizeof(status->worker_note));
  memcpy(status->quarantine_note, supervisor.quarantine, sizeof(status->quarantine_note));
}
