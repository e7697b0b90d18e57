// SPDX-License-Identifier: GPL-3.0-or-later
// One period: wet and dry signals have a constant latency; all output samples are finite and
// within the ceiling; other threads read a consistent clock.

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "tests/support/period_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

// ---- normal flow ----

TEST(a_block_comes_out_depth_periods_later_to_the_bit)
{
  for (uint32_t depth = 1; depth <= 2U; ++depth) {
    SCOPED(period_rig_free) PeriodRig rig;
    period_rig_new(&rig, (PeriodConfig){ .depth = depth });
    for (uint32_t k = 0; k < 50U; ++k) {
      period_rig_run_served(&rig);
      expect(&rig, k < depth ? silence_at : wet_at, depth * BLOCK);
    }
    const PeriodCounts counts = period_counts(rig.period);
    ck_assert_uint_eq(counts.blocks, 50);
    ck_assert_uint_eq(counts.late + counts.dropped + counts.dry + counts.clipped + counts.bad_in +
                          counts.bad_out + counts.odd_periods + counts.faults,
                      0);
  }
}

TEST(depth_0_waits_for_its_own_block)
{
  SCOPED(period_rig_free) PeriodRig rig;
  PeriodWorker worker;
  period_rig_new(&rig, (PeriodConfig){ .deadline_fraction = 1e5 }); // half a minute: never late
  period_worker_start(&worker, &rig, 0);
  for (uint32_t k = 0; k < 200U; ++k) {
    period_rig_run(&rig);
    expect(&rig, wet_at, 0);
  }
  period_worker_stop(&worker);
  ck_assert_uint_eq(period_counts(rig.period).late, 0);
}

TEST(depth_0_gives_up_at_its_deadline)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .deadline_fraction = 10.0 });
  const uint64_t began = time_now_ns();
  period_rig_run(&rig);
  ck_assert_uint_ge(time_now_ns() - began, (uint64_t)(10.0 * BLOCK / RATE * 1e9));
  ck_assert_uint_eq(period_counts(rig.period).late, 1);
  expect_miss(&rig, 0); // no wet signal was played before
  period_rig_run_served(&rig);
  expect_fallback(&rig, 0);
}

TEST(a_period_of_several_blocks_is_processed_in_slices)
{
  SCOPED(period_rig_free) PeriodRig rig;
  PeriodWorker worker;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  period_worker_start(&worker, &rig, 0);
  period_rig_run_frames(&rig, 0, true);
  period_rig_run_frames(&rig, BLOCK, true);
  expect(&rig, silence_at, 0);
  for (uint32_t k = 0; k < 20U; ++k) {
    const uint32_t n_frames = (k % 9U + 1U) * BLOCK;
    period_rig_run_frames(&rig, n_frames, true);
    expect_frames(&rig, wet_at, BLOCK, n_frames);
  }
  period_worker_stop(&worker);
}

TEST(a_callback_that_waits_misses_no_block)
{
  for (uint32_t depth = 0; depth <= 2U; ++depth) {
    SCOPED(period_rig_free) PeriodRig rig;
    PeriodWorker worker;
    period_rig_new(&rig, (PeriodConfig){ .depth = depth });
    period_worker_start(&worker, &rig, 500);
    for (uint32_t k = 0; k < 40U; ++k) {
      period_rig_run_frames(&rig, BLOCK, true);
      expect(&rig, k < depth ? silence_at : wet_at, depth * BLOCK);
    }
    period_worker_stop(&worker);
    ck_assert_uint_eq(atomic_load(&worker.flags), SLOT_WAITED);
    const PeriodCounts counts = period_counts(rig.period);
    ck_assert_uint_eq(counts.late + counts.dropped + counts.dry, 0);
    ck_assert_uint_eq(counts.callback_ns_max, 0);
  }
}

// ---- the dry signal ----

TEST(the_dry_signal_has_the_latency_of_the_rack)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1, .max_latency_frames = 100 });
  period_set_latency(rig.period, 37);
  period_rig_run_served(&rig);
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK + 37U);
  for (uint32_t k = 0; k < 40U; ++k) { // also around the end of the delay line
    period_rig_run(&rig);
    expect_fallback(&rig, BLOCK + 37U);
  }
  period_set_latency(rig.period, 100);
  period_rig_run(&rig);
  expect_fade(&rig, dry_at, dry_at, BLOCK + 37U, BLOCK + 100U);
  period_rig_run(&rig);
  expect_fallback(&rig, BLOCK + 100U);
  period_set_latency(rig.period, 5000); // limited to the maximum
  period_rig_run(&rig);
  expect_fallback(&rig, BLOCK + 100U);
}

