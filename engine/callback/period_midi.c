// SPDX-License-Identifier: GPL-3.0-or-later
// MIDI in the callback: events to blocks, and to and from the control thread.

#include "period_midi.h"

/// If QUEUED_END is not queued yet, queue it.  If there is no room, a later call tries again.
static void
queue_end(PeriodMidi* const midi)
{
  const QueuedMidi end = { .kind = QUEUED_END };
  if (midi->is_end_due) {
    midi->is_end_due = !midi_queue_put(&midi->received, &end, 1U);
  }
}

/// Pass the next event to the control thread.  `first`: the frame, in the period, of its block.
static void
queue_event(PeriodMidi* const midi, const uint32_t first, const bool is_missed,
            PeriodCounters* const counters)
{
  const MidiEvent* const event = &midi->now->in.events[midi->next];
  const uint32_t frame = event->frame > first ? event->frame : first;
  QueuedMidi queued = { midi->first_frame + frame, *event,
                        is_missed ? QUEUED_MISSED : QUEUED_GIVEN };
  queued.event.frame = 0;
  queue_end(midi);
  midi->is_diverted = midi->is_diverted || (is_missed && midi_event_is_controller(event));
  counter_add(&counters->midi_lost, is_missed);
  counter_add(&counters->midi_unheard, !midi_queue_put(&midi->received, &queued, 1U));
}

/// Take what the control thread has sent.
static void
take_sent(PeriodMidi* const midi)
{
  MidiList* const out = &midi->now->out;
  QueuedMidi sent;
  while (out->n < MIDI_MAX_EVENTS && midi_queue_take(&midi->sent, &sent, 1U)) {
    out->events[out->n++] = sent.event;
  }
}

void
period_midi_begin(PeriodMidi* const midi, const uint64_t frame, PeriodCounters* const counters)
{
  midi->next = 0;
  midi->first_frame = frame;
  if (!midi->now) {
    return;
  }
  counter_add(&counters->midi_events, midi->now->in.n);
  counter_add(&counters->midi_lost, midi->now->n_lost);
  counter_add(&counters->midi_skipped, midi->now->n_skipped);
  counter_add(&counters->midi_unsent, midi->now->n_unsent);
  midi->now->n_unsent = 0;
  atomic_store_explicit(&midi->has_out, true, memory_order_relaxed);
  take_sent(midi);
}

/// End the diversion if the control thread has taken and set all events before.  Acquire: their
/// values are in the ring, so the worker receives them before it runs the next event.
static void
end_diversion(PeriodMidi* const midi)
{
  queue_end(midi);
  if (midi->is_diverted && !midi->is_over && !midi->is_end_due) {
    midi->is_diverted = atomic_load_explicit(&midi->n_set, memory_order_acquire) !=
                        midi_queue_n_put(&midi->received);
  }
}

uint32_t
period_midi_give(PeriodMidi* const midi, const uint32_t first, const uint32_t n_frames,
                 MidiEvent* const to, const uint32_t max, PeriodCounters* const counters)
{
  uint32_t n = 0;
  if (!midi->now) {
    return 0;
  }
  end_diversion(midi);
  const MidiList* const in = &midi->now->in;
  for (; midi->next < in->n && in->events[midi->next].frame < first + n_frames; ++midi->next) {
    const MidiEvent* const event = &in->events[midi->next];
    const bool is_missed =
        !to || n == max || (midi->is_diverted && midi_event_is_controller(event));
    queue_event(midi, first, is_missed, counters);
    if (!is_missed) {
      to[n] = *event;
      to[n++].frame = event->frame > first ? event->frame - first : 0U;
    }
  }
  return n;
}

void
period_midi_end_ring(PeriodMidi* const midi)
{
  if (!midi->is_over) {
    period_midi_change_ring(midi);
    midi->is_over = true;
  }
}

void
period_midi_change_ring(PeriodMidi* const midi)
{
  midi->is_over = false;
  midi->is_diverted = midi->is_end_due = true;
  queue_end(midi);
}

void
period_midi_end(PeriodMidi* const midi, PeriodCounters* const counters)
{
  if (midi->now) {
    for (; midi->next < midi->now->in.n; ++midi->next) {
      queue_event(midi, 0U, true, counters);
    }
    midi->now = NULL;
  }
}
