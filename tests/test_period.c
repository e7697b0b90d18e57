// SPDX-License-Identifier: GPL-3.0-or-later
// One period: the wet signal comes out with a constant latency, a miss fades to the dry signal of
// exactly the same latency and back, and nothing that is not a proper sample leaves.
//
// The tests play the worker themselves, so that each block is late or in time exactly as written.
// Dry and wet signals are functions of the frame time and the channel; what must come out at each
// frame is computed from those alone.

#include "support/signals.h"
#include "support/suite.h"

#include "../engine/period.h"
#include "../engine/rt.h"

#include <math.h>
#include <string.h>

#define RATE     48000.0
#define BLOCK    16U
#define SLOTS    4U
#define CHANNELS 3U
#define LONGEST  256U // frames of a period

typedef struct Rig {
  Ring* ring;
  Period* period;
  RingShape shape;
  uint64_t frame; // first frame of the next period
  float in[CHANNELS][LONGEST], out[CHANNELS][LONGEST];
} Rig;

/// The input, 0 before the start.  Smooth, different in each channel, within ±0.5.
static float
dry_at(const uint32_t channel, const int64_t frame)
{
  return frame < 0 ? 0.0F : (float)(0.5 * sin(0.11 * (double)frame + channel));
}

/// What the worker makes.
static float
wet_at(const uint32_t channel, const int64_t frame)
{
  return frame < 0 ? 0.0F : (float)(0.4 * cos(0.07 * (double)frame + 2.0 * channel));
}

static void
rig_new_wide(Rig* const rig, PeriodConfig config, const uint32_t n_in, const uint32_t n_out)
{
  memset(rig, 0, sizeof(*rig));
  rig->shape = (RingShape){ n_in, n_out, BLOCK, SLOTS, 16 };
  Error error = { STATUS_OK, "" };
  ck_assert_msg(ring_new(&rig->shape, &rig->ring, &error) == STATUS_OK, "%s", error.text);
  config.ring = rig->ring;
  config.rate_hz = RATE;
  ck_assert_msg(period_new(&config, &rig->period, &error) == STATUS_OK, "%s", error.text);
}

static void
rig_new(Rig* const rig, const PeriodConfig config)
{
  rig_new_wide(rig, config, CHANNELS, CHANNELS);
}

static void
rig_free(Rig* const rig)
{
  period_free(rig->period);
  ring_free(rig->ring);
}

/// Finish one block: check the input that came with it, write the wet signal.
static void
finish_block(const Rig* const rig, const uint64_t sequence)
{
  const SlotHeader slot = *ring_slot(rig->ring, sequence);
  ck_assert_uint_eq(slot.n_frames, BLOCK);
  for (uint32_t c = 0; c < rig->shape.n_in; ++c) {
    const float* const in = ring_input(rig->ring, sequence, c);
    for (uint32_t i = 0; i < BLOCK; ++i) {
      if (in[i] != dry_at(c, (int64_t)(slot.frame + i))) { // a passed assertion is a system call
        ck_abort_msg("the worker was given another signal");
      }
    }
  }
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    float* const out = ring_output(rig->ring, sequence, c);
    for (uint32_t i = 0; i < BLOCK; ++i) {
      out[i] = wet_at(c, (int64_t)(slot.frame + i));
    }
  }
  ring_finish(rig->ring);
}

/// The worker catches up.
static void
serve(const Rig* const rig)
{
  uint64_t sequence = 0;
  while (ring_take(rig->ring, 0U, &sequence)) {
    finish_block(rig, sequence);
  }
}

/// The worker catches up, without sound.
static void
serve_failed(const Rig* const rig)
{
  uint64_t sequence = 0;
  while (ring_take(rig->ring, 0U, &sequence)) {
    ring_fail(rig->ring);
  }
}

