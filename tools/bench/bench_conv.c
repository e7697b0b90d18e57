// SPDX-License-Identifier: GPL-3.0-or-later
// bench conv: the cost of a block of mono convolutions, or of a matrix of them, on one core, with
// the effect `convolver` as in racks, and with zita-convolver (tools/bench/zita_peer.cc) if the
// build found it.  Peaks are as important as the mean, because a block that takes longer than the
// period causes a gap.

#include "bench.h"

#include "engine/base/percentiles.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/contract/effect.h"
#include "tools/options.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PEER_PROGRAM "zita_peer" // in the folder of this program, or in tools/bench/ below it

static int conv_run(int argc, char** argv);

const Bench bench_conv = {
  .name = "bench conv",
  .usage = "[options]",
  .summary = "Time convolutions on one core, compared with zita-convolver",
  .run = conv_run,
};

typedef struct ConvArgs {
  int64_t block_frames, n_blocks;
  int64_t n_channels; ///< The only number to measure, or 0 for those in `counts`
  double rate_hz, ir_seconds;
  bool matrix; ///< From every channel to every channel
  bool json;
} ConvArgs;

/// Nanoseconds per block and convolution; a matrix has n_channels * n_channels convolutions.  The
/// mean is processor time, on which other programs have little effect; the other figures are
/// wall-clock time.
typedef struct Result {
  uint32_t n_channels;
  Percentiles ours;
  Percentiles zita;
  bool has_zita;
} Result;

static const uint32_t counts[] = { 1, 8, 32 };
static const uint32_t zita_partitions[] = { 4096, 8192 }; // the faster one counts

/// Uniform noise in [-gain, gain).
static void
fill_noise(float* const samples, const size_t n, const float gain)
{
  uint32_t state = 1;
  for (size_t i = 0; i < n; ++i) {
    state = state * 1664525U + 1013904223U;
    samples[i] = gain * ((float)(state >> 8U) / 8388608.0F - 1.0F);
  }
}

// ---- convolver ----

/// One node of `convolver` with a unit per channel, or one for a matrix, run as the engine does.
typedef struct Rig {
  const FxInfo* fx;
  void* node;
  FxUnit* units; ///< [n_units]
  char* states;  ///< Of all units, in one piece as in the engine
  uint32_t n_channels, n_units;
  float* block; ///< The same input for all channels
  const float** in;
  float** out;
} Rig;

static void
rig_free(Rig* const rig)
{
  for (uint32_t c = 0; rig->out && c < rig->n_channels; ++c) {
    free(rig->out[c]);
  }
  free(rig->states);
  free(rig->units);
  free(rig->out);
  free(rig->in);
  free(rig->block);
  if (rig->node) {
    rig->fx->destroy(rig->node);
  }
}

static Status
make_node(Rig* const rig, const ConvArgs* const args, FxShape* const shape, Error* const error)
{
  const uint64_t n_frames = (uint64_t)(args->ir_seconds * args->rate_hz);
  const uint32_t n_responses = args->matrix ? rig->n_channels * rig->n_channels : 1U;
  float* const samples = calloc(n_responses, n_frames * sizeof(float));
  double* const values = calloc(rig->fx->n_params, sizeof(double));
  const char** const texts = calloc(rig->fx->n_params, sizeof(char*));
  const FxFile** const files = calloc(rig->fx->n_params, sizeof(FxFile*));
  Status status = error_set(error, STATUS_NO_MEM, "out of memory");
  if (samples && values && texts && files) {
    fill_noise(samples, n_responses * n_frames, 0.01F);
    const FxFile ir = { "noise", n_responses, n_frames, samples, true, 0 };
    for (uint32_t p = 0; p < rig->fx->n_params; ++p) {
      values[p] = rig->fx->params[p].initial;
    }
    files[fx_param_find(rig->fx, "ir")] = &ir;
    const FxSetup setup = { .rate_hz = args->rate_hz,
                            .max_block_frames = (uint32_t)args->block_frames,
                            .n_in = rig->n_channels,
                            .values = values,
                            .texts = texts,
                            .files = files };
    status = fx_make(rig->fx, &setup, shape, &rig->node, error);
  }
  free(files);
  free(texts);
  free(values);
  free(samples);
  return status;
}

