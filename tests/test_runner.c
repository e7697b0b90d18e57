// SPDX-License-Identifier: GPL-3.0-or-later
// The runner without an engine, as a process has it that only hears words and sees a ring: edits
// are answered once each and in their order, changes that nobody asked for are told, messages are
// applied whether there is a ring or not, and no lock is held when it calls back.

#include "support/player.h"
#include "support/suite.h"

#include "../engine/rt.h"
#include "../engine/runner_private.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define RATE        PLAYER_RATE_HZ
#define BLOCK       PLAYER_BLOCK
#define MAX_REPLIES 128U
#define POLL_US     200U
#define WRAP_BLOCKS 60U

#define STALL_US      500000U     // of a driver whose machine is overloaded
#define LONG_STALL_NS 1500000000U // what might be taken for the end of all audio
#define N_DISARMED    40U         // standing still for each would take longer than a test may

typedef struct Bench {
  Runner* runner;
  Ring* ring;
  uint64_t frame;    ///< Of the next block
  bool calls_itself; ///< The replies' receiver uses the runner

  pthread_mutex_t lock;
  uint32_t n_replies, n_changes;
  struct {
    uint64_t id;
    EngineReply reply;
    RunnerFacts facts;
  } replies[MAX_REPLIES];
  RunnerFacts change; ///< The last one
} Bench;

/// Everything that takes a lock.
static void
call_all(Bench* const bench)
{
  RunnerStatus status;
  EnginePlace places[4];
  Error error;
  const ParamMessage message = { .uid = RACK_UID_FIRST };
  runner_calls.status(bench->runner, &status);
  runner_calls.places(bench->runner, places, 4U);
  runner_calls.reset_load(bench->runner);
  ck_assert_int_eq(runner_calls.failure(bench->runner, &error), STATUS_OK);
  ck_assert(!runner_calls.set(bench->runner, &message, 1U));
  runner_calls.disarm(bench->runner);
  ck_assert(runner_calls.set(bench->runner, &message, 1U));
}

static void
on_replied(void* const context, const uint64_t id, const EngineReply* const reply,
           const RunnerFacts* const facts)
{
  Bench* const bench = context;
  if (bench->calls_itself) {
    call_all(bench);
  }
  pthread_mutex_lock(&bench->lock);
  ck_assert_uint_lt(bench->n_replies, MAX_REPLIES);
  bench->replies[bench->n_replies].id = id;
  bench->replies[bench->n_replies].reply = *reply;
  bench->replies[bench->n_replies++].facts = *facts;
  pthread_mutex_unlock(&bench->lock);
}

static void
on_changed(void* const context, const RunnerFacts* const facts)
{
  Bench* const bench = context;
  pthread_mutex_lock(&bench->lock);
  bench->change = *facts;
  ++bench->n_changes;
  pthread_mutex_unlock(&bench->lock);
}

static uint32_t
read_count(Bench* const bench, const uint32_t* const count)
{
  pthread_mutex_lock(&bench->lock);
  const uint32_t n = *count;
  pthread_mutex_unlock(&bench->lock);
  return n;
}

/// A runner that is not armed yet.  It knows where `bench` is, and so fills it in place.
static void
bench_init(Bench* const bench, const bool offline)
{
  const EngineConfig config = { .n_in = 1, .n_out = 1, .offline = offline };
  const RunnerEvents events = { bench, on_replied, on_changed };
  Error error = { STATUS_OK, "" };
  *bench = (Bench){ .lock = PTHREAD_MUTEX_INITIALIZER };
  ck_assert_msg(!runner_new(&config, &events, &bench->runner, &error), "%s", error.text);
}

static void
bench_edit(Bench* const bench, const uint64_t id, const char* const text, const uint64_t at_frame)
{
  Rack* const rack = player_rack(text);
  ck_assert_int_eq(runner_calls.edit(bench->runner, id, rack, at_frame, 0U), STATUS_OK);
  rack_free(rack);
}

