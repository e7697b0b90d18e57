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
#include "plugins/format.h"
#include "plugins/plugin_names.h"

#include "engine/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_TEXT_BYTES 256U

/// What is mended in ports.
enum { MEND_NO_NAME = N_RANGE_MENDS, MEND_NOT_UTF8, N_MENDS };

static const char* const mend_texts[N_MENDS] = {
  [RANGE_NOT_FINITE] = "bound that is not finite",
  [RANGE_INVERTED] = "lower bound above the upper bound",
  [RANGE_NO_MIN] = "no lower bound",
  [RANGE_NO_MAX] = "no upper bound",
  [RANGE_NO_DEFAULT] = "no default",
  [RANGE_DEFAULT_OUTSIDE] = "default outside the bounds",
  [MEND_NO_NAME] = "no name",
  [MEND_NOT_UTF8] = "name that is not UTF-8",
};

/// The plugins of a library, as far as they are listed.
typedef struct Listing {
  const LADSPA_Descriptor* ladspa[LADSPA_MAX_PLUGINS];
  uint32_t n;
} Listing;

/// A description in the making.
typedef struct Description {
  const LADSPA_Descriptor* ladspa;
  Arena arena;
  Plugin plugin;
  PluginPort* ports;     ///< Plugin::ports
  NameSet symbols[2][2]; ///< Of control and audio ports, inputs and outputs
  char fault[128];
  TextBuffer notes;
  uint32_t n_mended[N_MENDS];
  uint32_t first_mended[N_MENDS]; ///< The port
} Description;

static void
mend(Description* const d, const uint32_t what, const uint32_t port)
{
  d->first_mended[what] = d->n_mended[what]++ ? d->first_mended[what] : port;
}

__attribute__((format(printf, 2, 3))) static void
set_fault(Description* const d, const char* const format, ...)
{
  va_list args;
  va_start(args, format);
  if (!d->fault[0]) {
    vsnprintf(d->fault, sizeof(d->fault), format, args);
  }
  va_end(args);
}

// ---- texts ----

/// A printable copy, shortened to MAX_TEXT_BYTES; "" for NULL and when out of memory.
static const char*
copy_text(Description* const d, const char* const text)
{
  char* const copy = arena_take(&d->arena, MAX_TEXT_BYTES, 1);
  if (!copy) {
    return "";
  }
  memccpy(copy, text ? text : "", '\0', MAX_TEXT_BYTES - 1U);
  text_make_printable(copy);
  return copy;
}

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

/// The id of a port, which no other port of its kind has.
static const char*
make_symbol(Description* const d, const PluginPort* const port)
{
  const bool is_output = port->flags & PORT_OUTPUT;
  char* const id = arena_take(&d->arena, PLUGIN_ID_BYTES, 1);
  if (!id) {
    return "";
  }
  plugin_param_id(port->name, id);
  return names_add(&d->symbols[port->type == PORT_AUDIO][is_output], id, '_');
}

// ---- ports ----

static void
describe_input(Description* const d, const uint32_t p)
{
  static const LADSPA_PortRangeHint no_hint = { .HintDescriptor = 0 };
  const LADSPA_PortRangeHint* const hints = d->ladspa->PortRangeHints;
  const uint32_t mends = ladspa_range_read(&d->ports[p], hints ? &hints[p] : &no_hint);
  for (uint32_t m = 0; m < N_RANGE_MENDS; ++m) {
    if (mends & 1U << m) {
      mend(d, m, p);
    }
  }
}

static void
describe_control(Description* const d, const uint32_t p)
{
  PluginPort* const port = &d->ports[p];
  port->type = PORT_CONTROL;
  port->unit = unit_of_name(port->name);
  if (!(port->flags & PORT_OUTPUT)) {
    describe_input(d, p);
  } else if (!strcmp(port->name, "latency") || !strcmp(port->name, "_latency")) {
    port->flags |= PORT_LATENCY;
  }
}

static void
describe_name(Description* const d, const uint32_t p)
{
  const char* const name = d->ladspa->PortNames ? d->ladspa->PortNames[p] : NULL;
  char number[32];
  snprintf(number, sizeof(number), "Port %u", p + 1U);
  const bool has_name = name && name[0];
  d->ports[p].name = copy_text(d, has_name ? name : number);
  if (!has_name) {
    mend(d, MEND_NO_NAME, p);
  } else if (!text_is_printable(name)) {
    mend(d, MEND_NOT_UTF8, p);
  }
}

static void
describe_port(Description* const d, const uint32_t p)
{
  const LADSPA_PortDescriptor kind = d->ladspa->PortDescriptors[p];
  PluginPort* const port = &d->ports[p];
  *port = (PluginPort){ .index = p, .type = PORT_AUDIO, .group = "", .uri = "" };
  describe_name(d, p);
  if (!LADSPA_IS_PORT_INPUT(kind) == !LADSPA_IS_PORT_OUTPUT(kind)) {
    set_fault(d, "its port %u is both or neither of input and output", p + 1U);
  }
  if (!LADSPA_IS_PORT_AUDIO(kind) == !LADSPA_IS_PORT_CONTROL(kind)) {
    set_fault(d, "its port %u is both or neither of audio and control", p + 1U);
  }
  port->flags = LADSPA_IS_PORT_OUTPUT(kind) ? PORT_OUTPUT : PORT_NO_FLAGS;
  if (LADSPA_IS_PORT_CONTROL(kind)) {
    describe_control(d, p);
  } else if (LADSPA_IS_PORT_INPUT(kind) && is_sidechain(port->name)) {
    port->flags |= PORT_SIDECHAIN;
  }
  port->symbol = make_symbol(d, port);
}

