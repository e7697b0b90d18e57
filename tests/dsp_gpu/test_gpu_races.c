// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Neither threads nor groups of a kernel race, and no access is out of bounds: racks of every effect
  run on a device that checks every access (support/checked_gpu), in blocks of one to several
  tiles, compared with the CPU.  Kernels read each sample of the host once.
*/

#include "engine/contract/backend.h"
#include "engine/plan/plan.h"
#include "tests/support/checked_gpu/checked_gpu.h"
#include "tests/support/device_suite.h"
#include "tests/support/fx_checks.h"
#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"

#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_HZ   48000.0
#define TOLERANCE 2e-6 // the largest tolerance of an effect

static Backend* device;

/// A rack and the changes of its node x; an effect with a kernel that is x in no case plays
/// plain_case().
typedef struct Case {
  const char* chain;
  const char* param; ///< Set at the second block, NULL: none
  double value;
  uint32_t n_channels, block, n_blocks;
} Case;

static float samples[6U * 700U];
static const FxFile file = { "six.wav", 6, 700, samples, true, 0 };
static float mono_samples[2500];
static const FxFile mono_file = { "mono.wav", 1, 2500, mono_samples, true, 0 };
static float rows[9U * 100U];
static const FxFile rows_file = { "rows.txt", 9, 100, rows, false, 0 };
static const RackRigFile files[] = { { "six.wav", &file },
                                     { "mono.wav", &mono_file },
                                     { "rows.txt", &rows_file } };

static const Case special_cases[] = {
  { "x: convolver mono.wav mix=0.5", "mix", 1.0, 3, 16, 40 },
  { "x: convolver mono.wav", NULL, 0.0, 1, 32, 70 },
  { "x: convolver mono.wav", NULL, 0.0, 2, 64, 40 },
  { "x: convolver mono.wav", NULL, 0.0, 1, 2500, 2 },
  { "x: convolver six.wav", "gain", -20.0, 2, 31, 8 },
  { "x: peaking 1kHz 6dB q=20 | highpass 80Hz | lowpass 3kHz order=5", "q", 2.0, 40, 100, 4 },
  { "x: lowpass 1kHz order=5", "frequency", 900.0, 1, 600, 4 }, // segments side by side
  { "(gain 0dB + gain -6dB) | notch 50Hz | x: peaking 1kHz 6dB", "q", 2.0, 2, 2200, 2 },
  { "x: reverb size=0 predelay=3ms mix=1", "predelay", 1.0, 3, 480, 6 },
  { "x: reverb size=0 predelay=0", "decay", 100.0, 40, 64, 20 },
  { "x: matrix file=rows.txt", NULL, 0.0, 100, 70, 2 },
  { "(gain 0dB + gain -6dB) | x: matrix", NULL, 0.0, 70, 130, 2 },
  { "x: delay 2ms feedback=0.9 tone=800", "time", 1.0, 2, 300, 6 },
  { "x: delay 1ms feedback=0.9 pingpong=on", "time", 3.0, 4, 100, 12 },
  { "x: fir lowpass 1kHz taps=301", NULL, 0.0, 2, 64, 8 },
  { "x: fir lowpass 1kHz taps=301", NULL, 0.0, 1, 1500, 2 },
  { "x: fir lowpass 1kHz taps=601", NULL, 0.0, 1, 4200, 2 },
  { "x: compressor -20dB detector=rms", "ratio", 10.0, 5, 150, 4 },
  { "x: gate -12dB", "range", -6.0, 5, 150, 4 },
  { "x: limiter -6dB lookahead=2ms", "ceiling", -12.0, 5, 150, 6 },
  { "(gain -9dB + gain -10dB + gain -11dB + gain -12dB + x: gain -13dB)", "gain", 0.0, 2, 300, 3 },
  { "gain 3dB | invert | (x: pan 0.3 + pan -0.3)", "position", -0.7, 2, 300, 3 },
  { "(x: limiter -6dB + gain -3dB)", "ceiling", -12.0, 2, 300, 4 }, // a delayed connection
  { "gain -1dB | x: limiter -6dB bypass=on | gain -2dB", "mute", 1.0, 2, 300, 4 },
  { "x: reverb size=0 predelay=0", "mix", 1.0, 100, 200, 3 },
  { "x: reverb size=0 predelay=0", NULL, 0.0, 2, 1100, 2 },
  { "(gain 0dB + gain -6dB) | x: peaking 1kHz 6dB", "frequency", 500.0, 33, 70, 4 },
};

#define MOST_CASES 96U
static Case cases[MOST_CASES]; ///< [n_cases] All special_cases, and plain ones
static size_t n_cases;

