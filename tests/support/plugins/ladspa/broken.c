// SPDX-License-Identifier: GPL-3.0-or-later
// LADSPA plugins whose descriptions are broken or unusual, each in its own way.

#include "engine/base/macros.h"

#include <ladspa.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COPIES 2000U // more than a library may have

#define IN      (LADSPA_PORT_INPUT | LADSPA_PORT_AUDIO)
#define OUT     (LADSPA_PORT_OUTPUT | LADSPA_PORT_AUDIO)
#define CONTROL (LADSPA_PORT_INPUT | LADSPA_PORT_CONTROL)
#define BOUNDS  (LADSPA_HINT_BOUNDED_BELOW | LADSPA_HINT_BOUNDED_ABOVE)

const LADSPA_Descriptor* ladspa_descriptor(unsigned long index);

static LADSPA_Handle
instantiate(const LADSPA_Descriptor* const ladspa, const unsigned long rate_hz)
{
  (void)ladspa;
  (void)rate_hz;
  return NULL;
}

static void
connect_port(const LADSPA_Handle handle, const unsigned long port, LADSPA_Data* const location)
{
  (void)handle;
  (void)port;
  (void)location;
}

static void
run(const LADSPA_Handle handle, const unsigned long n_frames)
{
  (void)handle;
  (void)n_frames;
}

#define FUNCTIONS .instantiate = instantiate, .connect_port = connect_port, .run = run

static const LADSPA_PortDescriptor audio[] = { IN, OUT };
static const char* const audio_names[] = { "Input", "Output" };
static const LADSPA_PortRangeHint audio_hints[2];
#define AUDIO                                                                                      \
  .PortCount = 2, .PortDescriptors = audio, .PortNames = audio_names, .PortRangeHints = audio_hints

// Names.
static const LADSPA_PortDescriptor named[] = { IN, OUT, CONTROL, CONTROL, CONTROL, CONTROL };
static const char* const names[] = {
  NULL, "", "Gain\xFF (dB)", "Gain (dB)", "Gain (dB)", "\xC3\xA9"
};
static const LADSPA_PortRangeHint name_hints[ARRAY_LEN(named)];

// Units.
static const LADSPA_PortDescriptor measured[] = {
  OUT,     CONTROL, CONTROL, CONTROL, CONTROL, CONTROL, CONTROL, CONTROL,
  CONTROL, CONTROL, CONTROL, CONTROL, CONTROL, CONTROL, CONTROL,
};
static const char* const measured_names[] = {
  "Output",  "A (dB)",  "B [hz]",  "C (ms)",      "D (Seconds)", "E [s]", "F (%)",   "G (deg)",
  "H (BPM)", "I (1:n)", "J in dB", "K (ms) left", "L (dB]",      "dB)",   "M (ms )",
};

// Bounds.
static const LADSPA_PortDescriptor bounded[] = {
  OUT, CONTROL, CONTROL, CONTROL, CONTROL, CONTROL, CONTROL, CONTROL, CONTROL, CONTROL, CONTROL,
};
static const char* const bound_names[] = {
  "Output",   "NaN",  "Infinite", "Inverted",   "Outside", "Neither",
  "No upper", "Part", "Negative", "Ninth (Hz)", "Unknown",
};
static const LADSPA_PortRangeHint bounds[] = {
  { 0, 0.0F, 0.0F },
  { BOUNDS | LADSPA_HINT_DEFAULT_MIDDLE, NAN, NAN },
  { BOUNDS | LADSPA_HINT_DEFAULT_MAXIMUM, -INFINITY, INFINITY },
  { BOUNDS | LADSPA_HINT_DEFAULT_LOW, 8.0F, 4.0F },
  { BOUNDS | LADSPA_HINT_DEFAULT_440, 0.0F, 10.0F },
  { 0, 0.0F, 0.0F },
  { LADSPA_HINT_BOUNDED_BELOW | LADSPA_HINT_DEFAULT_MAXIMUM, 0.0F, 5.0F },
  { BOUNDS | LADSPA_HINT_INTEGER | LADSPA_HINT_DEFAULT_MINIMUM, 0.2F, 0.8F },
  { BOUNDS | LADSPA_HINT_LOGARITHMIC | LADSPA_HINT_DEFAULT_MIDDLE, -10.0F, 20.0F },
  { LADSPA_HINT_BOUNDED_BELOW, 30000.0F, 0.0F },
  { BOUNDS | LADSPA_HINT_DEFAULT_MASK, 2.0F, 3.0F },
};

static const LADSPA_PortDescriptor both_ways[] = { IN | OUT };
static const LADSPA_PortDescriptor no_kind[] = { LADSPA_PORT_INPUT };

static char endless[2000]; // a name

static const LADSPA_Descriptor plugins[] = {
  { .Label = "names",
    .PortCount = ARRAY_LEN(named),
    .PortDescriptors = named,
    .PortNames = names,
    .PortRangeHints = name_hints,
    FUNCTIONS },
  { .Label = "bounds",
    .Name = "Bounds\n",
    .Maker = endless,
    .PortCount = ARRAY_LEN(bounded),
    .PortDescriptors = bounded,
    .PortNames = bound_names,
    .PortRangeHints = bounds,
    FUNCTIONS },
  { .Label = "units",
    .PortCount = ARRAY_LEN(measured),
    .PortDescriptors = measured,
    .PortNames = measured_names,
    FUNCTIONS },
  { .Label = "bare", .PortCount = 2, .PortDescriptors = audio, FUNCTIONS },
  { .Label = "names", AUDIO, FUNCTIONS },
  { .Label = "no_ports", FUNCTIONS },
  { .Label = "many_ports", .PortCount = 1000000, .PortDescriptors = audio, FUNCTIONS },
  { .Label = "no_descriptors", .PortCount = 2, FUNCTIONS },
  { .Label = "both_ways", .PortCount = 1, .PortDescriptors = both_ways, FUNCTIONS },
  { .Label = "no_kind", .PortCount = 1, .PortDescriptors = no_kind, FUNCTIONS },
  { .Label = "no_run", AUDIO, .instantiate = instantiate, .connect_port = connect_port },
  { .Label = NULL, AUDIO, FUNCTIONS },
  { .Label = "line\n", AUDIO, FUNCTIONS },
  { .Label = "no_instance", AUDIO, FUNCTIONS },
};

/// With WARPRACK_FIXTURE the list does not end: "again" repeats a plugin, "endless" has others.
const LADSPA_Descriptor*
ladspa_descriptor(const unsigned long index)
{
  static LADSPA_Descriptor copies[MAX_COPIES];
  const char* const how = getenv("WARPRACK_FIXTURE");
  for (size_t i = 0; i < sizeof(endless) - 1U; ++i) {
    endless[i] = 'x';
  }
  if (!how) {
    return index < ARRAY_LEN(plugins) ? &plugins[index] : NULL;
  }
  LADSPA_Descriptor* const copy = &copies[strcmp(how, "again") ? index % MAX_COPIES : 0U];
  *copy = (LADSPA_Descriptor){ .Label = "copy", AUDIO, FUNCTIONS };
  return copy;
}
