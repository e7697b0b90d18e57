// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The network follows a double-precision model written with its matrices
  (tests/data/make_reverb.py); RT60 by Schroeder integration is `decay`, at `damping` Hz half of it;
  the level does not depend on size, decay and width; outputs are uncorrelated; echoes are dense;
  nothing makes it unstable.
*/

#include "tests/support/fx_checks.h"
#include "tests/support/fx_rig.h"
#include "tests/support/reference.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE   48000.0
#define FRAMES 14400U

static void
run(FxRig* const rig, float* const* const in, float* const* const out, const uint32_t n_frames)
{
  rig_run(rig, (const float* const*)in, out, n_frames, RIG_BLOCKS, 0);
}

static void
run_part(FxRig* const rig, float* const* const in, float* const* const out, const uint32_t first,
         const uint32_t end)
{
  const float* const source[] = { in[0] + first, in[1] + first };
  float* const sink[] = { out[0] + first, out[1] + first };
  rig_run(rig, source, sink, end - first, RIG_BLOCKS, 0);
}

/// Response of all channels to an impulse in the first, wet only.  Frees the rig; the caller frees
/// the response.
static float**
impulse_response(FxRig* const rig, const uint32_t n_frames)
{
  float** const in = planar_silence(rig->n_in, n_frames);
  float** const out = planar_silence(rig->n_in, n_frames);
  in[0][0] = 1.0F;
  run(rig, in, out, n_frames);
  free(in);
  rig_free(rig);
  return out;
}

static double
energy(const float* const x, const uint32_t n_frames)
{
  double sum = 0.0;
  for (uint32_t i = 0; i < n_frames; ++i) {
    sum += (double)x[i] * (double)x[i];
  }
  return sum;
}

/// RT60 in frames: slope of the backward integral (M. R. Schroeder, "New Method of Measuring
/// Reverberation Time", JASA 37, 1965) between -5 and -45 dB, by least squares.
static double
rt60(const double* const power, const uint32_t n_frames)
{
  SCOPED_MEMORY double* const left = calloc(n_frames + 1U, sizeof(double));
  for (uint32_t i = n_frames; i > 0U; --i) {
    left[i - 1U] = left[i] + power[i - 1U];
  }
  double n = 0.0, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
  for (uint32_t i = 0; i < n_frames; ++i) {
    const double level = 0.5 * decibels(left[i] / left[0]);
    if (level < -5.0 && level > -45.0) {
      n += 1.0;
      x += i;
      y += level;
      xx += (double)i * i;
      xy += i * level;
    }
  }
  return -60.0 * (n * xx - x * x) / (n * xy - x * y);
}

static double
rt60_of(const float* const h, const uint32_t n_frames)
{
  SCOPED_MEMORY double* const power = calloc(n_frames, sizeof(double));
  for (uint32_t i = 0; i < n_frames; ++i) {
    power[i] = (double)h[i] * (double)h[i];
  }
  const double result = rt60(power, n_frames);
  return result;
}

/// RT60 in a band of about 300 Hz: the band is shifted to 0 Hz and filtered with four poles.
static double
rt60_at(const float* const h, const uint32_t n_frames, const double frequency_hz)
{
  SCOPED_MEMORY double* const power = calloc(n_frames, sizeof(double));
  const double pole = exp(-2.0 * M_PI * 300.0 / RATE);
  double complex band[4] = { 0 };
  for (uint32_t i = 0; i < n_frames; ++i) {
    double complex x = (double)h[i] * cexp(-2.0 * M_PI * I * frequency_hz / RATE * i);
    for (uint32_t p = 0; p < ARRAY_LEN(band); ++p) {
      x = band[p] = x + pole * (band[p] - x);
    }
    power[i] = creal(x * conj(x));
  }
  const double result = rt60(power, n_frames);
  return result;
}

