// SPDX-License-Identifier: GPL-3.0-or-later
// warprack info: prints one effect or plugin and its parameters, from the effect's table.

#include "catalogue_file.h"
#include "commands.h"
#include "options.h"
#include "report_text.h"

#include "engine/base/hint.h"
#include "engine/base/text.h"
#include "engine/contract/effect.h"
#include "engine/rack/rack.h"
#include "plugins/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int info_run(int argc, char** argv);

const Command cmd_info = {
  .name = "info",
  .usage = "[options] [FORMAT] EFFECT|PLUGIN",
  .summary = "Show the parameters of an effect or a plugin: unit, range, default, help",
  .run = info_run,
};

static bool
is_number(const FxParam* const param)
{
  return param->kind == PARAM_NUMBER || param->kind == PARAM_INTEGER;
}

static const char*
default_choice(const FxParam* const param)
{
  uint32_t c = 0;
  while (param->choices[c] && fx_choice_number(param, c) != param->initial) {
    ++c;
  }
  return param->choices[c] ? param->choices[c] : "";
}

// ---- text ----

/// The names of some numbers of a parameter.
static void
print_names(const FxParam* const param)
{
  for (uint32_t i = 0; param->choices && param->choices[i]; ++i) {
    printf("%s%s=%.10g", i ? ", " : " (", param->choices[i], fx_choice_number(param, i));
  }
  printf(param->choices && param->choices[0] ? ")" : "");
}

static void
print_values(const FxParam* const param)
{
  switch (param->kind) {
  case PARAM_NUMBER:
  case PARAM_INTEGER:
    printf("%.10g to %.10g", param->min, param->max);
    break;
  case PARAM_SWITCH:
    printf("off|on");
    break;
  case PARAM_CHOICE:
    for (uint32_t i = 0; param->choices[i]; ++i) {
      printf("%s%s", i ? "|" : "", param->choices[i]);
    }
    break;
  case PARAM_FILE:
  case PARAM_PATH:
  case PARAM_TEXT:
    printf("%s", fx_kind_words[param->kind]);
    break;
  }
  if (fx_unit_words[param->unit][0]) {
    printf(" %s", fx_unit_words[param->unit]);
  }
  if (param->unit == UNIT_LINEAR) {
    printf(", accepts dB");
  }
  if (is_number(param)) {
    print_names(param);
    printf(param->taper ? ", taper %s" : "", fx_taper_words[param->taper]);
  }
}

static void
print_default(const FxParam* const param)
{
  if (is_number(param)) {
    printf(", default %.10g", param->initial);
  } else if (fx_param_is_text(param)) {
    printf(param->initial_text ? ", default %s" : ", no default", param->initial_text);
  } else if (param->kind == PARAM_SWITCH) {
    printf(", default %s", param->initial != 0.0 ? "on" : "off");
  } else {
    printf(", default %s", default_choice(param));
  }
}

/// How a change of a parameter is applied.  For plugins only numbers move in small steps.
static const char*
change_text(const FxInfo* const fx, const uint32_t param)
{
  const int32_t port = fx->origin ? plugin_of(fx)->param_ports[param] : 0;
  if (fx->params[param].of_engine == FX_RAMP_TIME) {
    return "a change applies to later changes";
  }
  if (fx->params[param].follows_tempo) {
    return "follows the tempo of the rack; a change is one step";
  }
  if (fx->params[param].of_engine) {
    return fx->params[param].structural ? "a change is an edit, which fades connections"
                                        : "a change fades";
  }
  if (fx->params[param].structural || fx_param_is_text(&fx->params[param])) {
    return "a change cross-fades to a new node";
  }
  const bool is_stepped =
      fx->origin && port >= 0 &&
      (fx->params[param].kind != PARAM_NUMBER || plugin_of(fx)->ports[port].flags & PORT_STEPPED);
  return is_stepped ? "a change is one step" : "a change is ramped";
}

static void
print_params(const FxInfo* const fx)
{
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    const FxParam* const param = &fx->params[p];
    printf("\n  %s\n      %s\n      ", param->id, param->help);
    print_values(param);
    print_default(param);
    printf("; %s\n", change_text(fx, p));
  }
}

/// The channels of a side input, "" for as many as the effect has.
static const char*
side_width(const FxSide* const side, char text[const 24])
{
  snprintf(text, 24, side->n_channels == 1U ? " (1 channel)" : " (%u channels)", side->n_channels);
  return side->n_channels ? text : "";
}

static void
print_sides(const FxInfo* const fx)
{
  char width[24];
  for (uint32_t s = 0; s < fx->n_sides; ++s) {
    printf("%-12s%s%s\n", s ? "" : "side inputs", fx->sides[s].name,
           side_width(&fx->sides[s], width));
  }
}

static int
print_effect(const FxInfo* const fx)
{
  printf("%s: %s\n", fx->name, fx->summary);
  print_params(fx);
  printf(fx->n_sides ? "\n" : "");
  print_sides(fx);
  printf("\nAgrees across backends and block sizes to %.3g (%s).\n", fx->tolerance,
         fx->tolerance_reason);
  return 0;
}

