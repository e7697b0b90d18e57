// SPDX-License-Identifier: GPL-3.0-or-later
// Makes LADSPA plugins of fixtures.

#include "tests/support/plugins/instance.h"

#include <ladspa.h>

/// A descriptor and what it points to.
typedef struct Description {
  LADSPA_Descriptor ladspa;
  LADSPA_PortDescriptor kinds[FIXTURE_MAX_PORTS];
  const char* names[FIXTURE_MAX_PORTS];
  LADSPA_PortRangeHint hints[FIXTURE_MAX_PORTS];
} Description;

static Description descriptions[FIXTURE_MAX_PLUGINS];

const LADSPA_Descriptor* ladspa_descriptor(unsigned long index);

static LADSPA_Handle
instantiate(const LADSPA_Descriptor* const ladspa, const unsigned long rate_hz)
{
  return fixture_instantiate(ladspa->ImplementationData, (double)rate_hz);
}

static void
connect_port(const LADSPA_Handle handle, const unsigned long port, LADSPA_Data* const location)
{
  fixture_connect(handle, (uint32_t)port, location);
}

static void
run(const LADSPA_Handle handle, const unsigned long n_frames)
{
  fixture_run(handle, (uint32_t)n_frames);
}

static LADSPA_PortDescriptor
kind_of(const FixturePort* const port)
{
  static const LADSPA_PortDescriptor kinds[] = {
    [FIXTURE_INPUT] = LADSPA_PORT_INPUT | LADSPA_PORT_AUDIO,
    [FIXTURE_OUTPUT] = LADSPA_PORT_OUTPUT | LADSPA_PORT_AUDIO,
    [FIXTURE_SIDECHAIN] = LADSPA_PORT_INPUT | LADSPA_PORT_AUDIO,
    [FIXTURE_CONTROL] = LADSPA_PORT_INPUT | LADSPA_PORT_CONTROL,
    [FIXTURE_LATENCY] = LADSPA_PORT_OUTPUT | LADSPA_PORT_CONTROL,
    [FIXTURE_METER] = LADSPA_PORT_OUTPUT | LADSPA_PORT_CONTROL,
  };
  return kinds[port->kind];
}

static LADSPA_PortRangeHint
hint_of(const FixturePort* const port)
{
  static const int defaults[] = {
    [FIXTURE_MINIMUM] = LADSPA_HINT_DEFAULT_MINIMUM,
    [FIXTURE_LOW] = LADSPA_HINT_DEFAULT_LOW,
    [FIXTURE_MIDDLE] = LADSPA_HINT_DEFAULT_MIDDLE,
    [FIXTURE_HIGH] = LADSPA_HINT_DEFAULT_HIGH,
    [FIXTURE_MAXIMUM] = LADSPA_HINT_DEFAULT_MAXIMUM,
    [FIXTURE_0] = LADSPA_HINT_DEFAULT_0,
    [FIXTURE_1] = LADSPA_HINT_DEFAULT_1,
    [FIXTURE_100] = LADSPA_HINT_DEFAULT_100,
    [FIXTURE_440] = LADSPA_HINT_DEFAULT_440,
  };
  LADSPA_PortRangeHint hint = { 0, port->min, port->max };
  if (port->kind == FIXTURE_CONTROL) {
    hint.HintDescriptor = defaults[port->initial];
    hint.HintDescriptor |= port->hints & FIXTURE_TOGGLED
                               ? LADSPA_HINT_TOGGLED
                               : LADSPA_HINT_BOUNDED_BELOW | LADSPA_HINT_BOUNDED_ABOVE;
    hint.HintDescriptor |= port->hints & FIXTURE_INTEGER ? LADSPA_HINT_INTEGER : 0;
    hint.HintDescriptor |= port->hints & FIXTURE_LOGARITHMIC ? LADSPA_HINT_LOGARITHMIC : 0;
    hint.HintDescriptor |= port->hints & FIXTURE_RATE ? LADSPA_HINT_SAMPLE_RATE : 0;
  }
  return hint;
}

static void
describe(Description* const description, const Fixture* const fixture)
{
  for (uint32_t p = 0; p < fixture->n_ports; ++p) {
    description->kinds[p] = kind_of(&fixture->ports[p]);
    description->names[p] = fixture->ports[p].name;
    description->hints[p] = hint_of(&fixture->ports[p]);
  }
  description->ladspa = (LADSPA_Descriptor){
    .Label = fixture->label,
    .Name = fixture->label,
    .Maker = "warprack",
    .Copyright = "GPL-3.0-or-later",
    .PortCount = fixture->n_ports,
    .PortDescriptors = description->kinds,
    .PortNames = description->names,
    .PortRangeHints = description->hints,
    .ImplementationData = (void*)(uintptr_t)fixture,
    .instantiate = instantiate,
    .connect_port = connect_port,
    .activate = fixture_activate,
    .run = run,
    .cleanup = fixture_cleanup,
  };
}

const LADSPA_Descriptor*
ladspa_descriptor(const unsigned long index)
{
  const Fixture* const fixture = fixture_at(index);
  if (!fixture) {
    return NULL;
  }
  if (!descriptions[index].ladspa.Label) { // instances of it may run
    describe(&descriptions[index], fixture);
  }
  return &descriptions[index].ladspa;
}
