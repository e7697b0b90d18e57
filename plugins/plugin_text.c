// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A plugin as text, one line per fact, in this order:

       plugin  FORMAT ID NAME MAKER LICENCE CATEGORY FAULT NOTES
       binary  BUNDLE PATH INODE BYTES CHANGED_NS
       state   FILE                      only if it takes a state
       port    INDEX TYPE FLAGS SYMBOL NAME GROUP URI UNIT MIN INITIAL MAX BYTES
       points  VALUE LABEL ...           of the port above it
       preset  NAME URI STATE PORT VALUE ...
       report  ...                       see report.c

   FLAGS are words with commas between them.  STATE is the file with a state, or empty.  PORT is the
   place among the lines "port", from 0.
*/

#include "fields.h"
#include "plugin.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char* const type_names[] = { [PORT_AUDIO] = "audio",
                                          [PORT_CONTROL] = "control",
                                          [PORT_CV] = "cv",
                                          [PORT_ATOM] = "atom",
                                          [PORT_PROPERTY] = "property" };

static const char* const unit_names[] = {
  [UNIT_NONE] = "none", [UNIT_HZ] = "hz",           [UNIT_DB] = "db",
  [UNIT_MS] = "ms",     [UNIT_BPM] = "bpm",         [UNIT_DEG] = "deg",
  [UNIT_S] = "s",       [UNIT_PERCENT] = "percent", [UNIT_LINEAR] = "linear",
};

#define FLAG_NAME(word, name) name,
static const char* const flag_names[] = { PORT_FLAGS(FLAG_NAME) };

// ---- write ----

static void
write_plugin(TextBuffer* const text, const Plugin* const plugin)
{
  text_buffer_add(text, "plugin");
  fields_write_text(text, plugin->origin.format);
  fields_write_text(text, plugin->origin.id);
  fields_write_text(text, plugin->name);
  fields_write_text(text, plugin->maker);
  fields_write_text(text, plugin->licence);
  fields_write_text(text, plugin->category);
  fields_write_text(text, plugin->fault);
  fields_write_text(text, plugin->notes);
  text_buffer_add(text, "\nbinary");
  fields_write_path(text, plugin->bundle);
  fields_write_path(text, plugin->binary);
  fields_write_count(text, plugin->binary_key.inode);
  fields_write_count(text, plugin->binary_key.n_bytes);
  fields_write_count(text, plugin->binary_key.changed_ns);
  if (plugin->takes_state) {
    text_buffer_add(text, "\nstate");
    fields_write_path(text, plugin->state ? plugin->state : "");
  }
  text_buffer_add(text, "\n");
}

static void
write_port(TextBuffer* const text, const PluginPort* const port)
{
  text_buffer_add(text, "port");
  fields_write_count(text, port->index);
  fields_write_text(text, type_names[port->type]);
  fields_write_flags(text, port->flags, flag_names, PORT_N_FLAGS);
  fields_write_text(text, port->symbol);
  fields_write_text(text, port->name);
  fields_write_text(text, port->group);
  fields_write_text(text, port->uri);
  fields_write_text(text, unit_names[port->unit]);
  fields_write_number(text, port->min);
  fields_write_number(text, port->initial);
  fields_write_number(text, port->max);
  fields_write_count(text, port->n_bytes);
  text_buffer_add(text, port->n_points ? "\npoints" : "");
  for (uint32_t i = 0; i < port->n_points; ++i) {
    fields_write_number(text, port->points[i].value);
    fields_write_text(text, port->points[i].label);
  }
  text_buffer_add(text, "\n");
}

static void
write_preset(TextBuffer* const text, const PluginPreset* const preset)
{
  text_buffer_add(text, "preset");
  fields_write_text(text, preset->name);
  fields_write_text(text, preset->uri);
  fields_write_path(text, preset->state ? preset->state : "");
  for (uint32_t v = 0; v < preset->n_values; ++v) {
    fields_write_count(text, preset->ports[v]);
    fields_write_number(text, preset->values[v]);
  }
  text_buffer_add(text, "\n");
}

void
plugin_write(TextBuffer* const text, const Plugin* const plugin)
{
  write_plugin(text, plugin);
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    write_port(text, &plugin->ports[p]);
  }
  for (uint32_t p = 0; p < plugin->n_presets; ++p) {
    write_preset(text, &plugin->presets[p]);
  }
  if (plugin->report) {
    report_write(text, plugin->report);
  }
}

// ---- search ----