/// Play a gap to the end of its bridge.  Returns the level of the dry signal in an output.
static double
level_in_gap(PeriodRig* const rig, const uint32_t c)
{
  for (uint32_t k = 0; k < 4U; ++k) {
    period_rig_run(rig);
  }
  for (uint32_t i = 1; i < BLOCK; ++i) { // the same level in the whole block
    const float* const out = rig->out[c];
    const double dry = (double)dry_at(c, (int64_t)(rig->frame - 2U * BLOCK));
    const double level = (double)out[0] / dry;
    ck_assert_double_eq_tol(
        out[i], level * (double)dry_at(c, (int64_t)(rig->frame - 2U * BLOCK + i)), 1e-6);
  }
  return (double)rig->out[c][0] / (double)dry_at(c, (int64_t)(rig->frame - 2U * BLOCK));
}

TEST(each_output_has_a_level_of_its_own_and_may_be_silent)
{
  static const Fallback levels[] = { { .level = 0.25F }, { .level = 0.0F }, { .level = 1.0F } };
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  period_set_fallbacks(rig.period, levels, CHANNELS);
  period_rig_run_served(&rig);
  period_rig_run_served(&rig);
  ck_assert_double_eq_tol(level_in_gap(&rig, 0), 0.25, 1e-6);
  for (uint32_t i = 0; i < BLOCK; ++i) {
    ck_assert(rig.out[1][i] == 0.0F);
  }
  const Fallback other = { .level = 0.5F };
  period_set_fallbacks(rig.period, &other, 1U);
  period_rig_run(&rig); // reaches the level within the block
  for (uint32_t i = 0; i < BLOCK; ++i) {
    const double wanted = 0.25 + 0.25 * (i + 1.0) / BLOCK;
    const double dry = (double)dry_at(0, (int64_t)(rig.frame - 2U * BLOCK + i));
    ck_assert_double_eq_tol(rig.out[0][i], wanted * dry, 1e-6);
  }
  ck_assert_double_eq_tol(level_in_gap(&rig, 0), 0.5, 1e-6);
}

TEST(a_following_level_tracks_the_wet_signal_and_restarts_with_another_rack)
{
  static const Fallback quiet[] = { { .level = 0.01F, .follows = true } };
  static const Fallback hardly_other[] = { { .level = 0.0105F, .follows = true } };
  static const Fallback louder[] = { { .level = 0.1F, .follows = true } };
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 1, 1);
  period_set_fallbacks(rig.period, quiet, 1U);
  for (uint32_t k = 0; k < 4U; ++k) {
    period_rig_run_served(&rig);
  }
  ck_assert_double_eq_tol(level_in_gap(&rig, 0), 0.01, 1e-6); // too short a time to follow
  for (uint32_t k = 0; k < (uint32_t)(RATE / BLOCK); ++k) {
    period_rig_run_served(&rig);
  }
  ck_assert_double_eq_tol(level_in_gap(&rig, 0), 0.8, 0.01); // amplitudes of 0.4 and 0.5
  period_set_fallbacks(rig.period, hardly_other, 1U);
  ck_assert_double_eq_tol(level_in_gap(&rig, 0), 0.8, 0.01);
  period_set_fallbacks(rig.period, louder, 1U);
  ck_assert_double_eq_tol(level_in_gap(&rig, 0), 0.1, 1e-6);
}

TEST(a_mono_input_is_dry_everywhere_and_missing_inputs_are_silent)
{
  PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 1, CHANNELS);
  period_rig_run(&rig);
  period_rig_run(&rig);
  period_rig_run(&rig);
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    ck_assert(memcmp(rig.out[c], rig.out[0], BLOCK * sizeof(float)) == 0);
    ck_assert(rig.out[c][3] == dry_at(0, 1 * BLOCK + 3));
  }
  period_rig_free(&rig);

  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 2, CHANNELS);
  period_rig_run(&rig);
  period_rig_run(&rig);
  period_rig_run(&rig);
  ck_assert(rig.out[0][3] == dry_at(0, BLOCK + 3));
  ck_assert(rig.out[1][3] == dry_at(1, BLOCK + 3));
  ck_assert(rig.out[2][3] == 0.0F);
  period_rig_free(&rig);

  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 0, 1);
  period_rig_run(&rig);
  period_rig_run(&rig);
  expect(&rig, silence_at, 0);
  period_rig_free(&rig);
}

