// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The whole stage on CUDA, on a fake driver that tracks dependencies: transfers are asynchronous,
  pinned, and each kind has its stream; slots are used in turn; the second of two blocks is copied
  to the device before the stage waits for the first; small blocks are one chain of kernels; a block
  costs one launch and no blocking call; while blocks arrive, nudges keep the device awake; an armed
  block needs no call at all, and one that does not come changes nothing.
*/

#include "engine/base/time.h"
#include "engine/worker/calibrate.h"
#include "tests/support/fake_cuda/fake_checks.h"
#include "tests/support/fake_cuda/fake_cuda.h"
#include "tests/support/fake_cuda/stage_bench.h"
#include "tests/support/suite.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LEAST_NUDGE_NS 200000U // least time between two nudges
#define POLL_US        100U
#define BLOCK_POLLS    200U // between two blocks while the device is not nudged

// ---- transfers ----

TEST(every_transfer_is_asynchronous_pinned_and_in_its_stream)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  for (uint32_t block = 0; block < 8; ++block) {
    stage_bench_begin(&bench, block);
    ck_assert(stage_bench_end(&bench));
  }
  fake_assert_transfers(bench.first_launch, 2 * 8);
  ck_assert(stage_bench_free(&bench));
}

TEST(small_blocks_are_not_copied)
{
  StageBench bench = stage_bench_new(false, PATIENT_NS);
  stage_bench_begin(&bench, 0);
  ck_assert(stage_bench_end(&bench));
  ck_assert_uint_eq(fake_find(bench.first_launch, FAKE_COPY_IN, NULL, 0), UINT32_MAX);
  ck_assert_uint_eq(fake_find(bench.first_launch, FAKE_COPY_OUT, NULL, 0), UINT32_MAX);
  fake_must_find(bench.first_launch, FAKE_KERNEL, "stage_end");
  ck_assert(stage_bench_free(&bench));
}

TEST(small_blocks_are_one_chain_of_kernels)
{
  static const char* const kernels[] = { "stage_begin", "fx_gain", "fx_gain", "stage_end",
                                         "warprack_done" };
  StageBench bench = stage_bench_new(false, PATIENT_NS);
  fake_hold(true);
  uint32_t last = UINT32_MAX;
  for (uint32_t block = 0; block < 2; ++block) {
    stage_bench_begin(&bench, block);
    const uint32_t first =
        fake_assert_chain(bench.first_launch + block, kernels, ARRAY_LEN(kernels));
    ck_assert(block == 0U || fake_waits(first, last));
    last = first + ARRAY_LEN(kernels) - 1U;
  }
  fake_run_all();
  ck_assert(stage_bench_end(&bench) && stage_bench_end(&bench));
  ck_assert(stage_bench_free(&bench));
}

TEST(a_block_is_its_kernels_in_order_between_its_copies)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  fake_hold(true);
  stage_bench_begin(&bench, 0);
  const uint32_t chain[] = { fake_must_find(bench.first_launch, FAKE_COPY_IN, NULL),
                             fake_must_find(bench.first_launch, FAKE_KERNEL, "stage_begin"),
                             fake_find(bench.first_launch, FAKE_KERNEL, "fx_gain", 0),
                             fake_find(bench.first_launch, FAKE_KERNEL, "fx_gain", 1),
                             fake_must_find(bench.first_launch, FAKE_KERNEL, "stage_end"),
                             fake_must_find(bench.first_launch, FAKE_COPY_OUT, NULL),
                             fake_must_find(bench.first_launch, FAKE_KERNEL, "warprack_done") };
  for (uint32_t i = 1; i < ARRAY_LEN(chain); ++i) {
    ck_assert_uint_ne(chain[i], UINT32_MAX);
    ck_assert_msg(fake_waits(chain[i], chain[i - 1U]),
                  "part %u does not wait for the part before it", i);
  }
  ck_assert_uint_eq(fake_find(bench.first_launch, FAKE_KERNEL, "fx_gain", 2), UINT32_MAX);
  fake_run_all();
  ck_assert(stage_bench_end(&bench));
  ck_assert(stage_bench_free(&bench));
}

// ---- double buffering ----

