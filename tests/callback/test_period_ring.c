// SPDX-License-Identifier: GPL-3.0-or-later
// The callback trusts no worker: a worker that dies, hangs, is out of step or overwrites the shared
// region affects only the wet signal, and another ring replaces its ring without a gap in time.

#include "engine/base/rt.h"
#include "engine/base/time.h"
#include "engine/ring/ring_private.h"
#include "tests/support/period_rig.h"
#include "tests/support/scoped.h"
#include "tests/support/signals.h"
#include "tests/support/suite.h"

#include <math.h>
#include <sched.h>
#include <string.h>

// ---- words of the region ----

static RingHeader*
header_of(const PeriodRig* const rig)
{
  size_t n_bytes = 0;
  return ring_memory(rig->ring, &n_bytes);
}

TEST(a_counter_out_of_range_is_a_miss_and_a_fault)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  _Atomic uint64_t* const finished = &header_of(&rig)->finished;
  period_rig_run_served(&rig);
  period_rig_serve(&rig);
  const uint64_t right = *finished;
  *finished = 1000; // not submitted yet
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK);
  *finished = right - 1U; // less than the callback has read
  period_rig_run(&rig);
  expect_fallback(&rig, BLOCK);
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_ge(counts.faults, 2);
  ck_assert_uint_eq(counts.late, 2);
  *finished = right;
  period_rig_run_served(&rig);
  ck_assert_uint_eq(period_counts(rig.period).faults, counts.faults);
}

TEST(a_block_with_the_wrong_sequence_number_is_a_miss_and_a_fault)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  static const int64_t off[] = { -1, 1, -(int64_t)SLOTS, INT64_MAX, INT64_MIN + 1 };
  for (uint32_t o = 0; o < ARRAY_LEN(off); ++o) {
    period_rig_run_served(&rig);
    period_rig_run_served(&rig);
    expect(&rig, wet_at, BLOCK);
    period_rig_serve(&rig);
    ring_slot_at(rig.ring, ring_next(rig.ring) - 1U)->result += (uint64_t)off[o];
    period_rig_run(&rig);
    expect_miss(&rig, BLOCK);
    expect_way_back(&rig, BLOCK);
    ck_assert_uint_eq(period_counts(rig.period).wrong, o + 1U);
    ck_assert_uint_eq(period_counts(rig.period).faults, o + 1U);
    ck_assert_uint_eq(ring_faults(rig.ring), o + 1U);
  }
  const PeriodCounts counts = period_counts(rig.period);
  ck_assert_uint_eq(counts.late + counts.failed + counts.dropped, 0);
}

TEST(a_block_that_was_never_submitted_is_not_played)
{
  for (uint32_t depth = 1; depth <= 2U; ++depth) {
    SCOPED(period_rig_free) PeriodRig rig;
    period_rig_new(&rig, (PeriodConfig){ .depth = depth });
    for (uint32_t k = 0; k < 2U * SLOTS; ++k) { // every slot holds an old result
      period_rig_run_served(&rig);
    }
    header_of(&rig)->finished = ring_next(rig.ring); // in range, but the last block is not finished
    for (uint32_t k = 0; k < depth; ++k) {
      period_rig_run(&rig);
    }
    ck_assert_uint_eq(period_counts(rig.period).wrong, 1);
    expect_miss(&rig, depth * BLOCK);
  }
}

TEST(a_block_that_is_finished_twice_is_played_once)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  for (uint32_t k = 0; k < 20U; ++k) {
    period_rig_run_served(&rig);
    expect(&rig, k ? wet_at : silence_at, BLOCK);
    for (uint32_t c = 0; k && c < CHANNELS; ++c) {
      memset(ring_output(rig.ring, k - 1U, c), 0x42, BLOCK * sizeof(float));
    }
    header_of(&rig)->finished = header_of(&rig)->finished;
  }
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK); // continues the audio played before, not the data in the ring
  ck_assert_uint_eq(period_counts(rig.period).faults, 0);
}

// ---- another ring ----

