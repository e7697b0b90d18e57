// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Every effect on a device against the CPU: blocks of 1 to 1024 frames, 1 to 257 channels, random
  splits; parameters that are set between and within blocks, while others still ramp; samples that
  are not finite; references in double precision; longer blocks, which groups share.

      test_gpu_effects [EFFECT]     WARPRACK_TEST_BACKEND=cuda|opencl (default opencl)

  Prints the worst difference of each effect.
*/

#include "effect_cases.h"

#include "engine/contract/backend.h"
#include "tests/support/device_suite.h"
#include "tests/support/fx_checks.h"
#include "tests/support/rack_rig.h"
#include "tests/support/reference.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_HZ 48000.0

static const uint32_t blocks[] = { 1, 31, 32, 33, 64, 480, 512, 1024 };
static const uint32_t widths[] = { 1, 2, 3, 31, 64, 257 };

#define LONG_BLOCK       480U
#define REFERENCE_FRAMES 14400U

static Backend* device;
static const char* only; ///< Effect to test, NULL: all

static const RackRigFile* files; ///< [n_files]
static uint32_t n_files;

/// Frames to play: some blocks, long enough for ramps to end except with many channels in blocks of
/// one frame.
static uint32_t
frames_for(const EffectCase* const effect_case, const uint32_t block, const uint32_t n_channels)
{
  if (effect_case->seconds > 0.0) {
    return (uint32_t)(effect_case->seconds * RATE_HZ);
  }
  const uint32_t least = n_channels > 64U ? 2000U : 3000U;
  if (block == 1U) {
    return n_channels > 3U ? 400U : 1200U;
  }
  return 3U * block > least ? 3U * block : least;
}

/// How a case is played.
typedef struct Play {
  uint32_t block, n_channels, n_frames;
  double level;       ///< Level of the input, which is noise
  double sine_hz;     ///< If not 0, all channels play this sine
  uint32_t bad_frame; ///< The first channel is NaN at this frame; 0: none
} Play;

/// Make bursts of noise of `level`.
static void
shape_bursts(float* const noise, const uint32_t n_frames, const double level, const float loud)
{
  const float levels[] = { 0.02F, loud, 0.3F, 0.0F };
  for (uint32_t i = 0; i < n_frames; ++i) {
    noise[i] *= levels[i / 250U % ARRAY_LEN(levels)] / (float)level;
  }
}

/// Play the case; the result is planar [n_out][n_frames].
static float**
play(const EffectCase* const effect_case, const Backend* const backend, const Play* const how,
     uint32_t* const n_out)
{
  const Format format = { .rate_hz = effect_case->rate_hz > 0.0 ? effect_case->rate_hz : RATE_HZ,
                          .block_frames = how->block,
                          .n_in = how->n_channels };
  SCOPED(rack_rig_free) RackRig rig;
  rack_rig_new(&rig, backend, NULL, effect_case->chain, &format, files, n_files);
  *n_out = rack_rig_n_out(&rig);
  SCOPED_MEMORY float** const in = planar_noise(how->n_channels, how->n_frames, 1U, how->level);
  float** const out = planar_silence(*n_out, how->n_frames);
  for (size_t s = 0; s < MOST_SETS && effect_case->sets[s].param; ++s) {
    const EffectSet* const set = &effect_case->sets[s];
    rack_rig_fade(&rig, "x", set->param, set->value, set->frame, set->fade_frames, CURVE_S);
  }
  for (uint32_t c = 0; how->sine_hz > 0.0 && c < how->n_channels; ++c) {
    signal_sine(in[c], how->n_frames, how->sine_hz, RATE_HZ, how->level, 0.0);
  }
  for (uint32_t c = 0; effect_case->loud > 0.0F && c < how->n_channels; ++c) {
    shape_bursts(in[c], how->n_frames, how->level, effect_case->loud);
  }
  if (how->bad_frame) {
    in[0][how->bad_frame] = NAN;
  }
  const RigSplit split = how->block % 2U ? RIG_RANDOM : RIG_BLOCKS;
  rack_rig_run(&rig, (const float* const*)in, out, how->n_frames, split,
               how->block + how->n_channels);
  ck_assert_int_eq(rig.player.counts.units_reset > 0, how->bad_frame > 0);
  return out;
}

