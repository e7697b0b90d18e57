// SPDX-License-Identifier: GPL-3.0-or-later
#include "tempo_source.h"

#include "control_private.h"
#include "tempo.h"

#include "engine/base/time.h"

#define JACK_INTERVAL_NS (50U * NS_PER_MS) // in which the program polls the driver

void
tempo_pulse(Control* const control, const QueuedMidi* const came)
{
  MidiClock* const clock = &control->clock;
  if (!midi_event_is_realtime(&came->event)) {
    return;
  }
  if (came->event.bytes[0] == MIDI_CLOCK) {
    midi_clock_pulse(clock, came->frame);
  } else if (came->event.bytes[0] == MIDI_START || came->event.bytes[0] == MIDI_CONTINUE) {
    midi_clock_restart(clock);
  }
}

static bool
follows(const Control* const control, const RackTempoSource source)
{
  return editor_rack(control->editor)->tempo.source == source;
}

/// The tempo of JACK; 0.0 if it is not the time for another look.
static double
jack_bpm(Control* const control)
{
  ControlAudio audio = { .transport_bpm = 0.0 };
  if (control->now_ns >= control->next_tempo_ns) {
    control->config.audio(control->config.context, &audio);
    control->next_tempo_ns = control->now_ns + JACK_INTERVAL_NS;
  }
  return audio.transport_bpm;
}

void
tempo_follow(Control* const control)
{
  double bpm = 0.0;
  if (follows(control, RACK_TEMPO_JACK)) {
    bpm = jack_bpm(control);
  } else if (follows(control, RACK_TEMPO_MIDI)) {
    bpm = midi_clock_bpm(&control->clock, control->engine.rate_hz);
  }
  if (tempo_differs(bpm, editor_rack(control->editor)->tempo.bpm)) {
    (void)editor_follow_tempo(control->editor, bpm); // or the next time
  }
}

uint64_t
tempo_wake_ns(const Control* const control)
{
  return follows(control, RACK_TEMPO_JACK) ? control->next_tempo_ns : UINT64_MAX;
}
