// SPDX-License-Identifier: GPL-3.0-or-later
// warprack check: checks a rack and prints its latency and its cost on this machine.

#include "catalogue_file.h"
#include "check_child.h"
#include "commands.h"
#include "engine_args.h"
#include "options.h"
#include "probing.h"
#include "rack_arg.h"
#include "report_text.h"

#include "engine/base/memory.h"
#include "engine/engine.h"
#include "plugins/plugin_environment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIVE_CHANNELS   2U   // of `run` without --channels
#define MEASURED_BLOCKS 400U // at most: half a second at 64 frames, p99 is the fifth worst

static int check_run(int argc, char** argv);

const Command cmd_check = {
  .name = "check",
  .usage = "[options] RACK",
  .summary = "Check a rack; print it in canonical form with its latency and cost",
  .run = check_run,
};

typedef struct CheckArgs {
  bool json;
  double rate_hz;
  int64_t block_frames;
  int64_t n_channels;
  uint32_t missing; ///< See MISSING_OPTION
  BackendArgs backend;
} CheckArgs;

#define MAX_SIDES 2U

/// The measurements of a rack: as it would run, and on each backend alone.
typedef struct Measured {
  EnginePrediction own;
  EnginePrediction sides[MAX_SIDES]; ///< The CPU, then the GPU if there is one
  uint32_t n_sides;
} Measured;

// ---- measuring ----

/// Copy the rack with all nodes on the CPU; NULL if out of memory.
static Rack*
rack_on_cpu(const Rack* const rack)
{
  Rack* const copy = rack_copy(rack);
  for (uint32_t n = 0; copy && n < copy->n_nodes; ++n) {
    copy->nodes[n].backend = RACK_BACKEND_CPU;
  }
  return copy;
}

static Status
predict(const CheckArgs* const args, const EngineConfig* const config, const Rack* const rack,
        EnginePrediction* const prediction, Error* const error)
{
  return engine_predict(config, rack, args->rate_hz, (uint32_t)args->block_frames, MEASURED_BLOCKS,
                        prediction, error);
}

/// Measure the rack as it would run, which also finds the available backends, then on each backend
/// alone.
static Status
measure(const CheckArgs* const args, const EngineConfig* const config, const Rack* const rack,
        Measured* const measured, Error* const error)
{
  Status status = predict(args, config, rack, &measured->own, error);
  measured->n_sides = 1;
  measured->sides[0] = measured->own;
  if (status || measured->own.gpu == ENGINE_BACKEND_CPU) {
    return status;
  }
  EngineConfig other = *config;
  other.backend = ENGINE_BACKEND_CPU;
  Rack* const on_cpu = rack_on_cpu(rack);
  status = on_cpu ? predict(args, &other, on_cpu, &measured->sides[0], error)
                  : error_set(error, STATUS_NO_MEM, "out of memory");
  rack_free(on_cpu);
  measured->n_sides = 2;
  measured->sides[1] = measured->own;
  other.backend = measured->own.gpu;
  return status || config->backend == other.backend
             ? status
             : predict(args, &other, rack, &measured->sides[1], error);
}

// ---- JSON ----

static json_t*
sides_json(const Measured* const measured)
{
  json_t* const sides = json_array();
  for (uint32_t s = 0; s < measured->n_sides; ++s) {
    const EnginePrediction* const side = &measured->sides[s];
    json_array_append_new(sides, json_pack("{ss sf sf}", "backend", side->status.backend,
                                           "needs_us", side->block_ns_p50 / 1e3, "needs_us_p99",
                                           side->block_ns_p99 / 1e3));
  }
  return sides;
}

static json_t*
fallbacks_json(const Fallbacks* const fallbacks)
{
  json_t* const outputs = json_array();
  for (uint32_t c = 0; c < fallbacks->n; ++c) {
    const Fallback* const fallback = &fallbacks->of[c];
    const double db = 20.0 * log10((double)fallback->level);
    json_array_append_new(outputs,
                          json_pack("{si so sb ss}", "output", (int)c + 1, "level_db",
                                    isfinite(db) ? json_real(db) : json_null(), "follows",
                                    (int)fallback->follows, "why", fallback_why(fallback->why)));
  }
  return outputs;
}