static void
describe_ports(Description* const d)
{
  const unsigned long n_ports = d->ladspa->PortCount;
  if (n_ports > PLUGIN_MAX_PORTS) {
    set_fault(d, "it has %lu ports, more than %u", n_ports, PLUGIN_MAX_PORTS);
    return;
  }
  if (n_ports && !d->ladspa->PortDescriptors) {
    set_fault(d, "its ports are not described");
    return;
  }
  d->ports = arena_take(&d->arena, n_ports, sizeof(PluginPort));
  for (uint32_t k = 0; k < 4U; ++k) {
    d->symbols[k / 2U][k % 2U] = names_begin(&d->arena, (uint32_t)n_ports);
  }
  bool has_audio = false;
  for (uint32_t p = 0; !d->arena.failed && p < n_ports; ++p) {
    describe_port(d, p);
    has_audio = has_audio || d->ports[p].type == PORT_AUDIO;
  }
  if (!has_audio) {
    set_fault(d, "it has no audio ports");
  }
  d->plugin.ports = d->ports;
  d->plugin.n_ports = (uint32_t)n_ports;
}

// ---- plugins ----

static bool
is_label(const char* const label)
{
  return label && label[0] && strlen(label) < MAX_TEXT_BYTES && text_is_printable(label);
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
make_id(Description* const d, const Listing* const earlier)
{
  const char* const slash = strrchr(d->plugin.bundle, '/');
  const char* const file = slash ? slash + 1 : d->plugin.bundle;
  const char* const dot = strrchr(file, '.');
  const int n_stem = (int)(dot ? dot - file : (ptrdiff_t)strlen(file));
  const char* label = d->ladspa->Label;
  char number[32];
  snprintf(number, sizeof(number), "#%u", earlier->n);
  if (!is_label(label)) {
    set_fault(d, "its label cannot be used in racks");
    label = number;
  } else if (has_label(earlier, label)) {
    set_fault(d, "another plugin of this library has its label");
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
check_functions(Description* const d)
{
  const LADSPA_Descriptor* const ladspa = d->ladspa;
  const char* const missing = !ladspa->instantiate    ? "instantiate"
                              : !ladspa->connect_port ? "connect_port"
                              : !ladspa->run          ? "run"
                                                      : NULL;
  if (missing) {
    set_fault(d, "it has no function %s()", missing);
  }
}

static void
write_notes(Description* const d)
{
  for (uint32_t m = 0; m < N_MENDS; ++m) {
    if (d->n_mended[m]) {
      text_buffer_print(&d->notes, "%s%s: \"%s\"", d->notes.n ? "; " : "", mend_texts[m],
                        d->ports[d->first_mended[m]].name);
    }
    if (d->n_mended[m] > 1U) {
      text_buffer_print(&d->notes, " and %u more", d->n_mended[m] - 1U);
    }
  }
}

static void
describe_plugin(Description* const d, const Listing* const earlier)
{
  Plugin* const plugin = &d->plugin;
  const LADSPA_Descriptor* const ladspa = d->ladspa;
  const bool is_named = ladspa->Name && ladspa->Name[0];
  plugin->source = (FxSource){ "ladspa", make_id(d, earlier) };
  plugin->name = is_named ? copy_text(d, ladspa->Name) : plugin->source.id;
  plugin->maker = copy_text(d, ladspa->Maker);
  plugin->licence = copy_text(d, ladspa->Copyright);
  plugin->category = "";
  check_functions(d);
  describe_ports(d);
  if (!d->arena.failed) {
    write_notes(d);
  }
  plugin->fault = d->fault;
  plugin->notes = d->notes.bytes ? d->notes.bytes : "";
}

static Status
report_plugin(const Plugin* const base, const LADSPA_Descriptor* const ladspa,
              const Listing* const earlier, const PluginFound found, void* const context,
              Error* const error)
{
  Description d = { .ladspa = ladspa, .plugin = *base };
  describe_plugin(&d, earlier);
  const bool is_complete = !d.arena.failed && !d.notes.failed;
  if (is_complete) {
    d.plugin.fx.source = &d.plugin.source;
    found(context, &d.plugin);
  }
  free(d.notes.bytes);
  arena_clear(&d.arena);
  return is_complete ? STATUS_OK
                     : error_set(error, STATUS_NO_MEM, "no memory to describe %s", base->bundle);
}

static Status
report_plugins(const Plugin* const base, const LADSPA_Descriptor_Function list,
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
    status = report_plugin(base, ladspa, &listing, found, context, error);
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
  return status ? status : report_plugins(&base, list, found, context, error);
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
