// SPDX-License-Identifier: GPL-3.0-or-later
// A single-producer single-consumer queue of frames.  `wanted` and `taken` have the ports in one
// word, with a number that makes each change another word.

#include "listener.h"

#include "engine/base/rt.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define OUTPUT_BIT  (UINT64_C(1) << 31U)
#define PORTS_MASK  UINT64_C(0xFFFFFFFF)
#define NEXT_NUMBER (UINT64_C(1) << 32U)

struct Listener {
  uint32_t capacity;            ///< Frames, a power of two
  float* samples;               ///< [LISTEN_CHANNELS][capacity]
  _Atomic uint64_t wanted;      ///< By the reader
  _Atomic uint64_t taken;       ///< By the callback: `wanted` that it records
  _Atomic uint64_t start;       ///< By the callback: the first frame of `taken`
  _Atomic uint64_t start_frame; ///< By the callback: its frame time
  _Atomic uint64_t head, tail;  ///< Frames recorded, by the callback; taken, by the reader
  _Atomic uint64_t n_lost;      ///< By the callback, since `start`
  PortRange ports;              ///< [rt] Of `taken`
  bool records;                 ///< [rt] In this block
  uint64_t taken_seen;          ///< [reader]
  uint64_t lost_seen;           ///< [reader]
};

static uint64_t
pack(const PortRange* const ports)
{
  return (ports->is_output ? OUTPUT_BIT : 0U) | (uint64_t)ports->first << 8U | ports->n;
}

static PortRange
unpack(const uint64_t word)
{
  return (PortRange){ .is_output = (word & OUTPUT_BIT) != 0U,
                      .first = (uint32_t)(word & (OUTPUT_BIT - 1U)) >> 8U,
                      .n = (uint32_t)word & 0xFFU };
}

Status
listener_new(const uint32_t n_frames, Listener** const out, Error* const error)
{
  Listener* const listener = calloc(1, sizeof(Listener));
  uint32_t capacity = 1;
  while (capacity < n_frames) {
    capacity *= 2U;
  }
  float* const samples = rt_memory((size_t)LISTEN_CHANNELS * capacity * sizeof(float));
  if (!listener || !samples) {
    free(listener);
    free(samples);
    return error_set(error, STATUS_NO_MEM, "no memory for the samples of ports");
  }
  listener->capacity = capacity;
  listener->samples = samples;
  *out = listener;
  return STATUS_OK;
}

void
listener_free(Listener* const listener)
{
  if (listener) {
    free(listener->samples);
    free(listener);
  }
}

void
listener_begin(Listener* const listener, const uint64_t frame, const uint32_t n_frames)
{
  const uint64_t head = atomic_load_explicit(&listener->head, memory_order_relaxed);
  const uint64_t wanted = atomic_load_explicit(&listener->wanted, memory_order_relaxed);
  if (wanted != atomic_load_explicit(&listener->taken, memory_order_relaxed)) {
    listener->ports = unpack(wanted);
    atomic_store_explicit(&listener->start, head, memory_order_relaxed);
    atomic_store_explicit(&listener->start_frame, frame, memory_order_relaxed);
    atomic_store_explicit(&listener->n_lost, 0U, memory_order_relaxed);
    atomic_store_explicit(&listener->taken, wanted, memory_order_release);
  }
  const uint64_t n_waiting = head - atomic_load_explicit(&listener->tail, memory_order_acquire);
  const bool has_room = n_waiting + n_frames <= listener->capacity;
  listener->records = listener->ports.n && has_room;
  if (listener->ports.n && !has_room) {
    atomic_fetch_add_explicit(&listener->n_lost, n_frames, memory_order_relaxed);
  }
}

void
listener_put(Listener* const listener, const bool is_output, const uint32_t channel,
             const float* const samples, const uint32_t n_frames)
{
  const PortRange* const ports = &listener->ports;
  if (!listener->records || is_output != ports->is_output || channel < ports->first ||
      channel - ports->first >= ports->n) {
    return;
  }
  float* const row = listener->samples + (size_t)(channel - ports->first) * listener->capacity;
  const uint64_t head = atomic_load_explicit(&listener->head, memory_order_relaxed);
  const uint32_t at = (uint32_t)(head & (listener->capacity - 1U));
  const uint32_t to_end = listener->capacity - at;
  const uint32_t n_first = n_frames < to_end ? n_frames : to_end;
  memcpy(row + at, samples, n_first * sizeof(float));
  memcpy(row, samples + n_first, (n_frames - n_first) * sizeof(float));
}

void
listener_end(Listener* const listener, const uint32_t n_frames)
{
  if (listener->records) {
    const uint64_t head = atomic_load_explicit(&listener->head, memory_order_relaxed);
    atomic_store_explicit(&listener->head, head + n_frames, memory_order_release);
  }
}

/// Name the ports.  Returns false until the callback has begun with them.
static bool
ask(Listener* const listener, const PortRange* const ports)
{
  const uint64_t wanted = atomic_load_explicit(&listener->wanted, memory_order_relaxed);
  if ((wanted & PORTS_MASK) != pack(ports)) {
    const uint64_t number = (wanted & ~PORTS_MASK) + NEXT_NUMBER;
    atomic_store_explicit(&listener->wanted, number | pack(ports), memory_order_relaxed);
    return false;
  }
  if (atomic_load_explicit(&listener->taken, memory_order_acquire) != wanted) {
    return false;
  }
  if (listener->taken_seen != wanted) {
    listener->taken_seen = wanted;
    const uint64_t start = atomic_load_explicit(&listener->start, memory_order_relaxed);
    atomic_store_explicit(&listener->tail, start, memory_order_release);
    listener->lost_seen = 0;
  }
  return ports->n != 0U;
}

uint32_t
listener_take(Listener* const listener, const PortRange* const ports, float* const samples,
              const uint32_t max_frames, uint64_t* const n_lost)
{
  if (!ask(listener, ports)) {
    return 0;
  }
  const uint64_t lost = atomic_load_explicit(&listener->n_lost, memory_order_relaxed);
  *n_lost += lost - listener->lost_seen;
  listener->lost_seen = lost;
  const uint64_t tail = atomic_load_explicit(&listener->tail, memory_order_relaxed);
  const uint64_t n_waiting = atomic_load_explicit(&listener->head, memory_order_acquire) - tail;
  const uint32_t n = n_waiting < max_frames ? (uint32_t)n_waiting : max_frames;
  for (uint32_t c = 0; c < ports->n; ++c) {
    const float* const row = listener->samples + (size_t)c * listener->capacity;
    for (uint32_t i = 0; i < n; ++i) {
      samples[(size_t)i * ports->n + c] = row[(tail + i) & (listener->capacity - 1U)];
    }
  }
  atomic_store_explicit(&listener->tail, tail + n, memory_order_release);
  return n;
}

uint64_t
listener_start(const Listener* const listener)
{
  return atomic_load_explicit(&listener->start_frame, memory_order_relaxed);
}
