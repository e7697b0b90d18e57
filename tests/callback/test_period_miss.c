// SPDX-License-Identifier: GPL-3.0-or-later
// The miss policy to the sample: a bridge leads from the wet signal to the dry signal, which has
// exactly the same latency.  The gap ends at once while the bridge is played, and later after eight
// good blocks in a row.  No pattern of misses shifts the latency, plays a late block or clicks.
// The model of the cost covers all the time that a miss adds to the callback.  The samples of the
// bridge are tested in test_bridge.c.

#include "engine/base/rt.h"
#include "engine/callback/period_state.h"
#include "engine/contract/effect.h"
#include "engine/ring/ring_private.h"
#include "tests/support/period_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <sched.h>
#include <string.h>
#include <time.h>

TEST(the_wet_signal_returns_at_once_when_the_callback_starts_to_wait)
{
  SCOPED(period_rig_free) PeriodRig rig;
  PeriodWorker worker;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 20U; ++k) {
    period_rig_run(&rig); // no worker: the ring is full
  }
  ck_assert_uint_eq(period_counts(rig.period).dropped, 20U - SLOTS);
  period_worker_start(&worker, &rig, 0);
  period_rig_run_frames(&rig, BLOCK, true);
  expect_fallback(&rig, BLOCK); // the block that is due was dropped
  period_rig_run_frames(&rig, BLOCK, true);
  expect_back(&rig, BLOCK);
  period_rig_run_frames(&rig, BLOCK, true);
  expect(&rig, wet_at, BLOCK);
  period_worker_stop(&worker);
}

// ---- misses ----

/// Run until the blocks in flight are played, then run n late blocks.
static void
run_late(PeriodRig* const rig, const uint32_t depth, const uint32_t n_late)
{
  for (uint32_t k = 1; k < depth; ++k) {
    period_rig_run(rig); // still in time
    expect(rig, wet_at, depth * BLOCK);
  }
  period_rig_run(rig);
  expect_miss(rig, depth * BLOCK);
  for (uint32_t k = 1; k < n_late; ++k) {
    period_rig_run(rig);
    expect_fallback(rig, depth * BLOCK);
  }
}

TEST(a_gap_that_ends_before_its_bridge_is_followed_by_the_wet_signal)
{
  for (uint32_t depth = 1; depth <= 2U; ++depth) {
    for (uint32_t n_late = 1; n_late <= 2U; ++n_late) {
      SCOPED(period_rig_free) PeriodRig rig;
      const uint32_t latency = depth * BLOCK;
      period_rig_new(&rig, (PeriodConfig){ .depth = depth });
      for (uint32_t k = 0; k < depth + FALLBACK_GOOD_BLOCKS; ++k) {
        period_rig_run_served(&rig);
      }
      run_late(&rig, depth, n_late);
      period_rig_run_served(&rig);
      expect_back(&rig, latency);
      period_rig_run_served(&rig);
      expect(&rig, wet_at, latency);
      const PeriodCounts counts = period_counts(rig.period);
      ck_assert_uint_eq(counts.late, n_late);
      ck_assert_uint_eq(counts.dry, n_late + 1U);
      ck_assert_uint_eq(counts.dropped, 0);
      period_rig_run(&rig); // too soon after: eight good blocks end this gap
      if (depth == 1U) {
        expect_miss(&rig, latency);
        expect_way_back(&rig, latency);
      }
    }
  }
}

TEST(a_gap_that_outlasts_its_bridge_ends_after_eight_good_blocks)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 20U; ++k) {
    period_rig_run_served(&rig);
  }
  run_late(&rig, 1, 3U);
  expect_way_back(&rig, BLOCK);
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.late, 3);
  ck_assert_uint_eq(counts.dry, 3U + FALLBACK_GOOD_BLOCKS + 1U);
}

