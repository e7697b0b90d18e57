// SPDX-License-Identifier: GPL-3.0-or-later
// Plugins that keep the rules: every kind of port, latency, state.

#include "fixture.h"

#include "engine/base/macros.h"

#include <math.h>

#define DELAY_FRAMES 64U   // of `delay`
#define MAX_FRAMES   1024U // of `moving`, a power of two

// clang-format off
#define INPUT(text)  { .kind = FIXTURE_INPUT, .name = text }
#define OUTPUT(text) { .kind = FIXTURE_OUTPUT, .name = text }
#define LATENCY      { .kind = FIXTURE_LATENCY, .name = "latency" }
#define CONTROL(text, min, max, initial, hints) { FIXTURE_CONTROL, text, min, max, initial, hints }
// clang-format on

// ---- gain ----

static const FixturePort gain_ports[] = {
  INPUT("Input"),
  OUTPUT("Output"),
  CONTROL("Gain (dB)", -60.0F, 24.0F, FIXTURE_0, 0),
};

static void
gain_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  const float gain = powf(10.0F, *call->ports[2] / 20.0F);
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    call->ports[1][i] = call->ports[0][i] * gain;
  }
}

// ---- delay, moving: latency ----

typedef struct Line {
  float frames[MAX_FRAMES];
  uint32_t at;
} Line;

static void
delay_by(const FixtureCall* const call, const uint32_t n_frames)
{
  Line* const line = call->state;
  for (uint32_t i = 0; i < call->n_frames; ++i, ++line->at) {
    line->frames[line->at % MAX_FRAMES] = call->ports[0][i];
    call->ports[1][i] = line->frames[(line->at - n_frames) % MAX_FRAMES];
  }
  *call->ports[2] = (float)n_frames;
}

static const FixturePort delay_ports[] = { INPUT("Input"), OUTPUT("Output"), LATENCY };

static void
delay_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  delay_by(call, DELAY_FRAMES);
}

static const FixturePort moving_ports[] = {
  INPUT("Input"),
  OUTPUT("Output"),
  LATENCY,
  CONTROL("Frames", -0.1F, 1000.1F, FIXTURE_100, FIXTURE_INTEGER),
};

static void
moving_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  delay_by(call, (uint32_t)lrintf(*call->ports[3]));
}

// ---- ducker: a side chain ----

static const FixturePort ducker_ports[] = {
  INPUT("Input"),
  { .kind = FIXTURE_SIDECHAIN, .name = "Sidechain" },
  OUTPUT("Output"),
  CONTROL("Depth (%)", 0.0F, 100.0F, FIXTURE_100, 0),
  { .kind = FIXTURE_METER, .name = "Reduction (%)" },
};

static void
ducker_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  float most = 0.0F;
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    const float reduction = fminf(fabsf(call->ports[1][i]), 1.0F) * *call->ports[3] / 100.0F;
    call->ports[2][i] = call->ports[0][i] * (1.0F - reduction);
    most = fmaxf(most, reduction);
  }
  *call->ports[4] = 100.0F * most;
}

// ---- three_to_two: channels ----

static const FixturePort three_to_two_ports[] = {
  OUTPUT("Out L"), INPUT("In L"), INPUT("In R"), INPUT("In C"), OUTPUT("Out R"),
};

static void
three_to_two_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    const float half = 0.5F * call->ports[3][i];
    call->ports[0][i] = call->ports[1][i] + half;
    call->ports[4][i] = call->ports[2][i] + half;
  }
}

// ---- lowpass: a frequency, a switch, a whole number ----

static const FixturePort lowpass_ports[] = {
  INPUT("Input"),
  OUTPUT("Output"),
  CONTROL("Cutoff [Hz]", 0.0001F, 0.45F, FIXTURE_440, FIXTURE_RATE | FIXTURE_LOGARITHMIC),
  CONTROL("Invert", 0.0F, 0.0F, FIXTURE_0, FIXTURE_TOGGLED),
  CONTROL("Poles", 0.9F, 4.1F, FIXTURE_MAXIMUM, FIXTURE_INTEGER),
};

static void
lowpass_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  float* const poles = call->state;
  const double step = 1.0 - exp(-2.0 * M_PI * *call->ports[2] / call->rate_hz);
  const uint32_t n_poles = (uint32_t)lrintf(*call->ports[4]);
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    float sample = call->ports[0][i];
    for (uint32_t p = 0; p < n_poles; ++p) {
      poles[p] += (float)step * (sample - poles[p]);
      sample = poles[p];
    }
    call->ports[1][i] = *call->ports[3] > 0.0F ? -sample : sample;
  }
}

