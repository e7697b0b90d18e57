// SPDX-License-Identifier: GPL-3.0-or-later
// Work that waits in a worker: edits for later frames while blocks come, stall, stop or end; values
// of racks that are planned when there is a format; tails that the worker is too slow for; and
// measurements of racks, which end when an edit comes, until they are overdue.

#include "engine/base/time.h"
#include "tests/support/scoped.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"
#include "tests/support/worker_bench.h"

#include <stdatomic.h>
#include <unistd.h>

#define BLOCK         BENCH_BLOCK
#define STALL_US      500000U     // of a driver whose machine is overloaded
#define LONG_STALL_NS 1500000000U // what might be taken for the end of all audio
#define N_DISARMED    40U         // standing still for each would take longer than a test may
#define LOOKS_BEHIND  10U         // of the builder that find the ring full: tails end

static const char* const levels[] = { "g: gain 0dB", "g: gain -20dB | h: gain 0dB" };

/// The builder waits for this frame.
static void
await_waiting(const Bench* const bench, const uint64_t frame)
{
  while (atomic_load(&bench->worker->awaited_frame) != frame) {
    usleep(BENCH_POLL_US);
  }
}

TEST(edits_that_wait_at_the_end_are_rejected)
{
  static Bench bench;
  bench_init(&bench, false);
  const uint64_t never = UINT64_MAX / 2U; // heard when time stands still
  bench_edit(&bench, 1U, levels[0], 0U);
  bench_await(&bench, &bench.n_replies, 1U);
  bench_arm(&bench, false, 0U);
  bench_edit(&bench, 2U, levels[1], never);
  await_waiting(&bench, never);
  bench_edit(&bench, 3U, levels[0], 0U); // waits for the builder
  SCOPED_RACK Rack* const rack = driver_rack(levels[1]);
  ck_assert_int_eq(worker_calls.edit(bench.worker, 4U, rack, 0U, 0U), STATUS_LIMIT);
  bench_clear(&bench);
  ck_assert_uint_eq(bench.n_replies, 3U);
  for (uint32_t n = 0; n < 3U; ++n) {
    ck_assert_uint_eq(bench.replies[n].id, n + 1U);
  }
  ck_assert_int_eq(bench.replies[1].reply.status, STATUS_OK);
  ck_assert_int_eq(bench.replies[2].reply.status, STATUS_LIMIT);
}

TEST(when_audio_stops_waiting_edits_are_done_at_once)
{
  static Bench bench;
  bench_init(&bench, false);
  bench.frame = 100U * BLOCK;
  bench_arm(&bench, false, 0U);
  bench_edit(&bench, 1U, levels[1], UINT64_MAX / 2U);
  bench_await(&bench, &bench.n_replies, 1U); // no block comes
  ck_assert_int_eq(bench.replies[0].reply.status, STATUS_OK);
  ck_assert_uint_eq(bench.replies[0].reply.frame, 100U * BLOCK);
  bench_clear(&bench);
}

TEST(a_short_stall_of_blocks_advances_no_edit)
{
  static Bench bench;
  bench_init(&bench, false);
  bench_arm(&bench, false, 0U);
  uint64_t stalled_ns = UINT64_MAX;
  for (uint32_t n = 1; stalled_ns > LONG_STALL_NS; ++n) { // until this thread was not starved
    const uint64_t at = bench.frame + 10U * BLOCK;
    bench_play(&bench);
    const uint64_t since_ns = time_now_ns();
    bench_edit(&bench, n, levels[n % 2U], at);
    await_waiting(&bench, at);
    usleep(STALL_US);
    bench_play_until(&bench, &bench.n_replies, n);
    stalled_ns = time_now_ns() - since_ns;
    ck_assert_int_eq(bench.replies[n - 1U].reply.status, STATUS_OK);
    ck_assert_msg(stalled_ns > LONG_STALL_NS || bench.replies[n - 1U].reply.frame == at,
                  "heard at %llu, not %llu", (unsigned long long)bench.replies[n - 1U].reply.frame,
                  (unsigned long long)at);
  }
  bench_clear(&bench);
}

TEST(disarming_does_not_wait_for_frames_that_never_come)
{
  static Bench bench;
  bench_init(&bench, false);
  for (uint32_t n = 1; n <= N_DISARMED; ++n) {
    bench_arm(&bench, false, 0U);
    bench_edit(&bench, n, levels[n % 2U], UINT64_MAX / 2U);
    await_waiting(&bench, UINT64_MAX / 2U);
    bench_disarm(&bench);
    bench_await(&bench, &bench.n_replies, n);
    ck_assert_int_eq(bench.replies[n - 1U].reply.status, STATUS_OK);
    ck_assert_uint_eq(bench.replies[n - 1U].reply.frame, 0U);
  }
  bench_clear(&bench);
}