// ---- odd periods ----

TEST(an_odd_period_is_silent_and_restarts_the_pipeline)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1, .max_latency_frames = 64 });
  period_set_latency(rig.period, 50);
  for (uint32_t k = 0; k < 5U; ++k) {
    period_rig_run_served(&rig);
  }
  static const uint32_t odd[] = { BLOCK - 1U, 1, BLOCK + 3U, 5U * BLOCK + 7U };
  for (uint32_t o = 0; o < ARRAY_LEN(odd); ++o) {
    period_rig_serve(&rig);
    period_rig_run_frames(&rig, odd[o], false);
    expect_frames(&rig, silence_at, 0, odd[o]);
  }
  ck_assert_uint_eq(period_counts(rig.period).odd_periods, ARRAY_LEN(odd));
  period_rig_run_served(&rig);
  expect(&rig, silence_at, 0);
  period_rig_run_served(&rig);
  expect(&rig, wet_at, BLOCK);
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK + 50U); // the dry line has recorded the odd periods
  period_rig_run(&rig);
  expect_fallback(&rig, BLOCK + 50U);
}

TEST(an_odd_period_takes_an_input_that_is_missing_as_silence)
{
  enum { FRAMES = 2 * BLOCK + 5 };
  static float sound[FRAMES] = { [3] = NAN, [BLOCK + 1] = NAN };
  float out[2][FRAMES];
  float* const outs[] = { out[0], out[1] };
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 2, 2);
  for (uint32_t c = 0; c < 2U; ++c) {
    const float* ins[2] = { NULL };
    ins[c] = sound;
    period_run(rig.period, ins, outs, FRAMES, false);
    ck_assert_uint_eq(period_port(rig.period, false, c).bad, 2);
    ck_assert_uint_eq(period_port(rig.period, false, 1).bad, 2U * c);
  }
}

// ---- level and guards ----

TEST(the_output_fades_to_silence_and_back)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  period_rig_run_served(&rig);
  const uint32_t fade_frames = (uint32_t)(0.05 * RATE);
  for (int down = 1; down >= 0; --down) {
    period_fade(rig.period, down);
    for (uint32_t done = 0; done < fade_frames + 2U * BLOCK; done += BLOCK) {
      ck_assert(period_is_silent(rig.period) == (down ? done >= fade_frames : done == 0));
      period_rig_run_served(&rig);
      for (uint32_t i = 0; i < BLOCK; ++i) {
        const double moved = fmin(1.0, (double)(done + i + 1U) / fade_frames);
        const double gain = down ? 1.0 - moved : moved;
        const double wet = (double)wet_at(1, (int64_t)rig.frame - 2 * (int64_t)BLOCK + i);
        ck_assert_double_eq_tol(rig.out[1][i], gain * wet, 1e-7);
      }
    }
  }
  expect(&rig, wet_at, BLOCK);
  ck_assert(!period_is_silent(rig.period));
}

/// One channel in and out, the worker's block given as samples.
static void
play_samples(PeriodRig* const rig, const float* const wet)
{
  uint64_t sequence = 0;
  ck_assert(ring_take(rig->ring, 0U, &sequence));
  memcpy(ring_output(rig->ring, sequence, 0), wet, BLOCK * sizeof(float));
  ring_finish(rig->ring);
  period_rig_run(rig);
}

TEST(the_output_is_finite_and_within_the_ceiling)
{
  static const float wet[BLOCK] = { 0.5F,  NAN,   2.0F, -3.0F,  INFINITY, -INFINITY, 0.7F, -0.7F,
                                    1e38F, -0.0F, -NAN, 1e-40F, 0.8F,     -0.8F,     0.0F, 0.1F };
  static const float limited[BLOCK] = { 0.5F,  0.0F,  0.75F, -0.75F, 0.0F,  0.0F,   0.7F, -0.7F,
                                        0.75F, -0.0F, 0.0F,  0.0F,   0.75F, -0.75F, 0.0F, 0.1F };
  PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1, .ceiling_lin = 0.75F }, 1, 1);
  period_rig_run(&rig);
  play_samples(&rig, wet);
  ck_assert(memcmp(rig.out[0], limited, sizeof(limited)) == 0);
  PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.bad_out, 4);
  ck_assert_uint_eq(counts.denormal_out, 1);
  ck_assert_uint_eq(counts.clipped, 5);
  period_rig_free(&rig);

  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1, .ceiling_lin = 0.0F }, 1, 1);
  period_rig_run(&rig);
  play_samples(&rig, wet);
  ck_assert(rig.out[0][2] == 2.0F && rig.out[0][8] == 1e38F && rig.out[0][1] == 0.0F);
  counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.bad_out, 4);
  ck_assert_uint_eq(counts.clipped, 0);
  period_rig_free(&rig);
}

