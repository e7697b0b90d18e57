// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Describes the plugins of a LADSPA library.

  LADSPA says little about a port: a name, bounds, and one of nine defaults.  So a name that ends
  with a unit in brackets gives the unit, "latency" or "_latency" is the latency, and an audio input
  that is called a side chain is one.  Wrong and missing facts are mended where a host can do
  without them (Plugin::notes); else the plugin cannot be used (Plugin::fault).
*/

#include "ladspa_host.h"
#include "ladspa_library.h"
#include "ladspa_range.h"
#include "plugins/description.h"

#include "engine/base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MAX_LABEL_BYTES 256U

static const char* const range_mends[N_RANGE_MENDS] = {
  [RANGE_NOT_FINITE] = "bound that is not finite",
  [RANGE_INVERTED] = "lower bound above the upper bound",
  [RANGE_NO_MIN] = "no lower bound",
  [RANGE_NO_MAX] = "no upper bound",
  [RANGE_NO_DEFAULT] = "no default",
  [RANGE_DEFAULT_OUTSIDE] = "default outside the bounds",
};

/// The plugins of a library, as far as they are listed.
typedef struct Listing {
  const LADSPA_Descriptor* ladspa[LADSPA_MAX_PLUGINS];
  uint32_t n;
} Listing;

// ---- ports ----

/// The unit in brackets at the end of a name: "Gain (dB)", "Time [s]".
static FxMeasure
unit_of_name(const char* const name)
{
  static const struct {
    const char* text;
    FxMeasure unit;
  } rows[] = {
    { "%", UNIT_PERCENT }, { "bpm", UNIT_BPM },         { "db", UNIT_DB },
    { "deg", UNIT_DEG },   { "degrees", UNIT_DEG },     { "hz", UNIT_HZ },
    { "ms", UNIT_MS },     { "percent", UNIT_PERCENT }, { "s", UNIT_S },
    { "sec", UNIT_S },     { "seconds", UNIT_S },       { "secs", UNIT_S },
  };
  const size_t n = strlen(name);
  const char closing = n ? name[n - 1U] : '\0';
  const char* const open = closing == ')'   ? strrchr(name, '(')
                           : closing == ']' ? strrchr(name, '[')
                                            : NULL;
  for (size_t r = 0; open && r < ARRAY_LEN(rows); ++r) {
    const size_t n_unit = strlen(rows[r].text);
    if (open + n_unit + 2U == name + n && !strncasecmp(open + 1, rows[r].text, n_unit)) {
      return rows[r].unit;
    }
  }
  return UNIT_NONE;
}

static bool
is_sidechain(const char* const name)
{
  return strcasestr(name, "sidechain") || strcasestr(name, "side chain") ||
         strcasestr(name, "side-chain");
}

static void
describe_input(Description* const d, const LADSPA_PortRangeHint* const hint, PluginPort* const port)
{
  static const LADSPA_PortRangeHint no_hint = { .HintDescriptor = 0 };
  const uint32_t mends = ladspa_range_read(port, hint ? hint : &no_hint);
  for (uint32_t m = 0; m < N_RANGE_MENDS; ++m) {
    if (mends & 1U << m) {
      description_mend(d, range_mends[m], port->name);
    }
  }
}

static void
describe_control(Description* const d, const LADSPA_PortRangeHint* const hint,
                 PluginPort* const port)
{
  port->type = PORT_CONTROL;
  port->unit = unit_of_name(port->name);
  if (!(port->flags & PORT_OUTPUT)) {
    describe_input(d, hint, port);
  } else if (!strcmp(port->name, "latency") || !strcmp(port->name, "_latency")) {
    port->flags |= PORT_LATENCY;
  }
}

static const char*
describe_name(Description* const d, const LADSPA_Descriptor* const ladspa, const uint32_t p)
{
  const char* const name = ladspa->PortNames ? ladspa->PortNames[p] : NULL;
  char number[32];
  snprintf(number, sizeof(number), "Port %u", p + 1U);
  const bool has_name = name && name[0];
  const char* const text = description_text(d, has_name ? name : number);
  if (!has_name) {
    description_mend(d, "no name", text);
  } else if (!text_is_printable(name)) {
    description_mend(d, "name that is not UTF-8", text);
  }
  return text;
}

static void
describe_port(Description* const d, const LADSPA_Descriptor* const ladspa, const uint32_t p)
{
  const LADSPA_PortDescriptor kind = ladspa->PortDescriptors[p];
  const LADSPA_PortRangeHint* const hints = ladspa->PortRangeHints;
  PluginPort port = { .index = p, .type = PORT_AUDIO, .group = "", .uri = "" };
  port.name = describe_name(d, ladspa, p);
  if (!LADSPA_IS_PORT_INPUT(kind) == !LADSPA_IS_PORT_OUTPUT(kind)) {
    description_fault(d, "its port %u is both or neither of input and output", p + 1U);
  }
  if (!LADSPA_IS_PORT_AUDIO(kind) == !LADSPA_IS_PORT_CONTROL(kind)) {
    description_fault(d, "its port %u is both or neither of audio and control", p + 1U);
  }
  port.flags = LADSPA_IS_PORT_OUTPUT(kind) ? PORT_OUTPUT : PORT_NO_FLAGS;
  if (LADSPA_IS_PORT_CONTROL(kind)) {
    describe_control(d, hints ? &hints[p] : NULL, &port);
  } else if (LADSPA_IS_PORT_INPUT(kind) && is_sidechain(port.name)) {
    port.flags |= PORT_SIDECHAIN;
  }
  description_add_port(d, &port);
}

