// SPDX-License-Identifier: GPL-3.0-or-later
// Measures the costs of effects.  Six sizes give the six numbers of a PlacementCost.

#include "calibrate.h"

#include "player.h"

#include "engine/base/percentiles.h"
#include "engine/base/time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_HZ     48000.0
#define SHORT_BLOCK 64U
#define LONG_BLOCK  256U
#define WIDTH       2U  // channels of a node
#define MANY_NODES  64U // enough nodes for a measurable cost per channel on a GPU
#define SHORT_TAPS  512U
#define LONG_TAPS   65536U
#define WARM_BLOCKS 4U
#define MAX_BLOCKS  64U
#define MIN_BLOCKS  12U
#define MAX_NS      (20U * NS_PER_MS) // limit for one size, after MIN_BLOCKS
#define TEXT_BYTES  16384U

/// One rack to measure: nodes of one effect side by side, or none.
typedef struct Size {
  uint32_t block_frames;
  uint32_t n_nodes;
  uint32_t n_taps; ///< Of the file, if the effect uses one
} Size;

static const Size few_size = { SHORT_BLOCK, 1U, SHORT_TAPS };
static const Size longer_size = { LONG_BLOCK, 1U, SHORT_TAPS };
static const Size many_size = { SHORT_BLOCK, MANY_NODES, SHORT_TAPS };
static const Size many_longer_size = { LONG_BLOCK, MANY_NODES, SHORT_TAPS };
static const Size taps_size = { SHORT_BLOCK, MANY_NODES, LONG_TAPS };
static const Size longer_taps_size = { LONG_BLOCK, MANY_NODES, LONG_TAPS };

