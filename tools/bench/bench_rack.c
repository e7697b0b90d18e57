// SPDX-License-Identifier: GPL-3.0-or-later
// Plays a rack on one backend, block by block.

#include "bench_rack.h"

#include "dsp_gpu/device.h"
#include "engine/base/rt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- noise ----

void
bench_noise(float* const samples, const size_t n, const uint32_t seed, const float peak)
{
  uint32_t state = seed;
  for (size_t i = 0; i < n; ++i) {
    state = state * 1664525U + 1013904223U; // W. H. Press et al., "Numerical Recipes", ranqd1
    samples[i] = peak * ((float)(state >> 8U) / 8388608.0F - 1.0F);
  }
}

// ---- plan ----

static Status
find_file(void* const context, const char* const name, const double rate_hz, FxFile** const file,
          Error* const error)
{
  (void)rate_hz;
  const BenchRack* const rack = context;
  if (!rack->spec->file) {
    return error_set(error, STATUS_FILE, "%s: this benchmark has no files", name);
  }
  *file = (FxFile*)rack->spec->file;
  return STATUS_OK;
}

/// Make the ring, and attach it to the device before the stages are made, which use its rows.
static Status
make_rows(BenchRack* const rack, Error* const error)
{
  const BenchRackSpec* const spec = rack->spec;
  const uint32_t n = spec->n_channels;
  const RingShape shape = { .n_in = n,
                            .n_out = n,
                            .block_frames = spec->block_frames,
                            .n_slots = BENCH_RACK_SLOTS,
                            .n_messages = 4 };
  const Status status = ring_new(&shape, &rack->ring, error);
  if (status) {
    return status;
  }
  rack->rows = calloc((size_t)BENCH_RACK_SLOTS * 2U * n, sizeof(float*));
  if (!rack->rows) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t s = 0; s < BENCH_RACK_SLOTS; ++s) {
    for (uint32_t c = 0; c < n; ++c) {
      float* const in = ring_input(rack->ring, s, c);
      bench_noise(in, spec->block_frames, s * n + c + 1U, 0.5F);
      rack->rows[(size_t)2U * s * n + c] = in;
      rack->rows[(size_t)(2U * s + 1U) * n + c] = ring_output(rack->ring, s, c);
    }
  }
  if (!spec->device) {
    return STATUS_OK;
  }
  size_t n_bytes = 0;
  void* const region = ring_memory(rack->ring, &n_bytes);
  return spec->device->attach(spec->device, region, n_bytes, error);
}

/// Check that the nodes run on the device.
static Status
check_places(const Plan* const plan, const Backend* const backend, Error* const error)
{
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    const Node* const node = plan->nodes[n].node;
    if (node->backend != backend) {
      return error_set(error, STATUS_BAD_RACK, "%s has no kernel: it would run on the CPU",
                       node->fx->name);
    }
  }
  if (plan->out_backend != backend) {
    return error_set(error, STATUS_BAD_RACK, "the rack's output would be mixed on the CPU");
  }
  return STATUS_OK;
}

static Status
make_plan(BenchRack* const rack, Error* const error)
{
  const BenchRackSpec* const spec = rack->spec;
  const Backend* const backend = spec->device ? spec->device : &backend_cpu;
  const Format format = { .rate_hz = spec->rate_hz,
                          .block_frames = spec->block_frames,
                          .n_in = spec->n_channels,
                          .n_out = spec->n_channels };
  const PlanRequest request = { .rack = rack->rack,
                                .format = &format,
                                .loader = &rack->loader,
                                .pool = spec->pool,
                                .backend = backend,
                                .gpu = spec->device };
  Plan* plan = NULL;
  PlanFault fault;
  const Status status = plan_new(&request, &plan, &fault, error);
  file_cache_clear(&rack->loader);
  if (status) {
    return status;
  }
  player_offer(&rack->player, plan);
  player_idle(&rack->player);
  plan_became_active(plan, 0U);
  return check_places(plan, backend, error);
}