/// The group of a node; NULL: it runs in the worker.
static const char*
group_of(const RackNode* const node)
{
  const int param = node->fx->origin ? plugin_group_param(node->fx) : -1;
  const RackValue* const value = param >= 0 ? &node->values[param] : NULL;
  return value && value->kind == VALUE_TEXT && *value->text ? value->text : NULL;
}

static json_t*
plugins_json(const Rack* const rack)
{
  json_t* const nodes = json_array();
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    const RackNode* const node = &rack->nodes[n];
    if (node->fx->origin) {
      json_array_append_new(nodes, json_pack("{ss sb ss? so}", "node", node->name, "missing",
                                             node->fx->is_missing, "group", group_of(node),
                                             "report", report_text_json(plugin_of(node->fx))));
    }
  }
  return nodes;
}

static json_t*
scenes_json(const Rack* const rack)
{
  json_t* const scenes = json_array();
  for (uint32_t s = 0; s < rack->n_scenes; ++s) {
    const RackScene* const scene = rack->scenes[s];
    json_array_append_new(
        scenes, json_pack("{ss si}", "name", scene->name, "values", (int)scene->n_values));
  }
  return scenes;
}

static json_t*
rack_json(const CheckArgs* const args, const Rack* const rack, const char* const text,
          const char* const warnings, const Measured* const measured)
{
  const EnginePrediction* const own = &measured->own;
  const WorkerFacts* const facts = &own->facts;
  const EngineStatus* const status = &own->status;
  const double period_us = 1e6 * (double)args->block_frames / args->rate_hz;
  json_t* const json = json_pack(
      "{so si si sf sI sI si si sf sf sf ss ss ss so}", "rack", command_json_text(text), "nodes",
      (int)rack->n_nodes, "connections", (int)rack->n_edges, "rate_hz", args->rate_hz,
      "block_frames", (json_int_t)args->block_frames, "n_in", (json_int_t)args->n_channels, "n_out",
      (int)facts->n_out, "latency_frames", (int)facts->rack_latency_frames, "period_us", period_us,
      "needs_us", own->block_ns_p50 / 1e3, "needs_us_p99", own->block_ns_p99 / 1e3, "backend",
      status->backend, "gpu", status->device, "backend_note", status->backend_note, "sides",
      sides_json(measured));
  if (json) {
    json_object_set_new(json, "warnings", command_json_lines(warnings));
    json_object_set_new(json, "plugins", plugins_json(rack));
    json_object_set_new(json, "scenes", scenes_json(rack));
    json_object_set_new(json, "late", fallbacks_json(&facts->fallbacks));
    json_object_set_new(json, "tail_frames",
                        facts->tail_frames == UINT64_MAX
                            ? json_null() // unbounded
                            : json_integer((json_int_t)facts->tail_frames));
    json_object_set_new(json, "memory_bytes", json_integer((json_int_t)facts->memory_bytes));
    json_object_set_new(json, "making_bytes", json_integer((json_int_t)facts->making_bytes));
    json_object_set_new(json, "memory_limit", json_integer((json_int_t)own->memory_limit_bytes));
    for (uint32_t s = 0; s < PLACEMENT_SIDES && status->cost_us[s] > 0.0; ++s) {
      // The predictions behind backend=auto; null if an effect was never measured.
      json_object_set_new(json, s == PLACEMENT_CPU ? "predicted_cpu_us" : "predicted_gpu_us",
                          isfinite(status->cost_us[s]) ? json_real(status->cost_us[s])
                                                       : json_null());
    }
  }
  return json;
}

// ---- text ----

static void
print_times(const CheckArgs* const args, const Measured* const measured)
{
  const EngineStatus* const own = &measured->own.status;
  const double period_ns = 1e9 * (double)args->block_frames / args->rate_hz;
  printf("# needs");
  for (uint32_t s = 0; s < measured->n_sides; ++s) {
    const EnginePrediction* const side = &measured->sides[s];
    if (s == 0) {
      printf(" %.1f us of %.1f us on %s", side->block_ns_p50 / 1e3, period_ns / 1e3,
             side->status.backend);
    } else {
      printf(", %.1f us on %s", side->block_ns_p50 / 1e3, side->status.backend);
    }
  }
  printf("; 99 of 100 blocks at most");
  for (uint32_t s = 0; s < measured->n_sides; ++s) {
    printf("%s %.1f us", s ? "," : "", measured->sides[s].block_ns_p99 / 1e3);
  }
  printf("; measured at %.0f Hz, %lld frames\n", args->rate_hz, (long long)args->block_frames);
  printf("# runs on %s\n", own->backend);
  if (own->device[0]) {
    printf("# GPU: %s\n", own->device);
  }
  if (own->backend_note[0]) {
    printf("# %s\n", own->backend_note);
  }
  if (measured->own.block_ns_p99 > period_ns) {
    printf("# too slow to run live here at this block size\n");
  }
}