TEST(slots_take_turns)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  for (uint32_t block = 0; block < 6; ++block) {
    stage_bench_begin(&bench, block);
    ck_assert(stage_bench_end(&bench));
  }
  for (uint32_t block = 0; block + 2U < 6U; ++block) {
    const uint32_t launch = bench.first_launch + block;
    const void* const lanes[] = {
      fake_op(fake_must_find(launch, FAKE_END, NULL))->launched_in,
      fake_op(fake_must_find(launch + 1U, FAKE_END, NULL))->launched_in,
      fake_op(fake_must_find(launch + 2U, FAKE_END, NULL))->launched_in
    };
    ck_assert_ptr_ne(lanes[0], lanes[1]);
    ck_assert_ptr_eq(lanes[0], lanes[2]);
  }
  ck_assert(stage_bench_free(&bench));
}

static const GpuApi* driver;

/// The held device finishes when it is queried.
static Status
run_and_poll(GpuRecording* const recording, const uint64_t sequence, bool* const is_done)
{
  fake_run_all();
  return driver->poll(recording, sequence, is_done);
}

TEST(a_stage_begins_when_the_one_before_has_ended)
{
  StageBench bench = stage_bench_open(true, PATIENT_NS);
  rack_rig_edit(&bench.rig, "x: gain -6dB backend=gpu | y: gain 3dB backend=cpu");
  Device* const device = (Device*)bench.device;
  driver = device->api;
  GpuApi api = *driver;
  api.poll = run_and_poll;
  device->api = &api;
  const uint32_t launch = stage_bench_launches() + 1U;
  fake_hold(true);
  stage_bench_begin(&bench, 0);
  ck_assert_msg(fake_op(fake_must_find(launch, FAKE_COPY_OUT, NULL))->is_done,
                "y has run on the CPU before x came back from the device");
  fake_hold(false);
  ck_assert(stage_bench_end(&bench));
  device->api = driver;
  ck_assert(stage_bench_free(&bench));
}

static uint32_t n_unready; ///< Polls in a row of a block that was not done

/// The held device runs the last submission; the others only if the caller does not give up.
static Status
run_last_and_poll(GpuRecording* const recording, const uint64_t sequence, bool* const is_done)
{
  if (n_unready > 10U) {
    fake_run_all();
  }
  fake_run(fake_must_find(stage_bench_launches(), FAKE_END, NULL));
  const Status status = driver->poll(recording, sequence, is_done);
  n_unready = *is_done ? 0U : n_unready + 1U;
  return status;
}

TEST(a_plan_without_copies_begins_after_the_blocks_of_a_plan_with_copies)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  Device* const device = (Device*)bench.device;
  driver = device->api;
  GpuApi api = *driver;
  api.poll = run_last_and_poll;
  device->api = &api;
  fake_hold(true);
  stage_bench_begin(&bench, 0);
  stage_bench_begin(&bench, 1);
  device->mapped_bytes = SIZE_MAX;
  rack_rig_edit(&bench.rig, STAGE_BENCH_RACK);
  for (uint32_t block = 0; block < 2; ++block) {
    ck_assert(fake_op(fake_must_find(bench.first_launch + block, FAKE_END, NULL))->is_done);
  }
  fake_hold(false);
  ck_assert(stage_bench_end(&bench) && stage_bench_end(&bench));
  stage_bench_begin(&bench, 2);
  ck_assert(stage_bench_end(&bench));
  ck_assert_uint_eq(fake_find(stage_bench_launches(), FAKE_COPY_IN, NULL, 0), UINT32_MAX);
  device->api = driver;
  ck_assert(stage_bench_free(&bench));
}