Status
bench_rack_new(BenchRack* const rack, const BenchRackSpec* const spec, Error* const error)
{
  *rack = (BenchRack){ .spec = spec };
  rack->loader.files = (FxFiles){ .load = find_file, .context = rack };
  rack->player.rate_hz = spec->rate_hz;
  Status status = player_init(&rack->player, error);
  status = status ? status : rack_parse(spec->text, "rack", NULL, &rack->rack, error);
  if (!status && spec->has_rows) {
    status = make_rows(rack, error);
  }
  return status ? status : make_plan(rack, error);
}

void
bench_rack_free(BenchRack* const rack)
{
  player_clear(&rack->player);
  if (rack->ring && rack->spec->device) {
    rack->spec->device->detach(rack->spec->device);
  }
  ring_free(rack->ring);
  free(rack->rows);
  rack_free(rack->rack);
  *rack = (BenchRack){ 0 };
}

// ---- blocks ----

Status
bench_rack_failure(const BenchRack* const rack, Error* const error)
{
  const Backend* backend = NULL;
  return plan_failure(rack->player.plan, &backend, error);
}

Status
bench_rack_block(void* const context, Error* const error)
{
  BenchRack* const rack = context;
  const uint32_t n_frames = rack->spec->block_frames;
  float** const in =
      rack->rows + (size_t)2U * (rack->n_blocks++ % BENCH_RACK_SLOTS) * rack->spec->n_channels;
  const bool is_done =
      player_run(&rack->player, NULL, rack->frame, n_frames, in, in + rack->spec->n_channels);
  rack->frame += n_frames;
  return is_done ? STATUS_OK : bench_rack_failure(rack, error);
}

void
bench_rack_rest(void* const context)
{
  const BenchRack* const rack = context;
  plan_rest(rack->player.plan);
}

const char*
bench_rack_rows(const BenchRack* const rack)
{
  const Plan* const plan = rack->player.plan;
  return rack->spec->device ? stage_gpu_rows(plan->stages[plan->n_stages - 1U].stage) : "host";
}

uint32_t
bench_rack_device_ns(const BenchRack* const rack)
{
  const Plan* const plan = rack->player.plan;
  return rack->spec->device ? stage_gpu_ns(plan->stages[plan->n_stages - 1U].stage) : 0U;
}

/// Output `channel` of the last block.
static const float*
last_output(const BenchRack* const rack, const uint32_t channel)
{
  return ring_output(rack->ring, rack->n_blocks - 1U, channel);
}

Status
bench_rack_compare(BenchRack* const a, BenchRack* const b, const uint32_t n_blocks,
                   Error* const error)
{
  for (uint32_t i = 0; i < n_blocks; ++i) {
    Status status = bench_rack_block(a, error);
    status = status ? status : bench_rack_block(b, error);
    if (status) {
      return status;
    }
    for (uint32_t c = 0; c < a->spec->n_channels; ++c) {
      for (uint32_t f = 0; f < a->spec->block_frames; ++f) {
        const double difference = fabs((double)last_output(a, c)[f] - (double)last_output(b, c)[f]);
        if (!(difference <= BENCH_RACK_TOLERANCE)) {
          return error_set(error, STATUS_DEVICE_LOST,
                           "block %u, channel %u, frame %u: device and CPU are %g apart", i, c, f,
                           difference);
        }
      }
    }
  }
  return STATUS_OK;
}

Status
bench_pool_new(Pool** const pool, Error* const error)
{
  const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
  const uint32_t n_helpers = n_cores > 1 ? (uint32_t)n_cores - 1U : 0U;
  rt_flush_denormals(); // as the player does
  return pool_new(n_helpers < POOL_MAX_HELPERS ? n_helpers : POOL_MAX_HELPERS, false, 0, pool,
                  error);
}