/// Exchange the ring of the rig; the callback leaves the old ring, which is collected and unmapped.
static void
exchange(PeriodRig* const rig)
{
  SCOPED_RING Ring* const old = rig->ring;
  rig->ring = period_rig_new_ring(rig);
  ck_assert_ptr_null(period_offer_ring(rig->period, rig->ring));
  ck_assert_ptr_null(period_collect_ring(rig->period));
  period_rig_run(rig);
  ck_assert_ptr_eq(period_collect_ring(rig->period), old);
  ck_assert_ptr_null(period_collect_ring(rig->period));
}

TEST(another_ring_is_wet_when_the_latency_of_its_rack_has_passed)
{
  static const uint32_t latencies[] = { 0, 7U * BLOCK, 8U * BLOCK, 8U * BLOCK + 1U, 40U * BLOCK };
  for (uint32_t l = 0; l < ARRAY_LEN(latencies); ++l) {
    SCOPED(period_rig_free) PeriodRig rig;
    const uint32_t latency = BLOCK + latencies[l];
    const uint32_t n_incomplete = (latencies[l] + BLOCK - 1U) / BLOCK;
    period_rig_new(&rig, (PeriodConfig){ .depth = 1, .max_latency_frames = 1000U });
    period_set_latency(rig.period, latencies[l]);
    for (uint32_t k = 0; k < 60U; ++k) {
      period_rig_run_served(&rig);
    }
    expect(&rig, wet_at, BLOCK); // the first ring is wet from its start
    exchange(&rig);
    expect_miss(&rig, latency);
    for (uint32_t k = 0; k < n_incomplete || k < FALLBACK_GOOD_BLOCKS; ++k) {
      period_rig_run_served(&rig);
      expect_fallback(&rig, latency);
    }
    period_rig_run_served(&rig);
    const int64_t last = (int64_t)rig.frame - 1 - BLOCK;
    ck_assert(rig.out[0][BLOCK - 1U] == wet_at(0, last)); // the end of the fade
    period_rig_run_served(&rig);
    expect(&rig, wet_at, BLOCK);
  }
}

TEST(another_ring_takes_over_without_a_gap_in_time)
{
  for (uint32_t depth = 1; depth <= 2U; ++depth) {
    SCOPED(period_rig_free) PeriodRig rig;
    const uint32_t latency = depth * BLOCK;
    period_rig_new(&rig, (PeriodConfig){ .depth = depth });
    for (uint32_t k = 0; k < 7U; ++k) {
      period_rig_run_served(&rig);
    }
    period_rig_serve(&rig); // finishes all blocks in flight, which are lost anyway
    for (uint32_t round = 1; round <= 3U; ++round) {
      exchange(&rig);
      expect_miss(&rig, latency);
      for (uint32_t k = 1; k < depth; ++k) {
        period_rig_run_served(&rig);
        expect_fallback(&rig, latency);
      }
      expect_way_back(&rig, latency); // the rig checks input and frame of each finished block
      const PeriodCounts counts = period_counts(rig.period);
      ck_assert_uint_eq(counts.late, round * depth);
      ck_assert_uint_eq(counts.dropped + counts.wrong + counts.failed + counts.faults, 0);
      uint64_t frame = 0;
      uint64_t ns = 0;
      period_clock(rig.period, &frame, &ns);
      ck_assert_uint_eq(frame, rig.frame);
    }
  }
}

TEST(at_depth_0_the_first_block_of_another_ring_is_not_waited_for)
{
  SCOPED(period_rig_free) PeriodRig rig;
  PeriodWorker worker;
  period_rig_new(&rig, (PeriodConfig){ .deadline_fraction = 1e5 });
  period_worker_start(&worker, &rig, 0);
  period_rig_run(&rig);
  expect(&rig, wet_at, 0);
  period_worker_stop(&worker);
  exchange(&rig); // without a worker
  expect_miss(&rig, 0);
  period_worker_start(&worker, &rig, 0);
  for (uint32_t k = 0; k < FALLBACK_GOOD_BLOCKS; ++k) {
    period_rig_run(&rig);
    expect_fallback(&rig, 0);
  }
  period_rig_run(&rig);
  expect_back(&rig, 0);
  period_worker_stop(&worker);
  ck_assert_uint_eq(period_counts(rig.period).late, 1);
}