/// Arm with a ring of its own, or offline without; returns what is told about the plan.
static RunnerFacts
bench_arm(Bench* const bench, const bool offline, const uint64_t n_sent)
{
  const RingShape shape = {
    .n_in = 1, .n_out = 1, .block_frames = BLOCK, .n_slots = 4, .n_messages = 16
  };
  Error error = { STATUS_OK, "" };
  if (!offline) {
    ck_assert_int_eq(ring_new(&shape, &bench->ring, &error), STATUS_OK);
  }
  const RunnerStart start = { .format = { RATE, BLOCK, 1, 1, offline },
                              .ring = bench->ring,
                              .first_frame = bench->frame,
                              .n_sent = n_sent };
  RunnerFacts facts = { 0 };
  ck_assert_msg(!runner_calls.arm(bench->runner, &start, &facts, &error), "%s", error.text);
  return facts;
}

static void
bench_disarm(Bench* const bench)
{
  runner_calls.disarm(bench->runner);
  ring_free(bench->ring);
  bench->ring = NULL;
}

static void
bench_clear(Bench* const bench)
{
  runner_calls.free(bench->runner);
  ring_free(bench->ring);
  pthread_mutex_destroy(&bench->lock);
}

/// A block of ones through the ring; returns its last sample.
static float
bench_play(Bench* const bench)
{
  const uint64_t sequence = ring_next(bench->ring);
  ck_assert(ring_can_submit(bench->ring));
  for (uint32_t i = 0; i < BLOCK; ++i) {
    ring_input(bench->ring, sequence, 0)[i] = 1.0F;
  }
  *ring_slot(bench->ring, sequence) = (SlotHeader){ .frame = bench->frame, .n_frames = BLOCK };
  ring_submit(bench->ring);
  bench->frame += BLOCK;
  ck_assert(ring_wait_finished(bench->ring, sequence, UINT64_MAX));
  ck_assert_int_eq(ring_result(bench->ring, sequence), RING_SOUND);
  return ring_output(bench->ring, sequence, 0)[BLOCK - 1U];
}

/// The same, once all ramps have ended.
static float
bench_level(Bench* const bench)
{
  for (uint32_t b = 0; b < 40U; ++b) {
    bench_play(bench);
  }
  return bench_play(bench);
}

/// Blocks go on until the counter of replies or changes has reached `n`.
static void
bench_play_until(Bench* const bench, const uint32_t* const count, const uint32_t n)
{
  while (read_count(bench, count) < n) {
    bench_play(bench);
    usleep(POLL_US);
  }
}

static const char* const levels[] = { "g: gain 0dB", "g: gain -20dB | h: gain 0dB" };

START_TEST(edits_are_answered_once_each_and_in_their_order)
{
  static Bench bench;
  bench_init(&bench, false);
  bench_edit(&bench, 5U, levels[1], 0U);
  while (!read_count(&bench, &bench.n_replies)) {
    usleep(POLL_US);
  }
  ck_assert_int_eq(bench.replies[0].reply.status, STATUS_OK);
  ck_assert_uint_eq(bench.replies[0].facts.serial, 0U); // no format, no plan
  const RunnerFacts armed = bench_arm(&bench, false, 0U);
  ck_assert_uint_eq(armed.n_nodes, 2U);
  for (uint64_t n = 1; n < 40U; ++n) {
    bench_edit(&bench, 1000U - n,
               n % 5U ? levels[n % 2U]
                      : "f: fir lowpass 100 taps=65535 | "
                        "e: fir lowpass 100 taps=65535 | "
                        "d: fir lowpass 100 taps=65535",
               0U);
  }
  bench_play_until(&bench, &bench.n_replies, 40U);
  uint64_t serial = armed.serial;
  for (uint64_t n = 1; n < 40U; ++n) {
    const EngineReply* const reply = &bench.replies[n].reply;
    ck_assert_uint_eq(bench.replies[n].id, 1000U - n);
    ck_assert_int_eq(reply->status, n % 5U ? STATUS_OK : STATUS_LIMIT); // too much latency
    ck_assert_int_eq(reply->text[0] != '\0', reply->status != STATUS_OK);
    ck_assert_uint_ge(bench.replies[n].facts.serial, serial + (n % 5U ? 1U : 0U));
    ck_assert_uint_eq(bench.replies[n].facts.n_nodes, (n % 5U ? n : n - 1U) % 2U ? 2U : 1U);
    serial = bench.replies[n].facts.serial;
  }
  bench_clear(&bench);
  ck_assert_uint_eq(bench.n_replies, 40U);
}
END_TEST

