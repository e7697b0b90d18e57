// SPDX-License-Identifier: GPL-3.0-or-later
// warprack list: lists effects, drivers, devices and plugins of this build and this machine, and
// the states in a folder.

#include "catalogue_file.h"
#include "commands.h"
#include "options.h"
#include "state_list.h"

#include "dsp_gpu/gpu.h"
#include "engine/base/hint.h"
#include "engine/base/text.h"
#include "engine/contract/effect.h"
#include "engine/engine.h"
#include "engine/rack/rack.h"
#include "io/io.h"
#include "plugins/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_COLUMNS 12U
#define ANY_FORMAT  UINT32_MAX

// The cost of a submission is measured with an empty rack in this format.  On a GPU the measurement
// takes some 50 ms, longer than the time slices of another program.
#define MEASURED_BLOCKS 200U
#define GPU_BLOCKS      4000U
#define SHARED_FROM     0.1 // stalled share of the time from which a GPU counts as shared
#define MEASURED_FRAMES 64U
#define MEASURED_HZ     48000.0

static int list_run(int argc, char** argv);

const Command cmd_list = {
  .name = "list",
  .usage = "[options] backends|devices|drivers|effects|plugins [WORD ...]|states DIR [RACK ...]",
  .summary =
      "List backends, devices, drivers, effects, plugins in which all words occur, or states",
  .run = list_run,
};

/// The words of plugin formats, also of those that this build leaves out.
static const char* const formats[] = { "clap", "ladspa", "lv2", NULL };

typedef struct ListArgs {
  bool json;
  bool measures; ///< Devices
  // of plugins only
  bool all;
  uint32_t format; ///< Place in `formats`; ANY_FORMAT: all
  char** words;    ///< [n_words]
  uint32_t n_words;
  // of states only
  bool unused;
  json_t* states; ///< Borrowed
} ListArgs;

/// Rows of one kind: an array of objects, and the members that the text output shows.
typedef struct Table {
  json_t* (*rows)(const ListArgs* args);
  const char* columns[MAX_COLUMNS]; ///< NULL-terminated
} Table;

/// A subject of `list`.  JSON has the rows of all its tables in one array.
typedef struct Listing {
  const char* name;
  Table tables[2]; ///< The second may be empty
} Listing;

static json_t*
effects(const ListArgs* const args)
{
  (void)args;
  uint32_t n = 0;
  const FxInfo* const* const table = fx_table(&n);
  json_t* const rows = json_array();
  for (uint32_t i = 0; i < n; ++i) {
    json_array_append_new(rows, json_pack("{ss ss sb sb}", "name", table[i]->name, "summary",
                                          table[i]->summary, "offline_only", table[i]->offline_only,
                                          "has_kernel", table[i]->kernel != NULL));
  }
  return rows;
}

static uint32_t
count_kernels(void)
{
  uint32_t n = 0;
  uint32_t n_kernels = 0;
  const FxInfo* const* const table = fx_table(&n);
  for (uint32_t i = 0; i < n; ++i) {
    n_kernels += table[i]->kernel != NULL;
  }
  return n_kernels;
}

static json_t*
gpu_backend(const EngineBackend kind)
{
  const GpuApi* const api = gpu_api_find(kind);
  Error error = { STATUS_OK, "" };
  char summary[sizeof(error.text)];
  uint32_t n_devices = 0;
  if (!api) {
    snprintf(summary, sizeof(summary),
             "not in this build; the output of meson setup names what is missing");
  } else if (api->load(&error)) {
    snprintf(summary, sizeof(summary), "%s", error.text);
  } else {
    n_devices = api->n_devices();
    uint32_t n_effects = 0;
    fx_table(&n_effects);
    snprintf(summary, sizeof(summary), "%u device%s; %u of %u effects run there", n_devices,
             n_devices == 1 ? "" : "s", count_kernels(), n_effects);
  }
  return json_pack("{ss sb ss}", "name", engine_backend_names[kind], "available", n_devices > 0,
                   "summary", summary);
}

