// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Decibels and back, fast enough for every sample: plain arithmetic that compilers vectorise.

   Method: range reduction on the exponent bits, then a truncated series whose remainder is known:
     log2(m) = 2/ln 2 artanh t, t = (m-1)/(m+1); |t| <= 0.1716 for m in [1/sqrt 2, sqrt 2], and
               the first term left out, t^11/11, is below 4e-10;
     2^f     = exp(f ln 2), |f ln 2| <= 0.3466; the first term left out, x^8/8!, is below 6e-9.
   So single precision decides: errors below 4e-5 dB at levels up to 300 dB, below 1e-6 of a gain up
   to 60 dB (tests/dsp_cpu/test_decibel.c measures both).
*/
#ifndef WARPRACK_DSP_CPU_SHARED_DECIBEL_H
#define WARPRACK_DSP_CPU_SHARED_DECIBEL_H

#include <stdint.h>
#include <string.h>

#define DECIBEL_FLOOR (-300.0F) // the level of silence

#ifndef DECIBEL_FUNCTION // kernels include this file too, and define these macros differently
#define DECIBEL_FUNCTION static inline

static inline uint32_t
float_bits(const float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}

static inline float
float_from_bits(const uint32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}
#endif

/// 10 log10(power) for power >= 0, DECIBEL_FLOOR and up.
DECIBEL_FUNCTION float
decibel_from_power(const float power)
{
  const float x = power > 1e-30F ? power : 1e-30F;
  // Exponent of the power of two whose logarithm is nearest: adding the distance from sqrt 1/2 to 1
  // increments the exponent of numbers with a mantissa above sqrt 2.
  const int32_t exponent = (int32_t)((float_bits(x) + (0x3F800000U - 0x3F3504F3U)) >> 23U) - 127;
  const float m = float_from_bits(float_bits(x) - ((uint32_t)exponent << 23U));
  const float t = (m - 1.0F) / (m + 1.0F);
  const float t2 = t * t;
  const float series =
      1.0F + t2 * (1.0F / 3.0F + t2 * (1.0F / 5.0F + t2 * (1.0F / 7.0F + t2 * (1.0F / 9.0F))));
  return 3.01029996F * (float)exponent + 8.68588964F * t * series; // 10 log10 2, 20 / ln 10
}

/// 10^(decibels / 20), for decibels in [-700, 700].
DECIBEL_FUNCTION float
gain_from_decibel(const float decibels)
{
  const float x = decibels * 0.166096405F;             // log2(10) / 20
  const float whole = (x + 12582912.0F) - 12582912.0F; // nearest integer: 1.5 * 2^23
  const float y = (x - whole) * 0.693147181F;
  const float series =
      1.0F +
      y * (1.0F + y * (1.0F / 2.0F +
                       y * (1.0F / 6.0F + y * (1.0F / 24.0F +
                                               y * (1.0F / 120.0F +
                                                    y * (1.0F / 720.0F + y * (1.0F / 5040.0F)))))));
  return series * float_from_bits((uint32_t)((int32_t)whole + 127) << 23U);
}

#endif
