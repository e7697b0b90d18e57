// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Slow oscillation in integers: an angle of `depth` turns times the sine of a phase, and its
   cosine and sine.  For kernels, which have no double precision: the result has the same bits on
   every device, and the phase stays exact for weeks.

   A turn is 2^32 (or 2^64 for an accumulated phase), so that integer overflow removes full turns.

   Method: sin(pi/2 x) on [0, 1] by the minimax odd polynomial of degree 11, with an error of at
   most
   1.4e-11, in fixed point with 31 fraction bits.  With rounding, the error of sine_size() is below
   4 * 2^-31.
*/
#ifndef WARPRACK_DSP_CPU_SHARED_SWING_H
#define WARPRACK_DSP_CPU_SHARED_SWING_H

#include <stdint.h>

#ifndef SWING_FUNCTION // kernels include this file too
#define SWING_FUNCTION static inline
#endif

/// a b / 2^31
SWING_FUNCTION uint32_t
swing_product(const uint32_t a, const uint32_t b)
{
  return (uint32_t)((uint64_t)a * b >> 31U);
}

/// |sin| of an angle, times 2^31.
SWING_FUNCTION uint32_t
sine_size(const uint32_t turns)
{
  const uint32_t place = turns << 1U;                          // within half a turn
  const uint32_t x = place > 0x80000000U ? 0U - place : place; // 2^31 is a quarter
  const uint32_t xx = swing_product(x, x);
  uint32_t sum = 7341U;
  sum = 344064U - swing_product(xx, sum);
  sum = 10053703U - swing_product(xx, sum);
  sum = 171138528U - swing_product(xx, sum);
  sum = 1387197326U - swing_product(xx, sum);
  sum = 3373259426U - swing_product(xx, sum);
  return swing_product(x, sum);
}

/// The sine of an angle; sine(angle + 2^30), a quarter turn more, is the cosine.
SWING_FUNCTION float
sine_of(const uint32_t turns)
{
  const float size = (float)sine_size(turns) * 4.6566128730773926e-10F; // 2^-31
  return turns >> 31U ? -size : size;
}

/// The phase, in 2^-32 turns, after `count` steps.  step, start: 2^-64 turns.
SWING_FUNCTION uint32_t
swing_phase(const uint64_t step, const uint64_t start, const uint64_t count)
{
  return (uint32_t)((start + step * count) >> 32U);
}

/// The angle of a swing, in 2^-32 turns.  depth: turns, |depth| < 1.
SWING_FUNCTION uint32_t
swing_angle(const float depth, const uint32_t phase)
{
  const uint32_t is_below = depth < 0.0F;
  const float size = (is_below ? -depth : depth) * 4294967296.0F;
  const uint32_t angle = swing_product((uint32_t)size, sine_size(phase));
  return is_below != phase >> 31U ? 0U - angle : angle;
}

#endif
