// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The tempo of a MIDI clock: 24 pulses per quarter note, whose frames have jitter.

   The estimate is the median of the spans of twelve pulses in the last 24: a pulse that is early or
   late changes two of thirteen spans, so that it hardly moves the median (the slope of P.-L.
   Sen, Estimates of the regression coefficient based on Kendall's tau, 1968, from pairs at one
   distance).  With pulses that are late by up to 1 ms it is within 0.5 bpm of 120 bpm.

   An interval of nearly twice the usual one, or more, means lost pulses, another tempo or a pause:
   the estimate begins again, and is known after 24 pulses.
*/
#ifndef WARPRACK_CONTROL_MIDI_CLOCK_H
#define WARPRACK_CONTROL_MIDI_CLOCK_H

#include <stdint.h>

#define MIDI_CLOCK_PER_BEAT 24U
#define MIDI_CLOCK_PULSES   (MIDI_CLOCK_PER_BEAT + 1U) // that bound a beat

/// Begins as zeros.
typedef struct MidiClock {
  uint64_t frames[MIDI_CLOCK_PULSES]; ///< [n] of the last pulses, oldest first
  uint32_t n;
} MidiClock;

/// Take a pulse at a frame time.
void midi_clock_pulse(MidiClock* clock, uint64_t frame);

/// Begin again: the clock has started.
void midi_clock_restart(MidiClock* clock);

/// The tempo at a sample rate; 0.0 before 24 intervals.
double midi_clock_bpm(const MidiClock* clock, double rate_hz);

#endif
