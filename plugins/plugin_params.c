// SPDX-License-Identifier: GPL-3.0-or-later
// The parameters of a plugin's effect, made from its control inputs and properties.

#include "plugin.h"
#include "plugin_names.h"

#include "engine/base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LOWEST_RATE_HZ  8000.0 // of the ranges of PORT_RATE
#define HIGHEST_RATE_HZ 192000.0
#define HELP_BYTES      400U // for the labels of choices, after the name of the port

static const FxParam bypass_param = {
  .id = "bypass", .kind = PARAM_SWITCH, .max = 1.0, .help = "Play the input in place of the output"
};

static const FxParam preset_param = { .id = "preset",
                                      .kind = PARAM_TEXT,
                                      .structural = true,
                                      .help = "Preset, whose values apply where none is given" };

static const FxParam state_param = { .id = "state",
                                     .kind = PARAM_PATH,
                                     .structural = true,
                                     .help = "File that /node/<node>/state/save has written" };

static const FxParam group_param = {
  .id = "group",
  .kind = PARAM_TEXT,
  .structural = true,
  .help = "Name of a process of its own, for this node and all others of that name"
};

static const FxParam tempo_param = { .id = "host_bpm",
                                     .kind = PARAM_NUMBER,
                                     .unit = UNIT_BPM,
                                     .min = 20.0,
                                     .max = 999.0,
                                     .initial = 120.0,
                                     .follows_tempo = true,
                                     .help = "Tempo of the host: that of the rack, unless set" };

static const FxParam mute_param = FX_MUTE_PARAM;
static const FxParam solo_param = FX_SOLO_PARAM;
static const FxParam ramp_param = FX_RAMP_PARAM;

static bool
is_param(const PluginPort* const port)
{
  const uint32_t of_host = PORT_OUTPUT | PORT_LATENCY | PORT_OFFLINE | PORT_ENABLED | PORT_BYPASS;
  return (port->type == PORT_CONTROL || port->type == PORT_PROPERTY) && !(port->flags & of_host);
}

// ---- ids ----

