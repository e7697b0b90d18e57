// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The whole stage with a fake CUDA driver that fails on demand: each error gets its text and its
  fallback, a device that hangs blocks no thread, nothing leaks.
*/

#include "engine/base/time.h"
#include "engine/worker/placement.h"
#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/fake_cuda/stage_bench.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"

#include <nvrtc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- errors ----

/// The error text of the plan.
static Error
failure_of(const StageBench* const bench)
{
  const Backend* backend = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(plan_failure(bench->rig.player.plan, &backend, &error), STATUS_DEVICE_LOST);
  ck_assert_ptr_eq(backend, bench->device);
  return error;
}

/// Check that the rack continues on the CPU.
static void
assert_goes_on(StageBench* const bench)
{
  rack_rig_leave(&bench->rig, bench->device);
  for (uint32_t block = 0; block < 20; ++block) {
    stage_bench_begin(bench, block);
    ck_assert(stage_bench_end(bench));
  }
  const float gain = 0.501187234F * 1.41253754F;
  for (uint32_t c = 0; c < STAGE_BENCH_CHANNELS; ++c) {
    const float difference =
        bench->out[c][STAGE_BENCH_BLOCK - 1U] - bench->in[c][STAGE_BENCH_BLOCK - 1U] * gain;
    ck_assert(difference < 1e-6F && difference > -1e-6F);
  }
}

TEST(an_asynchronous_error_is_named_and_the_cpu_goes_on)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  stage_bench_begin(&bench, 0);
  ck_assert(stage_bench_end(&bench));
  fake_break("fx_gain", CUDA_ERROR_ILLEGAL_ADDRESS);
  stage_bench_begin(&bench, 1);
  stage_bench_begin(&bench, 0);
  ck_assert(!stage_bench_end(&bench) && !stage_bench_end(&bench));
  const Error error = failure_of(&bench);
  assert_says(error.text, "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
  ck_assert_uint_eq(bench.rig.player.counts.device_errors, 1);
  assert_goes_on(&bench);
  ck_assert(stage_bench_free(&bench));
}

/// Check that no call freed an object of a device that hangs, and, if all calls since the hang are
/// recorded, that none waited.
static void
assert_nothing_freed(const bool all_since)
{
  uint32_t n_calls = 0;
  const FakeCall* const calls = fake_calls(&n_calls);
  for (uint32_t c = 0; c < n_calls; ++c) {
    ck_assert_msg(!strstr(calls[c].name, "Free") && !strstr(calls[c].name, "Unload") &&
                      (!all_since || (!strstr(calls[c].name, "Destroy") &&
                                      !strstr(calls[c].name, "Synchronize"))),
                  "%s would wait forever", calls[c].name);
  }
}

TEST(a_hang_is_found_and_nothing_is_freed)
{
  StageBench bench = stage_bench_new(true, SHORT_NS);
  fake_hold(true);
  stage_bench_begin(&bench, 0);
  stage_bench_begin(&bench, 1);
  const uint64_t began_ns = time_now_ns();
  ck_assert(!stage_bench_end(&bench));
  ck_assert_uint_ge(time_now_ns() - began_ns, SHORT_NS / 2U);
  ck_assert(!stage_bench_end(&bench));
  const Error error = failure_of(&bench);
  assert_says(error.text, "a block did not come back within 100 ms");
  fake_forget_calls();
  assert_goes_on(&bench);
  ck_assert(!stage_bench_free(&bench));
  assert_nothing_freed(true);
}

static const GpuApi* cuda_api;
static uint32_t n_absences;

/// Let a thread lose the processor after it has checked a block, which then finishes.
static Status
poll_and_stay_away(GpuRecording* const recording, const uint64_t sequence, bool* const is_done)
{
  const Status status = cuda_api->poll(recording, sequence, is_done);
  if (!*is_done && ++n_absences == 1U) {
    fake_run_all();
    usleep(2U * SHORT_NS / 1000U);
  }
  return status;
}

TEST(a_suspended_thread_does_not_call_the_device_late)
{
  StageBench bench = stage_bench_new(true, SHORT_NS);
  Device* const device = (Device*)bench.device;
  cuda_api = device->api;
  GpuApi api = *cuda_api;
  api.poll = poll_and_stay_away;
  device->api = &api;
  fake_hold(true);
  stage_bench_begin(&bench, 0);
  ck_assert(stage_bench_end(&bench));
  ck_assert_uint_eq(n_absences, 1U);
  device->api = cuda_api;
  ck_assert(stage_bench_free(&bench));
}

