// SPDX-License-Identifier: GPL-3.0-or-later
// The life of an engine: created, armed for a format, processing, disarmed, freed.

#include "engine.h"

#include "engine_private.h"

#include "engine/base/memory.h"
#include "engine/base/rt.h"
#include "engine/plan/plan.h"
#include "engine/worker/fallback_choose.h"

#include <stdlib.h>

#define RING_SLOTS    8U
#define RING_MESSAGES 4096U

// ---- arming ----

/// [arming_lock held]
static void
disarm(Engine* const engine)
{
  engine_withdraw_period(engine);
  pthread_mutex_lock(&engine->pointers_lock);
  Ring* const left = engine->ring;
  engine_set_ring(engine, NULL); // no more messages to the ring
  pthread_mutex_unlock(&engine->pointers_lock);
  engine->calls->disarm(engine_half(engine));
  pthread_mutex_lock(&engine->pointers_lock);
  if (left) {
    engine_keep_reports(engine, left); // of the messages that were still in the ring
  }
  for (uint32_t r = 0; r < ENGINE_MAX_RINGS; ++r) {
    engine_drop_ring(engine, engine->rings[r]);
  }
  pthread_mutex_unlock(&engine->pointers_lock);
  engine->armed = false;
}

void
engine_disarm(Engine* const engine)
{
  pthread_mutex_lock(&engine->arming_lock);
  disarm(engine);
  pthread_mutex_unlock(&engine->arming_lock);
}

static Status
make_ring(const Format* const format, Ring** const ring, Error* const error)
{
  const RingShape shape = { .n_in = format->n_in,
                            .n_out = format->n_out,
                            .block_frames = format->block_frames,
                            .n_slots = RING_SLOTS,
                            .n_messages = RING_MESSAGES,
                            .n_midi = MIDI_MAX_EVENTS };
  return ring_new(&shape, ring, error);
}

static Status
make_period(const Engine* const engine, const Format* const format, Ring* const ring,
            Period** const period, Error* const error)
{
  const PeriodConfig config = { .ring = ring,
                                .rate_hz = format->rate_hz,
                                .first_frame = atomic_load(&engine->next_frame),
                                .depth = engine->config.depth,
                                .deadline_fraction = engine->config.deadline_fraction,
                                .fallback = fallback_before(engine->config.on_late),
                                .ceiling_lin = engine->config.ceiling_lin,
                                .max_latency_frames =
                                    (uint32_t)(LATENCY_LIMIT_SECONDS * format->rate_hz),
                                .is_silent = engine->is_faded,
                                .dry_spans = engine->dry_spans };
  return period_new(&config, period, error);
}

/// Arm the worker, and publish the period on success.  Offline, `ring` and `period` are NULL.
static Status
begin(Engine* const engine, const Format* const format, Ring* const ring, Period* const period,
      Error* const error)
{
  const WorkerStart start = { .format = *format,
                              .ring = ring,
                              .first_frame = atomic_load(&engine->next_frame),
                              .n_sent = engine->n_sent, // no ring: `arming_lock` guards it
                              .plays_on = engine->past.blocks > 0U };
  WorkerFacts facts = { 0 };
  const Status status = engine->calls->arm(engine_half(engine), &start, &facts, error);
  engine_take_facts(engine, &facts);
  if (!status) {
    engine_publish(engine, &start, period);
    engine->armed = true;
  }
  return status;
}

static Status
begin_live(Engine* const engine, const Format* const format, Error* const error)
{
  Ring* ring = NULL;
  Period* period = NULL;
  Status status = make_ring(format, &ring, error);
  status = status ? status : make_period(engine, format, ring, &period, error);
  status = status ? status : begin(engine, format, ring, period, error);
  if (status) {
    period_free(period);
    ring_free(ring);
  }
  return status;
}

Status
engine_arm(Engine* const engine, const double rate_hz, const uint32_t block_frames,
           const uint32_t n_in, const uint32_t n_out, Error* const error)
{
  const Format format = { .rate_hz = rate_hz,
                          .block_frames = block_frames,
                          .n_in = n_in,
                          .n_out = n_out ? n_out : engine->config.n_out,
                          .offline = engine->config.offline };
  Status status = format_check(&format, error);
  if (status) {
    return status;
  }
  pthread_mutex_lock(&engine->arming_lock);
  disarm(engine);
  status = format.offline ? begin(engine, &format, NULL, NULL, error)
                          : begin_live(engine, &format, error);
  pthread_mutex_unlock(&engine->arming_lock);
  return status;
}