static Status
rig_new(Rig* const rig, const ConvArgs* const args, const uint32_t n, Error* const error)
{
  const size_t block = (size_t)args->block_frames;
  *rig = (Rig){ .fx = fx_find("convolver"), .n_channels = n, .n_units = args->matrix ? 1U : n };
  FxShape shape = { .unit_in = 1U, .unit_out = 1U };
  const Status status = make_node(rig, args, &shape, error);
  if (status) {
    return status;
  }
  const size_t stride = (shape.unit_bytes + 63U) & ~(size_t)63U;
  rig->units = calloc(rig->n_units, sizeof(FxUnit));
  rig->in = calloc(n, sizeof(float*));
  rig->out = calloc(n, sizeof(float*));
  rig->block = calloc(block, sizeof(float));
  rig->states = rt_memory(rig->n_units * stride);
  bool enough = rig->units && rig->in && rig->out && rig->block && rig->states;
  for (uint32_t c = 0; enough && c < n; ++c) {
    rig->in[c] = rig->block;
    rig->out[c] = calloc(block, sizeof(float));
    enough = rig->out[c];
  }
  if (!enough) {
    rig_free(rig);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t u = 0; u < rig->n_units; ++u) {
    rig->units[u] = (FxUnit){
      .node = rig->node, .state = rig->states + u * stride, .in = &rig->in[u], .out = &rig->out[u]
    };
    rig->fx->unit_init(rig->node, rig->units[u].state, u);
  }
  fill_noise(rig->block, block, 1.0F);
  return STATUS_OK;
}

static double
processor_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static Percentiles
summary_of(const ConvArgs* const args, const uint32_t n_channels, double* const times_ns,
           const double processor_ns_all)
{
  const double n = args->matrix ? (double)n_channels * n_channels : n_channels;
  const size_t n_blocks = (size_t)args->n_blocks;
  for (size_t b = 0; b < n_blocks; ++b) {
    times_ns[b] /= n;
  }
  Percentiles summary = percentiles_of(times_ns, n_blocks);
  summary.mean = processor_ns_all / (double)n_blocks / n;
  return summary;
}

/// Measure the time of n_blocks, after enough blocks to fill the response's memory.
static Status
measure_ours(const ConvArgs* const args, const uint32_t n, double* const times_ns,
             Percentiles* const result, Error* const error)
{
  Rig rig;
  const Status status = rig_new(&rig, args, n, error);
  if (status) {
    return status;
  }
  const uint32_t block = (uint32_t)args->block_frames;
  const int64_t n_before = (int64_t)(args->ir_seconds * args->rate_hz) / block;
  double cpu_began_ns = 0.0;
  for (int64_t b = -n_before; b < args->n_blocks; ++b) {
    if (b == 0) {
      cpu_began_ns = processor_ns();
    }
    const uint64_t began_ns = time_now_ns();
    rig.fx->run(rig.units, rig.n_units, block);
    if (b >= 0) {
      times_ns[b] = (double)(time_now_ns() - began_ns);
    }
  }
  *result = summary_of(args, n, times_ns, processor_ns() - cpu_began_ns);
  rig_free(&rig);
  return STATUS_OK;
}

// ---- zita-convolver ----

