// SPDX-License-Identifier: GPL-3.0-or-later
// Parameters that follow the tempo play it: from the first block, after an edit, and after a
// message, without a click.

#include "tests/support/rack_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <string.h>

#define RATE   RACK_RIG_RATE
#define BLOCK  64U
#define FRAMES 9600U

static float in[FRAMES];
static float out[FRAMES];

/// A delay of a 1/32, which lasts 360000 frames / bpm, at a tempo.
#define AT(bpm) "chain d: delay bpm=tempo note=1/32 mix=100% feedback=0\ntempo " #bpm

/// Play the next frames of `in`.
static void
play(RackRig* const rig, const uint32_t n_frames)
{
  const float* const from[] = { in + rig->frame };
  float* const to[] = { out + rig->frame };
  ck_assert_uint_le(rig->frame + n_frames, FRAMES);
  ck_assert(rack_rig_run(rig, from, to, n_frames, RIG_BLOCKS, 1U));
}

/// Fails the test unless the output is the input, later by a number of frames, from a frame on.
static void
expect_delay(const uint32_t frames, const uint32_t first, const uint32_t end)
{
  ck_assert_mem_eq(out + first, in + first - frames, (end - first) * sizeof(float));
}

TEST(a_delay_plays_the_tempo_of_its_rack)
{
  SCOPED(rack_rig_free) RackRig rig;
  signal_noise(in, FRAMES, 1U);
  rack_rig_mono(&rig, AT(600), BLOCK);
  play(&rig, 1920U);
  expect_delay(600U, 600U, 1920U);
}

TEST(a_new_tempo_is_reached_by_an_edit_and_by_a_message_without_a_click)
{
  SCOPED(rack_rig_free) RackRig rig;
  signal_sine(in, FRAMES, 440.0, RATE, 0.5, 0.0);
  rack_rig_mono(&rig, AT(600), BLOCK);
  play(&rig, 1920U);
  rack_rig_edit(&rig, AT(400));
  play(&rig, 1920U);
  expect_delay(900U, 1920U + 960U, 3840U); // after a cross-fade of 960 frames
  rack_rig_set(&rig, "d", "bpm", 800.0, 4000U);
  play(&rig, 1920U);
  expect_delay(900U, 3840U, 4000U);
  expect_delay(450U, 4000U + 960U, 5760U);
  ck_assert_double_le(max_second_difference(out + 1200, 4560U),
                      1.5 * max_second_difference(in, FRAMES));
}

SUITE_MAIN("tempo")