/// `run` has two inputs and outputs unless --channels says otherwise.
static void
print_channels(const CheckArgs* const args, const WorkerFacts* const facts)
{
  printf("; %lld channels in, %u out\n", (long long)args->n_channels, facts->n_out);
  if (args->n_channels != LIVE_CHANNELS || facts->n_out > LIVE_CHANNELS) {
    printf("# run needs --channels %lld:%u\n", (long long)args->n_channels, facts->n_out);
  }
}

/// Name the nodes that have a kernel and run on the CPU, because a side input is connected.
static void
print_side_nodes(const Rack* const rack)
{
  RackUid last = RACK_UID_NONE;
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    const RackNode* const node = rack_find_uid(rack, rack->edges[e].to.uid);
    if (rack->edges[e].to.side && node && node->fx->kernel && node->uid != last) {
      printf("# %s runs on the CPU, because its side input is connected\n", node->name);
      last = node->uid;
    }
  }
}

/// Print each group once, with the names of its nodes.
static void
print_groups(const CheckArgs* const args, const Rack* const rack)
{
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    const char* const group = group_of(&rack->nodes[n]);
    bool is_first = group != NULL;
    for (uint32_t before = 0; is_first && before < n; ++before) {
      const char* const other = group_of(&rack->nodes[before]);
      is_first = !other || strcmp(other, group) != 0;
    }
    for (uint32_t m = n; is_first && m < rack->n_nodes; ++m) {
      const char* const other = group_of(&rack->nodes[m]);
      if (m == n) {
        printf("# group %s:", group);
      }
      if (other && !strcmp(other, group)) {
        printf(" %s", rack->nodes[m].name);
      }
    }
    if (is_first) {
      printf("; live in a process of its own; %lld frames of latency for each of these nodes\n",
             (long long)args->block_frames);
    }
  }
}

static void
print_scenes(const Rack* const rack)
{
  for (uint32_t s = 0; s < rack->n_scenes; ++s) {
    printf("%s %s", s ? "," : "# scenes", rack->scenes[s]->name);
  }
  if (rack->n_scenes) {
    printf("\n");
  }
}

/// Print the canonical text, then the figures as comments: the output is a valid rack file.
static void
print_report(const CheckArgs* const args, const Rack* const rack, const char* const text,
             const char* const warnings, const Measured* const measured)
{
  const WorkerFacts* const facts = &measured->own.facts;
  printf("%s", text);
  printf("# %u nodes, %u connections", rack->n_nodes, rack->n_edges);
  print_channels(args, facts);
  printf("# latency %u frames (%.3f ms) of the effects; live adds depth x block\n",
         facts->rack_latency_frames, 1e3 * facts->rack_latency_frames / args->rate_hz);
  if (facts->tail_frames == UINT64_MAX) {
    printf("# tail without end\n");
  } else {
    printf("# tail %.3f s\n", (double)facts->tail_frames / args->rate_hz);
  }
  char held[MEMORY_TEXT_BYTES];
  char making[MEMORY_TEXT_BYTES];
  char limit[MEMORY_TEXT_BYTES];
  printf("# memory %s, %s while it is planned; %s are allowed\n",
         memory_text(facts->memory_bytes, held), memory_text(facts->making_bytes, making),
         memory_text(measured->own.memory_limit_bytes, limit));
  for (uint32_t c = 0; c < facts->fallbacks.n;) {
    char late[FALLBACK_TEXT_BYTES];
    c = fallback_describe(&facts->fallbacks, c, late);
    printf("# late %s\n", late);
  }
  print_times(args, measured);
  if (measured->n_sides > 1U) {
    print_side_nodes(rack);
  }
  print_groups(args, rack);
  print_scenes(rack);
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    if (rack->nodes[n].fx->origin && !rack->nodes[n].fx->is_missing) {
      report_text_print_node(rack->nodes[n].name, plugin_of(rack->nodes[n].fx),
                             (uint32_t)args->block_frames);
    }
  }
  for (const char* line = warnings; *line; line += strcspn(line, "\n") + 1U) {
    printf("# warning: %.*s\n", (int)strcspn(line, "\n"), line);
  }
}

