// SPDX-License-Identifier: GPL-3.0-or-later
// bench plugins: what hosting costs beyond the plugins themselves.
//
// A rack of plugins runs block by block through planner and player, on one core.  Beside it the
// same instances run alone: opened by their format and called one after the other, without a host.
// Each plugin gets what the one before it has played, in both, and has its default values.  The two
// alternate; the processor time of this thread is measured, so that other load on the machine
// counts little.

#include "bench.h"
#include "bench_rack.h"

#include "engine/base/percentiles.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "plugins/format.h"
#include "tools/options.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_ROUNDS  1000U
#define MAX_NODES   256U
#define MAX_ROWS    64U // of one instance
#define WARM_BLOCKS 50U

static int plugins_run(int argc, char** argv);

const Bench bench_plugins = {
  .name = "bench plugins",
  .usage = "[options] [RACK]",
  .summary = "Time a rack of plugins, compared with the plugins alone",
  .run = plugins_run,
};

typedef struct PluginsArgs {
  const char* rack;
  int64_t n_channels, block_frames, n_blocks, n_rounds;
  double rate_hz;
  bool json;
} PluginsArgs;

/// The plugin of a node of the rack, without a host.
typedef struct Alone {
  const InstanceCalls* calls;
  uint32_t n_instances, n_in, n_out; ///< Rows of one instance
  Instance** instances;
  float** in;  ///< [n_instances][n_in] the outputs of the node before, or noise
  float** out; ///< [n_instances][n_out]
} Alone;

typedef struct Rig {
  const PluginsArgs* args;
  BenchRackSpec spec;
  BenchRack rack;
  Alone nodes[MAX_NODES];
  uint32_t n_nodes, n_instances;
} Rig;

// ---- plugins alone ----

static uint32_t
count_rows(const Plugin* const plugin, const bool is_output)
{
  uint32_t n = 0;
  for (uint32_t p = 0; p < plugin->n_ports; ++p) {
    n += plugin->ports[p].type == PORT_AUDIO &&
         is_output == ((plugin->ports[p].flags & PORT_OUTPUT) != 0U);
  }
  return n;
}

/// New rows with noise.
static float**
new_rows(const Rig* const rig, const uint32_t n_rows)
{
  const size_t n_frames = (size_t)rig->args->block_frames;
  float** const rows = calloc(n_rows, sizeof(float*));
  float* const samples = calloc(n_rows * n_frames, sizeof(float));
  for (uint32_t r = 0; rows && samples && r < n_rows; ++r) {
    rows[r] = samples + r * n_frames;
  }
  if (samples) {
    bench_noise(samples, n_rows * n_frames, rig->n_nodes + 1U, 0.5F);
  }
  return samples ? rows : NULL;
}

static Status
open_instances(const Rig* const rig, const Plugin* const plugin, Alone* const alone,
               Error* const error)
{
  const InstanceSetup setup = { .rate_hz = rig->args->rate_hz,
                                .max_block_frames = (uint32_t)rig->args->block_frames };
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < alone->n_instances && !status; ++i) {
    status = alone->calls->open(plugin, &setup, &alone->instances[i], error);
  }
  return status;
}

/// Open the plugin of a node as often as the node does.
static Status
add_node(Rig* const rig, const Node* const node, Error* const error)
{
  if (!node->fx->origin || rig->n_nodes == MAX_NODES) {
    return error_set(error, STATUS_BAD_RACK, "%s: a rack of at most %u plugins, and nothing else",
                     node->fx->name, MAX_NODES);
  }
  const Plugin* const plugin = plugin_of(node->fx);
  const Alone* const before = rig->n_nodes ? &rig->nodes[rig->n_nodes - 1U] : NULL;
  Alone* const alone = &rig->nodes[rig->n_nodes];
  *alone = (Alone){ .calls = plugin_format_find(plugin->origin.format)->calls,
                    .n_instances = node->n_units,
                    .n_in = count_rows(plugin, false),
                    .n_out = count_rows(plugin, true) };
  const uint32_t n_in = alone->n_instances * alone->n_in;
  const bool is_next = before && before->n_instances * before->n_out == n_in;
  alone->instances = calloc(alone->n_instances, sizeof(Instance*));
  alone->in = is_next ? before->out : new_rows(rig, n_in);
  alone->out = new_rows(rig, alone->n_instances * alone->n_out);
  if (!alone->instances || !alone->in || !alone->out) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  ++rig->n_nodes;
  rig->n_instances += alone->n_instances;
  return open_instances(rig, plugin, alone, error);
}

static void
run_alone(const Rig* const rig)
{
  const uint32_t n_frames = (uint32_t)rig->args->block_frames;
  for (uint32_t n = 0; n < rig->n_nodes; ++n) {
    const Alone* const alone = &rig->nodes[n];
    for (uint32_t i = 0; i < alone->n_instances; ++i) {
      alone->calls->run(alone->instances[i],
                        (const float* const*)(alone->in + (size_t)i * alone->n_in),
                        alone->out + (size_t)i * alone->n_out, n_frames);
    }
  }
}

// ---- measuring ----

static Status
rig_new(Rig* const rig, const PluginsArgs* const args, Error* const error)
{
  rig->args = args;
  rig->spec = (BenchRackSpec){ .text = args->rack,
                               .rate_hz = args->rate_hz,
                               .block_frames = (uint32_t)args->block_frames,
                               .n_channels = (uint32_t)args->n_channels,
                               .has_rows = true };
  Status status = bench_rack_new(&rig->rack, &rig->spec, error);
  const Plan* const plan = status ? NULL : rig->rack.player.plan;
  for (uint32_t n = 0; !status && n < plan->n_nodes; ++n) {
    status = add_node(rig, plan->nodes[n].node, error);
  }
  return status;
}