TEST(a_device_that_hangs_when_it_is_opened_blocks_no_caller)
{
  stage_bench_prepare();
  fake_hold(true);
  const DeviceChoice choice = { .api = ENGINE_BACKEND_CUDA, .index = 0, .deadline_ns = SHORT_NS };
  Backend* device = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(device_backend_new(&choice, &device, &error), STATUS_DEVICE_LOST);
  assert_says(error.text, "did not finish");
  assert_nothing_freed(false);
}

TEST(without_memory_the_plan_is_refused_with_the_sizes)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  stage_bench_begin(&bench, 0);
  ck_assert(stage_bench_end(&bench));
  fake_fail("cuMemAlloc_v2", 0, CUDA_ERROR_OUT_OF_MEMORY);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(rack_rig_try(&bench.rig, STAGE_BENCH_RACK " | z: gain", &error), STATUS_NO_MEM);
  assert_says(error.text, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory: ");
  assert_says(error.text, " bytes requested, ");
  assert_says(error.text, " free");
  stage_bench_begin(&bench, 1); // the previous rack continues
  ck_assert(stage_bench_end(&bench));
  ck_assert_uint_eq(bench.rig.player.plan->n_nodes, 2);
  ck_assert(stage_bench_free(&bench));
}

/// True if the caller ignores a failure of this function: functions that free, or return texts.
static bool
may_fail(const char* const name)
{
  return strstr(name, "Destroy") || strstr(name, "Free") || strstr(name, "ProgramLog") ||
         strstr(name, "Unload");
}

/// Make call number n_good + 1, from the plan on, fail with a result.  Returns false if there are
/// fewer calls.
static bool
fail_once(const uint32_t n_good, const CUresult result)
{
  StageBench bench = stage_bench_open(true, PATIENT_NS);
  fake_fail(NULL, n_good, (int)result);
  Error error = { STATUS_OK, "" };
  const Status status = rack_rig_try(&bench.rig, STAGE_BENCH_RACK, &error);
  bool played = !status;
  for (uint32_t block = 0; !status && block < 4U; ++block) {
    stage_bench_begin(&bench, block);
    played &= stage_bench_end(&bench);
  }
  const bool has_failed = fake_has_failed();
  const char* const name = fake_failed_call();
  if (!status && !played) {
    error = failure_of(&bench);
  }
  if (has_failed && !may_fail(name)) {
    ck_assert_msg(!played, "%s failed, and no error followed", name);
    ck_assert_msg(strstr(error.text, name) || strstr(error.text, "does not compile"),
                  "%s failed, and the error is \"%s\"", name, error.text);
  }
  if (!status) {
    assert_goes_on(&bench);
  }
  ck_assert(stage_bench_free(&bench));
  return has_failed;
}

TEST(every_error_of_the_driver_is_reported_and_leaves_nothing)
{
  uint32_t n_good = 0;
  while (fail_once(n_good, CUDA_ERROR_INVALID_VALUE)) {
    ++n_good;
  }
  ck_assert_uint_gt(n_good, 100);
}

TEST(whenever_the_device_is_lost_the_cpu_goes_on)
{
  uint32_t n_good = 0;
  while (fail_once(n_good, CUDA_ERROR_LAUNCH_FAILED)) { // the driver returns it from then on
    ++n_good;
  }
  ck_assert_uint_gt(n_good, 100);
}

/// As fail_once(), from the first block of a device that is armed between blocks.
static bool
fail_armed_once(const uint32_t n_good, const CUresult result)
{
  StageBench bench = stage_bench_new(false, PATIENT_NS);
  atomic_store(&((Device*)bench.device)->plays, true); // without the thread that nudges
  fake_fail(NULL, n_good, (int)result);
  bool played = true;
  for (uint32_t block = 0; block < 4U; ++block) {
    plan_rest(bench.rig.player.plan);
    stage_bench_begin(&bench, block);
    played &= stage_bench_end(&bench);
  }
  const bool has_failed = fake_has_failed();
  ck_assert(played == !has_failed);
  if (has_failed) {
    const Error error = failure_of(&bench);
    ck_assert_msg(strstr(error.text, fake_failed_call()), "%s failed, and the error is \"%s\"",
                  fake_failed_call(), error.text);
  }
  assert_goes_on(&bench);
  ck_assert(stage_bench_free(&bench));
  return has_failed;
}

TEST(every_error_of_an_armed_device_is_reported)
{
  static const CUresult results[] = { CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_LAUNCH_FAILED };
  for (size_t r = 0; r < ARRAY_LEN(results); ++r) {
    uint32_t n_good = 0;
    while (fail_armed_once(n_good, results[r])) {
      ++n_good;
    }
    ck_assert_uint_ge(n_good, 8);
  }
}

