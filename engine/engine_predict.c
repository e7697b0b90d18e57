// SPDX-License-Identifier: GPL-3.0-or-later
// Predicts the cost of a rack: runs the rack offline on noise, and measures the time.

#include "engine_private.h"

#include "engine/base/percentiles.h"
#include "engine/base/time.h"
#include "engine/worker/calibrate.h"
#include "engine/worker/fallback_choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define STALL_NS     5e5  // a time slice of another program on a GPU is longer
#define STALL_FACTOR 10.0 // times the median

// A measurement may end when the median is precise to MEDIAN_SHARE, but not before LEAST_BLOCKS, in
// which at 64 frames each partition of a convolver, of up to 8192 frames, has its turn, and not
// before LEAST_NS, in which other programs on a GPU have their turns.
#define MEDIAN_SHARE 0.05
#define LEAST_BLOCKS 128U
#define LOOK_BLOCKS  64U // between two looks at the median
#define LEAST_NS     (50U * NS_PER_MS)

/// The part of the time that stalled blocks took.
static double
stalled_share(const double* const times_ns, const uint32_t n, const double median_ns)
{
  const double least_ns = fmax(STALL_NS, STALL_FACTOR * median_ns);
  double all_ns = 0.0;
  double stalled_ns = 0.0;
  for (uint32_t b = 0; b < n; ++b) {
    all_ns += times_ns[b];
    stalled_ns += times_ns[b] > least_ns ? times_ns[b] : 0.0;
  }
  return all_ns > 0.0 ? stalled_ns / all_ns : 0.0;
}

/// True if the times of n blocks, which began at `began_ns`, suffice.  May sort them.
static bool
are_enough(double* const times_ns, const uint32_t n, const uint64_t began_ns)
{
  return n >= LEAST_BLOCKS && n % LOOK_BLOCKS == 0U && time_now_ns() - began_ns >= LEAST_NS &&
         percentiles_median_is_precise(times_ns, n, MEDIAN_SHARE);
}

/// Run at most n_blocks of quiet noise through an offline engine, and measure the time.
static Status
time_blocks(Engine* const engine, const uint32_t n_blocks, EnginePrediction* const prediction,
            Error* const error)
{
  const uint32_t block = engine->format.block_frames;
  const uint32_t n_in = engine->format.n_in;
  const uint32_t n_out = engine_n_out(engine);
  float* const samples = calloc((size_t)(n_in + n_out) * block + 1U, sizeof(float));
  double* const times = calloc(n_blocks + 1U, sizeof(double));
  if (!samples || !times) {
    free(samples);
    free(times);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  const float* in[FX_MAX_CHANNELS];
  float* out[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < n_in; ++c) {
    in[c] = samples + (size_t)c * block;
  }
  for (uint32_t c = 0; c < n_out; ++c) {
    out[c] = samples + (size_t)(n_in + c) * block;
  }
  calibrate_noise(samples, (size_t)n_in * block);
  Status status = STATUS_OK;
  const uint64_t first_ns = time_now_ns();
  uint32_t n = 0;
  while (!status && n < n_blocks && !are_enough(times, n, first_ns)) {
    const uint64_t began = time_now_ns();
    engine_process(engine, in, out, block, true);
    times[n++] = (double)(time_now_ns() - began);
    status = engine_failure(engine, error);
  }
  const Percentiles ns = percentiles_of(times, n);
  prediction->n_blocks = n;
  prediction->block_ns_p50 = ns.p50;
  prediction->block_ns_p99 = ns.p99;
  prediction->stalled_share = stalled_share(times, n, ns.p50);
  free(samples);
  free(times);
  return status;
}

Status
engine_measure_fallbacks(Engine* const engine, const Rack* const rack, Fallbacks* const fallbacks,
                         Error* const error)
{
  const EngineConfig* const config = &engine->config;
  FileLoader loader = { .files = config->files };
  const PlanRequest request = {
    .rack = rack, .format = &engine->format, .loader = &loader, .no_fusion = config->no_fusion
  };
  const Status status =
      fallback_of_rack(&request, config->on_late, engine_n_out(engine), fallbacks, error);
  file_cache_clear(&loader);
  return status;
}

Status
engine_predict(const EngineConfig* const config, const Rack* const rack, const double rate_hz,
               const uint32_t block_frames, const uint32_t n_blocks,
               EnginePrediction* const prediction, Error* const error)
{
  EngineConfig offline = *config;
  offline.offline = true;
  offline.depth = 0;
  offline.realtime = false;
  Engine* engine = NULL;
  Status status = engine_new(&offline, &engine, error);
  if (status) {
    return status;
  }
  status = engine_edit_wait(engine, rack, error);
  if (!status) {
    status = engine_arm(engine, rate_hz, block_frames, config->n_in, config->n_out, error);
  }
  if (!status) {
    *prediction = (EnginePrediction){ .facts = engine->facts,
                                      .memory_limit_bytes = engine->config.memory_bytes,
                                      .gpu = worker_gpu(engine->worker) };
    engine_status(engine, &prediction->status);
    status = engine_measure_fallbacks(engine, rack, &prediction->facts.fallbacks, error);
  }
  status = status ? status : time_blocks(engine, n_blocks ? n_blocks : 1U, prediction, error);
  engine_free(engine);
  return status;
}

char*
engine_warnings(const Rack* const rack, const double rate_hz, const Fallbacks* const fallbacks)
{
  char* const of_rack = rack_warnings(rack, rate_hz);
  char* const of_fallbacks = fallback_warnings(fallbacks);
  char* all = NULL;
  if (of_rack && of_fallbacks && asprintf(&all, "%s%s", of_rack, of_fallbacks) < 0) {
    all = NULL;
  }
  free(of_rack);
  free(of_fallbacks);
  return all;
}
