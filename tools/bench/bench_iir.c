// SPDX-License-Identifier: GPL-3.0-or-later
// bench iir: measures second-order filters on noise in memory, on one thread, in comparison with
// SciPy.
//
// Butterworth highpass 1000 Hz and lowpass 5000 Hz, Chebyshev 1 (0.1 dB) highpass 1500 Hz and
// lowpass 1800 Hz: the chain of torchfx's published figures; --filters takes more or fewer of them
// in turn.  This benchmark runs them as effects, block by block: as one chain, as the engine does
// with neighbouring nodes (dsp_cpu/stage_chain.h), and node by node through FxInfo.run.  SciPy runs
// one call of sosfilt with all sections on whole channels (tools/bench/sosfilt_peer.py).  They
// alternate.

#include "bench.h"

#include "dsp_cpu/cascade_kernel.h"
#include "engine/base/percentiles.h"
#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/contract/effect.h"
#include "tools/options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define N_KINDS     4U // of filters
#define MAX_FILTERS 8U
#define MAX_ROUNDS  50U
#define ALIGNMENT   64U
#define HUGE_PAGE   (2UL << 20U)

static int iir_run(int argc, char** argv);

const Bench bench_iir = {
  .name = "bench iir",
  .usage = "[options]",
  .summary = "Time filters on many channels, compared with SciPy's sosfilt",
  .run = iir_run,
};

typedef struct IirArgs {
  int64_t n_channels; ///< 0: usual_counts
  int64_t n_filters;
  int64_t block_frames, n_rounds;
  double seconds, rate_hz;
  const char* python;
  const char* peer;
  bool json;
} IirArgs;

/// One kind of filter.
typedef struct Link {
  const char* effect;
  double frequency_hz;
  const char* type;
} Link;

static const Link kinds[N_KINDS] = {
  { "highpass", 1000.0, "butterworth" },
  { "lowpass", 5000.0, "butterworth" },
  { "highpass", 1500.0, "chebyshev1" },
  { "lowpass", 1800.0, "chebyshev1" },
};

static const uint32_t usual_counts[] = { 1, 2, 8 }; // of channels

/// The chain, for planar signals [n_channels][n_frames].
typedef struct Rig {
  uint32_t n_channels, n_filters, block_frames;
  size_t n_frames;
  float* noise;
  float* result;
  float* rows[2]; ///< [n_channels][block_frames] between two filters
  const FxInfo* fx[MAX_FILTERS];
  void* nodes[MAX_FILTERS];
  void* states[MAX_FILTERS][FX_MAX_CHANNELS];
  const float* ins[FX_MAX_CHANNELS];
  float* outs[FX_MAX_CHANNELS];
  FxUnit units[FX_MAX_CHANNELS];
  const CascadeKernel* kernel;
  CascadeRow* sections[FX_MAX_CHANNELS][MAX_FILTERS];
  CascadeJob jobs[FX_MAX_CHANNELS];
} Rig;

static void
rig_free(Rig* const rig)
{
  for (uint32_t k = 0; k < rig->n_filters && rig->nodes[k]; ++k) {
    rig->fx[k]->destroy(rig->nodes[k]);
    for (uint32_t c = 0; c < rig->n_channels; ++c) {
      free(rig->states[k][c]);
    }
  }
  free(rig->noise);
  free(rig->result);
  free(rig->rows[0]);
  free(rig->rows[1]);
}

static void*
new_aligned(const size_t bytes, const size_t alignment)
{
  return aligned_alloc(alignment, (bytes + alignment - 1U) / alignment * alignment);
}

/// Allocate planar signals, on huge pages if possible, as NumPy does.
static float*
new_rows(const Rig* const rig, const size_t n_frames)
{
  const size_t bytes = rig->n_channels * n_frames * sizeof(float);
  float* const rows = new_aligned(bytes, bytes < HUGE_PAGE ? ALIGNMENT : HUGE_PAGE);
  if (rows && bytes >= HUGE_PAGE) {
    (void)madvise(rows, bytes, MADV_HUGEPAGE); // an optimisation; an error does not matter
  }
  return rows;
}

static double
choice_index(const FxParam* const param, const char* const name)
{
  uint32_t index = 0;
  while (strcmp(param->choices[index], name) != 0) {
    ++index;
  }
  return index;
}