static void
run_frames(Rig* const rig, const uint32_t n_frames, const bool wait)
{
  const float* ins[CHANNELS];
  float* outs[CHANNELS];
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    ins[c] = rig->in[c];
    outs[c] = rig->out[c];
    for (uint32_t i = 0; i < n_frames; ++i) {
      rig->in[c][i] = dry_at(c, (int64_t)(rig->frame + i));
      rig->out[c][i] = 99.0F;
    }
  }
  period_run(rig->period, ins, outs, n_frames, wait);
  rig->frame += n_frames;
}

static void
run(Rig* const rig)
{
  run_frames(rig, BLOCK, false);
}

static void
run_served(Rig* const rig)
{
  serve(rig);
  run(rig);
}

typedef float (*Signal)(uint32_t channel, int64_t frame);

static float
silence_at(const uint32_t channel, const int64_t frame)
{
  (void)channel;
  (void)frame;
  return 0.0F;
}

/// The last period was `signal`, `latency` frames late, to the bit.
static void
expect_frames(const Rig* const rig, const Signal signal, const uint32_t latency,
              const uint32_t n_frames)
{
  const int64_t first = (int64_t)rig->frame - n_frames - latency;
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    for (uint32_t i = 0; i < n_frames; ++i) {
      if (rig->out[c][i] != signal(c, first + i)) {
        ck_abort_msg("frame %llu channel %u: %g, not %g",
                     (unsigned long long)(rig->frame - n_frames + i), c, (double)rig->out[c][i],
                     (double)signal(c, first + i));
      }
    }
  }
}

static void
expect(const Rig* const rig, const Signal signal, const uint32_t latency)
{
  expect_frames(rig, signal, latency, BLOCK);
}

/// The weight of the signal that a fade goes to.
static double
fade_gain(const uint32_t i)
{
  const double way = (i + 1.0) / BLOCK;
  return 3.0 * way * way - 2.0 * way * way * way;
}

/// The last block went from one signal to the other and ended on the second.
static void
expect_fade(const Rig* const rig, const Signal from, const Signal to, const uint32_t from_latency,
            const uint32_t to_latency)
{
  const int64_t first = (int64_t)rig->frame - BLOCK;
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      const double gain = fade_gain(i);
      const double wanted = (double)from(c, first + i - from_latency) * (1.0 - gain) +
                            (double)to(c, first + i - to_latency) * gain;
      ck_assert_double_eq_tol(rig->out[c][i], wanted, 2e-7);
    }
    ck_assert(rig->out[c][BLOCK - 1U] == to(c, first + BLOCK - 1 - to_latency));
  }
}

/// The last block went from the odd reflection of the wet signal before it to the dry signal.
static void
expect_miss(const Rig* const rig, const uint32_t wet_latency, const uint32_t dry_latency)
{
  const int64_t first = (int64_t)rig->frame - BLOCK;
  for (uint32_t c = 0; c < rig->shape.n_out; ++c) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      const int64_t last = first - 1 - wet_latency; // the last wet frame that was heard
      const double wet = 2.0 * (double)wet_at(c, last) - (double)wet_at(c, last - (int64_t)i - 1);
      const double gain = fade_gain(i);
      const double wanted = wet * (1.0 - gain) + (double)dry_at(c, first + i - dry_latency) * gain;
      ck_assert_double_eq_tol(rig->out[c][i], wanted, 5e-7);
    }
  }
}

// ---- normal flow ----

START_TEST(a_block_comes_out_depth_periods_later_to_the_bit)
{
  for (uint32_t depth = 1; depth <= 2U; ++depth) {
    Rig rig;
    rig_new(&rig, (PeriodConfig){ .depth = depth });
    for (uint32_t k = 0; k < 50U; ++k) {
      run_served(&rig);
      expect(&rig, k < depth ? silence_at : wet_at, depth * BLOCK);
    }
    const PeriodCounts counts = period_counts(rig.period);
    ck_assert_uint_eq(counts.blocks, 50);
    ck_assert_uint_eq(counts.late + counts.dropped + counts.dry + counts.clipped + counts.bad_in +
                          counts.bad_out + counts.odd_periods + counts.faults,
                      0);
    rig_free(&rig);
  }
}
END_TEST

