// SPDX-License-Identifier: GPL-3.0-or-later
// The engine's period and the rings of its blocks: published and withdrawn, their clock, the facts
// of the rack that the period needs, its ports and fades.

#include "engine_private.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#define DOOR_POLL_US 100U

// ---- clock ----

uint64_t
engine_clock_frame(const Engine* const engine)
{
  const Period* const period = atomic_load_explicit(&engine->period, memory_order_acquire);
  return period ? period_next_frame(period)
                : atomic_load_explicit(&engine->next_frame, memory_order_relaxed);
}

uint64_t
engine_frame_now(Engine* const engine)
{
  pthread_mutex_lock(&engine->pointers_lock);
  const uint64_t frame = engine_clock_frame(engine);
  pthread_mutex_unlock(&engine->pointers_lock);
  return frame;
}

uint64_t
engine_frame_at(Engine* const engine, const uint64_t monotonic_ns)
{
  pthread_mutex_lock(&engine->pointers_lock);
  const Period* const period = atomic_load(&engine->period);
  const uint64_t frame =
      period ? period_frame_at(period, monotonic_ns) : engine_clock_frame(engine);
  pthread_mutex_unlock(&engine->pointers_lock);
  return frame;
}

// ---- rings ----

#define MOST_LEFT 16384U // more reports than a ring holds; a faulty worker may write without an end

Ring**
engine_ring_place(Engine* const engine)
{
  for (uint32_t r = 0; r < ENGINE_MAX_RINGS; ++r) {
    if (!engine->rings[r]) {
      return &engine->rings[r];
    }
  }
  return NULL;
}

void
engine_drop_ring(Engine* const engine, Ring* const ring)
{
  for (uint32_t r = 0; ring && r < ENGINE_MAX_RINGS; ++r) {
    if (engine->rings[r] == ring) {
      engine->rings[r] = NULL;
      ring_free(ring);
    }
  }
}

void
engine_keep_reports(Engine* const engine, Ring* const ring)
{
  RingReport left;
  for (uint32_t r = 0; r < MOST_LEFT && ring_take_report(ring, &left); ++r) {
    if (engine->n_kept < ENGINE_MAX_KEPT && left.kind < RING_N_REPORT_KINDS) {
      engine->kept[engine->n_kept++] = (KeptReport){ left, engine->n_rings };
    } else {
      ++engine->n_unkept;
    }
  }
  engine->n_unkept += ring_reports_lost(ring);
  engine->unkept_ring = engine->n_rings;
}

void
engine_set_ring(Engine* const engine, Ring* const ring)
{
  if (engine->ring && ring != engine->ring) {
    engine_keep_reports(engine, engine->ring);
  }
  engine->n_rings += ring && ring != engine->ring;
  engine->ring = ring;
}

// ---- published and withdrawn ----

/// Pass the plan's latency and fallbacks to a period. [pointers_lock held]
static void
update_period(const Engine* const engine, Period* const period)
{
  period_set_latency(period, engine->facts.rack_latency_frames);
  period_set_fallbacks(period, engine->facts.fallbacks.of, engine->facts.fallbacks.n);
}

void
engine_publish(Engine* const engine, const WorkerStart* const start, Period* const period)
{
  pthread_mutex_lock(&engine->pointers_lock);
  engine->format = start->format;
  if (period) {
    engine->rings[0] = start->ring; // disarm() has cleared all entries
    engine_set_ring(engine, engine->is_lost ? NULL : start->ring);
    if (engine->is_lost) {
      period_abandon(period); // the worker was lost meanwhile
    }
    update_period(engine, period);
    atomic_store(&engine->process_out, start->format.n_out);
    atomic_store(&engine->period, period);
    period_door_open(&engine->door, PERIOD_DOOR_ENGINE);
  }
  pthread_mutex_unlock(&engine->pointers_lock);
}

