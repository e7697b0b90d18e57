// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A parameter says its range, but neither its unit nor the names of its values: these are found in
  the texts that the plugin makes of values.  A unit counts only if the number before it is the
  value, because the text of a parameter from 0 to 1 may be "-6 dB".
*/

#include "clap_params.h"

#include "engine/base/number.h"

#include <clap/ext/params.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MAX_STEPS 64.0 // of a parameter that does not say if its values have names

typedef struct Params {
  Description* description;
  const clap_plugin_t* clap;
  const clap_plugin_params_t* calls;
  clap_param_info_t* infos; ///< [n]
  uint32_t n;
} Params;

typedef struct ValueText {
  char text[CLAP_NAME_SIZE];
} ValueText;

static const clap_plugin_params_t*
find_calls(const clap_plugin_t* const clap)
{
  const clap_plugin_params_t* const calls = clap->get_extension(clap, CLAP_EXT_PARAMS);
  return calls && calls->count && calls->get_info ? calls : NULL;
}

/// The text of a value, without the spaces before it; "" if the plugin makes none.
static const char*
value_text(const Params* const params, const clap_param_info_t* const info, const double value,
           ValueText* const to)
{
  const clap_plugin_params_t* const calls = params->calls;
  to->text[0] = '\0';
  if (!calls->value_to_text ||
      !calls->value_to_text(params->clap, info->id, value, to->text, (uint32_t)sizeof(to->text))) {
    to->text[0] = '\0';
  }
  to->text[sizeof(to->text) - 1U] = '\0';
  return to->text + strspn(to->text, " ");
}

// ---- units ----

/// A word after a number, and the power of ten by which it differs from the unit.
typedef struct UnitWord {
  const char* text;
  FxMeasure unit;
  int shift;
} UnitWord;

static const UnitWord*
find_unit(const char* const text)
{
  static const UnitWord words[] = {
    { "%", UNIT_PERCENT, 0 }, { "bpm", UNIT_BPM, 0 }, { "dB", UNIT_DB, 0 }, { "deg", UNIT_DEG, 0 },
    { "Hz", UNIT_HZ, 0 },     { "kHz", UNIT_HZ, 3 },  { "ms", UNIT_MS, 0 }, { "s", UNIT_S, 0 },
    { "sec", UNIT_S, 0 },     { "°", UNIT_DEG, 0 },
  };
  for (size_t w = 0; w < ARRAY_LEN(words); ++w) {
    if (!strcasecmp(words[w].text, text)) {
      return &words[w];
    }
  }
  return NULL;
}

/// The unit of the text of a value; UNIT_NONE if the number of the text is not the value.
static FxMeasure
unit_at(const Params* const params, const clap_param_info_t* const info, const double value)
{
  ValueText to;
  Decimal number;
  if (!number_scan(value_text(params, info, value, &to), &number)) {
    return UNIT_NONE;
  }
  const UnitWord* const word = find_unit(number.end + strspn(number.end, " "));
  const double read_number = word ? number_value(&number, word->shift) : 0.0;
  // Texts have few digits.
  return word && fabs(read_number - value) <= 0.01 * fabs(value) + 0.05 ? word->unit : UNIT_NONE;
}

/// The unit that the texts of the default and of another end of the range agree on.
static FxMeasure
find_measure(const Params* const params, const clap_param_info_t* const info, const double initial)
{
  const FxMeasure unit = unit_at(params, info, initial);
  const double ends[] = { info->min_value, info->max_value };
  bool is_sure = false;
  for (uint32_t e = 0; e < ARRAY_LEN(ends); ++e) {
    is_sure = is_sure || (ends[e] != initial && unit_at(params, info, ends[e]) == unit);
  }
  return is_sure ? unit : UNIT_NONE;
}

// ---- names of values ----

/// True if the text only repeats the value.
static bool
is_number(const char* const text, const double value)
{
  Decimal number;
  return number_scan(text, &number) && number_value(&number, 0) == value;
}

