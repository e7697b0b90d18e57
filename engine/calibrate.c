// SPDX-License-Identifier: GPL-3.0-or-later
// Measuring what effects cost.  Five sizes give the five numbers of a PlacementCost, one after the
// other.

#include "calibrate.h"

#include "rt.h"
#include "worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_HZ     48000.0
#define SHORT_BLOCK 64U
#define LONG_BLOCK  256U
#define WIDTH       2U  // channels of a node
#define MANY_NODES  64U // enough for a GPU's channels to cost something
#define SHORT_TAPS  512U
#define LONG_TAPS   65536U
#define WARM_BLOCKS 4U
#define MAX_BLOCKS  64U
#define MIN_BLOCKS  12U
#define MAX_NS      20000000U // a size takes this long, but at least MIN_BLOCKS
#define TEXT_BYTES  16384U

/// One rack to measure: nodes of one effect side by side, or none.
typedef struct Size {
  uint32_t block_frames;
  uint32_t n_nodes;
  uint32_t n_taps; ///< Of files, where the effect takes one
} Size;

static const Size few_size = { SHORT_BLOCK, 1U, SHORT_TAPS };
static const Size longer_size = { LONG_BLOCK, 1U, SHORT_TAPS };
static const Size many_size = { SHORT_BLOCK, MANY_NODES, SHORT_TAPS };
static const Size taps_size = { SHORT_BLOCK, MANY_NODES, LONG_TAPS };
static const Size longer_taps_size = { LONG_BLOCK, MANY_NODES, LONG_TAPS };

/// One measurement.
typedef struct Trial {
  const FxInfo* fx; ///< NULL: an empty rack
  const Backend* backend;
  Size size;
  bool has_file; ///< The nodes are given one
  uint32_t n_channels;
  char text[TEXT_BYTES]; ///< Of the rack
} Trial;

// ---- racks ----

static int
file_param(const FxInfo* const fx)
{
  for (uint32_t p = 0; fx && p < fx->n_params; ++p) {
    if (fx->params[p].kind == PARAM_FILE) {
      return (int)p;
    }
  }
  return -1;
}

static void
write_rack(Trial* const trial)
{
  const uint32_t n_nodes = trial->fx ? trial->size.n_nodes : 0U;
  size_t at = (size_t)snprintf(trial->text, TEXT_BYTES, n_nodes ? "" : "connect in out\n");
  for (uint32_t n = 0; n < n_nodes; ++n) {
    const uint32_t first = WIDTH * n + 1U;
    at += (size_t)snprintf(trial->text + at, TEXT_BYTES - at, "add n%u %s", n, trial->fx->name);
    if (trial->has_file) {
      at += (size_t)snprintf(trial->text + at, TEXT_BYTES - at, " %s=noise",
                             trial->fx->params[file_param(trial->fx)].id);
    }
    at += (size_t)snprintf(trial->text + at, TEXT_BYTES - at,
                           "\nconnect in:%u-%u n%u\nconnect n%u out:%u-%u\n", first,
                           first + WIDTH - 1U, n, n, first, first + WIDTH - 1U);
  }
}

static void
fill_noise(float* const samples, const size_t n)
{
  uint32_t noise = 1U;
  for (size_t i = 0; i < n; ++i) {
    noise = noise * 1664525U + 1013904223U; // Numerical Recipes' quick generator: any noise will do
    samples[i] = 1e-3F * ((float)(noise >> 8U) / 8388608.0F - 1.0F);
  }
}

static Status
load_noise(void* const context, const char* const name, const double rate_hz, FxFile** const file,
           Error* const error)
{
  (void)rate_hz;
  const uint32_t n_taps = ((const Trial*)context)->size.n_taps;
  FxFile* const noise = calloc(1, sizeof(FxFile) + n_taps * sizeof(float));
  if (!noise) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  float* const samples = (float*)(noise + 1);
  fill_noise(samples, n_taps);
  *noise = (FxFile){
    .name = name, .n_channels = 1, .n_frames = n_taps, .samples = samples, .is_audio = true
  };
  *file = noise;
  return STATUS_OK;
}

static void
free_noise(void* const context, FxFile* const file)
{
  (void)context;
  free(file);
}