typedef struct Worker {
  const Rig* rig;
  uint32_t pause_us; // before each block
  _Atomic uint32_t flags;
  _Atomic bool stop;
  pthread_t thread;
} Worker;

static void*
worker_main(void* const context)
{
  Worker* const worker = context;
  while (!atomic_load(&worker->stop)) {
    uint64_t sequence = 0;
    if (ring_wait_take(worker->rig->ring, 0, UINT64_MAX, &sequence)) {
      const struct timespec pause = { 0, worker->pause_us * 1000L };
      nanosleep(&pause, NULL);
      atomic_fetch_or(&worker->flags, ring_slot(worker->rig->ring, sequence)->flags);
      finish_block(worker->rig, sequence);
    }
  }
  return NULL;
}

static void
worker_start(Worker* const worker, const Rig* const rig, const uint32_t pause_us)
{
  worker->rig = rig;
  worker->pause_us = pause_us;
  atomic_init(&worker->flags, 0);
  atomic_init(&worker->stop, false);
  ck_assert(rt_thread_start("test-worker", worker_main, worker, &worker->thread, NULL) ==
            STATUS_OK);
}

static void
worker_stop(Worker* const worker)
{
  atomic_store(&worker->stop, true);
  ring_wake(worker->rig->ring);
  pthread_join(worker->thread, NULL);
}

START_TEST(depth_0_waits_for_its_own_block)
{
  Rig rig;
  Worker worker;
  rig_new(&rig, (PeriodConfig){ .deadline = 1e5 }); // half a minute: never late
  worker_start(&worker, &rig, 0);
  for (uint32_t k = 0; k < 200U; ++k) {
    run(&rig);
    expect(&rig, wet_at, 0);
  }
  worker_stop(&worker);
  ck_assert_uint_eq(period_counts(rig.period).late, 0);
  rig_free(&rig);
}
END_TEST

START_TEST(depth_0_gives_up_at_its_deadline)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .deadline = 10.0 });
  const uint64_t began = rt_now_ns();
  run(&rig);
  ck_assert_uint_ge(rt_now_ns() - began, (uint64_t)(10.0 * BLOCK / RATE * 1e9));
  ck_assert_uint_eq(period_counts(rig.period).late, 1);
  expect_fade(&rig, silence_at, dry_at, 0, 0); // nothing wet was heard before
  run_served(&rig);
  expect(&rig, dry_at, 0);
  rig_free(&rig);
}
END_TEST

START_TEST(a_period_of_several_blocks_is_processed_in_slices)
{
  Rig rig;
  Worker worker;
  rig_new(&rig, (PeriodConfig){ .depth = 1 });
  worker_start(&worker, &rig, 0);
  run_frames(&rig, 0, true);
  run_frames(&rig, BLOCK, true);
  expect(&rig, silence_at, 0);
  for (uint32_t k = 0; k < 20U; ++k) {
    const uint32_t n_frames = (k % 9U + 1U) * BLOCK;
    run_frames(&rig, n_frames, true);
    expect_frames(&rig, wet_at, BLOCK, n_frames);
  }
  worker_stop(&worker);
  rig_free(&rig);
}
END_TEST

START_TEST(whoever_waits_misses_nothing)
{
  for (uint32_t depth = 0; depth <= 2U; ++depth) {
    Rig rig;
    Worker worker;
    rig_new(&rig, (PeriodConfig){ .depth = depth });
    worker_start(&worker, &rig, 500);
    for (uint32_t k = 0; k < 40U; ++k) {
      run_frames(&rig, BLOCK, true);
      expect(&rig, k < depth ? silence_at : wet_at, depth * BLOCK);
    }
    worker_stop(&worker);
    ck_assert_uint_eq(atomic_load(&worker.flags), SLOT_WAITED);
    const PeriodCounts counts = period_counts(rig.period);
    ck_assert_uint_eq(counts.late + counts.dropped + counts.dry, 0);
    ck_assert_uint_eq(counts.callback_ns_sum, 0);
    rig_free(&rig);
  }
}
END_TEST