TEST(the_second_block_goes_in_before_the_first_is_waited_for)
{
  StageBench bench = stage_bench_new(true, SHORT_NS);
  fake_hold(true);
  stage_bench_begin(&bench, 0);
  fake_forget_calls();
  stage_bench_begin(&bench, 1);
  ck_assert_uint_eq(fake_n_calls("cuGraphLaunch"), 1);
  ck_assert_uint_eq(fake_n_calls("cuStreamQuery"), 0); // no call has queried it
  const uint32_t first = bench.first_launch;
  const uint32_t copy_in = fake_must_find(first, FAKE_COPY_IN, NULL);
  const uint32_t last_kernel = fake_must_find(first, FAKE_KERNEL, "stage_end");
  const uint32_t copy_out = fake_must_find(first, FAKE_COPY_OUT, NULL);
  const uint32_t next_copy_in = fake_must_find(first + 1U, FAKE_COPY_IN, NULL);
  const uint32_t next_begin = fake_must_find(first + 1U, FAKE_KERNEL, "stage_begin");
  ck_assert(!fake_op(copy_in)->is_done && !player_can_end(&bench.rig.player));
  ck_assert(!fake_waits(next_copy_in, copy_in));
  ck_assert(!fake_waits(next_copy_in, last_kernel));
  ck_assert(fake_waits(next_begin, last_kernel)); // which passes the state of the units on
  ck_assert(!fake_waits(next_begin, copy_out));

  // The copies do overlap: block 1 is on the device before block 0 has been processed.
  fake_run(next_copy_in);
  ck_assert(fake_op(next_copy_in)->is_done && !fake_op(copy_in)->is_done);
  fake_run(fake_must_find(first, FAKE_KERNEL, "warprack_done"));
  ck_assert(player_can_end(&bench.rig.player));
  ck_assert(stage_bench_end(&bench));
  ck_assert(!fake_op(next_begin)->is_done && !player_can_end(&bench.rig.player));
  fake_run_all();
  ck_assert(stage_bench_end(&bench));
  ck_assert(stage_bench_free(&bench));
}

TEST(two_blocks_in_flight_go_on_for_ever)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  stage_bench_begin(&bench, 0);
  for (uint32_t block = 1; block < 50; ++block) {
    stage_bench_begin(&bench, block);
    ck_assert(stage_bench_end(&bench));
  }
  ck_assert(stage_bench_end(&bench));
  ck_assert_uint_eq(stage_bench_launches() - bench.first_launch + 1U, 50);
  ck_assert(stage_bench_free(&bench));
}

// ---- no stalls ----

TEST(a_block_costs_one_launch_and_nothing_that_stalls)
{
  enum { N_BLOCKS = 60 };
  for (uint32_t copies = 0; copies < 2U; ++copies) {
    StageBench bench = stage_bench_new(copies, PATIENT_NS);
    fake_forget_calls();
    for (uint32_t block = 0; block < N_BLOCKS; ++block) {
      rack_rig_set(&bench.rig, "x", "gain", -0.1 * block, 0); // at the beginning of blocks
      stage_bench_begin(&bench, block);
      ck_assert(stage_bench_end(&bench));
    }
    fake_assert_launches(N_BLOCKS);

    fake_forget_calls();
    rack_rig_set(&bench.rig, "x", "gain", 0.0, bench.rig.frame + 7U); // within a block: two parts
    stage_bench_begin(&bench, 0);
    ck_assert(stage_bench_end(&bench));
    fake_assert_launches(2);
    ck_assert(stage_bench_free(&bench));
  }
}

TEST(changes_of_a_large_rack_are_applied_by_many_groups)
{
  StageBench bench = stage_bench_new(false, PATIENT_NS);
  ck_assert_uint_le(stage_bench_apply_groups(), 2);
  char chain[256] = "gain";
  for (uint32_t g = 0; g < 20; ++g) {
    strcat(chain, " | gain");
  }
  rack_rig_edit(&bench.rig, chain);
  ck_assert_uint_ge(stage_bench_apply_groups(),
                    4); // connections of 13 words, by groups of 64 threads
  ck_assert(stage_bench_free(&bench));
}

TEST(nodes_in_several_chunks_share_a_launch)
{
  enum { N_NODES = 8 };
  StageBench bench = stage_bench_open(false, PATIENT_NS);
  ((Device*)bench.device)->info.memory_bytes = 0U; // every node gets a chunk of its own
  fake_forget_calls();
  rack_rig_edit(&bench.rig, "(fir taps=4001 + fir taps=4001 + fir taps=4001 + fir taps=4001 + "
                            "fir taps=4001 + fir taps=4001 + fir taps=4001 + fir taps=4001)");
  ck_assert_uint_ge(fake_n_calls("cuMemAlloc_v2"), N_NODES);
  const uint32_t launch = stage_bench_launches() + 1U;
  stage_bench_begin(&bench, 0);
  ck_assert(stage_bench_end(&bench));
  fake_must_find(launch, FAKE_KERNEL, "fx_convolver");
  ck_assert_uint_eq(fake_find(launch, FAKE_KERNEL, "fx_convolver", 1), UINT32_MAX);
  ck_assert(stage_bench_free(&bench));
}