static void
describe_ports(Description* const d, const LADSPA_Descriptor* const ladspa)
{
  const unsigned long n_ports = ladspa->PortCount;
  if (n_ports && n_ports <= PLUGIN_MAX_PORTS && !ladspa->PortDescriptors) {
    description_fault(d, "its ports are not described");
    return;
  }
  if (!description_reserve(d, n_ports)) {
    return;
  }
  bool has_audio = false;
  for (uint32_t p = 0; p < n_ports; ++p) {
    describe_port(d, ladspa, p);
    has_audio = has_audio || d->ports[p].type == PORT_AUDIO;
  }
  if (!has_audio) {
    description_fault(d, "it has no audio ports");
  }
}

// ---- plugins ----

static bool
is_label(const char* const label)
{
  return label && label[0] && strlen(label) < MAX_LABEL_BYTES && text_is_printable(label);
}

static bool
has_label(const Listing* const listing, const char* const label)
{
  bool is_found = false;
  for (uint32_t i = 0; i < listing->n && !is_found; ++i) {
    const char* const other = listing->ladspa[i]->Label;
    is_found = other && !strcmp(other, label);
  }
  return is_found;
}

/// "file/label": labels are unique in a library, and libraries have different names.
static const char*
make_id(Description* const d, const LADSPA_Descriptor* const ladspa, const Listing* const earlier)
{
  const char* const slash = strrchr(d->plugin.bundle, '/');
  const char* const file = slash ? slash + 1 : d->plugin.bundle;
  const char* const dot = strrchr(file, '.');
  const int n_stem = (int)(dot ? dot - file : (ptrdiff_t)strlen(file));
  const char* label = ladspa->Label;
  char number[32];
  snprintf(number, sizeof(number), "#%u", earlier->n);
  if (!is_label(label)) {
    description_fault(d, "its label cannot be used in racks");
    label = number;
  } else if (has_label(earlier, label)) {
    description_fault(d, "another plugin of this library has its label");
    label = number;
  }
  const size_t n_bytes = strlen(file) + strlen(label) + 2U;
  char* const id = arena_take(&d->arena, n_bytes, 1);
  if (!id) {
    return "";
  }
  snprintf(id, n_bytes, "%.*s/%s", n_stem, file, label);
  text_make_printable(id);
  return id;
}

static void
check_functions(Description* const d, const LADSPA_Descriptor* const ladspa)
{
  const char* const missing = !ladspa->instantiate    ? "instantiate"
                              : !ladspa->connect_port ? "connect_port"
                              : !ladspa->run          ? "run"
                                                      : NULL;
  if (missing) {
    description_fault(d, "it has no function %s()", missing);
  }
}

static Status
describe_plugin(const Plugin* const base, const LADSPA_Descriptor* const ladspa,
                const Listing* const earlier, const PluginFound found, void* const context,
                Error* const error)
{
  Description d = { .plugin = *base };
  Plugin* const plugin = &d.plugin;
  const bool is_named = ladspa->Name && ladspa->Name[0];
  plugin->origin = (FxOrigin){ "ladspa", make_id(&d, ladspa, earlier) };
  plugin->name = is_named ? description_text(&d, ladspa->Name) : plugin->origin.id;
  plugin->maker = description_text(&d, ladspa->Maker);
  plugin->licence = description_text(&d, ladspa->Copyright);
  plugin->category = "";
  check_functions(&d, ladspa);
  describe_ports(&d, ladspa);
  return description_finish(&d, found, context, error);
}

static Status
describe_plugins(const Plugin* const base, const LADSPA_Descriptor_Function list,
                 const PluginFound found, void* const context, Error* const error)
{
  Listing listing = { .n = 0 };
  Status status = STATUS_OK;
  const LADSPA_Descriptor* ladspa = NULL;
  while (!status && (ladspa = list(listing.n)) && ladspa != listing.ladspa[0]) {
    if (listing.n == LADSPA_MAX_PLUGINS) {
      return error_set(error, STATUS_LIMIT, "%s has more than %u plugins", base->bundle,
                       LADSPA_MAX_PLUGINS);
    }
    status = describe_plugin(base, ladspa, &listing, found, context, error);
    listing.ladspa[listing.n++] = ladspa;
  }
  return status;
}

static Status
describe(const char* const bundle, const PluginFound found, void* const context, Error* const error)
{
  LADSPA_Descriptor_Function list = NULL;
  Plugin base = { .bundle = bundle, .binary = bundle };
  Status status = file_key(bundle, &base.binary_key, error);
  status = status ? status : ladspa_library_open(bundle, &list, error);
  return status ? status : describe_plugins(&base, list, found, context, error);
}

extern const PluginFormat plugin_format_ladspa;
const PluginFormat plugin_format_ladspa = {
  .name = "ladspa",
  .path_variable = "LADSPA_PATH",
  .default_folders = "~/.ladspa:/usr/local/lib/ladspa:/usr/lib/ladspa:/usr/lib64/ladspa",
  .is_folder = false,
  .extension = ".so",
  .describe = describe,
  .calls = &ladspa_calls,
};