TEST(faults_of_a_ring_that_was_left_stay_counted)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  header_of(&rig)->finished = 99;
  period_rig_run(&rig);
  const uint64_t before = period_counts(rig.period).faults;
  ck_assert_uint_ge(before, 1);
  exchange(&rig);
  period_rig_run(&rig);
  ck_assert_uint_eq(period_counts(rig.period).faults, before);
}

TEST(rings_can_be_exchanged_during_a_miss_or_an_odd_period)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  period_rig_run_served(&rig);
  period_rig_run_served(&rig);
  period_rig_run(&rig);
  expect_miss(&rig, BLOCK);
  exchange(&rig);
  expect_fallback(&rig, BLOCK);
  for (uint32_t k = 0; k < FALLBACK_GOOD_BLOCKS; ++k) {
    period_rig_run_served(&rig);
  }
  exchange(&rig); // in the place of the fade back
  expect_fallback(&rig, BLOCK);
  expect_way_back(&rig, BLOCK);
  exchange(&rig); // twice in a row
  expect_miss(&rig, BLOCK);
  exchange(&rig);
  expect_fallback(&rig, BLOCK);

  Ring* const old = rig.ring;
  rig.ring = period_rig_new_ring(&rig);
  period_offer_ring(rig.period, rig.ring);
  period_rig_run_frames(&rig, BLOCK + 3U, false);
  expect_frames(&rig, silence_at, 0, BLOCK + 3U);
  ck_assert_ptr_eq(period_collect_ring(rig.period), old);
  ring_free(old);
  period_rig_run_served(&rig);
  expect(&rig, silence_at, 0);
  period_rig_run_served(&rig);
  expect(&rig, wet_at, BLOCK);
}

TEST(a_ring_that_is_taken_in_an_odd_period_is_wet_when_the_latency_of_its_rack_has_passed)
{
  const uint32_t n_incomplete = 12U;
  const uint32_t latency = BLOCK + n_incomplete * BLOCK;
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1, .max_latency_frames = 1000U });
  period_set_latency(rig.period, n_incomplete * BLOCK);
  for (uint32_t k = 0; k < 60U; ++k) {
    period_rig_run_served(&rig);
  }
  SCOPED_RING Ring* const old = rig.ring;
  rig.ring = period_rig_new_ring(&rig);
  period_offer_ring(rig.period, rig.ring);
  period_rig_run_frames(&rig, BLOCK + 3U, false);
  ck_assert_ptr_eq(period_collect_ring(rig.period), old);
  period_rig_run_served(&rig);
  expect(&rig, silence_at, 0);
  for (uint32_t k = 0; k < n_incomplete; ++k) {
    period_rig_run_served(&rig);
    if (k >= 4U) { // before, the fallback fades in
      expect(&rig, dry_at, latency);
    }
  }
  period_rig_run_served(&rig); // the fade
  period_rig_run_served(&rig);
  expect(&rig, wet_at, BLOCK);
}

TEST(a_period_of_several_blocks_exchanges_once_at_its_start)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  period_rig_run_served(&rig);
  period_rig_run_served(&rig);
  Ring* const old = rig.ring;
  rig.ring = period_rig_new_ring(&rig);
  period_offer_ring(rig.period, rig.ring);
  period_rig_run_frames(&rig, 3U * BLOCK, false);
  ck_assert_uint_eq(ring_next(rig.ring), 3);
  ck_assert_uint_eq(ring_next(old), 2);
  ck_assert_ptr_eq(period_collect_ring(rig.period), old);
  ring_free(old);
  ck_assert_uint_eq(period_counts(rig.period).late, 1U + 2U); // one lost, two not finished
  rig.gap = rig.frame - 3U * BLOCK;
  expect_way_back(&rig, BLOCK);
}

