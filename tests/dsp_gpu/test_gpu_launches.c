// SPDX-License-Identifier: GPL-3.0-or-later
/*
  What a block costs on CUDA, on a fake driver: the kernels that racks launch, in order; no call of
  the driver in 100,000 armed blocks; no kernel loaded and no memory allocated by edits of an armed
  device.
*/

#include "tests/support/fake_cuda/fake_checks.h"
#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/fake_cuda/stage_bench.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <string.h>

#define MOST_KERNELS 24U
#define RACK_BYTES   4096U

// Every block also has these: stage_begin first, stage_end and warprack_done last.
#define N_OWN_KERNELS 3U

typedef struct Row {
  const char* name;
  uint32_t n_channels;
  const char* chain;                 ///< The rack, or one of its parts
  uint32_t n_beside;                 ///< Number of these parts, side by side
  const char* kernels[MOST_KERNELS]; ///< Of the effects
} Row;

static const Row rows[] = {
  { "an empty rack", 64, "", 1, { NULL } },
  { "a strip of ten filters",
    1024,
    "peaking 100Hz | peaking 200Hz | peaking 300Hz | peaking 400Hz | peaking 500Hz | "
    "peaking 600Hz | peaking 700Hz | peaking 800Hz | lowpass 9kHz | highpass 50Hz",
    1,
    { "fx_cascade" } },
  { "8,000 convolutions", 1000, "fir taps=513", 8, { "fx_convolver" } },
  { "convolutions in two levels", 2, "fir taps=16385", 8, { "fx_convolver" } },
  { "short filters", 64, "fir taps=101", 8, { "fx_fir" } },
  { "ten different effects",
    2,
    "gain | invert | pan | lowpass 1kHz | compressor | gate | limiter | delay | reverb | fir "
    "taps=513",
    1,
    { "fx_gain", "fx_invert", "fx_pan", "fx_cascade", "fx_compressor", "fx_gate", "fx_limiter",
      "fx_delay", "fx_reverb_spread", "fx_reverb_network", "fx_reverb_gather", "fx_convolver" } },
};

static void
write_rack(const Row* const row, char text[RACK_BYTES])
{
  size_t at = (size_t)snprintf(text, RACK_BYTES, row->n_beside > 1U ? "(" : "");
  for (uint32_t n = 0; n < row->n_beside; ++n) {
    at += (size_t)snprintf(text + at, RACK_BYTES - at, "%s%s", n ? " + " : "", row->chain);
  }
  snprintf(text + at, RACK_BYTES - at, row->n_beside > 1U ? ")" : "");
}

static void
check_row(const Row* const row)
{
  char text[RACK_BYTES];
  const char* kernels[MOST_KERNELS + N_OWN_KERNELS] = { "stage_begin" };
  uint32_t n = 1;
  for (uint32_t k = 0; row->kernels[k]; ++k) {
    kernels[n++] = row->kernels[k];
  }
  kernels[n++] = "stage_end";
  kernels[n++] = "warprack_done";
  StageBench bench = stage_bench_open_wide(row->n_channels);
  write_rack(row, text);
  rack_rig_edit(&bench.rig, text);
  fake_forget_calls();
  stage_bench_begin(&bench, 0);
  ck_assert(stage_bench_end(&bench));
  fake_assert_launches(1);
  fake_assert_chain(stage_bench_launches(), kernels, n);
  printf("%-28s %4u channels: %u kernels, %u of effects\n", row->name, row->n_channels, n,
         n - N_OWN_KERNELS);
  ck_assert(stage_bench_free(&bench));
}

TEST(racks_launch_these_kernels)
{
  for (size_t r = 0; r < ARRAY_LEN(rows); ++r) {
    check_row(&rows[r]);
  }
}

static const GpuApi* driver;

/// The armed chain is the last launch; its end is the last operation.
static Status
run_last_and_poll(GpuRecording* const recording, const uint64_t sequence, bool* const is_done)
{
  fake_run(fake_n_ops() - 1U);
  return driver->poll(recording, sequence, is_done);
}