TEST(a_block_without_sound_is_a_late_one)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 10U; ++k) {
    period_rig_run_served(&rig);
  }
  period_rig_fail(&rig);
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK);
  expect_way_back(&rig, BLOCK); // after eight: its next blocks may be bad
  for (uint32_t k = 0; k < 10U; ++k) {
    period_rig_run_served(&rig);
  }
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK); // late, then without sound
  period_rig_fail(&rig);
  period_rig_run(&rig);
  expect_fallback(&rig, BLOCK);
  expect_way_back(&rig, BLOCK);
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.failed, 2);
  ck_assert_uint_eq(counts.late, 1);
  ck_assert_uint_eq(counts.dropped, 0);
}

/// Finish blocks with so many samples that are not finite, in the last channels.  The padding
/// of the slot behind them (after a header and 6 rows of 64 bytes, to 512) must not be counted.
static void
spoil_served(const PeriodRig* const rig, uint32_t n_bad)
{
  period_rig_serve(rig);
  float* const behind = ring_output(rig->ring, ring_next(rig->ring) - 1U, CHANNELS);
  for (uint32_t i = 0; i < BLOCK; ++i) {
    behind[i] = NAN;
  }
  for (uint32_t c = CHANNELS; n_bad && c-- > 0U;) {
    float* const out = ring_output(rig->ring, ring_next(rig->ring) - 1U, c);
    for (uint32_t i = 0; n_bad && i < BLOCK; ++i, --n_bad) {
      out[i] = i % 2U ? NAN : -INFINITY;
    }
  }
}

TEST(a_block_that_is_mostly_not_finite_is_a_late_one)
{
  const uint32_t n_half = CHANNELS * BLOCK / 2U;
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  period_rig_run_served(&rig);
  spoil_served(&rig, n_half);
  period_rig_run(&rig);
  for (uint32_t i = 0; i < BLOCK; ++i) { // good samples are played, bad ones are silence
    ck_assert(rig.out[0][i] == wet_at(0, (int64_t)(rig.frame - 2U * BLOCK + i)));
    ck_assert(rig.out[CHANNELS - 1U][i] == 0.0F);
  }
  ck_assert_uint_eq(period_counts(rig.period).bad_out, n_half);
  period_rig_run_served(&rig);
  expect(&rig, wet_at, BLOCK);
  spoil_served(&rig, n_half + 1U);
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK);
  for (uint32_t k = 0; k < 3U * FALLBACK_GOOD_BLOCKS; ++k) { // however long it lasts
    spoil_served(&rig, CHANNELS * BLOCK);
    period_rig_run(&rig);
    expect_fallback(&rig, BLOCK);
  }
  expect_way_back(&rig, BLOCK);
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.failed, 1U + 3U * FALLBACK_GOOD_BLOCKS);
  ck_assert_uint_eq(counts.bad_out,
                    2U * n_half + 1U + 3U * FALLBACK_GOOD_BLOCKS * CHANNELS * BLOCK);
  ck_assert_uint_eq(period_port(rig.period, true, 0).bad, 3U * FALLBACK_GOOD_BLOCKS * BLOCK);
}

TEST(the_good_blocks_must_follow_each_other)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 3U; ++k) {
    period_rig_run_served(&rig);
  }
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK);
  for (uint32_t k = 0; k < 30U; ++k) { // every eighth is late
    if (k % FALLBACK_GOOD_BLOCKS != FALLBACK_GOOD_BLOCKS - 1U) {
      period_rig_serve(&rig);
    }
    period_rig_run(&rig);
    expect_fallback(&rig, BLOCK);
  }
  ck_assert_uint_eq(period_counts(rig.period).late, 1U + 3U);
}

TEST(a_miss_while_fading_back_fades_to_dry_again)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  period_rig_run_served(&rig);
  period_rig_run(&rig);
  for (uint32_t k = 0; k < FALLBACK_GOOD_BLOCKS + 1U; ++k) {
    period_rig_run_served(&rig);
  }
  expect_back(&rig, BLOCK);
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK);
}

