// SPDX-License-Identifier: GPL-3.0-or-later
// Functions that other threads call while the callback runs.

#include "period_state.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define SAME_LEVEL     1.122F // 1 dB
#define LISTEN_SECONDS 0.5    // that a listener may be late

void
period_set_latency(Period* const period, const uint32_t rack_latency_frames)
{
  const uint32_t most = period->config.max_latency_frames;
  atomic_store_explicit(&period->rack_latency_frames,
                        rack_latency_frames < most ? rack_latency_frames : most,
                        memory_order_relaxed);
}

uint64_t
period_pack_fallback(const uint64_t version, const Fallback* const fallback)
{
  uint32_t level = 0;
  memcpy(&level, &fallback->level, sizeof(level));
  return version << 33U | (fallback->follows ? PERIOD_FOLLOWS : 0U) | level;
}

/// True if an output must restart with the fallback `next`.  A following level continues if the
/// initial level has changed by at most 1 dB.
static bool
is_news(const Fallback* const now, const Fallback* const next)
{
  if (now->follows != next->follows) {
    return true;
  }
  return next->follows
             ? next->level > SAME_LEVEL * now->level || now->level > SAME_LEVEL * next->level
             : next->level != now->level;
}

void
period_set_fallbacks(Period* const period, const Fallback* const fallbacks, const uint32_t n)
{
  for (uint32_t c = 0; c < n && c < period->shape.n_out; ++c) {
    PeriodFallback* const fallback = &period->fallbacks[c];
    if (is_news(&fallback->set, &fallbacks[c])) {
      const uint64_t before = atomic_load_explicit(&fallback->wanted, memory_order_relaxed);
      fallback->set = fallbacks[c];
      atomic_store_explicit(&fallback->wanted,
                            period_pack_fallback((before >> 33U) + 1U, &fallbacks[c]),
                            memory_order_relaxed);
    }
  }
}

void
period_fade(Period* const period, const bool to_silence)
{
  atomic_store_explicit(&period->fade_to_silence, to_silence, memory_order_relaxed);
}

bool
period_is_silent(const Period* const period)
{
  return atomic_load_explicit(&period->is_silent, memory_order_acquire);
}

void
period_clock(const Period* const period, uint64_t* const next_frame, uint64_t* const began_ns)
{
  uint32_t before = 0;
  uint32_t after = 0;
  do {
    before = atomic_load_explicit(&period->clock_version, memory_order_acquire);
    *next_frame = atomic_load_explicit(&period->clock_frame, memory_order_acquire);
    *began_ns = atomic_load_explicit(&period->clock_ns, memory_order_acquire);
    after = atomic_load_explicit(&period->clock_version, memory_order_relaxed);
  } while (before != after || before % 2U);
}

uint64_t
period_next_frame(const Period* const period)
{
  uint64_t frame = 0;
  uint64_t began_ns = 0;
  period_clock(period, &frame, &began_ns);
  return frame;
}

uint64_t
period_frame_at(const Period* const period, const uint64_t monotonic_ns)
{
  uint64_t frame = 0;
  uint64_t began_ns = 0;
  period_clock(period, &frame, &began_ns);
  const double ahead = ((double)monotonic_ns - (double)began_ns) * 1e-9 * period->config.rate_hz;
  return frame + (ahead > 0.0 ? (uint64_t)llrint(ahead) : 0U);
}

static uint64_t
read_counter(const _Atomic uint64_t* const counter)
{
  return atomic_load_explicit(counter, memory_order_relaxed);
}

PeriodCounts
period_counts(const Period* const period)
{
  PeriodCounts counts;
  counters_read(period->counters.of, N_PERIOD_COUNTERS, counts.of);
  return counts;
}

PeriodPort
period_port(const Period* const period, const bool is_output, const uint32_t channel)
{
  if (channel >= (is_output ? period->shape.n_out : period->shape.n_in)) {
    return (PeriodPort){ 0 };
  }
  const PeriodPortCounters* const port = period_port_counters(period, is_output, channel);
  const uint32_t n_steps = is_output ? feedback_steps(period->feedback, channel) : 0;
  return (PeriodPort){ .bad = read_counter(&port->bad),
                       .denormal = read_counter(&port->denormal),
                       .clipped = read_counter(&port->clipped),
                       .attenuation_db = n_steps * FEEDBACK_STEP_DB,
                       .is_muted = n_steps == FEEDBACK_MUTE };
}