static bool
has_label(const PluginPoint* const points, const uint32_t n_points, const char* const label)
{
  uint32_t p = 0;
  while (p < n_points && strcmp(points[p].label, label) != 0) {
    ++p;
  }
  return p < n_points;
}

/// Find the names of the values of a stepped parameter.  A choice has a name for each.
static void
find_points(const Params* const params, const clap_param_info_t* const info, PluginPort* const port)
{
  const bool is_enum = info->flags & CLAP_PARAM_IS_ENUM;
  const double n_steps = port->max - port->min + 1.0;
  if (n_steps > (is_enum ? PLUGIN_MAX_POINTS : MAX_STEPS)) {
    return;
  }
  PluginPoint* const points =
      arena_take(&params->description->arena, (size_t)n_steps, sizeof(PluginPoint));
  for (uint32_t step = 0; points && step < n_steps; ++step) {
    const double value = port->min + step;
    ValueText to;
    const char* const text = value_text(params, info, value, &to);
    if (text[0] && !is_number(text, value) && !has_label(points, port->n_points, text)) {
      points[port->n_points++] =
          (PluginPoint){ value, description_text(params->description, text) };
    }
  }
  port->points = points;
  port->flags |= port->n_points == n_steps ? PORT_CHOICE : PORT_NO_FLAGS;
}

/// True for 0 and 1 with the names of a switch, or without names.
static bool
is_switch(const PluginPort* const port)
{
  static const char* const names[][2] = {
    { "off", "on" }, { "no", "yes" }, { "false", "true" }, { "disabled", "enabled" }
  };
  bool has_names = false;
  for (size_t n = 0; n < ARRAY_LEN(names) && port->n_points == 2U; ++n) {
    has_names = has_names || (!strcasecmp(port->points[0].label, names[n][0]) &&
                              !strcasecmp(port->points[1].label, names[n][1]));
  }
  return port->min == 0.0 && port->max == 1.0 && (has_names || !port->n_points);
}

static void
describe_steps(const Params* const params, const clap_param_info_t* const info,
               PluginPort* const port)
{
  port->flags |= PORT_INTEGER;
  port->min = trunc(port->min);
  port->max = trunc(port->max);
  port->initial = trunc(port->initial);
  find_points(params, info, port);
  if (is_switch(port)) {
    port->n_points = 0;
    port->flags = (port->flags & ~(uint32_t)(PORT_CHOICE | PORT_INTEGER)) | PORT_TOGGLED;
  }
}

// ---- parameters ----

static uint32_t
port_flags(const clap_param_info_flags flags)
{
  // No ramp for a periodic parameter, where it would pass 180 degrees between 350 and 10, nor for
  // one without the flag for automation: each value may activate the plugin again.
  const bool has_ramp = flags & CLAP_PARAM_IS_AUTOMATABLE && !(flags & CLAP_PARAM_IS_PERIODIC);
  return (flags & CLAP_PARAM_IS_READONLY ? PORT_OUTPUT : PORT_NO_FLAGS) |
         (flags & CLAP_PARAM_IS_HIDDEN ? PORT_HIDDEN : PORT_NO_FLAGS) |
         (flags & CLAP_PARAM_IS_BYPASS ? PORT_BYPASS : PORT_NO_FLAGS) |
         (has_ramp ? PORT_NO_FLAGS : PORT_STEPPED);
}

/// True if another parameter has the same name.
static bool
is_ambiguous(const Params* const params, const uint32_t index)
{
  bool is_equal = false;
  for (uint32_t i = 0; i < params->n && !is_equal; ++i) {
    is_equal = i != index && !strcmp(params->infos[i].name, params->infos[index].name);
  }
  return is_equal;
}

