// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Plugins for tests.  A source here, such as effects.c, defines a table of fixtures; a folder per
   plugin format has the wrapper that makes a plugin of each, such as ladspa/as_ladspa.c.  The build
   makes one library of each pair.
*/
#ifndef WARPRACK_TESTS_FIXTURE_H
#define WARPRACK_TESTS_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

typedef enum FixtureKind {
  FIXTURE_INPUT,
  FIXTURE_OUTPUT,
  FIXTURE_SIDECHAIN,
  FIXTURE_CONTROL,
  FIXTURE_LATENCY, ///< An output: the latency in frames
  FIXTURE_METER,   ///< Any other output
  FIXTURE_NOTES    ///< An input; not of LADSPA plugins
} FixtureKind;

enum {
  FIXTURE_INTEGER = 1U << 0U,
  FIXTURE_TOGGLED = 1U << 1U,
  FIXTURE_LOGARITHMIC = 1U << 2U,
  FIXTURE_RATE = 1U << 3U, ///< The bounds are multiples of the sample rate
  FIXTURE_MIDI = 1U << 4U  ///< NOTES of a CLAP plugin: it takes MIDI only
};

/// The defaults that LADSPA knows.
typedef enum FixtureDefault {
  FIXTURE_MINIMUM,
  FIXTURE_LOW,
  FIXTURE_MIDDLE,
  FIXTURE_HIGH,
  FIXTURE_MAXIMUM,
  FIXTURE_0,
  FIXTURE_1,
  FIXTURE_100,
  FIXTURE_440
} FixtureDefault;

typedef struct FixturePort {
  FixtureKind kind;
  const char* name;
  float min, max; ///< CONTROL
  FixtureDefault initial;
  unsigned hints;
} FixturePort;

/// The moments at which a fixture can misbehave, beside run().
typedef enum FixturePhase {
  FIXTURE_CONSTRUCTOR, ///< The library is loaded
  FIXTURE_DESCRIPTOR,  ///< The plugins are listed
  FIXTURE_INSTANTIATE,
  FIXTURE_ACTIVATE,
  FIXTURE_CLEANUP
} FixturePhase;

/// A key is pressed or released.
typedef struct FixtureNote {
  uint32_t frame, key;
  float velocity; ///< 0: released
} FixtureNote;

/// One call of run().
typedef struct FixtureCall {
  float* const* ports; ///< [n_ports] as they are connected
  void* state;         ///< As the last call left it
  double rate_hz;
  uint32_t n_frames;
  const FixtureNote* notes; ///< [n_notes] in order of their frames
  uint32_t n_notes;
} FixtureCall;

typedef struct Fixture {
  const char* label;
  const FixturePort* ports;
  uint32_t n_ports;
  size_t state_bytes; ///< Zeros in a new instance, which stay when it is activated again
  void (*run)(const struct Fixture* fixture, const FixtureCall* call);
  void (*activate)(const FixtureCall* call); ///< May be NULL; n_frames is 0
} Fixture;

extern const Fixture fixtures[];
extern const uint32_t n_fixtures;

/// The number of a control's default.
static inline float
fixture_initial(const FixturePort* const port)
{
  const float numbers[] = {
    [FIXTURE_MINIMUM] = port->min,
    [FIXTURE_LOW] = 0.75F * port->min + 0.25F * port->max,
    [FIXTURE_MIDDLE] = 0.5F * port->min + 0.5F * port->max,
    [FIXTURE_HIGH] = 0.25F * port->min + 0.75F * port->max,
    [FIXTURE_MAXIMUM] = port->max,
    [FIXTURE_0] = 0.0F,
    [FIXTURE_1] = 1.0F,
    [FIXTURE_100] = 100.0F,
    [FIXTURE_440] = 440.0F,
  };
  return numbers[port->initial];
}

/// Called at every phase; `fixture` is NULL in those of the library.
void fixture_enter(FixturePhase phase, const Fixture* fixture);

#endif