TEST(an_offer_can_be_replaced_or_taken_back)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  Ring* const second = period_rig_new_ring(&rig);
  Ring* const third = period_rig_new_ring(&rig);
  ck_assert_ptr_null(period_offer_ring(rig.period, NULL));
  ck_assert_ptr_null(period_offer_ring(rig.period, second));
  ck_assert_ptr_eq(period_offer_ring(rig.period, third), second);
  ck_assert_ptr_eq(period_offer_ring(rig.period, NULL), third);
  ck_assert_ptr_null(period_offer_ring(rig.period, NULL));
  period_rig_run_served(&rig);
  period_rig_run_served(&rig);
  expect(&rig, wet_at, BLOCK);
  ck_assert_ptr_null(period_collect_ring(rig.period));

  // An exchange waits until the ring that was left before has been collected, so that none is lost.
  ck_assert_ptr_null(period_offer_ring(rig.period, second));
  period_rig_run(&rig);
  ck_assert_ptr_null(period_offer_ring(rig.period, third));
  period_rig_run(&rig);
  ck_assert_uint_eq(ring_next(second), 2);
  ck_assert_uint_eq(ring_next(third), 0);
  ck_assert_ptr_eq(period_collect_ring(rig.period), rig.ring);
  period_rig_run(&rig);
  ck_assert_uint_eq(ring_next(third), 1);
  ck_assert_ptr_eq(period_collect_ring(rig.period), second);
  ring_free(second);
  ring_free(rig.ring);
  rig.ring = third;
}

// ---- a ring without a worker ----

TEST(an_abandoned_ring_is_left_alone)
{
  for (uint32_t depth = 0; depth <= 2U; ++depth) {
    SCOPED(period_rig_free) PeriodRig rig;
    period_rig_new(&rig,
                   (PeriodConfig){ .depth = depth, .deadline_fraction = 1e5 }); // half a minute
    const uint32_t latency = depth * BLOCK;
    for (uint32_t k = 0; depth && k < 5U; ++k) {
      period_rig_run_served(&rig);
    }
    period_rig_serve(&rig);
    period_abandon(rig.period);
    RingHeader* const header = header_of(&rig);
    header->consumer.asleep = 1U;
    const uint32_t rung = header->consumer.rung;
    const uint64_t submitted = header->submitted;
    period_rig_run(&rig);
    if (depth) {
      expect_miss(&rig, latency);
    }
    for (uint32_t k = 0; k < 20U; ++k) {
      period_rig_run_frames(&rig, BLOCK, k % 2U); // waiting or not
      expect_fallback(&rig, latency);
    }
    ck_assert_uint_eq(header->submitted, submitted);
    ck_assert_uint_eq(ring_n_submitted(rig.ring), submitted);
    ck_assert_uint_eq(header->consumer.rung, rung);
    const PeriodCounts counts = period_counts(rig.period);
    ck_assert_uint_eq(counts.dropped, 21);
    ck_assert_uint_eq(counts.late, depth);
    ck_assert_uint_eq(counts.dry, 21);

    exchange(&rig);
    expect_fallback(&rig, latency);
    for (uint32_t k = 1; k < depth; ++k) {
      period_rig_run_served(&rig);
    }
    if (depth) {
      expect_way_back(&rig, latency);
    }
  }
}

typedef struct Undertaker {
  const PeriodRig* rig;
  pthread_t thread;
} Undertaker;

/// Abandon the ring while the producer waits for it.
static void*
abandon_when_asleep(void* const context)
{
  const Undertaker* const undertaker = context;
  while (!atomic_load(&header_of(undertaker->rig)->producer.asleep)) {
    rt_pause();
  }
  period_abandon(undertaker->rig->period);
  return NULL;
}