TEST(an_edit_does_not_stall_the_context)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  stage_bench_begin(&bench, 0);
  ck_assert(stage_bench_end(&bench));
  fake_forget_calls();
  rack_rig_edit(&bench.rig, STAGE_BENCH_RACK " | z: gain");
  stage_bench_begin(&bench, 1);
  ck_assert(stage_bench_end(&bench));
  ck_assert_uint_eq(fake_n_calls("cuCtxSynchronize"), 0);
  ck_assert_uint_eq(fake_n_calls("cuModuleLoadData"), 0); // all kernels were loaded
  ck_assert_uint_eq(fake_n_calls("cuModuleGetFunction"), 0);
  ck_assert_uint_eq(fake_n_calls("nvrtcCompileProgram"), 0);
  for (uint32_t e = 0; e < 6U; ++e) {
    if (e == 2U) { // the memory of two plans exists, which is enough for all plans of this size
      fake_forget_calls();
    }
    rack_rig_edit(&bench.rig, STAGE_BENCH_RACK " | z: gain");
    stage_bench_begin(&bench, 2U + e);
    ck_assert(stage_bench_end(&bench));
  }
  ck_assert_uint_eq(fake_n_calls("cuMemAlloc_v2"), 0);
  ck_assert_uint_eq(fake_n_calls("cuMemFree_v2"), 0);
  ck_assert_uint_eq(fake_n_calls("cuMemHostAlloc"), 0);
  ck_assert_uint_eq(fake_n_calls("cuMemFreeHost"), 0);
  ck_assert(stage_bench_free(&bench));
}

// ---- kept awake ----

static bool
is_nudge(const uint32_t index)
{
  const char* const kernel = fake_op(index)->kernel;
  return kernel && !strcmp(kernel, "warprack_nudge");
}

/// Count nudges among the operations from `first` on; their stream contains no other operation.
static uint32_t
count_nudges(const uint32_t first)
{
  uint32_t n_nudges = 0;
  const void* cu_stream = NULL;
  for (uint32_t o = first; o < fake_n_ops(); ++o) {
    if (is_nudge(o)) {
      cu_stream = fake_op(o)->cu_stream;
      ck_assert_ptr_nonnull(cu_stream);
      ++n_nudges;
    }
  }
  for (uint32_t o = 0; n_nudges && o < fake_n_ops(); ++o) {
    ck_assert((fake_op(o)->cu_stream == cu_stream) == is_nudge(o));
  }
  return n_nudges;
}

/// Run blocks until the device was nudged n_nudges times since the calls were reset.  After each
/// block, wait for a nudge: on a busy machine, the thread of lowest priority that nudges may get no
/// processor for seconds, and the fake driver remembers a limited number of blocks.
static void
play_until_nudged(StageBench* const bench, const uint32_t n_nudges)
{
  uint32_t n_done = 0;
  for (uint32_t block = 0; n_done < n_nudges; ++block) {
    stage_bench_begin(bench, block);
    ck_assert(stage_bench_end(bench));
    const uint32_t n_before = n_done;
    for (uint32_t n = 0; n < BLOCK_POLLS && n_done == n_before; ++n) {
      usleep(POLL_US);
      n_done = fake_n_calls("cuLaunchKernel");
    }
  }
}

TEST(while_it_plays_the_device_is_kept_awake)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  const uint32_t first = fake_n_ops();
  usleep(5000);
  ck_assert_uint_eq(count_nudges(first), 0); // too early
  fake_forget_calls();
  const uint64_t began_ns = time_now_ns();
  device_backend_play(bench.device, true);
  play_until_nudged(&bench, 100);
  device_backend_play(bench.device, false);
  const uint32_t n_nudges = count_nudges(first);
  ck_assert_uint_ge(n_nudges, 100);
  ck_assert_uint_le(n_nudges, 1U + (time_now_ns() - began_ns) / LEAST_NUDGE_NS);
  usleep(5000);
  ck_assert_uint_eq(count_nudges(first), n_nudges); // no more of them

  ((Device*)bench.device)->keep_awake = false;
  device_backend_play(bench.device, true);
  usleep(5000);
  device_backend_play(bench.device, false);
  ck_assert_uint_eq(count_nudges(first), n_nudges);
  ck_assert(stage_bench_free(&bench));
}

