// SPDX-License-Identifier: GPL-3.0-or-later
// Filters give the same bits for any grouping of frames and channels, change without clicks, and
// keep silence silent.

#include "tests/support/fx_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE         48000.0
#define FRAMES       9600U
#define MAX_CHANNELS 64U

static float in[MAX_CHANNELS][FRAMES];
static float out[MAX_CHANNELS][FRAMES];
static float reference[MAX_CHANNELS][FRAMES];

/// Process a part of the input, from frame `first` on.
static void
run_part(FxRig* const rig, float (*const to)[FRAMES], const uint32_t first, const uint32_t n_frames,
         const RigSplit split)
{
  const float* ins[MAX_CHANNELS];
  float* outs[MAX_CHANNELS];
  for (uint32_t c = 0; c < rig->n_in; ++c) {
    ins[c] = in[c] + first;
    outs[c] = to[c] + first;
  }
  rig_run(rig, ins, outs, n_frames, split, 9);
}

/// Process the input with a change of frequency, and another while the first still fades.
static void
run_with_changes(FxRig* const rig, float (*const to)[FRAMES], const RigSplit split)
{
  run_part(rig, to, 0, 1000, split);
  rig_set(rig, "frequency", 4000.0);
  run_part(rig, to, 1000, 333, split);
  rig_set(rig, "frequency", 300.0);
  rig_set(rig, "frequency", 150.0);
  run_part(rig, to, 1333, FRAMES - 1333U, split);
}

static FxRig
elliptic_rig(const uint32_t n_channels)
{
  FxRig rig;
  rig_new(&rig, "highpass", RATE, n_channels, 256, SET("frequency", 100.0), SET("order", 11.0),
          { .id = "type", .text = "elliptic" });
  return rig;
}

static void
fill_noise(void)
{
  for (uint32_t c = 0; c < MAX_CHANNELS; ++c) {
    signal_noise(in[c], FRAMES, c);
  }
}

TEST(any_split_gives_the_same_bits)
{
  fill_noise();
  for (int split = RIG_BLOCKS; split <= RIG_SINGLE; ++split) {
    SCOPED(rig_free) FxRig rig = elliptic_rig(3);
    run_with_changes(&rig, split == RIG_BLOCKS ? reference : out, (RigSplit)split);
    for (uint32_t c = 0; c < 3U && split != RIG_BLOCKS; ++c) {
      ck_assert_int_eq(memcmp(out[c], reference[c], sizeof(out[c])), 0);
    }
  }
}

TEST(any_number_of_channels_gives_the_bits_of_one)
{
  fill_noise();
  const uint32_t counts[] = { 1, 2, 3, 31, 64 };
  for (uint32_t i = 0; i < ARRAY_LEN(counts); ++i) {
    SCOPED(rig_free) FxRig rig = elliptic_rig(counts[i]);
    run_with_changes(&rig, i ? out : reference, RIG_BLOCKS);
    ck_assert(i == 0 || !memcmp(out[0], reference[0], sizeof(out[0])));
  }
  for (uint32_t c = 0; c < MAX_CHANNELS; ++c) { // each of the 64 channels alone
    SCOPED(rig_free) FxRig rig = elliptic_rig(1);
    memcpy(in[0], in[c], sizeof(in[0]));
    run_with_changes(&rig, reference, RIG_BLOCKS);
    ck_assert_int_eq(memcmp(out[c], reference[0], sizeof(out[c])), 0);
  }
}

TEST(units_of_many_nodes_run_together)
{
  enum { N_NODES = 11 };
  fill_noise();
  FxRig rigs[N_NODES];
  FxUnit units[N_NODES];
  const float* ins[N_NODES];
  float* outs[N_NODES];
  for (uint32_t n = 0; n < N_NODES; ++n) {
    rig_new(&rigs[n], "lowpass", RATE, 1, FRAMES, SET("frequency", 100.0 + 90.0 * n),
            SET("order", n < 4U ? 5.0 : 6.0 + n % 3U));
    run_part(&rigs[n], reference, 0, 64, RIG_BLOCKS);
    rig_reset(&rigs[n]);
    if (n % 2U) {
      rig_set(&rigs[n], "frequency", 5000.0);
    }
    ins[n] = in[n];
    outs[n] = out[n];
    units[n] = (FxUnit){
      .node = rigs[n].node, .state = rigs[n].states[0], .in = &ins[n], .out = &outs[n]
    };
  }
  rigs[0].fx->run(units, N_NODES, FRAMES);
  for (uint32_t n = 0; n < N_NODES; ++n) {
    FxRig alone;
    rig_new(&alone, "lowpass", RATE, 1, FRAMES, SET("frequency", 100.0 + 90.0 * n),
            SET("order", n < 4U ? 5.0 : 6.0 + n % 3U));
    if (n % 2U) {
      rig_set(&alone, "frequency", 5000.0);
    }
    memcpy(in[0], in[n], sizeof(in[0]));
    run_part(&alone, reference, 0, FRAMES, RIG_BLOCKS);
    ck_assert_int_eq(memcmp(out[n], reference[0], sizeof(out[n])), 0);
    rig_free(&alone);
    rig_free(&rigs[n]);
  }
}