/// Processor time of one block, in ns, of the rack or of the plugins alone.
static Status
time_blocks(Rig* const rig, const bool is_rack, const uint32_t n_blocks, double* const block_ns,
            Error* const error)
{
  Status status = STATUS_OK;
  const uint64_t began_ns = time_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  for (uint32_t b = 0; b < n_blocks && !status; ++b) {
    if (is_rack) {
      status = bench_rack_block(&rig->rack, error);
    } else {
      run_alone(rig);
    }
  }
  *block_ns = (double)(time_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns) / (double)n_blocks;
  return status;
}

/// Medians of the rounds, in ns.
typedef struct Result {
  double rack, alone;
  double hosting; ///< Of the differences
} Result;

static Status
measure(Rig* const rig, Result* const result, Error* const error)
{
  static double rack[MAX_ROUNDS];
  static double alone[MAX_ROUNDS];
  static double hosting[MAX_ROUNDS];
  const uint32_t n_blocks = (uint32_t)rig->args->n_blocks;
  const size_t n_rounds = (size_t)rig->args->n_rounds;
  double ignored = 0.0;
  Status status = time_blocks(rig, true, WARM_BLOCKS, &ignored, error);
  status = status ? status : time_blocks(rig, false, WARM_BLOCKS, &ignored, error);
  for (size_t r = 0; r < n_rounds && !status; ++r) {
    status = time_blocks(rig, true, n_blocks, &rack[r], error);
    status = status ? status : time_blocks(rig, false, n_blocks, &alone[r], error);
    hosting[r] = rack[r] - alone[r];
  }
  *result = (Result){ .rack = percentiles_of(rack, n_rounds).p50,
                      .alone = percentiles_of(alone, n_rounds).p50,
                      .hosting = percentiles_of(hosting, n_rounds).p50 };
  return status;
}

static int
report(const Rig* const rig, const Result* const result)
{
  const PluginsArgs* const args = rig->args;
  const double each_ns = result->hosting / (double)rig->n_instances;
  if (args->json) {
    return command_print_json(
        &bench_plugins,
        json_pack("{ss ss sI sI sI sf sf sf sf}", "bench", "plugins", "rack", args->rack,
                  "instances", (json_int_t)rig->n_instances, "channels",
                  (json_int_t)args->n_channels, "block_frames", (json_int_t)args->block_frames,
                  "rack_us", result->rack / 1e3, "plugins_us", result->alone / 1e3,
                  "hosting_ns_each", each_ns, "ratio", result->rack / result->alone));
  }
  printf(
      "%s\n%u instances, %lld channels, %.0f Hz, blocks of %lld frames; medians of %lld rounds of "
      "%lld blocks; processor time of one thread\n\n",
      args->rack, rig->n_instances, (long long)args->n_channels, args->rate_hz,
      (long long)args->block_frames, (long long)args->n_rounds, (long long)args->n_blocks);
  printf("  rack           %9.2f us per block %8.4f s/s\n", result->rack / 1e3,
         result->rack * 1e-9 * args->rate_hz / (double)args->block_frames);
  printf("  plugins alone  %9.2f us per block %8.4f s/s\n", result->alone / 1e3,
         result->alone * 1e-9 * args->rate_hz / (double)args->block_frames);
  printf("  hosting        %9.1f ns per instance and block; rack / plugins %.3f\n", each_ns,
         result->rack / result->alone);
  return 0;
}

static int
plugins_run(const int argc, char** const argv)
{
  PluginsArgs args = { .rack = "ladspa amp/amp_mono",
                       .n_channels = 64,
                       .block_frames = 64,
                       .n_blocks = 200,
                       .n_rounds = 50,
                       .rate_hz = 48000.0 };
  // clang-format off
  const Option table[] = {
    { "block",    'b', OPTION_INTEGER, "N",     1,    FX_MAX_BLOCK, .to.integer = &args.block_frames, .help = "Frames per block, default 64" },
    { "blocks",   0,   OPTION_INTEGER, "N",     1,             1e6, .to.integer = &args.n_blocks,     .help = "Blocks per round, default 200" },
    { "channels", 'c', OPTION_INTEGER, "N",     1, FX_MAX_CHANNELS, .to.integer = &args.n_channels,   .help = "Channels, default 64" },
    { "json",     'j', OPTION_FLAG,                                 .to.flag = &args.json,            .help = "Print JSON" },
    { "rate",     'r', OPTION_NUMBER,  "HZ", 8000,          768000, .to.number = &args.rate_hz,       .help = "Frames per second, default 48000" },
    { "rounds",   0,   OPTION_INTEGER, "N",     1,      MAX_ROUNDS, .to.integer = &args.n_rounds,     .help = "Rounds of the rack and of the plugins alone, default 50" },
  };
  // clang-format on
  const OptionTable options = { .options = table,
                                .n_options = ARRAY_LEN(table),
                                .max_operands = 1 };
  Operands operands;
  if (!options_parse(&bench_plugins, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  args.rack = operands.n ? operands.words[0] : args.rack;
  Error error = { STATUS_OK, "" };
  static Rig rig;
  Result result = { 0 };
  rt_flush_denormals(); // as the engine does on its threads
  if (rig_new(&rig, &args, &error) || measure(&rig, &result, &error)) {
    return command_fail(&bench_plugins, &error);
  }
  return report(&rig, &result);
}