static void
say_why(const Stage* const stage, Error* const error)
{
  (void)stage;
  error_set(error, STATUS_DEVICE_LOST, "a device that fails");
}

TEST(a_failed_device_is_left_while_an_edit_waits)
{
  static Bench bench;
  static const Backend device = { .kind = ENGINE_BACKEND_CUDA, .stage_error = say_why };
  static const PlanStage stage = { .backend = &device };
  Error error = { STATUS_OK, "" };
  bench_init(&bench, false);
  bench_arm(&bench, false, 0U);
  bench_play(&bench);
  bench_edit(&bench, 1U, levels[1], UINT64_MAX / 2U);
  await_waiting(&bench, UINT64_MAX / 2U);
  ck_assert_int_eq(worker_calls.failure(bench.worker, &error), STATUS_OK);
  plan_fail(bench.worker->player.plan, &stage);
  while (!bench_count(&bench, &bench.n_replies)) { // audio goes on
    bench_play(&bench);
    usleep(BENCH_POLL_US);
  }
  ck_assert_int_eq(bench.replies[0].reply.status, STATUS_OK);
  ck_assert_int_eq(worker_calls.failure(bench.worker, &error), STATUS_DEVICE_LOST);
  ck_assert_str_eq(error.text, "a device that fails");
  bench_clear(&bench);
}

// ---- measurements ----

/// An impulse response of one sample.  The planner of a rack reads it first; the copy of the rack
/// for the measurement reads it next, and waits there.
typedef struct SlowResponse {
  _Atomic uint32_t n_loads;
  _Atomic bool may_go_on;
} SlowResponse;

static Status
load_slowly(void* const context, const char* const name, const double rate_hz, FxFile** const file,
            Error* const error)
{
  static const float sample = 1.0F;
  static FxFile response = {
    .name = "x", .n_channels = 1, .n_frames = 1, .samples = &sample, .is_audio = true
  };
  SlowResponse* const slow = context;
  if (rate_hz != BENCH_RATE_HZ) {
    return error_set(error, STATUS_FILE, "%s is gone", name);
  }
  if (++slow->n_loads == 2U) {
    while (!slow->may_go_on) {
      usleep(BENCH_POLL_US);
    }
  }
  *file = &response;
  return STATUS_OK;
}

static void
unload(void* const context, FxFile* const file)
{
  (void)context;
  (void)file;
}

static void*
disarm(void* const context)
{
  Bench* const bench = context;
  worker_calls.disarm(bench->worker);
  return NULL;
}

/// A worker that plays at 0 dB, and has taken over a rack that plays at -20 dB.
static void
edit_slowly(Bench* const bench, SlowResponse* const slow)
{
  bench_init(bench, false);
  bench->worker->loader.load = load_slowly;
  bench->worker->loader.free = unload;
  bench->worker->loader.context = slow;
  bench_edit(bench, 1U, "g: gain 0dB", 0U);
  bench_await(bench, &bench->n_replies, 1U);
  bench_arm(bench, false, 0U);
  bench_edit(bench, 2U, "c: convolver x | h: gain -20dB", 0U);
  bench_play_until(bench, &bench->n_replies, 2U);
}

/// Wait until the worker measures the rack.
static void
await_measurement(const SlowResponse* const slow)
{
  while (slow->n_loads < 2U) {
    usleep(BENCH_POLL_US);
  }
}

TEST(an_edit_ends_a_measurement)
{
  static Bench bench;
  SlowResponse slow = { .may_go_on = false };
  edit_slowly(&bench, &slow);
  await_measurement(&slow);
  bench_edit(&bench, 3U, levels[1], 0U);
  slow.may_go_on = true;
  bench_play_until(&bench, &bench.n_replies, 3U);
  const Fallback* const kept = &bench.replies[2].facts.fallbacks.of[0];
  ck_assert_double_eq_tol((double)kept->level, 1.0, 1e-3); // not that of the second rack
  bench_clear(&bench);
}