TEST(silence_gives_silence_and_denormals_are_harmless)
{
  SCOPED(rig_free) FxRig rig = elliptic_rig(1);
  memset(in[0], 0, sizeof(in[0]));
  run_with_changes(&rig, out, RIG_BLOCKS);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[0][i] == 0.0F);
  }
  for (uint32_t i = 0; i < FRAMES; ++i) {
    in[0][i] = i % 2U ? FLT_TRUE_MIN : -FLT_TRUE_MIN;
  }
  run_with_changes(&rig, out, RIG_BLOCKS);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert(fabsf(out[0][i]) < FLT_MIN);
  }
}

TEST(a_reset_unit_has_no_nan_left)
{
  fill_noise();
  SCOPED(rig_free) FxRig rig = elliptic_rig(1);
  run_part(&rig, reference, 0, FRAMES, RIG_BLOCKS);
  rig_reset(&rig);
  in[0][100] = NAN;
  run_part(&rig, out, 0, FRAMES, RIG_BLOCKS);
  ck_assert(isnan(out[0][FRAMES - 1U]));
  rig_reset(&rig);
  signal_noise(in[0], FRAMES, 0);
  run_part(&rig, out, 0, FRAMES, RIG_BLOCKS);
  ck_assert_int_eq(memcmp(out[0], reference[0], sizeof(out[0])), 0);
}

TEST(the_last_of_many_changes_wins)
{
  fill_noise();
  SCOPED(rig_free) FxRig changed;
  rig_new(&changed, "lowpass", RATE, 1, 256, SET("frequency", 100.0));
  run_with_changes(&changed, out, RIG_BLOCKS);
  SCOPED(rig_free) FxRig fresh;
  rig_new(&fresh, "lowpass", RATE, 1, 256, SET("frequency", 150.0));
  run_part(&fresh, reference, 0, FRAMES, RIG_BLOCKS);
  const uint32_t settled = 1333U + 4800U;
  ck_assert_double_le(
      max_difference(out[0] + settled, reference[0] + settled, FRAMES - settled, NULL), 2e-7);
}

/// A change of one parameter of a new node.
typedef struct Jump {
  const char* effect;
  RigArg args[4];
  uint32_t n_args;
  const char* id;
  double to;
} Jump;

#define AT(hz)       SET("frequency", hz)
#define GAIN_Q(g, q) SET("gain", g), SET("q", q)
#define STEEP                                                                                      \
  SET("order", 8.0),                                                                               \
  {                                                                                                \
    .id = "type", .text = "elliptic"                                                               \
  }

static const Jump jumps[] = {
  { "lowpass", { AT(80.0) }, 1, "frequency", 8000.0 },
  { "lowpass", { AT(8000.0) }, 1, "frequency", 80.0 },
  { "lowpass", { AT(80.0), STEEP }, 3, "frequency", 8000.0 },
  { "lowpass", { AT(8000.0), STEEP }, 3, "frequency", 80.0 },
  { "highpass", { AT(80.0) }, 1, "frequency", 8000.0 },
  { "highpass", { AT(8000.0) }, 1, "frequency", 80.0 },
  { "highpass", { AT(80.0), STEEP }, 3, "frequency", 8000.0 },
  { "highpass", { AT(8000.0), STEEP }, 3, "frequency", 80.0 },
  { "bandpass", { SET("low", 60.0) }, 1, "low", 2000.0 },
  { "bandstop", { SET("low", 60.0) }, 1, "high", 8000.0 },
  { "peaking", { AT(80.0), GAIN_Q(18.0, 10.0) }, 3, "frequency", 8000.0 },
  { "peaking", { AT(8000.0), GAIN_Q(18.0, 10.0) }, 3, "frequency", 80.0 },
  { "peaking", { AT(1000.0), GAIN_Q(-18.0, 1.0) }, 3, "gain", 18.0 },
  { "peaking", { AT(1000.0), GAIN_Q(18.0, 1.0) }, 3, "gain", -18.0 },
  { "peaking", { AT(100.0), GAIN_Q(18.0, 10.0) }, 3, "q", 0.5 },
  { "peaking", { AT(100.0), GAIN_Q(18.0, 0.5) }, 3, "q", 10.0 },
  { "lowshelf", { AT(80.0), GAIN_Q(18.0, 0.7) }, 3, "frequency", 8000.0 },
  { "lowshelf", { AT(200.0), GAIN_Q(-18.0, 0.7) }, 3, "gain", 18.0 },
  { "lowshelf", { AT(200.0), GAIN_Q(18.0, 0.7) }, 3, "gain", -18.0 },
  { "lowshelf", { AT(200.0), GAIN_Q(18.0, 0.7) }, 3, "q", 3.0 },
  { "highshelf", { AT(8000.0), GAIN_Q(18.0, 0.7) }, 3, "frequency", 80.0 },
  { "highshelf", { AT(200.0), GAIN_Q(-18.0, 0.7) }, 3, "gain", 18.0 },
  { "highshelf", { AT(200.0), GAIN_Q(18.0, 0.7) }, 3, "gain", -18.0 },
  { "notch", { AT(80.0) }, 1, "frequency", 8000.0 },
  { "allpass", { AT(80.0) }, 1, "frequency", 8000.0 },
};