static void
check_ceiling(const EffectCase* const effect_case, const float* const x, const uint32_t n_frames)
{
  const double ceiling = pow(10.0, effect_case->ceiling_db / 20.0);
  for (uint32_t i = 0; effect_case->ceiling_db != 0.0 && i < n_frames; ++i) {
    if (fabs((double)x[i]) > ceiling) { // a passed assertion makes a system call
      ck_abort_msg("%s: frame %u has the value %.9g, above %.9g", effect_case->chain, i,
                   (double)x[i], ceiling);
    }
  }
}

/// The largest difference between device and CPU.
static double
compare(const EffectCase* const effect_case, const Play* const how)
{
  uint32_t n_out = 0;
  uint32_t n_out_cpu = 0;
  SCOPED_MEMORY float** const out = play(effect_case, device, how, &n_out);
  SCOPED_MEMORY float** const cpu = play(effect_case, &backend_cpu, how, &n_out_cpu);
  ck_assert_uint_eq(n_out, n_out_cpu);
  double worst = 0.0;
  for (uint32_t c = 0; c < n_out; ++c) {
    worst = fmax(worst, max_difference(out[c], cpu[c], how->n_frames, NULL));
    check_ceiling(effect_case, out[c], how->n_frames);
  }
  return worst;
}

static bool
takes(const EffectCase* const effect_case, const uint32_t block, const uint32_t n_channels)
{
  return (effect_case->seconds == 0.0 || block == LONG_BLOCK) &&
         n_channels >= effect_case->least_channels &&
         (!effect_case->most_channels || n_channels <= effect_case->most_channels) &&
         !(effect_case->pairs_only && n_channels % 2U);
}

static void
check_case(const EffectCase* const effect_case, const FxInfo* const fx)
{
  double worst = 0.0;
  for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    for (size_t w = 0; w < ARRAY_LEN(widths); ++w) {
      if (!takes(effect_case, blocks[b], widths[w])) {
        continue;
      }
      const Play how = { .block = blocks[b],
                         .n_channels = widths[w],
                         .n_frames = frames_for(effect_case, blocks[b], widths[w]),
                         .level = 0.5 };
      const double difference = compare(effect_case, &how);
      ck_assert_msg(difference <= fx->tolerance,
                    "%s, blocks of %u, %u channels: difference %.3g, allowed %.3g",
                    effect_case->chain, blocks[b], widths[w], difference, fx->tolerance);
      worst = fmax(worst, difference);
    }
  }
  printf("%-60s worst %.3g (%.1f dB), allowed %.3g\n", effect_case->chain, worst, decibels(worst),
         fx->tolerance);
  fflush(stdout);
}

TEST(a_device_gives_the_output_of_the_cpu)
{
  uint32_t n_checked = 0;
  size_t n_cases = 0;
  const EffectCase* const cases = effect_cases(&n_cases);
  for (size_t c = 0; c < n_cases; ++c) {
    const FxInfo* const fx = effect_case_fx(&cases[c]);
    if (!only || !strcmp(only, fx->name)) {
      check_case(&cases[c], fx);
      ++n_checked;
    }
  }
  ck_assert_uint_gt(n_checked, 0);
}

