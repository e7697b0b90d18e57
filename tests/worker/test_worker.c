// SPDX-License-Identifier: GPL-3.0-or-later
// The worker without an engine, as in a worker process, where it has only messages and a ring.  It
// replies to each edit once and in order, reports changes that no edit has caused, applies
// parameter messages with and without a ring, and calls callbacks without holding a lock.

#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"
#include "tests/support/worker_bench.h"

#include <string.h>
#include <unistd.h>

#define BLOCK       BENCH_BLOCK
#define WRAP_BLOCKS 60U

static const char* const levels[] = { "g: gain 0dB", "g: gain -20dB | h: gain 0dB" };

TEST(edits_are_answered_once_each)
{
  static Bench bench;
  bench_init(&bench, false);
  bench_edit(&bench, 5U, levels[1], 0U);
  bench_await(&bench, &bench.n_replies, 1U);
  ck_assert_int_eq(bench.replies[0].reply.status, STATUS_OK);
  ck_assert_uint_eq(bench.replies[0].facts.serial, 0U); // without a format there is no plan
  const WorkerFacts armed = bench_arm(&bench, false, 0U);
  ck_assert_uint_eq(armed.n_nodes, 2U);
  for (uint64_t n = 1; n < 40U; ++n) {
    bench_edit(&bench, 1000U - n,
               n % 5U ? levels[n % 2U]
                      : "f: fir lowpass 100 taps=65535 | "
                        "e: fir lowpass 100 taps=65535 | "
                        "d: fir lowpass 100 taps=65535",
               0U);
    bench_play_until(&bench, &bench.n_replies, (uint32_t)n + 1U);
  }
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

/// Play until the worker reports a change with a serial number above this one.
static WorkerFacts
change_after(Bench* const bench, const uint64_t serial)
{
  WorkerFacts change;
  do {
    bench_play(bench);
    usleep(BENCH_POLL_US);
    pthread_mutex_lock(&bench->lock);
    change = bench->change;
    pthread_mutex_unlock(&bench->lock);
  } while (change.serial <= serial);
  return change;
}

TEST(the_end_of_a_tail_is_reported)
{
  static Bench bench;
  bench_start(&bench, "d: delay 20ms feedback=0%");
  bench_play(&bench); // a node that has never sounded has no tail
  bench_edit(&bench, 2U, "g: gain 0dB", 0U);
  bench_play_until(&bench, &bench.n_replies, 2U);
  const WorkerFacts facts = bench.replies[1].facts;
  ck_assert_uint_eq(facts.n_units, 2U); // the delay's tail
  WorkerFacts change = facts;
  do {
    change = change_after(&bench, change.serial);
  } while (change.n_units != 1U);
  ck_assert_uint_eq(bench.n_replies, 2U);
  bench_clear(&bench);
}

#define LONG "delay 100ms max_time=60s"

/// Make an edit while blocks play.  Returns its reply.
static const EngineReply*
edit_while_playing(Bench* const bench, const uint64_t id, const char* const text)
{
  bench_edit(bench, id, text, 0);
  bench_play_until(bench, &bench->n_replies, (uint32_t)id);
  ck_assert_uint_eq(bench->replies[id - 1U].id, id);
  return &bench->replies[id - 1U].reply;
}

TEST(tails_end_when_an_edit_needs_their_memory)
{
  static Bench bench;
  const size_t n_bytes = bench_start(&bench, "a: " LONG).memory_bytes;
  bench_play(&bench);
  bench.worker->config.memory_bytes = n_bytes + n_bytes / 2U;
  ck_assert_int_eq(edit_while_playing(&bench, 2, "gain")->status, STATUS_OK);
  ck_assert_uint_gt(worker_facts(bench.worker).memory_bytes, n_bytes); // the delay has a tail
  const EngineReply* const hopeless = edit_while_playing(&bench, 3, "b: " LONG " | c: " LONG);
  ck_assert_int_eq(hopeless->status, STATUS_LIMIT);
  ck_assert_uint_gt(worker_facts(bench.worker).memory_bytes, n_bytes); // the tail plays on
  const EngineReply* const reply = edit_while_playing(&bench, 4, "b: " LONG);
  ck_assert_msg(!reply->status, "%s", reply->text);
  ck_assert_uint_lt(worker_facts(bench.worker).memory_bytes, n_bytes + n_bytes / 4U);
  const EngineReply* const refused = edit_while_playing(&bench, 5, "c: " LONG " | d: " LONG);
  ck_assert_int_eq(refused->status, STATUS_LIMIT);
  assert_says(refused->text, "of the one that plays, ");
  assert_says(refused->text, " fit into the ");
  bench_clear(&bench);
}

TEST(a_rack_knows_its_fallbacks_before_it_first_plays)
{
  static const struct {
    const char* text;
    double level;
    bool is_auto;
  } racks[] = { { "g: gain -20dB", 0.1, true },
                { "chain g: gain -20dB\nlate out -40dB", 0.01, false },
                { "chain g: gain -20dB\nlate out silence", 0.0, false },
                { "chain g: gain -20dB\nlate out silence\nlate out:1 auto", 0.1, true } };
  for (size_t i = 0; i < ARRAY_LEN(racks); ++i) {
    static Bench bench;
    WorkerFacts facts = bench_start(&bench, racks[i].text);
    ck_assert_uint_eq(facts.fallbacks.n, 1U);
    ck_assert_double_eq_tol((double)facts.fallbacks.of[0].level, racks[i].level, 1e-3);
    if (!racks[i].is_auto) { // the response is measured later: only warnings use it
      ck_assert_float_eq(facts.fallbacks.of[0].response, 0.0F);
      facts = change_after(&bench, facts.serial);
      ck_assert_double_eq_tol((double)facts.fallbacks.of[0].level, racks[i].level, 1e-3);
    }
    ck_assert_double_eq_tol((double)facts.fallbacks.of[0].response, 0.1, 1e-3);
    bench_clear(&bench);
  }
}

static void
expect_fallback(const WorkerFacts* const facts, const double level, const FallbackWhy why)
{
  const Fallback* const fallback = &facts->fallbacks.of[0];
  ck_assert_msg(fallback->why == why, "%s, not %s", fallback_why(fallback->why), fallback_why(why));
  ck_assert_double_eq_tol((double)fallback->level, level, 1e-3);
  ck_assert_int_eq(fallback->follows, why == FALLBACK_LEVEL);
}

TEST(an_output_has_its_last_choice_until_an_edit_is_measured)
{
  static const struct {
    const char* text;
    double kept;
    FallbackWhy kept_why;
    double level;
    FallbackWhy why;
  } edits[] = {
    { "g: gain -10dB | h: gain -10dB", 1.0, FALLBACK_LEVEL, 0.1, FALLBACK_LEVEL },
    { "chain g: gain -30dB\nlate out 0dB", 1.0, FALLBACK_RACK, 1.0, FALLBACK_RACK }, // at once
    { "g: gain -20dB", 0.0316, FALLBACK_LEVEL, 0.1, FALLBACK_LEVEL }, // -30 dB was measured
    { "disconnect in out", 0.1, FALLBACK_LEVEL, 0.0, FALLBACK_NO_INPUT },
    { "h: gain 0dB", 0.0, FALLBACK_NO_INPUT, 1.0, FALLBACK_LEVEL },
    { "t: highpass 2000 order=4", 1.0, FALLBACK_LEVEL, 0.0, FALLBACK_NO_LOWS },
    { "h: gain -20dB", 0.0, FALLBACK_NO_LOWS, 0.1, FALLBACK_LEVEL },
    { "c: gate 0dB", 0.1, FALLBACK_LEVEL, 0.0, FALLBACK_UNKNOWN }, // no response
    { "h: gain -20dB", 0.0, FALLBACK_UNKNOWN, 0.1, FALLBACK_LEVEL },
  };
  static Bench bench;
  bench_start(&bench, "g: gain 0dB");
  for (uint32_t i = 0; i < ARRAY_LEN(edits); ++i) {
    bench_edit(&bench, 2U + i, edits[i].text, 0U);
    bench_play_until(&bench, &bench.n_replies, 2U + i);
    const WorkerFacts* const facts = &bench.replies[1U + i].facts;
    expect_fallback(facts, edits[i].kept, edits[i].kept_why);
    ck_assert_float_eq(facts->fallbacks.of[0].response, 0.0F);
    const WorkerFacts measured = change_after(&bench, facts->serial);
    expect_fallback(&measured, edits[i].level, edits[i].why);
  }
  bench_clear(&bench);
}

TEST(an_edit_that_fails_leaves_the_fallbacks)
{
  static Bench bench;
  const WorkerFacts before = bench_start(&bench, "g: gain -20dB");
  bench_edit(&bench, 2U,
             "chain fir lowpass 100 taps=65535 | fir lowpass 100 taps=65535 | fir lowpass 100 "
             "taps=65535\nlate out dry",
             0U);
  bench_play_until(&bench, &bench.n_replies, 2U);
  ck_assert_int_eq(bench.replies[1].reply.status, STATUS_LIMIT);
  expect_fallback(&bench.replies[1].facts, 0.1, FALLBACK_LEVEL);
  ck_assert_float_eq(bench.replies[1].facts.fallbacks.of[0].response,
                     before.fallbacks.of[0].response);
  bench_clear(&bench);
}

TEST(messages_are_applied_with_a_ring_and_without)
{
  static Bench bench;
  bench_start(&bench, levels[0]);
  SCOPED_RACK Rack* const rack = rack_of(levels[0], NULL);
  const ParamMessage down = { .uid = rack->nodes[0].uid, .value = -20.0 };
  const ParamMessage up = { .uid = rack->nodes[0].uid, .value = 0.0 };
  ck_assert_float_eq(bench_play(&bench), 1.0F);
  ck_assert(!worker_calls.set(bench.worker, &down, 1U)); // refused: it belongs into the ring
  ck_assert(ring_send(bench.ring, &down, 1U));
  bench_disarm(&bench); // no block follows the message

  bench_arm(&bench, false, 1U);
  ck_assert_double_eq_tol(bench_level(&bench), 0.1, 1e-6);
  bench_disarm(&bench);
  ck_assert(worker_calls.set(bench.worker, &up, 1U));

  bench_arm(&bench, false, 2U);
  ck_assert_float_eq(bench_level(&bench), 1.0F);
  // The next document includes the first two messages, but not the third one.
  ck_assert(ring_send(bench.ring, &down, 1U));
  ck_assert_int_eq(worker_calls.edit(bench.worker, 2U, rack, 0U, 2U), STATUS_OK);
  bench_play_until(&bench, &bench.n_replies, 2U);
  ck_assert_double_eq_tol(bench_level(&bench), 0.1, 1e-6); // the third message
  WorkerStatus status;
  worker_calls.status(bench.worker, &status);
  ck_assert_uint_eq(status.counts.params_applied, 3U);
  ck_assert_uint_eq(status.counts.worker_blocks, bench.frame / BLOCK);
  uint64_t n_timed = 0; // also those before the worker was disarmed
  for (uint32_t b = 0; b < LOAD_BUCKETS; ++b) {
    n_timed += status.counts.load[b];
  }
  ck_assert_uint_eq(n_timed, status.counts.worker_blocks);
  bench_clear(&bench);
}

TEST(a_value_for_another_parameter_of_that_number_is_dropped)
{
  static Bench bench;
  bench_start(&bench, levels[0]);
  SCOPED_RACK Rack* const rack = rack_of(levels[0], NULL);
  const RackNode* const gain = &rack->nodes[0];
  const uint32_t id = fx_param_hash(&gain->fx->params[0]);
  const ParamMessage wrong = { .uid = gain->uid, .value = -20.0, .param_id = id + 1U };
  const ParamMessage right = { .uid = gain->uid, .value = -20.0, .param_id = id };
  ck_assert(ring_send(bench.ring, &wrong, 1U));
  ck_assert_float_eq(bench_level(&bench), 1.0F);
  bench_disarm(&bench);
  ck_assert(worker_calls.set(bench.worker, &wrong, 1U));
  bench_arm(&bench, false, 2U);
  ck_assert_float_eq(bench_level(&bench), 1.0F);
  ck_assert(ring_send(bench.ring, &right, 1U));
  ck_assert_double_eq_tol(bench_level(&bench), 0.1, 1e-6);
  WorkerStatus status;
  worker_calls.status(bench.worker, &status);
  ck_assert_uint_eq(status.counts.params_dropped, 2U);
  ck_assert_uint_eq(status.counts.params_applied, 1U);
  bench_clear(&bench);
}

TEST(a_bypassed_node_is_reported)
{
  static Bench bench;
  bench_start(&bench, "g: gain -20dB");
  ck_assert_double_eq_tol(bench_level(&bench), 0.1, 1e-6);
  NodeHealth* const health = &bench.worker->player.plan->nodes[0].node->health;
  health->n_bad = 8U; // causes a bypass
  health->needs_care = true;
  ck_assert_float_eq(bench_play(&bench), 1.0F);
  WorkerStatus status;
  EnginePlacement placement;
  worker_calls.status(bench.worker, &status);
  ck_assert_uint_eq(status.n_bypassed, 1U);
  ck_assert_uint_eq(worker_calls.placements(bench.worker, &placement, 1U), 1U);
  ck_assert_int_eq(placement.reason, PLACE_BYPASSED);
  bench_clear(&bench);
}

TEST(the_time_of_a_node_is_reported)
{
  static Bench bench;
  bench_start(&bench, "g: gain -20dB");
  EnginePlacement placement = { .p99_ns = 0U };
  for (uint32_t b = 0; b < 10000U && !placement.p99_ns; ++b) {
    bench_play(&bench);
    ck_assert_uint_eq(worker_calls.placements(bench.worker, &placement, 1U), 1U);
  }
  ck_assert(placement.p50_ns > 0U && placement.p50_ns <= placement.p99_ns);
  bench_clear(&bench);
}

TEST(a_new_worker_counts_messages_from_where_they_are)
{
  static Bench bench;
  bench_init(&bench, false);
  SCOPED_RACK Rack* const rack = rack_of(levels[0], NULL);
  const ParamMessage down = { .uid = rack->nodes[0].uid, .value = -20.0 };
  ck_assert_int_eq(worker_calls.edit(bench.worker, 1U, rack, 0U, 90U), STATUS_OK);
  bench_arm(&bench, false, 100U);
  bench_play_until(&bench, &bench.n_replies, 1U);
  ck_assert(ring_send(bench.ring, &down, 1U)); // number 101
  ck_assert_int_eq(worker_calls.edit(bench.worker, 2U, rack, 0U, 100U), STATUS_OK);
  bench_play_until(&bench, &bench.n_replies, 2U);
  ck_assert_double_eq_tol(bench_level(&bench), 0.1, 1e-6);
  ck_assert_int_eq(worker_calls.edit(bench.worker, 3U, rack, 0U, 101U), STATUS_OK);
  bench_play_until(&bench, &bench.n_replies, 3U);
  ck_assert_float_eq(bench_level(&bench), 1.0F); // the newer document
  bench_clear(&bench);
}

TEST(callbacks_are_called_without_a_lock)
{
  static Bench bench;
  bench_start(&bench, levels[0]);
  bench.calls_itself = true;
  bench_edit(&bench, 2U, levels[1], 0U);
  bench_await(&bench, &bench.n_replies, 2U); // a lock that is held makes the test time out
  ck_assert_int_eq(bench.replies[1].reply.status, STATUS_OK);
  bench_clear(&bench);
}

TEST(without_a_thread_replies_come_within_the_call)
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
  worker_process(bench.worker, in, out, BLOCK, &counts);
  ck_assert_float_eq(samples[1][2], 1.0F);
  ck_assert_float_eq(samples[1][3], 0.0F);
  ck_assert_uint_eq(counts.blocks, 11U);
  ck_assert_uint_eq(counts.bad_in, 1U);
  ck_assert_uint_eq(counts.failed, 0U);
  ck_assert_int_eq(worker_gpu(bench.worker), ENGINE_BACKEND_CPU);
  bench_clear(&bench);
}

/// Play WRAP_BLOCKS blocks from a frame on, and record the output.  Every few blocks a gain
/// changes, in the middle of a block.
static void
play_from(const uint64_t first_frame, float samples[WRAP_BLOCKS * BLOCK])
{
  static const char* const text = "d: delay 3ms mix=50% feedback=40% | g: gain 0dB | "
                                  "p: compressor -20dB | l: lowpass 900";
  static Bench bench;
  SCOPED_RACK Rack* const rack = rack_of(text, NULL);
  bench_init(&bench, false);
  bench.frame = first_frame;
  bench_edit(&bench, 1U, text, 0U);
  bench_await(&bench, &bench.n_replies, 1U);
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
  bench_clear(&bench);
}

TEST(a_frame_counter_that_leaves_32_bits_behind_changes_nothing)
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

SUITE_MAIN("worker")