START_TEST(what_waits_at_the_end_is_refused)
{
  static Bench bench;
  bench_init(&bench, false);
  bench_edit(&bench, 1U, levels[0], 0U);
  bench_arm(&bench, false, 0U);
  for (uint64_t id = 2; id <= 20U; ++id) {
    bench_edit(&bench, id, levels[id % 2U], UINT64_MAX / 2U); // heard when time stands still
  }
  bench_clear(&bench);
  ck_assert_uint_eq(bench.n_replies, 20U);
  for (uint32_t n = 0; n < 20U; ++n) {
    ck_assert_uint_eq(bench.replies[n].id, n + 1U);
  }
  ck_assert_int_eq(bench.replies[19].reply.status, STATUS_LIMIT);
}
END_TEST

START_TEST(time_that_stands_still_hurries_what_waits_for_it)
{
  static Bench bench;
  bench_init(&bench, false);
  bench.frame = 100U * BLOCK;
  bench_arm(&bench, false, 0U);
  bench_edit(&bench, 1U, levels[1], UINT64_MAX / 2U);
  while (!read_count(&bench, &bench.n_replies)) { // no block comes
    usleep(POLL_US);
  }
  ck_assert_int_eq(bench.replies[0].reply.status, STATUS_OK);
  ck_assert_uint_eq(bench.replies[0].reply.frame, 100U * BLOCK);
  bench_clear(&bench);
}
END_TEST

START_TEST(blocks_that_stall_for_a_moment_hurry_nothing)
{
  static Bench bench;
  bench_init(&bench, false);
  bench_arm(&bench, false, 0U);
  uint64_t stalled_ns = UINT64_MAX;
  for (uint32_t n = 1; stalled_ns > LONG_STALL_NS; ++n) { // until this thread was not starved
    const uint64_t at = bench.frame + 10U * BLOCK;
    bench_play(&bench);
    const uint64_t since_ns = rt_now_ns();
    bench_edit(&bench, n, levels[n % 2U], at);
    while (atomic_load(&bench.runner->awaited_frame) != at) {
      usleep(POLL_US);
    }
    usleep(STALL_US);
    bench_play_until(&bench, &bench.n_replies, n);
    stalled_ns = rt_now_ns() - since_ns;
    ck_assert_int_eq(bench.replies[n - 1U].reply.status, STATUS_OK);
    ck_assert_msg(stalled_ns > LONG_STALL_NS || bench.replies[n - 1U].reply.frame == at,
                  "heard at %llu, not %llu", (unsigned long long)bench.replies[n - 1U].reply.frame,
                  (unsigned long long)at);
  }
  bench_clear(&bench);
}
END_TEST

START_TEST(who_disarms_waits_for_no_frame_that_will_not_come)
{
  static Bench bench;
  bench_init(&bench, false);
  for (uint32_t n = 1; n <= N_DISARMED; ++n) {
    bench_arm(&bench, false, 0U);
    bench_edit(&bench, n, levels[n % 2U], UINT64_MAX / 2U);
    while (!atomic_load(&bench.runner->awaited_frame)) {
      usleep(POLL_US);
    }
    bench_disarm(&bench);
    while (read_count(&bench, &bench.n_replies) < n) {
      usleep(POLL_US);
    }
    ck_assert_int_eq(bench.replies[n - 1U].reply.status, STATUS_OK);
    ck_assert_uint_eq(bench.replies[n - 1U].reply.frame, 0U);
  }
  bench_clear(&bench);
}
END_TEST

START_TEST(the_end_of_a_tail_is_told)
{
  static Bench bench;
  bench_init(&bench, false);
  bench_edit(&bench, 1U, "d: delay 20ms feedback=0%", 0U);
  bench_arm(&bench, false, 0U);
  bench_play_until(&bench, &bench.n_replies, 1U);
  bench_play(&bench); // what has never sounded has no tail
  bench_edit(&bench, 2U, "g: gain 0dB", 0U);
  bench_play_until(&bench, &bench.n_replies, 2U);
  const RunnerFacts heard = bench.replies[1].facts;
  ck_assert_uint_eq(heard.n_units, 2U); // the delay's tail
  do {
    bench_play_until(&bench, &bench.n_changes, read_count(&bench, &bench.n_changes) + 1U);
  } while (bench.change.n_units != 1U);
  ck_assert_uint_gt(bench.change.serial, heard.serial);
  ck_assert_uint_eq(bench.n_replies, 2U);
  bench_clear(&bench);
}
END_TEST