TEST(a_hundred_thousand_armed_blocks_need_no_call)
{
  enum { N_BLOCKS = 100000 };
  StageBench bench = stage_bench_new(false, PATIENT_NS);
  Device* const device = (Device*)bench.device;
  driver = device->api;
  GpuApi api = *driver;
  api.poll = run_last_and_poll;
  device->api = &api;
  fake_hold(true); // only polls run what was launched
  atomic_store(&device->plays, true);
  plan_rest(bench.rig.player.plan);
  const uint32_t n_void = stage_bench_void_begins();
  for (uint32_t block = 0; block < N_BLOCKS; ++block) {
    uint32_t n_calls = 0;
    fake_forget_calls();
    stage_bench_begin(&bench, block);
    ck_assert(stage_bench_end(&bench));
    const FakeCall* const calls = fake_calls(&n_calls);
    ck_assert_msg(n_calls == 0U, "block %u: %s", block, n_calls ? calls[0].name : "");
    plan_rest(bench.rig.player.plan);
    ck_assert_uint_eq(fake_n_calls("cuGraphLaunch"), 1);
  }
  ck_assert_uint_eq(stage_bench_void_begins(), n_void);
  fake_hold(false);
  atomic_store(&device->plays, false);
  device->api = driver;
  ck_assert(stage_bench_free(&bench));
}

static void
count_effects(void* const context, const uint32_t n_done, const uint32_t n)
{
  *(uint32_t*)context = n_done;
  ck_assert_uint_le(n_done, n);
}

/// Add the effect behind a gain.
static void
write_edit(const FxInfo* const fx, char text[RACK_BYTES])
{
  size_t at = (size_t)snprintf(text, RACK_BYTES, "gain | %s", fx->name);
  for (uint32_t p = 0; p < fx->n_params; ++p) {
    if (fx->params[p].kind == PARAM_FILE) {
      at += (size_t)snprintf(text + at, RACK_BYTES - at, " %s=%s", fx->params[p].id,
                             strcmp(fx->name, "matrix") ? "noise" : "numbers");
    }
  }
}

TEST(edits_load_and_allocate_nothing_while_the_device_is_armed)
{
  static const char* const forbidden[] = { "nvrtcCompileProgram", "cuModuleLoadData",
                                           "cuModuleGetFunction", "cuMemAlloc_v2",
                                           "cuMemHostAlloc",      "cuMemFree_v2",
                                           "cuMemFreeHost",       "cuModuleUnload" };
  static float samples[16000] = { 1.0F };
  const FxFile noise = { "noise", 1, ARRAY_LEN(samples), samples, true, 0 };
  const FxFile numbers = { "numbers", 2, 2, samples, false, 0 };
  const RackRigFile files[] = { { "noise", &noise }, { "numbers", &numbers } };
  StageBench bench = stage_bench_open_wide(2);
  bench.rig.loader.files.context = &bench.rig; // the bench was copied
  bench.rig.files = files;
  bench.rig.n_files = ARRAY_LEN(files);
  uint32_t n_loaded = 0;
  OK(device_backend_load(bench.device, 48000.0, STAGE_BENCH_BLOCK, count_effects, &n_loaded,
                         &error));
  rack_rig_edit(&bench.rig, STAGE_BENCH_RACK);
  Device* const device = (Device*)bench.device;
  atomic_store(&device->plays, true);
  plan_rest(bench.rig.player.plan);
  uint32_t n = 0;
  uint32_t n_added = 0;
  const FxInfo* const* const effects = fx_table(&n);
  ck_assert_uint_eq(n_loaded, n);
  for (uint32_t e = 0; e < n; ++e) {
    char text[RACK_BYTES];
    if (!effects[e]->kernel) {
      continue;
    }
    write_edit(effects[e], text);
    fake_forget_calls();
    rack_rig_edit(&bench.rig, text);
    for (uint32_t c = 0; c < ARRAY_LEN(forbidden); ++c) {
      ck_assert_msg(fake_n_calls(forbidden[c]) == 0U, "%s calls %s", text, forbidden[c]);
    }
    stage_bench_begin(&bench, e);
    ck_assert(stage_bench_end(&bench));
    plan_rest(bench.rig.player.plan);
    ++n_added;
  }
  ck_assert_uint_ge(n_added, 20);
  atomic_store(&device->plays, false);
  ck_assert(stage_bench_free(&bench));
}

SUITE_MAIN("gpu_launches")
