// SPDX-License-Identifier: GPL-3.0-or-later
// A node whose effect has FxInfo::renew, as plugins have: after a NaN the builder renews it while
// blocks play, and offline the caller's thread does, before the next block.

#include "engine/base/time.h"
#include "tests/support/grouped_fx.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/worker_bench.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static FxInfo fx;

static void
set_up(void)
{
  fx = grouped_fx;
  fx.renew = grouped_renew;
}

/// Start a worker with one node of the test effect, whose gain is 0.5.  Returns the node's uid.
static RackUid
start(Bench* const bench, const bool offline, WorkerFacts* const facts)
{
  bench_init(bench, offline);
  SCOPED_RACK Rack* const rack = grouped_rack_of("x: gain", &fx, 1U, 1U, NULL);
  rack->nodes[0].values[GROUPED_GAIN].number = 0.5;
  ck_assert_int_eq(worker_calls.edit(bench->worker, 1U, rack, 0U, 0U), STATUS_OK);
  bench_await(bench, &bench->n_replies, 1U);
  *facts = bench_arm(bench, offline, 0U);
  grouped_log();
  return rack->nodes[0].uid;
}

/// The node of the test effect in the active plan.
static GroupedNode*
test_node(const Bench* const bench)
{
  return bench->worker->player.plan->nodes[0].node->fx_node;
}

TEST(the_builder_renews_a_node_while_blocks_play)
{
  static Bench bench;
  WorkerFacts facts;
  WorkerStatus status;
  const RackUid uid = start(&bench, false, &facts);
  const ParamMessage poison = { .uid = uid, .param = GROUPED_POISON, .value = 1.0 };
  const ParamMessage cure = { .uid = uid, .param = GROUPED_POISON, .value = 0.0 };
  ck_assert_float_eq(bench_play(&bench), 0.5F);
  for (uint32_t n = 1; n <= 3U; ++n) {
    ck_assert(ring_send(bench.ring, &poison, 1U));
    ck_assert_float_eq(bench_play(&bench), 0.5F); // the input at the level of the output
    worker_calls.status(bench.worker, &status);
    ck_assert_uint_eq(status.counts.units_reset, n);
    ck_assert(ring_send(bench.ring, &cure, 1U));
    AWAIT(strstr(grouped_log(), "renew"));
    ck_assert_float_eq(bench_play(&bench), 0.5F);
    assert_says(grouped_log(), "set 0=0.5 set 1=0 ");
  }
  bench_clear(&bench);
}

TEST(edits_without_a_pause_do_not_delay_a_renewal)
{
  static Bench bench;
  WorkerFacts facts;
  const RackUid uid = start(&bench, false, &facts);
  const ParamMessage poison = { .uid = uid, .param = GROUPED_POISON, .value = 1.0 };
  ck_assert_float_eq(bench_play(&bench), 0.5F);
  grouped_log();
  ck_assert(ring_send(bench.ring, &poison, 1U));
  ck_assert_float_eq(bench_play(&bench), 0.5F);
  bench_edit(&bench, 2U, "g: gain 0dB", 0U);
  bench_play_until(&bench, &bench.n_replies, 2U);
  assert_says(grouped_log(), "renew");
  bench_clear(&bench);
}

TEST(a_node_is_renewed_while_an_edit_waits_for_its_frame)
{
  static Bench bench;
  WorkerFacts facts;
  const RackUid uid = start(&bench, false, &facts);
  const ParamMessage poison = { .uid = uid, .param = GROUPED_POISON, .value = 1.0 };
  ck_assert_float_eq(bench_play(&bench), 0.5F);
  bench_edit(&bench, 2U, "g: gain 0dB", 1000000U);
  AWAIT(atomic_load(&bench.worker->awaited_frame) == 1000000U);
  grouped_log();
  ck_assert(ring_send(bench.ring, &poison, 1U));
  bench_play(&bench);
  AWAIT(strstr(grouped_log(), "renew"));
  ck_assert_uint_eq(bench_count(&bench, &bench.n_replies), 1U);
  bench_clear(&bench);
}

static atomic_uint n_notes;
static char last_note[512];

static void
on_note(void* const context, const char* const text)
{
  (void)context;
  snprintf(last_note, sizeof(last_note), "%s", text);
  atomic_fetch_add(&n_notes, 1U);
}

TEST(a_renewal_that_fails_is_reported_once)
{
  static Bench bench;
  WorkerFacts facts;
  const RackUid uid = start(&bench, false, &facts);
  const ParamMessage poison = { .uid = uid, .param = GROUPED_POISON, .value = 1.0 };
  pthread_mutex_lock(&bench.worker->planning_lock);
  bench.worker->config.note = on_note;
  pthread_mutex_unlock(&bench.worker->planning_lock);
  ck_assert_float_eq(bench_play(&bench), 0.5F);
  test_node(&bench)->cannot_renew = true;
  ck_assert(ring_send(bench.ring, &poison, 1U));
  bench_play(&bench);
  AWAIT(atomic_load(&n_notes) == 1U);
  ck_assert_str_eq(last_note, "x cannot be renewed after a NaN: it cannot be renewed");
  const uint64_t began_ns = time_now_ns();
  while (time_now_ns() - began_ns < NS_PER_S / 2U) { // more than one attempt
    bench_play(&bench);
  }
  ck_assert_uint_eq(atomic_load(&n_notes), 1U);
  bench_clear(&bench);
}

