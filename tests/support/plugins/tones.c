// SPDX-License-Identifier: GPL-3.0-or-later
// Instruments: one tone per key, from the frame at which it is pressed to the one at which it is
// released.

#include "fixture.h"

#include "engine/base/macros.h"

#include <math.h>

#define N_KEYS 128U
#define PI     3.14159265358979323846

typedef struct Tones {
  float velocities[N_KEYS]; ///< 0: not pressed
  uint32_t ages[N_KEYS];    ///< Frames since the key was pressed
} Tones;

enum { NOTES, OUTPUT, LEVEL };

static const FixturePort tone_ports[] = {
  { .kind = FIXTURE_NOTES, .name = "Keys" },
  { .kind = FIXTURE_OUTPUT, .name = "Output" },
  { FIXTURE_CONTROL, "Level", 0.0F, 2.0F, FIXTURE_1, 0 },
};

static const FixturePort midi_ports[] = {
  { .kind = FIXTURE_NOTES, .name = "Keys", .hints = FIXTURE_MIDI },
  { .kind = FIXTURE_OUTPUT, .name = "Output" },
  { FIXTURE_CONTROL, "Level", 0.0F, 2.0F, FIXTURE_1, 0 },
};

/// A frame of all tones that sound: cosines, so that each begins with its velocity.
static float
next_sample(Tones* const tones, const double rate_hz)
{
  float sum = 0.0F;
  for (uint32_t key = 0; key < N_KEYS; ++key) {
    if (tones->velocities[key] > 0.0F) {
      const double hz = 440.0 * pow(2.0, ((double)key - 69.0) / 12.0);
      sum += tones->velocities[key] * (float)cos(2.0 * PI * hz * tones->ages[key]++ / rate_hz);
    }
  }
  return sum;
}

static void
tone_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  Tones* const tones = call->state;
  uint32_t next = 0;
  for (uint32_t f = 0; f < call->n_frames; ++f) {
    for (; next < call->n_notes && call->notes[next].frame <= f; ++next) {
      tones->velocities[call->notes[next].key] = call->notes[next].velocity;
      tones->ages[call->notes[next].key] = 0;
    }
    call->ports[OUTPUT][f] = *call->ports[LEVEL] * next_sample(tones, call->rate_hz);
  }
}

const Fixture fixtures[] = {
  { "tone", tone_ports, ARRAY_LEN(tone_ports), sizeof(Tones), tone_run, NULL },
  { "midi", midi_ports, ARRAY_LEN(midi_ports), sizeof(Tones), tone_run, NULL },
};
const uint32_t n_fixtures = ARRAY_LEN(fixtures);

void
fixture_enter(const FixturePhase phase, const Fixture* const fixture)
{
  (void)phase;
  (void)fixture;
}