/// Find the peer's program.  Returns false if it was not built.
static bool
find_peer(char* const path, const size_t n_bytes)
{
  char folder[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", folder, sizeof(folder) - 1U);
  if (n <= 0) {
    return false;
  }
  folder[n] = '\0';
  *strrchr(folder, '/') = '\0';
  static const char* const places[] = { "tools/bench/", "" };
  for (uint32_t i = 0; i < ARRAY_LEN(places); ++i) {
    const int length = snprintf(path, n_bytes, "%s/%s" PEER_PROGRAM, folder, places[i]);
    if (length > 0 && (size_t)length < n_bytes && access(path, X_OK) == 0) {
      return true;
    }
  }
  return false;
}

/// Run the peer.  Returns false if it does not support this block size.
static bool
measure_zita(const char* const path, const ConvArgs* const args, const uint32_t n,
             const uint32_t largest_partition, double* const times_ns, Percentiles* const result)
{
  char command[PATH_MAX + 128];
  snprintf(command, sizeof(command), "'%s' %u %lld %llu %u %lld%s", path, n,
           (long long)args->block_frames, (unsigned long long)(args->ir_seconds * args->rate_hz),
           largest_partition, (long long)args->n_blocks, args->matrix ? " matrix" : "");
  FILE* const output = popen(command, "r");
  if (!output) {
    return false;
  }
  int64_t n_times = 0;
  double cpu_ns = 0.0;
  const bool started = fscanf(output, "%lf", &cpu_ns) == 1;
  while (n_times < args->n_blocks && fscanf(output, "%lf", &times_ns[n_times]) == 1) {
    ++n_times;
  }
  const bool good = pclose(output) == 0 && started && n_times == args->n_blocks;
  if (good) {
    *result = summary_of(args, n, times_ns, cpu_ns);
  }
  return good;
}

// ---- both ----

/// Bind the process, and with it zita's threads, to one core: the last one that it may use.
static void
stay_on_one_core(void)
{
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
    return;
  }
  for (int cpu = CPU_SETSIZE - 1; cpu >= 0; --cpu) {
    if (CPU_ISSET(cpu, &allowed)) {
      CPU_ZERO(&allowed);
      CPU_SET(cpu, &allowed);
      sched_setaffinity(0, sizeof(allowed), &allowed);
      return;
    }
  }
}

static Status
measure(const ConvArgs* const args, Result* const result, Error* const error)
{
  double* const times_ns = calloc((size_t)args->n_blocks, sizeof(double));
  if (!times_ns) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  const uint32_t n = result->n_channels;
  const Status status = measure_ours(args, n, times_ns, &result->ours, error);
  char peer[PATH_MAX];
  const bool has_peer = !status && find_peer(peer, sizeof(peer));
  for (uint32_t i = 0; has_peer && i < ARRAY_LEN(zita_partitions); ++i) {
    Percentiles zita;
    if (measure_zita(peer, args, n, zita_partitions[i], times_ns, &zita) &&
        (!result->has_zita || zita.mean < result->zita.mean)) {
      result->zita = zita;
      result->has_zita = true;
    }
  }
  free(times_ns);
  return status;
}

// ---- output ----

static json_t*
percentiles_json(const Percentiles* const ns, const double period_ns)
{
  return json_pack("{sf sf sf sf sf sf}", "ns_mean", ns->mean, "ns_p50", ns->p50, "ns_p99", ns->p99,
                   "ns_p999", ns->p999, "ns_max", ns->max, "per_core", period_ns / ns->mean);
}

static json_t*
results_json(const Result* const results, const uint32_t n_results, const double period_ns)
{
  json_t* const rows = json_array();
  for (uint32_t i = 0; i < n_results; ++i) {
    json_t* const zita =
        results[i].has_zita ? percentiles_json(&results[i].zita, period_ns) : json_null();
    json_array_append_new(
        rows, json_pack("{sI so so}", "channels", (json_int_t)results[i].n_channels, "warprack",
                        percentiles_json(&results[i].ours, period_ns), "zita", zita));
  }
  return rows;
}

static void
print_row(const char* const name, const uint32_t n, const Percentiles* const ns,
          const double period_ns)
{
  printf("  %-14s %5u %9.0f %9.0f %9.0f %9.0f %10.0f %12.0f\n", name, n, ns->mean, ns->p50, ns->p99,
         ns->p999, ns->max, period_ns / ns->mean);
}

