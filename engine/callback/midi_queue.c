// SPDX-License-Identifier: GPL-3.0-or-later
// The bounded queue of ring.c, in one process.

#include "midi_queue.h"

static QueuedMidi*
event_at(MidiQueue* const queue, const uint64_t index)
{
  return &queue->events[index & (MIDI_QUEUE_EVENTS - 1U)];
}

bool
midi_queue_put(MidiQueue* const queue, const QueuedMidi* const events, const uint32_t n)
{
  const uint64_t n_put = atomic_load_explicit(&queue->n_put, memory_order_relaxed);
  const uint64_t n_taken = atomic_load_explicit(&queue->n_taken, memory_order_acquire);
  if (n > MIDI_QUEUE_EVENTS - (n_put - n_taken)) {
    return false;
  }
  for (uint32_t i = 0; i < n; ++i) {
    *event_at(queue, n_put + i) = events[i];
  }
  atomic_store_explicit(&queue->n_put, n_put + n, memory_order_release);
  return true;
}

uint32_t
midi_queue_take(MidiQueue* const queue, QueuedMidi* const events, const uint32_t max)
{
  const uint64_t n_taken = atomic_load_explicit(&queue->n_taken, memory_order_relaxed);
  const uint64_t n_waiting = atomic_load_explicit(&queue->n_put, memory_order_acquire) - n_taken;
  const uint32_t n = n_waiting < max ? (uint32_t)n_waiting : max;
  for (uint32_t i = 0; i < n; ++i) {
    events[i] = *event_at(queue, n_taken + i);
  }
  atomic_store_explicit(&queue->n_taken, n_taken + n, memory_order_release);
  return n;
}

uint64_t
midi_queue_n_put(const MidiQueue* const queue)
{
  return atomic_load_explicit(&queue->n_put, memory_order_relaxed);
}

uint64_t
midi_queue_n_taken(const MidiQueue* const queue)
{
  return atomic_load_explicit(&queue->n_taken, memory_order_relaxed);
}