TEST(a_stereo_reverb_follows_the_double_precision_model)
{
  SCOPED(rig_free) FxRig rig;
  SCOPED_MEMORY float** const in = planar_noise(2, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(2, FRAMES);
  rig_new(&rig, "reverb", RATE, 2, 64, SET("size", 0.2), SET("decay", 500.0),
          SET("damping", 4000.0), SET("modulation", 0.8), SET("predelay", 5.0), SET("mix", 0.7));
  run_part(&rig, in, out, 0, FRAMES / 2U);
  rig_set(&rig, "decay", 3000.0);
  run_part(&rig, in, out, FRAMES / 2U, FRAMES);
  ck_assert_double_lt(reference_difference("reverb_stereo", out, 2, FRAMES), 1e-6);
}

TEST(a_reverb_of_the_greatest_width_follows_it_too)
{
  SCOPED(rig_free) FxRig rig;
  SCOPED_MEMORY float** const in = planar_silence(FX_MAX_CHANNELS, FRAMES);
  SCOPED_MEMORY float** const out = planar_silence(FX_MAX_CHANNELS, FRAMES);
  for (uint32_t group = 0; group < FX_MAX_CHANNELS / 16U; ++group) {
    signal_noise(in[16U * group + group % 16U], FRAMES, 1U + group);
  }
  rig_new(&rig, "reverb", RATE, FX_MAX_CHANNELS, 64, SET("size", 0.0), SET("decay", 1000.0),
          SET("damping", 8000.0), SET("modulation", 0.0), SET("predelay", 0.0), SET("mix", 1.0));
  run(&rig, in, out, FRAMES);
  float* const kept[] = { out[0], out[85], out[600], out[1023] };
  ck_assert_double_lt(reference_difference("reverb_many", kept, 4, FRAMES), 1e-6);
}

TEST(rt60_is_the_decay_at_every_size_and_rate)
{
  static const double rates[] = { 44100.0, 48000.0, 96000.0, 192000.0 };
  static const double sizes[] = { 0.0, 0.4, 0.7, 1.0 };
  static const double decays_ms[] = { 500.0, 1500.0 };
  for (size_t k = 0; k < 32; ++k) {
    const double rate = rates[k / 8U];
    const double decay = decays_ms[k % 2U];
    FxRig rig;
    rig_new(&rig, "reverb", rate, 1, 256, SET("size", sizes[k / 2U % 4U]), SET("decay", decay),
            SET("damping", 20000.0), SET("modulation", k % 3U ? 1.0 : 0.0), SET("mix", 1.0));
    const uint32_t n_frames = (uint32_t)(rate * (decay * 1.2e-3 + 0.1));
    SCOPED_MEMORY float** const h = impulse_response(&rig, n_frames);
    const double measured = rt60_of(h[0], n_frames) / rate * 1000.0;
    ck_assert_msg(fabs(measured / decay - 1.0) < 0.02, "%g Hz, size %g, decay %g ms: %g ms", rate,
                  sizes[k / 2U % 4U], decay, measured);
  }
}

TEST(the_decay_is_half_at_the_damping_frequency)
{
  static const double dampings_hz[] = { 1500.0, 4000.0, 10000.0 };
  for (size_t d = 0; d < ARRAY_LEN(dampings_hz); ++d) {
    FxRig rig;
    rig_new(&rig, "reverb", RATE, 1, 64, SET("decay", 2000.0), SET("damping", dampings_hz[d]),
            SET("mix", 1.0));
    const uint32_t n_frames = 120000;
    SCOPED_MEMORY float** const h = impulse_response(&rig, n_frames);
    const double half = rt60_at(h[0], n_frames, dampings_hz[d]) / RATE;
    ck_assert_msg(fabs(half - 1.0) < 0.1, "%g Hz: %g s", dampings_hz[d], half); // RT60 of the band
    ck_assert_double_eq_tol(rt60_at(h[0], n_frames, 60.0) / RATE, 2.0, 0.2);
  }
}

TEST(the_level_depends_on_neither_size_nor_decay_nor_width)
{
  static const double sizes[] = { 0.0, 0.7, 1.0 };
  static const double decays_ms[] = { 100.0, 1000.0, 4000.0 };
  static const uint32_t widths[] = { 1, 2, 20 };
  for (size_t k = 0; k < 27; ++k) {
    const uint32_t n = widths[k % 3U];
    const uint32_t n_frames = (uint32_t)(decays_ms[k / 9U] * 48.0) + 20000U;
    FxRig rig;
    rig_new(&rig, "reverb", RATE, n, 256, SET("size", sizes[k / 3U % 3U]),
            SET("decay", decays_ms[k / 9U]), SET("damping", 20000.0), SET("mix", 1.0));
    SCOPED_MEMORY float** const h = impulse_response(&rig, n_frames);
    double total = 0.0;
    for (uint32_t c = 0; c < n; ++c) {
      total += energy(h[c], n_frames);
    }
    ck_assert_msg(fabs(0.5 * decibels(total)) < 0.6, "size %g, decay %g, %u wide: %g dB",
                  sizes[k / 3U % 3U], decays_ms[k / 9U], n, 0.5 * decibels(total));
  }
}

TEST(outputs_are_uncorrelated)
{
  FxRig rig;
  rig_new(&rig, "reverb", RATE, 40, 64, SET("mix", 1.0));
  const uint32_t n_frames = 48000;
  SCOPED_MEMORY float** const h = impulse_response(&rig, n_frames);
  for (uint32_t a = 0; a < 40; ++a) {
    for (uint32_t b = 0; b < a; ++b) {
      double product = 0.0;
      for (uint32_t i = 0; i < n_frames; ++i) {
        product += (double)h[a][i] * (double)h[b][i];
      }
      product /= sqrt(energy(h[a], n_frames) * energy(h[b], n_frames));
      ck_assert_msg(fabs(product) < (a / 16U == b / 16U ? 0.15 : 0.6), "%u and %u: %g", a, b,
                    product);
    }
  }
}

TEST(the_default_is_dense_as_noise_within_a_tenth_of_a_second)
{
  FxRig rig;
  rig_new(&rig, "reverb", RATE, 1, 64, SET("mix", 1.0));
  const uint32_t n_frames = 24000;
  const uint32_t window = 1920; // 40 ms
  SCOPED_MEMORY float** const h = impulse_response(&rig, n_frames);
  for (uint32_t first = 4800; first + window <= n_frames; first += window / 2U) {
    // Gaussian noise has 31.7 % of its samples beyond one standard deviation (J. S. Abel,
    // P. Huang, "A Simple, Robust Measure of Reverberation Echo Density", AES 121, 2006).
    const double deviation = sqrt(energy(h[0] + first, window) / window);
    uint32_t n_beyond = 0;
    for (uint32_t i = first; i < first + window; ++i) {
      n_beyond += fabs((double)h[0][i]) > deviation;
    }
    const double density = n_beyond / (0.3173 * window);
    ck_assert_msg(density > 0.8 && density < 1.2, "%g at frame %u", density, first);
  }
}

TEST(it_begins_after_the_predelay_and_ends_with_the_tail)
{
  FxRig rig;
  rig_new(&rig, "reverb", RATE, 1, 64, SET("size", 0.0), SET("decay", 200.0),
          SET("damping", 20000.0), SET("predelay", 100.0), SET("mix", 1.0));
  const uint64_t tail = rig.fx->tail(rig.node);
  ck_assert_uint_ge(tail, 4800U + 19200U);
  ck_assert_uint_lt(tail, 4800U + 19200U + 2000U);
  const uint32_t n_frames = (uint32_t)tail + 4800U;
  SCOPED_MEMORY float** const h = impulse_response(&rig, n_frames);
  uint32_t first = 0;
  while (h[0][first] == 0.0F) {
    ++first;
  }
  ck_assert_uint_ge(first, 4800U + 290U); // the shortest line of size 0
  ck_assert_uint_lt(first, 4800U + 600U);
  const double after = sqrt(energy(h[0] + tail, 4800) / energy(h[0], n_frames));
  ck_assert_double_lt(decibels(after), -120.0);
  ck_assert_double_gt(decibels(sqrt(energy(h[0] + tail - 4800, 4800) / energy(h[0], n_frames))),
                      -135.0); // the tail is not much too long
}

TEST(the_longest_decay_at_every_extreme_only_decays)
{
  static const double ends[][2] = { { 0.0, 1.0 }, { 200.0, 20000.0 }, { 0.0, 1.0 } };
  SCOPED_MEMORY float** const in = planar_noise(2, 24000, 1, 1.0);
  SCOPED_MEMORY float** const silence = planar_silence(2, 24000);
  SCOPED_MEMORY float** const out = planar_silence(2, 24000);
  for (uint32_t k = 0; k < 8; ++k) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "reverb", RATE, 2, 256, SET("decay", 60000.0), SET("size", ends[0][k & 1U]),
            SET("damping", ends[1][k >> 1U & 1U]), SET("modulation", ends[2][k >> 2U]),
            SET("mix", 1.0));
    run(&rig, in, out, 24000);
    double last = INFINITY;
    for (uint32_t second = 0; second < 8; second += 2U) {
      for (uint32_t half = 0; half < 4; ++half) {
        run(&rig, silence, out, 24000);
      }
      const double now = energy(out[0], 24000) + energy(out[1], 24000);
      ck_assert_msg(now < 1.05 * last && now < 1e4, "%u, second %u: %g then %g", k, second, last,
                    now); // beats make it fluctuate; it falls by 2 dB in two seconds
      last = now;
    }
  }
}