START_TEST(whoever_starts_to_wait_hears_wet_again_at_once)
{
  Rig rig;
  Worker worker;
  rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 20U; ++k) {
    run(&rig); // never served: the ring is full
  }
  ck_assert_uint_eq(period_counts(rig.period).dropped, 20U - SLOTS);
  worker_start(&worker, &rig, 0);
  run_frames(&rig, BLOCK, true);
  expect(&rig, dry_at, BLOCK); // the block that is due was dropped
  run_frames(&rig, BLOCK, true);
  expect_fade(&rig, dry_at, wet_at, BLOCK, BLOCK);
  run_frames(&rig, BLOCK, true);
  expect(&rig, wet_at, BLOCK);
  worker_stop(&worker);
  rig_free(&rig);
}
END_TEST

// ---- misses ----

START_TEST(a_late_block_fades_to_dry_for_eight_good_blocks_and_back)
{
  for (uint32_t depth = 1; depth <= 2U; ++depth) {
    Rig rig;
    rig_new(&rig, (PeriodConfig){ .depth = depth });
    const uint32_t latency = depth * BLOCK;
    for (uint32_t k = 0; k < 10U; ++k) {
      run_served(&rig);
    }
    for (uint32_t k = 1; k < depth; ++k) {
      run(&rig); // blocks in flight that are still in time
      expect(&rig, wet_at, latency);
    }
    run(&rig);
    expect_miss(&rig, latency, latency);
    for (uint32_t k = 0; k < PERIOD_GOOD_BLOCKS; ++k) {
      run_served(&rig);
      expect(&rig, dry_at, latency);
    }
    run_served(&rig);
    expect_fade(&rig, dry_at, wet_at, latency, latency);
    for (uint32_t k = 0; k < 5U; ++k) {
      run_served(&rig);
      expect(&rig, wet_at, latency);
    }
    const PeriodCounts counts = period_counts(rig.period);
    ck_assert_uint_eq(counts.late, 1);
    ck_assert_uint_eq(counts.dry, 1U + PERIOD_GOOD_BLOCKS + 1U);
    ck_assert_uint_eq(counts.dropped, 0);
    rig_free(&rig);
  }
}
END_TEST

START_TEST(a_block_without_sound_is_a_late_one)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 10U; ++k) {
    run_served(&rig);
  }
  serve_failed(&rig);
  run(&rig);
  expect_miss(&rig, BLOCK, BLOCK);
  serve_failed(&rig);
  run(&rig);
  expect(&rig, dry_at, BLOCK);
  for (uint32_t k = 0; k < PERIOD_GOOD_BLOCKS; ++k) {
    run_served(&rig);
    expect(&rig, dry_at, BLOCK);
  }
  run_served(&rig);
  expect_fade(&rig, dry_at, wet_at, BLOCK, BLOCK);
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.failed, 2);
  ck_assert_uint_eq(counts.late + counts.dropped, 0);
  rig_free(&rig);
}
END_TEST

START_TEST(the_good_blocks_must_follow_each_other)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 3U; ++k) {
    run_served(&rig);
  }
  run(&rig);
  expect_miss(&rig, BLOCK, BLOCK);
  for (uint32_t k = 0; k < 30U; ++k) { // every eighth is late
    if (k % PERIOD_GOOD_BLOCKS != PERIOD_GOOD_BLOCKS - 1U) {
      serve(&rig);
    }
    run(&rig);
    expect(&rig, dry_at, BLOCK);
  }
  ck_assert_uint_eq(period_counts(rig.period).late, 1U + 3U);
  rig_free(&rig);
}
END_TEST

