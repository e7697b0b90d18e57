// SPDX-License-Identifier: GPL-3.0-or-later
// warprack info: prints one effect and its parameters, from the effect's table.

#include "commands.h"
#include "options.h"

#include "engine/base/hint.h"
#include "engine/contract/effect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int info_run(int argc, char** argv);

const Command cmd_info = {
  .name = "info",
  .usage = "[options] EFFECT",
  .summary = "Show the parameters of an effect: unit, range, default, help",
  .run = info_run,
};

static const char* const unit_names[] = {
  [UNIT_NONE] = "", [UNIT_HZ] = "Hz",   [UNIT_DB] = "dB",
  [UNIT_MS] = "ms", [UNIT_BPM] = "bpm", [UNIT_DEG] = "deg",
};

static const char* const kind_names[] = {
  [PARAM_NUMBER] = "number", [PARAM_INTEGER] = "integer", [PARAM_SWITCH] = "switch",
  [PARAM_CHOICE] = "choice", [PARAM_FILE] = "file",       [PARAM_TEXT] = "text",
};

static bool
is_number(const FxParam* const param)
{
  return param->kind == PARAM_NUMBER || param->kind == PARAM_INTEGER;
}

static bool
is_text(const FxParam* const param)
{
  return param->kind == PARAM_FILE || param->kind == PARAM_TEXT;
}

// ---- text ----

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
  case PARAM_TEXT:
    printf("%s", kind_names[param->kind]);
    break;
  }
  if (param->unit != UNIT_NONE) {
    printf(" %s", unit_names[param->unit]);
  }
}

static void
print_default(const FxParam* const param)
{
  if (is_number(param)) {
    printf(", default %.10g", param->initial);
  } else if (is_text(param)) {
    printf(param->initial_text ? ", default %s" : ", no default", param->initial_text);
  } else if (param->kind == PARAM_SWITCH) {
    printf(", default %s", param->initial != 0.0 ? "on" : "off");
  } else {
    printf(", default %s", param->choices[(uint32_t)param->initial]);
  }
}

static int
print_info(const FxInfo* const fx)
{
  printf("%s: %s\n", fx->name, fx->summary);
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    const FxParam* const param = &fx->params[p];
    printf("\n  %s\n      %s\n      ", param->id, param->help);
    print_values(param);
    print_default(param);
    printf("%s\n", param->structural || is_text(param) ? "; a change cross-fades to a new node"
                                                       : "; a change is ramped");
  }
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
    return json_string(param->choices[(uint32_t)param->initial]);
  case PARAM_FILE:
  case PARAM_TEXT:
    return param->initial_text ? json_string(param->initial_text) : json_null();
  }
  return NULL;
}

static json_t*
param_json(const FxParam* const param)
{
  json_t* const json =
      json_pack("{ss ss ss so sb ss}", "id", param->id, "kind", kind_names[param->kind], "unit",
                unit_names[param->unit], "default", default_json(param), "structural",
                param->structural || is_text(param), "help", param->help);
  if (is_number(param)) {
    json_object_set_new(json, "min", json_real(param->min));
    json_object_set_new(json, "max", json_real(param->max));
  }
  if (param->kind == PARAM_CHOICE) {
    json_t* const choices = json_array();
    for (uint32_t i = 0; param->choices[i]; ++i) {
      json_array_append_new(choices, json_string(param->choices[i]));
    }
    json_object_set_new(json, "choices", choices);
  }
  return json;
}

static json_t*
info_json(const FxInfo* const fx)
{
  json_t* const params = json_array();
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    json_array_append_new(params, param_json(&fx->params[p]));
  }
  return json_pack("{ss ss sb sf ss so}", "name", fx->name, "summary", fx->summary, "offline_only",
                   fx->offline_only, "tolerance", fx->tolerance, "tolerance_reason",
                   fx->tolerance_reason, "params", params);
}

// ---- the subcommand ----

static int
refuse(const char* const name)
{
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  const char** const names = calloc(n, sizeof(char*));
  for (uint32_t i = 0; names && i < n; ++i) {
    names[i] = table[i]->name;
  }
  char hint[HINT_BYTES];
  const int exit_code = command_misused(&cmd_info, "no effect '%s'; %s", name,
                                        name_hint(hint, name, names, names ? n : 0U));
  free(names);
  return exit_code;
}

static int
info_run(const int argc, char** const argv)
{
  bool json = false;
  // clang-format off
  const Option table[] = {
    { "json", 'j', OPTION_FLAG, .to.flag = &json, .help = "Print JSON" },
  };
  // clang-format on
  const OptionTable options = { table, ARRAY_LEN(table), .min_operands = 1, .max_operands = 1 };
  Operands operands;
  if (!options_parse(&cmd_info, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  const FxInfo* const fx = fx_find(operands.words[0]);
  if (!fx) {
    return refuse(operands.words[0]);
  }
  return json ? command_print_json(&cmd_info, info_json(fx)) : print_info(fx);
}
