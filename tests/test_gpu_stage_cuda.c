// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The whole stage on CUDA, on a driver without a GPU that keeps track of what waits for what:
  transfers are asynchronous, pinned and each kind in its stream; slots take turns; the second of
  two blocks is on its way to the device before the first is waited for; a block costs one launch
  and nothing that stalls; each error of the driver becomes its words and its fallback.

  The fake driver has no kernels: they do nothing here, and the samples are not looked at.
*/

#include "support/fake_cuda/fake_cuda.h"
#include "support/fx_checks.h"
#include "support/player.h"
#include "support/rack_rig.h"
#include "support/suite.h"

#include "../dsp_gpu/device.h"
#include "../engine/rt.h"

#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK      64U
#define N_CHANNELS 3U
#define RACK       "x: gain -6dB | y: gain 3dB"
#define PATIENT_NS 20000000000U
#define SHORT_NS   100000000U // the deadline where it is the test

static const Format format = { .rate_hz = 48000.0, .block_frames = BLOCK, .n_in = N_CHANNELS };

typedef struct Bench {
  Backend* device;
  RackRig rig;
  float** in;
  float** out;
  uint32_t first_launch; ///< Number of the graph launch that is the first block's
} Bench;

static void
nothing(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  (void)params;
  (void)n_groups;
  (void)group_size;
}

static uint32_t n_begin_groups; ///< Of the last stage_begin

static void
begin_stage(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  (void)params;
  (void)group_size;
  n_begin_groups = n_groups;
}

