// SPDX-License-Identifier: GPL-3.0-or-later
// warprack list: what this build has to offer.

#include "commands.h"
#include "options.h"

#include "../engine/effect.h"

#include <stdio.h>
#include <string.h>

static int list_run(int argc, char** argv);

const Command cmd_list = {
  .name = "list",
  .usage = "[options] effects",
  .summary = "List the effects",
  .run = list_run,
};

static json_t*
effects(void)
{
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  json_t* const array = json_array();
  for (uint32_t i = 0; i < n; ++i) {
    json_array_append_new(
        array, json_pack("{ss ss}", "name", table[i]->name, "summary", table[i]->summary));
  }
  return array;
}

static int
list_run(const int argc, char** const argv)
{
  bool json = false;
  const Option table[] = {
    { "json", 'j', OPTION_FLAG, .help = "Print JSON", .to.flag = &json },
  };
  const OptionTable options = { table, ARRAY_LEN(table), .min_operands = 1, .max_operands = 1 };
  Operands operands;
  if (!options_parse(&cmd_list, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  if (strcmp(operands.words[0], "effects") != 0) {
    return command_misused(&cmd_list, "nothing to list by the name '%s'", operands.words[0]);
  }
  json_t* const array = effects();
  if (json) {
    return command_print_json(&cmd_list, array);
  }
  size_t i;
  json_t* row;
  json_array_foreach(array, i, row)
  {
    printf("%-12s %s\n", json_string_value(json_object_get(row, "name")),
           json_string_value(json_object_get(row, "summary")));
  }
  json_decref(array);
  return 0;
}