TEST(a_flurry_of_changes_stays_bounded)
{
  static const struct {
    const char* id;
    double low, high;
  } params[] = { { "decay", 100.0, 60000.0 },
                 { "damping", 200.0, 20000.0 },
                 { "modulation", 0.0, 1.0 },
                 { "predelay", 0.0, 200.0 },
                 { "mix", 0.0, 1.0 } };
  SCOPED_MEMORY float** const in = planar_noise(2, 48, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(2, 48);
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "reverb", RATE, 2, 64, SET("size", 0.0));
  uint64_t random = 1;
  double peak = 0.0;
  for (uint32_t k = 0; k < 10000; ++k) { // 10 s, a change every millisecond
    const uint64_t which = signal_random(&random) % ARRAY_LEN(params);
    rig_set(&rig, params[which].id,
            signal_random(&random) % 2U ? params[which].high : params[which].low);
    run(&rig, in, out, 48);
    for (uint32_t i = 0; i < 48; ++i) {
      ck_assert(isfinite(out[0][i]) && isfinite(out[1][i]));
      peak = fmax(peak, fabs((double)out[0][i]));
    }
  }
  ck_assert_double_lt(peak, 30.0);
}

TEST(changes_do_not_click)
{
  static const struct {
    const char* id;
    double value;
  } changes[] = { { "mix", 0.0 },        { "mix", 1.0 },       { "decay", 100.0 },
                  { "decay", 60000.0 },  { "damping", 200.0 }, { "damping", 20000.0 },
                  { "modulation", 1.0 }, { "predelay", 100.0 } };
  SCOPED_MEMORY float** const in = planar_silence(2, 96000);
  SCOPED_MEMORY float** const out = planar_silence(2, 96000);
  signal_sine(in[0], 96000, 400.0, RATE, 0.5, 0.0);
  signal_sine(in[1], 96000, 400.0, RATE, 0.5, 0.0);
  for (size_t c = 0; c < ARRAY_LEN(changes); ++c) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "reverb", RATE, 2, 64, SET("decay", 1000.0), SET("modulation", 0.0),
            SET("mix", 0.5));
    run_part(&rig, in, out, 0, 48000);
    rig_set(&rig, changes[c].id, changes[c].value);
    run_part(&rig, in, out, 48000, 96000);
    for (uint32_t channel = 0; channel < 2; ++channel) {
      const double before = max_second_difference(out[channel] + 40000, 8000);
      const double after = max_second_difference(out[channel] + 60000, 36000);
      const double between = max_second_difference(out[channel] + 48000 - 2, 12000);
      ck_assert_msg(between <= 1.5 * fmax(before, after), "%s %g: %g between %g and %g",
                    changes[c].id, changes[c].value, between, before, after);
    }
  }
}