/// Make filter k with a unit for each channel.
static Status
add_filter(Rig* const rig, const uint32_t k, const double rate_hz, Error* const error)
{
  const Link* const kind = &kinds[k % N_KINDS];
  const FxInfo* const fx = rig->fx[k] = fx_find(kind->effect);
  double values[16];
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    values[p] = fx->params[p].initial;
  }
  const int type = fx_param_find(fx, "type");
  values[fx_param_find(fx, "frequency")] = kind->frequency_hz;
  values[fx_param_find(fx, "order")] = 2.0;
  values[fx_param_find(fx, "ripple")] = 0.1;
  values[type] = choice_index(&fx->params[type], kind->type);

  const FxSetup setup = { .rate_hz = rate_hz,
                          .max_block_frames = rig->block_frames,
                          .n_in = rig->n_channels,
                          .values = values };
  FxShape shape = { .unit_in = 1U, .unit_out = 1U };
  const Status status = fx_make(fx, &setup, &shape, &rig->nodes[k], error);
  for (uint32_t c = 0; !status && c < rig->n_channels; ++c) {
    rig->states[k][c] = new_aligned(shape.unit_bytes, ALIGNMENT);
    if (!rig->states[k][c]) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    fx->unit_init(rig->nodes[k], rig->states[k][c], c);
    rig->sections[c][k] = fx->linear->sections(rig->states[k][c]);
  }
  return status;
}

static void
fill_noise(float* const out, const size_t n)
{
  uint32_t state = 1;
  for (size_t i = 0; i < n; ++i) {
    state = state * 1664525U + 1013904223U; // W. H. Press et al., "Numerical Recipes", ranqd1
    out[i] = (float)(state >> 8U) / 8388608.0F - 1.0F;
  }
}

static Status
rig_new(Rig* const rig, const IirArgs* const args, const uint32_t n_channels, Error* const error)
{
  uint32_t n_kernels = 0;
  memset(rig, 0, sizeof(*rig));
  rig->kernel = cascade_kernels(&n_kernels)[0];
  rig->n_channels = n_channels;
  rig->n_filters = (uint32_t)args->n_filters;
  rig->block_frames = (uint32_t)args->block_frames;
  rig->n_frames = (size_t)(args->seconds * args->rate_hz);
  rig->noise = new_rows(rig, rig->n_frames);
  rig->result = new_rows(rig, rig->n_frames);
  rig->rows[0] = new_rows(rig, rig->block_frames);
  rig->rows[1] = new_rows(rig, rig->block_frames);
  Status status = STATUS_OK;
  if (!rig->noise || !rig->result || !rig->rows[0] || !rig->rows[1]) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t k = 0; !status && k < rig->n_filters; ++k) {
    status = add_filter(rig, k, args->rate_hz, error);
  }
  if (status) {
    rig_free(rig);
    return status;
  }
  fill_noise(rig->noise, rig->n_channels * rig->n_frames);
  memset(rig->result, 0, rig->n_channels * rig->n_frames * sizeof(float)); // touches all pages
  return STATUS_OK;
}

/// Run filter k from rows `in` to rows `out`, whose distances are the strides, in floats.
static void
run_filter(Rig* const rig, const uint32_t k, const float* const in, const size_t in_stride,
           float* const out, const size_t out_stride, const uint32_t n_frames)
{
  for (uint32_t c = 0; c < rig->n_channels; ++c) {
    rig->ins[c] = in + c * in_stride;
    rig->outs[c] = out + c * out_stride;
    rig->units[c] = (FxUnit){
      .node = rig->nodes[k], .state = rig->states[k][c], .in = rig->ins + c, .out = rig->outs + c
    };
  }
  rig->fx[k]->run(rig->units, rig->n_channels, n_frames);
}

/// Run n frames from frame `first` on through one filter after the other.
static void
run_nodes(Rig* const rig, const size_t first, const uint32_t n)
{
  const float* in = rig->noise + first;
  size_t in_stride = rig->n_frames;
  for (uint32_t k = 0; k < rig->n_filters; ++k) {
    const bool is_last = k + 1U == rig->n_filters;
    float* const out = is_last ? rig->result + first : rig->rows[k % 2U];
    const size_t out_stride = is_last ? rig->n_frames : rig->block_frames;
    run_filter(rig, k, in, in_stride, out, out_stride, n);
    in = out;
    in_stride = out_stride;
  }
}

