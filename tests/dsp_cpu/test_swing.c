// SPDX-License-Identifier: GPL-3.0-or-later
// Sines and swings in integers follow those in double precision, also after ten weeks.

#include "dsp_cpu/shared/swing.h"
#include "engine/base/status.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>

#define SIZE_BOUND  (4.0 / 2147483648.0)
#define FLOAT_BOUND (SIZE_BOUND + 0x1p-25) // plus half a unit in the last place below 1

static const double turn = 4294967296.0;

/// Difference of two angles, in turns.
static double
apart(const double a, const double b)
{
  return fabs(remainder(a - b, 1.0));
}

TEST(a_sine_is_off_by_less_than_four_units)
{
  double worst_size = 0.0;
  double worst = 0.0;
  for (uint64_t t = 0; t < UINT64_C(1) << 32U; t += 4093U) {
    const double sine = sin(2.0 * M_PI * (double)t / turn);
    const double size = (double)sine_size((uint32_t)t) / 2147483648.0;
    worst_size = fmax(worst_size, fabs(fabs(sine) - size));
    worst = fmax(worst, fabs(sine - (double)sine_of((uint32_t)t)));
  }
  ck_assert_double_lt(worst_size, SIZE_BOUND);
  ck_assert_double_lt(worst, FLOAT_BOUND);
}

TEST(quarters_of_a_turn_are_exact)
{
  ck_assert(sine_of(0U) == 0.0F && sine_of(0x80000000U) == 0.0F);
  ck_assert_uint_eq(sine_size(0x40000000U), 0x80000000U); // one unit more would amplify
  ck_assert(sine_of(0x40000000U) == 1.0F && sine_of(0xC0000000U) == -1.0F);
}

TEST(an_angle_has_the_sign_of_depth_times_sine)
{
  uint64_t random = 1;
  for (uint32_t n = 0; n < 200000U; ++n) {
    const uint32_t phase = (uint32_t)signal_random(&random);
    const float depth = (float)((double)signal_random(&random) / 0x1p64 * 1.98 - 0.99);
    const double angle = (double)depth * sin(2.0 * M_PI * phase / turn);
    ck_assert_double_lt(apart(swing_angle(depth, phase) / turn, angle), SIZE_BOUND);
  }
}

TEST(a_phase_loses_nothing_in_ten_weeks)
{
  // A step of 32 frames at 48 kHz and half a hertz, a fraction that a double cannot represent.
  const uint64_t step = UINT64_MAX / 3000U;
  const uint64_t count = UINT64_C(10) * 7U * 24U * 3600U * 1500U;
  const uint64_t start = UINT64_C(0x9E3779B97F4A7C15);
  const double expected = (double)start / 0x1p64 + (double)(count % 3000U) / 3000.0;
  // The step is less than 1/3000 by at most 2^-64; the error adds up `count` times.
  const double bound = (double)count / 0x1p64 + 1.0 / turn;
  ck_assert_double_lt(apart(swing_phase(step, start, count) / turn, expected), bound);
  ck_assert_double_lt(bound, 1e-9);
}

int
main(void)
{
  return suite_run("swing");
}