/// Ratio of the largest second difference around a change to that of the louder steady signal.
static double
click(const Jump* const jump, const double rate_hz, const double frequency_hz, const double phase)
{
  enum { BEFORE = 48000, AFTER = 96000, STEADY = 9600 };
  static float sine[BEFORE + AFTER];
  static float output[BEFORE + AFTER];
  signal_sine(sine, BEFORE + AFTER, frequency_hz, rate_hz, 0.1, phase);
  FxRig rig;
  OK(rig_try(&rig, jump->effect, rate_hz, 1, 512, false, jump->args, jump->n_args, &error));
  rig_run(&rig, (const float*[]){ sine }, (float*[]){ output }, BEFORE, RIG_BLOCKS, 0);
  rig_set(&rig, jump->id, jump->to);
  rig_run(&rig, (const float*[]){ sine + BEFORE }, (float*[]){ output + BEFORE }, AFTER, RIG_BLOCKS,
          0);
  rig_free(&rig);
  return max_second_difference(output + BEFORE - 2, AFTER - STEADY) /
         fmax(max_second_difference(output + BEFORE - STEADY, STEADY),
              max_second_difference(output + BEFORE + AFTER - STEADY, STEADY));
}

// From 100 Hz on: both filters suppress lower notes, which leaves no steady signal to compare.
TEST(no_change_of_a_parameter_clicks)
{
  const double frequencies_hz[] = { 100.0, 200.0, 440.0, 1000.0, 3000.0, 10000.0 };
  double worst = 0.0;
  for (uint32_t j = 0; j < ARRAY_LEN(jumps); ++j) {
    for (uint32_t f = 0; f < ARRAY_LEN(frequencies_hz); ++f) {
      for (uint32_t quarter = 0; quarter < 2U; ++quarter) {
        const double ratio = click(&jumps[j], RATE, frequencies_hz[f], quarter * M_PI_2);
        worst = fmax(worst, ratio);
        ck_assert_msg(ratio <= 1.5, "%s: %s to %g at %g Hz: %.2f", jumps[j].effect, jumps[j].id,
                      jumps[j].to, frequencies_hz[f], ratio);
      }
    }
  }
  if (getenv("WARPRACK_TEST_VERBOSE")) {
    printf("worst second difference of a change: %.3f of the steady one\n", worst);
  }
}

// A bell that rings for a third of a second: its state must survive, or a step would be a dip.
TEST(a_small_change_of_a_slow_filter_is_seamless)
{
  static float sine[96000];
  static float output[96000];
  signal_sine(sine, 96000, 40.0, RATE, 0.1, 0.0);
  FxRig rig;
  rig_new(&rig, "peaking", RATE, 1, 512, AT(40.0), GAIN_Q(12.0, 10.0));
  rig_run(&rig, (const float*[]){ sine }, (float*[]){ output }, 48000, RIG_BLOCKS, 0);
  rig_set(&rig, "gain", 13.0);
  rig_run(&rig, (const float*[]){ sine + 48000 }, (float*[]){ output + 48000 }, 48000, RIG_BLOCKS,
          0);
  rig_free(&rig);
  for (uint32_t period = 40000; period + 1200U <= 96000U; period += 1200U) {
    float peak = 0.0F;
    for (uint32_t i = 0; i < 1200U; ++i) {
      peak = fmaxf(peak, fabsf(output[period + i]));
    }
    ck_assert_double_ge(decibels(peak / 0.1), 11.9);
    ck_assert_double_le(decibels(peak / 0.1), 13.1);
  }
}

SUITE_MAIN("cascade")