TEST(an_unused_device_may_sleep)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  atomic_store(&((Device*)bench.device)->used_ns, 0U); // idle for a long time
  const uint32_t first = fake_n_ops();
  fake_forget_calls();
  device_backend_play(bench.device, true);
  usleep(20000);
  ck_assert_uint_eq(count_nudges(first), 0);
  play_until_nudged(&bench, 1);
  ck_assert(stage_bench_free(&bench));
}

/// Long enough for any time in which this thread has no processor.
static void
use_for_ever(const StageBench* const bench)
{
  atomic_store(&((Device*)bench->device)->used_ns, UINT64_MAX / 2U);
}

TEST(nudges_wait_for_nothing_and_do_not_pile_up)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  fake_hold(true);
  const uint32_t first = fake_n_ops();
  stage_bench_begin(&bench, 0);
  use_for_ever(&bench);
  fake_forget_calls();
  device_backend_play(bench.device, true);
  AWAIT(fake_n_calls("cuCtxSetCurrent") >= 10U); // one for each check
  device_backend_play(bench.device, false);
  stage_bench_begin(&bench, 1);
  ck_assert_uint_eq(count_nudges(first), 1);
  uint32_t nudge = first;
  while (!is_nudge(nudge)) {
    ++nudge;
  }
  for (uint32_t o = first; o < fake_n_ops(); ++o) {
    ck_assert(!fake_waits(nudge, o) && !fake_waits(o, nudge));
  }
  fake_run_all();
  ck_assert(stage_bench_end(&bench) && stage_bench_end(&bench));
  ck_assert(stage_bench_free(&bench));
}

TEST(a_lost_device_is_not_nudged)
{
  StageBench bench = stage_bench_new(true, PATIENT_NS);
  use_for_ever(&bench);
  fake_break("warprack_nudge", CUDA_ERROR_ILLEGAL_ADDRESS);
  fake_forget_calls();
  device_backend_play(bench.device, true);
  AWAIT(fake_n_calls("cuLaunchKernel") > 0U);
  stage_bench_begin(&bench, 0);
  ck_assert(!stage_bench_end(&bench)); // the source of the error is unknown
  rack_rig_leave(&bench.rig, bench.device);
  ck_assert(stage_bench_free(&bench));
}

// ---- armed ----

/// A bench whose device is armed for the first block, and the driver's functions in `api`, if it is
/// not NULL.
static StageBench
armed_bench_with(GpuApi* const api)
{
  StageBench bench = stage_bench_new(false, PATIENT_NS);
  Device* const device = (Device*)bench.device;
  driver = device->api;
  device->api = api ? api : driver;
  device_backend_play(bench.device, true);
  plan_rest(bench.rig.player.plan);
  return bench;
}

static StageBench
armed_bench(void)
{
  return armed_bench_with(NULL);
}

/// Stop the thread that nudges, and give the driver's functions back.
static void
end_armed(const StageBench* const bench)
{
  device_backend_play(bench->device, false);
  ((Device*)bench->device)->api = driver;
}

/// Play blocks.  Between two, the worker rests.
static void
play_armed(StageBench* const bench, const uint32_t n_blocks)
{
  for (uint32_t block = 0; block < n_blocks; ++block) {
    stage_bench_begin(bench, block);
    ck_assert(stage_bench_end(bench));
    plan_rest(bench->rig.player.plan);
  }
}