// ---- defaults, controls: frame n of the output is the value of control n ----

#define DEFAULTS(kind, min, max, hints)                                                            \
  CONTROL(kind " minimum", min, max, FIXTURE_MINIMUM, hints),                                      \
      CONTROL(kind " low", min, max, FIXTURE_LOW, hints),                                          \
      CONTROL(kind " middle", min, max, FIXTURE_MIDDLE, hints),                                    \
      CONTROL(kind " high", min, max, FIXTURE_HIGH, hints),                                        \
      CONTROL(kind " maximum", min, max, FIXTURE_MAXIMUM, hints)

static const FixturePort default_ports[] = {
  OUTPUT("Output"),
  DEFAULTS("Linear", 10.0F, 1000.0F, 0),
  DEFAULTS("Logarithmic", 10.0F, 1000.0F, FIXTURE_LOGARITHMIC),
  DEFAULTS("Integer", 0.9F, 8.1F, FIXTURE_INTEGER),
  DEFAULTS("Rate", 0.001F, 0.1F, FIXTURE_RATE),
  DEFAULTS("Small", 0.1F, 0.7F, 0),
  CONTROL("Zero", -1.0F, 1000.0F, FIXTURE_0, 0),
  CONTROL("One", -1.0F, 1000.0F, FIXTURE_1, 0),
  CONTROL("Hundred", -1.0F, 1000.0F, FIXTURE_100, 0),
  CONTROL("Concert pitch", -1.0F, 1000.0F, FIXTURE_440, 0),
  CONTROL("On", 0.0F, 0.0F, FIXTURE_1, FIXTURE_TOGGLED),
};

#define TEN(n)                                                                                     \
  VALUE(n##0), VALUE(n##1), VALUE(n##2), VALUE(n##3), VALUE(n##4), VALUE(n##5), VALUE(n##6),       \
      VALUE(n##7), VALUE(n##8), VALUE(n##9)
#define HUNDRED(n)                                                                                 \
  TEN(n##0), TEN(n##1), TEN(n##2), TEN(n##3), TEN(n##4), TEN(n##5), TEN(n##6), TEN(n##7),          \
      TEN(n##8), TEN(n##9)
#define VALUE(n) CONTROL("Value " #n, 0.0F, 1.0F, FIXTURE_HIGH, 0)

static const FixturePort controls_ports[] = { OUTPUT("Output"), HUNDRED(1), HUNDRED(2),
                                              HUNDRED(3) };

static void
controls_run(const Fixture* const fixture, const FixtureCall* const call)
{
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    call->ports[0][i] = *call->ports[1U + i % (fixture->n_ports - 1U)];
  }
}

// ---- held: reads a control when it is activated, and only then ----

static const FixturePort held_ports[] = {
  INPUT("Input"),
  OUTPUT("Output"),
  CONTROL("Level", 0.0F, 1.0F, FIXTURE_MAXIMUM, 0),
};

static void
held_activate(const FixtureCall* const call)
{
  *(float*)call->state = *call->ports[2];
}

static void
held_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    call->ports[1][i] = call->ports[0][i] * *(const float*)call->state;
  }
}

// ---- the table ----

#define FIXTURE(label, table, state, function)                                                     \
  {                                                                                                \
    label, table, ARRAY_LEN(table), state, function, NULL                                          \
  }

const Fixture fixtures[] = {
  FIXTURE("gain", gain_ports, 0, gain_run),
  FIXTURE("delay", delay_ports, sizeof(Line), delay_run),
  FIXTURE("moving", moving_ports, sizeof(Line), moving_run),
  FIXTURE("ducker", ducker_ports, 0, ducker_run),
  FIXTURE("three_to_two", three_to_two_ports, 0, three_to_two_run),
  FIXTURE("lowpass", lowpass_ports, 4U * sizeof(float), lowpass_run),
  FIXTURE("defaults", default_ports, 0, controls_run),
  FIXTURE("controls", controls_ports, 0, controls_run),
  { "held", held_ports, ARRAY_LEN(held_ports), sizeof(float), held_run, held_activate },
};
const uint32_t n_fixtures = ARRAY_LEN(fixtures);

void
fixture_enter(const FixturePhase phase, const Fixture* const fixture)
{
  (void)phase;
  (void)fixture;
}
