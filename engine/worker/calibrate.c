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

#define RATE_HZ      48000.0
#define SHORT_BLOCK  64U
#define LONG_BLOCK   256U
#define WIDTH        2U   // channels of a node
#define MANY_NODES   64U  // enough for a measurable cost per channel on a CPU
#define FULL_NODES   512U // several groups for each unit of a large GPU
#define SHORT_TAPS   512U
#define LONG_TAPS    65536U
#define WARM_BLOCKS  4U
#define MAX_BLOCKS   64U
#define MIN_BLOCKS   12U
#define MAX_NS       (20U * NS_PER_MS) // limit for one size, after MIN_BLOCKS
#define PACED_BLOCKS 200U              // of an empty stage
#define PACED_ROUNDS 3U
#define TEXT_BYTES   65536U

/// One rack to measure: nodes of one effect side by side, or none.
typedef struct Size {
  uint32_t block_frames;
  uint32_t n_nodes;
  uint32_t n_taps; ///< Of the file, if the effect uses one
} Size;

/// A side to measure.
typedef struct Side {
  const Backend* backend;
  Backend* device;      ///< The same, if it is a device; else NULL
  uint32_t n_many;      ///< Nodes of the larger sizes
  PlacementCost stage;  ///< Subtracted from the times of effects; 0 while it is measured itself
  double paced_more_ns; ///< Time that a paced block of an empty stage takes longer
} Side;

/// One measurement.
typedef struct Trial {
  const FxInfo* fx; ///< NULL: an empty rack
  const Backend* backend;
  Size size;
  bool has_file; ///< The nodes get a file
  bool is_paced; ///< The result is the 99th percentile of paced blocks, not the median
  uint32_t n_channels;
} Trial;

// ---- racks ----