void
engine_withdraw_period(Engine* const engine)
{
  Period* const period = atomic_load(&engine->period);
  if (period) {
    period_door_shut(&engine->door, PERIOD_DOOR_ENGINE);
    while (period_door_is_occupied(&engine->door)) {
      usleep(DOOR_POLL_US);
    }
    pthread_mutex_lock(&engine->pointers_lock);
    atomic_store(&engine->period, NULL);
    atomic_store(&engine->next_frame, period_next_frame(period)); // final: the door is shut
    period_forget_midi(period);
    listener_free(engine->ended_take);
    engine->ended_take = period_take_listener(period, LISTEN_TAKE);
    const PeriodCounts counts = period_counts(period);
    counters_add(period_counters, N_PERIOD_COUNTERS, engine->past.of, counts.of);
    pthread_mutex_unlock(&engine->pointers_lock);
    period_free(period);
  }
}

void
engine_take_facts(Engine* const engine, const WorkerFacts* const facts)
{
  pthread_mutex_lock(&engine->pointers_lock);
  if (facts->serial >= engine->facts.serial) {
    engine->facts = *facts;
    Period* const period = atomic_load(&engine->period);
    if (period) {
      update_period(engine, period);
    }
  }
  pthread_mutex_unlock(&engine->pointers_lock);
}

// ---- ports ----

PeriodPort
engine_port(Engine* const engine, const bool is_output, const uint32_t channel)
{
  pthread_mutex_lock(&engine->pointers_lock);
  const Period* const period = atomic_load(&engine->period);
  const PeriodPort port = period ? period_port(period, is_output, channel) : (PeriodPort){ 0 };
  pthread_mutex_unlock(&engine->pointers_lock);
  return port;
}

bool
engine_levels(Engine* const engine, PortLevels* const levels)
{
  pthread_mutex_lock(&engine->pointers_lock);
  Period* const period = atomic_load(&engine->period);
  const bool has_levels = period && period_levels(period, levels);
  pthread_mutex_unlock(&engine->pointers_lock);
  return has_levels;
}

/// Read what a listener has recorded before audio ended.  Returns 0 if that is read. [pointers_lock
/// held]
static uint32_t
read_ended(Engine* const engine, const PortRange* const ports, float* const samples,
           const uint32_t max_frames, uint64_t* const n_lost)
{
  const uint32_t n = engine->ended_take
                         ? listener_take(engine->ended_take, ports, samples, max_frames, n_lost)
                         : 0U;
  if (!n) {
    listener_free(engine->ended_take);
    engine->ended_take = NULL;
  }
  return n;
}

uint32_t
engine_listen(Engine* const engine, const uint32_t listener, const PortRange* const ports,
              float* const samples, const uint32_t max_frames, double* const rate_hz,
              uint64_t* const n_lost)
{
  pthread_mutex_lock(&engine->pointers_lock);
  Period* const period = atomic_load(&engine->period);
  uint32_t n =
      listener == LISTEN_TAKE ? read_ended(engine, ports, samples, max_frames, n_lost) : 0U;
  if (!n && period) {
    n = period_listen(period, listener, ports, samples, max_frames, n_lost);
  }
  *rate_hz = engine->format.rate_hz;
  pthread_mutex_unlock(&engine->pointers_lock);
  return n;
}

uint64_t
engine_listen_start(Engine* const engine, const uint32_t listener)
{
  pthread_mutex_lock(&engine->pointers_lock);
  const Period* const period = atomic_load(&engine->period);
  const uint64_t frame = listener == LISTEN_TAKE && engine->ended_take
                             ? listener_start(engine->ended_take)
                         : period ? period_listen_start(period, listener)
                                  : 0U;
  pthread_mutex_unlock(&engine->pointers_lock);
  return frame;
}

uint32_t
engine_dry_spans(Engine* const engine, uint64_t* const from, DrySpan to[const DRY_SPANS])
{
  return dry_spans_read(engine->dry_spans, from, to);
}

/// What a worker has measured, as valid numbers.
static NodeTap
checked_tap(const RingLevel* const level)
{
  const bool is_valid = isfinite(level->peak) && level->peak >= 0.0F && level->energy >= 0.0 &&
                        isfinite(level->reduction_db) && level->reduction_db >= 0.0F;
  return is_valid
             ? (NodeTap){ { level->peak, level->energy }, level->n_samples, level->reduction_db }
             : (NodeTap){ 0 };
}