TEST(an_armed_block_is_a_chain_that_waits_for_the_host)
{
  static const char* const kernels[] = { "warprack_await", "stage_begin", "fx_gain",
                                         "fx_gain",        "stage_end",   "warprack_ended" };
  StageBench bench = armed_bench();
  const uint32_t first = fake_assert_chain(stage_bench_launches(), kernels, ARRAY_LEN(kernels));
  fake_run_all();
  ck_assert(!fake_op(first)->is_done && !fake_op(first + 1U)->is_done);
  const uint32_t n_void = stage_bench_void_begins();
  stage_bench_begin(&bench, 0);
  fake_run_all();
  ck_assert(fake_op(first + ARRAY_LEN(kernels) - 1U)->is_done);
  ck_assert(player_can_end(&bench.rig.player) && stage_bench_end(&bench));
  ck_assert_uint_eq(stage_bench_void_begins(), n_void);
  ck_assert(stage_bench_free(&bench));
}

TEST(an_armed_block_needs_no_call_of_the_driver)
{
  enum { N_BLOCKS = 300 };
  GpuApi api = gpu_cuda;
  api.poll = run_and_poll;
  StageBench bench = armed_bench_with(&api);
  ck_assert(atomic_load(&((Device*)bench.device)->is_armed));
  usleep(5000); // the thread that nudges makes no call from now on
  for (uint32_t block = 0; block < N_BLOCKS; ++block) {
    uint32_t n_calls = 0;
    rack_rig_set(&bench.rig, "x", "gain", -0.1 * block, 0);
    fake_forget_calls();
    stage_bench_begin(&bench, block);
    ck_assert(stage_bench_end(&bench));
    const FakeCall* const calls = fake_calls(&n_calls);
    ck_assert_msg(n_calls == 0U, "block %u: %s", block, n_calls ? calls[0].name : "");
    plan_rest(bench.rig.player.plan);
    fake_assert_launches(1);
  }
  end_armed(&bench);
  ck_assert(stage_bench_free(&bench)); // while it is armed
}

TEST(the_thread_that_nudges_sleeps_while_the_device_is_armed)
{
  StageBench bench = armed_bench();
  use_for_ever(&bench);
  usleep(20000); // it sees that the device is armed
  struct rusage before;
  struct rusage after;
  ck_assert(!getrusage(RUSAGE_SELF, &before));
  usleep(100000); // 500 times as long as it sleeps between two nudges
  ck_assert(!getrusage(RUSAGE_SELF, &after));
  ck_assert_int_le(after.ru_nvcsw - before.ru_nvcsw, 50);
  ck_assert(stage_bench_free(&bench));
}

TEST(a_block_that_comes_too_late_is_launched)
{
  StageBench bench = armed_bench();
  for (uint32_t block = 0; block < 4; ++block) {
    const uint32_t n_void = stage_bench_void_begins();
    fake_let_time_pass();
    ck_assert_uint_eq(stage_bench_void_begins(), n_void + 1U);
    const uint32_t launch = stage_bench_launches() + 1U;
    stage_bench_begin(&bench, block);
    ck_assert(stage_bench_end(&bench));
    ck_assert_uint_eq(stage_bench_launches(), launch);
    fake_must_find(launch, FAKE_KERNEL, "warprack_done");
    ck_assert_uint_eq(stage_bench_void_begins(), n_void + 1U);
    plan_rest(bench.rig.player.plan);
  }
  play_armed(&bench, 4);
  ck_assert(stage_bench_free(&bench));
}

TEST(a_launched_block_runs_behind_the_armed_one)
{
  StageBench bench = armed_bench();
  const uint32_t armed = stage_bench_launches();
  const uint32_t n_void = stage_bench_void_begins();
  rack_rig_set(&bench.rig, "x", "gain", 0.0, bench.rig.frame + 7U); // two parts
  stage_bench_begin(&bench, 0);
  ck_assert(stage_bench_end(&bench));
  ck_assert(fake_waits(fake_must_find(armed + 1U, FAKE_KERNEL, "stage_begin"),
                       fake_must_find(armed, FAKE_KERNEL, "stage_end")));
  plan_rest(bench.rig.player.plan);
  stage_bench_begin(&bench, 1); // two blocks in flight
  plan_rest(bench.rig.player.plan);
  ck_assert_uint_eq(stage_bench_launches(), armed + 2U);
  stage_bench_begin(&bench, 2);
  ck_assert(stage_bench_end(&bench) && stage_bench_end(&bench));
  ck_assert_uint_eq(stage_bench_launches(), armed + 3U);
  play_armed(&bench, 4);
  ck_assert_uint_eq(stage_bench_void_begins(), n_void);
  ck_assert(stage_bench_free(&bench));
}

