// SPDX-License-Identifier: GPL-3.0-or-later
// The report of a probe, for people and for programs.

#include "report_text.h"

#include "commands.h"

#include "engine/base/macros.h"
#include "engine/base/memory.h"
#include "plugins/catalogue.h"

#include <stdio.h>

#define FLAG_NAME(word, name, text) name,
#define FLAG_TEXT(word, name, text) text,
static const char* const flag_names[] = { REPORT_FLAGS(FLAG_NAME) };
static const char* const flag_texts[] = { REPORT_FLAGS(FLAG_TEXT) };

const char*
report_doubt(const Plugin* const plugin)
{
  const PluginReport* const report = plugin->report;
  if (!report) {
    return "it was not probed";
  }
  if (*report->fault) {
    return "it could not be probed";
  }
  if (report->run_error > REPORT_SAME) {
    return "they differ from run to run";
  }
  if (report->block_error > REPORT_SAME) {
    return "they depend on the lengths of blocks";
  }
  return report->move_error > REPORT_SAME
             ? "they depend on the lengths of blocks while parameters move"
             : NULL;
}

// ---- text ----

static void
print_latency(const Plugin* const plugin)
{
  const PluginReport* const report = plugin->report;
  printf("%-12s%u frames", "latency", report->latency_frames);
  for (uint32_t p = 0, n = 0; p < plugin->fx.n_params; ++p) {
    const int32_t port = plugin->param_ports[p];
    if (port >= 0 && report_moves(report, (uint32_t)port)) {
      printf("%s%s", n++ ? ", " : "; changes with ", plugin->fx.params[p].id);
    }
  }
  printf("\n");
}

static void
print_costs(const PluginReport* const report)
{
  char memory[MEMORY_TEXT_BYTES];
  const double most = REPORT_TAIL_SECONDS * REPORT_RATE_HZ;
  printf("%-12s%.2f us for %u frames at %.0f Hz, %s for an instance", "takes",
         report->block_ns / 1e3, REPORT_BLOCK_FRAMES, REPORT_RATE_HZ,
         memory_text(report->n_bytes, memory));
  if (report->n_threads) {
    printf(", %u threads", report->n_threads);
  }
  printf("\n%-12s%s%.3f s\n", "tail", report->tail_frames < most ? "" : "more than ",
         report->tail_frames / REPORT_RATE_HZ);
}

/// What differs from what a plugin should do.
static void
print_remarks(const PluginReport* const report)
{
  const char* label = "remarks";
  for (uint32_t f = 0; f < REPORT_N_FLAGS; ++f) {
    if (report->flags & 1U << f) {
      printf("%-12s%s\n", label, flag_texts[f]);
      label = "";
    }
  }
  if (report->n_allocations) {
    printf("%-12sit allocates in runs: %u calls in %u runs while parameters move\n", label,
           report->n_allocations, REPORT_MOVES);
    label = "";
  }
  if (report->n_locks) {
    printf("%-12sit locks or waits in runs: %u calls in %u runs while parameters move\n", label,
           report->n_locks, REPORT_MOVES);
  }
}

void
report_text_print(const Plugin* const plugin)
{
  const PluginReport* const report = plugin->report;
  if (!report) {
    printf("%-12snot yet; `" PROGRAM_NAME " scan --probe` measures all plugins\n", "probed");
    return;
  }
  if (*report->fault) {
    printf("%-12s%s\n", "probe", report->fault);
    return;
  }
  const char* const doubt = report_doubt(plugin);
  print_latency(plugin);
  printf("%-12s%s%s\n", "samples", doubt ? "not promised: " : "",
         doubt ? doubt : "the same live and offline, with blocks of any length");
  printf("%-12s%s\n", "changes",
         report_promise(report) == REPORT_NOTHING ? "at the start of a block" : "at their frame");
  print_costs(report);
  print_remarks(report);
}

void
report_text_print_node(const char* const node, const Plugin* const plugin,
                       const uint32_t block_frames)
{
  const PluginReport* const report = plugin->report;
  const char* const doubt = report_doubt(plugin);
  printf("# plugin %s:", node);
  if (report && !*report->fault) {
    printf(" %.1f us for each instance, by its report;",
           report->block_ns / 1e3 * block_frames / REPORT_BLOCK_FRAMES);
  }
  printf(" samples %s%s", doubt ? "not promised: " : "the same live and offline",
         doubt ? doubt : "");
  if (report && *report->fault) {
    printf(": it %s", report->fault);
  }
  printf("\n");
}

/// Count the promise of a plugin; print it if it could not be probed.
static void
count_promise(const Plugin* const plugin, uint32_t counts[const REPORT_N_PROMISES])
{
  if (!plugin->report) {
    return;
  }
  if (*plugin->report->fault) {
    printf("%s \"%s\" could not be probed: %s\n", plugin->origin.format, plugin->origin.id,
           plugin->report->fault);
  } else {
    ++counts[report_promise(plugin->report)];
  }
}

void
report_text_print_all(void)
{
  uint32_t n = 0;
  uint32_t counts[REPORT_N_PROMISES] = { 0 };
  const Catalogue* const catalogue = catalogue_current();
  const CatalogueEntry* const entries = catalogue_entries(catalogue, &n);
  for (uint32_t e = 0; e < n; ++e) {
    const Plugin* plugin = NULL;
    if (!catalogue_find_plugin(entries[e].format, entries[e].id, &plugin, NULL)) {
      count_promise(plugin, counts);
    }
  }
  printf("%u play the same samples live and offline, with blocks of any length; of %u others "
         "parameters change at their frame; %u depend on the blocks\n",
         counts[REPORT_EXACT], counts[REPORT_SPLITS], counts[REPORT_NOTHING]);
}

// ---- JSON ----

static json_t*
moving_json(const Plugin* const plugin)
{
  json_t* const ids = json_array();
  for (uint32_t p = 0; p < plugin->fx.n_params; ++p) {
    const int32_t port = plugin->param_ports[p];
    if (port >= 0 && report_moves(plugin->report, (uint32_t)port)) {
      json_array_append_new(ids, json_string(plugin->fx.params[p].id));
    }
  }
  return ids;
}

static json_t*
flags_json(const PluginReport* const report)
{
  json_t* const names = json_array();
  for (uint32_t f = 0; f < REPORT_N_FLAGS; ++f) {
    if (report->flags & 1U << f) {
      json_array_append_new(names, json_string(flag_names[f]));
    }
  }
  return names;
}

json_t*
report_text_json(const Plugin* const plugin)
{
  const PluginReport* const report = plugin->report;
  if (!report) {
    return json_null();
  }
  return json_pack("{ss sb sb so si so si sI sI si si si sf sf sf}", "fault", report->fault,
                   "same_samples", (int)(report_promise(report) == REPORT_EXACT), "exact_frames",
                   (int)(report_promise(report) != REPORT_NOTHING), "remarks", flags_json(report),
                   "latency_frames", (int)report->latency_frames, "latency_changes_with",
                   moving_json(plugin), "tail_frames", (int)report->tail_frames, "block_ns",
                   (json_int_t)report->block_ns, "memory_bytes", (json_int_t)report->n_bytes,
                   "threads", (int)report->n_threads, "allocations", (int)report->n_allocations,
                   "locks", (int)report->n_locks, "run_error", report->run_error, "block_error",
                   report->block_error, "move_error", report->move_error);
}