static json_t*
backends(const ListArgs* const args)
{
  (void)args;
  json_t* const rows = json_pack("[{ss sb ss}]", "name", "cpu", "available", 1, "summary",
                                 "SIMD code on this machine's cores");
  for (uint32_t b = ENGINE_BACKEND_CPU + 1U; b < ENGINE_N_BACKENDS; ++b) {
    json_array_append_new(rows, gpu_backend((EngineBackend)b));
  }
  return rows;
}

static json_t*
drivers(const ListArgs* const args)
{
  (void)args;
  uint32_t n = 0;
  const IoDriver* const* const table = io_drivers(&n);
  json_t* const rows = json_array();
  for (uint32_t i = 0; i < n; ++i) {
    json_array_append_new(
        rows, json_pack("{ss ss}", "name", table[i]->name, "summary", table[i]->summary));
  }
  return rows;
}

/// The audio devices of all drivers that can list them.
static json_t*
audio_devices(const ListArgs* const args)
{
  (void)args;
  uint32_t n = 0;
  const IoDriver* const* const table = io_drivers(&n);
  json_t* const rows = json_array();
  for (uint32_t i = 0; i < n; ++i) {
    json_t* const found = table[i]->devices ? table[i]->devices() : NULL;
    size_t d;
    json_t* device;
    json_array_foreach(found, d, device)
    {
      json_object_set_new(device, "kind", json_string("audio"));
      json_object_set_new(device, "driver", json_string(table[i]->name));
      json_array_append(rows, device);
    }
    json_decref(found);
  }
  return rows;
}

static json_t*
gpu_device(const GpuApi* const api, const uint32_t index, const GpuDeviceInfo* const info)
{
  char capability[16];
  snprintf(capability, sizeof(capability), "%u.%u", info->capability / 10U, info->capability % 10U);
  return json_pack("{ss ss si ss ss ss? sI sI si si sb sb sb sb}", "kind", "compute", "api",
                   engine_backend_names[api->kind], "index", (int)index, "name", info->name,
                   "driver", info->driver, "capability", info->capability ? capability : NULL,
                   "memory_bytes", (json_int_t)info->memory_bytes, "largest_buffer_bytes",
                   (json_int_t)info->largest_bytes, "compute_units", (int)info->compute_units,
                   "local_bytes", (int)info->local_bytes, "is_gpu", info->is_gpu, "shares_memory",
                   info->shares_memory, "reaches_host", info->reaches_host, "ends_kernels",
                   info->ends_kernels);
}

/// Append to the member "note" of a row.
static void
add_note(json_t* const row, const char* const text)
{
  const char* const note = json_string_value(json_object_get(row, "note"));
  json_object_set_new(row, "note",
                      json_sprintf("%s%s%s", note ? note : "", note ? "; " : "", text));
}

/// Add the time of an empty submission to a device's row, or the reason why it cannot be measured.
static void
measure_device(json_t* const row, const GpuApi* const api, const uint32_t index,
               const GpuDeviceInfo* const info)
{
  const EngineConfig config = { .n_in = 2, .backend = api->kind, .gpu_index = index };
  Error error = { STATUS_OK, "" };
  EnginePrediction prediction;
  Rack* rack = NULL; // connects input to output
  Status status = rack_parse("", "rack", NULL, &rack, &error);
  if (!status) {
    status = engine_predict(&config, rack, MEASURED_HZ, MEASURED_FRAMES,
                            info->is_gpu ? GPU_BLOCKS : MEASURED_BLOCKS, &prediction, &error);
  }
  rack_free(rack);
  if (status) {
    json_object_set_new(row, "submission_error", command_json_text(error.text));
  } else {
    json_object_set_new(row, "submission_us_p50", json_real(prediction.block_ns_p50 / 1e3));
    json_object_set_new(row, "submission_us_p99", json_real(prediction.block_ns_p99 / 1e3));
    json_object_set_new(row, "stalled_share", json_real(prediction.stalled_share));
    if (info->is_gpu && prediction.stalled_share > SHARED_FROM) {
      add_note(row, "stalls: another program seems to use it");
    }
  }
}