/// True for a symbol of LV2 that fits.
static bool
is_symbol(const char* const text)
{
  const size_t n = strspn(text, "_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
  return n && !text[n] && n < PLUGIN_ID_BYTES && !(text[0] >= '0' && text[0] <= '9');
}

/// True for words that are parameters of every node, or will be.
static bool
is_reserved(const char* const id)
{
  static const char* const words[] = { "backend", "bypass",  "group", "host_bpm", "mute",
                                       "preset",  "presets", "ramp",  "solo",     "state" };
  bool is_found = false;
  for (uint32_t w = 0; w < ARRAY_LEN(words); ++w) {
    is_found = is_found || !strcmp(id, words[w]);
  }
  return is_found;
}

/// The id of a port's parameter, which `ids` does not have yet.
static const char*
make_id(NameSet* const ids, const PluginPort* const port)
{
  if (is_symbol(port->symbol) && !is_reserved(port->symbol)) {
    return names_add(ids, port->symbol, '_');
  }
  char* const id = arena_take(ids->arena, 1, PLUGIN_ID_BYTES + 1U);
  if (!id) {
    return NULL;
  }
  if (is_symbol(port->symbol)) {
    strcpy(id, port->symbol);
  } else {
    plugin_param_id(*port->symbol ? port->symbol : port->name, id);
  }
  strcat(id, is_reserved(id) ? "_" : "");
  return names_add(ids, id, '_');
}

// ---- ranges ----

static double
at_rate(const double multiple, const double rate_hz)
{
  return fmin(fmax(multiple * rate_hz, -DBL_MAX), DBL_MAX);
}

/// Make the range one in Hz that holds at every rate.
static void
set_rate_range(FxParam* const param, const PluginPort* const port)
{
  param->unit = UNIT_HZ;
  param->min = at_rate(port->min, port->min < 0.0 ? HIGHEST_RATE_HZ : LOWEST_RATE_HZ);
  param->max = at_rate(port->max, port->max < 0.0 ? LOWEST_RATE_HZ : HIGHEST_RATE_HZ);
  param->initial = at_rate(port->initial, PLUGIN_RATE_HZ);
}

/// Make the parameter one of whole numbers, unless its range has none.
static void
set_whole_range(FxParam* const param)
{
  const double min = ceil(param->min);
  const double max = floor(param->max);
  if (min <= max) {
    param->kind = PARAM_INTEGER;
    param->min = min;
    param->max = max;
    param->initial = fmin(fmax(rint(param->initial), min), max);
  }
}

// ---- names of numbers ----

/// True if the number of a point can be named: in range, and a name that is a number only for a
/// choice.
static bool
is_named(const FxParam* const param, const PluginPoint* const point, const char* const word)
{
  Decimal decimal;
  const bool is_number = number_scan(word, &decimal) && !*decimal.end;
  return point->value >= param->min && point->value <= param->max &&
         (param->kind != PARAM_INTEGER || point->value == floor(point->value)) &&
         (param->kind == PARAM_CHOICE || !is_number);
}

/// Add a label that differs from its word to the help, if there is room.
static void
add_label(char* const help, const size_t n_bytes, const char* const word, const char* const label)
{
  const size_t n = strlen(help);
  const size_t n_added = (size_t)snprintf(help + n, n_bytes - n, "; %s: %s", word, label);
  help[n_added < n_bytes - n ? n + n_added : n] = '\0';
}

/// Name the numbers of the port's points.  Incomplete if Arena::failed.
static void
set_names(Arena* const arena, FxParam* const param, const PluginPort* const port)
{
  const size_t n_help = strlen(param->help) + HELP_BYTES;
  char* const help = arena_take(arena, 1, n_help);
  const char** const words = arena_take(arena, port->n_points + 1U, sizeof(*words));
  double* const values = arena_take(arena, port->n_points, sizeof(*values));
  NameSet set = names_begin(arena, port->n_points);
  if (arena->failed) {
    return;
  }
  strcpy(help, param->help);
  uint32_t n = 0;
  for (uint32_t i = 0; i < port->n_points && !arena->failed; ++i) {
    const PluginPoint* const point = &port->points[i];
    const char* const word = names_word(arena, point->label, point->value);
    if (!word || !is_named(param, point, word)) {
      continue;
    }
    words[n] = names_add(&set, word, '-');
    values[n] = point->value;
    if (words[n] && strcmp(words[n], point->label) != 0) {
      add_label(help, n_help, words[n], point->label);
    }
    ++n;
  }
  param->help = help;
  param->choices = n ? words : NULL;
  param->choice_values = n ? values : NULL;
}

// ---- kinds ----

static void
set_switch(FxParam* const param, const PluginPort* const port)
{
  param->kind = PARAM_SWITCH;
  param->max = 1.0;
  param->initial = port->initial - port->min > port->max - port->initial ? 1.0 : 0.0;
}

/// Make the parameter one of choices, whose initial one is the nearest to the port's initial value.
/// False if no point is in the port's range.
static bool
set_choice(Arena* const arena, FxParam* const param, const PluginPort* const port)
{
  FxParam choice = *param;
  choice.kind = PARAM_CHOICE;
  set_names(arena, &choice, port);
  if (!choice.choices) {
    return false;
  }
  choice.unit = UNIT_NONE;
  choice.initial = choice.choice_values[0];
  for (uint32_t c = 0; choice.choices[c]; ++c) {
    const double value = choice.choice_values[c];
    choice.min = c ? choice.min : value;
    choice.max = value;
    choice.initial = fabs(value - param->initial) < fabs(choice.initial - param->initial)
                         ? value
                         : choice.initial;
  }
  *param = choice;
  return true;
}

static void
set_number(Arena* const arena, FxParam* const param, const PluginPort* const port)
{
  param->unit = port->unit;
  param->min = port->min;
  param->max = port->max;
  param->initial = port->initial;
  const bool has_names = port->n_points && !(port->flags & PORT_RATE);
  if (port->flags & PORT_RATE) {
    set_rate_range(param, port);
  }
  if (has_names && port->flags & PORT_CHOICE && set_choice(arena, param, port)) {
    return;
  }
  if (port->flags & PORT_INTEGER) {
    set_whole_range(param);
  }
  if (port->flags & PORT_LOGARITHMIC && param->min >= 0.0 && param->min < param->max) {
    param->taper = TAPER_LOG; // for numbers below 0 there is none, but some plugins ask for it
  }
  if (has_names) {
    set_names(arena, param, port);
  }
}

/// Make the parameter of a port.  Incomplete if Arena::failed.
static void
make_param(NameSet* const ids, FxParam* const param, const PluginPort* const port)
{
  param->id = make_id(ids, port);
  if (!param->id) {
    return;
  }
  param->help = *port->name ? port->name : param->id;
  param->in_presets = true;
  if (port->flags & (PORT_FILE | PORT_TEXT)) {
    param->kind = port->flags & PORT_FILE ? PARAM_PATH : PARAM_TEXT;
    param->structural = true;
  } else if (port->flags & (PORT_TOGGLED | PORT_TRIGGER)) {
    set_switch(param, port);
  } else {
    set_number(ids->arena, param, port);
  }
}

bool
plugin_takes_tempo(const Plugin* const plugin)
{
  bool takes = !strcmp(plugin->origin.format, "clap"); // its host gives it to all plugins
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    takes = takes || (plugin->ports[p].flags & (PORT_TIME | PORT_OUTPUT)) == PORT_TIME;
  }
  return takes;
}

Status
plugin_make_params(Plugin* const plugin, Arena* const arena, Error* const error)
{
  uint32_t n_params =
      5U + (plugin->n_presets > 0) + plugin->takes_state + plugin_takes_tempo(plugin);
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    n_params += is_param(&plugin->ports[p]);
  }
  FxParam* const params = arena_take(arena, n_params, sizeof(*params));
  int32_t* const places = arena_take(arena, n_params, sizeof(*places));
  NameSet ids = names_begin(arena, n_params);
  uint32_t n = 0;
  for (uint32_t p = 0; p < plugin->n_ports && !arena->failed; ++p) {
    if (is_param(&plugin->ports[p])) {
      places[n] = (int32_t)p;
      params[n].structural = plugin->report && report_moves(plugin->report, p);
      make_param(&ids, &params[n++], &plugin->ports[p]);
    }
  }
  if (arena->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  places[n] = PLUGIN_BYPASS;
  params[n++] = bypass_param;
  if (plugin->n_presets) {
    places[n] = PLUGIN_PRESET;
    params[n++] = preset_param;
  }
  if (plugin->takes_state) {
    places[n] = PLUGIN_STATE;
    plugin->fx.state_param = n;
    params[n++] = state_param;
  } else {
    plugin->fx.save = NULL;
  }
  places[n] = PLUGIN_GROUP;
  params[n++] = group_param;
  if (plugin_takes_tempo(plugin)) {
    places[n] = PLUGIN_TEMPO;
    params[n++] = tempo_param;
  }
  places[n] = PLUGIN_MUTE;
  params[n++] = mute_param;
  places[n] = PLUGIN_SOLO;
  params[n++] = solo_param;
  places[n] = PLUGIN_RAMP;
  params[n++] = ramp_param;
  plugin->fx.params = params;
  plugin->fx.n_params = n;
  plugin->param_ports = places;
  return STATUS_OK;
}