START_TEST(messages_are_applied_with_a_ring_and_without)
{
  static Bench bench;
  bench_init(&bench, false);
  Rack* const rack = player_rack(levels[0]);
  const ParamMessage down = { .uid = rack->nodes[0].uid, .value = -20.0 };
  const ParamMessage up = { .uid = rack->nodes[0].uid, .value = 0.0 };
  ck_assert_int_eq(runner_calls.edit(bench.runner, 1U, rack, 0U, 0U), STATUS_OK);
  bench_arm(&bench, false, 0U);
  bench_play_until(&bench, &bench.n_replies, 1U);
  ck_assert_float_eq(bench_play(&bench), 1.0F);
  ck_assert(!runner_calls.set(bench.runner, &down, 1U)); // there is the ring for it
  ck_assert(ring_send(bench.ring, &down, 1U));
  bench_disarm(&bench); // no block came after it

  bench_arm(&bench, false, 1U);
  ck_assert_double_eq_tol(bench_level(&bench), 0.1, 1e-6);
  bench_disarm(&bench);
  ck_assert(runner_calls.set(bench.runner, &up, 1U));

  bench_arm(&bench, false, 2U);
  ck_assert_float_eq(bench_level(&bench), 1.0F);
  // The next document was written after two messages, and before the third one.
  ck_assert(ring_send(bench.ring, &down, 1U));
  ck_assert_int_eq(runner_calls.edit(bench.runner, 2U, rack, 0U, 2U), STATUS_OK);
  bench_play_until(&bench, &bench.n_replies, 2U);
  ck_assert_double_eq_tol(bench_level(&bench), 0.1, 1e-6); // as the third one says
  RunnerStatus status;
  runner_calls.status(bench.runner, &status);
  ck_assert_uint_eq(status.params_applied, 3U);
  ck_assert_uint_eq(status.blocks, bench.frame / BLOCK);
  rack_free(rack);
  bench_clear(&bench);
}
END_TEST

START_TEST(a_new_runner_counts_messages_from_where_they_are)
{
  static Bench bench;
  bench_init(&bench, false);
  Rack* const rack = player_rack(levels[0]);
  const ParamMessage down = { .uid = rack->nodes[0].uid, .value = -20.0 };
  ck_assert_int_eq(runner_calls.edit(bench.runner, 1U, rack, 0U, 90U), STATUS_OK);
  bench_arm(&bench, false, 100U);
  bench_play_until(&bench, &bench.n_replies, 1U);
  ck_assert(ring_send(bench.ring, &down, 1U)); // number 101
  ck_assert_int_eq(runner_calls.edit(bench.runner, 2U, rack, 0U, 100U), STATUS_OK);
  bench_play_until(&bench, &bench.n_replies, 2U);
  ck_assert_double_eq_tol(bench_level(&bench), 0.1, 1e-6);
  ck_assert_int_eq(runner_calls.edit(bench.runner, 3U, rack, 0U, 101U), STATUS_OK);
  bench_play_until(&bench, &bench.n_replies, 3U);
  ck_assert_float_eq(bench_level(&bench), 1.0F); // the newer document
  rack_free(rack);
  bench_clear(&bench);
}
END_TEST

START_TEST(it_holds_no_lock_when_it_calls_back)
{
  static Bench bench;
  bench_init(&bench, false);
  bench_edit(&bench, 1U, levels[0], 0U);
  bench_arm(&bench, false, 0U);
  bench_play_until(&bench, &bench.n_replies, 1U);
  bench.calls_itself = true;
  bench_edit(&bench, 2U, levels[1], 0U);
  while (read_count(&bench, &bench.n_replies) < 2U) { // or the test's time runs out
    usleep(POLL_US);
  }
  ck_assert_int_eq(bench.replies[1].reply.status, STATUS_OK);
  bench_clear(&bench);
}
END_TEST

