// SPDX-License-Identifier: GPL-3.0-or-later
// invert flips exactly the channels of its list, and can be switched without a click.

#include "tests/support/fx_checks.h"
#include "tests/support/fx_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

#define RATE   48000.0
#define FRAMES 4800U

TEST(the_listed_channels_are_flipped_exactly_and_the_others_pass)
{
  const struct {
    const char *list, *flipped;
  } cases[] = { { NULL, "1111" },     { "", "1111" },
                { "2", "0100" },      { "1,4", "1001" },
                { "2-3", "0110" },    { "1-4", "1111" },
                { "3,1-2", "1110" },  { " 1 , 3 - 4 ", "1011" },
                { "2,2,2-2", "0100" } };
  SCOPED_MEMORY float** const in = planar_noise(4, FRAMES, 1, 1.0);
  SCOPED_MEMORY float** const out = planar_silence(4, FRAMES);
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    SCOPED(rig_free) FxRig rig;
    rig_new(&rig, "invert", RATE, 4, 64, { .id = "channels", .text = cases[i].list });
    rig_run(&rig, (const float* const*)in, out, FRAMES, RIG_BLOCKS, 0);
    for (uint32_t c = 0; c < 4U; ++c) {
      const float sign = cases[i].flipped[c] == '1' ? -1.0F : 1.0F;
      uint32_t n_wrong = 0;
      for (uint32_t f = 0; f < FRAMES; ++f) {
        n_wrong += out[c][f] != sign * in[c][f];
      }
      ck_assert_msg(!n_wrong, "\"%s\", channel %u", cases[i].list, c);
    }
  }
}

TEST(invalid_lists_are_refused)
{
  const struct {
    const char *list, *message;
  } cases[] = { { "x", "is no list" },
                { "0", "is no list" },
                { "1,", "is no list" },
                { ",1", "is no list" },
                { "1-", "is no list" },
                { "2-1", "is no list" },
                { "-1", "is no list" },
                { "1 2", "is no list" },
                { "1.5", "is no list" },
                { "+1", "is no list" },
                { "5", "channel 5 does not exist; the input has 4" },
                { "1-5", "channel 5 does not exist" },
                { "99999999999999999999", " does not exist" } };
  for (size_t i = 0; i < ARRAY_LEN(cases); ++i) {
    FxRig rig;
    Error error = { STATUS_OK, "" };
    const RigArg args[] = { { .id = "channels", .text = cases[i].list } };
    ck_assert_int_eq(rig_try(&rig, "invert", RATE, 4, 64, false, args, 1, &error), STATUS_BAD_RACK);
    ck_assert_msg(strstr(error.text, cases[i].message), "%s: %s", cases[i].list, error.text);
  }
}

TEST(switching_does_not_click)
{
  static float in[2U * FRAMES];
  static float out[2U * FRAMES];
  signal_sine(in, 2U * FRAMES, 1000.0, RATE, 0.5, 0.3);
  const float* const ins[] = { in, in + FRAMES };
  float* const outs[] = { out, out + FRAMES };
  SCOPED(rig_free) FxRig rig;
  rig_new(&rig, "invert", RATE, 1, 64, SET("on", 0.0));
  rig_run(&rig, ins, outs, FRAMES, RIG_BLOCKS, 0);
  ck_assert_double_le(max_difference(in, out, FRAMES, NULL), 0.0);
  rig_set(&rig, "on", 1.0);
  rig_run(&rig, ins + 1, outs + 1, FRAMES, RIG_BLOCKS, 0);
  ck_assert(out[2U * FRAMES - 1U] == -in[2U * FRAMES - 1U]);
  ck_assert_double_le(max_second_difference(out, 2U * FRAMES),
                      1.1 * max_second_difference(in, 2U * FRAMES));
}

TEST(it_keeps_the_rules_of_every_effect)
{
  check_contract("invert", NULL, 0, "on", 0.0, false);
}

SUITE_MAIN("invert")