TEST(a_wait_in_progress_ends_when_its_ring_is_abandoned)
{
  for (int waits = 0; waits <= 1; ++waits) {
    for (uint32_t depth = 0; depth <= 2U; depth += 2U) {
      if (depth && !waits) {
        continue; // never waits
      }
      SCOPED(period_rig_free) PeriodRig rig;
      period_rig_new(&rig,
                     (PeriodConfig){ .depth = depth, .deadline_fraction = 1e5 }); // half a minute
      Undertaker undertaker = { .rig = &rig };
      ck_assert(rt_thread_start("test-abandon", abandon_when_asleep, &undertaker,
                                &undertaker.thread, NULL) == STATUS_OK);
      const uint64_t began = time_now_ns();
      for (uint32_t k = 0; k < depth + 1U; ++k) {
        period_rig_run_frames(&rig, BLOCK, waits);
      }
      ck_assert_uint_lt(time_now_ns() - began, (uint64_t)(0.5 * 1e5 * BLOCK / RATE * 1e9));
      ck_assert_uint_eq(period_counts(rig.period).late, 1);
      expect_miss(&rig, depth * BLOCK);
      pthread_join(undertaker.thread, NULL);
    }
  }
}

TEST(an_open_offer_is_not_abandoned)
{
  SCOPED(period_rig_free) PeriodRig rig;
  period_rig_new(&rig, (PeriodConfig){ .depth = 1 });
  Ring* const second = period_rig_new_ring(&rig);
  period_offer_ring(rig.period, second);
  period_abandon(rig.period); // the first ring
  period_rig_run(&rig);
  ck_assert_uint_eq(ring_next(second), 1);
  ck_assert(ring_can_submit(second));
  period_abandon(rig.period); // the second ring, now the current one
  ck_assert(!ring_can_submit(second));
  ck_assert_ptr_eq(period_collect_ring(rig.period), rig.ring);
  ring_free(rig.ring);

  rig.ring = period_rig_new_ring(&rig);
  period_offer_ring(rig.period, rig.ring);
  ck_assert_ptr_eq(period_offer_ring(rig.period, NULL), rig.ring);
  period_abandon(rig.period); // the second ring again
  ck_assert(ring_can_submit(rig.ring));
  period_offer_ring(rig.period, rig.ring);
  period_rig_run(&rig);
  ck_assert_ptr_eq(period_collect_ring(rig.period), second);
  ring_free(second);
  period_rig_run_served(&rig);
  ck_assert_uint_eq(ring_next(rig.ring), 2);
}

// ---- a faulty worker ----

#define MAD_ROUNDS  8U
#define MAD_PERIODS 100U
#define CEILING     0.9F

/// Two threads of a worker with its own mapping of the region: one finishes blocks, with errors,
/// the other writes random data to random places.
typedef struct Madman {
  Ring* ring;
  _Atomic uint64_t* words;
  size_t n_words, n_header_words;
  _Atomic bool begun, stop;
  pthread_t server, scribbler;
} Madman;

static void*
serve_badly(void* const context)
{
  Madman* const madman = context;
  const uint32_t n_out = ring_shape(madman->ring)->n_out;
  while (!atomic_load(&madman->stop)) {
    uint64_t sequence = 0;
    if (ring_wait_take(madman->ring, 0, 1000000U, &sequence)) {
      for (uint32_t c = 0; c < n_out; ++c) {
        memcpy(ring_output(madman->ring, sequence, c), ring_input(madman->ring, sequence, c),
               BLOCK * sizeof(float));
      }
      ring_finish(madman->ring);
    }
  }
  return NULL;
}

/// Write one word.  Half of the words are almost right; some overwrite the counters.
static void*
scribble(void* const context)
{
  Madman* const madman = context;
  uint64_t random = 1;
  while (!atomic_load(&madman->stop)) {
    const uint64_t draw = signal_random(&random);
    const size_t range = (draw >> 16U) % 512U ? madman->n_words : madman->n_header_words;
    _Atomic uint64_t* const word = &madman->words[(draw >> 32U) % range];
    const uint64_t almost = atomic_load(word) + ((draw >> 8U) & 7U) - 3U;
    atomic_store(word, draw & 2U ? almost : signal_random(&random));
    atomic_store(&madman->begun, true);
  }
  return NULL;
}