/// The devices of CUDA and OpenCL.
static json_t*
gpu_devices(const ListArgs* const args)
{
  uint32_t n = 0;
  const GpuApi* const* const apis = gpu_apis(&n);
  json_t* const rows = json_array();
  for (uint32_t a = 0; a < n; ++a) {
    const uint32_t n_devices = apis[a]->load(NULL) ? 0 : apis[a]->n_devices();
    for (uint32_t d = 0; d < n_devices; ++d) {
      GpuDeviceInfo info;
      if (!apis[a]->describe(d, &info, NULL)) {
        json_t* const row = gpu_device(apis[a], d, &info);
        if (info.ends_kernels) {
          add_note(row, "seems to have a display, which delays blocks");
        }
        if (args->measures) {
          measure_device(row, apis[a], d, &info);
        }
        json_array_append_new(rows, row);
      }
    }
  }
  return rows;
}

// ---- plugins ----

/// The word for what a plugin takes besides audio.
static const char*
what_it_takes(const Catalogue* const catalogue, const CatalogueEntry* const entry)
{
  uint32_t n_entries = 0;
  size_t n_bytes = 0;
  const uint32_t place = (uint32_t)(entry - catalogue_entries(catalogue, &n_entries));
  const char* const text = catalogue_description(catalogue, place, &n_bytes);
  return plugin_text_takes_notes(text, n_bytes) ? "notes" : "";
}

static bool
has_word(const CatalogueEntry* const entry, const char* const takes, const char* const word)
{
  return strcasestr(entry->id, word) || strcasestr(entry->name, word) ||
         strcasestr(entry->short_name, word) || !strcasecmp(takes, word) ||
         strcasestr(entry->maker, word) || strcasestr(entry->category, word);
}

/// True if all words of the command line occur in a plugin.
static bool
has_words(const ListArgs* const args, const CatalogueEntry* const entry, const char* const takes)
{
  bool has_all = true;
  for (uint32_t w = 0; w < args->n_words; ++w) {
    has_all = has_all && has_word(entry, takes, args->words[w]);
  }
  return has_all;
}

static bool
is_of_format(const ListArgs* const args, const char* const format)
{
  return args->format == ANY_FORMAT || !strcmp(formats[args->format], format);
}

static void
add_plugin(json_t* const rows, const ListArgs* const args, const Catalogue* const catalogue,
           const CatalogueEntry* const entry)
{
  const char* const takes = what_it_takes(catalogue, entry);
  if (is_of_format(args, entry->format) && has_words(args, entry, takes) &&
      (args->all || !entry->fault[0])) {
    json_array_append_new(
        rows, json_pack("{ss ss ss ss ss ss ss ss}", "short_name", entry->short_name, "format",
                        entry->format, "name", entry->name, "category", entry->category, "takes",
                        takes, "maker", entry->maker, "id", entry->id, "fault", entry->fault));
  }
}

/// Add a bundle that could not be described.
static void
add_failed(json_t* const rows, const ListArgs* const args, const CatalogueBundle* const bundle)
{
  char* const path = text_printable_copy(bundle->path);
  const CatalogueEntry as_entry = {
    .id = path ? path : "", .name = "", .short_name = "", .maker = "", .category = ""
  };
  if (is_of_format(args, bundle->format) && has_words(args, &as_entry, "")) {
    json_array_append_new(rows, json_pack("{ss ss ss ss ss ss ss ss}", "short_name", "-", "format",
                                          bundle->format, "name", "", "category", "", "takes", "",
                                          "maker", "", "id", as_entry.id, "fault", bundle->fault));
  }
  free(path);
}

static int
compare_entries(const void* const a, const void* const b)
{
  const CatalogueEntry* const left = *(const CatalogueEntry* const*)a;
  const CatalogueEntry* const right = *(const CatalogueEntry* const*)b;
  const int names = strcasecmp(left->short_name, right->short_name);
  const int order = names ? names : strcmp(left->format, right->format);
  return order ? order : strcmp(left->id, right->id);
}

/// The plugins in the order of their names.
static json_t*
plugins(const ListArgs* const args)
{
  uint32_t n = 0;
  const Catalogue* const catalogue = catalogue_current();
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  const CatalogueEntry** const sorted = calloc(n + 1U, sizeof(*sorted));
  json_t* const rows = sorted ? json_array() : NULL;
  for (uint32_t e = 0; rows && e < n; ++e) {
    sorted[e] = &entries[e];
  }
  if (rows) {
    qsort(sorted, n, sizeof(*sorted), compare_entries);
  }
  for (uint32_t e = 0; rows && e < n; ++e) {
    add_plugin(rows, args, catalogue, sorted[e]);
  }
  const CatalogueBundle* const bundles = catalogue_bundles(catalogue, &n);
  for (uint32_t b = 0; rows && args->all && b < n; ++b) {
    if (bundles[b].fault[0]) {
      add_failed(rows, args, &bundles[b]);
    }
  }
  free(sorted);
  return rows;
}

