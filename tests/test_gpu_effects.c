// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Every effect on a device against the CPU: blocks of 1 to 1024 frames, 1 to 257 channels, random
  splits, parameters that are set between blocks and within one, while others are still on their
  way.  The CPU's own tests compare it with double precision.

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

#define MOST_SETS 8U

/// A parameter that is set on the way.
typedef struct EffectSet {
  const char* param;
  double value;
  uint32_t frame; ///< Below 1200, the shortest play; a ramp takes 960
} EffectSet;

/// A rack with a node x of the effect, and what is set in it.
typedef struct EffectCase {
  const char* chain;
  EffectSet sets[MOST_SETS];              ///< Those with a param
  uint32_t least_channels, most_channels; ///< 0: any
  bool pairs_only;                        ///< Odd numbers of channels are refused
} EffectCase;

static const EffectCase cases[] = {
  { .chain = "x: delay 50ms",
    .sets = { { "feedback", -0.9, 300 }, { "mix", 1.0, 310 }, { "feedback", 0.5, 700 } } },
  { .chain = "x: delay 2ms feedback=0.99 tone=800 mix=1",
    .sets = { { "tone", 20.0, 200 }, { "tone", 5000.0, 900 } },
    .most_channels = 64 },
  { .chain = "x: delay 1ms feedback=-0.7 tone=20",
    .sets = { { "time", 4.3, 100 },
              { "time", 1.5, 200 }, // replaced before its turn comes
              { "time", 0.1, 333 },
              { "mix", 0.9, 500 },
              { "tone", 20000.0, 600 },
              { "mix", 0.1, 800 } },
    .most_channels = 3 },
  { .chain = "x: delay 0ms feedback=0.9 tone=12000",
    .sets = { { "feedback", -0.9, 300 } },
    .most_channels = 2 },
  { .chain = "x: delay bpm=960 note=1/32t max_time=10ms",
    .sets = { { "note", 15.0, 250 }, { "bpm", 0.0, 251 }, { "time", 7.0, 252 } },
    .most_channels = 3 },
  { .chain = "x: delay 9ms feedback=0.8 tone=3000 pingpong=on mix=0.7",
    .sets = { { "time", 3.1, 300 },
              { "feedback", -0.99, 400 },
              { "tone", 20000.0, 410 },
              { "tone", 100.0, 800 } },
    .pairs_only = true },
  { .chain = "x: gain -6dB", .sets = { { "gain", 6.0, 300 } } },
  { .chain = "x: invert", .sets = { { "on", 0.0, 300 }, { "on", 1.0, 700 }, { "on", 0.0, 1000 } } },
  { .chain = "x: invert channels=1,3-29,64 on=off",
    .sets = { { "on", 1.0, 300 } },
    .least_channels = 64 },
  { .chain = "x: matrix" },
  { .chain = "x: matrix rows=\"0.5 -6dB -1; 0 0 0; 0 0 2\"", .most_channels = 3 },
  { .chain = "x: matrix file=dense.txt" },
  { .chain = "(gain -3dB + gain -6dB) | x: matrix file=sparse.txt" },
  { .chain = "x: pan -0.3",
    .sets = { { "position", 1.0, 300 }, { "position", -0.5, 600 } },
    .most_channels = 2 },
  { .chain = "x: pan 0.8 law=-4.5dB",
    .sets = { { "law", 2.0, 300 }, { "position", -1.0, 301 } },
    .most_channels = 2 },
};

// Matrices for up to 300 inputs: all of them to 201 outputs, few of them to 70.
static float dense_rows[201U * 300U];
static float sparse_rows[70U * 300U];
static const FxFile dense = { "dense.txt", 201, 300, dense_rows, false };
static const FxFile sparse = { "sparse.txt", 70, 300, sparse_rows, false };
static const RackRigFile files[] = { { "dense.txt", &dense }, { "sparse.txt", &sparse } };

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
  rack_rig_new(&rig, backend, NULL, effect_case->chain, &format, files, ARRAY_LEN(files));
  *n_out = rack_rig_n_out(&rig);
  float** const in = planar_noise(n_channels, n_frames, 1U, 0.5);
  float** const out = planar_silence(*n_out, n_frames);
  for (size_t s = 0; s < MOST_SETS && effect_case->sets[s].param; ++s) {
    const EffectSet* const set = &effect_case->sets[s];
    rack_rig_set(&rig, "x", set->param, set->value, set->frame);
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
  const FxInfo* fx = NULL;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    fx = strcmp(rack->nodes[n].name, "x") ? fx : rack->nodes[n].fx;
  }
  rack_free(rack);
  return fx;
}

static bool
takes(const EffectCase* const effect_case, const uint32_t n_channels)
{
  return n_channels >= effect_case->least_channels &&
         (!effect_case->most_channels || n_channels <= effect_case->most_channels) &&
         !(effect_case->pairs_only && n_channels % 2U);
}

static void
check_case(const EffectCase* const effect_case, const FxInfo* const fx)
{
  double worst = 0.0;
  for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    for (size_t w = 0; w < ARRAY_LEN(widths); ++w) {
      if (!takes(effect_case, widths[w])) {
        continue;
      }
      const double difference = compare(effect_case, blocks[b], widths[w]);
      ck_assert_msg(difference <= fx->tolerance,
                    "%s, blocks of %u, %u channels: %.3g apart, %.3g allowed", effect_case->chain,
                    blocks[b], widths[w], difference, fx->tolerance);
      worst = fmax(worst, difference);
    }
  }
  printf("%-60s worst %.3g (%.1f dB), allowed %.3g\n", effect_case->chain, worst, decibels(worst),
         fx->tolerance);
  fflush(stdout);
}

/// Noise of at most 0.1.  Of the sparse one, a tile of eight rows hears two neighbours of every
/// fifty columns, but for one such pair; the last tile hears nothing.
static void
make_matrices(void)
{
  signal_noise(dense_rows, ARRAY_LEN(dense_rows), 1U);
  signal_noise(sparse_rows, ARRAY_LEN(sparse_rows), 2U);
  for (size_t i = 0; i < ARRAY_LEN(dense_rows); ++i) {
    dense_rows[i] *= 0.1F;
  }
  for (uint32_t i = 0; i < ARRAY_LEN(sparse_rows); ++i) {
    const uint32_t row = i / 300U;
    const uint32_t column = i % 300U;
    const bool is_heard = column % 50U < 2U && row / 8U != column / 50U && row < 64U;
    sparse_rows[i] *= is_heard ? 0.1F : 0.0F;
  }
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
  make_matrices();
  fflush(stdout);
  const TTest* const tests[] = { a_device_plays_what_the_cpu_plays };
  const int failed = suite_run("gpu_effects", tests, (uint32_t)ARRAY_LEN(tests));
  device_backend_free(device);
  return failed;
}