bool
engine_tap(Engine* const engine, const uint32_t tap, const RackUid uid, NodeTap* const level)
{
  RingLevel measured = { 0 };
  pthread_mutex_lock(&engine->pointers_lock);
  const bool has_level = engine->ring && ring_tap(engine->ring, tap, uid, &measured);
  pthread_mutex_unlock(&engine->pointers_lock);
  *level = checked_tap(&measured);
  return has_level && level->n_samples;
}

/// Take reports that are left of a previous ring.
static EngineReports
take_kept(Engine* const engine, RingReport* const reports, const uint32_t max)
{
  const uint64_t ring = engine->n_kept ? engine->kept[0].ring : engine->unkept_ring;
  uint32_t n = 0;
  for (; n < max && n < engine->n_kept && engine->kept[n].ring == ring; ++n) {
    reports[n] = engine->kept[n].report;
  }
  engine->n_kept -= n;
  memmove(engine->kept, engine->kept + n, engine->n_kept * sizeof(KeptReport));
  const uint64_t n_lost = engine->n_kept ? 0U : engine->n_unkept; // after the last that was kept
  engine->n_unkept -= n_lost;
  return (EngineReports){ .n = n, .n_lost = n_lost, .ring = ring };
}

EngineReports
engine_reports(Engine* const engine, RingReport* const reports, const uint32_t max)
{
  EngineReports taken = { 0 };
  pthread_mutex_lock(&engine->pointers_lock);
  if (engine->n_kept || engine->n_unkept) {
    taken = take_kept(engine, reports, max);
    pthread_mutex_unlock(&engine->pointers_lock);
    return taken;
  }
  Ring* const ring = engine->ring;
  for (uint32_t r = 0; ring && r < max && ring_take_report(ring, &reports[taken.n]); ++r) {
    const bool is_valid = reports[taken.n].kind < RING_N_REPORT_KINDS;
    taken.n += is_valid;
    taken.n_lost += !is_valid;
  }
  taken.n_lost += ring ? ring_reports_lost(ring) : 0U;
  taken.ring = ring ? engine->n_rings : 0U;
  pthread_mutex_unlock(&engine->pointers_lock);
  return taken;
}

// ---- MIDI ----

bool
engine_has_midi(Engine* const engine)
{
  pthread_mutex_lock(&engine->pointers_lock);
  const Period* const period = atomic_load(&engine->period);
  const bool has_midi = period && period_has_midi(period);
  pthread_mutex_unlock(&engine->pointers_lock);
  return has_midi;
}

uint32_t
engine_take_midi(Engine* const engine, QueuedMidi* const came, const uint32_t max)
{
  pthread_mutex_lock(&engine->pointers_lock);
  Period* const period = atomic_load(&engine->period);
  const uint32_t n = period ? period_take_midi(period, came, max) : 0U;
  pthread_mutex_unlock(&engine->pointers_lock);
  return n;
}

void
engine_return_midi(Engine* const engine, const uint64_t n_lost)
{
  pthread_mutex_lock(&engine->pointers_lock);
  Period* const period = atomic_load(&engine->period);
  if (period) {
    period_return_midi(period, n_lost);
  }
  pthread_mutex_unlock(&engine->pointers_lock);
}

bool
engine_send_midi(Engine* const engine, const MidiEvent* const events, const uint32_t n)
{
  pthread_mutex_lock(&engine->pointers_lock);
  Period* const period = atomic_load(&engine->period);
  const bool is_sent = period && period_send_midi(period, events, n);
  pthread_mutex_unlock(&engine->pointers_lock);
  return is_sent;
}

// ---- fading out and in ----

void
engine_fade(Engine* const engine, const bool to_silence)
{
  pthread_mutex_lock(&engine->pointers_lock);
  engine->is_faded = to_silence;
  Period* const period = atomic_load(&engine->period);
  if (period) {
    period_fade(period, to_silence);
  }
  pthread_mutex_unlock(&engine->pointers_lock);
}

bool
engine_is_silent(Engine* const engine)
{
  pthread_mutex_lock(&engine->pointers_lock);
  const Period* const period = atomic_load(&engine->period);
  const bool silent = !period || period_is_silent(period);
  pthread_mutex_unlock(&engine->pointers_lock);
  return silent;
}
