// SPDX-License-Identifier: GPL-3.0-or-later
/*
  A stage whose device fails: the block and all later ones of the plan are marked, with the text of
  the first error; the same rack continues on the CPU with its current values and with the state of
  nodes that ran there already; a device that hangs blocks no thread; a plan that does not fit or
  does not compile is refused with the reason, and the current rack continues.

  The faults are those of engine/base/faults.h, in front of OpenCL.
*/

#include "engine/base/faults.h"
#include "engine/base/time.h"
#include "tests/support/device_suite.h"
#include "tests/support/fx_checks.h"
#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define BLOCK      64U
#define N_CHANNELS 2U
#define SHORT_NS   300000000U // the deadline in its tests
#define N_TRIALS   2U         // trial submissions of a new stage
#define N_CALLS    100

static const Format format = { .rate_hz = 48000.0, .block_frames = BLOCK, .n_in = N_CHANNELS };

typedef struct Bench {
  Backend* device;
  RackRig rig;
  float** in;
  float** out;
} Bench;

/// Open the device with faults; no rack yet.
static Bench
bench_open(const char* const faults, const uint64_t deadline_ns)
{
  Bench bench = { .in = planar_noise(N_CHANNELS, BLOCK, 1U, 0.5),
                  .out = planar_silence(N_CHANNELS, BLOCK) };
  const DeviceChoice choice = { .api = ENGINE_BACKEND_OPENCL,
                                .index = UINT32_MAX,
                                .deadline_ns = deadline_ns };
  faults_disarm();
  OK(faults_arm(faults, &error));
  OK(device_backend_new(&choice, &bench.device, &error));
  return bench;
}

static Bench
bench_new(const char* const faults, const uint64_t deadline_ns, const char* const rack)
{
  Bench bench = bench_open(faults, deadline_ns);
  rack_rig_new(&bench.rig, bench.device, bench.device, rack, &format, NULL, 0U);
  return bench;
}

/// True if the device has no objects left.
static bool
bench_free(Bench* const bench)
{
  rack_rig_free(&bench->rig);
  const bool gave_back = device_backend_free(bench->device);
  free(bench->in);
  free(bench->out);
  return gave_back;
}

/// Play blocks of the same noise; false if one failed.
static bool
play(Bench* const bench, const uint32_t n_blocks)
{
  bool good = true;
  for (uint32_t b = 0; b < n_blocks; ++b) {
    good &= rack_rig_run(&bench->rig, (const float* const*)bench->in, bench->out, BLOCK, RIG_BLOCKS,
                         1U);
  }
  return good;
}

/// Check that the last block is the input times `gain`, except for the rounding of each.
static void
assert_gain(const Bench* const bench, const float gain)
{
  for (uint32_t c = 0; c < N_CHANNELS; ++c) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      const float expected = bench->in[c][i] * gain;
      ck_assert_msg(fabsf(bench->out[c][i] - expected) <= 1e-6F, "channel %u, frame %u: %g, not %g",
                    c, i, (double)bench->out[c][i], (double)expected);
    }
  }
}

static void
assert_failure(const Bench* const bench, const char* const words)
{
  const Backend* backend = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(plan_failure(bench->rig.player.plan, &backend, &error), STATUS_DEVICE_LOST);
  ck_assert_ptr_eq(backend, bench->device);
  assert_says(error.text, words);
  ck_assert_uint_eq(bench->rig.player.counts.device_errors, 1);
}

/// Check that the rack continues on the CPU and that the device has no objects left.
static void
leave(Bench* const bench)
{
  rack_rig_leave(&bench->rig, bench->device);
  const Plan* const plan = bench->rig.player.plan;
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    ck_assert_ptr_eq(plan->nodes[n].node->backend, &backend_cpu);
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    ck_assert_ptr_eq(plan->links[l].link->backend, &backend_cpu);
  }
}

// ---- blocks that fail ----

TEST(an_error_fails_its_block_and_all_after_it)
{
  char faults[64];
  snprintf(faults, sizeof(faults), "gpu.error@%u=700", N_TRIALS + 3U);
  Bench bench = bench_new(faults, DEVICE_PATIENT_NS, "x: gain 0dB");
  ck_assert(play(&bench, 2));
  assert_gain(&bench, 1.0F);
  ck_assert(!plan_has_failed(bench.rig.player.plan));
  for (uint32_t b = 0; b < 5; ++b) {
    ck_assert(!play(&bench, 1));
    assert_gain(&bench, 0.0F);
  }
  assert_failure(&bench, "opencl: error 700, a fault on demand");
  ck_assert(bench_free(&bench));
}

