// SPDX-License-Identifier: GPL-3.0-or-later
// MIDI in the callback: events to blocks, and to and from the control thread.

#include "period_midi.h"

/// Pass the next event to the control thread.
static void
tell(PeriodMidi* const midi, const bool is_missed, PeriodCounters* const counters)
{
  const MidiEvent* const event = &midi->now->in.events[midi->next];
  MidiHeard heard = { midi->first_frame + event->frame, *event, is_missed };
  heard.event.frame = 0;
  counter_add(&counters->midi_lost, is_missed);
  counter_add(&counters->midi_unheard, !midi_queue_put(&midi->heard, &heard, 1U));
}

/// Take what the control thread has sent.
static void
take_sent(PeriodMidi* const midi)
{
  MidiList* const out = &midi->now->out;
  MidiHeard sent;
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

uint32_t
period_midi_give(PeriodMidi* const midi, const uint32_t first, const uint32_t n_frames,
                 MidiEvent* const to, const uint32_t max, PeriodCounters* const counters)
{
  uint32_t n = 0;
  if (!midi->now) {
    return 0;
  }
  const MidiList* const in = &midi->now->in;
  for (; midi->next < in->n && in->events[midi->next].frame < first + n_frames; ++midi->next) {
    const bool is_missed = !to || n == max;
    tell(midi, is_missed, counters);
    if (is_missed) {
      continue;
    }
    const uint32_t frame = in->events[midi->next].frame;
    to[n] = in->events[midi->next];
    to[n++].frame = frame > first ? frame - first : 0U;
  }
  return n;
}

void
period_midi_gave(PeriodMidi* const midi, const uint64_t sequence, const uint64_t frame,
                 const uint32_t n)
{
  midi->given[sequence & (PERIOD_MIDI_BLOCKS - 1U)] = (GivenMidi){ sequence, frame, n };
}

void
period_midi_lose(PeriodMidi* const midi, const uint64_t first, PeriodCounters* const counters)
{
  MidiHeard lost = { .frame = UINT64_MAX, .is_missed = true };
  uint32_t n = 0;
  for (uint32_t b = 0; b < PERIOD_MIDI_BLOCKS; ++b) {
    GivenMidi* const given = &midi->given[b];
    if (given->n && given->sequence >= first) {
      n += given->n;
      lost.frame = given->frame < lost.frame ? given->frame : lost.frame;
    }
    given->n = 0U;
  }
  if (n) {
    counter_add(&counters->midi_lost, n);
    counter_add(&counters->midi_unheard, !midi_queue_put(&midi->heard, &lost, 1U));
  }
}

void
period_midi_end(PeriodMidi* const midi, PeriodCounters* const counters)
{
  if (midi->now) {
    for (; midi->next < midi->now->in.n; ++midi->next) {
      tell(midi, true, counters);
    }
    midi->now = NULL;
  }
}