// ---- made and freed ----

static void
on_changed(void* const context, const WorkerFacts* const facts)
{
  engine_take_facts(context, facts);
}

static Status
start_worker(Engine* const engine, const WorkerEvents* const events, Error* const error)
{
  engine->calls = &worker_calls;
  return worker_new(&engine->config, events, &engine->worker, error);
}

Status
engine_new(const EngineConfig* const config, Engine** const out, Error* const error)
{
  Engine* const engine = calloc(1, sizeof(Engine));
  if (!engine) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  engine->kept = calloc(ENGINE_MAX_KEPT, sizeof(KeptReport));
  engine->dry_spans = rt_memory(sizeof(DrySpans));
  if (!engine->kept || !engine->dry_spans) {
    free(engine->kept);
    free(engine->dry_spans);
    free(engine);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  engine->config = *config;
  engine->config.memory_bytes = config->memory_bytes ? config->memory_bytes : memory_share();
  atomic_init(&engine->process_out, config->n_out);
  period_door_shut(&engine->door, PERIOD_DOOR_ENGINE);
  pthread_mutex_init(&engine->arming_lock, NULL);
  pthread_mutex_init(&engine->pointers_lock, NULL);
  const WorkerEvents events = { engine, engine_replied, on_changed, engine_saved, NULL };
  const Status status = config->worker_argv ? engine_start_supervisor(engine, &events, error)
                                            : start_worker(engine, &events, error);
  if (status) {
    engine_free(engine);
    return status;
  }
  *out = engine;
  return STATUS_OK;
}

/// An engine that is not freed, because a hanging thread of the driver may still use its door.
/// This pointer keeps leak checkers from reporting it; it is volatile, because the compiler removes
/// a variable that nothing reads.
static Engine* volatile kept;

void
engine_free(Engine* const engine)
{
  if (!engine) {
    return;
  }
  if (engine_half(engine)) {
    engine_disarm(engine);
    engine->calls->free(engine_half(engine));
  }
  free(engine->kept);
  free(engine->dry_spans);
  listener_free(engine->ended_take);
  pthread_mutex_destroy(&engine->pointers_lock);
  pthread_mutex_destroy(&engine->arming_lock);
  if (period_door_is_kept(&engine->door)) {
    kept = engine;
  } else {
    free(engine);
  }
}

// ---- processing ----

static void
process_offline(Engine* const engine, const float* const* const in, float* const* const out,
                const uint32_t n_frames)
{
  atomic_fetch_add(&engine->next_frame, n_frames);
  worker_process(engine->worker, in, out, n_frames, &engine->past);
}

PeriodDoor*
engine_door(Engine* const engine)
{
  return &engine->door;
}

void
engine_run(void* const engine, const float* const* const in, float* const* const out,
           const uint32_t n_frames, const bool wait, MidiPeriod* const midi)
{
  Period* const period = atomic_load(&((Engine*)engine)->period);
  period_set_midi(period, midi);
  period_run(period, in, out, n_frames, wait);
}

void
engine_process(Engine* const engine, const float* const* const in, float* const* const out,
               const uint32_t n_frames, const bool wait)
{
  if (engine->config.offline) {
    process_offline(engine, in, out, n_frames);
    return;
  }
  const PeriodCall call = {
    .in = in,
    .out = out,
    .n_out = atomic_load_explicit(&engine->process_out, memory_order_relaxed),
    .n_frames = n_frames,
    .wait = wait,
  };
  period_door_pass(&engine->door, &call, engine_run, engine);
}

// ---- offline ----

Status
engine_finish_pass(Engine* const engine, bool* const again, Error* const error)
{
  const Status status = worker_finish_pass(engine->worker, again, error);
  if (*again) {
    atomic_store(&engine->next_frame, 0U);
  }
  return status;
}

Status
engine_replay(Engine* const engine, const ParamMessage* const message, const uint64_t number,
              Error* const error)
{
  return worker_replay(engine->worker, message, number, error);
}

Status
engine_replay_edit(Engine* const engine, const Rack* const rack, const EngineReplay* const how,
                   Error* const error)
{
  return worker_replay_edit(engine->worker, rack, how->stamp, how->planned, how->is_first_plan,
                            error);
}

Status
engine_failure(Engine* const engine, Error* const error)
{
  return engine->worker ? worker_failure(engine->worker, error) : STATUS_OK;
}