/// Play the reverb of a reference, in blocks of 64; `decay_ms` is set halfway.  Fails if the error
/// exceeds the limit of the CPU in its own test.
static void
follow_reference(const char* const name, const char* const chain, float* const* const in,
                 const uint32_t n_channels, const double decay_ms, const uint32_t* const kept,
                 const uint32_t n_kept)
{
  const Format format = { .rate_hz = RATE_HZ, .block_frames = 64U, .n_in = n_channels };
  RackRig rig;
  SCOPED_MEMORY float** const out = planar_silence(n_channels, REFERENCE_FRAMES);
  float* channels[4];
  rack_rig_new(&rig, device, NULL, chain, &format, NULL, 0U);
  rack_rig_set(&rig, "x", "decay", decay_ms, REFERENCE_FRAMES / 2U);
  rack_rig_run(&rig, (const float* const*)in, out, REFERENCE_FRAMES, RIG_BLOCKS, 0U);
  rack_rig_free(&rig);
  for (uint32_t k = 0; k < n_kept; ++k) {
    channels[k] = out[kept[k]];
  }
  const double difference = reference_difference(name, channels, n_kept, REFERENCE_FRAMES);
  printf("%-60s worst %.3g (%.1f dB), allowed 1e-06\n", name, difference, decibels(difference));
  ck_assert_double_lt(difference, 1e-6);
}

TEST(a_reverb_follows_the_double_precision_model)
{
  if (only && strcmp(only, "reverb")) {
    return;
  }
  static const uint32_t kept[] = { 0, 1, 0, 85, 600, 1023 };
  float** const stereo = planar_noise(2, REFERENCE_FRAMES, 1, 1.0);
  follow_reference(
      "reverb_stereo",
      "x: reverb size=0.2 decay=500ms damping=4kHz modulation=0.8 predelay=5ms mix=0.7", stereo, 2,
      3000.0, kept, 2);
  free(stereo);
  SCOPED_MEMORY float** const many = planar_silence(FX_MAX_CHANNELS, REFERENCE_FRAMES);
  for (uint32_t group = 0; group < FX_MAX_CHANNELS / 16U; ++group) {
    signal_noise(many[16U * group + group % 16U], REFERENCE_FRAMES, 1U + group);
  }
  follow_reference("reverb_many",
                   "x: reverb size=0 decay=1s damping=8kHz modulation=0 predelay=0 mix=1", many,
                   FX_MAX_CHANNELS, 1000.0, kept + 2, 4);
}

/// The signal of the test of the CPU, see tests/data/make_delay.py.
static const struct {
  const char* name;
  EffectCase effect_case;
  uint32_t n_channels;
} delay_references[] = {
  { "delay_tone", { .chain = "x: delay 10ms feedback=0.7 tone=3000 mix=0.4" }, 1 },
  { "delay_pingpong", { .chain = "x: delay 15ms feedback=-0.8 tone=5000 mix=0.6 pingpong=on" }, 2 },
  { "delay_change",
    { .chain = "x: delay 10ms feedback=0.5 tone=3000 mix=1",
      .sets = { { "time", 20.0, 7200 }, { "time", 17.0, 7300 }, { "time", 5.0, 7400 } } },
    1 },
};

/// The error of a backend with noise of full scale.
static double
distance_from_reference(const size_t index, const Backend* const backend)
{
  const Play how = { .block = 64,
                     .n_channels = delay_references[index].n_channels,
                     .n_frames = REFERENCE_FRAMES,
                     .level = 1.0 };
  uint32_t n_out = 0;
  SCOPED_MEMORY float** const out =
      play(&delay_references[index].effect_case, backend, &how, &n_out);
  const double distance =
      reference_difference(delay_references[index].name, out, n_out, how.n_frames);
  return distance;
}

TEST(a_delay_follows_the_double_precision_model)
{
  for (size_t i = 0; i < ARRAY_LEN(delay_references) && (!only || !strcmp(only, "delay")); ++i) {
    const double distance = distance_from_reference(i, device);
    printf("%-60s worst %.3g, of the CPU %.3g, allowed 1e-06\n", delay_references[i].name, distance,
           distance_from_reference(i, &backend_cpu));
    fflush(stdout);
    ck_assert_double_lt(distance, 1e-6);
  }
}

