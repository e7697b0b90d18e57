// SPDX-License-Identifier: GPL-3.0-or-later
// Plugins whose samples depend on more than their input and their parameters.

#include "fixture.h"

#include "engine/base/macros.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LARGE_BYTES ((size_t)8U << 20U)

enum { INPUT, OUTPUT, GAIN };

static const FixturePort ports[] = {
  { .kind = FIXTURE_INPUT, .name = "Input" },
  { .kind = FIXTURE_OUTPUT, .name = "Output" },
  { FIXTURE_CONTROL, "Gain", 0.0F, 2.0F, FIXTURE_1, 0 },
};

/// Adds noise that no instance repeats.
static void
random_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    call->ports[OUTPUT][i] = call->ports[INPUT][i] + 0.1F * (float)(rand() / (double)RAND_MAX);
  }
}

/// Leaves out the first frame of each run.
static void
blocks_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    call->ports[OUTPUT][i] = i ? call->ports[INPUT][i] * *call->ports[GAIN] : 0.0F;
  }
}

/// Reaches a new gain at the end of the run.
static void
glides_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  float* const gain = call->state;
  const float step = (*call->ports[GAIN] - *gain) / (float)call->n_frames;
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    call->ports[OUTPUT][i] = call->ports[INPUT][i] * (*gain + step * (float)(i + 1U));
  }
  *gain = *call->ports[GAIN];
}

static void
glides_activate(const FixtureCall* const call)
{
  *(float*)call->state = 1.0F;
}

/// Divides by zero at an end of its range.
static void
divides_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  if (*call->ports[GAIN] == 0.0F) {
    abort();
  }
  for (uint32_t i = 0; i < call->n_frames; ++i) {
    call->ports[OUTPUT][i] = call->ports[INPUT][i] / *call->ports[GAIN];
  }
}

/// Has a large memory, all of it in use.
static void
large_run(const Fixture* const fixture, const FixtureCall* const call)
{
  memset(call->state, 1, fixture->state_bytes);
  memcpy(call->ports[OUTPUT], call->ports[INPUT], call->n_frames * sizeof(float));
}

static const FixturePort masked_ports[] = {
  { .kind = FIXTURE_INPUT, .name = "Input" },
  { .kind = FIXTURE_OUTPUT, .name = "Output" },
  { .kind = FIXTURE_LATENCY, .name = "latency" },
  { FIXTURE_CONTROL, "First on", 0.0F, 0.0F, FIXTURE_0, FIXTURE_TOGGLED },
  { FIXTURE_CONTROL, "Second on", 0.0F, 0.0F, FIXTURE_0, FIXTURE_TOGGLED },
  { FIXTURE_CONTROL, "Third on", 0.0F, 0.0F, FIXTURE_0, FIXTURE_TOGGLED },
  { FIXTURE_CONTROL, "Frames", -0.1F, 100.1F, FIXTURE_100, FIXTURE_INTEGER },
};

/// Has a latency while all switches are on.
static void
masked_run(const Fixture* const fixture, const FixtureCall* const call)
{
  (void)fixture;
  const bool is_on = *call->ports[3] > 0.0F && *call->ports[4] > 0.0F && *call->ports[5] > 0.0F;
  *call->ports[2] = is_on ? *call->ports[6] : 0.0F;
  memcpy(call->ports[OUTPUT], call->ports[INPUT], call->n_frames * sizeof(float));
}

const Fixture fixtures[] = {
  { "random", ports, ARRAY_LEN(ports), 0, random_run, NULL },
  { "blocks", ports, ARRAY_LEN(ports), 0, blocks_run, NULL },
  { "glides", ports, ARRAY_LEN(ports), sizeof(float), glides_run, glides_activate },
  { "large", ports, ARRAY_LEN(ports), LARGE_BYTES, large_run, NULL },
  { "masked", masked_ports, ARRAY_LEN(masked_ports), 0, masked_run, NULL },
  { "divides", ports, ARRAY_LEN(ports), 0, divides_run, NULL },
};
const uint32_t n_fixtures = ARRAY_LEN(fixtures);

void
fixture_enter(const FixturePhase phase, const Fixture* const fixture)
{
  (void)phase;
  (void)fixture;
}