/// True if a line "port", whose type begins at `type`, is an input for notes.  `end`: of the text.
static bool
line_takes_notes(const char* const type, const char* const end)
{
  char fields[512]; // more than all flags need
  const size_t n_left = (size_t)(end - type);
  const size_t n = n_left < sizeof(fields) ? n_left : sizeof(fields) - 1U;
  memcpy(fields, type, n);
  fields[n] = '\0';
  fields[strcspn(fields, "\n")] = '\0';
  FieldLine line = { .rest = fields };
  const uint32_t found = fields_choice(&line, "type", type_names, PORT_N_TYPES);
  const PluginPort port = { .type = (PortType)found,
                            .flags = fields_flags(&line, flag_names, PORT_N_FLAGS) };
  return !line.status && plugin_port_takes_notes(&port);
}

bool
plugin_text_takes_notes(const char* const text, const size_t n_bytes)
{
  static const char start[] = "\nport\t";
  const char* const end = text + n_bytes;
  const char* at = text;
  bool takes = false;
  while (!takes && (at = memmem(at, (size_t)(end - at), start, sizeof(start) - 1U))) {
    at += sizeof(start) - 1U;
    const char* const tab = memchr(at, '\t', (size_t)(end - at)); // after the index
    takes =
        tab && fields_begin_with(tab + 1, type_names[PORT_ATOM]) && line_takes_notes(tab + 1, end);
  }
  return takes;
}

// ---- read ----

typedef struct Reader {
  Arena* arena;
  Plugin* plugin;
  PluginPort* ports; ///< Plugin::ports, to be filled
  PluginPreset* presets;
  uint32_t n_ports; ///< Of the whole text
} Reader;

static void
read_plugin(const Reader* const reader, FieldLine* const line)
{
  Plugin* const plugin = reader->plugin;
  plugin->origin.format = fields_text(line, "format");
  plugin->origin.id = fields_text(line, "id");
  plugin->name = fields_text(line, "name");
  plugin->maker = fields_text(line, "maker");
  plugin->licence = fields_text(line, "licence");
  plugin->category = fields_text(line, "category");
  plugin->fault = fields_text(line, "fault");
  plugin->notes = fields_text(line, "notes");
  if (!*plugin->origin.format || !*plugin->origin.id) {
    fields_fail(line, STATUS_FILE, "the plugin has no id");
  }
}

static void
read_binary(const Reader* const reader, FieldLine* const line)
{
  Plugin* const plugin = reader->plugin;
  plugin->bundle = fields_path(line, "bundle");
  plugin->binary = fields_path(line, "binary");
  plugin->binary_key.inode = fields_count(line, "inode", UINT64_MAX);
  plugin->binary_key.n_bytes = fields_count(line, "size", UINT64_MAX);
  plugin->binary_key.changed_ns = fields_count(line, "time", UINT64_MAX);
}

static void
read_state(const Reader* const reader, FieldLine* const line)
{
  reader->plugin->takes_state = true;
  reader->plugin->state = fields_path(line, "state");
}

/// Ports of CLAP have ids, parameters of LV2 that are no ports have none.  Others are numbered from
/// 0: a plugin writes to memory that is not its own if it is given a port that it does not have.
static bool
is_index_wrong(const Reader* const reader, const PluginPort* const port)
{
  return port->index != (uint32_t)(port - reader->ports) && port->type != PORT_PROPERTY &&
         strcmp(reader->plugin->origin.format, "clap") != 0;
}

static void
read_port(const Reader* const reader, FieldLine* const line)
{
  PluginPort* const port = &reader->ports[reader->plugin->n_ports++];
  port->index = (uint32_t)fields_count(line, "index", UINT32_MAX);
  port->type = (PortType)fields_choice(line, "type", type_names, PORT_N_TYPES);
  port->flags = fields_flags(line, flag_names, PORT_N_FLAGS);
  port->symbol = fields_text(line, "symbol");
  port->name = fields_text(line, "name");
  port->group = fields_text(line, "group");
  port->uri = fields_text(line, "URI");
  port->unit = (FxMeasure)fields_choice(line, "unit", unit_names, ARRAY_LEN(unit_names));
  port->min = fields_number(line, "minimum");
  port->initial = fields_number(line, "initial value");
  port->max = fields_number(line, "maximum");
  port->n_bytes = (uint32_t)fields_count(line, "size", PLUGIN_MAX_BUFFER);
  if (!(port->min <= port->initial && port->initial <= port->max)) {
    fields_fail(line, STATUS_FILE, "the initial value %g is not between %g and %g", port->initial,
                port->min, port->max);
  }
  if (is_index_wrong(reader, port)) {
    fields_fail(line, STATUS_FILE, "the port %u of %u ports", port->index, reader->n_ports);
  }
}