TEST(the_rack_continues_on_the_cpu_with_its_values)
{
  char faults[64];
  snprintf(faults, sizeof(faults), "gpu.error@%u=700", N_TRIALS + 60U);
  SCOPED(bench_free)
  Bench bench = bench_new(faults, DEVICE_PATIENT_NS, "x: gain -20dB backend=gpu | y: gain 6dB");
  rack_rig_set(&bench.rig, "x", "gain", -6.0, 0);
  ck_assert(play(&bench, 59));
  ck_assert(!play(&bench, 1));
  rack_rig_set(&bench.rig, "y", "gain", 0.0, 0); // while no block plays
  ck_assert(!play(&bench, 1));
  leave(&bench);
  ck_assert(device_backend_free(bench.device));
  bench.device = NULL;
  ck_assert(play(&bench, 60)); // ramps and fades end
  assert_gain(&bench, 0.501187234F);
  ck_assert_uint_eq(bench.rig.player.counts.device_errors, 1);
}

TEST(nodes_on_the_cpu_keep_their_state)
{
  enum { DELAY_BLOCKS = 40 };
  char rack[96];
  char faults[64];
  snprintf(rack, sizeof(rack), "d: delay %uframes mix=100%% backend=cpu | x: gain 0dB backend=gpu",
           DELAY_BLOCKS * BLOCK);
  snprintf(faults, sizeof(faults), "gpu.error@%u=700", N_TRIALS + 20U);
  Bench bench = bench_new(faults, DEVICE_PATIENT_NS, rack);
  ck_assert(play(&bench, 19));
  ck_assert(!play(&bench, 10));
  leave(&bench);
  for (uint32_t c = 0; c < N_CHANNELS; ++c) {
    memset(bench.in[c], 0, BLOCK * sizeof(float));
  }
  float** const noise = planar_noise(N_CHANNELS, BLOCK, 1U, 0.5);
  ck_assert(play(&bench, DELAY_BLOCKS - 1U)); // the output entered the delay while no block played
  for (uint32_t c = 0; c < N_CHANNELS; ++c) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      ck_assert(fabsf(bench.out[c][i] - noise[c][i]) <= 1e-6F);
    }
  }
  free(noise);
  ck_assert(bench_free(&bench));
}

TEST(delay_lines_go_with_the_device)
{
  // The direct connection is delayed on the device by the latency of the limiter, and mixed there.
  static const char rack[] = "add l limiter lookahead=5ms backend=cpu\n"
                             "add x gain gain=-90dB backend=gpu\n"
                             "connect in l\nconnect l x\nconnect x out\nconnect in out\n";
  char faults[64];
  snprintf(faults, sizeof(faults), "gpu.error@%u=700", N_TRIALS + 20U);
  Bench bench = bench_new(faults, DEVICE_PATIENT_NS, rack);
  const Plan* const plan = bench.rig.player.plan;
  uint32_t n_lines = 0;
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    n_lines += plan->links[l].link->mix.device != NULL;
  }
  ck_assert_uint_eq(n_lines, 1);
  ck_assert(!play(&bench, 20));
  leave(&bench);
  ck_assert(play(&bench, 40));
  ck_assert(bench_free(&bench));
}

// ---- blocks that do not come back ----

/// Play two good blocks, and set the short deadline only then: it also counts the time for which
/// the threads of a busy machine wait.
static Bench
bench_short(const char* const faults)
{
  Bench bench = bench_new(faults, DEVICE_PATIENT_NS, "x: gain 0dB");
  ck_assert(play(&bench, 2));
  device_backend_set_deadline(bench.device, SHORT_NS);
  return bench;
}