static json_t*
states(const ListArgs* const args)
{
  return json_incref(args->states);
}

static const Listing listings[] = {
  { "backends", { { backends, { "name", "summary", NULL } } } },
  { "devices",
    { { audio_devices, { "driver", "host_api", "name", "inputs", "outputs", "rate_hz", NULL } },
      { gpu_devices,
        { "api", "index", "name", "driver", "memory_bytes", "capability", "is_gpu",
          "submission_us_p50", "submission_us_p99", "submission_error", "note", NULL } } } },
  { "drivers", { { drivers, { "name", "summary", NULL } } } },
  { "effects", { { effects, { "name", "summary", NULL } } } },
  { "plugins",
    { { plugins,
        { "short_name", "format", "name", "category", "takes", "maker", "id", "fault", NULL } } } },
  { "states", { { states, { "name", "bytes", "uses", NULL } } } },
};

// ---- text ----

static const char*
cell_text(const json_t* const row, const char* const column, char* const buffer,
          const size_t n_bytes)
{
  const json_t* const value = json_object_get(row, column);
  if (json_is_string(value)) {
    return json_string_value(value);
  }
  if (!strcmp(column, "memory_bytes")) {
    snprintf(buffer, n_bytes, "%.1f GiB", json_number_value(value) / 1073741824.0);
  } else if (!strncmp(column, "submission_us", 13) && value) {
    snprintf(buffer, n_bytes, "%s %.1f us", strrchr(column, '_') + 1, json_number_value(value));
  } else if (json_is_number(value)) {
    snprintf(buffer, n_bytes, "%.10g", json_number_value(value));
  } else if (!strcmp(column, "is_gpu")) {
    snprintf(buffer, n_bytes, "%s", json_is_true(value) ? "GPU" : "no GPU");
  } else {
    buffer[0] = '\0';
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
  uint32_t n_columns = 0; // up to the last column with content
  for (uint32_t c = 0; columns[c]; ++c) {
    n_columns = widths[c] ? c + 1U : n_columns;
  }
  json_array_foreach(rows, i, row)
  {
    for (uint32_t c = 0; c < n_columns; ++c) {
      const int width = c + 1U < n_columns ? widths[c] + 2 : 0; // no blanks at the end of a line
      printf("%-*s", width, cell_text(row, columns[c], buffer, sizeof(buffer)));
    }
    putchar('\n');
  }
}

static int
print_listing(const Listing* const listing, const ListArgs* const args)
{
  bool is_empty = true;
  for (uint32_t t = 0; t < ARRAY_LEN(listing->tables) && listing->tables[t].rows; ++t) {
    json_t* const rows = listing->tables[t].rows(args);
    print_rows(rows, listing->tables[t].columns);
    is_empty = is_empty && !json_array_size(rows);
    json_decref(rows);
  }
  uint32_t n_plugins = 0;
  if (is_empty && args->n_words && !args->states) {
    catalogue_entries(catalogue_current(), &n_plugins);
  }
  if (n_plugins) {
    fprintf(stderr,
            PROGRAM_NAME " list: no plugin has %s; `" PROGRAM_NAME
                         " list plugins` shows all that can be used, --all the others\n",
            args->n_words > 1U ? "all these words" : "this word");
  } else if (is_empty) {
    fprintf(stderr, PROGRAM_NAME " list: no %s here\n", listing->name);
  }
  return 0;
}

// ---- JSON ----

static json_t*
all_rows(const Listing* const listing, const ListArgs* const args)
{
  json_t* const all = json_array();
  for (uint32_t t = 0; t < ARRAY_LEN(listing->tables) && listing->tables[t].rows; ++t) {
    json_t* const rows = listing->tables[t].rows(args);
    json_array_extend(all, rows);
    json_decref(rows);
  }
  return all;
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
  char hint[HINT_BYTES];
  if (rack_is_format(name)) {
    command_misused(&cmd_list,
                    "'%s' is a format of plugins: " PROGRAM_NAME " list plugins --format %s", name,
                    name);
  } else {
    command_misused(&cmd_list, "no list '%s'; %s", name,
                    name_hint(hint, name, names, ARRAY_LEN(names)));
  }
  return NULL;
}

/// Refuse options and words that the list does not have.
static int
check_args(const Listing* const listing, const ListArgs* const args)
{
  const bool is_plugins = !strcmp(listing->name, "plugins");
  const bool is_states = !strcmp(listing->name, "states");
  if (is_states && !args->n_words) {
    return command_misused(&cmd_list, "states are in a folder: list states DIR");
  }
  if (args->unused && !is_states) {
    return command_misused(&cmd_list, "--unused goes with states");
  }
  if (args->measures && strcmp(listing->name, "devices") != 0) {
    return command_misused(&cmd_list, "--measure goes with devices");
  }
  if ((args->all || args->format != ANY_FORMAT) && !is_plugins) {
    return command_misused(&cmd_list, "--%s goes with plugins", args->all ? "all" : "format");
  }
  return args->n_words && !is_plugins && !is_states
             ? command_misused(&cmd_list,
                               "unexpected argument '%s'; only plugins are searched for words",
                               args->words[0])
             : 0;
}

/// List the states of a folder.  Those that are unused without other columns, for `xargs rm`.
static int
list_states(const Listing* const listing, ListArgs* const args)
{
  Error error = { STATUS_OK, "" };
  if (state_list(args->words[0], args->words + 1, args->n_words - 1U, args->unused, &args->states,
                 &error)) {
    return command_fail(&cmd_list, &error);
  }
  int exit_code = 0;
  if (args->json) {
    exit_code = command_print_json(&cmd_list, json_incref(args->states));
  } else if (args->unused) {
    print_rows(args->states, (const char* const[]){ "name", NULL });
  } else {
    exit_code = print_listing(listing, args);
  }
  json_decref(args->states);
  return exit_code;
}

static int
list(const Listing* const listing, ListArgs* const args)
{
  Error error = { STATUS_OK, "" };
  if (args->format != ANY_FORMAT && !plugin_format_find(formats[args->format])) {
    error_set(&error, STATUS_NO_BACKEND, "this build has no %s", formats[args->format]);
    return command_fail(&cmd_list, &error);
  }
  if (!strcmp(listing->name, "states")) {
    return list_states(listing, args);
  }
  if (!strcmp(listing->name, "plugins") && catalogue_file_use(&cmd_list, &error)) {
    return command_fail(&cmd_list, &error);
  }
  return args->json ? command_print_json(&cmd_list, all_rows(listing, args))
                    : print_listing(listing, args);
}

static int
list_run(const int argc, char** const argv)
{
  ListArgs args = { .format = ANY_FORMAT };
  // clang-format off
  const Option table[] = {
    { "all",     'a', OPTION_FLAG,   .to.flag = &args.all,      .help = "Plugins: also those that cannot be used, with the reason" },
    { "format",  'f', OPTION_CHOICE, .to.choice = &args.format, .help = "Plugins: only those of one format", .choices = formats },
    { "json",    'j', OPTION_FLAG,   .to.flag = &args.json,     .help = "Print JSON" },
    { "measure", 'm', OPTION_FLAG,   .to.flag = &args.measures, .help = "Devices: measure the time of an empty submission to each GPU" },
    { "unused",  'u', OPTION_FLAG,   .to.flag = &args.unused,   .help = "States: only those that no rack uses" },
  };
  // clang-format on
  const OptionTable options = { table, ARRAY_LEN(table), .min_operands = 1,
                                .max_operands = UINT32_MAX };
  Operands operands;
  if (!options_parse(&cmd_list, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  const Listing* const listing = find_listing(operands.words[0]);
  if (!listing) {
    return status_exit_code(STATUS_BAD_ARG);
  }
  args.words = operands.words + 1;
  args.n_words = operands.n - 1U;
  const int misused = check_args(listing, &args);
  return misused ? misused : list(listing, &args);
}
