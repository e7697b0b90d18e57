// SPDX-License-Identifier: GPL-3.0-or-later

#include "instance.h"

#include <stdbool.h>
#include <stdlib.h>

typedef struct Instance {
  const Fixture* fixture;
  float* ports[FIXTURE_MAX_PORTS];
  double rate_hz;
  void* state;
} Instance;

__attribute__((constructor)) static void
construct(void)
{
  fixture_enter(FIXTURE_CONSTRUCTOR, NULL);
}

const Fixture*
fixture_at(const unsigned long index)
{
  fixture_enter(FIXTURE_DESCRIPTOR, NULL);
  const bool is_there = index < n_fixtures && index < FIXTURE_MAX_PLUGINS &&
                        fixtures[index].n_ports <= FIXTURE_MAX_PORTS;
  return is_there ? &fixtures[index] : NULL;
}

void*
fixture_instantiate(const Fixture* const fixture, const double rate_hz)
{
  Instance* const instance = calloc(1, sizeof(Instance));
  void* const state = calloc(1, fixture->state_bytes + 1U);
  if (!instance || !state) {
    abort();
  }
  *instance = (Instance){ .fixture = fixture, .rate_hz = rate_hz, .state = state };
  fixture_enter(FIXTURE_INSTANTIATE, fixture);
  return instance;
}

void
fixture_connect(void* const instance, const uint32_t port, void* const location)
{
  ((Instance*)instance)->ports[port] = location;
}

static FixtureCall
call_of(Instance* const instance, const uint32_t n_frames)
{
  return (FixtureCall){ instance->ports, instance->state, instance->rate_hz, n_frames, NULL, 0 };
}

void
fixture_activate(void* const instance)
{
  const Fixture* const fixture = ((Instance*)instance)->fixture;
  const FixtureCall call = call_of(instance, 0);
  fixture_enter(FIXTURE_ACTIVATE, fixture);
  if (fixture->activate) {
    fixture->activate(&call);
  }
}

void*
fixture_notes_port(void* const instance)
{
  const Instance* const each = instance;
  for (uint32_t p = 0; p < each->fixture->n_ports; ++p) {
    if (each->fixture->ports[p].kind == FIXTURE_NOTES) {
      return each->ports[p];
    }
  }
  return NULL;
}

void
fixture_run_notes(void* const instance, const uint32_t n_frames, const FixtureNote* const notes,
                  const uint32_t n_notes)
{
  const Fixture* const fixture = ((Instance*)instance)->fixture;
  FixtureCall call = call_of(instance, n_frames);
  call.notes = notes;
  call.n_notes = n_notes;
  fixture->run(fixture, &call);
}

void
fixture_run(void* const instance, const uint32_t n_frames)
{
  fixture_run_notes(instance, n_frames, NULL, 0U);
}

void
fixture_cleanup(void* const instance)
{
  Instance* const each = instance;
  fixture_enter(FIXTURE_CLEANUP, each->fixture);
  free(each->state);
  free(each);
}