static int
report(const ConvArgs* const args, const Result* const results, const uint32_t n_results)
{
  const double period_ns = 1e9 * (double)args->block_frames / args->rate_hz;
  if (args->json) {
    return command_print_json(
        &bench_conv, json_pack("{ss sI sf sf sf so}", "bench", "conv", "block_frames",
                               (json_int_t)args->block_frames, "rate_hz", args->rate_hz,
                               "ir_seconds", args->ir_seconds, "period_us", period_ns / 1e3,
                               "results", results_json(results, n_results, period_ns)));
  }
  printf("%s convolutions, response %g s, %lld frames, %.0f Hz, one core; a period is %.1f us\n"
         "nanoseconds per block and convolution: mean processor time, percentiles of real time;\n"
         "how many by the mean fill a core\n\n"
         "                     n      mean       p50       p99     p99.9        max     per core\n",
         args->matrix ? "matrices of" : "mono", args->ir_seconds, (long long)args->block_frames,
         args->rate_hz, period_ns / 1e3);
  for (uint32_t i = 0; i < n_results; ++i) {
    print_row("warprack", results[i].n_channels, &results[i].ours, period_ns);
    if (results[i].has_zita) {
      print_row("zita-convolver", results[i].n_channels, &results[i].zita, period_ns);
    }
  }
  printf(results[0].has_zita
             ? "\nzita-convolver waits for its background threads in each block here; live, they "
               "may\nspread its peaks over the periods that follow.\n"
             : "\nzita-convolver is not measured: its library was not found by the build, or it "
               "does not\ndo this block size (Debian: libzita-convolver-dev).\n");
  return 0;
}

static int
conv_run(const int argc, char** const argv)
{
  ConvArgs args = { .block_frames = 64, .n_blocks = 8000, .rate_hz = 48000, .ir_seconds = 3.0 };
  // clang-format off
  const Option table[] = {
    { "block",   'b', OPTION_INTEGER, "N",      1, FX_MAX_BLOCK, .to.integer = &args.block_frames, .help = "Frames per block, default 64" },
    { "blocks",  0,   OPTION_INTEGER, "N",    100,          1e7, .to.integer = &args.n_blocks,     .help = "Blocks to time, default 8000" },
    { "count",   'n', OPTION_INTEGER, "N",      1, FX_MAX_CHANNELS, .to.integer = &args.n_channels, .help = "Only this number of channels, default 1, 8 and 32" },
    { "json",    'j', OPTION_FLAG,                               .to.flag = &args.json,            .help = "Print JSON" },
    { "matrix",  'm', OPTION_FLAG,                               .to.flag = &args.matrix,          .help = "A response from every channel to every channel" },
    { "rate",    'r', OPTION_NUMBER,  "HZ",  8000,       768000, .to.number = &args.rate_hz,       .help = "Frames per second, default 48000" },
    { "seconds", 's', OPTION_NUMBER,  "S",  0.001,           60, .to.number = &args.ir_seconds,    .help = "Length of the response, default 3" },
  };
  // clang-format on
  const OptionTable options = { .options = table, .n_options = ARRAY_LEN(table) };
  Operands operands;
  if (!options_parse(&bench_conv, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  stay_on_one_core();
  rt_flush_denormals();
  Error error = { STATUS_OK, "" };
  Result results[ARRAY_LEN(counts)] = { { 0 } };
  const uint32_t n_results = args.n_channels ? 1U : (uint32_t)ARRAY_LEN(counts);
  for (uint32_t i = 0; i < n_results; ++i) {
    results[i].n_channels = args.n_channels ? (uint32_t)args.n_channels : counts[i];
    if (measure(&args, &results[i], &error)) {
      return command_fail(&bench_conv, &error);
    }
  }
  return report(&args, results, n_results);
}