START_TEST(a_miss_while_fading_back_fades_to_dry_again)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .depth = 1 });
  run_served(&rig);
  run(&rig);
  for (uint32_t k = 0; k < PERIOD_GOOD_BLOCKS + 1U; ++k) {
    run_served(&rig);
  }
  expect_fade(&rig, dry_at, wet_at, BLOCK, BLOCK);
  run(&rig);
  expect_miss(&rig, BLOCK, BLOCK);
  rig_free(&rig);
}
END_TEST

START_TEST(dropped_blocks_never_shift_the_latency)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .depth = 2 });
  for (uint32_t k = 0; k < 5U; ++k) {
    run_served(&rig);
  }
  run(&rig); // still in time
  run(&rig);
  expect_miss(&rig, 2U * BLOCK, 2U * BLOCK);
  for (uint32_t k = 0; k < 9U; ++k) {
    run(&rig);
    expect(&rig, dry_at, 2U * BLOCK);
  }
  // Of 11 blocks since the worker stopped, SLOTS less the one that it had left fit in.
  PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.dropped, 11U - (SLOTS - 1U));
  ck_assert_uint_eq(counts.late + counts.dropped, 1U + 9U + 2U); // two drops are not due yet
  for (uint32_t k = 0; k < 2U + PERIOD_GOOD_BLOCKS; ++k) {
    run_served(&rig);
    expect(&rig, dry_at, 2U * BLOCK);
  }
  run_served(&rig);
  expect_fade(&rig, dry_at, wet_at, 2U * BLOCK, 2U * BLOCK);
  for (uint32_t k = 0; k < 20U; ++k) {
    run_served(&rig);
    expect(&rig, wet_at, 2U * BLOCK);
  }
  counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.dropped, 11U - (SLOTS - 1U));
  rig_free(&rig);
}
END_TEST

START_TEST(any_pattern_of_misses_keeps_latency_and_level)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .depth = 1 });
  uint64_t state = 7;
  uint32_t n_wet = 0;
  for (uint32_t k = 0; k < 20000U; ++k) {
    if (signal_random(&state) % 32U) {
      serve(&rig);
    }
    const uint64_t dry_before = period_counts(rig.period).dry;
    run(&rig);
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
  rig_free(&rig);
}
END_TEST

START_TEST(a_miss_does_not_click)
{
  Rig rig;
  rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 1, 1);
  float heard[60U * BLOCK];
  for (uint32_t k = 0; k < 60U; ++k) {
    if (k != 30U) {
      serve(&rig);
    }
    run(&rig);
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
  rig_free(&rig);
}
END_TEST

START_TEST(a_counter_out_of_range_is_a_miss_and_a_fault)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .depth = 1 });
  run_served(&rig);
  // The other side's counter: the one word that finishing a block changes.
  size_t n_bytes = 0;
  uint64_t* const words = ring_memory(rig.ring, &n_bytes);
  uint64_t before[128];
  memcpy(before, words, sizeof(before));
  serve(&rig);
  size_t finished = 0;
  while (finished < 128U && words[finished] == before[finished]) {
    ++finished;
  }
  ck_assert_uint_lt(finished, 128);
  run(&rig);
  expect(&rig, wet_at, BLOCK);
  const uint64_t right = words[finished];
  words[finished] = 1000;
  run(&rig);
  expect_miss(&rig, BLOCK, BLOCK);
  words[finished] = right - 1U; // backwards
  run(&rig);
  expect(&rig, dry_at, BLOCK);
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_ge(counts.faults, 2);
  ck_assert_uint_eq(counts.late, 2);
  words[finished] = right;
  run_served(&rig);
  ck_assert_uint_eq(period_counts(rig.period).faults, counts.faults);
  rig_free(&rig);
}
END_TEST

// ---- the dry signal ----