TEST(bad_input_samples_reach_neither_worker_nor_dry_signal)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 2, 2);
  float left[BLOCK] = { NAN, 0.25F, INFINITY, -INFINITY, 2e20F, 1e-40F };
  float out[2][BLOCK];
  const float* const ins[] = { left, NULL };
  float* const outs[] = { out[0], out[1] };
  period_run(rig.period, ins, outs, BLOCK, false);
  static const float clean[BLOCK] = { 0.0F, 0.25F, 0.0F, 0.0F, 2e20F };
  static const float zeroes[BLOCK];
  ck_assert(memcmp(ring_input(rig.ring, 0, 0), clean, sizeof(clean)) == 0);
  ck_assert(memcmp(ring_input(rig.ring, 0, 1), zeroes, sizeof(zeroes)) == 0); // NULL is silence
  ck_assert_uint_eq(period_counts(rig.period).bad_in, 3);
  ck_assert_uint_eq(period_counts(rig.period).denormal_in, 1);
  memset(left, 0, sizeof(left));
  period_run(rig.period, ins, outs, BLOCK, false); // late
  ck_assert(out[0][1] == 0.25F && out[0][0] == 0.0F && out[0][2] == 0.0F);
}

TEST(a_burst_of_60_db_leaves_at_the_ceiling_wet_or_dry)
{
  const float ceiling = (float)pow(10.0, -0.3 / 20.0);
  for (int late = 0; late <= 1; ++late) {
    SCOPED(period_rig_free) PeriodRig rig;
    period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1, .ceiling_lin = ceiling }, 1, 1);
    float in[BLOCK] = { 0.5F, 0.5F, 1000.0F, -1000.0F, 0.5F };
    float out[BLOCK];
    for (uint32_t k = 0; k < 4U; ++k) {
      period_run(rig.period, (const float*[]){ in }, (float*[]){ out }, BLOCK, false);
      uint64_t sequence = 0;
      while (!late && ring_take(rig.ring, 0U, &sequence)) {
        memcpy(ring_output(rig.ring, sequence, 0), ring_input(rig.ring, sequence, 0), sizeof(in));
        ring_finish(rig.ring);
      }
    }
    ck_assert(out[1] == 0.5F && out[2] == ceiling && out[3] == -ceiling && out[4] == 0.5F);
    ck_assert_uint_gt(period_counts(rig.period).clipped, 0);
  }
}

TEST(each_port_has_its_own_counters)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1, .ceiling_lin = 0.5F }, 2, 3);
  float in[2][BLOCK] = { { 0.0F }, { NAN, NAN, 1e-40F } };
  float out[3][BLOCK];
  const float* const ins[] = { in[0], in[1] };
  float* const outs[] = { out[0], out[1], out[2] };
  period_run(rig.period, ins, outs, BLOCK, false);
  uint64_t sequence = 0;
  ck_assert(ring_take(rig.ring, 0U, &sequence));
  static const float wet[3][BLOCK] = { { 0.0F }, { INFINITY, 1e-39F, -1e-39F }, { 1.0F, 2.0F } };
  for (uint32_t c = 0; c < 3U; ++c) {
    memcpy(ring_output(rig.ring, sequence, c), wet[c], sizeof(wet[c]));
  }
  ring_finish(rig.ring);
  period_run(rig.period, ins, outs, BLOCK, false);
  period_run(rig.period, ins, outs, 5U, false); // an odd period outputs silence and reads its input

  const PeriodPort zero = { 0 };
  const PeriodPort right = period_port(rig.period, false, 1);
  ck_assert_uint_eq(right.bad, 3U * 2U);
  ck_assert_uint_eq(right.denormal, 3);
  const PeriodPort middle = period_port(rig.period, true, 1);
  ck_assert_uint_eq(middle.bad, 1);
  ck_assert_uint_eq(middle.denormal, 2);
  ck_assert_uint_eq(middle.clipped, 0);
  ck_assert_uint_eq(period_port(rig.period, true, 2).clipped, 2);
  const PeriodPort others[] = { period_port(rig.period, false, 0), period_port(rig.period, true, 0),
                                period_port(rig.period, false, 2),  // no such port
                                period_port(rig.period, true, 3) }; // no such port
  for (uint32_t i = 0; i < ARRAY_LEN(others); ++i) {
    ck_assert(memcmp(&others[i], &zero, sizeof(zero)) == 0);
  }
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.bad_in, right.bad);
  ck_assert_uint_eq(counts.denormal_in, right.denormal);
  ck_assert_uint_eq(counts.bad_out, middle.bad);
  ck_assert_uint_eq(counts.denormal_out, middle.denormal);
  ck_assert_uint_eq(counts.clipped, 2);
}