static void
madman_start(Madman* const madman, const Ring* const ring)
{
  ck_assert(ring_attach(ring_fd(ring), &madman->ring, NULL) == STATUS_OK);
  size_t n_bytes = 0;
  madman->words = ring_memory(madman->ring, &n_bytes);
  madman->n_words = n_bytes / sizeof(uint64_t);
  madman->n_header_words = sizeof(RingHeader) / sizeof(uint64_t);
  atomic_init(&madman->begun, false);
  atomic_init(&madman->stop, false);
  ck_assert(rt_thread_start("test-server", serve_badly, madman, &madman->server, NULL) ==
            STATUS_OK);
  ck_assert(rt_thread_start("test-scribble", scribble, madman, &madman->scribbler, NULL) ==
            STATUS_OK);
  while (!atomic_load(&madman->begun)) {
    sched_yield();
  }
}

static void
madman_stop(Madman* const madman)
{
  atomic_store(&madman->stop, true);
  pthread_join(madman->server, NULL);
  pthread_join(madman->scribbler, NULL);
  ring_free(madman->ring);
}

/// The number of samples of the last period that are not finite or above the ceiling.
static uint64_t
n_bad_samples(const PeriodRig* const rig)
{
  uint64_t n_bad = 0;
  for (uint32_t c = 0; c < CHANNELS; ++c) {
    for (uint32_t i = 0; i < BLOCK; ++i) {
      n_bad += !(fabsf(rig->out[c][i]) <= CEILING);
    }
  }
  return n_bad;
}

/// Finish the blocks in flight with random words as samples.
static void
serve_garbage(const PeriodRig* const rig, uint64_t* const random)
{
  uint64_t sequence = 0;
  while (ring_take(rig->ring, 0U, &sequence)) {
    for (uint32_t c = 0; c < CHANNELS; ++c) {
      for (uint32_t i = 0; i < BLOCK; ++i) {
        const uint32_t word = (uint32_t)(signal_random(random) >> 32U);
        memcpy(ring_output(rig->ring, sequence, c) + i, &word, sizeof(word));
      }
    }
    ring_finish(rig->ring);
  }
}

TEST(garbage_anywhere_in_the_region_only_costs_the_wet_signal)
{
  for (uint32_t depth = 0; depth <= 2U; ++depth) {
    SCOPED(period_rig_free) PeriodRig rig;
    period_rig_new(
        &rig, (PeriodConfig){ .depth = depth, .deadline_fraction = 0.1, .ceiling_lin = CEILING });
    uint64_t random = depth;
    uint64_t n_bad = 0;
    for (uint32_t round = 0; round < MAD_ROUNDS; ++round) { // each ring becomes unusable soon
      Madman madman;
      for (uint32_t k = 0; k < FALLBACK_GOOD_BLOCKS + depth + 1U; ++k) {
        period_rig_run_served(&rig);
      }
      for (uint32_t k = 0; k < 5U; ++k) {
        serve_garbage(&rig, &random);
        period_rig_run(&rig);
        n_bad += n_bad_samples(&rig);
      }
      madman_start(&madman, rig.ring);
      for (uint32_t k = 0; k < MAD_PERIODS; ++k) {
        period_rig_run_frames(&rig, BLOCK, false);
        ring_send(rig.ring, &(ParamMessage){ .frame = k }, 1);
        n_bad += n_bad_samples(&rig);
        if (k % 16U == 0) {
          sched_yield();
        }
      }
      exchange(&rig);
      madman_stop(&madman); // after the exchange: its last writes have no effect
    }
    const PeriodCounts counts = period_counts(rig.period);
    ck_assert_uint_eq(n_bad, 0);
    ck_assert_uint_eq(counts.blocks,
                      MAD_ROUNDS * (MAD_PERIODS + FALLBACK_GOOD_BLOCKS + depth + 7U));
    ck_assert_uint_gt(counts.faults, 0);
    if (depth) { // at depth 0 the test cannot serve the block that the period waits for
      ck_assert_uint_gt(counts.bad_out, 0);
      for (uint32_t k = 1; k < depth; ++k) {
        period_rig_run_served(&rig);
      }
      expect_way_back(&rig, depth * BLOCK);
    }
  }
}

SUITE_MAIN("period_ring")