/// Open the device and play a rack; of the calls that return a result, the result of call number
/// n_good + 1 is filled with one byte value.  False when there are fewer such calls.
static bool
give_once(const uint32_t n_good, const unsigned char byte, uint32_t* const n_refused)
{
  stage_bench_prepare();
  fake_give(n_good, byte);
  const DeviceChoice choice = { .api = ENGINE_BACKEND_CUDA, .index = 0, .deadline_ns = PATIENT_NS };
  StageBench bench = { .in = NULL };
  Error error = { STATUS_OK, "" };
  Status status = device_backend_new(&choice, &bench.device, &error);
  if (!status) {
    ((Device*)bench.device)->mapped_bytes = n_good % 2U ? SIZE_MAX : 0U;
    stage_bench_furnish(&bench);
    status = rack_rig_try(&bench.rig, STAGE_BENCH_RACK, &error);
    bool played = !status;
    for (uint32_t block = 0; played && block < 4U; ++block) {
      stage_bench_begin(&bench, block);
      played = stage_bench_end(&bench);
    }
    if (!status) {
      assert_goes_on(&bench);
    }
    ck_assert(stage_bench_free(&bench));
  }
  const bool has_failed = fake_has_failed();
  const char* const name = fake_failed_call();
  ck_assert_msg(!status || (has_failed && error.text[0]), "%s returned bytes of %02x: \"%s\"", name,
                byte, error.text);
  ck_assert_msg(fake_n_live() == 0U, "%s returned bytes of %02x: %u objects leaked", name, byte,
                fake_n_live());
  *n_refused += status != STATUS_OK;
  return has_failed;
}

TEST(any_result_of_the_driver_is_refused_or_plays)
{
  static const unsigned char bytes[] = { 0x00, 0x7F, 0xFF };
  uint32_t n_refused = 0;
  for (size_t b = 0; b < ARRAY_LEN(bytes); ++b) {
    uint32_t n_good = 0;
    while (give_once(n_good, bytes[b], &n_refused)) {
      ++n_good;
    }
    ck_assert_uint_gt(n_good, 15);
  }
  ck_assert_uint_gt(n_refused, 50);
}

// ---- the engine ----

/// Play until the condition holds.
static void
play_until(TestDriver* const driver, bool (*const is_so)(const EngineStatus*),
           EngineStatus* const status)
{
  engine_status(driver->engine, status);
  while (!is_so(status)) {
    driver->position = 0;
    driver_play(driver, 1);
    usleep(1000);
    engine_status(driver->engine, status);
  }
}

static bool
is_on_cpu(const EngineStatus* const status)
{
  return !strcmp(status->backend, "cpu");
}

static bool
was_opened_again(const EngineStatus* const status)
{
  (void)status;
  return fake_n_calls("cuDeviceGetCount") > 0U;
}

TEST(the_engine_leaves_a_lost_device_and_tries_it_again)
{
  stage_bench_prepare();
  const EngineConfig config = { .n_in = 1,
                                .n_out = 1,
                                .depth = 1,
                                .deadline_fraction = 0.75,
                                .backend = ENGINE_BACKEND_CUDA,
                                .gpu_may_sleep = true };
  TestDriver driver = driver_from(&config, STAGE_BENCH_RACK, 100U * DRIVER_BLOCK);
  for (size_t i = 0; i < driver.n_frames; ++i) {
    driver.in[0][i] = 0.5F;
  }
  EngineStatus status;
  driver_play(&driver, 20);
  engine_status(driver.engine, &status);
  ck_assert_str_eq(status.backend, "cuda");
  ck_assert_uint_eq(status.worker_counts.device_errors + status.counts.failed, 0);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(engine_failure(driver.engine, &error), STATUS_OK);

  fake_break("fx_gain", CUDA_ERROR_ILLEGAL_ADDRESS);
  play_until(&driver, is_on_cpu, &status);
  driver_play(&driver, 2); // no block may have been played before
  engine_status(driver.engine, &status);
  ck_assert_uint_eq(status.worker_counts.device_errors, 1);
  ck_assert_uint_gt(status.counts.failed, 0);
  ck_assert_str_eq(status.device, "");
  assert_says(status.backend_note, "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal");
  assert_says(status.backend_note, "; effects run on the CPU");
  ck_assert_int_eq(engine_failure(driver.engine, &error), STATUS_DEVICE_LOST);

  // The error persists in a new context: opening fails, and the CPU continues.
  fake_forget_calls();
  play_until(&driver, was_opened_again, &status); // after 1 s
  ck_assert(is_on_cpu(&status) && status.worker_counts.device_errors == 1U);
  driver_play(&driver, 20);
  const float last = driver.out[0][driver.position - 1U];
  ck_assert(last > 0.3538F && last < 0.3540F); // 0.5 at -3 dB
  driver_free(&driver);
  ck_assert_uint_eq(fake_n_live(), 0);
}