// ---- JSON ----

static json_t*
default_json(const FxParam* const param)
{
  switch (param->kind) {
  case PARAM_NUMBER:
    return json_real(param->initial);
  case PARAM_INTEGER:
    return json_integer((json_int_t)param->initial);
  case PARAM_SWITCH:
    return json_boolean(param->initial != 0.0);
  case PARAM_CHOICE:
    return json_string(default_choice(param));
  case PARAM_FILE:
  case PARAM_PATH:
  case PARAM_TEXT:
    return param->initial_text ? json_string(param->initial_text) : json_null();
  }
  return NULL;
}

static json_t*
param_json(const FxParam* const param)
{
  json_t* const json =
      json_pack("{ss ss ss so sb ss}", "id", param->id, "kind", fx_kind_words[param->kind], "unit",
                fx_unit_words[param->unit], "default", default_json(param), "structural",
                param->structural || fx_param_is_text(param), "help", param->help);
  if (is_number(param)) {
    json_object_set_new(json, "min", json_real(param->min));
    json_object_set_new(json, "max", json_real(param->max));
    json_object_set_new(json, "taper", json_string(fx_taper_words[param->taper]));
  }
  if (param->choices) {
    json_t* const choices = json_array();
    json_t* const values = json_array();
    for (uint32_t i = 0; param->choices[i]; ++i) {
      json_array_append_new(choices, json_string(param->choices[i]));
      json_array_append_new(values, json_real(fx_choice_number(param, i)));
    }
    json_object_set_new(json, "choices", choices);
    json_object_set_new(json, "choice_values", values);
  }
  return json;
}

static json_t*
params_json(const FxInfo* const fx)
{
  json_t* const params = json_array();
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    json_array_append_new(params, param_json(&fx->params[p]));
  }
  return params;
}

static json_t*
sides_json(const FxInfo* const fx)
{
  json_t* const sides = json_array();
  for (uint32_t s = 0; s < fx->n_sides; ++s) {
    json_array_append_new(sides, json_pack("{ss si}", "name", fx->sides[s].name, "channels",
                                           (int)fx->sides[s].n_channels));
  }
  return sides;
}

static json_t*
effect_json(const FxInfo* const fx)
{
  return json_pack("{ss ss sb sf ss so so}", "name", fx->name, "summary", fx->summary,
                   "offline_only", fx->offline_only, "tolerance", fx->tolerance, "tolerance_reason",
                   fx->tolerance_reason, "params", params_json(fx), "side_inputs", sides_json(fx));
}

// ---- plugins ----

/// Number of audio ports with these of the two flags.
static uint32_t
count_audio(const Plugin* const plugin, const uint32_t flags)
{
  uint32_t n = 0;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    const PluginPort* const port = &plugin->ports[p];
    n += port->type == PORT_AUDIO && (port->flags & (PORT_OUTPUT | PORT_SIDECHAIN)) == flags;
  }
  return n;
}

static bool
reports_latency(const Plugin* const plugin)
{
  bool reports = false;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    reports = reports || plugin->ports[p].flags & PORT_LATENCY;
  }
  return reports;
}

static void
print_fact(const char* const name, const char* const value)
{
  if (value[0]) {
    printf("%-12s%s\n", name, value);
  }
}

/// Print how a rack names the plugin.
static void
print_rack_words(const FxOrigin* const origin)
{
  char* const quoted = malloc(rack_quote(origin->id, NULL));
  if (quoted) {
    rack_quote(origin->id, quoted);
    printf("%-12s%s %s\n", "in a rack", origin->format, quoted);
  }
  free(quoted);
}

static int
print_plugin(const Plugin* const plugin)
{
  printf("%s: %s\n", plugin->fx.name, plugin->name);
  print_params(&plugin->fx);
  printf("\n");
  print_rack_words(&plugin->origin);
  print_fact("format", plugin->origin.format);
  print_fact("id", plugin->origin.id);
  print_fact("maker", plugin->maker);
  print_fact("category", plugin->category);
  print_fact("licence", plugin->licence);
  char* const file = text_printable_copy(plugin->binary);
  print_fact("file", file ? file : "");
  free(file);
  printf("%-12s%u\n", "inputs", count_audio(plugin, 0));
  print_sides(&plugin->fx);
  printf("%-12s%u\n", "outputs", count_audio(plugin, PORT_OUTPUT));
  print_fact("takes", plugin->fx.event ? "notes" : "");
  if (!plugin->report) {
    print_fact("latency", reports_latency(plugin) ? "reported" : "not reported");
  }
  report_text_print(plugin);
  for (uint32_t p = 0; p < plugin->n_presets; ++p) {
    print_fact(p ? "" : "presets", plugin->presets[p].name);
  }
  print_fact("notes", plugin->notes);
  print_fact("fault", plugin->fault);
  return 0;
}

