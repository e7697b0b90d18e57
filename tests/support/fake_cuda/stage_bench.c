// SPDX-License-Identifier: GPL-3.0-or-later

#include "stage_bench.h"

#include "fake_checks.h"
#include "fake_cuda.h"

#include "dsp_gpu/kernels/layout.h"
#include "tests/support/fx_checks.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static void
nothing(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  (void)params;
  (void)n_groups;
  (void)group_size;
}

static uint32_t n_apply_groups; ///< Groups of the last stage_begin that apply changes
static uint32_t n_void_begins;  ///< Number of stage_begins without a block

static void
begin_stage(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  const uint32_t* const live = fake_host(*(const CUdeviceptr*)params[1]);
  (void)group_size;
  n_void_begins += live[LIVE_IS_VOID] == 1U;
  n_apply_groups = *(const uint32_t*)params[7];
  ck_assert_uint_le(n_apply_groups, n_groups);
}

// Kernels with the arguments STAGE_ARGS (dsp_gpu/kernels/stage.h).
static const char* const stage_kernels[] = {
  "stage_delay",
  "stage_store",
  "fx_cascade",
  "cascade_begin",
  "cascade_probe",
  "cascade_starts",
  "cascade_play",
  "cascade_end",
  "fx_compressor",
  "fx_convolver",
  "fx_convolver_short",
  "fx_convolver_end",
  "fx_convolver_in",
  "fx_convolver_out",
  "fx_convolver_products",
  "fx_delay",
  "fx_fir",
  "fx_fir_end",
  "fx_gain",
  "fx_gate",
  "fx_invert",
  "fx_limiter",
  "fx_matrix",
  "fx_pan",
  "fx_reverb_spread",
  "fx_reverb_network",
  "fx_reverb_gather",
};

void
stage_bench_prepare(void)
{
  setenv("XDG_CACHE_HOME", "/dev/null", 1); // not a folder: nothing is cached
  fake_reset();
  fake_teach("selftest_scale", "ppuu", nothing);
  fake_teach("stage_begin", "pppppuuu", begin_stage);
  fake_teach("stage_end", "ppppppuup", nothing);
  for (size_t k = 0; k < ARRAY_LEN(stage_kernels); ++k) {
    fake_teach(stage_kernels[k], "ppppppuu", nothing);
  }
  fake_teach_ends();
  fake_teach("warprack_nudge", "", nothing);
}

void
stage_bench_furnish(StageBench* const bench)
{
  bench->n_channels = bench->n_channels ? bench->n_channels : STAGE_BENCH_CHANNELS;
  const Format format = { .rate_hz = 48000.0,
                          .block_frames = STAGE_BENCH_BLOCK,
                          .n_in = bench->n_channels };
  bench->in = planar_noise(bench->n_channels, 2U * STAGE_BENCH_BLOCK, 1U, 0.5);
  bench->out = planar_silence(bench->n_channels, 2U * STAGE_BENCH_BLOCK);
  rack_rig_begin(&bench->rig, bench->device, bench->device, &format, NULL, 0U);
}

StageBench
stage_bench_open_wide(const uint32_t n_channels)
{
  stage_bench_prepare();
  StageBench bench = { .n_channels = n_channels };
  const DeviceChoice choice = {
    .api = ENGINE_BACKEND_CUDA, .index = 0, .deadline_ns = PATIENT_NS, .keep_awake = true
  };
  OK(device_backend_new(&choice, &bench.device, &error));
  ((Device*)bench.device)->mapped_bytes = SIZE_MAX; // overrides the measured value
  stage_bench_furnish(&bench);
  return bench;
}

StageBench
stage_bench_open(const bool copies, const uint64_t deadline_ns)
{
  StageBench bench = stage_bench_open_wide(STAGE_BENCH_CHANNELS);
  device_backend_set_deadline(bench.device, deadline_ns); // of the blocks, not of the opening
  ((Device*)bench.device)->mapped_bytes = copies ? 0U : SIZE_MAX;
  return bench;
}

StageBench
stage_bench_new(const bool copies, const uint64_t deadline_ns)
{
  StageBench bench = stage_bench_open(copies, deadline_ns);
  rack_rig_edit(&bench.rig, STAGE_BENCH_RACK);
  bench.first_launch = stage_bench_launches() + 1U;
  return bench;
}

bool
stage_bench_free(StageBench* const bench)
{
  rack_rig_free(&bench->rig);
  const bool gave_back = device_backend_free(bench->device);
  free(bench->in);
  free(bench->out);
  ck_assert_msg(!gave_back || fake_n_live() == 0U, "%u objects leaked; the call that failed: %s",
                fake_n_live(), fake_failed_call());
  return gave_back;
}

void
stage_bench_begin(StageBench* const bench, const uint32_t block)
{
  float* in[FX_MAX_CHANNELS];
  float* out[FX_MAX_CHANNELS];
  for (uint32_t c = 0; c < bench->n_channels; ++c) {
    in[c] = bench->in[c] + block % 2U * STAGE_BENCH_BLOCK;
    out[c] = bench->out[c] + block % 2U * STAGE_BENCH_BLOCK;
  }
  player_begin(&bench->rig.player, bench->rig.messages, bench->rig.frame, STAGE_BENCH_BLOCK, in,
               out);
  bench->rig.frame += STAGE_BENCH_BLOCK;
}

bool
stage_bench_end(StageBench* const bench)
{
  return player_end(&bench->rig.player);
}

uint32_t
stage_bench_launches(void)
{
  uint32_t n = 0;
  for (uint32_t o = 0; o < fake_n_ops(); ++o) {
    n = fake_op(o)->launch > n ? fake_op(o)->launch : n;
  }
  return n;
}

uint32_t
stage_bench_apply_groups(void)
{
  return n_apply_groups;
}

uint32_t
stage_bench_void_begins(void)
{
  return n_void_begins;
}