TEST(dropped_blocks_never_shift_the_latency)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 2 });
  for (uint32_t k = 0; k < 5U; ++k) {
    period_rig_run_served(&rig);
  }
  period_rig_run(&rig); // still in time
  period_rig_run(&rig);
  expect_miss(&rig, 2U * BLOCK);
  for (uint32_t k = 0; k < 9U; ++k) {
    period_rig_run(&rig);
    expect_fallback(&rig, 2U * BLOCK);
  }
  // Of the 11 blocks since the worker stopped, the ring holds SLOTS less the one already in it.
  PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.dropped, 11U - (SLOTS - 1U));
  ck_assert_uint_eq(counts.late + counts.dropped, 1U + 9U + 2U); // two drops are not due yet
  for (uint32_t k = 0; k < 2U + FALLBACK_GOOD_BLOCKS; ++k) {
    period_rig_run_served(&rig);
    expect_fallback(&rig, 2U * BLOCK);
  }
  period_rig_run_served(&rig);
  expect_back(&rig, 2U * BLOCK);
  for (uint32_t k = 0; k < 20U; ++k) {
    period_rig_run_served(&rig);
    expect(&rig, wet_at, 2U * BLOCK);
  }
  counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.dropped, 11U - (SLOTS - 1U));
}

TEST(a_miss_in_the_place_of_the_eighth_good_block_or_of_the_fade_back_counts)
{
  for (uint32_t good = FALLBACK_GOOD_BLOCKS - 1U; good <= FALLBACK_GOOD_BLOCKS; ++good) {
    SCOPED(period_rig_free) PeriodRig rig;
    period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
    period_rig_run_served(&rig);
    period_rig_run(&rig);
    expect_miss(&rig, BLOCK);
    for (uint32_t k = 0; k < good; ++k) {
      period_rig_run_served(&rig);
      expect_fallback(&rig, BLOCK);
    }
    period_rig_run(&rig);
    expect_fallback(&rig, BLOCK);
    expect_way_back(&rig, BLOCK);
  }
}

/// Let block `b` of the last period, which has `n` blocks, look like a period of its own.
static PeriodRig
slice_of(const PeriodRig* const rig, const uint32_t b, const uint32_t n)
{
  PeriodRig slice = *rig;
  slice.frame -= (uint64_t)(n - 1U - b) * BLOCK;
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    memcpy(slice.out[c], rig->out[c] + (size_t)b * BLOCK, BLOCK * sizeof(float));
  }
  return slice;
}

TEST(blocks_of_one_period_are_missed_one_by_one)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 2 });
  period_rig_run_served(&rig);
  period_rig_run_served(&rig);
  period_rig_serve(&rig);
  period_rig_run_frames(&rig, 4U * BLOCK, false); // two are finished, two are late
  for (uint32_t b = 0; b < 2U; ++b) {
    const PeriodRig slice = slice_of(&rig, b, 4U);
    expect(&slice, wet_at, 2U * BLOCK);
  }
  PeriodRig third = slice_of(&rig, 2U, 4U);
  expect_miss(&third, 2U * BLOCK);
  rig.gap = third.gap;
  const PeriodRig fourth = slice_of(&rig, 3U, 4U);
  expect_fallback(&fourth, 2U * BLOCK);
  ck_assert_uint_eq(period_counts(rig.period).late, 2);
  for (uint32_t p = 0; p < FALLBACK_GOOD_BLOCKS / 2U; ++p) { // all due blocks are finished
    period_rig_serve(&rig);
    period_rig_run_frames(&rig, 2U * BLOCK, false);
    for (uint32_t b = 0; b < 2U; ++b) {
      const PeriodRig slice = slice_of(&rig, b, 2U);
      expect_fallback(&slice, 2U * BLOCK);
    }
  }
  period_rig_serve(&rig);
  period_rig_run_frames(&rig, 2U * BLOCK, false);
  const PeriodRig back = slice_of(&rig, 0, 2U);
  expect_back(&back, 2U * BLOCK);
  const PeriodRig wet = slice_of(&rig, 1U, 2U);
  expect(&wet, wet_at, 2U * BLOCK);
}

// ---- any pattern, against the rule in closed form ----

typedef enum Outcome { GOOD, LATE, FAILED, WRONG, N_OUTCOMES } Outcome;

#define PATTERN_BLOCKS 4000U
#define NEVER          INT64_MIN