static void*
take(const Reader* const reader, FieldLine* const line, const uint32_t n, const size_t size)
{
  void* const memory = arena_take(reader->arena, n, size);
  if (!memory) {
    fields_fail(line, STATUS_NO_MEM, "out of memory");
  }
  return memory;
}

static void
read_points(const Reader* const reader, FieldLine* const line)
{
  if (!reader->plugin->n_ports || reader->plugin->n_presets ||
      reader->ports[reader->plugin->n_ports - 1U].n_points) {
    fields_fail(line, STATUS_FILE, "points without a port");
    return;
  }
  PluginPort* const port = &reader->ports[reader->plugin->n_ports - 1U];
  const uint32_t n = (fields_left(line) + 1U) / 2U;
  if (!n || n > PLUGIN_MAX_POINTS) {
    fields_fail(line, STATUS_FILE, "%u points; 1 to %u", n, PLUGIN_MAX_POINTS);
    return;
  }
  PluginPoint* const points = take(reader, line, n, sizeof(*points));
  for (uint32_t i = 0; i < n && !line->status; ++i) {
    points[i].value = fields_number(line, "value of a point");
    points[i].label = fields_text(line, "label of a point");
    if (i && !(points[i - 1U].value < points[i].value)) {
      fields_fail(line, STATUS_FILE, "the point %g is not above the one before it",
                  points[i].value);
    }
  }
  port->points = points;
  port->n_points = n;
}

/// Read the port of a preset's value and the value, which becomes one in the port's range, unless
/// that depends on the sample rate.
static void
read_value(const Reader* const reader, FieldLine* const line, uint32_t* const place,
           double* const value)
{
  *place = (uint32_t)fields_count(line, "port of a value", UINT32_MAX);
  *value = fields_number(line, "value");
  if (line->status) {
    return;
  }
  const PluginPort* const port = *place < reader->plugin->n_ports ? &reader->ports[*place] : NULL;
  if (!port || port->flags & PORT_OUTPUT ||
      (port->type != PORT_CONTROL && port->type != PORT_PROPERTY)) {
    fields_fail(line, STATUS_FILE, "the port %u is no parameter", *place);
    return;
  }
  if (port->flags & (PORT_FILE | PORT_TEXT)) {
    fields_fail(line, STATUS_FILE, "the port %u takes no number", *place);
    return;
  }
  if (!(port->flags & PORT_RATE)) { // else the range is known when an instance is opened
    *value = fmin(fmax(*value, port->min), port->max);
  }
}

static void
read_preset(const Reader* const reader, FieldLine* const line)
{
  PluginPreset* const preset = &reader->presets[reader->plugin->n_presets++];
  preset->name = fields_text(line, "name");
  preset->uri = fields_text(line, "URI");
  preset->state = fields_path(line, "state");
  const uint32_t n = (fields_left(line) + 1U) / 2U;
  if (n > reader->plugin->n_ports) {
    fields_fail(line, STATUS_FILE, "%u values for %u ports", n, reader->plugin->n_ports);
    return;
  }
  uint32_t* const ports = take(reader, line, n, sizeof(*ports));
  double* const values = take(reader, line, n, sizeof(*values));
  for (uint32_t v = 0; v < n && !line->status; ++v) {
    read_value(reader, line, &ports[v], &values[v]);
  }
  preset->ports = ports;
  preset->values = values;
  preset->n_values = n;
}

static void
read_report(const Reader* const reader, FieldLine* const line)
{
  PluginReport* const report = take(reader, line, 1, sizeof(*report));
  if (report) {
    report_read(line, reader->n_ports, reader->arena, report);
    reader->plugin->report = report;
  }
}

/// The lines after the one of the binary.
static void
read_fact(const Reader* const reader, char* const text, FieldLine* const line)
{
  if (reader->plugin->report) {
    fields_fail(line, STATUS_FILE, "a line after the report");
  } else if (fields_begin_with(text, "port") && !reader->plugin->n_presets) {
    read_port(reader, line);
  } else if (fields_begin_with(text, "points")) {
    read_points(reader, line);
  } else if (fields_begin_with(text, "preset")) {
    read_preset(reader, line);
  } else if (fields_begin_with(text, "report")) {
    read_report(reader, line);
  } else {
    fields_fail(line, STATUS_FILE, "unexpected line \"%.40s\"", text);
  }
}