TEST(the_end_of_audio_ends_a_measurement)
{
  static Bench bench;
  SlowResponse slow = { .may_go_on = false };
  WorkerStatus status;
  pthread_t thread;
  edit_slowly(&bench, &slow);
  await_measurement(&slow);
  ck_assert_int_eq(pthread_create(&thread, NULL, disarm, &bench), 0);
  while (!atomic_load(&bench.worker->n_ending)) {
    usleep(BENCH_POLL_US);
  }
  slow.may_go_on = true;
  pthread_join(thread, NULL);
  worker_calls.status(bench.worker, &status);
  ck_assert_double_eq_tol((double)status.facts.fallbacks.of[0].level, 1.0, 1e-3);
  do { // until the builder measures again
    usleep(BENCH_POLL_US);
    worker_calls.status(bench.worker, &status);
  } while (status.facts.fallbacks.of[0].response == 0.0F);
  ck_assert_double_eq_tol((double)status.facts.fallbacks.of[0].level, 0.1, 1e-3);
  bench_clear(&bench);
}

// ---- a builder whose looks the test asks for ----

static _Atomic bool is_stepped;
static _Atomic uint32_t n_waits; // of such a builder, each after a look
static _Atomic bool is_waiting;

int __real_pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  const struct timespec* until);
int __wrap_pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                  const struct timespec* until);

int
__wrap_pthread_cond_timedwait(pthread_cond_t* const condition, pthread_mutex_t* const mutex,
                              const struct timespec* const until)
{
  if (!is_stepped) {
    return __real_pthread_cond_timedwait(condition, mutex, until);
  }
  ++n_waits;
  is_waiting = true;
  const int code = pthread_cond_wait(condition, mutex);
  is_waiting = false;
  return code;
}

/// Let the builder look so many times.
static void
look(Bench* const bench, const uint32_t n_looks)
{
  while (!is_waiting) {
    usleep(BENCH_POLL_US);
  }
  for (uint32_t n = 0; n < n_looks; ++n) {
    pthread_mutex_lock(&bench->worker->edits_lock);
    const uint32_t before = n_waits;
    pthread_cond_signal(&bench->worker->edits_changed);
    pthread_mutex_unlock(&bench->worker->edits_lock);
    while (n_waits == before) {
      usleep(BENCH_POLL_US);
    }
  }
}

/// Start the worker again, and wait until it has played all blocks.
static void
go_on(Bench* const bench)
{
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(worker_start_player(bench->worker, &error), STATUS_OK);
  ck_assert(ring_wait_finished(bench->ring, ring_next(bench->ring) - 1U, UINT64_MAX));
}

/// Stop the worker, and submit blocks until all slots but one are in flight.
static void
fall_behind(Bench* const bench)
{
  worker_stop_player(bench->worker);
  for (uint32_t n = 1; n < ring_shape(bench->ring)->n_slots; ++n) {
    *ring_slot(bench->ring, ring_next(bench->ring)) =
        (SlotHeader){ .frame = bench->frame, .n_frames = BLOCK };
    ring_submit(bench->ring);
    bench->frame += BLOCK;
  }
}

TEST(a_rack_is_measured_though_another_format_was_refused)
{
  static Bench bench;
  SlowResponse slow = { .may_go_on = true };
  const WorkerStart other = { .format = { 44100.0, BLOCK, 1, 1, false } };
  WorkerFacts facts;
  Error error = { STATUS_OK, "" };
  is_stepped = true;
  edit_slowly(&bench, &slow);
  ck_assert_int_eq(worker_calls.arm(bench.worker, &other, &facts, &error), STATUS_FILE);
  ck_assert_double_eq_tol((double)facts.fallbacks.of[0].level, 1.0, 1e-3);
  look(&bench, 1U);
  WorkerStatus status;
  worker_calls.status(bench.worker, &status);
  ck_assert_double_eq_tol((double)status.facts.fallbacks.of[0].level, 0.1, 1e-3);
  bench_clear(&bench);
  is_stepped = false;
}