/// Run n frames from frame `first` on through all filters together.
static void
run_chain(Rig* const rig, const size_t first, const uint32_t n)
{
  for (uint32_t c = 0; c < rig->n_channels; ++c) {
    const size_t at = c * rig->n_frames + first;
    rig->jobs[c] = (CascadeJob){ rig->sections[c], rig->noise + at, rig->result + at };
  }
  const uint32_t ends = (1U << rig->n_filters) - 1U; // each filter rounds its output to float
  rig->kernel->run(rig->jobs, rig->n_channels, (CascadeForm){ rig->n_filters, ends }, n);
}

/// Measure the time of the whole signal, in seconds.
static double
rig_time(Rig* const rig, void (*const run)(Rig*, size_t, uint32_t))
{
  const size_t block = rig->block_frames;
  const uint64_t began_ns = time_now_ns();
  for (size_t i = 0; i < rig->n_frames; i += block) {
    const size_t left = rig->n_frames - i;
    run(rig, i, (uint32_t)(left < block ? left : block));
  }
  return 1e-9 * (double)(time_now_ns() - began_ns);
}

/// Measure the seconds that SciPy takes in float32 and in float64.  Returns false without SciPy.
static bool
peer_time(const IirArgs* const args, const uint32_t n_channels, double* const float_seconds,
          double* const double_seconds)
{
  char command[1024];
  const int length = snprintf(command, sizeof(command), "'%s' '%s' %.9g %u %u", args->python,
                              args->peer, args->seconds, n_channels, (uint32_t)args->n_filters);
  FILE* const pipe = length < (int)sizeof(command) ? popen(command, "r") : NULL;
  if (!pipe) {
    return false;
  }
  const bool read = fscanf(pipe, "%lf %lf", float_seconds, double_seconds) == 2;
  return pclose(pipe) == 0 && read;
}

/// Medians of the rounds, with some channels.
typedef struct Result {
  uint32_t n_channels;
  double chain, nodes, peer_float, peer_double; ///< Seconds; the peer's are 0 if it did not run
} Result;

static Result
measure(Rig* const rig, const IirArgs* const args)
{
  double chained[MAX_ROUNDS];
  double nodes[MAX_ROUNDS];
  double peer_float[MAX_ROUNDS];
  double peer_double[MAX_ROUNDS];
  const size_t n = (size_t)args->n_rounds;
  bool has_peer = true;
  rig_time(rig, run_nodes); // the first run causes the page faults
  for (size_t i = 0; i < n; ++i) {
    chained[i] = rig_time(rig, run_chain);
    nodes[i] = rig_time(rig, run_nodes);
    has_peer = has_peer && peer_time(args, rig->n_channels, &peer_float[i], &peer_double[i]);
  }
  return (Result){ .n_channels = rig->n_channels,
                   .chain = percentiles_of(chained, n).p50,
                   .nodes = percentiles_of(nodes, n).p50,
                   .peer_float = has_peer ? percentiles_of(peer_float, n).p50 : 0.0,
                   .peer_double = has_peer ? percentiles_of(peer_double, n).p50 : 0.0 };
}

static void
print_row(const char* const name, const IirArgs* const args, const Result* const result,
          const double seconds)
{
  const double samples = args->seconds * args->rate_hz * result->n_channels;
  printf("%8u  %-16s %9.1f ms %9.0f x real time %7.2f ns per sample %7.2f x\n", result->n_channels,
         name, 1e3 * seconds, args->seconds / seconds, 1e9 * seconds / samples,
         seconds / result->chain);
}

static json_t*
json_row(const Result* const result)
{
  json_t* const row = json_pack("{sI sf sf}", "channels", (json_int_t)result->n_channels,
                                "warprack_s", result->chain, "nodes_s", result->nodes);
  if (result->peer_float > 0.0) {
    json_object_set_new(row, "scipy_float32_s", json_real(result->peer_float));
    json_object_set_new(row, "scipy_float64_s", json_real(result->peer_double));
  }
  return row;
}