TEST(modulation_sets_in_without_corners)
{
  SCOPED_MEMORY float** const in = planar_silence(1, 144000);
  SCOPED_MEMORY float** const out = planar_silence(1, 144000);
  signal_sine(in[0], 144000, 50.0, RATE, 0.5, 0.0);
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "reverb", RATE, 1, 64, SET("decay", 1000.0), SET("modulation", 0.0),
          SET("mix", 1.0));
  run_part(&rig, in, out, 0, 72000);
  rig_set(&rig, "modulation", 1.0);
  run_part(&rig, in, out, 72000, 144000);
  const double before = max_second_difference(out[0] + 60000, 12000);
  const double after = max_second_difference(out[0] + 108000, 36000);
  const double between = max_second_difference(out[0] + 72000 - 2, 36000);
  ck_assert_msg(between <= 1.5 * fmax(before, after), "%g between %g and %g", between, before,
                after);
}

TEST(without_mix_samples_pass_unchanged)
{
  SCOPED_MEMORY float** const in = planar_noise(3, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(3, FRAMES);
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "reverb", RATE, 3, 64, SET("mix", 0.0));
  run(&rig, in, out, FRAMES);
  for (uint32_t c = 0; c < 3; ++c) {
    ck_assert_double_le(max_difference(in[c], out[c], FRAMES, NULL), 0.0);
  }
}

TEST(a_device_has_a_group_of_threads_for_each_tile_of_a_block_up_to_eight)
{
  static const uint32_t blocks[] = { 1, 64, 65, 128, 129, 512, 4096 };
  static const uint32_t tiles[] = { 1, 1, 2, 2, 3, 8, 8 };
  for (size_t b = 0; b < ARRAY_LEN(blocks); ++b) {
    SCOPED(rig_free) FxRig rig;
    FxKernelShape kernel;
    rig_new(&rig, "reverb", RATE, 80, blocks[b], SET("mix", 1.0));
    rig.fx->kernel->shape(rig.node, &kernel);
    ck_assert_uint_eq(kernel.passes[0].groups_per_unit, 2U * tiles[b]); // 64 + 16 channels
    ck_assert_uint_eq(kernel.passes[2].groups_per_unit, 5U * tiles[b]); // 16 channels each
  }
}

TEST(the_contract_holds_for_every_shape)
{
  const RigArg args[] = { SET("size", 0.1), SET("modulation", 1.0) };
  check_contract("reverb", args, ARRAY_LEN(args), "predelay", 3.0, false);
  check_contract("reverb", args, ARRAY_LEN(args), "decay", 300.0, false);
}

SUITE_MAIN("reverb")