/// The effect with default parameters; its first parameter that may change moves to an end of its
/// range.
static void
plain_case(const FxInfo* const fx, void* const to)
{
  Case plain = { .n_channels = 3, .block = 150, .n_blocks = 4 };
  for (uint32_t p = 0; p < fx_own_params(fx) && !plain.param; ++p) {
    double min = 0.0;
    if (!fx->params[p].structural && fx_param_range(&fx->params[p], &min, &plain.value)) {
      plain.param = fx->params[p].id;
    }
  }
  ck_assert_int_gt(asprintf((char**)&plain.chain, "x: %s", fx->name), 0);
  *(Case*)to = plain;
}

/// At least one case for each effect with a kernel.
static void
make_cases(void)
{
  if (n_cases == 0U) { // the tests share one process
    n_cases = rack_rig_cases(special_cases, ARRAY_LEN(special_cases), sizeof(Case), plain_case,
                             cases, MOST_CASES);
  }
}

/// Play the case; if `bad_frame` is not 0, that sample of channel 0 is not finite.
static float**
play(const Case* const c, const Backend* const backend, const uint32_t bad_frame,
     uint32_t* const n_out)
{
  const Format format = { .rate_hz = RATE_HZ, .block_frames = c->block, .n_in = c->n_channels };
  const uint32_t n_frames = c->block * c->n_blocks;
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, backend, NULL, c->chain, &format, files, ARRAY_LEN(files));
  *n_out = rack_rig_n_out(&rig);
  SCOPED_MEMORY float** const in = planar_noise(c->n_channels, n_frames, 1U, 0.5);
  float** const out = planar_silence(*n_out, n_frames);
  if (c->param) {
    rack_rig_set(&rig, "x", c->param, c->value, c->block + c->block / 2U);
  }
  if (bad_frame) {
    in[0][bad_frame] = NAN;
  }
  rack_rig_run(&rig, (const float* const*)in, out, n_frames, RIG_RANDOM, c->block);
  return out;
}

static void
check(const Case* const c, const uint32_t bad_frame)
{
  const uint32_t n_before = checked_n_faults();
  uint32_t n_out = 0;
  SCOPED_MEMORY float** const out = play(c, device, bad_frame, &n_out);
  ck_assert_msg(checked_n_faults() == n_before, "%s, %u channels, blocks of %u: %u faults",
                c->chain, c->n_channels, c->block, checked_n_faults() - n_before);
  SCOPED_MEMORY float** const cpu = play(c, &backend_cpu, bad_frame, &n_out);
  double worst = 0.0;
  for (uint32_t o = 0; o < n_out && !bad_frame; ++o) {
    worst = fmax(worst, max_difference(out[o], cpu[o], c->block * c->n_blocks, NULL));
  }
  ck_assert_msg(worst <= TOLERANCE, "%s: differs by %g from the CPU", c->chain, worst);
}

TEST(no_kernel_races)
{
  make_cases();
  for (size_t c = 0; c < n_cases; ++c) {
    check(&cases[c], 0U);
  }
}

TEST(no_kernel_races_when_a_sample_is_not_finite)
{
  make_cases();
  for (size_t c = 0; c < n_cases; ++c) {
    check(&cases[c], cases[c].block + 1U);
  }
}

/// Play blocks in place, in `memory`: [block][input, output][channel][stride].
static void
play_attached(const char* const rack, const Format* const format, const uint32_t stride,
              const uint32_t n_out, const uint32_t n_blocks, float* const memory)
{
  const uint32_t block_rows = format->n_in + n_out;
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, device, NULL, rack, format, files, ARRAY_LEN(files));
  ck_assert_uint_eq(rack_rig_n_out(&rig), n_out);
  plan_drop_stages(rig.player.plan);
  OK(device->attach(device, memory, sizeof(float) * n_blocks * block_rows * stride, &error));
  OK(plan_make_stages(rig.player.plan, NULL, &error));
  for (uint32_t b = 0; b < n_blocks; ++b) {
    float* in[8];
    float* out[8];
    for (uint32_t r = 0; r < block_rows; ++r) {
      float* const row = memory + (size_t)(b * block_rows + r) * stride;
      *(r < format->n_in ? &in[r] : &out[r - format->n_in]) = row;
    }
    ck_assert(player_run(&rig.player, NULL, (uint64_t)b * format->block_frames,
                         format->block_frames, in, out));
  }
}