// ---- the subcommand ----

static int
report(const CheckArgs* const args, const Rack* const rack, const Measured* const measured)
{
  char* const text = rack_print(rack);
  char* const warnings = engine_warnings(rack, args->rate_hz, &measured->own.facts.fallbacks);
  int exit_code = 0;
  if (!text || !warnings) {
    exit_code = command_fail(&cmd_check, &(Error){ STATUS_NO_MEM, "" });
  } else if (args->json) {
    exit_code = command_print_json(&cmd_check, rack_json(args, rack, text, warnings, measured));
  } else {
    print_report(args, rack, text, warnings, measured);
  }
  free(warnings);
  free(text);
  return exit_code;
}

/// The rack has no valid width: replace the error by that of `run`, whose outputs are limited.
static void
replace_error(const CheckArgs* const args, const EngineConfig* const config, const Rack* const rack,
              Error* const error)
{
  EngineConfig live = *config;
  live.n_out = config->n_in;
  Error cause;
  EnginePrediction unused;
  if (engine_predict(&live, rack, args->rate_hz, (uint32_t)args->block_frames, 1, &unused,
                     &cause)) {
    *error = cause;
  }
}

/// Read the rack, probe its plugins, and read it again with their reports.
static Status
read_rack(const char* const word, const RackReader read, RackArg* const rack_arg,
          Error* const error)
{
  bool is_new = false;
  Status status = rack_arg_read(word, read, rack_arg, error);
  if (status) {
    return status;
  }
  status = probing_rack(&cmd_check, rack_arg->rack, &is_new, error);
  if (status || is_new) {
    rack_arg_clear(rack_arg);
  }
  return !status && is_new ? rack_arg_read(word, read, rack_arg, error) : status;
}

static int
check(const CheckArgs* const args, const char* const word)
{
  Error error = { STATUS_OK, "" };
  RackArg rack_arg;
  catalogue_file_renew_on_search(catalogue_file_print_note, (void*)&cmd_check);
  if (read_rack(word, rack_arg_reader(args->missing), &rack_arg, &error)) {
    return command_fail(&cmd_check, &error);
  }
  EngineConfig config = { .n_in = (uint32_t)args->n_channels,
                          .n_helpers = UINT32_MAX,
                          .files = rack_arg_files(&rack_arg),
                          .note = engine_say };
  Measured measured;
  Status status = backend_read(&args->backend, &config, &error);
  status = status ? status : measure(args, &config, rack_arg.rack, &measured, &error);
  if (status == STATUS_BAD_RACK) {
    replace_error(args, &config, rack_arg.rack, &error);
  }
  const int exit_code =
      status ? command_fail(&cmd_check, &error) : report(args, rack_arg.rack, &measured);
  rack_arg_clear(&rack_arg);
  return exit_code;
}

static int
check_run(const int argc, char** const argv)
{
  if (argc == 1 && process_has_socket()) {
    return check_child_run(&cmd_check);
  }
  CheckArgs args = {
    .rate_hz = 48000.0, .block_frames = 256, .n_channels = 2, .backend.gpu_index = BACKEND_ANY_GPU
  };
  // clang-format off
  const Option table[] = {
    BACKEND_OPTIONS(&args.backend),
    { "block",    'b', OPTION_INTEGER, "N",     1,    FX_MAX_BLOCK, .to.integer = &args.block_frames, .help = "Frames per block, default 256" },
    { "channels", 'c', OPTION_INTEGER, "N",     1, FX_MAX_CHANNELS, .to.integer = &args.n_channels,   .help = "Input channels, default 2" },
    { "json",     'j', OPTION_FLAG,                                 .to.flag = &args.json,            .help = "Print JSON" },
    MISSING_OPTION(&args.missing),
    { "rate",     'r', OPTION_NUMBER,  "HZ", 8000,          768000, .to.number = &args.rate_hz,       .help = "Frames per second, default 48000" },
  };
  // clang-format on
  const OptionTable options = { table, ARRAY_LEN(table), .min_operands = 1, .max_operands = 1 };
  Operands operands;
  if (!options_parse(&cmd_check, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  plugin_environment();
  return check(&args, operands.words[0]);
}
