// SPDX-License-Identifier: GPL-3.0-or-later
// Makes LV2 plugins of fixtures, whose descriptions write_turtle.c writes.

#include "tests/support/plugins/fixture.h"

#include <lv2/core/lv2.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_PLUGINS 64U
#define MAX_PORTS   320U
#define URI_BYTES   128U

typedef struct Instance {
  const Fixture* fixture;
  float* ports[MAX_PORTS];
  double rate_hz;
  void* state;
} Instance;

static LV2_Descriptor descriptors[MAX_PLUGINS];
static char uris[MAX_PLUGINS][URI_BYTES];

static LV2_Handle
instantiate(const LV2_Descriptor* const descriptor, const double rate_hz, const char* const folder,
            const LV2_Feature* const* const features)
{
  (void)folder;
  (void)features;
  const Fixture* const fixture = &fixtures[descriptor - descriptors];
  Instance* const instance = calloc(1, sizeof(Instance));
  void* const state = calloc(1, fixture->state_bytes + 1U);
  if (!instance || !state) {
    abort();
  }
  *instance = (Instance){ .fixture = fixture, .rate_hz = rate_hz, .state = state };
  fixture_enter(FIXTURE_INSTANTIATE, fixture);
  return instance;
}

static void
connect_port(const LV2_Handle handle, const uint32_t port, void* const location)
{
  ((Instance*)handle)->ports[port] = location;
}

static FixtureCall
call_of(Instance* const instance, const uint32_t n_frames)
{
  return (FixtureCall){ instance->ports, instance->state, instance->rate_hz, n_frames };
}

static void
activate(const LV2_Handle handle)
{
  Instance* const instance = handle;
  const FixtureCall call = call_of(instance, 0);
  fixture_enter(FIXTURE_ACTIVATE, instance->fixture);
  if (instance->fixture->activate) {
    instance->fixture->activate(&call);
  }
}

static void
run(const LV2_Handle handle, const uint32_t n_frames)
{
  Instance* const instance = handle;
  const FixtureCall call = call_of(instance, n_frames);
  instance->fixture->run(instance->fixture, &call);
}

static void
cleanup(const LV2_Handle handle)
{
  Instance* const instance = handle;
  fixture_enter(FIXTURE_CLEANUP, instance->fixture);
  free(instance->state);
  free(instance);
}

__attribute__((constructor)) static void
construct(void)
{
  fixture_enter(FIXTURE_CONSTRUCTOR, NULL);
}

LV2_SYMBOL_EXPORT const LV2_Descriptor*
lv2_descriptor(const uint32_t index)
{
  fixture_enter(FIXTURE_DESCRIPTOR, NULL);
  if (index >= n_fixtures || index >= MAX_PLUGINS || fixtures[index].n_ports > MAX_PORTS) {
    return NULL;
  }
  snprintf(uris[index], URI_BYTES, FIXTURE_URI "%s", fixtures[index].label);
  descriptors[index] = (LV2_Descriptor){
    .URI = uris[index],
    .instantiate = instantiate,
    .connect_port = connect_port,
    .activate = activate,
    .run = run,
    .cleanup = cleanup,
  };
  return &descriptors[index];
}