/// The parameters of a model in double precision (tests/data/make_dynamics.py).
typedef struct ModelCase {
  const char* effect;
  const char* chain;
  const char* name; ///< Name of the file with its output
  uint32_t n_channels;
  float loud[2];
  EffectSet set;
  double tolerance; ///< As in the test of the CPU
} ModelCase;

static const ModelCase models[] = {
  { .effect = "compressor",
    .chain = "x: compressor -25dB 4 knee=10 attack=3 release=40 makeup=6 mix=0.8",
    .name = "compressor_peak",
    .n_channels = 2,
    .loud = { 1.0F, 1.0F },
    .tolerance = 1e-6 },
  { .effect = "compressor",
    .chain = "x: compressor -20dB 8 knee=6 attack=5 release=60 detector=rms",
    .name = "compressor_rms",
    .n_channels = 1,
    .loud = { 1.0F },
    .set = { "threshold", -30.0, REFERENCE_FRAMES / 2U },
    .tolerance = 1e-6 },
  { .effect = "gate",
    .chain = "x: gate -12dB hysteresis=6 attack=1 hold=4 release=10 range=-40",
    .name = "gate",
    .n_channels = 2,
    .loud = { 1.0F, 1.0F },
    .tolerance = 1e-6 },
  { .effect = "limiter",
    .chain = "x: limiter -1dB release=20",
    .name = "limiter",
    .n_channels = 2,
    .loud = { 30.0F, 8.0F },
    .tolerance = 1e-6 },
};

static double
model_difference(const ModelCase* const model, const Backend* const backend)
{
  const Format format = { .rate_hz = RATE_HZ, .block_frames = 64, .n_in = model->n_channels };
  SCOPED_MEMORY float** const in = planar_silence(model->n_channels, REFERENCE_FRAMES);
  SCOPED_MEMORY float** const out = planar_silence(model->n_channels, REFERENCE_FRAMES);
  for (uint32_t c = 0; c < model->n_channels; ++c) {
    signal_bursts(in[c], REFERENCE_FRAMES, c + 1U, model->loud[c]);
  }
  RackRig rig;
  rack_rig_new(&rig, backend, NULL, model->chain, &format, NULL, 0U);
  if (model->set.param) {
    rack_rig_set(&rig, "x", model->set.param, model->set.value, model->set.frame);
  }
  rack_rig_run(&rig, (const float* const*)in, out, REFERENCE_FRAMES, RIG_BLOCKS, 0U);
  rack_rig_free(&rig);
  const double difference =
      reference_difference(model->name, out, model->n_channels, REFERENCE_FRAMES);
  return difference;
}

TEST(dynamics_follow_the_double_precision_models)
{
  for (size_t m = 0; m < ARRAY_LEN(models); ++m) {
    if (!only || !strcmp(only, models[m].effect)) {
      const double difference = model_difference(&models[m], device);
      printf("%-60s worst %.3g, of the CPU %.3g, allowed %.3g\n", models[m].chain, difference,
             model_difference(&models[m], &backend_cpu), models[m].tolerance);
      fflush(stdout);
      ck_assert_double_le(difference, models[m].tolerance);
    }
  }
}

// The case in which an effect in single precision drifts first: a low note in a feedback loop.
static const EffectCase deep[] = {
  { .chain = "x: delay 0ms feedback=0.99 tone=20 mix=1" },
  { .chain = "x: delay 2ms feedback=0.99 tone=100 mix=1" },
  { .chain = "x: delay 10ms feedback=-0.99 tone=1000 mix=1 pingpong=on" },
};

TEST(a_deep_note_does_not_drift)
{
  for (size_t c = 0; c < ARRAY_LEN(deep); ++c) {
    const FxInfo* const fx = effect_case_fx(&deep[c]);
    if (!only || !strcmp(only, fx->name)) {
      const Play how = {
        .block = 64, .n_channels = 2, .n_frames = 14400, .level = 1.0, .sine_hz = 2.0
      };
      const double difference = compare(&deep[c], &how);
      printf("%-60s worst %.3g at 2 Hz, allowed %.3g\n", deep[c].chain, difference, fx->tolerance);
      fflush(stdout);
      ck_assert_double_le(difference, fx->tolerance);
    }
  }
}

