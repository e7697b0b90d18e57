// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Every effect on a device against the CPU: blocks of 1 to 1024 frames, 1 to 257 channels, random
  splits, a parameter that is set between blocks and within one.  The CPU's own tests compare it
  with double precision.

      test_gpu_effects [EFFECT]     WARPRACK_TEST_BACKEND=cuda|opencl (default opencl)

  Prints the worst difference of each effect.
*/

#include "support/fx_checks.h"
#include "support/rack_rig.h"
#include "support/signals.h"
#include "support/suite.h"

#include "../engine/backend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_HZ 48000.0

/// A rack of one node, x, and what is set in it.
typedef struct EffectCase {
  const char* chain;
  const char* param; ///< That is set on the way; NULL: none
  double value;
  uint32_t most_channels; ///< 0: any
} EffectCase;

static const EffectCase cases[] = {
  { "x: gain -6dB", "gain", 6.0, 0 },
};

static const uint32_t blocks[] = { 1, 31, 32, 33, 64, 480, 512, 1024 };
static const uint32_t widths[] = { 1, 2, 3, 31, 64, 257 };

static Backend* device;
static const char* only; ///< Effect to test, NULL: all

/// Frames to play: some blocks, and enough for ramps to end.
static uint32_t
frames_for(const uint32_t block, const uint32_t n_channels)
{
  const uint32_t least = n_channels > 64U ? 2000U : 3000U;
  return block == 1U ? 1200U : 3U * block > least ? 3U * block : least;
}

/// Play the case; the result is planar [n_out][n_frames].
static float**
play(const EffectCase* const effect_case, const Backend* const backend, const uint32_t block,
     const uint32_t n_channels, uint32_t* const n_out)
{
  const uint32_t n_frames = frames_for(block, n_channels);
  const Format format = { .rate_hz = RATE_HZ, .block_frames = block, .n_in = n_channels };
  RackRig rig;
  rack_rig_new(&rig, backend, NULL, effect_case->chain, &format, NULL, 0U);
  *n_out = rack_rig_n_out(&rig);
  float** const in = planar_noise(n_channels, n_frames, 1U, 0.5);
  float** const out = planar_silence(*n_out, n_frames);
  if (effect_case->param) {
    rack_rig_set(&rig, "x", effect_case->param, effect_case->value, n_frames / 4U);
  }
  const RigSplit split = block % 2U ? RIG_RANDOM : RIG_BLOCKS;
  rack_rig_run(&rig, (const float* const*)in, out, n_frames, split, block + n_channels);
  ck_assert_uint_eq(rig.worker.counts.units_reset, 0);
  rack_rig_free(&rig);
  free(in);
  return out;
}

static double
compare(const EffectCase* const effect_case, const uint32_t block, const uint32_t n_channels)
{
  uint32_t n_out = 0;
  uint32_t n_out_cpu = 0;
  float** const out = play(effect_case, device, block, n_channels, &n_out);
  float** const cpu = play(effect_case, &backend_cpu, block, n_channels, &n_out_cpu);
  ck_assert_uint_eq(n_out, n_out_cpu);
  double worst = 0.0;
  for (uint32_t c = 0; c < n_out; ++c) {
    worst = fmax(worst, max_difference(out[c], cpu[c], frames_for(block, n_channels), NULL));
  }
  free(out);
  free(cpu);
  return worst;
}

/// The effect that node x is of.
static const FxInfo*
effect_of(const EffectCase* const effect_case)
{
  Rack* rack = NULL;
  Error error = { STATUS_OK, "" };
  ck_assert_msg(rack_parse(effect_case->chain, "test", NULL, &rack, &error) == STATUS_OK, "%s",
                error.text);
  const FxInfo* const fx = rack->nodes[0].fx;
  rack_free(rack);
  return fx;
}

static void
check_case(const EffectCase* const effect_case, const FxInfo* const fx)
{
  double worst = 0.0;
  for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    for (size_t w = 0; w < ARRAY_LEN(widths); ++w) {
      if (effect_case->most_channels && widths[w] > effect_case->most_channels) {
        continue;
      }
      const double difference = compare(effect_case, blocks[b], widths[w]);
      ck_assert_msg(difference <= fx->tolerance,
                    "%s, blocks of %u, %u channels: %.3g apart, %.3g allowed", effect_case->chain,
                    blocks[b], widths[w], difference, fx->tolerance);
      worst = fmax(worst, difference);
    }
  }
  printf("%-40s worst %.3g (%.1f dB), allowed %.3g\n", effect_case->chain, worst, decibels(worst),
         fx->tolerance);
  fflush(stdout);
}

START_TEST(a_device_plays_what_the_cpu_plays)
{
  uint32_t n_checked = 0;
  for (size_t c = 0; c < ARRAY_LEN(cases); ++c) {
    const FxInfo* const fx = effect_of(&cases[c]);
    if (!only || !strcmp(only, fx->name)) {
      check_case(&cases[c], fx);
      ++n_checked;
    }
  }
  ck_assert_uint_gt(n_checked, 0);
}
END_TEST

int
main(const int argc, char** const argv)
{
  only = argc > 1 ? argv[1] : NULL;
  const char* const api = getenv("WARPRACK_TEST_BACKEND");
  const DeviceChoice choice = { .api = api ? api : "opencl",
                                .index = UINT32_MAX,
                                .deadline_ns = 20000000000U };
  Error error = { STATUS_OK, "" };
  if (device_backend_new(&choice, &device, &error)) {
    puts(error.text);
    return TEST_SKIPPED;
  }
  puts(device_backend_summary(device));
  fflush(stdout);
  const TTest* const tests[] = { a_device_plays_what_the_cpu_plays };
  const int failed = suite_run("gpu_effects", tests, (uint32_t)ARRAY_LEN(tests));
  device_backend_free(device);
  return failed;
}