START_TEST(the_dry_signal_has_the_latency_of_the_rack)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .depth = 1, .max_latency_frames = 100 });
  period_set_latency(rig.period, 37);
  run_served(&rig);
  run(&rig);
  expect_miss(&rig, BLOCK, BLOCK + 37U);
  for (uint32_t k = 0; k < 40U; ++k) { // also around the end of the line
    run(&rig);
    expect(&rig, dry_at, BLOCK + 37U);
  }
  period_set_latency(rig.period, 100);
  run(&rig);
  expect_fade(&rig, dry_at, dry_at, BLOCK + 37U, BLOCK + 100U);
  run(&rig);
  expect(&rig, dry_at, BLOCK + 100U);
  period_set_latency(rig.period, 5000); // cut to the largest
  run(&rig);
  expect(&rig, dry_at, BLOCK + 100U);
  rig_free(&rig);
}
END_TEST

START_TEST(dry_may_be_silence)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .depth = 1, .dry_is_silent = true });
  run_served(&rig);
  run(&rig);
  run(&rig);
  expect(&rig, silence_at, 0);
  rig_free(&rig);
}
END_TEST

START_TEST(a_mono_input_is_dry_everywhere_and_missing_inputs_are_silent)
{
  Rig rig;
  rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 1, CHANNELS);
  run(&rig);
  run(&rig);
  run(&rig);
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    ck_assert(memcmp(rig.out[c], rig.out[0], BLOCK * sizeof(float)) == 0);
    ck_assert(rig.out[c][3] == dry_at(0, 1 * BLOCK + 3));
  }
  rig_free(&rig);

  rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 2, CHANNELS);
  run(&rig);
  run(&rig);
  run(&rig);
  ck_assert(rig.out[0][3] == dry_at(0, BLOCK + 3));
  ck_assert(rig.out[1][3] == dry_at(1, BLOCK + 3));
  ck_assert(rig.out[2][3] == 0.0F);
  rig_free(&rig);

  rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 0, 1);
  run(&rig);
  run(&rig);
  expect(&rig, silence_at, 0);
  rig_free(&rig);
}
END_TEST

// ---- odd periods ----

START_TEST(an_odd_period_is_silent_and_the_pipeline_starts_afresh)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .depth = 1, .max_latency_frames = 64 });
  period_set_latency(rig.period, 50);
  for (uint32_t k = 0; k < 5U; ++k) {
    run_served(&rig);
  }
  static const uint32_t odd[] = { BLOCK - 1U, 1, BLOCK + 3U, 5U * BLOCK + 7U };
  for (uint32_t o = 0; o < ARRAY_LEN(odd); ++o) {
    serve(&rig);
    run_frames(&rig, odd[o], false);
    expect_frames(&rig, silence_at, 0, odd[o]);
  }
  ck_assert_uint_eq(period_counts(rig.period).odd_periods, ARRAY_LEN(odd));
  run_served(&rig);
  expect(&rig, silence_at, 0);
  run_served(&rig);
  expect(&rig, wet_at, BLOCK);
  run(&rig);
  expect_miss(&rig, BLOCK, BLOCK + 50U); // the dry line has heard the odd periods too
  run(&rig);
  expect(&rig, dry_at, BLOCK + 50U);
  rig_free(&rig);
}
END_TEST

// ---- level and guards ----