TEST(offline_a_node_is_renewed_before_the_next_block)
{
  static Bench bench;
  WorkerFacts facts;
  const RackUid uid = start(&bench, true, &facts);
  const ParamMessage poison = { .uid = uid, .param = GROUPED_POISON, .value = 1.0 };
  const ParamMessage cure = { .uid = uid, .param = GROUPED_POISON, .value = 0.0 };
  float samples[2][BENCH_BLOCK];
  const float* const in[] = { samples[0] };
  float* const out[] = { samples[1] };
  PeriodCounts counts = { 0 };
  for (uint32_t i = 0; i < BENCH_BLOCK; ++i) {
    samples[0][i] = 1.0F;
  }
  worker_process(bench.worker, in, out, BENCH_BLOCK, &counts);
  ck_assert(worker_calls.set(bench.worker, &poison, 1U));
  worker_process(bench.worker, in, out, BENCH_BLOCK, &counts);
  ck_assert_float_eq(samples[1][BENCH_BLOCK - 1U], 0.5F);
  ck_assert_str_eq(grouped_log(), "run 1x64 set 1=1 run 1x64 ");
  ck_assert(worker_calls.set(bench.worker, &cure, 1U)); // stored for the renewed node
  worker_process(bench.worker, in, out, BENCH_BLOCK, &counts);
  ck_assert_float_eq(samples[1][BENCH_BLOCK - 1U], 0.5F);
  ck_assert_str_eq(grouped_log(), "renew set 0=0.5 set 1=0 run 1x64 ");
  bench_clear(&bench);
}

TEST(the_response_of_a_rack_with_a_plugin_is_measured)
{
  static const FxOrigin origin = { "lv2", "urn:test:grouped" };
  static Bench bench;
  WorkerFacts facts;
  fx.origin = &origin;
  start(&bench, false, &facts);
  ck_assert_float_eq_tol(facts.fallbacks.of[0].response, 0.5F, 1e-3F);
  bench_clear(&bench);
}

TEST(a_latency_that_changes_is_compensated_in_a_new_plan)
{
  static Bench bench;
  WorkerFacts facts;
  WorkerStatus status;
  fx.latency = grouped_latency;
  start(&bench, false, &facts);
  ck_assert_uint_eq(facts.rack_latency_frames, 0U);
  ck_assert_float_eq(bench_play(&bench), 0.5F);
  const uint32_t n_changes = bench_count(&bench, &bench.n_changes);
  atomic_store(&test_node(&bench)->latency_frames, 100U);
  bench_play_until(&bench, &bench.n_changes, n_changes + 1U);
  ck_assert_uint_eq(bench.change.rack_latency_frames, 100U);
  ck_assert_uint_eq(bench.worker->player.plan->nodes[0].latency_frames, 100U);
  worker_calls.status(bench.worker, &status);
  ck_assert_uint_eq(status.counts.latency_changes, 1U);
  ck_assert_float_eq(bench_level(&bench), 0.5F); // the same node
  bench_clear(&bench);
}

static _Atomic uint32_t moving_frames; ///< Set while the player takes other plans

static uint32_t
moving_latency(const void* const node)
{
  (void)node;
  return atomic_load(&moving_frames);
}

TEST(a_latency_that_changes_all_the_time_is_followed_with_rests)
{
  static Bench bench;
  WorkerFacts facts;
  WorkerStatus status = { .counts = { .latency_changes = 0 } };
  fx.latency = moving_latency;
  start(&bench, false, &facts);
  const uint64_t began_ns = time_now_ns();
  uint64_t took_ns = 0;
  for (uint32_t n = 1; took_ns < NS_PER_S + NS_PER_S / 5U || !status.counts.latency_changes; ++n) {
    bench_play(&bench);
    atomic_store(&moving_frames, n);
    worker_calls.status(bench.worker, &status);
    took_ns = time_now_ns() - began_ns;
  }
  // After 0 and 0.5 s, then after 1.5 s; the machine may stall.
  ck_assert(status.counts.latency_changes <= 2U || took_ns > NS_PER_S + NS_PER_S / 3U);
  bench_clear(&bench);
}

static const void* _Atomic restless; ///< The node that asks for a restart

static bool
is_restless(const void* const node)
{
  return node == atomic_load(&restless);
}