static int
report(const IirArgs* const args, const Result* const results, const uint32_t n_results)
{
  if (args->json) {
    json_t* const rows = json_array();
    for (uint32_t r = 0; r < n_results; ++r) {
      json_array_append_new(rows, json_row(&results[r]));
    }
    return command_print_json(&bench_iir, json_pack("{ss sf sI so}", "bench", "iir", "seconds",
                                                    args->seconds, "block_frames",
                                                    (json_int_t)args->block_frames, "rows", rows));
  }
  printf("%lld filters, %.0f s of noise, %.0f Hz, blocks of %lld frames; median of %lld rounds\n\n",
         (long long)args->n_filters, args->seconds, args->rate_hz, (long long)args->block_frames,
         (long long)args->n_rounds);
  printf("channels\n");
  for (uint32_t r = 0; r < n_results; ++r) {
    print_row("warprack", args, &results[r], results[r].chain);
    print_row("node by node", args, &results[r], results[r].nodes);
    if (results[r].peer_float > 0.0) {
      print_row("SciPy, float32", args, &results[r], results[r].peer_float);
      print_row("SciPy, float64", args, &results[r], results[r].peer_double);
    }
  }
  if (!(results[0].peer_float > 0.0)) {
    printf("  SciPy did not run: install python3-scipy, and run from the source tree or give "
           "--peer and --python\n");
  }
  return 0;
}

static int
iir_run(const int argc, char** const argv)
{
  IirArgs args = { .n_filters = N_KINDS,
                   .block_frames = 1024,
                   .n_rounds = 5,
                   .seconds = 180.0,
                   .rate_hz = 44100.0, // as in the peer
                   .python = "/usr/bin/python3",
                   .peer = "tools/bench/sosfilt_peer.py" };
  // clang-format off
  const Option table[] = {
    { "block",    'b', OPTION_INTEGER, "N",    1,    FX_MAX_BLOCK, .to.integer = &args.block_frames, .help = "Frames per block, default 1024" },
    { "channels", 'c', OPTION_INTEGER, "N",    1, FX_MAX_CHANNELS, .to.integer = &args.n_channels,   .help = "Channels, default 1, 2 and 8 in turn" },
    { "filters",  'f', OPTION_INTEGER, "N",    1,     MAX_FILTERS, .to.integer = &args.n_filters,    .help = "Filters in series, default 4" },
    { "json",     'j', OPTION_FLAG,                                .to.flag = &args.json,            .help = "Print JSON" },
    { "peer",     0,   OPTION_TEXT,    "FILE",                     .to.text = &args.peer,            .help = "Script of the SciPy side, default tools/bench/sosfilt_peer.py" },
    { "python",   0,   OPTION_TEXT,    "FILE",                     .to.text = &args.python,          .help = "Python interpreter with SciPy, default /usr/bin/python3" },
    { "rounds",   0,   OPTION_INTEGER, "N",    1,      MAX_ROUNDS, .to.integer = &args.n_rounds,     .help = "Rounds of each side, default 5" },
    { "seconds",  's', OPTION_NUMBER,  "S",    1,             600, .to.number = &args.seconds,       .help = "Length of the signal, default 180" },
  };
  // clang-format on
  const OptionTable options = { .options = table, .n_options = ARRAY_LEN(table) };
  Operands operands;
  if (!options_parse(&bench_iir, &options, argc, argv, &operands)) {
    return operands.exit_code;
  }
  const uint32_t own_count = (uint32_t)args.n_channels;
  const uint32_t* const counts = own_count ? &own_count : usual_counts;
  const uint32_t n_counts = own_count ? 1U : (uint32_t)ARRAY_LEN(usual_counts);
  Error error = { STATUS_OK, "" };
  static Rig rig;
  Result results[ARRAY_LEN(usual_counts)];
  rt_flush_denormals(); // as the engine does on its threads
  for (uint32_t i = 0; i < n_counts; ++i) {
    if (rig_new(&rig, &args, counts[i], &error)) {
      return command_fail(&bench_iir, &error);
    }
    results[i] = measure(&rig, &args);
    rig_free(&rig);
  }
  return report(&args, results, n_counts);
}