START_TEST(the_output_fades_to_silence_and_back)
{
  Rig rig;
  rig_new(&rig, (PeriodConfig){ .depth = 1 });
  run_served(&rig);
  const uint32_t fade_frames = (uint32_t)(0.05 * RATE);
  for (int down = 1; down >= 0; --down) {
    period_fade(rig.period, down);
    for (uint32_t done = 0; done < fade_frames + 2U * BLOCK; done += BLOCK) {
      ck_assert(period_is_silent(rig.period) == (down ? done >= fade_frames : done == 0));
      run_served(&rig);
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
  rig_free(&rig);
}
END_TEST

/// One channel in and out, the worker's block given as samples.
static void
play_samples(Rig* const rig, const float* const wet)
{
  uint64_t sequence = 0;
  ck_assert(ring_take(rig->ring, 0U, &sequence));
  memcpy(ring_output(rig->ring, sequence, 0), wet, BLOCK * sizeof(float));
  ring_finish(rig->ring);
  run(rig);
}

START_TEST(what_leaves_is_finite_and_within_the_ceiling)
{
  static const float wet[BLOCK] = { 0.5F,  NAN,   2.0F, -3.0F,  INFINITY, -INFINITY, 0.7F, -0.7F,
                                    1e38F, -0.0F, -NAN, 1e-30F, 0.8F,     -0.8F,     0.0F, 0.1F };
  static const float limited[BLOCK] = { 0.5F,  0.0F,  0.75F, -0.75F, 0.0F,  0.0F,   0.7F, -0.7F,
                                        0.75F, -0.0F, 0.0F,  1e-30F, 0.75F, -0.75F, 0.0F, 0.1F };
  Rig rig;
  rig_new_wide(&rig, (PeriodConfig){ .depth = 1, .ceiling = 0.75F }, 1, 1);
  run(&rig);
  play_samples(&rig, wet);
  ck_assert(memcmp(rig.out[0], limited, sizeof(limited)) == 0);
  PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.bad_out, 4);
  ck_assert_uint_eq(counts.clipped, 5);
  rig_free(&rig);

  rig_new_wide(&rig, (PeriodConfig){ .depth = 1, .ceiling = 0.0F }, 1, 1);
  run(&rig);
  play_samples(&rig, wet);
  ck_assert(rig.out[0][2] == 2.0F && rig.out[0][8] == 1e38F && rig.out[0][1] == 0.0F);
  counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.bad_out, 4);
  ck_assert_uint_eq(counts.clipped, 0);
  rig_free(&rig);
}
END_TEST

START_TEST(bad_input_samples_reach_neither_worker_nor_dry_signal)
{
  Rig rig;
  rig_new_wide(&rig, (PeriodConfig){ .depth = 1 }, 2, 2);
  float left[BLOCK] = { NAN, 0.25F, INFINITY, -INFINITY, 2e20F };
  float out[2][BLOCK];
  const float* const ins[] = { left, NULL };
  float* const outs[] = { out[0], out[1] };
  period_run(rig.period, ins, outs, BLOCK, false);
  static const float clean[BLOCK] = { 0.0F, 0.25F, 0.0F, 0.0F, 2e20F };
  static const float zeroes[BLOCK];
  ck_assert(memcmp(ring_input(rig.ring, 0, 0), clean, sizeof(clean)) == 0);
  ck_assert(memcmp(ring_input(rig.ring, 0, 1), zeroes, sizeof(zeroes)) == 0); // NULL is silence
  ck_assert_uint_eq(period_counts(rig.period).bad_in, 3);
  memset(left, 0, sizeof(left));
  period_run(rig.period, ins, outs, BLOCK, false); // late
  ck_assert_double_eq_tol(out[0][1], 0.25 * fade_gain(1), 1e-7);
  rig_free(&rig);
}
END_TEST

// ---- other threads ----

START_TEST(the_clock_tells_the_frame_of_the_next_period)
{
  Rig rig;
  uint64_t before = rt_now_ns();
  rig_new(&rig, (PeriodConfig){ .depth = 1, .first_frame = 1000 });
  uint64_t frame = 1;
  uint64_t ns = 1;
  period_clock(rig.period, &frame, &ns);
  ck_assert_uint_eq(frame, 1000);
  ck_assert_uint_ge(ns, before);
  ck_assert_uint_le(ns, rt_now_ns());
  before = rt_now_ns();
  run(&rig);
  run_frames(&rig, BLOCK + 5U, false);
  period_clock(rig.period, &frame, &ns);
  ck_assert_uint_eq(frame, 1000U + 2U * BLOCK + 5U);
  ck_assert_uint_ge(ns, before);
  ck_assert_uint_le(ns, rt_now_ns());
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_gt(counts.callback_ns_max, 0);
  ck_assert_uint_ge(counts.callback_ns_sum, counts.callback_ns_max);
  rig_free(&rig);
}
END_TEST