static void
write_rack(const Trial* const trial, char text[TEXT_BYTES])
{
  const uint32_t n_nodes = trial->fx ? trial->size.n_nodes : 0U;
  size_t at = (size_t)snprintf(text, TEXT_BYTES, n_nodes ? "" : "connect in out\n");
  for (uint32_t n = 0; n < n_nodes; ++n) {
    const uint32_t first = WIDTH * n + 1U;
    at += (size_t)snprintf(text + at, TEXT_BYTES - at, "add n%u %s", n, trial->fx->name);
    if (trial->has_file) {
      at += (size_t)snprintf(text + at, TEXT_BYTES - at, " %s=noise",
                             trial->fx->params[fx_file_param(trial->fx)].id);
    }
    at += (size_t)snprintf(text + at, TEXT_BYTES - at,
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
parse_trial(const Trial* const trial, Rack** const rack, Error* const error)
{
  char* const text = calloc(1, TEXT_BYTES);
  if (!text) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  write_rack(trial, text);
  const Status status = rack_parse(text, "calibration", NULL, rack, error);
  free(text);
  return status;
}

static Status
plan_trial(Trial* const trial, const Format* const format, Plan** const plan, Error* const error)
{
  Rack* rack = NULL;
  Status status = parse_trial(trial, &rack, error);
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

/// Run blocks and note their times.  Returns the number of times; a block that fails ends it.
static uint32_t
run_blocks(Player* const player, const Trial* const trial, float* const* const in,
           float* const* const out, double* const times_ns, bool* const has_failed)
{
  const uint32_t n_frames = trial->size.block_frames;
  const uint32_t n_blocks = trial->is_paced ? PACED_BLOCKS : MAX_BLOCKS;
  const uint64_t period_ns = (uint64_t)(1e9 * SHORT_BLOCK / RATE_HZ);
  const uint64_t began = time_now_ns();
  uint32_t n = 0;
  *has_failed = false;
  for (uint32_t b = 0; b < WARM_BLOCKS + n_blocks && !*has_failed; ++b) {
    if (trial->is_paced) {
      time_sleep_until(began + b * period_ns);
    }
    const uint64_t block_began = time_now_ns();
    *has_failed = !player_run(player, NULL, (uint64_t)b * n_frames, n_frames, in, out);
    const uint64_t now = time_now_ns();
    if (b >= WARM_BLOCKS) {
      times_ns[n++] = (double)(now - block_began);
    }
    if (trial->is_paced) {
      plan_rest(player->plan);
    }
    if (!trial->is_paced && n >= MIN_BLOCKS && now - began > MAX_NS) {
      break;
    }
  }
  return n;
}

/// Measure the time of a block, ns.
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
  float* in[WIDTH * FULL_NODES];
  float* out[WIDTH * FULL_NODES];
  for (uint32_t c = 0; c < n_channels; ++c) {
    in[c] = samples + (size_t)c * n_frames;
    out[c] = samples + (size_t)(n_channels + c) * n_frames;
  }
  double times_ns[PACED_BLOCKS > MAX_BLOCKS ? PACED_BLOCKS : MAX_BLOCKS];
  bool has_failed = false;
  const uint32_t n = run_blocks(player, trial, in, out, times_ns, &has_failed);
  free(samples);
  if (has_failed) {
    const Backend* backend = NULL;
    return plan_failure(player->plan, &backend, error);
  }
  const Percentiles times = percentiles_of(times_ns, n);
  *ns = trial->is_paced ? times.p99 : times.p50;
  return STATUS_OK;
}

/// Measure the time of a block.
static Status
measure(const Side* const side, const FxInfo* const fx, const Size size, const bool has_file,
        const bool is_paced, double* const ns, Error* const error)
{
  Trial trial = { .fx = fx,
                  .backend = side->backend,
                  .size = size,
                  .has_file = has_file,
                  .is_paced = is_paced,
                  .n_channels = WIDTH * size.n_nodes };
  const Format format = { .rate_hz = RATE_HZ,
                          .block_frames = size.block_frames,
                          .n_in = trial.n_channels,
                          .n_out = trial.n_channels,
                          .offline = true };
  Player player = { .rate_hz = RATE_HZ };
  Status status = player_init(&player, error);
  status = status ? status : plan_trial(&trial, &format, &player.plan, error);
  if (!status) {
    plan_begin(player.plan);
    status = time_blocks(&player, &trial, ns, error);
  }
  player_clear(&player);
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
measure_alone(const Side* const side, const FxInfo* const fx, const Size size, const bool has_file,
              double* const ns, Error* const error)
{
  double with_stage_ns = 0.0;
  const Status status = measure(side, fx, size, has_file, false, &with_stage_ns, error);
  *ns = positive(with_stage_ns - modelled_ns(&side->stage, &size));
  return status;
}

/// Fit the four numbers that every cost has to measurements at the four combinations of few and
/// many channels, short and long blocks.  Where noise or caches make the measurements inconsistent,
/// the fit favours the large sizes.
static Status
fit_sizes(const Side* const side, const FxInfo* const fx, const bool has_file,
          PlacementCost* const cost, Error* const error)
{
  const Size sizes[] = { { SHORT_BLOCK, 1U, SHORT_TAPS },
                         { LONG_BLOCK, 1U, SHORT_TAPS },
                         { SHORT_BLOCK, side->n_many, SHORT_TAPS },
                         { LONG_BLOCK, side->n_many, SHORT_TAPS } };
  double ns[ARRAY_LEN(sizes)];
  for (size_t s = 0; s < ARRAY_LEN(sizes); ++s) {
    const Status status = measure_alone(side, fx, sizes[s], has_file, &ns[s], error);
    if (status) {
      return status;
    }
  }
  const double few = ns[0];
  const double longer = ns[1];
  const double many = ns[2];
  const double many_longer = ns[3];
  const double more_channels = WIDTH * (side->n_many - 1.0);
  const double more_frames = LONG_BLOCK - SHORT_BLOCK;
  const double by_channel = positive(many - few) / more_channels; // of a short block
  const double by_frame = positive(longer - few) / more_frames;   // of few channels
  const double crossed = positive(many_longer - many - longer + few) / more_channels / more_frames;
  cost->per_sample = fmin(crossed, by_channel / SHORT_BLOCK);
  cost->per_channel = by_channel - SHORT_BLOCK * cost->per_sample;
  cost->per_frame = positive(by_frame - WIDTH * cost->per_sample);
  cost->base = 0.0;
  cost->base = positive(few - modelled_ns(cost, &sizes[0]));
  cost->is_known = true;
  return STATUS_OK;
}

/// Fit the cost per tap of an impulse response.
static Status
fit_taps(const Side* const side, const FxInfo* const fx, PlacementCost* const cost,
         Error* const error)
{
  const Size short_size = { SHORT_BLOCK, side->n_many, LONG_TAPS };
  const Size longer_size = { LONG_BLOCK, side->n_many, LONG_TAPS };
  double few = 0.0;
  double longer = 0.0;
  Status status = measure_alone(side, fx, short_size, true, &few, error);
  status = status ? status : measure_alone(side, fx, longer_size, true, &longer, error);
  if (status) {
    cost->is_known = false;
    return status;
  }
  const double n_taps = (double)WIDTH * side->n_many * (LONG_TAPS - SHORT_TAPS);
  const double by_tap = positive(few - modelled_ns(cost, &short_size)) / n_taps;
  const double longer_by_tap = positive(longer - modelled_ns(cost, &longer_size)) / n_taps;
  cost->per_tap_frame =
      fmin(positive(longer_by_tap - by_tap) / (LONG_BLOCK - SHORT_BLOCK), by_tap / SHORT_BLOCK);
  cost->per_tap = by_tap - SHORT_BLOCK * cost->per_tap_frame;
  return STATUS_OK;
}

static Status
fit_effect(const Side* const side, const FxInfo* const fx, PlacementCost* const cost,
           Error* const error)
{
  // Noise can stand in for an impulse response, but not for other files (a matrix).
  const bool may_have_file = fx && fx_file_param(fx) >= 0;
  if (may_have_file && !fit_sizes(side, fx, true, cost, error)) {
    return fit_taps(side, fx, cost, error);
  }
  return fit_sizes(side, fx, false, cost, error);
}

/// As fit_effect(), with fewer nodes if the memory does not suffice.
static Status
fit_effect_in_memory(const Side* const side, const FxInfo* const fx, PlacementCost* const cost,
                     Error* const error)
{
  const Status status = fit_effect(side, fx, cost, error);
  if ((status != STATUS_NO_MEM && status != STATUS_LIMIT) || side->n_many == MANY_NODES) {
    return status;
  }
  Side smaller = *side;
  smaller.n_many = MANY_NODES;
  return fit_effect(&smaller, fx, cost, error);
}

/// Let a side begin or end to play, as in a live run; the CPU needs nothing.
static void
play(const Side* const side, const bool plays)
{
  if (side->device) {
    device_backend_play(side->device, plays);
  }
}

/// Measure an empty stage.  A paced block takes longer than one of many in a row.
static Status
fit_stage(Side* const side, Error* const error)
{
  const Size size = { SHORT_BLOCK, 1U, SHORT_TAPS };
  PlacementCost stage = { .is_known = false };
  double in_a_row = 0.0;
  double least_paced = HUGE_VAL; // a machine that is busy at the start delays some blocks
  Status status = fit_sizes(side, NULL, false, &stage, error);
  status = status ? status : measure(side, NULL, size, false, false, &in_a_row, error);
  play(side, true);
  for (uint32_t r = 0; !status && r < PACED_ROUNDS; ++r) {
    double paced = 0.0;
    status = measure(side, NULL, size, false, true, &paced, error);
    least_paced = fmin(least_paced, paced);
  }
  play(side, false);
  side->stage = stage;
  side->paced_more_ns = positive(least_paced - in_a_row);
  return status;
}

void
calibrate_name(const bool may_sleep, char name[CALIBRATE_NAME_BYTES])
{
  uint32_t n = 0;
  const FxInfo* const* const effects = fx_table(&n);
  int at = snprintf(name, CALIBRATE_NAME_BYTES, may_sleep ? "costs asleep" : "costs awake");
  for (uint32_t e = 0; e < n && at < (int)CALIBRATE_NAME_BYTES; ++e) {
    at += snprintf(name + at, CALIBRATE_NAME_BYTES - (size_t)at, " %s", effects[e]->name);
  }
}

/// The costs of an effect before e with the same kernel, if they are known.
static const PlacementCost*
find_alike(const FxInfo* const* const effects, const PlacementCost* const costs, const uint32_t e)
{
  for (uint32_t b = 0; b < e; ++b) {
    if (effects[e]->kernel && effects[b]->kernel == effects[e]->kernel && costs[b].is_known) {
      return &costs[b];
    }
  }
  return NULL;
}

static bool
is_measured(const FxInfo* const fx, const PlacementSide side, const char* const only)
{
  return !fx->offline_only && (side == PLACEMENT_CPU || fx->kernel) &&
         (!only || !strcmp(only, fx->name));
}

/// Measure the effects on a side.  STATUS_DEVICE_LOST ends it; *first keeps the first failure.
static Status
fit_effects(const Side* const side, const PlacementSide which, const char* const only,
            const CalibrateProgress* const progress, PlacementCost* const costs, Error* const first)
{
  uint32_t n_effects = 0;
  const FxInfo* const* const effects = fx_table(&n_effects);
  Status status = STATUS_OK;
  for (uint32_t e = 0; e < n_effects && e < PLACEMENT_MAX_EFFECTS && status != STATUS_DEVICE_LOST;
       ++e) {
    if (!is_measured(effects[e], which, only)) {
      continue;
    }
    const PlacementCost* const alike = find_alike(effects, costs, e);
    Error why = { STATUS_OK, "" };
    status = STATUS_OK;
    if (alike) {
      costs[e] = *alike;
    } else {
      status = fit_effect_in_memory(side, effects[e], &costs[e], &why);
    }
    if (status && !first->status) {
      error_set(first, status, "%s: %s", effects[e]->name, why.text);
    }
    if (progress) {
      progress->report(progress->context, which * n_effects + e + 1U, PLACEMENT_SIDES * n_effects);
    }
  }
  return status;
}

Status
calibrate(Backend* const device, const char* const only, const CalibrateProgress* const progress,
          PlacementCosts* const costs, Error* const error)
{
  static const PlacementCost nothing = { .is_known = true };
  Side sides[] = { [PLACEMENT_CPU] = { &backend_cpu, NULL, MANY_NODES, nothing, 0.0 },
                   [PLACEMENT_GPU] = { device, device,
                                       device_backend_is_gpu(device) ? FULL_NODES : MANY_NODES,
                                       nothing, 0.0 } };
  *costs = (PlacementCosts){ 0 };
  Error first = { STATUS_OK, "" };
  for (PlacementSide s = PLACEMENT_CPU; s < PLACEMENT_SIDES; ++s) {
    Status status = fit_stage(&sides[s], error);
    if (status) {
      return status;
    }
    costs->stage[s] = sides[s].stage;
    costs->stage[s].base += sides[s].paced_more_ns;
    status = fit_effects(&sides[s], s, only, progress, costs->effects[s], &first);
    if (status == STATUS_DEVICE_LOST) {
      return error_set(error, status, "%s", first.text);
    }
  }
  if (first.status && error) {
    *error = first;
  }
  return STATUS_OK;
}
