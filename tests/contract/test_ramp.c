// SPDX-License-Identifier: GPL-3.0-or-later
// A ramp ends exactly at its target, gives the same values frame by frame and in blocks, and can be
// limited to a range; a block call writes exactly the requested frames.

#include "engine/base/status.h"
#include "engine/contract/ramp.h"
#include "tests/support/suite.h"

#include <math.h>

#define FRAMES 100U
#define BEHIND 99.0F // value after the end of a block, which must not change

/// Ramp from 0 to 1; half way, where it is fastest, change the target to 0.5, which it passes.
static Ramp
turned_ramp(void)
{
  Ramp ramp = ramp_at(0.0F);
  ramp_aim(&ramp, 1.0F, FRAMES);
  ramp_skip(&ramp, FRAMES / 2U);
  ramp_aim(&ramp, 0.5F, FRAMES);
  return ramp;
}

TEST(a_ramp_reaches_its_target_exactly_and_rests)
{
  Ramp ramp = turned_ramp();
  float last = 0.0F;
  for (uint32_t i = 0; i < FRAMES; ++i) {
    last = ramp_next(&ramp);
  }
  ck_assert(last == 0.5F && ramp_next(&ramp) == 0.5F);
}

TEST(a_ramp_that_is_aimed_elsewhere_has_no_step_and_no_corner)
{
  // The second derivative of a ramp is at most 6 / FRAMES^2; a change of target at the highest
  // slope adds at most the same again.
  const float most = 1.1F * 6.0F / (float)(FRAMES * FRAMES);
  Ramp ramp = ramp_at(0.0F);
  float values[2U * FRAMES] = { 0.0F };
  ramp_aim(&ramp, 1.0F, FRAMES);
  for (uint32_t i = 2; i < ARRAY_LEN(values); ++i) {
    if (i == FRAMES / 2U) {
      ramp_aim(&ramp, 0.5F, FRAMES);
    }
    values[i] = ramp_next(&ramp);
    ck_assert_float_le(fabsf(values[i] - 2.0F * values[i - 1U] + values[i - 2U]), most);
  }
}

TEST(a_block_is_as_many_frames)
{
  Ramp by_frame = turned_ramp();
  Ramp by_block = turned_ramp();
  for (uint32_t n = 1; n < 20U; ++n) { // 190 frames, beyond the end
    float block[21];
    block[n] = BEHIND;
    ramp_fill(&by_block, block, n);
    for (uint32_t i = 0; i < n; ++i) {
      ck_assert_float_eq_tol(block[i], ramp_next(&by_frame), 1e-7F);
    }
    ck_assert(block[n] == BEHIND);
  }
}

TEST(every_frame_is_held_in_the_range)
{
  const float high = 0.5F;
  for (uint32_t n = 1; n <= FRAMES; ++n) {
    Ramp free_ramp = turned_ramp();
    Ramp held = turned_ramp();
    float most = 0.0F;
    for (uint32_t done = 0; done < FRAMES; done += n) {
      float values[FRAMES];
      float block[FRAMES + 1U];
      block[n] = BEHIND;
      ramp_fill(&free_ramp, values, n);
      ramp_fill_within(&held, 0.0F, high, block, n);
      for (uint32_t i = 0; i < n; ++i) {
        most = fmaxf(most, values[i]);
        ck_assert(block[i] == fminf(values[i], high));
      }
      ck_assert(block[n] == BEHIND);
    }
    ck_assert(most > high);
  }
}

SUITE_MAIN("ramp")