static uint32_t n_disarms;

static void
count_and_disarm(GpuRecording* const recording)
{
  ++n_disarms;
  driver->disarm(recording);
}

TEST(an_edit_cancels_an_armed_recording)
{
  GpuApi api = gpu_cuda;
  api.disarm = count_and_disarm;
  StageBench bench = armed_bench_with(&api);
  const uint32_t n_before = stage_bench_void_begins();
  plan_leave(bench.rig.player.plan);
  fake_run_all();
  ck_assert_uint_eq(stage_bench_void_begins(), n_before + 1U);
  play_armed(&bench, 3);
  for (uint32_t e = 0; e < 4; ++e) {
    const uint32_t n_void = stage_bench_void_begins();
    rack_rig_edit(&bench.rig, e % 2U ? STAGE_BENCH_RACK : STAGE_BENCH_RACK " | z: gain");
    ck_assert_uint_eq(stage_bench_void_begins(), n_void + 1U);
    ck_assert_uint_eq(n_disarms, 2U * (e + 2U)); // the player's, before the builder frees the plan
    play_armed(&bench, 3);
    ck_assert_uint_eq(stage_bench_void_begins(), n_void + 1U);
  }
  end_armed(&bench);
  ck_assert(stage_bench_free(&bench));
}

TEST(stages_of_one_device_do_not_wait_for_each_other)
{
  StageBench bench = stage_bench_open(false, PATIENT_NS);
  rack_rig_edit(&bench.rig,
                "x: gain -6dB backend=gpu | y: gain 3dB backend=cpu | z: gain backend=gpu");
  device_backend_play(bench.device, true);
  const uint32_t n_void = stage_bench_void_begins();
  play_armed(&bench, 8);
  ck_assert_uint_eq(stage_bench_void_begins(), n_void);
  ck_assert(stage_bench_free(&bench));
}

TEST(a_device_that_is_lost_while_armed_is_reported)
{
  StageBench bench = armed_bench();
  play_armed(&bench, 3);
  fake_break("fx_gain", CUDA_ERROR_ILLEGAL_ADDRESS);
  stage_bench_begin(&bench, 0);
  ck_assert(!stage_bench_end(&bench));
  plan_rest(bench.rig.player.plan);
  rack_rig_leave(&bench.rig, bench.device);
  ck_assert(stage_bench_free(&bench));
}

TEST(a_device_that_may_sleep_is_not_armed)
{
  StageBench bench = stage_bench_new(false, PATIENT_NS);
  ((Device*)bench.device)->keep_awake = false;
  device_backend_play(bench.device, true);
  const uint32_t launch = stage_bench_launches();
  plan_rest(bench.rig.player.plan);
  ck_assert_uint_eq(stage_bench_launches(), launch);
  ck_assert(stage_bench_free(&bench));
}

static uint32_t
count_kernels(const char* const kernel)
{
  uint32_t n = 0;
  for (uint32_t o = 0; o < fake_n_ops(); ++o) {
    n += fake_op(o)->kernel && !strcmp(fake_op(o)->kernel, kernel);
  }
  return n;
}

TEST(costs_are_those_of_an_armed_device)
{
  StageBench bench = stage_bench_open(false, PATIENT_NS);
  const Device* const device = (const Device*)bench.device;
  PlacementCosts costs;
  OK(calibrate(bench.device, "", NULL, &costs, &error)); // only of an empty stage
  ck_assert_uint_gt(count_kernels("warprack_await"), 0);
  ck_assert(!device->plays && !device->is_armed && !device->is_kept_awake);
  ck_assert(stage_bench_free(&bench));
}

TEST(a_device_that_may_sleep_has_costs_of_its_own)
{
  char awake[CALIBRATE_NAME_BYTES];
  char asleep[CALIBRATE_NAME_BYTES];
  calibrate_name(false, awake);
  calibrate_name(true, asleep);
  ck_assert_str_ne(awake, asleep);
}

SUITE_MAIN("gpu_stage_cuda")
