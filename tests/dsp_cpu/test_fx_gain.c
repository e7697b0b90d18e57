// SPDX-License-Identifier: GPL-3.0-or-later
// gain multiplies by the given decibels, is exactly silent at its minimum, and ramps without a
// click.

#include "tests/support/fx_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE   48000.0
#define FRAMES 9600U

static float in[FRAMES];
static float out[FRAMES];
static const float* const ins[] = { in };
static float* const outs[] = { out };

TEST(gain_is_in_decibels)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "gain", RATE, 1, 64, SET("gain", -6.0));
  signal_noise(in, FRAMES, 1);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert_double_eq_tol(out[i], in[i] * pow(10.0, -6.0 / 20.0), rig.fx->tolerance);
  }
}

TEST(the_bottom_of_the_range_is_silence)
{
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "gain", RATE, 1, 64, SET("gain", -120.0));
  signal_noise(in, FRAMES, 1);
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  for (uint32_t i = 0; i < FRAMES; ++i) {
    ck_assert(out[i] == 0.0F);
  }
}

TEST(a_change_does_not_click_and_does_not_depend_on_the_split)
{
  static float reference[FRAMES];
  signal_sine(in, FRAMES, 1000.0, RATE, 0.5, 0.0);
  for (int split = RIG_BLOCKS; split <= RIG_SINGLE; ++split) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "gain", RATE, 1, 64, SET("gain", -20.0));
    rig_run(&rig, ins, outs, FRAMES / 2U, (RigSplit)split, 7);
    rig_set(&rig, "gain", 0.0);
    const float* const in_late[] = { in + FRAMES / 2U };
    float* const out_late[] = { out + FRAMES / 2U };
    rig_run(&rig, in_late, out_late, FRAMES / 2U, (RigSplit)split, 8);
    ck_assert_double_le(max_second_difference(out, FRAMES),
                        1.05 * max_second_difference(in, FRAMES));
    ck_assert_double_eq_tol(out[FRAMES - 1U], in[FRAMES - 1U], rig.fx->tolerance);
    if (split == RIG_BLOCKS) {
      memcpy(reference, out, sizeof(out));
    } else {
      ck_assert_double_le(max_difference(out, reference, FRAMES, NULL), 0.0);
    }
  }
}

SUITE_MAIN("gain")
