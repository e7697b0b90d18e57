// SPDX-License-Identifier: GPL-3.0-or-later

#include "stage_bench.h"

#include "fake_checks.h"
#include "fake_cuda.h"

#include "dsp_gpu/kernels/layout.h"
#include "tests/support/fx_checks.h"
#include "tests/support/suite.h"

#include <stdlib.h>

static const Format format = { .rate_hz = 48000.0,
                               .block_frames = STAGE_BENCH_BLOCK,
                               .n_in = STAGE_BENCH_CHANNELS };

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

void
stage_bench_prepare(void)
{
  setenv("XDG_CACHE_HOME", "/dev/null", 1); // not a folder: nothing is cached
  fake_reset();
  fake_teach("selftest_scale", "ppuu", nothing);
  fake_teach("stage_begin", "pppppuuu", begin_stage);
  fake_teach("stage_end", "ppppppuup", nothing);
  fake_teach("fx_gain", "ppppppuu", nothing);
  fake_teach("fx_invert", "ppppppuu", nothing);
  fake_teach("fx_convolver", "ppppppuu", nothing);
  fake_teach_ends();
  fake_teach("warprack_nudge", "", nothing);
}

void
stage_bench_furnish(StageBench* const bench)
{
  bench->in = planar_noise(STAGE_BENCH_CHANNELS, 2U * STAGE_BENCH_BLOCK, 1U, 0.5);
  bench->out = planar_silence(STAGE_BENCH_CHANNELS, 2U * STAGE_BENCH_BLOCK);
  rack_rig_begin(&bench->rig, bench->device, bench->device, &format, NULL, 0U);
}

StageBench
stage_bench_open(const bool copies, const uint64_t deadline_ns)
{
  stage_bench_prepare();
  StageBench bench = { .in = NULL };
  const DeviceChoice choice = {
    .api = ENGINE_BACKEND_CUDA, .index = 0, .deadline_ns = PATIENT_NS, .keep_awake = true
  };
  OK(device_backend_new(&choice, &bench.device, &error));
  device_backend_set_deadline(bench.device, deadline_ns); // of the blocks, not of the opening
  ((Device*)bench.device)->mapped_bytes = copies ? 0U : SIZE_MAX; // overrides the measured value
  stage_bench_furnish(&bench);
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
  float* in[STAGE_BENCH_CHANNELS];
  float* out[STAGE_BENCH_CHANNELS];
  for (uint32_t c = 0; c < STAGE_BENCH_CHANNELS; ++c) {
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