static void
read_line(const Reader* const reader, char* const text, FieldLine* const line)
{
  if (line->number == 1U && fields_begin_with(text, "plugin")) {
    read_plugin(reader, line);
  } else if (line->number == 2U && fields_begin_with(text, "binary")) {
    read_binary(reader, line);
  } else if (line->number == 3U && fields_begin_with(text, "state")) {
    read_state(reader, line);
  } else if (line->number > 2U) {
    read_fact(reader, text, line);
  } else {
    fields_fail(line, STATUS_FILE, "unexpected line \"%.40s\"", text);
  }
  fields_end(line);
}

static Status
read_lines(const Reader* const reader, char* text, Error* const error)
{
  uint32_t n_lines = 0;
  for (char* at; (at = fields_next_line(&text));) {
    FieldLine line = fields_of(at, ++n_lines, error);
    read_line(reader, at, &line);
    if (line.status) {
      return line.status;
    }
  }
  return n_lines < 2U ? error_set(error, STATUS_FILE, "line %u: the text ends", n_lines + 1U)
                      : STATUS_OK;
}

static uint32_t
count_lines(const char* text, const char* const word)
{
  uint32_t n = 0;
  for (; *text; text += *text == '\n') {
    n += fields_begin_with(text, word);
    text = strchrnul(text, '\n');
  }
  return n;
}

/// What the effect promises: what the report allows.
static void
set_promise(Plugin* const plugin)
{
  static const char* const reasons[] = {
    [REPORT_NOTHING] = "the lengths of blocks, and live or offline, may change the output",
    [REPORT_SPLITS] = "each run, or how parameters move, may change the output",
    [REPORT_EXACT] = "measured by a probe",
  };
  const PluginReport* const report = plugin->report;
  const ReportPromise promise = report_promise(report);
  plugin->fx.tolerance_reason = reasons[promise];
  plugin->fx.cut_at_events = promise != REPORT_NOTHING;
  if (promise == REPORT_EXACT) {
    plugin->fx.tolerance = fmax(report->run_error, fmax(report->block_error, report->move_error));
  }
}

static bool
takes_notes(const Plugin* const plugin)
{
  bool takes = false;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    takes = takes || plugin_port_takes_notes(&plugin->ports[p]);
  }
  return takes;
}

/// The effect, but for its parameters.
static void
make_effect(Plugin* const plugin, char* const short_name, const FxInfo* const functions)
{
  plugin_short_name(plugin->origin.id, short_name);
  plugin->fx = *functions;
  plugin->fx.name = short_name;
  plugin->fx.summary = plugin->name;
  plugin->fx.origin = &plugin->origin;
  plugin->fx.outdated = &plugin->is_outdated;
  plugin->fx.event = takes_notes(plugin) ? functions->event : NULL;
  set_promise(plugin);
}

Status
plugin_read(char* const text, Arena* const arena, const FxInfo* const functions, Plugin** const out,
            Error* const error)
{
  const uint32_t n_ports = count_lines(text, "port");
  const uint32_t n_presets = count_lines(text, "preset");
  if (n_ports > PLUGIN_MAX_PORTS || n_presets > PLUGIN_MAX_PRESETS) {
    return error_set(error, STATUS_LIMIT, "%u ports and %u presets; at most %u and %u", n_ports,
                     n_presets, PLUGIN_MAX_PORTS, PLUGIN_MAX_PRESETS);
  }
  const Reader reader = { .arena = arena,
                          .plugin = arena_take(arena, 1, sizeof(Plugin)),
                          .ports = arena_take(arena, n_ports, sizeof(PluginPort)),
                          .presets = arena_take(arena, n_presets, sizeof(PluginPreset)),
                          .n_ports = n_ports };
  char* const short_name = arena_take(arena, 1, PLUGIN_ID_BYTES);
  if (arena->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  reader.plugin->ports = reader.ports;
  reader.plugin->presets = reader.presets;
  Status status = read_lines(&reader, text, error);
  if (!status) {
    make_effect(reader.plugin, short_name, functions);
    status = plugin_make_params(reader.plugin, arena, error);
    status = status ? status : plugin_make_sides(reader.plugin, arena, error);
  }
  if (!status) {
    *out = reader.plugin;
  }
  return status;
}
