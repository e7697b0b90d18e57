// SPDX-License-Identifier: GPL-3.0-or-later
// What a runner in another process needs of the engine: its rings come and go while audio runs.

#include "engine_private.h"
#include "rt.h"

#include <stdio.h>
#include <string.h>

static void
hold(void* const context)
{
  Engine* const engine = context;
  pthread_mutex_lock(&engine->pointers);
}

static void
release(void* const context)
{
  Engine* const engine = context;
  pthread_mutex_unlock(&engine->pointers);
}

/// [pointers held]
static bool
offer(void* const context, Ring* const ring, const ParamMessage* const messages, const uint32_t n)
{
  Engine* const engine = context;
  Period* const period = atomic_load(&engine->period);
  Ring** const place = engine_ring_place(engine);
  if (!period || !place || !ring_send(ring, messages, n)) { // sent last: it may be offered again
    return false;
  }
  *place = ring;
  engine_drop_ring(engine, period_offer_ring(period, ring));
  engine->ring = ring;
  engine->n_sent += n;
  engine->is_lost = false;
  return true;
}

/// [pointers held]
static void
given(void* const context)
{
  Engine* const engine = context;
  engine->is_lost = false;
}

/// [pointers held]
static void
lost(void* const context)
{
  Engine* const engine = context;
  Period* const period = atomic_load(&engine->period);
  engine->ring = NULL;
  engine->is_lost = true;
  if (period) {
    engine_drop_ring(engine, period_offer_ring(period, NULL)); // nobody is behind that one, too
    period_abandon(period);
  }
}

static bool
pulse(void* const context, RemotePulse* const pulse)
{
  Engine* const engine = context;
  pthread_mutex_lock(&engine->pointers);
  Period* const period = atomic_load(&engine->period);
  const Ring* const ring = engine->ring;
  if (period) {
    engine_drop_ring(engine, period_collect_ring(period));
  }
  if (period && ring) {
    const PeriodCounts counts = period_counts(period);
    *pulse = (RemotePulse){ .blocks = counts.blocks,
                            .dry = counts.dry,
                            .n_submitted = ring_n_submitted(ring),
                            .n_finished = ring_n_finished(ring),
                            .faults = ring_faults(ring) };
  }
  pthread_mutex_unlock(&engine->pointers);
  return period && ring;
}

static uint64_t
frame_now(void* const context)
{
  return engine_frame_now(context);
}

Status
engine_start_remote(Engine* const engine, const RunnerEvents* const events, Error* const error)
{
  const RemoteHost host = { engine, hold, release, offer, given, lost, pulse, frame_now };
  const Status status = remote_new(&engine->config, events, &host, &engine->remote, error);
  engine->calls = &remote_calls;
  engine->runner = engine->remote;
  return status;
}

void
engine_tell_remote(const Engine* const engine, EngineStatus* const status)
{
  RemoteStatus remote;
  remote_status(engine->remote, &remote);
  snprintf(status->worker, sizeof(status->worker), "%s", remote.state);
  status->worker_pid = (int32_t)remote.pid;
  status->worker_restarts = remote.n_starts;
  status->quarantined = remote.n_quarantined;
  memcpy(status->worker_note, remote.note, sizeof(status->worker_note));
  memcpy(status->quarantine_note, remote.quarantine, sizeof(status->quarantine_note));
}