TEST(edits_postpone_a_measurement_for_half_a_second_at_most)
{
  static const char* const racks[] = { "c: convolver x | h: gain -40dB",
                                       "c: convolver x | h: gain -20dB | i: gain -20dB" };
  static Bench bench;
  SlowResponse slow = { .may_go_on = false };
  is_stepped = true;
  edit_slowly(&bench, &slow);
  const uint64_t first = bench.replies[1].reply.frame;
  uint32_t n = 2;
  while (slow.n_loads < 2U) { // the builder never looks without an edit
    while (!is_waiting && slow.n_loads < 2U) {
      usleep(BENCH_POLL_US);
    }
    const bool is_overdue = bench.frame - first >= (uint64_t)(0.5 * BENCH_RATE_HZ);
    ck_assert_msg(slow.n_loads < 2U || is_overdue, "measured after %u edits", n);
    ck_assert_msg(bench.frame - first < (uint64_t)BENCH_RATE_HZ, "not measured after %u edits", n);
    ++n;
    bench_edit(&bench, n, racks[n % 2U], 0U);
    bench_play_until(&bench, &bench.n_replies, n);
    for (uint32_t b = 0; b < 40U; ++b) {
      bench_play(&bench);
    }
  }
  ++n;
  bench_edit(&bench, n, levels[0], 0U); // does not end it
  slow.may_go_on = true;
  bench_play_until(&bench, &bench.n_replies, n);
  ck_assert_double_eq_tol((double)bench.replies[n - 1U].facts.fallbacks.of[0].level, 0.01, 1e-4);
  bench_clear(&bench);
  is_stepped = false;
}

TEST(tails_end_although_the_player_lagged_at_most_polls)
{
  static Bench bench;
  is_stepped = true;
  bench_start(&bench, "d: delay 10s feedback=0%");
  bench_play(&bench); // a node that has never sounded has no tail
  bench_edit(&bench, 2U, "g: gain 0dB", 0U);
  bench_play_until(&bench, &bench.n_replies, 2U);
  ck_assert_uint_eq(bench.replies[1].facts.n_units, 2U); // the delay's tail
  bench_level(&bench);
  look(&bench, 1U); // measures the rack, and leaves out the connections that have faded
  const uint32_t n_changes = bench_count(&bench, &bench.n_changes);

  fall_behind(&bench);
  look(&bench, LOOKS_BEHIND - 1U);
  go_on(&bench);
  look(&bench, LOOKS_BEHIND - 2U); // not behind: each takes back half of a look
  fall_behind(&bench);
  look(&bench, LOOKS_BEHIND / 2U - 1U);
  ck_assert_uint_eq(bench_count(&bench, &bench.n_changes), n_changes);
  look(&bench, 1U);
  ck_assert_uint_eq(bench_count(&bench, &bench.n_changes), n_changes + 1U);
  look(&bench, 1U); // the count starts again
  ck_assert_uint_eq(bench_count(&bench, &bench.n_changes), n_changes + 1U);

  go_on(&bench);
  bench_level(&bench); // it has faded
  look(&bench, 1U);
  ck_assert_uint_eq(bench_count(&bench, &bench.n_changes), n_changes + 2U);
  ck_assert_uint_eq(bench.change.n_units, 1U);
  bench_clear(&bench);
  is_stepped = false;
}

/// Set a gain of 0 dB to -20 dB before there is a plan: in the rack that is kept for it, or in one
/// that waits behind.
static void
set_before_the_first_plan(const bool is_behind)
{
  static Bench bench;
  SCOPED_RACK Rack* const rack = driver_rack(levels[0]);
  const RackUid uid = rack->nodes[0].uid;
  const ParamMessage down = { .uid = uid, .value = -20.0 };
  const ParamMessage none[] = { { .uid = 99U, .value = 3.0 },
                                { .uid = uid, .param = 99U, .value = 3.0 },
                                { .uid = uid, .value = 1e9 } };
  bench_init(&bench, false);
  pthread_mutex_lock(&bench.gate);
  ck_assert_int_eq(worker_calls.edit(bench.worker, 1U, rack, 0U, 0U), STATUS_OK);
  bench_await(&bench, &bench.n_replies, 1U); // the builder is at the gate
  if (is_behind) {
    ck_assert_int_eq(worker_calls.edit(bench.worker, 2U, rack, 0U, 0U), STATUS_OK);
  }
  ck_assert(worker_calls.set(bench.worker, &down, 1U));
  ck_assert(worker_calls.set(bench.worker, none, ARRAY_LEN(none)));
  pthread_mutex_unlock(&bench.gate);
  bench_await(&bench, &bench.n_replies, is_behind ? 2U : 1U);
  bench_arm(&bench, false, 4U);
  ck_assert_double_eq_tol(bench_play(&bench), 0.1, 1e-6);
  bench_clear(&bench);
}

TEST(values_that_are_set_before_the_first_plan_are_kept)
{
  set_before_the_first_plan(false);
  set_before_the_first_plan(true);
}

SUITE_MAIN("worker_waits")