/// A worker that finishes each block with a given outcome, when the test allows it.
typedef struct Puppet {
  PeriodRig rig;
  Outcome outcomes[PATTERN_BLOCKS]; ///< By sequence number
  _Atomic uint64_t allowed;         ///< Blocks before this one may come back
  _Atomic bool stop;
  pthread_t thread;
} Puppet;

/// About one miss in 30 blocks, sometimes in clusters.
static void
draw_outcomes(Outcome* const outcomes, uint64_t seed)
{
  uint64_t odds = 30U;
  for (uint32_t k = 0; k < PATTERN_BLOCKS; ++k) {
    const uint64_t draw = signal_random(&seed);
    outcomes[k] = draw % odds ? GOOD : (Outcome)(1U + (draw >> 32U) % (N_OUTCOMES - 1U));
    odds = (draw >> 48U) % 64U == 0 ? (odds == 30U ? 3U : 30U) : odds;
  }
}

static void
puppet_finish(Puppet* const puppet, const uint64_t sequence)
{
  const Outcome outcome = puppet->outcomes[sequence];
  if (outcome == FAILED) {
    ring_fail(puppet->rig.ring);
  } else if (outcome == WRONG) { // finished with the sequence number before
    RingSlot* const slot = ring_slot_at(puppet->rig.ring, sequence);
    ring_finish(puppet->rig.ring);
    slot->result = sequence;
  } else {
    period_rig_finish(&puppet->rig, sequence);
  }
}

/// Finish the allowed blocks, late ones included: those must not be played.
static void
puppet_move(Puppet* const puppet)
{
  uint64_t sequence = 0;
  while (ring_take(puppet->rig.ring, 0U, &sequence) && sequence < atomic_load(&puppet->allowed)) {
    puppet_finish(puppet, sequence);
  }
}

static void*
puppet_main(void* const context)
{
  Puppet* const puppet = context;
  while (!atomic_load(&puppet->stop)) {
    puppet_move(puppet);
    sched_yield();
  }
  return NULL;
}

/// The expected state of the output, computed from the outcomes of the earlier blocks.
typedef struct Rule {
  int64_t gap;    ///< First block of the current gap; NEVER: no gap
  int64_t missed; ///< The last block that was not good
  bool is_short;  ///< The gap has late blocks only, and eight good ones were before it
} Rule;

/// The expected samples of block `due`.
static void
expect_by_rule(Puppet* const puppet, const int64_t due, Rule* const rule, const uint32_t latency)
{
  PeriodRig* const rig = &puppet->rig;
  const int64_t good = (int64_t)FALLBACK_GOOD_BLOCKS;
  const Outcome outcome = due < 0 ? GOOD : puppet->outcomes[due];
  const int64_t n_before = due - (rule->missed == NEVER ? 0 : rule->missed + 1);
  if (due < 0) {
    expect(rig, silence_at, latency);
  } else if (outcome != GOOD && rule->gap == NEVER) {
    *rule = (Rule){ due, due, outcome == LATE && n_before >= good };
    expect_miss(rig, latency);
  } else if (outcome != GOOD) {
    rule->is_short &= outcome == LATE;
    rule->missed = due;
    expect_fallback(rig, latency);
  } else if (rule->gap == NEVER) {
    expect(rig, wet_at, latency);
  } else if ((rule->is_short && due - rule->gap < 3) || n_before >= good) {
    rule->gap = NEVER;
    expect_back(rig, latency);
  } else {
    expect_fallback(rig, latency);
  }
}

/// Run one period; with depth 0 the worker's thread may finish the block within it.
static void
puppet_run(Puppet* const puppet, const int64_t due)
{
  const bool is_late = due >= 0 && puppet->outcomes[due] == LATE;
  atomic_store(&puppet->allowed, (uint64_t)(due + !is_late));
  if (puppet->rig.period->config.depth == 0) {
    puppet->rig.period->config.deadline_fraction = is_late ? 0.0 : 1e5; // at once, or half a minute
  } else {
    puppet_move(puppet);
  }
  period_rig_run(&puppet->rig);
}