typedef struct ClockReader {
  const Rig* rig;
  _Atomic bool stop;
  uint64_t n_wrong;
} ClockReader;

/// Frame and time both only grow, and one does not change without the other.
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

START_TEST(others_read_the_clock_as_a_pair_while_audio_runs)
{
  Rig rig;
  rig_new_wide(&rig, (PeriodConfig){ .depth = 1, .max_latency_frames = 64 }, 1, 1);
  ClockReader reader = { .rig = &rig };
  pthread_t thread;
  ck_assert(rt_thread_start("test-reader", read_clock, &reader, &thread, NULL) == STATUS_OK);
  for (uint32_t k = 0; k < 100000U; ++k) {
    run(&rig);
  }
  atomic_store(&reader.stop, true);
  pthread_join(thread, NULL);
  ck_assert_uint_eq(reader.n_wrong, 0);
  rig_free(&rig);
}
END_TEST

START_TEST(a_wrong_configuration_is_refused)
{
  const RingShape shape = { 1, 1, BLOCK, SLOTS, 16 };
  Ring* ring = NULL;
  ck_assert(ring_new(&shape, &ring, NULL) == STATUS_OK);
  const PeriodConfig wrong[] = {
    { .ring = ring, .rate_hz = RATE, .depth = 3 },
    { .ring = ring, .rate_hz = 0.0 },
    { .ring = ring, .rate_hz = NAN },
    { .ring = ring, .rate_hz = RATE, .ceiling = NAN },
    { .ring = ring, .rate_hz = RATE, .ceiling = -1.0F },
    { .ring = ring, .rate_hz = RATE, .deadline = -0.5 },
    { .ring = ring, .rate_hz = RATE, .max_latency_frames = UINT32_MAX },
  };
  for (uint32_t i = 0; i < ARRAY_LEN(wrong); ++i) {
    Period* period = NULL;
    Error error = { STATUS_OK, "" };
    ck_assert(period_new(&wrong[i], &period, &error) == STATUS_BAD_ARG);
    ck_assert(!period && error.text[0]);
  }
  period_free(NULL);
  ring_free(ring);
}
END_TEST

SUITE_MAIN("period", a_block_comes_out_depth_periods_later_to_the_bit,
           depth_0_waits_for_its_own_block, depth_0_gives_up_at_its_deadline,
           a_period_of_several_blocks_is_processed_in_slices, whoever_waits_misses_nothing,
           whoever_starts_to_wait_hears_wet_again_at_once,
           a_late_block_fades_to_dry_for_eight_good_blocks_and_back,
           a_block_without_sound_is_a_late_one, the_good_blocks_must_follow_each_other,
           a_miss_while_fading_back_fades_to_dry_again, dropped_blocks_never_shift_the_latency,
           any_pattern_of_misses_keeps_latency_and_level, a_miss_does_not_click,
           a_counter_out_of_range_is_a_miss_and_a_fault, the_dry_signal_has_the_latency_of_the_rack,
           dry_may_be_silence, a_mono_input_is_dry_everywhere_and_missing_inputs_are_silent,
           an_odd_period_is_silent_and_the_pipeline_starts_afresh,
           the_output_fades_to_silence_and_back, what_leaves_is_finite_and_within_the_ceiling,
           bad_input_samples_reach_neither_worker_nor_dry_signal,
           the_clock_tells_the_frame_of_the_next_period,
           others_read_the_clock_as_a_pair_while_audio_runs, a_wrong_configuration_is_refused)