static void
done(void* const* const params, const uint32_t n_groups, const uint32_t group_size)
{
  ck_assert_uint_eq(n_groups * group_size, 1);
  const uint64_t* const from = fake_host(*(const CUdeviceptr*)params[0]);
  uint64_t* const to = fake_host(*(const CUdeviceptr*)params[1]);
  __atomic_store_n(to, __atomic_load_n(from, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

static void
bench_teach(void)
{
  setenv("XDG_CACHE_HOME", "/dev/null", 1); // no folder can be made there
  fake_reset();
  fake_teach("selftest_scale", "ppuu", nothing);
  fake_teach("stage_begin", "pp", begin_stage);
  fake_teach("stage_end", "ppppppuup", nothing);
  fake_teach("fx_gain", "ppppppuu", nothing);
  fake_teach("fx_invert", "ppppppuu", nothing);
  fake_teach("warprack_done", "pp", done);
  fake_teach("warprack_nudge", "", nothing);
}

/// Open the device; with copies, or with kernels that read and write host memory.
static Bench
bench_open(const bool copies, const uint64_t deadline_ns)
{
  bench_teach();
  Bench bench = { .in = planar_noise(N_CHANNELS, 2U * BLOCK, 1U, 0.5),
                  .out = planar_silence(N_CHANNELS, 2U * BLOCK) };
  const DeviceChoice choice = {
    .api = "cuda", .index = 0, .deadline_ns = PATIENT_NS, .keep_awake = true
  };
  Error error = { STATUS_OK, "" };
  ck_assert_msg(device_backend_new(&choice, &bench.device, &error) == STATUS_OK, "%s", error.text);
  device_backend_set_deadline(bench.device, deadline_ns); // it is for blocks, not for opening
  ((Device*)bench.device)->mapped_bytes = copies ? 0U : SIZE_MAX; // not as measured
  rack_rig_begin(&bench.rig, bench.device, bench.device, &format, NULL, 0U);
  return bench;
}

/// Graph launches so far.
static uint32_t
n_launches(void)
{
  uint32_t n = 0;
  for (uint32_t o = 0; o < fake_n_ops(); ++o) {
    n = fake_op(o)->launch > n ? fake_op(o)->launch : n;
  }
  return n;
}

static Bench
bench_new(const bool copies, const uint64_t deadline_ns)
{
  Bench bench = bench_open(copies, deadline_ns);
  rack_rig_edit(&bench.rig, RACK);
  bench.first_launch = n_launches() + 1U;
  return bench;
}

static bool
bench_free(Bench* const bench)
{
  rack_rig_free(&bench->rig);
  const bool gave_back = device_backend_free(bench->device);
  free(bench->in);
  free(bench->out);
  return gave_back;
}

/// Begin a block; even and odd ones have memory of their own.
static void
begin(Bench* const bench, const uint32_t block)
{
  float* in[N_CHANNELS];
  float* out[N_CHANNELS];
  for (uint32_t c = 0; c < N_CHANNELS; ++c) {
    in[c] = bench->in[c] + block % 2U * BLOCK;
    out[c] = bench->out[c] + block % 2U * BLOCK;
  }
  worker_begin(&bench->rig.worker, bench->rig.messages, bench->rig.frame, BLOCK, in, out);
  bench->rig.frame += BLOCK;
}

static bool
end(Bench* const bench)
{
  return worker_end(&bench->rig.worker);
}

static uint32_t
find(const uint32_t launch, const FakeKind kind, const char* const kernel)
{
  const uint32_t index = fake_find(launch, kind, kernel, 0);
  ck_assert_msg(index != UINT32_MAX, "launch %u has no operation of kind %d, %s", launch, (int)kind,
                kernel ? kernel : "any");
  return index;
}

// ---- transfers ----

START_TEST(every_transfer_is_asynchronous_pinned_and_in_its_stream)
{
  Bench bench = bench_new(true, PATIENT_NS);
  for (uint32_t block = 0; block < 8; ++block) {
    begin(&bench, block);
    ck_assert(end(&bench));
  }
  const void* streams[FAKE_END + 1] = { NULL }; // of each kind of operation
  uint32_t n_copies = 0;
  for (uint32_t o = 0; o < fake_n_ops(); ++o) {
    const FakeOp* const op = fake_op(o);
    const bool is_copy = op->kind == FAKE_COPY_IN || op->kind == FAKE_COPY_OUT;
    ck_assert(!is_copy || op->is_pinned); // also those of the builder
    const bool is_kernel = op->kind == FAKE_KERNEL && strcmp(op->kernel, "warprack_done") != 0;
    if (op->launch >= bench.first_launch && (is_copy || is_kernel)) {
      ck_assert_ptr_nonnull(op->cu_stream);
      streams[op->kind] = streams[op->kind] ? streams[op->kind] : op->cu_stream;
      ck_assert_ptr_eq(op->cu_stream, streams[op->kind]);
      n_copies += is_copy;
    }
  }
  ck_assert_uint_eq(n_copies, 2 * 8);
  ck_assert_ptr_ne(streams[FAKE_COPY_IN], streams[FAKE_KERNEL]);
  ck_assert_ptr_ne(streams[FAKE_COPY_OUT], streams[FAKE_KERNEL]);
  ck_assert_ptr_ne(streams[FAKE_COPY_OUT], streams[FAKE_COPY_IN]);
  ck_assert(bench_free(&bench));
  ck_assert_uint_eq(fake_n_live(), 0);
}
END_TEST

START_TEST(small_blocks_are_not_copied)
{
  Bench bench = bench_new(false, PATIENT_NS);
  begin(&bench, 0);
  ck_assert(end(&bench));
  ck_assert_uint_eq(fake_find(bench.first_launch, FAKE_COPY_IN, NULL, 0), UINT32_MAX);
  ck_assert_uint_eq(fake_find(bench.first_launch, FAKE_COPY_OUT, NULL, 0), UINT32_MAX);
  find(bench.first_launch, FAKE_KERNEL, "stage_end");
  ck_assert(bench_free(&bench));
}
END_TEST

START_TEST(a_block_is_its_kernels_in_order_between_its_copies)
{
  Bench bench = bench_new(true, PATIENT_NS);
  fake_hold(true);
  begin(&bench, 0);
  const uint32_t chain[] = { find(bench.first_launch, FAKE_COPY_IN, NULL),
                             find(bench.first_launch, FAKE_KERNEL, "stage_begin"),
                             fake_find(bench.first_launch, FAKE_KERNEL, "fx_gain", 0),
                             fake_find(bench.first_launch, FAKE_KERNEL, "fx_gain", 1),
                             find(bench.first_launch, FAKE_KERNEL, "stage_end"),
                             find(bench.first_launch, FAKE_COPY_OUT, NULL),
                             find(bench.first_launch, FAKE_KERNEL, "warprack_done") };
  for (uint32_t i = 1; i < ARRAY_LEN(chain); ++i) {
    ck_assert_uint_ne(chain[i], UINT32_MAX);
    ck_assert_msg(fake_waits(chain[i], chain[i - 1U]), "part %u does not wait for the one before",
                  i);
  }
  ck_assert_uint_eq(fake_find(bench.first_launch, FAKE_KERNEL, "fx_gain", 2), UINT32_MAX);
  fake_run_all();
  ck_assert(end(&bench));
  ck_assert(bench_free(&bench));
}
END_TEST

// ---- double buffering ----

START_TEST(slots_take_turns)
{
  Bench bench = bench_new(true, PATIENT_NS);
  for (uint32_t block = 0; block < 6; ++block) {
    begin(&bench, block);
    ck_assert(end(&bench));
  }
  for (uint32_t block = 0; block + 2U < 6U; ++block) {
    const uint32_t launch = bench.first_launch + block;
    const void* const lanes[] = { fake_op(find(launch, FAKE_END, NULL))->launched_in,
                                  fake_op(find(launch + 1U, FAKE_END, NULL))->launched_in,
                                  fake_op(find(launch + 2U, FAKE_END, NULL))->launched_in };
    ck_assert_ptr_ne(lanes[0], lanes[1]);
    ck_assert_ptr_eq(lanes[0], lanes[2]);
  }
  ck_assert(bench_free(&bench));
}
END_TEST

START_TEST(the_second_block_goes_in_before_the_first_is_waited_for)
{
  Bench bench = bench_new(true, SHORT_NS);
  fake_hold(true);
  begin(&bench, 0);
  fake_forget_calls();
  begin(&bench, 1);
  ck_assert_uint_eq(fake_n_calls("cuGraphLaunch"), 1);
  ck_assert_uint_eq(fake_n_calls("cuStreamQuery"), 0); // nor was it asked about
  const uint32_t first = bench.first_launch;
  const uint32_t copy_in = find(first, FAKE_COPY_IN, NULL);
  const uint32_t last_kernel = find(first, FAKE_KERNEL, "stage_end");
  const uint32_t copy_out = find(first, FAKE_COPY_OUT, NULL);
  const uint32_t next_copy_in = find(first + 1U, FAKE_COPY_IN, NULL);
  const uint32_t next_begin = find(first + 1U, FAKE_KERNEL, "stage_begin");
  ck_assert(!fake_op(copy_in)->is_done && !worker_can_end(&bench.rig.worker));
  ck_assert(!fake_waits(next_copy_in, copy_in));
  ck_assert(!fake_waits(next_copy_in, last_kernel));
  ck_assert(fake_waits(next_begin, last_kernel)); // which hands on the state of the units
  ck_assert(!fake_waits(next_begin, copy_out));

  // And it does happen: block 1 is on the device before block 0 has been touched.
  fake_run(next_copy_in);
  ck_assert(fake_op(next_copy_in)->is_done && !fake_op(copy_in)->is_done);
  fake_run(find(first, FAKE_KERNEL, "warprack_done"));
  ck_assert(worker_can_end(&bench.rig.worker));
  ck_assert(end(&bench));
  ck_assert(!fake_op(next_begin)->is_done && !worker_can_end(&bench.rig.worker));
  fake_run_all();
  ck_assert(end(&bench));
  ck_assert(bench_free(&bench));
}
END_TEST

START_TEST(two_blocks_in_flight_go_on_for_ever)
{
  Bench bench = bench_new(true, PATIENT_NS);
  begin(&bench, 0);
  for (uint32_t block = 1; block < 50; ++block) {
    begin(&bench, block);
    ck_assert(end(&bench));
  }
  ck_assert(end(&bench));
  ck_assert_uint_eq(n_launches() - bench.first_launch + 1U, 50);
  ck_assert(bench_free(&bench));
}
END_TEST

// ---- nothing that stalls ----

static void
assert_only_launches(void)
{
  static const char* const allowed[] = { "cuGraphLaunch", "cuStreamQuery", "cuCtxSetCurrent" };
  uint32_t n_calls = 0;
  const FakeCall* const calls = fake_calls(&n_calls);
  for (uint32_t c = 0; c < n_calls; ++c) {
    bool is_allowed = false;
    for (uint32_t a = 0; a < ARRAY_LEN(allowed); ++a) {
      is_allowed = is_allowed || !strcmp(calls[c].name, allowed[a]);
    }
    ck_assert_msg(is_allowed, "%s was called while blocks arrive", calls[c].name);
  }
}

START_TEST(a_block_costs_one_launch_and_nothing_that_stalls)
{
  enum { N_BLOCKS = 60 };
  for (uint32_t copies = 0; copies < 2U; ++copies) {
    Bench bench = bench_new(copies, PATIENT_NS);
    fake_forget_calls();
    for (uint32_t block = 0; block < N_BLOCKS; ++block) {
      rack_rig_set(&bench.rig, "x", "gain", -0.1 * block, 0); // at the beginning of blocks
      begin(&bench, block);
      ck_assert(end(&bench));
    }
    ck_assert_uint_eq(fake_n_calls("cuGraphLaunch"), N_BLOCKS);
    assert_only_launches();

    fake_forget_calls();
    rack_rig_set(&bench.rig, "x", "gain", 0.0, bench.rig.frame + 7U); // within one: two parts
    begin(&bench, 0);
    ck_assert(end(&bench));
    ck_assert_uint_eq(fake_n_calls("cuGraphLaunch"), 2);
    assert_only_launches();
    ck_assert(bench_free(&bench));
  }
}
END_TEST

START_TEST(what_a_large_rack_changes_is_taken_over_by_many_groups)
{
  Bench bench = bench_new(false, PATIENT_NS);
  ck_assert_uint_le(n_begin_groups, 2);
  char chain[256] = "gain";
  for (uint32_t g = 0; g < 20; ++g) {
    strcat(chain, " | gain");
  }
  rack_rig_edit(&bench.rig, chain);
  ck_assert_uint_ge(n_begin_groups, 4); // connections of 13 words, by groups of 64 threads
  ck_assert(bench_free(&bench));
}
END_TEST

START_TEST(an_edit_leaves_the_context_alone)
{
  Bench bench = bench_new(true, PATIENT_NS);
  begin(&bench, 0);
  ck_assert(end(&bench));
  fake_forget_calls();
  rack_rig_edit(&bench.rig, RACK " | z: gain");
  begin(&bench, 1);
  ck_assert(end(&bench));
  ck_assert_uint_eq(fake_n_calls("cuCtxSynchronize"), 0);
  ck_assert_uint_eq(fake_n_calls("cuModuleLoadData"), 0); // all kernels were there
  ck_assert_uint_eq(fake_n_calls("cuModuleGetFunction"), 0);
  ck_assert_uint_eq(fake_n_calls("nvrtcCompileProgram"), 0);
  for (uint32_t e = 0; e < 6U; ++e) {
    if (e == 2U) { // the memory of two plans is there, which is all that plans of this size need
      fake_forget_calls();
    }
    rack_rig_edit(&bench.rig, RACK " | z: gain");
    begin(&bench, 2U + e);
    ck_assert(end(&bench));
  }
  ck_assert_uint_eq(fake_n_calls("cuMemAlloc_v2"), 0);
  ck_assert_uint_eq(fake_n_calls("cuMemFree_v2"), 0);
  ck_assert_uint_eq(fake_n_calls("cuMemHostAlloc"), 0);
  ck_assert_uint_eq(fake_n_calls("cuMemFreeHost"), 0);
  ck_assert(bench_free(&bench));
  ck_assert_uint_eq(fake_n_live(), 0);
}
END_TEST

// ---- kept awake ----

static bool
is_nudge(const uint32_t index)
{
  const char* const kernel = fake_op(index)->kernel;
  return kernel && !strcmp(kernel, "warprack_nudge");
}

/// Nudges among the operations from `first` on; their stream has nothing else in it.
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

START_TEST(while_it_plays_the_device_is_kept_awake)
{
  Bench bench = bench_new(true, PATIENT_NS);
  const uint32_t first = fake_n_ops();
  usleep(5000);
  ck_assert_uint_eq(count_nudges(first), 0); // not yet
  device_backend_play(bench.device, true);
  for (uint32_t block = 0; block < 20; ++block) {
    begin(&bench, block);
    ck_assert(end(&bench));
    usleep(1000);
  }
  device_backend_play(bench.device, false);
  const uint32_t n_nudges = count_nudges(first);
  ck_assert_uint_ge(n_nudges, 5); // of a hundred on an idle machine
  ck_assert_uint_le(n_nudges, 20 * 1000 / 200 * 10);
  usleep(5000);
  ck_assert_uint_eq(count_nudges(first), n_nudges); // no longer

  ((Device*)bench.device)->keep_awake = false;
  device_backend_play(bench.device, true);
  usleep(5000);
  device_backend_play(bench.device, false);
  ck_assert_uint_eq(count_nudges(first), n_nudges);
  ck_assert(bench_free(&bench));
  ck_assert_uint_eq(fake_n_live(), 0);
}
END_TEST

START_TEST(a_device_that_no_block_comes_to_may_sleep)
{
  Bench bench = bench_new(true, PATIENT_NS);
  atomic_store(&((Device*)bench.device)->used_ns, 0U); // for long
  const uint32_t first = fake_n_ops();
  device_backend_play(bench.device, true);
  usleep(20000);
  ck_assert_uint_eq(count_nudges(first), 0);
  begin(&bench, 0);
  ck_assert(end(&bench));
  usleep(200000); // seen within 10 ms on an idle machine
  device_backend_play(bench.device, false);
  ck_assert_uint_ge(count_nudges(first), 1);
  ck_assert(bench_free(&bench));
}
END_TEST

START_TEST(nudges_wait_for_nothing_and_do_not_pile_up)
{
  Bench bench = bench_new(true, PATIENT_NS);
  fake_hold(true);
  const uint32_t first = fake_n_ops();
  begin(&bench, 0);
  device_backend_play(bench.device, true);
  usleep(20000);
  device_backend_play(bench.device, false);
  begin(&bench, 1);
  ck_assert_uint_eq(count_nudges(first), 1);
  uint32_t nudge = first;
  while (!is_nudge(nudge)) {
    ++nudge;
  }
  for (uint32_t o = first; o < fake_n_ops(); ++o) {
    ck_assert(!fake_waits(nudge, o) && !fake_waits(o, nudge));
  }
  fake_run_all();
  ck_assert(end(&bench) && end(&bench));
  ck_assert(bench_free(&bench));
}
END_TEST

START_TEST(a_lost_device_is_not_nudged)
{
  Bench bench = bench_new(true, PATIENT_NS);
  device_backend_play(bench.device, true);
  fake_break("warprack_nudge", CUDA_ERROR_ILLEGAL_ADDRESS);
  usleep(20000);
  begin(&bench, 0);
  ck_assert(!end(&bench)); // whose error it is cannot be told
  rack_rig_leave(&bench.rig, bench.device);
  ck_assert(bench_free(&bench));
  ck_assert_uint_eq(fake_n_live(), 0);
}
END_TEST

// ---- errors ----

static void
assert_words(const Error* const error, const char* const words)
{
  ck_assert_msg(strstr(error->text, words) != NULL, "\"%s\" does not say \"%s\"", error->text,
                words);
}

/// The words for what befell the plan.
static Error
failure_of(const Bench* const bench)
{
  const Backend* backend = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(plan_failure(bench->rig.worker.plan, &backend, &error), STATUS_DEVICE_LOST);
  ck_assert_ptr_eq(backend, bench->device);
  return error;
}

/// The rack goes on on the CPU.
static void
assert_goes_on(Bench* const bench)
{
  rack_rig_leave(&bench->rig, bench->device);
  for (uint32_t block = 0; block < 20; ++block) {
    begin(bench, block);
    ck_assert(end(bench));
  }
  const float gain = 0.501187234F * 1.41253754F;
  for (uint32_t c = 0; c < N_CHANNELS; ++c) {
    const float difference = bench->out[c][BLOCK - 1U] - bench->in[c][BLOCK - 1U] * gain;
    ck_assert(difference < 1e-6F && difference > -1e-6F);
  }
}

START_TEST(an_asynchronous_error_is_named_and_the_cpu_goes_on)
{
  Bench bench = bench_new(true, PATIENT_NS);
  begin(&bench, 0);
  ck_assert(end(&bench));
  fake_break("fx_gain", CUDA_ERROR_ILLEGAL_ADDRESS);
  begin(&bench, 1);
  begin(&bench, 0);
  ck_assert(!end(&bench) && !end(&bench));
  const Error error = failure_of(&bench);
  assert_words(&error, "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered");
  ck_assert_uint_eq(bench.rig.worker.counts.device_errors, 1);
  assert_goes_on(&bench);
  ck_assert(bench_free(&bench));
  ck_assert_uint_eq(fake_n_live(), 0);
}
END_TEST

/// No call freed anything of a device that hangs; where all calls came since, none waited either.
static void
assert_nothing_freed(const bool all_since)
{
  uint32_t n_calls = 0;
  const FakeCall* const calls = fake_calls(&n_calls);
  for (uint32_t c = 0; c < n_calls; ++c) {
    ck_assert_msg(!strstr(calls[c].name, "Free") && !strstr(calls[c].name, "Unload") &&
                      (!all_since || (!strstr(calls[c].name, "Destroy") &&
                                      !strstr(calls[c].name, "Synchronize"))),
                  "%s would wait for ever", calls[c].name);
  }
}

START_TEST(a_hang_is_found_and_nothing_is_freed)
{
  Bench bench = bench_new(true, SHORT_NS);
  fake_hold(true);
  begin(&bench, 0);
  begin(&bench, 1);
  const uint64_t began_ns = rt_now_ns();
  ck_assert(!end(&bench));
  ck_assert_uint_ge(rt_now_ns() - began_ns, SHORT_NS / 2U);
  ck_assert(!end(&bench));
  const Error error = failure_of(&bench);
  assert_words(&error, "a block did not come back within 100 ms");
  fake_forget_calls();
  assert_goes_on(&bench);
  ck_assert(!bench_free(&bench));
  assert_nothing_freed(true);
}
END_TEST

START_TEST(a_device_that_hangs_when_it_is_opened_holds_nobody_up)
{
  bench_teach();
  fake_hold(true);
  const DeviceChoice choice = { .api = "cuda", .index = 0, .deadline_ns = SHORT_NS };
  Backend* device = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(device_backend_new(&choice, &device, &error), STATUS_DEVICE_LOST);
  assert_words(&error, "does not come back");
  assert_nothing_freed(false);
}
END_TEST

START_TEST(without_memory_the_plan_is_refused_with_the_sizes)
{
  Bench bench = bench_new(true, PATIENT_NS);
  begin(&bench, 0);
  ck_assert(end(&bench));
  fake_fail("cuMemAlloc_v2", 0, CUDA_ERROR_OUT_OF_MEMORY);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(rack_rig_try(&bench.rig, RACK " | z: gain", &error), STATUS_NO_MEM);
  assert_words(&error, "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory: ");
  assert_words(&error, " bytes asked for, ");
  assert_words(&error, " left");
  begin(&bench, 1); // what was heard goes on
  ck_assert(end(&bench));
  ck_assert_uint_eq(bench.rig.worker.plan->n_nodes, 2);
  ck_assert(bench_free(&bench));
  ck_assert_uint_eq(fake_n_live(), 0);
}
END_TEST

/// Whether a failure of this function is none of the caller's: what frees, and words.
static bool
may_fail(const char* const name)
{
  return strstr(name, "Destroy") || strstr(name, "Free") || strstr(name, "ProgramLog") ||
         strstr(name, "Unload");
}

/// Let call number n_good + 1, from the plan on, fail with a result.  False when there are no so
/// many.
static bool
fail_once(const uint32_t n_good, const CUresult result)
{
  Bench bench = bench_open(true, PATIENT_NS);
  fake_fail(NULL, n_good, (int)result);
  Error error = { STATUS_OK, "" };
  const Status status = rack_rig_try(&bench.rig, RACK, &error);
  bool played = !status;
  for (uint32_t block = 0; !status && block < 4U; ++block) {
    begin(&bench, block);
    played &= end(&bench);
  }
  const bool has_failed = fake_has_failed();
  char name[64] = "nothing";
  if (has_failed) {
    snprintf(name, sizeof(name), "%s", fake_failed_call());
    name[strcspn(name, "_")] = '\0'; // without _v2
  }
  if (!status && !played) {
    error = failure_of(&bench);
  }
  if (has_failed && !may_fail(fake_failed_call())) {
    ck_assert_msg(!played, "%s failed, and nobody noticed", name);
    ck_assert_msg(strstr(error.text, name) || strstr(error.text, "does not compile"),
                  "%s failed, and \"%s\" is said", name, error.text);
  }
  if (!status) {
    assert_goes_on(&bench);
  }
  ck_assert(bench_free(&bench));
  ck_assert_msg(fake_n_live() == 0U, "%s failed: %u objects leaked", name, fake_n_live());
  return has_failed;
}

START_TEST(every_refusal_of_the_driver_is_said_and_leaves_nothing)
{
  uint32_t n_good = 0;
  while (fail_once(n_good, CUDA_ERROR_INVALID_VALUE)) {
    ++n_good;
  }
  ck_assert_uint_gt(n_good, 100);
}
END_TEST

START_TEST(whenever_the_device_is_lost_the_cpu_goes_on)
{
  uint32_t n_good = 0;
  while (fail_once(n_good, CUDA_ERROR_LAUNCH_FAILED)) { // which the driver then always returns
    ++n_good;
  }
  ck_assert_uint_gt(n_good, 100);
}
END_TEST

// ---- the engine ----

/// Play until the engine says so.
static void
play_until(Player* const player, bool (*const is_so)(const EngineStatus*),
           EngineStatus* const status)
{
  for (uint32_t b = 0; b < 5000; ++b) {
    engine_status(player->engine, status);
    if (is_so(status)) {
      return;
    }
    player_play(player, 1);
    usleep(1000);
  }
  ck_abort_msg("nothing happened: %s, %s", status->backend, status->backend_note);
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

START_TEST(the_engine_leaves_a_lost_device_and_tries_it_again)
{
  bench_teach();
  const EngineConfig config = { .n_in = 1,
                                .n_out = 1,
                                .depth = 1,
                                .deadline = 0.75,
                                .backend = ENGINE_BACKEND_CUDA,
                                .gpu_may_sleep = true };
  Player player = player_from(&config, RACK, 6000U * PLAYER_BLOCK);
  for (size_t i = 0; i < 6000U * PLAYER_BLOCK; ++i) {
    player.in[0][i] = 0.5F;
  }
  EngineStatus status;
  player_play(&player, 20);
  engine_status(player.engine, &status);
  ck_assert_str_eq(status.backend, "cuda");
  ck_assert_uint_eq(status.device_errors + status.counts.failed, 0);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(engine_failure(player.engine, &error), STATUS_OK);

  fake_break("fx_gain", CUDA_ERROR_ILLEGAL_ADDRESS);
  play_until(&player, is_on_cpu, &status);
  player_play(&player, 2); // what was begun before may not have been heard
  engine_status(player.engine, &status);
  ck_assert_uint_eq(status.device_errors, 1);
  ck_assert_uint_gt(status.counts.failed, 0);
  ck_assert_str_eq(status.device, "");
  ck_assert_ptr_nonnull(strstr(status.backend_note, "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal"));
  ck_assert_ptr_nonnull(strstr(status.backend_note, "; effects run on the CPU"));
  ck_assert_int_eq(engine_failure(player.engine, &error), STATUS_DEVICE_LOST);

  // The error is one that outlives the context: opening fails, and the CPU goes on.
  fake_forget_calls();
  play_until(&player, was_opened_again, &status); // after 1 s
  ck_assert(is_on_cpu(&status) && status.device_errors == 1U);
  player_play(&player, 20);
  const float last = player.out[0][player.position - 1U];
  ck_assert(last > 0.3538F && last < 0.3540F); // 0.5 at -3 dB
  player_free(&player);
  ck_assert_uint_eq(fake_n_live(), 0);
}
END_TEST

/// Costs by which everything goes to the GPU.
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

/// An edit that the GPU refuses, as `call` fails with `result`.
static void
assert_plays_on_cpu(const char* const call, const int result, const char* const words)
{
  bench_teach();
  setenv("WARPRACK_AUTO_GPU", "any", 1);
  const PlacementCosts costs = costs_for_the_gpu();
  const EngineConfig config = { .n_in = 1,
                                .n_out = 1,
                                .depth = 1,
                                .deadline = 0.75,
                                .backend = ENGINE_BACKEND_AUTO,
                                .gpu_index = UINT32_MAX,
                                .costs = &costs,
                                .gpu_may_sleep = true };
  Player player = player_from(&config, RACK, 2000U * PLAYER_BLOCK);
  Rack* rack = player_rack(RACK);
  EngineStatus status;
  player_play(&player, 20);
  engine_status(player.engine, &status);
  ck_assert_str_eq(status.backend, "cuda");

  fake_fail(call, 0, result);
  Error error = { STATUS_OK, "" };
  ck_assert_msg(player_edit(&player, &rack, RACK " | gain | invert", &error) == STATUS_OK, "%s",
                error.text);
  ck_assert(fake_has_failed());
  engine_status(player.engine, &status);
  ck_assert_str_eq(status.backend, "cpu");
  ck_assert_ptr_nonnull(strstr(status.backend_note, "effects run on cpu: "));
  ck_assert_ptr_nonnull(strstr(status.backend_note, words));
  EnginePlace places[4];
  ck_assert_uint_eq(engine_places(player.engine, places, 4), 4);
  ck_assert_str_eq(places[0].why, "failed");
  rack_free(rack);
  player_free(&player);
  ck_assert_uint_eq(fake_n_live(), 0);
}

START_TEST(what_the_gpu_refuses_plays_on_the_cpu_where_the_engine_chooses)
{
  assert_plays_on_cpu("nvrtcCompileProgram", NVRTC_ERROR_COMPILATION, "does not compile");
  assert_plays_on_cpu("cuGraphInstantiateWithFlags", CUDA_ERROR_NOT_SUPPORTED,
                      "cuGraphInstantiateWithFlags");
}
END_TEST

SUITE_MAIN("gpu_stage_cuda", every_transfer_is_asynchronous_pinned_and_in_its_stream,
           small_blocks_are_not_copied, a_block_is_its_kernels_in_order_between_its_copies,
           slots_take_turns, the_second_block_goes_in_before_the_first_is_waited_for,
           two_blocks_in_flight_go_on_for_ever, a_block_costs_one_launch_and_nothing_that_stalls,
           what_a_large_rack_changes_is_taken_over_by_many_groups, an_edit_leaves_the_context_alone,
           while_it_plays_the_device_is_kept_awake, a_device_that_no_block_comes_to_may_sleep,
           nudges_wait_for_nothing_and_do_not_pile_up, a_lost_device_is_not_nudged,
           an_asynchronous_error_is_named_and_the_cpu_goes_on, a_hang_is_found_and_nothing_is_freed,
           a_device_that_hangs_when_it_is_opened_holds_nobody_up,
           without_memory_the_plan_is_refused_with_the_sizes,
           every_refusal_of_the_driver_is_said_and_leaves_nothing,
           whenever_the_device_is_lost_the_cpu_goes_on,
           the_engine_leaves_a_lost_device_and_tries_it_again,
           what_the_gpu_refuses_plays_on_the_cpu_where_the_engine_chooses)
