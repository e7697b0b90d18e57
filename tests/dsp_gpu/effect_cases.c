// SPDX-License-Identifier: GPL-3.0-or-later

#include "effect_cases.h"

#include "tests/support/fx_checks.h"
#include "tests/support/signals.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Cases that the table of effects cannot describe; an effect without a row here plays
/// plain_case().
static const EffectCase special_cases[] = {
  { .chain = "x: bandpass 300Hz 3kHz order=3 type=elliptic",
    .sets = { { "high", 800.0, 100 }, { "ripple", 3.0, 700 }, { "low", 50.0, 710 } } },
  { .chain = "x: compressor -20dB",
    .sets = { { "threshold", -50.0, 200 },
              { "attack", 0.0, 210 },
              { "ratio", 1000.0, 400 },
              { "release", 1.0, 600 },
              { "makeup", 6.0, 640 },
              { "threshold", -10.0, 700 },
              { "mix", 0.3, 1000 } },
    .loud = 1.0F },
  { .chain = "x: compressor -30dB 8 knee=20 detector=rms link=off",
    .sets = { { "threshold", -40.0, 300, 300 }, { "knee", 0.0, 800 } },
    .most_channels = 64,
    .loud = 1.0F },
  { .chain =
        "(gain 0dB + gain -12dB) | x: compressor -40dB 1000 attack=0ms release=5s knee=0 makeup=40",
    .sets = { { "attack", 1000.0, 500 }, { "attack", 0.0, 900 } },
    .most_channels = 31,
    .rate_hz = 192000.0,
    .loud = 1.0F },
  { .chain = "x: compressor -30dB 20 attack=1s release=1ms knee=40 detector=rms",
    .sets = { { "release", 5000.0, 600 } },
    .most_channels = 3,
    .rate_hz = 192000.0,
    .loud = 1.0F },
  { .chain = "x: convolver mono.wav mix=0.5 predelay=1ms",
    .sets = { { "mix", 1.0, 100 },
              { "gain", -20.0, 300 },
              { "mix", 0.2, 310 },
              { "gain", 0.0, 950 } },
    .most_channels = 31 },
  { .chain = "x: convolver mono.wav", .sets = { { "mix", 0.0, 300 } }, .least_channels = 64 },
  { .chain = "x: convolver six.wav mix=0.7", // 1 to 6, 2 to 3, 3 to 2
    .sets = { { "mix", 0.1, 300 }, { "gain", -120.0, 333 } },
    .most_channels = 3 },
  { .chain = "(x: convolver mono.wav + convolver each.wav)",
    .sets = { { "gain", -6.0, 300 } },
    .least_channels = 257 },
  { .chain = "x: highshelf 4kHz -6dB", .sets = { { "q", 2.0, 300 }, { "gain", 6.0, 555 } } },
  { .chain = "x: lowpass 1kHz order=5", .sets = { { "frequency", 300.0, 300, 350 } } },
  { .chain = "x: peaking 1kHz 6dB q=20", .sets = { { "gain", -6.0, 300 }, { "q", 2.0, 1000 } } },
  { .chain = "x: delay 50ms",
    .sets = { { "feedback", -0.9, 300, 250 }, { "mix", 1.0, 310 }, { "feedback", 0.5, 700 } } },
  { .chain = "x: delay 2ms feedback=0.99 tone=800 mix=1",
    .sets = { { "tone", 20.0, 200 }, { "tone", 5000.0, 900 } },
    .most_channels = 64 },
  { .chain = "x: delay 1ms feedback=-0.7 tone=20",
    .sets = { { "time", 4.3, 100 },
              { "time", 1.5, 200 }, // replaced before it takes effect
              { "time", 0.1, 333 },
              { "mix", 0.9, 500 },
              { "tone", 20000.0, 600 },
              { "mix", 0.1, 800 } },
    .most_channels = 3 },
  { .chain = "x: delay 0ms feedback=0.9 tone=20",
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
  { .chain = "(x: delay 3ms mix=1 + delay 0.2ms feedback=0.8 tone=900)", // in one launch
    .sets = { { "time", 0.4, 300 }, { "tone", 50.0, 500 } },
    .most_channels = 3 },
  { .chain = "x: fir lowpass 1kHz taps=301" },
  { .chain = "x: fir bandpass 200Hz 3kHz taps=1001 compensate=off", .most_channels = 31 },
  { .chain = "x: gate -12dB hold=1ms release=3ms range=-20dB",
    .sets = { { "range", -3.0, 300 }, { "range", -120.0, 500 }, { "hold", 0.0, 900 } },
    .loud = 1.0F },
  { .chain = "x: gate -20dB attack=0.1ms hold=4ms release=1ms link=off",
    .sets = { { "threshold", -3.0, 400 }, { "hysteresis", 0.0, 410 }, { "hold", 10000.0, 800 } },
    .most_channels = 64,
    .loud = 1.0F },
  { .chain = "x: gate -6dB attack=1s hold=0ms release=5s range=-3dB hysteresis=0",
    .sets = { { "release", 1.0, 900 } },
    .most_channels = 31,
    .rate_hz = 192000.0,
    .loud = 1.0F },
  { .chain = "x: invert", .sets = { { "on", 0.0, 300 }, { "on", 1.0, 700 }, { "on", 0.0, 1000 } } },
  { .chain = "x: invert channels=1,3-29,64 on=off",
    .sets = { { "on", 1.0, 300 } },
    .least_channels = 64 },
  // the switches of the engine, also within a chain of filters, with more outputs than inputs, and
  // with a latency; each alone and both
  { .chain = "gain 3dB | x: gain -6dB bypass=on | gain -1dB",
    .sets = { { "bypass", 0.0, 300 }, { "gain", -12.0, 310 }, { "mute", 1.0, 1100 } } },
  { .chain = "lowpass 5kHz | x: highpass 100Hz mute=on | lowpass 3kHz | peaking 1kHz 6dB",
    .sets = { { "mute", 0.0, 100 }, { "bypass", 1.0, 600 }, { "bypass", 0.0, 1150 } },
    .most_channels = 3 },
  { .chain = "(x: pan 0.5 bypass=on + pan -0.5)",
    .sets = { { "position", 1.0, 200 }, { "bypass", 0.0, 300 }, { "mute", 1.0, 500 } },
    .most_channels = 2 },
  { .chain = "(x: limiter -6dB bypass=on + gain -3dB)",
    .sets = { { "mute", 1.0, 40 }, { "bypass", 0.0, 300 }, { "mute", 0.0, 301 } },
    .most_channels = 3 },
  { .chain = "x: convolver six.wav bypass=on mute=on",
    .sets = { { "mute", 0.0, 150 }, { "bypass", 0.0, 1100 } },
    .most_channels = 3 },
  { .chain = "x: limiter -1dB",
    .sets = { { "ceiling", -20.0, 300 },
              { "ceiling", -3.0, 700 },
              { "ceiling", -2.0, 800 },
              { "release", 1.0, 900 } },
    .loud = 8.0F,
    .ceiling_db = -1.0 },
  { .chain = "x: limiter -6dB release=10ms link=off",
    .sets = { { "ceiling", -12.0, 1000 } },
    .most_channels = 64,
    .loud = 8.0F,
    .ceiling_db = -6.0 },
  { .chain = "x: limiter -3dB release=1ms lookahead=0ms",
    .sets = { { "release", 100.0, 350 } },
    .most_channels = 31,
    .loud = 500.0F,
    .ceiling_db = -3.0 },
  { .chain = "x: limiter -20dB release=300ms lookahead=20ms",
    .sets = { { "release", 1.0, 1100 } },
    .most_channels = 3,
    .loud = 8.0F,
    .ceiling_db = -20.0 },
  { .chain = "(gain 0dB + gain -12dB) | x: limiter -0.1dB release=5s lookahead=3ms",
    .sets = { { "ceiling", -40.0, 300 }, { "ceiling", -0.5, 1100 } },
    .most_channels = 31,
    .rate_hz = 192000.0,
    .loud = 8.0F,
    .ceiling_db = -0.1 },
  { .chain = "x: limiter -9dB lookahead=1.3125ms release=1ms",
    .sets = { { "ceiling", -0.2, 301 } }, // 63 frames: one less than a tile
    .most_channels = 3,
    .loud = 2.0F,
    .ceiling_db = -0.2 },
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
  { .chain = "x: reverb size=0 decay=100ms damping=200Hz predelay=0 mix=1",
    .sets = { { "decay", 60000.0, 100 },
              { "damping", 20000.0, 500 },
              { "damping", 300.0, 510 },
              { "decay", 400.0, 900 } } },
  { .chain = "x: reverb size=0 decay=1s predelay=3ms modulation=1 damping=20kHz",
    .sets = { { "predelay", 9.0, 50 },
              { "predelay", 1.5, 200 }, // replaced before it takes effect
              { "predelay", 0.1, 333 },
              { "mix", 1.0, 400 },
              { "modulation", 0.2, 401 },
              { "mix", 0.0, 800 },
              { "modulation", 0.0, 1100 } },
    .most_channels = 31 },
  { .chain = "x: reverb size=0 predelay=0 mix=0.8", // lines shorter than a tile of the network
    .sets = { { "decay", 800.0, 200, 300 }, { "modulation", 1.0, 300 } },
    .most_channels = 31,
    .rate_hz = 8000.0 },
  { .chain = "x: reverb size=1 decay=60s damping=12kHz predelay=200ms modulation=0 mix=0.5",
    .sets = { { "predelay", 0.0, 700 }, { "modulation", 1.0, 900 } },
    .most_channels = 3,
    .seconds = 1.0 },
  { .chain = "x: reverb size=0 decay=60s damping=20kHz modulation=1 predelay=0 mix=1",
    .most_channels = 2,
    .seconds = 8.0 },
  { .chain = "x: reverb size=0.2 decay=20s damping=200Hz modulation=0 mix=1",
    .sets = { { "predelay", 60.0, 1000 }, { "modulation", 0.7, 1199 } },
    .least_channels = 31,
    .most_channels = 64,
    .seconds = 2.0 },
  { .chain = "x: reverb size=1 decay=100ms damping=200Hz mix=1",
    .sets = { { "decay", 3000.0, 1000 } },
    .least_channels = 3,
    .most_channels = 3,
    .seconds = 3.0 },
};

// Matrices for up to 300 inputs: all of them to 201 outputs, few of them to 70.
static float dense_rows[201U * 300U];
static float sparse_rows[70U * 300U];
static const FxFile dense = { "dense.txt", 201, 300, dense_rows, false, 0 };
static const FxFile sparse = { "sparse.txt", 70, 300, sparse_rows, false, 0 };

// Responses: for all channels, a matrix, for each of the most channels.
static float mono_samples[2500];
static float six_samples[6U * 700U];
static float each_samples[257U * 500U];
static const FxFile mono = { "mono.wav", 1, 2500, mono_samples, true, 0 };
static const FxFile six = { "six.wav", 6, 700, six_samples, true, 0 };
static const FxFile each = { "each.wav", 257, 500, each_samples, true, 0 };

// Taps for each of twelve channels, up to the limit of sums of products.
static float taps_samples[12U * 512U];
static const FxFile taps = { "taps.wav", 12, 512, taps_samples, true, 0 };

static const RackRigFile files[] = { { "dense.txt", &dense }, { "sparse.txt", &sparse },
                                     { "mono.wav", &mono },   { "six.wav", &six },
                                     { "each.wav", &each },   { "taps.wav", &taps } };

#define MOST_CASES 128U
static EffectCase cases[MOST_CASES]; ///< [n_cases] All special_cases, and plain ones
static size_t n_cases;

const FxInfo*
effect_case_fx(const EffectCase* const effect_case)
{
  return rack_rig_effect(effect_case->chain, "x");
}

/// The effect with default parameters; each parameter that may change moves a quarter of the way
/// to an end of its range, and the next one towards the other end.
static void
plain_case(const FxInfo* const fx, void* const to)
{
  EffectCase plain = { .chain = NULL };
  uint32_t n_sets = 0;
  for (uint32_t p = 0; p < fx_own_params(fx) && n_sets < MOST_SETS; ++p) {
    const FxParam* const param = &fx->params[p];
    double ends[2];
    if (!param->structural && fx_param_range(param, &ends[0], &ends[1])) {
      const double way = (ends[n_sets % 2U] - param->initial) / 4.0;
      const bool is_whole = param->kind != PARAM_NUMBER;
      plain.sets[n_sets] =
          (EffectSet){ .param = param->id,
                       .value = param->initial + (is_whole ? copysign(ceil(fabs(way)), way) : way),
                       .frame = 200U + 100U * n_sets };
      ++n_sets;
    }
  }
  ck_assert_int_gt(asprintf((char**)&plain.chain, "x: %s", fx->name), 0);
  *(EffectCase*)to = plain;
}

/// At least one case for each effect with a kernel.
static void
make_cases(void)
{
  if (n_cases == 0U) { // the tests share one process
    n_cases = rack_rig_cases(special_cases, ARRAY_LEN(special_cases), sizeof(EffectCase),
                             plain_case, cases, MOST_CASES);
  }
}

/// Noise of at most 0.1.  In the sparse one, a tile of eight rows uses two neighbours of every
/// fifty columns, except for one such pair; the last tile uses no input.
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
    const bool has_output = column % 50U < 2U && row / 8U != column / 50U && row < 64U;
    sparse_rows[i] *= has_output ? 0.1F : 0.0F;
  }
}

/// Noise, a third of unit energy in each response and each filter: an output of the matrix is the
/// sum of three.
static void
make_responses(void)
{
  static const struct {
    float* samples;
    const FxFile* file;
  } all[] = {
    { mono_samples, &mono }, { six_samples, &six }, { each_samples, &each }, { taps_samples, &taps }
  };
  for (size_t r = 0; r < ARRAY_LEN(all); ++r) {
    const size_t n = all[r].file->n_channels * all[r].file->n_frames;
    signal_noise(all[r].samples, n, 3U + r);
    for (size_t i = 0; i < n; ++i) { // noise has a mean square of 1/3
      all[r].samples[i] /= sqrtf((float)all[r].file->n_frames);
    }
  }
}

const EffectCase*
effect_cases(size_t* const n)
{
  make_cases();
  *n = n_cases;
  return cases;
}

const RackRigFile*
effect_case_files(uint32_t* const n_files)
{
  make_matrices();
  make_responses();
  *n_files = ARRAY_LEN(files);
  return files;
}