// ---- levels ----

static Level
level_of(const float* const samples, const uint32_t n_frames)
{
  Level level = { 0.0F, 0.0 };
  for (uint32_t i = 0; i < n_frames; ++i) {
    const Level one = { fabsf(samples[i]), (double)samples[i] * (double)samples[i] };
    level_add(&level, &one);
  }
  return level;
}

static void
expect_level(const Level* const level, const Level* const wanted)
{
  ck_assert(level->peak == wanted->peak);
  ck_assert_double_eq_tol(level->energy, wanted->energy, 1e-5 * wanted->energy);
}

TEST(the_levels_of_a_span_are_those_of_its_samples)
{
  SCOPED(period_rig_free) PeriodRig rig;
  static PortLevels levels;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1, .ceiling_lin = 0.3F }, 2, CHANNELS);
  ck_assert(!period_levels(rig.period, &levels)); // asks for a span
  period_rig_run_served(&rig);
  ck_assert(!period_levels(rig.period, &levels)); // the one before that has no frames
  Level wanted[2U + CHANNELS] = { 0 };
  const uint64_t first = rig.frame;
  for (uint32_t k = 0; k < 20U; ++k) {
    period_rig_run_served(&rig);
    for (uint32_t p = 0; p < ARRAY_LEN(wanted); ++p) {
      const Level block = level_of(p < 2U ? rig.in[p] : rig.out[p - 2U], BLOCK);
      level_add(&wanted[p], &block);
    }
  }
  ck_assert(period_levels(rig.period, &levels)); // the span before: the first period
  ck_assert_uint_eq(levels.first_frame, 0);
  ck_assert_uint_eq(levels.n_frames, BLOCK);
  ck_assert(!period_levels(rig.period, &levels)); // no period has begun since
  period_rig_run_served(&rig);
  ck_assert(period_levels(rig.period, &levels));
  ck_assert_uint_eq(levels.n_in, 2);
  ck_assert_uint_eq(levels.n_out, CHANNELS);
  ck_assert_uint_eq(levels.first_frame, first);
  ck_assert_uint_eq(levels.n_frames, 20U * BLOCK);
  for (uint32_t p = 0; p < ARRAY_LEN(wanted); ++p) {
    expect_level(&levels.of[p], &wanted[p]);
  }
  ck_assert(levels.of[2].peak <= 0.3F && wanted[0].peak > 0.3F); // the output is behind the guard
}

// ---- other threads ----

TEST(the_clock_has_the_frame_of_the_next_period)
{
  SCOPED(period_rig_free) PeriodRig rig;
  uint64_t before = time_now_ns();
  period_rig_new(&rig, (PeriodConfig){ .depth = 1, .first_frame = 1000 });
  uint64_t frame = 1;
  uint64_t ns = 1;
  period_clock(rig.period, &frame, &ns);
  ck_assert_uint_eq(frame, 1000);
  ck_assert_uint_ge(ns, before);
  ck_assert_uint_le(ns, time_now_ns());
  before = time_now_ns();
  period_rig_run(&rig);
  period_rig_run_frames(&rig, BLOCK + 5U, false);
  period_clock(rig.period, &frame, &ns);
  ck_assert_uint_eq(frame, 1000U + 2U * BLOCK + 5U);
  ck_assert_uint_ge(ns, before);
  ck_assert_uint_le(ns, time_now_ns());
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_gt(counts.callback_ns_max, 0);
}

typedef struct ClockReader {
  const PeriodRig* rig;
  _Atomic bool stop;
  uint64_t n_wrong;
} ClockReader;

/// Check that frame and time only increase, and always change together.
static void*
read_clock(void* const context)
{
  ClockReader* const reader = context;
  uint64_t frame = 0;
  uint64_t ns = 0;
  period_clock(reader->rig->period, &frame, &ns);
  while (!atomic_load(&reader->stop)) {
    uint64_t new_frame = 0;
    uint64_t new_ns = 0;
    period_clock(reader->rig->period, &new_frame, &new_ns);
    reader->n_wrong += new_frame < frame || new_ns < ns || (new_frame != frame) != (new_ns != ns);
    frame = new_frame;
    ns = new_ns;
    period_counts(reader->rig->period);
    period_set_latency(reader->rig->period, (uint32_t)(frame % 64U));
  }
  return NULL;
}

