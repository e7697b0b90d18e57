// SPDX-License-Identifier: GPL-3.0-or-later
// The miss policy to the sample: a block that is not there fades to the dry signal of exactly the
// same latency, eight good blocks in a row fade back, and no pattern of misses shifts the latency,
// plays a late block or clicks.

#include "support/period_rig.h"
#include "support/signals.h"
#include "support/suite.h"

#include <math.h>
#include <string.h>

START_TEST(whoever_starts_to_wait_hears_wet_again_at_once)
{
  PeriodRig rig;
  PeriodWorker worker;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 20U; ++k) {
    period_rig_run(&rig); // never served: the ring is full
  }
  ck_assert_uint_eq(period_counts(rig.period).dropped, 20U - SLOTS);
  period_worker_start(&worker, &rig, 0);
  period_rig_run_frames(&rig, BLOCK, true);
  expect(&rig, dry_at, BLOCK); // the block that is due was dropped
  period_rig_run_frames(&rig, BLOCK, true);
  expect_fade(&rig, dry_at, wet_at, BLOCK, BLOCK);
  period_rig_run_frames(&rig, BLOCK, true);
  expect(&rig, wet_at, BLOCK);
  period_worker_stop(&worker);
  period_rig_free(&rig);
}
END_TEST

// ---- misses ----

START_TEST(a_late_block_fades_to_dry_for_eight_good_blocks_and_back)
{
  for (uint32_t depth = 1; depth <= 2U; ++depth) {
    PeriodRig rig;
    period_rig_new(&rig, (PeriodConfig){ .depth = depth });
    const uint32_t latency = depth * BLOCK;
    for (uint32_t k = 0; k < 10U; ++k) {
      period_rig_run_served(&rig);
    }
    for (uint32_t k = 1; k < depth; ++k) {
      period_rig_run(&rig); // blocks in flight that are still in time
      expect(&rig, wet_at, latency);
    }
    period_rig_run(&rig);
    expect_miss(&rig, latency, latency);
    for (uint32_t k = 0; k < PERIOD_GOOD_BLOCKS; ++k) {
      period_rig_run_served(&rig);
      expect(&rig, dry_at, latency);
    }
    period_rig_run_served(&rig);
    expect_fade(&rig, dry_at, wet_at, latency, latency);
    for (uint32_t k = 0; k < 5U; ++k) {
      period_rig_run_served(&rig);
      expect(&rig, wet_at, latency);
    }
    const PeriodCounts counts = period_counts(rig.period);
    ck_assert_uint_eq(counts.late, 1);
    ck_assert_uint_eq(counts.dry, 1U + PERIOD_GOOD_BLOCKS + 1U);
    ck_assert_uint_eq(counts.dropped, 0);
    period_rig_free(&rig);
  }
}
END_TEST

START_TEST(a_block_without_sound_is_a_late_one)
{
  PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 10U; ++k) {
    period_rig_run_served(&rig);
  }
  period_rig_fail(&rig);
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK, BLOCK);
  period_rig_fail(&rig);
  period_rig_run(&rig);
  expect(&rig, dry_at, BLOCK);
  for (uint32_t k = 0; k < PERIOD_GOOD_BLOCKS; ++k) {
    period_rig_run_served(&rig);
    expect(&rig, dry_at, BLOCK);
  }
  period_rig_run_served(&rig);
  expect_fade(&rig, dry_at, wet_at, BLOCK, BLOCK);
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.failed, 2);
  ck_assert_uint_eq(counts.late + counts.dropped, 0);
  period_rig_free(&rig);
}
END_TEST

START_TEST(the_good_blocks_must_follow_each_other)
{
  PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 3U; ++k) {
    period_rig_run_served(&rig);
  }
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK, BLOCK);
  for (uint32_t k = 0; k < 30U; ++k) { // every eighth is late
    if (k % PERIOD_GOOD_BLOCKS != PERIOD_GOOD_BLOCKS - 1U) {
      period_rig_serve(&rig);
    }
    period_rig_run(&rig);
    expect(&rig, dry_at, BLOCK);
  }
  ck_assert_uint_eq(period_counts(rig.period).late, 1U + 3U);
  period_rig_free(&rig);
}
END_TEST