/// One measurement.
typedef struct Trial {
  const FxInfo* fx; ///< NULL: an empty rack
  const Backend* backend;
  Size size;
  bool has_file; ///< The nodes get a file
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

void
calibrate_noise(float* const samples, const size_t n)
{
  uint32_t noise = 1U;
  for (size_t i = 0; i < n; ++i) {
    noise = noise * 1664525U + 1013904223U; // Numerical Recipes' quick generator; suffices here
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
  calibrate_noise(samples, n_taps);
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
  FileLoader loader = { .files = { .load = load_noise, .free = free_noise, .context = trial } };
  const PlanRequest request = {
    .rack = rack, .format = format, .loader = &loader, .backend = trial->backend
  };
  PlanFault fault;
  status = plan_new(&request, plan, &fault, error);
  rack_free(rack);
  return status;
}

// ---- time ----

/// Measure the median time of a block, ns.
static Status
time_blocks(Player* const player, const Trial* const trial, double* const ns, Error* const error)
{
  const uint32_t n_frames = trial->size.block_frames;
  const uint32_t n_channels = trial->n_channels;
  float* const samples = calloc((size_t)2U * n_channels * n_frames, sizeof(float));
  if (!samples) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  calibrate_noise(samples, (size_t)n_channels * n_frames);
  float* in[WIDTH * MANY_NODES];
  float* out[WIDTH * MANY_NODES];
  for (uint32_t c = 0; c < n_channels; ++c) {
    in[c] = samples + (size_t)c * n_frames;
    out[c] = samples + (size_t)(n_channels + c) * n_frames;
  }
  double times[MAX_BLOCKS];
  uint32_t n = 0;
  bool has_failed = false;
  const uint64_t began = time_now_ns();
  for (uint32_t b = 0; b < WARM_BLOCKS + MAX_BLOCKS && !has_failed; ++b) {
    const uint64_t block_began = time_now_ns();
    has_failed = !player_run(player, NULL, (uint64_t)b * n_frames, n_frames, in, out);
    const uint64_t now = time_now_ns();
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
    return plan_failure(player->plan, &backend, error);
  }
  *ns = percentiles_of(times, n).p50;
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
  Player player = { .rate_hz = RATE_HZ };
  Status status = player_init(&player, error);
  status = status ? status : plan_trial(trial, &format, &player.plan, error);
  if (!status) {
    plan_begin(player.plan);
    status = time_blocks(&player, trial, ns, error);
  }
  player_clear(&player);
  free(trial);
  return status;
}

// ---- numbers ----

static double
positive(const double x)
{
  return fmax(x, 0.0);
}

/// The cost of a batch by the model of placement.h, without taps.
static double
modelled_ns(const PlacementCost* const cost, const Size* const size)
{
  const double n_channels = WIDTH * size->n_nodes;
  return cost->base + n_channels * cost->per_channel +
         size->block_frames * (cost->per_frame + n_channels * cost->per_sample);
}

/// Measure the time of an effect's nodes, without the cost of the stage.
static Status
measure_alone(const FxInfo* const fx, const Backend* const backend,
              const PlacementCost* const stage, const Size* const size, const bool has_file,
              double* const ns, Error* const error)
{
  const Status status = measure(fx, backend, size, has_file, ns, error);
  *ns = positive(*ns - modelled_ns(stage, size));
  return status;
}

/// Fit the four numbers that every cost has to measurements at the four combinations of few and
/// many channels, short and long blocks.  The cost of `stage` is subtracted; it is zero when the
/// stage itself is measured.  Where noise or caches make the measurements inconsistent, the fit
/// favours the large sizes.
static Status
fit_sizes(const FxInfo* const fx, const Backend* const backend, const PlacementCost* const stage,
          const bool has_file, PlacementCost* const cost, Error* const error)
{
  double few = 0.0;
  double longer = 0.0;
  double many = 0.0;
  double many_longer = 0.0;
  Status status = measure_alone(fx, backend, stage, &few_size, has_file, &few, error);
  if (!status) {
    status = measure_alone(fx, backend, stage, &longer_size, has_file, &longer, error);
  }
  status = status ? status : measure_alone(fx, backend, stage, &many_size, has_file, &many, error);
  if (!status) {
    status = measure_alone(fx, backend, stage, &many_longer_size, has_file, &many_longer, error);
  }
  if (status) {
    return status;
  }
  const double more_channels = WIDTH * (MANY_NODES - 1.0);
  const double more_frames = LONG_BLOCK - SHORT_BLOCK;
  const double by_channel = positive(many - few) / more_channels; // of a short block
  const double by_frame = positive(longer - few) / more_frames;   // of few channels
  const double crossed = positive(many_longer - many - longer + few) / more_channels / more_frames;
  cost->per_sample = fmin(crossed, by_channel / SHORT_BLOCK);
  cost->per_channel = by_channel - SHORT_BLOCK * cost->per_sample;
  cost->per_frame = positive(by_frame - WIDTH * cost->per_sample);
  cost->base = 0.0;
  cost->base = positive(few - modelled_ns(cost, &few_size));
  cost->is_known = true;
  return STATUS_OK;
}

/// Fit the cost per tap of an impulse response.
static Status
fit_taps(const FxInfo* const fx, const Backend* const backend, const PlacementCost* const stage,
         PlacementCost* const cost, Error* const error)
{
  double few = 0.0;
  double longer = 0.0;
  Status status = measure_alone(fx, backend, stage, &taps_size, true, &few, error);
  if (!status) {
    status = measure_alone(fx, backend, stage, &longer_taps_size, true, &longer, error);
  }
  if (status) {
    cost->is_known = false;
    return status;
  }
  const double n_taps = (double)WIDTH * MANY_NODES * (LONG_TAPS - SHORT_TAPS);
  const double by_tap = positive(few - modelled_ns(cost, &taps_size)) / n_taps;
  const double longer_by_tap = positive(longer - modelled_ns(cost, &longer_taps_size)) / n_taps;
  cost->per_tap_frame =
      fmin(positive(longer_by_tap - by_tap) / (LONG_BLOCK - SHORT_BLOCK), by_tap / SHORT_BLOCK);
  cost->per_tap = by_tap - SHORT_BLOCK * cost->per_tap_frame;
  return STATUS_OK;
}

static Status
fit_effect(const FxInfo* const fx, const Backend* const backend, const PlacementCost* const stage,
           PlacementCost* const cost, Error* const error)
{
  // Noise can stand in for an impulse response, but not for other files (a matrix).
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