TEST(others_read_the_clock_as_a_pair_while_audio_runs)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1, .max_latency_frames = 64 }, 1, 1);
  ClockReader reader = { .rig = &rig };
  pthread_t thread;
  ck_assert(rt_thread_start("test-reader", read_clock, &reader, &thread, NULL) == STATUS_OK);
  for (uint32_t k = 0; k < 100000U; ++k) {
    period_rig_run(&rig);
  }
  atomic_store(&reader.stop, true);
  pthread_join(thread, NULL);
  ck_assert_uint_eq(reader.n_wrong, 0);
}

typedef struct LevelReader {
  const PeriodRig* rig;
  _Atomic bool stop;
  PortLevels levels; ///< The last span
  uint64_t n_frames;
  _Atomic uint64_t n_spans;
  uint64_t n_wrong; ///< Spans that do not follow the one before
  Level sum;        ///< Of the input
} LevelReader;

static void
take_levels(LevelReader* const reader)
{
  if (period_levels(reader->rig->period, &reader->levels)) {
    reader->n_wrong += reader->levels.first_frame != reader->n_frames;
    reader->n_frames += reader->levels.n_frames;
    atomic_fetch_add(&reader->n_spans, 1U);
    level_add(&reader->sum, &reader->levels.of[0]);
  }
}

static void*
read_levels(void* const context)
{
  LevelReader* const reader = context;
  while (!atomic_load(&reader->stop)) {
    take_levels(reader);
  }
  return NULL;
}

TEST(each_sample_is_in_exactly_one_span_while_audio_runs)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 1, 1);
  static LevelReader reader;
  reader.rig = &rig;
  pthread_t thread;
  ck_assert(rt_thread_start("test-reader", read_levels, &reader, &thread, NULL) == STATUS_OK);
  Level wanted = { 0.0F, 0.0 };
  const uint64_t limit_ns = time_now_ns() + suite_limit_ns();
  for (uint32_t k = 0; k < 20000U || atomic_load(&reader.n_spans) < 20U; ++k) {
    ck_assert(k % 1024U || time_now_ns() < limit_ns); // a busy machine may not run the reader
    period_rig_run(&rig);
    const Level block = level_of(rig.in[0], BLOCK);
    level_add(&wanted, &block);
  }
  atomic_store(&reader.stop, true);
  pthread_join(thread, NULL);
  const uint64_t end = rig.frame;
  while (reader.n_frames < end) { // silence, which adds nothing
    const float* in = NULL;
    period_run(rig.period, &in, (float*[]){ rig.out[0] }, BLOCK, false);
    take_levels(&reader);
  }
  ck_assert_uint_eq(reader.n_wrong, 0);
  expect_level(&reader.sum, &wanted);
}

TEST(a_wrong_configuration_is_refused)
{
  const RingShape shape = { 1, 1, BLOCK, SLOTS, 16, 0 };
  SCOPED_RING Ring* ring = NULL;
  ck_assert(ring_new(&shape, &ring, NULL) == STATUS_OK);
  const PeriodConfig wrong[] = {
    { .ring = ring, .rate_hz = RATE, .depth = 3 },
    { .ring = ring, .rate_hz = 0.0 },
    { .ring = ring, .rate_hz = NAN },
    { .ring = ring, .rate_hz = RATE, .ceiling_lin = NAN },
    { .ring = ring, .rate_hz = RATE, .ceiling_lin = -1.0F },
    { .ring = ring, .rate_hz = RATE, .ceiling_lin = 1e-7F },
    { .ring = ring, .rate_hz = RATE, .ceiling_lin = INFINITY },
    { .ring = ring, .rate_hz = RATE, .deadline_fraction = -0.5 },
    { .ring = ring, .rate_hz = RATE, .max_latency_frames = UINT32_MAX },
  };
  for (uint32_t i = 0; i < ARRAY_LEN(wrong); ++i) {
    Period* period = NULL;
    Error error = { STATUS_OK, "" };
    ck_assert(period_new(&wrong[i], &period, &error) == STATUS_BAD_ARG);
    ck_assert(!period && error.text[0]);
  }
  period_free(NULL);
}

SUITE_MAIN("period")