TEST(non_finite_outputs_are_silenced_as_on_the_cpu)
{
  size_t n_cases = 0;
  const EffectCase* const cases = effect_cases(&n_cases);
  for (size_t c = 0; c < n_cases; ++c) {
    const FxInfo* const fx = effect_case_fx(&cases[c]);
    if (!only || !strcmp(only, fx->name)) {
      const uint32_t n_channels = cases[c].least_channels > 2U ? cases[c].least_channels : 2U;
      const Play how = {
        .block = 64, .n_channels = n_channels, .n_frames = 3000, .level = 0.5, .bad_frame = 1050
      };
      const double difference = compare(&cases[c], &how);
      ck_assert_msg(difference <= fx->tolerance, "%s: difference %.3g, allowed %.3g",
                    cases[c].chain, difference, fx->tolerance);
    }
  }
}

// Groups share long blocks of sums of products, in tiles of 256 frames; odd blocks are split at
// random, and the last one ends inside a tile.
static const struct {
  EffectCase effect_case;
  Play how;
} shared_blocks[] = {
  { { .chain = "x: fir lowpass 1kHz taps=3" }, { .block = 513, .n_channels = 2 } },
  { { .chain = "x: fir lowpass 1kHz taps=301" }, { .block = 1023, .n_channels = 12 } },
  { { .chain = "(gain -3dB + gain -9dB) | x: fir bandpass 200Hz 3kHz taps=511" },
    { .block = 1024, .n_channels = 3 } },
  { { .chain = "x: fir file=taps.wav" }, { .block = 1023, .n_channels = 12 } },
  { { .chain = "x: fir file=taps.wav" }, { .block = 8192, .n_channels = 12 } },
  { { .chain = "(x: fir lowpass 1kHz taps=301 + fir highpass 5kHz taps=31 compensate=off)" },
    { .block = 8191, .n_channels = 2 } }, // in one launch
  { { .chain = "x: fir lowpass 1kHz taps=31" },
    { .block = 140000, .n_channels = 1 } }, // more tiles than groups
};

TEST(groups_that_share_a_block_play_what_the_cpu_plays)
{
  for (size_t b = 0; b < ARRAY_LEN(shared_blocks) && (!only || !strcmp(only, "fir")); ++b) {
    const EffectCase* const effect_case = &shared_blocks[b].effect_case;
    Play how = shared_blocks[b].how;
    how.n_frames = 2U * how.block + 777U;
    how.level = 0.5;
    const double allowed = effect_case_fx(effect_case)->tolerance;
    const double difference = compare(effect_case, &how);
    printf("%-60s worst %.3g in blocks of %u, allowed %.3g\n", effect_case->chain, difference,
           how.block, allowed);
    fflush(stdout);
    ck_assert_double_le(difference, allowed);
  }
}

TEST(a_non_finite_output_in_any_tile_silences_its_channel)
{
  static const EffectCase effect_case = { .chain = "x: fir lowpass 1kHz taps=301" };
  for (uint32_t frame = 1030; frame < 2304U && (!only || !strcmp(only, "fir")); frame += 125U) {
    const Play how = {
      .block = 1024, .n_channels = 2, .n_frames = 3333, .level = 0.5, .bad_frame = frame
    };
    ck_assert_double_le(compare(&effect_case, &how), effect_case_fx(&effect_case)->tolerance);
  }
}

int
main(const int argc, char** const argv)
{
  only = argc > 1 ? argv[1] : NULL;
  files = effect_case_files(&n_files);
  return device_suite_run("gpu_effects", ENGINE_BACKEND_AUTO, &device);
}