static Status
plan_trial(Trial* const trial, const Format* const format, Plan** const plan, Error* const error)
{
  write_rack(trial);
  Rack* rack = NULL;
  Status status = rack_parse(trial->text, "calibration", NULL, &rack, error);
  if (status) {
    return status;
  }
  FileLoader loader = { load_noise, free_noise, trial, NULL };
  const PlanRequest request = {
    .rack = rack, .format = format, .loader = &loader, .backend = trial->backend
  };
  bool tangled = false;
  status = plan_new(&request, plan, &tangled, error);
  rack_free(rack);
  return status;
}

// ---- time ----

static int
compare_doubles(const void* const a, const void* const b)
{
  const double left = *(const double*)a;
  const double right = *(const double*)b;
  return (left > right) - (left < right);
}

/// Median time of a block, ns.
static Status
time_blocks(Worker* const worker, const Trial* const trial, double* const ns, Error* const error)
{
  const uint32_t n_frames = trial->size.block_frames;
  const uint32_t n_channels = trial->n_channels;
  float* const samples = calloc((size_t)2U * n_channels * n_frames, sizeof(float));
  if (!samples) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  fill_noise(samples, (size_t)n_channels * n_frames);
  float* in[WIDTH * MANY_NODES];
  float* out[WIDTH * MANY_NODES];
  for (uint32_t c = 0; c < n_channels; ++c) {
    in[c] = samples + (size_t)c * n_frames;
    out[c] = samples + (size_t)(n_channels + c) * n_frames;
  }
  double times[MAX_BLOCKS];
  uint32_t n = 0;
  bool has_failed = false;
  const uint64_t began = rt_now_ns();
  for (uint32_t b = 0; b < WARM_BLOCKS + MAX_BLOCKS && !has_failed; ++b) {
    const uint64_t block_began = rt_now_ns();
    has_failed = !worker_run(worker, NULL, (uint64_t)b * n_frames, n_frames, in, out);
    const uint64_t now = rt_now_ns();
    if (b >= WARM_BLOCKS) {
      times[n++] = (double)(now - block_began);
    }
    if (n >= MIN_BLOCKS && now - began > MAX_NS) {
      break;
    }
  }
  free(samples);
  if (has_failed) {
    const Backend* backend = NULL;
    return plan_failure(worker->plan, &backend, error);
  }
  qsort(times, n, sizeof(double), compare_doubles);
  *ns = times[n / 2U];
  return STATUS_OK;
}

static Status
measure(const FxInfo* const fx, const Backend* const backend, const Size* const size,
        const bool has_file, double* const ns, Error* const error)
{
  Trial* const trial = calloc(1, sizeof(Trial));
  if (!trial) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *trial = (Trial){ .fx = fx, .backend = backend, .size = *size, .has_file = has_file };
  trial->n_channels = WIDTH * size->n_nodes;
  const Format format = { .rate_hz = RATE_HZ,
                          .block_frames = size->block_frames,
                          .n_in = trial->n_channels,
                          .n_out = trial->n_channels,
                          .offline = true };
  Worker worker = { .rate_hz = RATE_HZ };
  Status status = worker_init(&worker, error);
  if (!status) {
    status = plan_trial(trial, &format, &worker.plan, error);
  }
  if (!status) {
    plan_begin(worker.plan);
    status = time_blocks(&worker, trial, ns, error);
  }
  worker_clear(&worker);
  free(trial);
  return status;
}

// ---- numbers ----

static double
positive(const double x)
{
  return fmax(x, 0.0);
}

static double
stage_ns(const PlacementCost* const stage, const Size* const size)
{
  return stage->base +
         size->block_frames * (stage->per_frame + WIDTH * size->n_nodes * stage->per_channel);
}

/// The three numbers that every cost has.  `stage` is taken off; zeros for the stage's own.
static Status
fit_sizes(const FxInfo* const fx, const Backend* const backend, const PlacementCost* const stage,
          const bool has_file, PlacementCost* const cost, Error* const error)
{
  double few = 0.0;
  double longer = 0.0;
  double many = 0.0;
  Status status = measure(fx, backend, &few_size, has_file, &few, error);
  if (!status) {
    status = measure(fx, backend, &longer_size, has_file, &longer, error);
  }
  if (!status) {
    status = measure(fx, backend, &many_size, has_file, &many, error);
  }
  if (status) {
    return status;
  }
  few = positive(few - stage_ns(stage, &few_size));
  longer = positive(longer - stage_ns(stage, &longer_size));
  many = positive(many - stage_ns(stage, &many_size));
  const double all_per_frame = positive(longer - few) / (LONG_BLOCK - SHORT_BLOCK);
  cost->per_channel = positive(many - few) / (SHORT_BLOCK * WIDTH * (MANY_NODES - 1.0));
  cost->per_channel = fmin(cost->per_channel, many / (SHORT_BLOCK * WIDTH * MANY_NODES));
  cost->per_frame = positive(all_per_frame - WIDTH * cost->per_channel);
  cost->base = positive(few - SHORT_BLOCK * all_per_frame);
  cost->is_known = true;
  return STATUS_OK;
}

