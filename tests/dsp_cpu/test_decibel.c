// SPDX-License-Identifier: GPL-3.0-or-later
// The fast decibels agree with libm over their whole range, within the errors in the header.

#include "dsp_cpu/shared/decibel.h"
#include "tests/support/suite.h"

#include <math.h>

TEST(levels_agree_with_log10)
{
  for (double exponent = -29.9; exponent < 38.0; exponent += 0.00037) {
    const float power = (float)pow(10.0, exponent);
    ck_assert_double_eq_tol(decibel_from_power(power), 10.0 * log10(power), 4e-5);
  }
  for (double power = 0.49; power < 2.1; power += 1e-5) { // where the level is nearly zero
    ck_assert_double_eq_tol(decibel_from_power((float)power), 10.0 * log10((float)power), 1e-6);
  }
}

TEST(silence_is_the_floor)
{
  ck_assert_double_eq_tol(decibel_from_power(0.0F), (double)DECIBEL_FLOOR, 1e-3);
  ck_assert_double_eq_tol(decibel_from_power(1e-40F), (double)DECIBEL_FLOOR, 1e-3);
}

TEST(gains_agree_with_pow)
{
  for (double level = -700.0; level < 700.0; level += 0.0137) {
    const double exact = pow(10.0, (double)(float)level / 20.0);
    const double error = gain_from_decibel((float)level) / exact - 1.0;
    ck_assert_msg(fabs(error) < (fabs(level) < 60.0 ? 1e-6 : 1e-5), "%g dB: %g", level, error);
  }
  ck_assert(gain_from_decibel(0.0F) == 1.0F);
}

SUITE_MAIN("decibel")
