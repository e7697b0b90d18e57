// SPDX-License-Identifier: GPL-3.0-or-later
// The output of a guard is finite, without denormals and within the ceiling; samples below the knee
// pass bit for bit; above the knee the curve is that of guard.h, smooth and monotone.

#include "engine/base/rt.h"
#include "engine/contract/guard.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <float.h>
#include <math.h>
#include <string.h>
#include <time.h>

static const double ceilings_db[] = { -60.0, -12.0, -0.3, 0.0, 6.0, 24.0 };

static float
amplitude(const double db)
{
  return (float)pow(10.0, db / 20.0);
}

static float
limit(const float x, const GuardCurve* const curve)
{
  float y = 99.0F;
  guard_limit(&y, &x, 1, curve);
  return y;
}

/// The curve as defined in guard.h.
static double
reference(const double x, const double ceiling)
{
  const double knee = ceiling * pow(10.0, -0.5 / 20.0);
  const double top = 2.0 * ceiling - knee;
  const double magnitude = fabs(x);
  const double y = magnitude <= knee ? magnitude
                   : magnitude >= top
                       ? ceiling
                       : ceiling - (top - magnitude) * (top - magnitude) / (4.0 * (ceiling - knee));
  return copysign(y, x);
}

TEST(below_the_knee_samples_pass_to_the_bit)
{
  const GuardCurve curve = guard_curve(amplitude(-0.3));
  float in[4096];
  float out[ARRAY_LEN(in)];
  signal_noise(in, ARRAY_LEN(in), 1);
  for (uint32_t i = 0; i < ARRAY_LEN(in); ++i) {
    in[i] *= amplitude(-1.0); // the range that a limiter at -1 dB leaves
  }
  in[0] = amplitude(-1.0);
  in[1] = -amplitude(-1.0);
  in[2] = amplitude(-0.81);
  in[3] = FLT_MIN;
  in[4] = -FLT_MIN;
  in[5] = 0.0F;
  in[6] = -0.0F;
  const GuardCounts counts = guard_limit(out, in, ARRAY_LEN(in), &curve);
  ck_assert(memcmp(in, out, sizeof(in)) == 0);
  ck_assert_uint_eq(counts.bad + counts.denormal + counts.bent + counts.full, 0);
  ck_assert(counts.peak == amplitude(-0.81));
}

TEST(the_curve_is_the_documented_one)
{
  for (uint32_t d = 0; d < ARRAY_LEN(ceilings_db); ++d) {
    const float ceiling = amplitude(ceilings_db[d]);
    const GuardCurve curve = guard_curve(ceiling);
    for (uint32_t k = 0; k <= 40000U; ++k) {
      const float x = ((float)k / 20000.0F - 1.0F) * 2.0F * ceiling;
      const float y = limit(x, &curve);
      // The knee is rounded to a float, which moves the curve by 1e-7 of the ceiling.
      if (!(fabs((double)y - reference((double)x, (double)ceiling)) <= 3e-7 * (double)ceiling)) {
        ck_abort_msg("ceiling %g: input %.9g gives %.9g", (double)ceiling, (double)x, (double)y);
      }
    }
  }
}

TEST(the_curve_is_monotone_and_never_above_the_ceiling)
{
  for (uint32_t d = 0; d < ARRAY_LEN(ceilings_db); ++d) {
    const float ceiling = amplitude(ceilings_db[d]);
    const GuardCurve curve = guard_curve(ceiling);
    float before = limit(nextafterf(curve.knee, 0.0F), &curve);
    for (float x = curve.knee; x <= curve.top * 1.0001F; x = nextafterf(x, INFINITY)) { // every one
      const float y = limit(x, &curve);
      if (!(y >= before && y <= ceiling && limit(-x, &curve) == -y)) {
        ck_abort_msg("ceiling %g: input %.9g gives %.9g, the input before it %.9g", (double)ceiling,
                     (double)x, (double)y, (double)before);
      }
      before = y;
    }
    ck_assert(before == ceiling);
    ck_assert(limit(FLT_MAX, &curve) == ceiling);
    ck_assert(limit(-FLT_MAX, &curve) == -ceiling);
  }
}

TEST(the_curve_has_no_corner)
{
  const GuardCurve curve = guard_curve(amplitude(-0.3));
  const double width = (double)curve.top - (double)curve.knee;
  const double step = width / 1000.0;
  double slope_before = 1.0;
  for (uint32_t k = 0; k < 1100U; ++k) {
    const double x = (double)curve.knee + k * step;
    const double slope =
        ((double)limit((float)(x + step), &curve) - (double)limit((float)x, &curve)) / step;
    // From 1 to 0 in a straight line of 1000 steps; a float is good for 1e-3 of such a step.
    ck_assert_double_eq_tol(slope, slope_before, 1e-3 + 4e-3);
    slope_before = slope;
  }
  ck_assert_double_eq_tol(slope_before, 0.0, 1e-9);
}