START_TEST(without_a_thread_it_answers_within_the_call)
{
  static Bench bench;
  bench_init(&bench, true);
  bench_edit(&bench, 7U, levels[0], 0U);
  ck_assert_uint_eq(bench.n_replies, 1U);
  ck_assert_uint_eq(bench.replies[0].id, 7U);
  ck_assert_uint_eq(bench_arm(&bench, true, 0U).n_nodes, 1U);
  float samples[2][BLOCK];
  for (uint32_t i = 0; i < BLOCK; ++i) {
    samples[0][i] = 1.0F;
  }
  samples[0][3] = -1.0F / 0.0F;
  const float* const in[] = { samples[0] };
  float* const out[] = { samples[1] };
  PeriodCounts counts = { .blocks = 10U };
  runner_process(bench.runner, in, out, BLOCK, &counts);
  ck_assert_float_eq(samples[1][2], 1.0F);
  ck_assert_float_eq(samples[1][3], 0.0F);
  ck_assert_uint_eq(counts.blocks, 11U);
  ck_assert_uint_eq(counts.bad_in, 1U);
  ck_assert_uint_eq(counts.failed, 0U);
  ck_assert_int_eq(runner_gpu(bench.runner), ENGINE_BACKEND_CPU);
  bench_clear(&bench);
}
END_TEST

/// What comes out of WRAP_BLOCKS blocks from a frame on, with changes of a gain every few blocks,
/// within them.
static void
play_from(const uint64_t first_frame, float samples[WRAP_BLOCKS * BLOCK])
{
  static const char* const text = "d: delay 3ms mix=50% feedback=40% | g: gain 0dB | "
                                  "p: compressor -20dB | l: lowpass 900";
  static Bench bench;
  Rack* const rack = player_rack(text);
  bench_init(&bench, false);
  bench.frame = first_frame;
  bench_edit(&bench, 1U, text, 0U);
  while (!read_count(&bench, &bench.n_replies)) {
    usleep(POLL_US);
  }
  bench_arm(&bench, false, 0U);
  for (uint32_t b = 0; b < WRAP_BLOCKS; ++b) {
    if (b % 4U == 0) {
      const ParamMessage message = { .frame = bench.frame + 3U * BLOCK + 7U,
                                     .uid = rack->nodes[1].uid,
                                     .value = b % 8U ? -20.0 : 0.0 };
      ck_assert(ring_send(bench.ring, &message, 1U));
    }
    const uint64_t sequence = ring_next(bench.ring);
    bench_play(&bench);
    memcpy(samples + (size_t)b * BLOCK, ring_output(bench.ring, sequence, 0),
           BLOCK * sizeof(float));
  }
  rack_free(rack);
  bench_clear(&bench);
}

START_TEST(a_frame_counter_that_leaves_32_bits_behind_changes_nothing)
{
  static const uint64_t middles[] = { 1ULL << 31U, 1ULL << 32U, 3ULL << 32U };
  static float from_zero[WRAP_BLOCKS * BLOCK];
  static float over[WRAP_BLOCKS * BLOCK];
  play_from(0, from_zero);
  ck_assert_float_ne(from_zero[sizeof(from_zero) / sizeof(float) - 1U], 0.0F);
  for (size_t m = 0; m < sizeof(middles) / sizeof(middles[0]); ++m) {
    play_from(middles[m] - WRAP_BLOCKS / 2U * BLOCK - 3U, over); // within a block
    ck_assert_msg(!memcmp(from_zero, over, sizeof(over)), "around %llu",
                  (unsigned long long)middles[m]);
  }
}
END_TEST

SUITE_MAIN("runner", a_frame_counter_that_leaves_32_bits_behind_changes_nothing,
           edits_are_answered_once_each_and_in_their_order, what_waits_at_the_end_is_refused,
           time_that_stands_still_hurries_what_waits_for_it,
           blocks_that_stall_for_a_moment_hurry_nothing,
           who_disarms_waits_for_no_frame_that_will_not_come, the_end_of_a_tail_is_told,
           messages_are_applied_with_a_ring_and_without,
           a_new_runner_counts_messages_from_where_they_are, it_holds_no_lock_when_it_calls_back,
           without_a_thread_it_answers_within_the_call)