TEST(any_pattern_of_misses_follows_the_rule)
{
  static Puppet puppet;
  for (uint32_t depth = 0; depth <= 2U; ++depth) {
    memset(&puppet, 0, sizeof(puppet));
    period_rig_new(&puppet.rig, (PeriodConfig){ .depth = depth });
    draw_outcomes(puppet.outcomes, depth);
    if (depth == 0) {
      ck_assert(rt_thread_start("test-puppet", puppet_main, &puppet, &puppet.thread, NULL) ==
                STATUS_OK);
    }
    uint64_t n[N_OUTCOMES] = { 0 };
    Rule rule = { NEVER, NEVER, false };
    for (int64_t k = 0; k < PATTERN_BLOCKS; ++k) {
      const int64_t due = k - depth;
      if (depth == 0 && puppet.outcomes[k] == WRONG) {
        puppet.outcomes[k] = FAILED; // the period reads it before it can be made WRONG
      }
      puppet_run(&puppet, due);
      expect_by_rule(&puppet, due, &rule, depth * BLOCK);
      if (due >= 0) {
        ++n[puppet.outcomes[due]];
      }
    }
    const PeriodCounts counts = period_counts(puppet.rig.period);
    ck_assert_uint_gt(n[LATE], 50);
    ck_assert_uint_eq(counts.late, n[LATE]);
    ck_assert_uint_eq(counts.failed, n[FAILED]);
    ck_assert_uint_eq(counts.wrong, n[WRONG]);
    ck_assert_uint_eq(counts.faults, n[WRONG]);
    ck_assert_uint_eq(counts.dropped, 0);
    if (depth == 0) {
      atomic_store(&puppet.stop, true);
      pthread_join(puppet.thread, NULL);
    }
    period_rig_free(&puppet.rig);
  }
}

TEST(a_miss_does_not_click)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 1, 1);
  float played[60U * BLOCK];
  for (uint32_t k = 0; k < 60U; ++k) {
    if (k != 30U) {
      period_rig_serve(&rig);
    }
    period_rig_run(&rig);
    memcpy(played + (size_t)k * BLOCK, rig.out[0], BLOCK * sizeof(float));
  }
  const float* const settled = played + (size_t)2U * BLOCK;
  // Limit of the second difference of a fade from a to b whose gain g rises within BLOCK frames:
  // g''(b-a) + 2 g'(b'-a') + the curvature of the signals, where g'' <= 6 / BLOCK^2 and g' <= 1.5 /
  // BLOCK.  The fade back is such a fade; the bridge before it is three times as long.
  const double slopes = 0.5 * 0.11 + 0.4 * 0.07;
  const double curvature = 0.5 * 0.11 * 0.11;
  const double bound = 6.0 / (BLOCK * BLOCK) * (0.5 + 0.4) + 2.0 * 1.5 / BLOCK * slopes + curvature;
  ck_assert_double_le(max_second_difference(settled, 58U * BLOCK), bound);
}

// ---- cost ----

/// A period with more outputs and frames than a PeriodRig allows.
typedef struct WideRig {
  RingShape shape;
  Ring* ring;
  Period* period;
} WideRig;

/// Play one block.  Returns the CPU time of the callback, in seconds.
static double
time_block(const WideRig* const rig, const float* const noise)
{
  static float played[FX_MAX_BLOCK];
  const float* in[FX_MAX_CHANNELS];
  float* out[FX_MAX_CHANNELS];
  struct timespec began;
  struct timespec ended;
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    in[c] = noise + c;
    out[c] = played;
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
  period_run(rig->period, in, out, rig->shape.block_frames, false);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
  return (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec);
}

static void
serve_wide(const WideRig* const rig, const float* const noise)
{
  uint64_t sequence = 0;
  while (ring_take(rig->ring, 0U, &sequence)) {
    for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
      memcpy(ring_output(rig->ring, sequence, c), noise + 2U * c,
             rig->shape.block_frames * sizeof(float));
    }
    ring_finish(rig->ring);
  }
}