bool
period_levels(Period* const period, PortLevels* const to)
{
  return levels_collect(period->levels, to);
}

uint32_t
period_listen(Period* const period, const uint32_t listener, const PortRange* const ports,
              float* const samples, const uint32_t max_frames, uint64_t* const n_lost)
{
  const double frames = LISTEN_SECONDS * period->config.rate_hz + FX_MAX_BLOCK;
  for (uint32_t l = 0; l <= listener; ++l) { // the callback stops at the first NULL
    Listener* made = atomic_load_explicit(&period->listeners[l], memory_order_relaxed);
    if (!made && ports->n && listener_new((uint32_t)frames, &made, NULL) == STATUS_OK) {
      atomic_store_explicit(&period->listeners[l], made, memory_order_release);
    }
    if (!made) {
      return 0;
    }
  }
  return listener_take(atomic_load_explicit(&period->listeners[listener], memory_order_relaxed),
                       ports, samples, max_frames, n_lost);
}

uint64_t
period_listen_start(const Period* const period, const uint32_t listener)
{
  const Listener* const made =
      atomic_load_explicit(&period->listeners[listener], memory_order_relaxed);
  return made ? listener_start(made) : 0U;
}

Listener*
period_take_listener(Period* const period, const uint32_t listener)
{
  return atomic_exchange_explicit(&period->listeners[listener], NULL, memory_order_acquire);
}

// ---- MIDI ----

bool
period_has_midi(const Period* const period)
{
  return atomic_load_explicit(&period->midi->has_out, memory_order_relaxed);
}

uint32_t
period_take_midi(Period* const period, QueuedMidi* const came, const uint32_t max)
{
  return midi_queue_take(&period->midi->received, came, max);
}

void
period_return_midi(Period* const period, const uint64_t n_lost)
{
  PeriodMidi* const midi = period->midi;
  counter_add(&period->counters.midi_lost, n_lost);
  // Release: the callback, and after it the worker, finds the values in the ring.
  atomic_store_explicit(&midi->n_set, midi_queue_n_taken(&midi->received), memory_order_release);
}

void
period_forget_midi(Period* const period)
{
  QueuedMidi came;
  while (midi_queue_take(&period->midi->received, &came, 1U)) {
    counter_add(&period->counters.midi_unheard, came.kind != QUEUED_END);
  }
}

bool
period_send_midi(Period* const period, const MidiEvent* const events, const uint32_t n)
{
  QueuedMidi sent[MIDI_MAX_EVENTS];
  if (n > MIDI_MAX_EVENTS || !period_has_midi(period)) {
    return false;
  }
  for (uint32_t e = 0; e < n; ++e) {
    sent[e] = (QueuedMidi){ 0U, events[e], QUEUED_GIVEN };
  }
  return midi_queue_put(&period->midi->sent, sent, n);
}

// ---- rings ----

Ring*
period_offer_ring(Period* const period, Ring* const ring)
{
  assert(!ring || !memcmp(ring_shape(ring), &period->shape, sizeof(RingShape)));
  PeriodExchange* const exchange = &period->exchange;
  pthread_mutex_lock(&exchange->mutex);
  Ring* const untaken = atomic_exchange_explicit(&exchange->offered, ring, memory_order_acq_rel);
  if (!untaken) {
    exchange->before = exchange->newest;
  }
  exchange->newest = ring ? ring : exchange->before;
  pthread_mutex_unlock(&exchange->mutex);
  return untaken;
}

Ring*
period_collect_ring(Period* const period)
{
  PeriodExchange* const exchange = &period->exchange;
  // Without the lock, period_abandon() could use the ring after its owner has freed it.
  pthread_mutex_lock(&exchange->mutex);
  Ring* const left = atomic_exchange_explicit(&exchange->left, NULL, memory_order_acq_rel);
  pthread_mutex_unlock(&exchange->mutex);
  return left;
}

void
period_abandon(Period* const period)
{
  PeriodExchange* const exchange = &period->exchange;
  pthread_mutex_lock(&exchange->mutex);
  const bool is_offer_open = atomic_load_explicit(&exchange->offered, memory_order_acquire);
  ring_abandon(is_offer_open ? exchange->before : exchange->newest);
  pthread_mutex_unlock(&exchange->mutex);
}