TEST(each_sample_of_the_host_is_read_once)
{
  enum { BLOCK = 61, STRIDE = 64, N_IN = 3, N_OUT = 2, N_BLOCKS = 9 };
  static const char rack[] = "add x convolver mono.wav mix=0.5\nadd y compressor\nadd z gain\n"
                             "connect in:1-2 x\nconnect in:1-2 y\nconnect in:1-2 z\n" // not in:3
                             "connect x out\nconnect y out\nconnect z out\nconnect in:2 out:1";
  static alignas(4096) float memory[N_BLOCKS][N_IN + N_OUT][STRIDE];
  const Format format = { .rate_hz = RATE_HZ, .block_frames = BLOCK, .n_in = N_IN };
  play_attached(rack, &format, STRIDE, N_OUT, N_BLOCKS, memory[0][0]);
  for (uint32_t b = 0; b < N_BLOCKS; ++b) {
    for (uint32_t r = 0; r < N_IN + N_OUT; ++r) {
      for (uint32_t i = 0; i < BLOCK; ++i) {
        ck_assert_uint_eq(checked_n_reads(&memory[b][r][i]), r < 2U ? 1U : 0U);
      }
    }
  }
  device->detach(device);
}

// A kernel for each kind of fault, and one without faults.
static const char faulty[] =
    "KERNEL clean(GLOBAL u32* const words) {\n"
    "  LOCAL_ARRAY(u32, all, GROUP_SIZE);\n"
    "  all[LOCAL_ID] = GROUP_X;\n"
    "  BARRIER();\n"
    "  words[GROUP_X * GROUP_SIZE + LOCAL_ID] = all[LOCAL_ID ^ 1];\n"
    "  if (LOCAL_ID < 2) words[100] = 1;\n" // the same value
    "}\n"
    "KERNEL no_barrier(GLOBAL u32* const words) {\n"
    "  LOCAL_ARRAY(u32, all, GROUP_SIZE);\n"
    "  all[LOCAL_ID] = GROUP_X;\n"
    "  words[GROUP_X * GROUP_SIZE + LOCAL_ID] = all[LOCAL_ID ^ 1];\n"
    "}\n"
    "KERNEL two_values(GLOBAL u32* const words) { words[GROUP_X] = LOCAL_ID; }\n"
    "KERNEL two_groups(GLOBAL u32* const words) {\n"
    "  if (LOCAL_ID == 0) words[GROUP_X] = words[1 - GROUP_X];\n"
    "}\n"
    "KERNEL outside(GLOBAL u32* const words) { words[LOCAL_ID + 100] = 0; }\n"
    "KERNEL some_wait(GLOBAL u32* const words) { if (LOCAL_ID < 5) BARRIER(); }\n";

/// Faults of two groups of 32 threads with 128 words.
static uint32_t
faults_of(const GpuApi* const api, GpuModule* const module, const char* const name)
{
  GpuBuffer* words = NULL;
  GpuKernel* kernel = NULL;
  GpuRecording* recording = NULL;
  OK(api->buffer_new(NULL, 512U, &words, &error));
  OK(api->kernel_get(module, name, &kernel, &error));
  const GpuLaunch launch = { .kernel = kernel,
                             .groups = { 2U, 1U },
                             .group_size = 32U,
                             .n_args = 1U,
                             .args = { { GPU_ARG_BUFFER, { .buffer = words }, 0U } } };
  const GpuWork work = { .launches = &launch, .n_launches = 1U };
  OK(api->record(NULL, &work, &recording, &error));
  const uint32_t n_before = checked_n_faults();
  ck_assert(!api->submit(recording, 1U));
  api->recording_free(recording);
  api->buffer_free(words);
  return checked_n_faults() - n_before;
}

TEST(faults_are_found)
{
  static const char* const names[] = { "no_barrier", "two_values", "two_groups", "outside",
                                       "some_wait" };
  static const char* const options[] = { "-DGROUP_SIZE=32", NULL };
  uint32_t n_apis = 0;
  const GpuApi* const api = gpu_apis(&n_apis)[0];
  GpuModule* module = NULL;
  puts("on purpose:");
  OK(api->module_new(NULL, "faulty.cu", faulty, options, &module, &error));
  ck_assert_uint_eq(faults_of(api, module, "clean"), 0U);
  for (size_t n = 0; n < ARRAY_LEN(names); ++n) {
    ck_assert_msg(faults_of(api, module, names[n]) > 0U, "%s", names[n]);
  }
  api->module_free(module);
}

static void
fill(float* const values, const size_t n, const float level)
{
  signal_noise(values, n, n);
  for (size_t i = 0; i < n; ++i) {
    values[i] *= level;
  }
}

int
main(void)
{
  fill(samples, ARRAY_LEN(samples), 0.03F);
  fill(mono_samples, ARRAY_LEN(mono_samples), 0.02F);
  fill(rows, ARRAY_LEN(rows), 0.05F);
  return device_suite_run("gpu_races", ENGINE_BACKEND_OPENCL, &device);
}