/// The name of a parameter, with the last part of its module before it if others have that name.
static const char*
find_name(const Params* const params, const uint32_t index)
{
  const clap_param_info_t* const info = &params->infos[index];
  const char* const slash = strrchr(info->module, '/');
  const char* const module = slash ? slash + 1 : info->module;
  char name[CLAP_NAME_SIZE + CLAP_PATH_SIZE];
  if (!info->name[0]) {
    snprintf(name, sizeof(name), "Parameter %u", info->id);
    description_mend(params->description, "no name", name);
  } else {
    const bool has_module = module[0] && is_ambiguous(params, index);
    snprintf(name, sizeof(name), "%s%s%s", has_module ? module : "", has_module ? " " : "",
             info->name);
  }
  return description_text(params->description, name);
}

static bool
is_repeated(const Params* const params, const uint32_t index)
{
  uint32_t i = 0;
  while (i < index && params->infos[i].id != params->infos[index].id) {
    ++i;
  }
  return i < index;
}

/// Why a parameter cannot be used, or NULL.
static const char*
find_defect(const Params* const params, const uint32_t index)
{
  const clap_param_info_t* const info = &params->infos[index];
  return info->id == CLAP_INVALID_ID || is_repeated(params, index)  ? "id of another parameter"
         : !isfinite(info->min_value) || !isfinite(info->max_value) ? "range that is not finite"
         : info->min_value > info->max_value ? "lower bound above the upper bound"
                                             : NULL;
}

/// A number that is a float in the plugin as a decimal number, as its maker wrote it.
static double
as_written(const double number)
{
  return (double)(float)number == number ? description_shortest((float)number) : number;
}

static void
describe_range(const Params* const params, const clap_param_info_t* const info,
               PluginPort* const port)
{
  const double value = as_written(info->default_value);
  port->min = as_written(info->min_value);
  port->max = as_written(info->max_value);
  port->initial = fmin(fmax(value, port->min), port->max);
  if (port->initial != value) {
    description_mend(params->description, "default outside the bounds", info->name);
  }
}

static void
describe_param(const Params* const params, const uint32_t index)
{
  const clap_param_info_t* const info = &params->infos[index];
  const char* const defect = find_defect(params, index);
  if (defect) {
    description_mend(params->description, defect, info->name);
    return;
  }
  PluginPort port = {
    .index = info->id,
    .type = PORT_CONTROL,
    .flags = port_flags(info->flags),
    .name = find_name(params, index),
    .group = "",
    .uri = "",
  };
  describe_range(params, info, &port);
  if (info->flags & (CLAP_PARAM_IS_STEPPED | CLAP_PARAM_IS_BYPASS)) {
    describe_steps(params, info, &port);
  }
  port.unit = port.flags & (PORT_TOGGLED | PORT_CHOICE) ? UNIT_NONE
                                                        : find_measure(params, info, port.initial);
  description_add_port(params->description, &port);
}

/// Read the plugin's descriptions of its parameters.
static void
read_infos(Params* const params, const uint32_t n)
{
  for (uint32_t i = 0; params->infos && i < n; ++i) {
    clap_param_info_t* const info = &params->infos[params->n];
    if (params->calls->get_info(params->clap, i, info)) {
      info->name[CLAP_NAME_SIZE - 1] = '\0';
      info->module[CLAP_PATH_SIZE - 1] = '\0';
      ++params->n;
    } else {
      description_mend(params->description, "parameter that is not described", "");
    }
  }
}

uint32_t
clap_params_count(const clap_plugin_t* const clap)
{
  const clap_plugin_params_t* const calls = find_calls(clap);
  return calls ? calls->count(clap) : 0U;
}

void
clap_params_describe(Description* const description, const clap_plugin_t* const clap)
{
  Params params = { .description = description, .clap = clap, .calls = find_calls(clap) };
  const uint32_t n = params.calls ? params.calls->count(clap) : 0U;
  params.infos = arena_take(&description->arena, n, sizeof(*params.infos));
  read_infos(&params, n);
  for (uint32_t i = 0; i < params.n; ++i) {
    describe_param(&params, i);
  }
}
