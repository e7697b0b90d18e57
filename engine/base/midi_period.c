// SPDX-License-Identifier: GPL-3.0-or-later
// The MIDI of one period.

#include "midi_period.h"

#define ACTIVE_SENSING 0xFEU

void
midi_period_begin(MidiPeriod* const midi)
{
  midi->in.n = midi->out.n = 0;
  midi->n_lost = midi->n_skipped = 0;
}

bool
midi_period_add(MidiPeriod* const midi, const uint32_t frame, const uint8_t* const bytes,
                const size_t n_bytes)
{
  MidiEvent event = { .frame = frame, .n_bytes = (uint8_t)n_bytes };
  for (size_t b = 0; n_bytes <= MIDI_EVENT_BYTES && b < n_bytes; ++b) {
    event.bytes[b] = bytes[b];
  }
  const bool is_event = n_bytes && n_bytes <= MIDI_EVENT_BYTES &&
                        (midi_event_is_realtime(&event) || midi_event_is_channel(&event));
  if (!is_event) {
    ++midi->n_skipped;
    return true;
  }
  if (event.bytes[0] == ACTIVE_SENSING) {
    return true;
  }
  if (midi->in.n == MIDI_MAX_EVENTS) {
    return false;
  }
  midi->in.events[midi->in.n++] = event;
  return true;
}