START_TEST(a_miss_while_fading_back_fades_to_dry_again)
{
  PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  period_rig_run_served(&rig);
  period_rig_run(&rig);
  for (uint32_t k = 0; k < PERIOD_GOOD_BLOCKS + 1U; ++k) {
    period_rig_run_served(&rig);
  }
  expect_fade(&rig, dry_at, wet_at, BLOCK, BLOCK);
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK, BLOCK);
  period_rig_free(&rig);
}
END_TEST

START_TEST(dropped_blocks_never_shift_the_latency)
{
  PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 2 });
  for (uint32_t k = 0; k < 5U; ++k) {
    period_rig_run_served(&rig);
  }
  period_rig_run(&rig); // still in time
  period_rig_run(&rig);
  expect_miss(&rig, 2U * BLOCK, 2U * BLOCK);
  for (uint32_t k = 0; k < 9U; ++k) {
    period_rig_run(&rig);
    expect(&rig, dry_at, 2U * BLOCK);
  }
  // Of 11 blocks since the worker stopped, SLOTS less the one that it had left fit in.
  PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.dropped, 11U - (SLOTS - 1U));
  ck_assert_uint_eq(counts.late + counts.dropped, 1U + 9U + 2U); // two drops are not due yet
  for (uint32_t k = 0; k < 2U + PERIOD_GOOD_BLOCKS; ++k) {
    period_rig_run_served(&rig);
    expect(&rig, dry_at, 2U * BLOCK);
  }
  period_rig_run_served(&rig);
  expect_fade(&rig, dry_at, wet_at, 2U * BLOCK, 2U * BLOCK);
  for (uint32_t k = 0; k < 20U; ++k) {
    period_rig_run_served(&rig);
    expect(&rig, wet_at, 2U * BLOCK);
  }
  counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.dropped, 11U - (SLOTS - 1U));
  period_rig_free(&rig);
}
END_TEST

START_TEST(any_pattern_of_misses_keeps_latency_and_level)
{
  PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  uint64_t state = 7;
  uint32_t n_wet = 0;
  for (uint32_t k = 0; k < 20000U; ++k) {
    if (signal_random(&state) % 32U) {
      period_rig_serve(&rig);
    }
    const uint64_t dry_before = period_counts(rig.period).dry;
    period_rig_run(&rig);
    if (k > 0 && period_counts(rig.period).dry == dry_before) {
      expect(&rig, wet_at, BLOCK);
      ++n_wet;
    }
    for (uint32_t i = 0; i < BLOCK; ++i) {
      ck_assert(fabsf(rig.out[0][i]) < 1.5F); // odd reflection reaches three times the wet level
    }
  }
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_gt(counts.late, 400);
  ck_assert_uint_gt(n_wet, 5000);
  ck_assert_uint_eq(counts.blocks, 20000);
  period_rig_free(&rig);
}
END_TEST

START_TEST(a_miss_does_not_click)
{
  PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 1, 1);
  float heard[60U * BLOCK];
  for (uint32_t k = 0; k < 60U; ++k) {
    if (k != 30U) {
      period_rig_serve(&rig);
    }
    period_rig_run(&rig);
    memcpy(heard + (size_t)k * BLOCK, rig.out[0], BLOCK * sizeof(float));
  }
  const float* const settled = heard + (size_t)2U * BLOCK;
  // What fading from a to b may bend, with the gain g going up within BLOCK frames:
  // g''(b-a) + 2 g'(b'-a') + the signals' own curvature, where g'' <= 6 / BLOCK^2 and g' <= 1.5 /
  // BLOCK; the odd reflection of a signal within ±0.4 stays within ±1.2.
  const double slopes = 0.5 * 0.11 + 0.4 * 0.07;
  const double curvature = 0.5 * 0.11 * 0.11;
  const double bound = 6.0 / (BLOCK * BLOCK) * (0.5 + 1.2) + 2.0 * 1.5 / BLOCK * slopes + curvature;
  ck_assert_double_le(max_second_difference(settled, 58U * BLOCK), bound);
  period_rig_free(&rig);
}
END_TEST

SUITE_MAIN("period_miss", whoever_starts_to_wait_hears_wet_again_at_once,
           a_late_block_fades_to_dry_for_eight_good_blocks_and_back,
           a_block_without_sound_is_a_late_one, the_good_blocks_must_follow_each_other,
           a_miss_while_fading_back_fades_to_dry_again, dropped_blocks_never_shift_the_latency,
           any_pattern_of_misses_keeps_latency_and_level, a_miss_does_not_click)
