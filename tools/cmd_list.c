// SPDX-License-Identifier: GPL-3.0-or-later
// warprack list: what this build and this machine have to offer.

#include "commands.h"
#include "options.h"

#include "../engine/effect.h"
#include "../io/io.h"

#include <stdio.h>
#include <string.h>

#define MAX_COLUMNS 8U

static int list_run(int argc, char** argv);

const Command cmd_list = {
  .name = "list",
  .usage = "[options] backends|devices|drivers|effects",
  .summary = "List what there is: backends, devices, drivers, effects",
  .run = list_run,
};

/// One thing that can be listed: an array of objects, and which members people see.
typedef struct Listing {
  const char* name;
  json_t* (*rows)(void);
  const char* columns[MAX_COLUMNS]; ///< NULL-terminated
} Listing;

static json_t*
effects(void)
{
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  json_t* const rows = json_array();
  for (uint32_t i = 0; i < n; ++i) {
    json_array_append_new(rows,
                          json_pack("{ss ss sb}", "name", table[i]->name, "summary",
                                    table[i]->summary, "offline_only", table[i]->offline_only));
  }
  return rows;
}

static json_t*
backends(void)
{
  return json_pack("[{ss sb ss} {ss sb ss} {ss sb ss}]", //
                   "name", "cpu", "available", 1, "summary", "SIMD code on this machine's cores",
                   "name", "cuda", "available", 0, "summary", "Not in this build", "name", "opencl",
                   "available", 0, "summary", "Not in this build");
}

static json_t*
drivers(void)
{
  uint32_t n = 0;
  const IoDriver* const* const table = io_drivers(&n);
  json_t* const rows = json_array();
  for (uint32_t i = 0; i < n; ++i) {
    json_array_append_new(
        rows, json_pack("{ss ss}", "name", table[i]->name, "summary", table[i]->summary));
  }
  return rows;
}

/// The audio devices of all drivers that can tell.
static json_t*
devices(void)
{
  uint32_t n = 0;
  const IoDriver* const* const table = io_drivers(&n);
  json_t* const rows = json_array();
  for (uint32_t i = 0; i < n; ++i) {
    json_t* const found = table[i]->devices ? table[i]->devices() : NULL;
    size_t d;
    json_t* device;
    json_array_foreach(found, d, device)
    {
      json_object_set_new(device, "driver", json_string(table[i]->name));
      json_array_append(rows, device);
    }
    json_decref(found);
  }
  return rows;
}

static const Listing listings[] = {
  { "backends", backends, { "name", "summary", NULL } },
  { "devices", devices, { "driver", "host_api", "name", "inputs", "outputs", "rate_hz", NULL } },
  { "drivers", drivers, { "name", "summary", NULL } },
  { "effects", effects, { "name", "summary", NULL } },
};

// ---- for people ----

static const char*
cell_text(const json_t* const row, const char* const column, char* const buffer,
          const size_t n_bytes)
{
  const json_t* const value = json_object_get(row, column);
  if (json_is_string(value)) {
    return json_string_value(value);
  }
  if (json_is_number(value)) {
    snprintf(buffer, n_bytes, "%.10g", json_number_value(value));
  } else {
    snprintf(buffer, n_bytes, "%s", json_is_true(value) ? "yes" : "");
  }
  return buffer;
}

static void
print_rows(const json_t* const rows, const char* const* const columns)
{
  char buffer[32];
  int widths[MAX_COLUMNS] = { 0 };
  size_t i;
  json_t* row;
  json_array_foreach(rows, i, row)
  {
    for (uint32_t c = 0; columns[c]; ++c) {
      const int width = (int)strlen(cell_text(row, columns[c], buffer, sizeof(buffer)));
      widths[c] = width > widths[c] ? width : widths[c];
    }
  }
  json_array_foreach(rows, i, row)
  {
    for (uint32_t c = 0; columns[c]; ++c) {
      const int width = columns[c + 1U] ? widths[c] + 2 : 0; // no blanks at the end of a line
      printf("%-*s", width, cell_text(row, columns[c], buffer, sizeof(buffer)));
    }
    putchar('\n');
  }
}

// ---- the subcommand ----

static const Listing*
find_listing(const char* const name)
{
  const char* names[ARRAY_LEN(listings)];
  for (uint32_t i = 0; i < ARRAY_LEN(listings); ++i) {
    names[i] = listings[i].name;
    if (!strcmp(name, names[i])) {
      return &listings[i];
    }
  }
  const char* const near = nearest_name(name, names, ARRAY_LEN(names));
  if (near) {
    command_misused(&cmd_list, "nothing to list by the name '%s'; did you mean %s?", name, near);
  } else {
    command_misused(&cmd_list, "nothing to list by the name '%s'", name);
  }
  return NULL;
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
  const Listing* const listing = find_listing(operands.words[0]);
  if (!listing) {
    return status_exit_code(STATUS_BAD_ARG);
  }
  json_t* const rows = listing->rows();
  if (json) {
    return command_print_json(&cmd_list, rows);
  }
  if (!json_array_size(rows)) {
    fprintf(stderr, PROGRAM_NAME " list: no %s here\n", listing->name);
  }
  print_rows(rows, listing->columns);
  json_decref(rows);
  return 0;
}