/// The number of times that this thread slept.
static long
n_sleeps(void)
{
  struct rusage usage;
  ck_assert_int_eq(getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_nvcsw;
}

TEST(a_device_that_hangs_is_detected_and_abandoned)
{
  char faults[64];
  snprintf(faults, sizeof(faults), "gpu.hang@%u", N_TRIALS + 3U);
  Bench bench = bench_short(faults);
  const uint64_t began_ns = time_now_ns();
  ck_assert(!play(&bench, 1));
  ck_assert_uint_ge(time_now_ns() - began_ns, SHORT_NS);
  const uint64_t found_ns = time_now_ns();
  const long slept = n_sleeps();
  ck_assert(!play(&bench, N_CALLS)); // no call waits: a call that does sleeps thousands of times
  ck_assert_int_lt(n_sleeps() - slept, N_CALLS);
  ck_assert_uint_lt(time_now_ns() - found_ns, (uint64_t)N_CALLS * SHORT_NS);
  assert_failure(&bench, "a block did not come back within 300 ms");

  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(rack_rig_try(&bench.rig, "x: gain 3dB", &error), STATUS_DEVICE_LOST);
  assert_says(error.text, "did not come back");

  const uint64_t leave_ns = time_now_ns();
  rack_rig_leave(&bench.rig,
                 bench.device); // frees the stage; the fault aborts where a driver waits
  ck_assert_uint_lt(time_now_ns() - leave_ns, 5000000000U);
  ck_assert(play(&bench, 20));
  assert_gain(&bench, 1.0F);
  ck_assert(!bench_free(&bench));
}

/// Returns false if the device was not late, or not freed.
static bool
free_late_device(void)
{
  char faults[64];
  snprintf(faults, sizeof(faults), "gpu.late@%u=600", N_TRIALS + 3U);
  Bench bench = bench_short(faults);
  const bool is_late = !play(&bench, 1);
  if (is_late) {
    assert_failure(&bench, "did not come back within 300 ms");
    ck_assert(!play(&bench, 3)); // blocks that are not submitted cannot hang
    Error error = { STATUS_OK, "" };
    ck_assert_int_eq(rack_rig_try(&bench.rig, "x: gain 0dB | y: gain 0dB", &error),
                     STATUS_DEVICE_LOST); // its memory is kept, too
    leave(&bench);
  }
  return bench_free(&bench) && is_late;
}

TEST(a_device_that_is_late_frees_everything)
{
  // A thread that stands still for 200 ms may miss one of the two moments.  The time limit of the
  // test ends this.
  while (!free_late_device()) {
  }
}

// ---- plans that are refused ----

TEST(without_memory_a_plan_is_refused_and_the_sound_goes_on)
{
  bool first_fits = false;
  uint32_t n_refused = 0;
  for (uint32_t n = 1; !first_fits; ++n) {
    char faults[64];
    snprintf(faults, sizeof(faults), "gpu.nomem@%u", n);
    Bench bench = bench_open(faults, DEVICE_PATIENT_NS);
    rack_rig_begin(&bench.rig, bench.device, NULL, &format, NULL, 0U);
    Error error = { STATUS_OK, "" };
    const Status status = rack_rig_try(&bench.rig, "x: gain 0dB", &error);
    first_fits = !status;
    if (first_fits) { // and the next plan does not
      ck_assert(play(&bench, 2));
      ck_assert_int_eq(rack_rig_try(&bench.rig, "x: gain 0dB | y: gain 6dB", &error),
                       STATUS_NO_MEM);
      ck_assert(play(&bench, 2));
      assert_gain(&bench, 1.0F);
      ck_assert_uint_eq(bench.rig.player.plan->n_nodes, 1);
    } else {
      ck_assert_int_eq(status, STATUS_NO_MEM);
      ++n_refused;
    }
    unsigned long n_bytes = 0;
    const char* const words = strstr(error.text, "opencl: ");
    ck_assert_msg(words && sscanf(words, "opencl: %lu bytes requested, 0 free", &n_bytes) == 1,
                  "\"%s\" gives no sizes", error.text);
    ck_assert_uint_gt(n_bytes, 0);
    ck_assert(bench_free(&bench));
  }
  ck_assert_uint_ge(n_refused, 4); // units, table, changes, rows
}

static void
assert_refused(const char* const faults, const char* const* const words, const uint32_t n_words)
{
  Bench bench = bench_open(faults, DEVICE_PATIENT_NS);
  rack_rig_begin(&bench.rig, bench.device, NULL, &format, NULL, 0U);
  Error error = { STATUS_OK, "" };
  ck_assert_int_ne(rack_rig_try(&bench.rig, "x: gain 0dB", &error), STATUS_OK);
  for (uint32_t w = 0; w < n_words; ++w) {
    assert_says(error.text, words[w]);
  }
  ck_assert_int_eq(rack_rig_try(&bench.rig, "x: gain 0dB", &error), STATUS_OK); // it was once
  ck_assert(play(&bench, 2));
  assert_gain(&bench, 1.0F);
  ck_assert(bench_free(&bench));
}

TEST(a_kernel_that_does_not_compile_names_file_line_and_mistake)
{
  static const char* const first[] = { "stage.cu", "stage.cu:", "asked_for_by_faults" };
  static const char* const second[] = { "fx_gain.cu:", "asked_for_by_faults" };
  assert_refused("gpu.build@1", first, ARRAY_LEN(first));
  assert_refused("gpu.build@2", second, ARRAY_LEN(second));
}

TEST(a_recording_that_is_refused_refuses_the_plan)
{
  static const char* const words[] = { "opencl: refused to record" };
  assert_refused("gpu.record@1", words, ARRAY_LEN(words));
  assert_refused("gpu.record@2", words, ARRAY_LEN(words));
}

int
main(void)
{
  return device_suite_run("gpu_faults", ENGINE_BACKEND_OPENCL, NULL);
}
