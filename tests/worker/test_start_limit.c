// SPDX-License-Identifier: GPL-3.0-or-later
// The plugins of a live rack have a time to start, which ends before the supervisor takes the
// worker for hung.

#include "plugins/host_group.h"
#include "tests/support/grouped_fx.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/worker_bench.h"

#define HUNG_NS (60U * NS_PER_S) // of the supervisor, for an edit
#define CALL_NS (10U * NS_PER_S) // of the supervisor, for one call
#define LONG_S  200U

static _Atomic uint64_t deadline_ns; // when the last node was made

static Status
create(const FxSetup* const setup, FxShape* const shape, void** const node, Error* const error)
{
  deadline_ns = host_deadline();
  return grouped_fx.create(setup, shape, node, error);
}

/// A rack of one node, of another effect in each rack.
static Rack*
rack_of_node(const uint32_t index)
{
  static FxInfo effects[2];
  effects[index] = grouped_fx;
  effects[index].create = create;
  return grouped_rack_of("x: gain", &effects[index], 1U, 1U, NULL);
}

static void
expect_limit(Worker* const worker, const uint64_t since_ns)
{
  pthread_mutex_lock(&worker->planning_lock); // the builder has nothing to do meanwhile
  ck_assert_uint_gt(deadline_ns, since_ns);
  ck_assert_uint_lt(deadline_ns, since_ns + HUNG_NS - CALL_NS);
  ck_assert_uint_eq(host_deadline(), 0U);
  pthread_mutex_unlock(&worker->planning_lock);
}

static const bool modes[] = { false, true };

TEST_ROWS(the_nodes_of_live_racks_have_a_deadline, modes)
{
  static Bench bench;
  const bool offline = modes[row];
  bench_init(&bench, offline);
  SCOPED_RACK Rack* const first = rack_of_node(0U);
  ck_assert_int_eq(worker_calls.edit(bench.worker, 1U, first, 0U, 0U), STATUS_OK);
  bench_await(&bench, &bench.n_replies, 1U);
  const uint64_t began_ns = time_now_ns();
  bench_arm(&bench, offline, 0U);
  if (offline) {
    ck_assert_uint_eq(deadline_ns, 0U);
  } else {
    expect_limit(bench.worker, began_ns);
    SCOPED_RACK Rack* const second = rack_of_node(1U);
    deadline_ns = 0U;
    const uint64_t given_ns = time_now_ns();
    ck_assert_int_eq(worker_calls.edit(bench.worker, 2U, second, 0U, 0U), STATUS_OK);
    bench_play_until(&bench, &bench.n_replies, 2U);
    expect_limit(bench.worker, given_ns);
  }
  bench_clear(&bench);
}

/// The last node was made with LONG_S from `since_ns`, or from a later time, on.
static void
expect_long_limit(Worker* const worker, const uint64_t since_ns)
{
  pthread_mutex_lock(&worker->planning_lock);
  ck_assert_uint_ge(deadline_ns, since_ns + LONG_S * NS_PER_S);
  ck_assert_uint_le(deadline_ns, time_now_ns() + LONG_S * NS_PER_S);
  pthread_mutex_unlock(&worker->planning_lock);
}

TEST(the_configuration_gives_plugins_more_time_in_edits_and_when_the_worker_is_armed)
{
  static Bench bench;
  bench_init(&bench, false);
  bench.worker->config.plugin_start_s = LONG_S;
  SCOPED_RACK Rack* const first = rack_of_node(0U);
  ck_assert_int_eq(worker_calls.edit(bench.worker, 1U, first, 0U, 0U), STATUS_OK);
  bench_await(&bench, &bench.n_replies, 1U);
  const uint64_t began_ns = time_now_ns();
  bench_arm(&bench, false, 0U);
  expect_long_limit(bench.worker, began_ns);
  SCOPED_RACK Rack* const second = rack_of_node(1U);
  const uint64_t given_ns = time_now_ns();
  ck_assert_int_eq(worker_calls.edit(bench.worker, 2U, second, 0U, 0U), STATUS_OK);
  bench_play_until(&bench, &bench.n_replies, 2U);
  expect_long_limit(bench.worker, given_ns);
  bench_clear(&bench);
}

// ---- a worker that is armed while it plans ----

static atomic_bool is_making; // the builder makes the node of an edit, and waits
static _Atomic uint64_t made_ns;

/// Make a node that takes long, the first time.
static Status
create_slowly(const FxSetup* const setup, FxShape* const shape, void** const node,
              Error* const error)
{
  if (!made_ns) {
    is_making = true;
    time_sleep(200U * NS_PER_MS);
    made_ns = time_now_ns();
  }
  return create(setup, shape, node, error);
}

/// The nodes are made again.
static void
arm_at_another_rate(Bench* const bench)
{
  const RingShape shape = {
    .n_in = 1, .n_out = 1, .block_frames = BENCH_BLOCK, .n_slots = 4, .n_messages = 16
  };
  OK(ring_new(&shape, &bench->ring, &error));
  const WorkerStart start = { .format = { 0.5 * BENCH_RATE_HZ, BENCH_BLOCK, 1, 1, false },
                              .ring = bench->ring };
  WorkerFacts facts;
  OK(worker_calls.arm(bench->worker, &start, &facts, &error));
}

TEST(the_wait_for_an_edit_is_no_time_of_the_plugins_of_a_worker_that_is_armed)
{
  static Bench bench;
  bench_init(&bench, false);
  SCOPED_RACK Rack* const first = rack_of_node(0U);
  ck_assert_int_eq(worker_calls.edit(bench.worker, 1U, first, 0U, 0U), STATUS_OK);
  bench_await(&bench, &bench.n_replies, 1U);
  bench_arm(&bench, false, 0U);
  bench_disarm(&bench);
  FxInfo slow = grouped_fx;
  slow.create = create_slowly;
  SCOPED_RACK Rack* const second = grouped_rack_of("x: gain", &slow, 1U, 1U, NULL);
  ck_assert_int_eq(worker_calls.edit(bench.worker, 2U, second, 0U, 0U), STATUS_OK);
  AWAIT(is_making);
  arm_at_another_rate(&bench);
  pthread_mutex_lock(&bench.worker->planning_lock);
  ck_assert_uint_ge(deadline_ns, made_ns + ENGINE_PLUGIN_START_S * NS_PER_S);
  pthread_mutex_unlock(&bench.worker->planning_lock);
  bench_clear(&bench);
}

SUITE_MAIN("start limit")
