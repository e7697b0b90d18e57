// SPDX-License-Identifier: GPL-3.0-or-later
// warprack scan: finds the plugins of this machine and writes the user's catalogue of them.

#include "catalogue_file.h"
#include "commands.h"
#include "options.h"
#include "probing.h"
#include "report_text.h"
#include "scan_child.h"

#include "engine/base/process.h"
#include "engine/base/text.h"
#include "plugins/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_scan(int argc, char** argv);

const Command cmd_scan = {
  .name = "scan",
  .usage = "[options]",
  .summary = "Find the plugins of this machine, and describe those that are new or changed",
  .run = run_scan,
};

/// Plugins of a format, or all if it is NULL; `are_usable` chooses those with or without a fault.
static uint32_t
count_plugins(const Catalogue* const catalogue, const char* const format, const bool are_usable)
{
  uint32_t n_entries = 0;
  uint32_t n = 0;
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n_entries);
  for (uint32_t e = 0; e < n_entries; ++e) {
    n += (!format || !strcmp(entries[e].format, format)) && !entries[e].fault[0] == are_usable;
  }
  return n;
}

// ---- JSON ----

static json_t*
failed_json(const Catalogue* const catalogue)
{
  uint32_t n = 0;
  const CatalogueBundle* const bundles = catalogue_bundles(catalogue, &n);
  json_t* const failed = json_array();
  for (uint32_t b = 0; b < n; ++b) {
    if (bundles[b].fault[0]) {
      json_array_append_new(failed, json_pack("{ss so ss}", "format", bundles[b].format, "path",
                                              command_json_text(bundles[b].path), "fault",
                                              bundles[b].fault));
    }
  }
  return failed;
}

static json_t*
plugins_json(const Catalogue* const catalogue)
{
  uint32_t n = 0;
  const PluginFormat* const* const formats = plugin_formats(&n);
  json_t* const plugins = json_object();
  for (uint32_t f = 0; f < n; ++f) {
    json_object_set_new(plugins, formats[f]->name,
                        json_integer((json_int_t)count_plugins(catalogue, formats[f]->name, true)));
  }
  return plugins;
}

static json_t*
report_json(const Catalogue* const catalogue, const ScanCounts* const counts)
{
  return json_pack("{si si si so si so}", "bundles", (int)counts->n_bundles, "described",
                   (int)counts->n_described, "unchanged", (int)counts->n_kept, "plugins",
                   plugins_json(catalogue), "unusable", (int)count_plugins(catalogue, NULL, false),
                   "failed", failed_json(catalogue));
}

// ---- text ----

static void
print_failed(const Catalogue* const catalogue)
{
  uint32_t n = 0;
  const CatalogueBundle* const bundles = catalogue_bundles(catalogue, &n);
  for (uint32_t b = 0; b < n; ++b) {
    char* const path = bundles[b].fault[0] ? text_printable_copy(bundles[b].path) : NULL;
    if (path) {
      printf("%s: %s\n", path, bundles[b].fault);
    }
    free(path);
  }
}

/// Warn of folders in the variables that the scan leaves out.
static void
warn_of_folders(void)
{
  uint32_t n = 0;
  const PluginFormat* const* const formats = plugin_formats(&n);
  for (uint32_t f = 0; f < n; ++f) {
    const char* const folders = getenv(formats[f]->path_variable);
    char* const copy = folders ? strdup(folders) : NULL;
    char* rest = copy;
    for (const char* word = NULL; (word = strsep(&rest, ":"));) {
      if (*word && *word != '/' && strcmp(word, "~") != 0 && strncmp(word, "~/", 2U) != 0) {
        fprintf(stderr,
                PROGRAM_NAME " scan: %s: \"%s\" is left out; a folder begins with / or ~/\n",
                formats[f]->path_variable, word);
      }
    }
    free(copy);
  }
}

static void
print_report(const Catalogue* const catalogue, const ScanCounts* const counts)
{
  print_failed(catalogue);
  printf("%u bundles: %u described, %u unchanged, %u failed\n", counts->n_bundles,
         counts->n_described, counts->n_kept, counts->n_failed);
  const uint32_t n_unusable = count_plugins(catalogue, NULL, false);
  printf("%u plugins that can be used:", count_plugins(catalogue, NULL, true));
  uint32_t n = 0;
  const PluginFormat* const* const formats = plugin_formats(&n);
  for (uint32_t f = 0; f < n; ++f) {
    printf("%s %u %s", f ? "," : "", count_plugins(catalogue, formats[f]->name, true),
           formats[f]->name);
  }
  printf("\n");
  if (n_unusable) {
    printf("%u that cannot: `" PROGRAM_NAME " list plugins --all` has the reasons\n", n_unusable);
  }
}

// ---- the subcommand ----

/// Print what a scan has found; the child of another process leaves that to its parent.
static int
print(const Catalogue* const catalogue, const ScanCounts* const counts, const bool json)
{
  if (json) {
    return command_print_json(&cmd_scan, report_json(catalogue, counts));
  }
  if (!process_has_socket()) {
    print_report(catalogue, counts);
  }
  return EXIT_SUCCESS;
}

static int
scan(const bool everything, const bool probes, const bool json)
{
  Error error = { STATUS_OK, "" };
  Catalogue* catalogue = NULL;
  ScanCounts counts;
  warn_of_folders();
  Status status = catalogue_file_scan(everything, &catalogue, &counts, &error);
  if (!status && process_has_socket()) {
    status = scan_child_answer(catalogue, &error);
  }
  status = status ? status : catalogue_file_write(catalogue, &error);
  if (!status && probes) {
    status = probing_all(&catalogue, everything, &error);
  }
  const int exit_code = status ? command_fail(&cmd_scan, &error) : print(catalogue, &counts, json);
  if (!status && probes && !json) {
    catalogue_use(catalogue);
    catalogue = NULL;
    report_text_print_all();
  }
  catalogue_free(catalogue);
  return exit_code;
}

static int
run_scan(const int argc, char** const argv)
{
  bool everything = false;
  bool json = false;
  bool probes = false;
  // clang-format off
  const Option table[] = {
    { "all",  'a', OPTION_FLAG, .to.flag = &everything, .help = "Describe unchanged plugins again, and those that failed" },
    { "json", 'j', OPTION_FLAG, .to.flag = &json,       .help = "Print JSON" },
    { "probe", 'p', OPTION_FLAG, .to.flag = &probes,    .help = "Measure what each plugin does that was not measured yet: takes minutes" },
  };
  // clang-format on
  const OptionTable options = { table, ARRAY_LEN(table), .max_operands = 0 };
  Operands operands;
  if (!options_parse(&cmd_scan, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  if (process_has_socket() && !child_mail_begin()) {
    return EXIT_SUCCESS; // nobody waits for the result
  }
  return scan(everything, probes, json);
}