static json_t*
plugin_json(const Plugin* const plugin)
{
  json_t* const presets = json_array();
  for (uint32_t p = 0; p < plugin->n_presets; ++p) {
    json_array_append_new(presets, json_string(plugin->presets[p].name));
  }
  return json_pack("{ss ss ss ss ss ss ss so si so si sb sb so so ss ss so}", "short_name",
                   plugin->fx.name, "format", plugin->origin.format, "id", plugin->origin.id,
                   "name", plugin->name, "maker", plugin->maker, "category", plugin->category,
                   "licence", plugin->licence, "file", command_json_text(plugin->binary), "inputs",
                   (int)count_audio(plugin, 0), "side_inputs", sides_json(&plugin->fx), "outputs",
                   (int)count_audio(plugin, PORT_OUTPUT), "takes_notes", plugin->fx.event != NULL,
                   "reports_latency", (int)reports_latency(plugin), "report",
                   report_text_json(plugin), "presets", presets, "notes", plugin->notes, "fault",
                   plugin->fault, "params", params_json(&plugin->fx));
}

// ---- search ----

/// Refuse a word that is neither an effect nor a plugin, with the nearest name of both.
static int
refuse(const char* const name)
{
  uint32_t n = 0;
  uint32_t n_plugins = 0;
  const FxInfo* const* const table = fx_table(&n);
  const CatalogueEntry* const entries = catalogue_entries(catalogue_current(), &n_plugins);
  const char** const names = calloc(n + n_plugins, sizeof(char*));
  for (uint32_t i = 0; names && i < n + n_plugins; ++i) {
    names[i] = i < n ? table[i]->name : entries[i - n].short_name;
  }
  const char* const near = names ? nearest_name(name, names, n + n_plugins) : NULL;
  const int exit_code =
      near ? command_misused(&cmd_info, "no effect and no plugin '%s'; did you mean \"%s\"?", name,
                             near)
           : command_misused(&cmd_info,
                             "no effect and no plugin '%s'; `" PROGRAM_NAME
                             " list effects` and `list plugins` show all",
                             name);
  free(names);
  return exit_code;
}

/// Find the format of the plugins that have this id or short name; an id comes first.  NULL: there
/// is none.  `*other` is another format with that short name, or NULL.
static const char*
find_format(const char* const word, const char** const other)
{
  uint32_t n = 0;
  const CatalogueEntry* const entries = catalogue_entries(catalogue_current(), &n);
  const char* format = NULL;
  *other = NULL;
  for (uint32_t e = 0; e < n; ++e) {
    if (!strcmp(entries[e].id, word)) {
      *other = NULL;
      return entries[e].format;
    }
    if (!strcasecmp(entries[e].short_name, word)) {
      *other = format && strcmp(format, entries[e].format) != 0 ? format : *other;
      format = entries[e].format;
    }
  }
  return format;
}

/// Find the plugin that one or two operands name.  Returns an exit code.
static int
find_plugin(const Operands* const operands, const Plugin** const plugin)
{
  Error error = { STATUS_OK, "" };
  if (catalogue_file_use(&cmd_info, &error)) {
    return command_fail(&cmd_info, &error);
  }
  const char* const word = operands->words[operands->n - 1U];
  const char* other = NULL;
  const char* const format = operands->n > 1U ? operands->words[0] : find_format(word, &other);
  if (other) {
    return command_misused(&cmd_info, "both %s and %s have a plugin '%s'; put the format first",
                           other, format, word);
  }
  if (operands->n > 1U && fx_find(format)) {
    return command_misused(&cmd_info, "'%s' is an effect; show it alone: " PROGRAM_NAME " info %s",
                           format, format);
  }
  if (operands->n == 1U && rack_is_format(word)) {
    return command_misused(&cmd_info,
                           "'%s' is a format; name a plugin after it, or see " PROGRAM_NAME
                           " list plugins --format %s",
                           word, word);
  }
  if (!format) {
    return refuse(word);
  }
  return catalogue_find_plugin(format, word, plugin, &error) ? command_fail(&cmd_info, &error) : 0;
}

// ---- the subcommand ----

static int
info_run(const int argc, char** const argv)
{
  bool json = false;
  // clang-format off
  const Option table[] = {
    { "json", 'j', OPTION_FLAG, .to.flag = &json, .help = "Print JSON" },
  };
  // clang-format on
  const OptionTable options = { table, ARRAY_LEN(table), .min_operands = 1, .max_operands = 2 };
  Operands operands;
  if (!options_parse(&cmd_info, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  const FxInfo* const fx = operands.n == 1U ? fx_find(operands.words[0]) : NULL;
  if (fx) {
    return json ? command_print_json(&cmd_info, effect_json(fx)) : print_effect(fx);
  }
  const Plugin* plugin = NULL;
  const int exit_code = find_plugin(&operands, &plugin);
  if (exit_code) {
    return exit_code;
  }
  return json ? command_print_json(&cmd_info, plugin_json(plugin)) : print_plugin(plugin);
}
