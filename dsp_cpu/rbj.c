// SPDX-License-Identifier: GPL-3.0-or-later
// The cookbook's prototypes; see rbj.h.

#include "rbj.h"

#include <math.h>

/// The cookbook's A: the square root of the linear gain.
static double
root_gain(const double gain_db)
{
  return pow(10.0, gain_db / 40.0);
}

/// Move (b2 s^2 + b1 s + b0) / (a2 s^2 + a1 s + a0), given for 1 rad/s, to a frequency.
static Section
at_frequency(const double b2, const double b1, const double b0, const double a2, const double a1,
             const double a0, const double frequency_hz, const double rate_hz)
{
  const double w = section_warp(frequency_hz, rate_hz);
  return (Section){ .b2 = b2 / a2,
                    .b1 = b1 / a2 * w,
                    .b0 = b0 / a2 * w * w,
                    .a1 = a1 / a2 * w,
                    .a0 = a0 / a2 * w * w };
}

Section
rbj_peaking(const double frequency_hz, const double gain_db, const double q, const double rate_hz)
{
  const double a = root_gain(gain_db);
  return at_frequency(1.0, a / q, 1.0, 1.0, 1.0 / (a * q), 1.0, frequency_hz, rate_hz);
}

Section
rbj_lowshelf(const double frequency_hz, const double gain_db, const double q, const double rate_hz)
{
  const double a = root_gain(gain_db);
  const double slope = sqrt(a) / q;
  return at_frequency(a, a * slope, a * a, a, slope, 1.0, frequency_hz, rate_hz);
}

Section
rbj_highshelf(const double frequency_hz, const double gain_db, const double q, const double rate_hz)
{
  const double a = root_gain(gain_db);
  const double slope = sqrt(a) / q;
  return at_frequency(a * a, a * slope, a, 1.0, slope, a, frequency_hz, rate_hz);
}

Section
rbj_notch(const double frequency_hz, const double q, const double rate_hz)
{
  return at_frequency(1.0, 0.0, 1.0, 1.0, 1.0 / q, 1.0, frequency_hz, rate_hz);
}

Section
rbj_allpass(const double frequency_hz, const double q, const double rate_hz)
{
  return at_frequency(1.0, -1.0 / q, 1.0, 1.0, 1.0 / q, 1.0, frequency_hz, rate_hz);
}