TEST(an_engine_with_an_armed_device_plays_and_is_edited)
{
  stage_bench_prepare();
  const EngineConfig config = {
    .n_in = 1, .n_out = 1, .depth = 1, .deadline_fraction = 0.75, .backend = ENGINE_BACKEND_CUDA
  };
  TestDriver driver = driver_from(&config, STAGE_BENCH_RACK, 400U * DRIVER_BLOCK);
  Rack* rack = rack_of(STAGE_BENCH_RACK, NULL);
  EngineStatus status;
  const uint32_t n_void = stage_bench_void_begins();
  fake_forget_calls();
  for (uint32_t e = 0; e < 6U; ++e) {
    driver_play(&driver, 20);
    OK(driver_edit(&driver, &rack, e % 2U ? STAGE_BENCH_RACK : STAGE_BENCH_RACK " | invert",
                   &error));
  }
  driver_play(&driver, 20);
  engine_status(driver.engine, &status);
  ck_assert_str_eq(status.backend, "cuda");
  ck_assert_uint_eq(status.worker_counts.device_errors, 0);
  ck_assert_uint_gt(stage_bench_void_begins(), n_void); // at the edits
  rack_free(rack);
  driver_free(&driver);
  ck_assert_uint_eq(fake_n_live(), 0);
}

/// Costs that place everything on the GPU.
static PlacementCosts
costs_for_the_gpu(void)
{
  PlacementCosts costs = { .stage = { { .is_known = true }, { .is_known = true } } };
  for (uint32_t e = 0; e < PLACEMENT_MAX_EFFECTS; ++e) {
    costs.effects[PLACEMENT_CPU][e] = (PlacementCost){ .is_known = true, .base = 1000.0 };
    costs.effects[PLACEMENT_GPU][e] = (PlacementCost){ .is_known = true };
  }
  return costs;
}

/// An edit whose plan fails on the GPU, because `call` returns `result`.
static void
assert_plays_on_cpu(const char* const call, const int result, const char* const words)
{
  stage_bench_prepare();
  setenv("WARPRACK_AUTO_GPU", "any", 1);
  const PlacementCosts costs = costs_for_the_gpu();
  const EngineConfig config = { .n_in = 1,
                                .n_out = 1,
                                .depth = 1,
                                .deadline_fraction = 0.75,
                                .backend = ENGINE_BACKEND_AUTO,
                                .gpu_index = UINT32_MAX,
                                .costs = &costs,
                                .gpu_may_sleep = true };
  TestDriver driver = driver_from(&config, STAGE_BENCH_RACK, 2000U * DRIVER_BLOCK);
  Rack* rack = rack_of(STAGE_BENCH_RACK, NULL);
  EngineStatus status;
  driver_play(&driver, 20);
  engine_status(driver.engine, &status);
  ck_assert_str_eq(status.backend, "cuda");

  fake_fail(call, 0, result);
  OK(driver_edit(&driver, &rack, STAGE_BENCH_RACK " | gain | invert", &error));
  ck_assert(fake_has_failed());
  engine_status(driver.engine, &status);
  ck_assert_str_eq(status.backend, "cpu");
  assert_says(status.backend_note, "effects run on cpu: ");
  assert_says(status.backend_note, words);
  EnginePlacement placements[4];
  ck_assert_uint_eq(engine_placements(driver.engine, placements, 4), 4);
  ck_assert_int_eq(placements[0].reason, PLACE_FAILED);
  rack_free(rack);
  driver_free(&driver);
  ck_assert_uint_eq(fake_n_live(), 0);
}

TEST(nodes_that_the_gpu_refuses_play_on_the_cpu_if_the_engine_chooses)
{
  assert_plays_on_cpu("nvrtcCompileProgram", NVRTC_ERROR_COMPILATION, "does not compile");
  assert_plays_on_cpu("cuGraphInstantiateWithFlags", CUDA_ERROR_NOT_SUPPORTED,
                      "cuGraphInstantiateWithFlags");
}

SUITE_MAIN("gpu_stage_cuda_errors")
