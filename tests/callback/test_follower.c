// SPDX-License-Identifier: GPL-3.0-or-later
// The level of an output is the ratio of its wet to its dry energy in the last half second, at most
// 1.  It starts with the measurement of the plan; neither silence nor a tail changes it.

#include "engine/callback/follower.h"
#include "tests/support/suite.h"

#include <math.h>

#define RATE  48000.0
#define BLOCK 480U // 10 ms

/// Record blocks of signals with these levels, in dB.
static void
follow(Follower* const follower, const double wet_db, const double dry_db, const uint32_t n_blocks)
{
  for (uint32_t b = 0; b < n_blocks; ++b) {
    follower_update(follower, BLOCK * pow(10.0, wet_db / 10.0), BLOCK * pow(10.0, dry_db / 10.0),
                    BLOCK);
  }
}

static double
level_db(const Follower* const follower)
{
  return 20.0 * log10(fmax(follower->level, 1e-20));
}

TEST(a_level_starts_from_the_plan_and_follows_after_a_tenth_of_a_second)
{
  Follower follower;
  follower_begin(&follower, RATE, 0.01F);
  follow(&follower, -26.0, -20.0, 9);
  ck_assert_double_eq_tol(level_db(&follower), -40.0, 1e-5);
  follow(&follower, -26.0, -20.0, 1);
  ck_assert_double_eq_tol(level_db(&follower), -6.0, 1e-5);
}

TEST(a_level_that_falls_or_rises_has_done_so_after_half_a_second)
{
  Follower follower;
  follower_begin(&follower, RATE, 1.0F);
  follow(&follower, -20.0, -20.0, 200);
  ck_assert_double_eq_tol(level_db(&follower), 0.0, 1e-5);
  follow(&follower, -60.0, -20.0, 50);
  ck_assert_double_eq_tol(level_db(&follower), -40.0, 1e-5);
  follow(&follower, -26.0, -20.0, 50);
  ck_assert_double_eq_tol(level_db(&follower), -6.0, 1e-5);
}

TEST(a_level_is_never_above_0_db)
{
  Follower follower;
  follower_begin(&follower, RATE, 0.1F);
  follow(&follower, 0.0, -20.0, 100);
  ck_assert_double_eq(follower.level, 1.0);
}

TEST(neither_silence_nor_a_tail_moves_a_level)
{
  Follower follower;
  follower_begin(&follower, RATE, 1.0F);
  follow(&follower, -50.0, -10.0, 100);
  follow(&follower, -300.0, -300.0, 1000);
  ck_assert_double_eq_tol(level_db(&follower), -40.0, 1e-5);
  follow(&follower, -30.0, -300.0, 1000); // the tail of a reverb
  ck_assert_double_eq_tol(level_db(&follower), -40.0, 1e-5);
  follow(&follower, -30.0, -60.0, 1000); // the same with noise at the input
  ck_assert_double_eq_tol(level_db(&follower), -40.0, 1e-5);
}

TEST(a_level_falls_whatever_the_input_is)
{
  Follower follower;
  follower_begin(&follower, RATE, 1.0F);
  follow(&follower, -10.0, -10.0, 100);
  follow(&follower, -95.0, -60.0, 100); // a gate has closed; the input is room noise
  ck_assert_double_eq_tol(level_db(&follower), -35.0, 0.1);
}

SUITE_MAIN("follower")
