// SPDX-License-Identifier: GPL-3.0-or-later
#include "midi_clock.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SPAN      12U // pulses: half a beat
#define N_SPANS   (MIDI_CLOCK_PULSES - SPAN)
#define MEDIAN    6U   // of the spans
#define MAX_RATIO 1.75 // of an interval to the usual one; a lost pulse makes 2

static int
compare(const void* const a, const void* const b)
{
  const uint64_t x = *(const uint64_t*)a;
  const uint64_t y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

/// The frames between two pulses; 0.0 before 24 intervals.
static double
interval(const MidiClock* const clock)
{
  uint64_t spans[N_SPANS];
  if (clock->n < MIDI_CLOCK_PULSES) {
    return 0.0;
  }
  for (uint32_t s = 0; s < N_SPANS; ++s) {
    spans[s] = clock->frames[s + SPAN] - clock->frames[s];
  }
  qsort(spans, N_SPANS, sizeof(spans[0]), compare);
  return (double)spans[MEDIAN] / SPAN;
}

/// True if a pulse does not follow the last one as the others do.
static bool
is_apart(const MidiClock* const clock, const uint64_t frame)
{
  const uint64_t last = clock->n ? clock->frames[clock->n - 1U] : 0U;
  const double usual = interval(clock);
  return frame < last || (usual > 0.0 && (double)(frame - last) > MAX_RATIO * usual);
}

void
midi_clock_pulse(MidiClock* const clock, const uint64_t frame)
{
  if (is_apart(clock, frame)) {
    midi_clock_restart(clock);
  }
  if (clock->n == MIDI_CLOCK_PULSES) {
    memmove(clock->frames, clock->frames + 1, (MIDI_CLOCK_PULSES - 1U) * sizeof(uint64_t));
    --clock->n;
  }
  clock->frames[clock->n++] = frame;
}

void
midi_clock_restart(MidiClock* const clock)
{
  clock->n = 0;
}

double
midi_clock_bpm(const MidiClock* const clock, const double rate_hz)
{
  const double frames = interval(clock);
  return frames > 0.0 ? 60.0 * rate_hz / (MIDI_CLOCK_PER_BEAT * frames) : 0.0;
}