/// What the length of an impulse response adds.
static Status
fit_taps(const FxInfo* const fx, const Backend* const backend, const PlacementCost* const stage,
         PlacementCost* const cost, Error* const error)
{
  double few = 0.0;
  double longer = 0.0;
  Status status = measure(fx, backend, &taps_size, true, &few, error);
  if (!status) {
    status = measure(fx, backend, &longer_taps_size, true, &longer, error);
  }
  if (status) {
    cost->is_known = false;
    return status;
  }
  const double n_channels = WIDTH * MANY_NODES;
  const double n_taps = n_channels * (LONG_TAPS - SHORT_TAPS);
  const double own = cost->per_frame + n_channels * cost->per_channel;
  const double by_taps =
      positive(few - stage_ns(stage, &taps_size) - cost->base - SHORT_BLOCK * own) / n_taps;
  const double longer_by_taps =
      positive(longer - stage_ns(stage, &longer_taps_size) - cost->base - LONG_BLOCK * own) /
      n_taps;
  cost->per_tap_frame = positive(longer_by_taps - by_taps) / (LONG_BLOCK - SHORT_BLOCK);
  cost->per_tap = positive(by_taps - SHORT_BLOCK * cost->per_tap_frame);
  return STATUS_OK;
}

static Status
fit_effect(const FxInfo* const fx, const Backend* const backend, const PlacementCost* const stage,
           PlacementCost* const cost, Error* const error)
{
  // A file may be an impulse response, or something else that noise cannot be (a matrix).
  const bool may_have_file = file_param(fx) >= 0;
  if (may_have_file && !fit_sizes(fx, backend, stage, true, cost, error)) {
    return fit_taps(fx, backend, stage, cost, error);
  }
  return fit_sizes(fx, backend, stage, false, cost, error);
}

void
calibrate_name(char name[CALIBRATE_NAME_BYTES])
{
  uint32_t n = 0;
  const FxInfo* const* const effects = fx_table(&n);
  int at = snprintf(name, CALIBRATE_NAME_BYTES, "costs");
  for (uint32_t e = 0; e < n && at < (int)CALIBRATE_NAME_BYTES; ++e) {
    at += snprintf(name + at, CALIBRATE_NAME_BYTES - (size_t)at, " %s", effects[e]->name);
  }
}

Status
calibrate(const Backend* const device, const char* const only, PlacementCosts* const costs,
          Error* const error)
{
  const Backend* const sides[] = { [PLACEMENT_CPU] = &backend_cpu, [PLACEMENT_GPU] = device };
  static const PlacementCost nothing = { .is_known = true };
  uint32_t n_effects = 0;
  const FxInfo* const* const effects = fx_table(&n_effects);
  *costs = (PlacementCosts){ 0 };
  Error first = { STATUS_OK, "" };
  for (uint32_t s = 0; s < PLACEMENT_SIDES; ++s) {
    Status status = fit_sizes(NULL, sides[s], &nothing, false, &costs->stage[s], error);
    if (status) {
      return status;
    }
    for (uint32_t e = 0; e < n_effects && e < PLACEMENT_MAX_EFFECTS; ++e) {
      const FxInfo* const fx = effects[e];
      Error why = { STATUS_OK, "" };
      if (fx->offline_only || (s == PLACEMENT_GPU && !fx->kernel) ||
          (only && strcmp(only, fx->name))) {
        continue;
      }
      status = fit_effect(fx, sides[s], &costs->stage[s], &costs->effects[s][e], &why);
      if (status && !first.status) {
        error_set(&first, status, "%s: %s", fx->name, why.text);
      }
      if (status == STATUS_DEVICE_LOST) {
        return error_set(error, status, "%s", first.text);
      }
    }
  }
  if (first.status && error) {
    *error = first;
  }
  return STATUS_OK;
}