TEST(a_node_that_asks_for_a_restart_is_replaced_while_blocks_play)
{
  static Bench bench;
  WorkerFacts facts;
  fx.wants_restart = is_restless;
  const RackUid uid = start(&bench, false, &facts);
  const ParamMessage quieter = { .uid = uid, .param = GROUPED_GAIN, .value = 0.25 };
  ck_assert_float_eq(bench_play(&bench), 0.5F);
  ck_assert(ring_send(bench.ring, &quieter, 1U));
  ck_assert_float_eq(bench_level(&bench), 0.25F);
  const GroupedNode* const before = test_node(&bench);
  const uint32_t n_changes = bench_count(&bench, &bench.n_changes);
  atomic_store(&restless, before);
  bench_play_until(&bench, &bench.n_changes, n_changes + 1U);
  ck_assert_ptr_ne(test_node(&bench), before);
  ck_assert_float_eq(bench_level(&bench), 0.25F); // its values are those that were set
  bench_clear(&bench);
}

static const void* _Atomic sometime_restless;

static const void* _Atomic second; ///< The second node, when it was asked last

/// True for every node but the second, and for that one once.
static bool
is_always_restless(const void* const node)
{
  const bool is_second = ((const GroupedNode*)node)->gain != 0.5;
  if (is_second) {
    atomic_store(&second, node);
  }
  return !is_second || node == atomic_load(&sometime_restless);
}

TEST(a_node_that_asks_for_restarts_all_the_time_delays_no_other_one)
{
  static Bench bench;
  fx.wants_restart = is_always_restless;
  bench_init(&bench, false);
  SCOPED_RACK Rack* const rack = grouped_rack_of("x: gain | x2: gain", &fx, 1U, 1U, NULL);
  rack->nodes[0].values[GROUPED_GAIN].number = 0.5;
  ck_assert_int_eq(worker_calls.edit(bench.worker, 1U, rack, 0U, 0U), STATUS_OK);
  bench_await(&bench, &bench.n_replies, 1U);
  bench_arm(&bench, false, 0U);
  ck_assert_float_eq(bench_play(&bench), 0.5F);
  while (!atomic_load(&second)) { // the time limit ends this
    bench_play(&bench);
  }
  const void* const before = atomic_load(&second);
  atomic_store(&sometime_restless, before);
  while (atomic_load(&second) == before) { // the next one is asked in the next plan
    bench_play(&bench);
  }
  ck_assert_float_eq(bench_level(&bench), 0.5F);
  bench_clear(&bench);
}

static atomic_uint n_created;

static Status
create_and_count(const FxSetup* const setup, FxShape* const shape, void** const node,
                 Error* const error)
{
  atomic_fetch_add(&n_created, 1U);
  return grouped_fx.create(setup, shape, node, error);
}

TEST(edits_without_a_pause_do_not_delay_a_restart)
{
  static Bench bench;
  WorkerFacts facts;
  fx.wants_restart = is_restless;
  fx.create = create_and_count;
  start(&bench, false, &facts);
  SCOPED_RACK Rack* const rack = grouped_rack_of("x: gain", &fx, 1U, 1U, NULL);
  rack->nodes[0].values[GROUPED_GAIN].number = 0.5;
  ck_assert_float_eq(bench_play(&bench), 0.5F);
  const uint32_t n_before = atomic_load(&n_created);
  atomic_store(&restless, test_node(&bench));
  uint64_t next_ns = 0;
  for (uint64_t id = 2; atomic_load(&n_created) == n_before; time_sleep(NS_PER_S / 1000U)) {
    if (time_now_ns() >= next_ns) { // more often than the builder does without an edit
      const Status status = worker_calls.edit(bench.worker, id++, rack, 0U, 0U);
      ck_assert(status == STATUS_OK || status == STATUS_LIMIT); // another one still waits
      next_ns = time_now_ns() + WORKER_IDLE_NS / 2U;
    }
    bench_play(&bench);
  }
  bench_clear(&bench);
}

TEST(plugins_are_not_opened_twice_if_all_fallbacks_are_stated)
{
  static const FxOrigin origin = { "lv2", "urn:test:grouped" };
  static Bench bench;
  fx.origin = &origin;
  fx.create = create_and_count;
  bench_init(&bench, false);
  SCOPED_RACK Rack* const rack =
      grouped_rack_of("add x gain\nconnect in x\nconnect x out\nlate out 0dB", &fx, 1U, 1U, NULL);
  ck_assert_int_eq(worker_calls.edit(bench.worker, 1U, rack, 0U, 0U), STATUS_OK);
  bench_await(&bench, &bench.n_replies, 1U);
  const WorkerFacts facts = bench_arm(&bench, false, 0U);
  time_sleep(NS_PER_S / 5U); // the builder has time to measure
  ck_assert_uint_eq(atomic_load(&n_created), 1U);
  ck_assert_float_eq(facts.fallbacks.of[0].level, 1.0F);
  bench_clear(&bench);
}

SUITE_MAIN_WITH("worker renewal", set_up, NULL)