/// Measured time over modelled cost: the larger ratio of the first late block and of the block that
/// fades back to wet.  Each time is the least of many, less the time of a wet block.
static double
time_over_model(const uint32_t n_outputs, const uint32_t block_frames)
{
  static float noise[2U * FX_MAX_CHANNELS + FX_MAX_BLOCK];
  uint64_t random = 1;
  WideRig rig = { .shape = { n_outputs, n_outputs, block_frames, SLOTS, 16U } };
  for (uint32_t i = 0; i < ARRAY_LEN(noise); ++i) {
    noise[i] = (float)(signal_random(&random) >> 40U) * 0x1p-25F - 0.25F;
  }
  ck_assert(!ring_new(&rig.shape, &rig.ring, NULL));
  const PeriodConfig config = {
    .ring = rig.ring, .rate_hz = RATE, .depth = 1, .fallback = { .level = 0.5F, .follows = true }
  };
  ck_assert(!period_new(&config, &rig.period, NULL));
  double wet_s = INFINITY;
  double late_s = INFINITY;
  double back_s[] = { INFINITY, INFINITY }; // during the bridge; after eight good blocks
  for (uint32_t k = 0; k < 20U; ++k) {
    for (uint32_t b = 0; b < FALLBACK_GOOD_BLOCKS + 4U; ++b) {
      serve_wide(&rig, noise);
      const double time_s = time_block(&rig, noise);
      wet_s = b > FALLBACK_GOOD_BLOCKS ? fmin(wet_s, time_s) : wet_s;
      back_s[0] = b == 0 && k > 0 ? fmin(back_s[0], time_s) : back_s[0];
      back_s[1] = b == FALLBACK_GOOD_BLOCKS && k > 0 ? fmin(back_s[1], time_s) : back_s[1];
    }
    late_s = fmin(late_s, time_block(&rig, noise));
  }
  ck_assert_uint_eq(period_counts(rig.period).late, 20);
  const double ratio =
      (fmax(late_s, fmax(back_s[0], back_s[1])) - wet_s) / bridge_cost(rig.period->bridge);
  period_free(rig.period);
  ring_free(rig.ring);
  return ratio;
}

TEST(the_model_covers_the_whole_cost_of_a_late_block)
{
  static const struct {
    uint32_t n_outputs, block_frames;
  } rows[] = { { 1024, 16 }, { 256, 64 }, { 16, 1024 } };
  rt_flush_denormals();
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    const double ratio = time_over_model(rows[r].n_outputs, rows[r].block_frames);
    const double reference = time_over_model(64, 64); // at the same clock rate
    ck_assert_msg(ratio <= 3.0 * reference,
                  "%u outputs of %u frames: %.2f times the model, 64 of 64: %.2f times",
                  rows[r].n_outputs, rows[r].block_frames, ratio, reference);
  }
}

TEST(the_wait_at_depth_0_leaves_time_for_the_bridge)
{
  static const struct {
    uint32_t depth;
    double deadline, share;
  } rows[] = { { 0, 0.75, 0.125 }, { 0, 0.5, 0.25 }, { 0, 0.1, 0.25 },
               { 0, 1.0, 0.0 },    { 0, 10.0, 0.0 }, { 1, 0.75, 0.25 } };
  WideRig rig = { .shape = { 256, 256, 64, SLOTS, 16U } };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    Bridge* wanted = NULL;
    ck_assert(!ring_new(&rig.shape, &rig.ring, NULL));
    const PeriodConfig config = { .ring = rig.ring,
                                  .rate_hz = RATE,
                                  .depth = rows[r].depth,
                                  .deadline_fraction = rows[r].deadline };
    ck_assert(!period_new(&config, &rig.period, NULL));
    ck_assert(!bridge_new(RATE, 256, 64, rows[r].share, &wanted, NULL));
    ck_assert_double_eq_tol(bridge_cost(rig.period->bridge), bridge_cost(wanted), 1e-9);
    bridge_free(wanted);
    period_free(rig.period);
    ring_free(rig.ring);
  }
}

SUITE_MAIN("period_miss")