TEST(nan_and_denormals_become_0_on_any_thread)
{
  static const float in[] = { 0.5F,     NAN,     -NAN,    INFINITY,       -INFINITY,
                              1e-40F,   -1e-45F, 1.0F,    FLT_MIN / 2.0F, FLT_MIN,
                              -FLT_MIN, -0.0F,   FLT_MAX, 0.0F,           -0.5F };
  static const float clean[] = { 0.5F, 0.0F,    0.0F,     0.0F,  0.0F,    0.0F, 0.0F, 1.0F,
                                 0.0F, FLT_MIN, -FLT_MIN, -0.0F, FLT_MAX, 0.0F, -0.5F };
  const GuardCurve none = guard_curve(0.0F);
  for (int flushes = 0; flushes <= 1; ++flushes) {
    float out[ARRAY_LEN(in)];
    GuardCounts counts = guard_clean(out, in, ARRAY_LEN(in));
    ck_assert(memcmp(out, clean, sizeof(clean)) == 0);
    ck_assert_uint_eq(counts.bad, 4);
    ck_assert_uint_eq(counts.denormal, 3);
    ck_assert(counts.peak == FLT_MAX);
    counts = guard_limit(out, in, ARRAY_LEN(in), &none); // without a ceiling
    ck_assert(memcmp(out, clean, sizeof(clean)) == 0);
    ck_assert_uint_eq(counts.bad, 4);
    ck_assert_uint_eq(counts.bent + counts.full, 0);
    rt_flush_denormals();
  }
}

TEST(limited_samples_and_samples_at_the_ceiling_are_counted)
{
  const GuardCurve curve = guard_curve(1.0F);
  const float in[] = { 0.9F, curve.knee, nextafterf(curve.knee, 2.0F), -1.0F, curve.top, -5.0F,
                       NAN,  INFINITY };
  float out[ARRAY_LEN(in)];
  const GuardCounts counts = guard_limit(out, in, ARRAY_LEN(in), &curve);
  ck_assert_uint_eq(counts.bad, 2);
  ck_assert_uint_eq(counts.bent, 4);
  ck_assert_uint_eq(counts.full, 2);
  ck_assert(counts.peak == 5.0F);
  ck_assert(out[4] == 1.0F && out[5] == -1.0F && out[6] == 0.0F && out[7] == 0.0F);
}

TEST(any_length_gives_the_same_result)
{
  const GuardCurve curve = guard_curve(0.5F);
  float in[67];
  signal_noise(in, ARRAY_LEN(in), 3);
  for (uint32_t n = 0; n <= ARRAY_LEN(in); ++n) {
    float out[ARRAY_LEN(in) + 1U];
    out[n] = 77.0F;
    guard_limit(out, in, n, &curve);
    for (uint32_t i = 0; i < n; ++i) {
      ck_assert(out[i] == limit(in[i], &curve));
    }
    ck_assert(out[n] == 77.0F);
  }
}

TEST(the_peak_is_the_largest_magnitude)
{
  float in[9] = { 0.0F };
  ck_assert(guard_peak(in, 9) == 0.0F);
  for (uint32_t i = 0; i < ARRAY_LEN(in); ++i) { // each place, with either sign, can hold the peak
    in[i] = (i % 2U ? -1.0F : 1.0F) * (float)(i + 1U);
    ck_assert(guard_peak(in, 9) == (float)(i + 1U));
    ck_assert(guard_peak(in, i) == (float)i);
  }
}

TEST(the_output_is_measured_in_the_same_pass)
{
  const GuardCurve curve = guard_curve(0.5F);
  float in[67];
  float out[ARRAY_LEN(in)];
  signal_noise(in, ARRAY_LEN(in), 7); // half of it above the ceiling
  in[5] = NAN;
  in[9] = 1e-40F;
  in[11] = -3.0F;
  for (uint32_t n = 0; n <= ARRAY_LEN(in); ++n) {
    const GuardCounts limited = guard_limit(out, in, n, &curve);
    ck_assert(limited.out.peak == guard_peak(out, n));
    ck_assert_double_eq_tol(limited.out.energy, guard_energy(out, n), 1e-5);
    const GuardCounts clean = guard_measure(out, in, n);
    ck_assert(clean.peak == guard_peak(out, n) && clean.out.peak == clean.peak);
    ck_assert_double_eq_tol(clean.out.energy, guard_energy(out, n), 1e-4);
  }
}

TEST(the_energy_of_a_long_block_is_exact_to_a_thousandth_of_a_decibel)
{
  static float in[8192];
  static float out[ARRAY_LEN(in)];
  signal_noise(in, ARRAY_LEN(in), 8);
  const double energy = guard_measure(out, in, ARRAY_LEN(in)).out.energy;
  ck_assert_double_eq_tol(10.0 * log10(energy / guard_energy(in, ARRAY_LEN(in))), 0.0, 1e-3);
}

/// The shortest of several times of a guard, in seconds of this thread.
static double
time_of(GuardCounts (*const guard)(float* restrict, const float* restrict, uint32_t))
{
  static float in[1024];
  static float out[ARRAY_LEN(in)];
  double least_s = INFINITY;
  for (uint32_t i = 0; i < 200U; ++i) {
    struct timespec began;
    struct timespec ended;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
    for (uint32_t r = 0; r < 16U; ++r) {
      guard(out, in, ARRAY_LEN(in));
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    least_s = fmin(least_s, (double)(ended.tv_sec - began.tv_sec) +
                                1e-9 * (double)(ended.tv_nsec - began.tv_nsec));
  }
  return least_s;
}

TEST(measuring_costs_little_more_than_cleaning)
{
  const double measure_s = time_of(guard_measure);
  const double clean_s = time_of(guard_clean);
  ck_assert_msg(measure_s < 4.0 * clean_s, "%g s, %g s", measure_s, clean_s); // 10 without vectors
}

SUITE_MAIN("guard")
