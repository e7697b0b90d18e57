// SPDX-License-Identifier: GPL-3.0-or-later
// Work that waits in a worker: edits for later frames while blocks are played, stall, stop or end,
// and what plugins do meanwhile; values for racks that wait for a format; the player, for blocks;
// tails of a rack that was too heavy for the worker; and measurements of racks, which an edit ends,
// unless they are overdue.

#include "engine/base/time.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"
#include "tests/support/worker_bench.h"

#include <math.h>
#include <stdatomic.h>
#include <unistd.h>

#define BLOCK           BENCH_BLOCK
#define STALL_US        500000U     // a driver on an overloaded machine stalls for so long
#define LONG_STALL_NS   1500000000U // the worker may take such a stall for the end of audio
#define LONG_MEASURE_NS 1000000000U // an edit may end a measurement that has taken so long
#define N_DISARMED      60U         // if each waited for the end of audio, the test would time out
#define N_STOPPED       40U         // likewise
#define N_LATE          2U          // late blocks of each play_late()
#define N_DRY           (N_LATE * (1U + FALLBACK_GOOD_BLOCKS)) // blocks with fallbacks after it
#define N_LIMIT         281U // blocks of 375 ms: so many with fallbacks are too many

static const char* const levels[] = { "g: gain 0dB", "g: gain -20dB | h: gain 0dB" };

static _Atomic bool blocks_seem_to_come; // the worker sees no standstill

uint64_t __real_ring_n_submitted(const Ring* ring);
uint64_t __wrap_ring_n_submitted(const Ring* ring);

uint64_t
__wrap_ring_n_submitted(const Ring* const ring)
{
  static _Atomic uint64_t n;
  return __real_ring_n_submitted(ring) + (blocks_seem_to_come ? ++n : 0U);
}

static _Atomic uint32_t n_idle; // calls of fx_idle()

void __wrap_fx_idle(void);

void
__wrap_fx_idle(void)
{
  ++n_idle;
}

/// Edit, and wait until the builder waits for this frame.  The builder does not take a stall of
/// this thread for the end of audio until the test resets blocks_seem_to_come.
static void
edit_and_await(Bench* const bench, const uint64_t id, const char* const text, const uint64_t frame)
{
  blocks_seem_to_come = true;
  bench_edit(bench, id, text, frame);
  AWAIT(atomic_load(&bench->worker->awaited_frame) == frame);
}

TEST(edits_that_wait_at_the_end_are_refused)
{
  static Bench bench;
  bench_init(&bench, false);
  const uint64_t never = UINT64_MAX / 2U; // becomes active only when audio stops
  bench_edit(&bench, 1U, levels[0], 0U);
  bench_await(&bench, &bench.n_replies, 1U);
  bench_arm(&bench, false, 0U);
  edit_and_await(&bench, 2U, levels[1], never);
  bench_edit(&bench, 3U, levels[0], 0U); // waits until the builder has finished edit 2
  SCOPED_RACK Rack* const rack = rack_of(levels[1], NULL);
  ck_assert_int_eq(worker_calls.edit(bench.worker, 4U, rack, 0U, 0U), STATUS_LIMIT);
  bench_clear(&bench);
  blocks_seem_to_come = false;
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
  bench_await(&bench, &bench.n_replies, 1U); // no block is played
  ck_assert_int_eq(bench.replies[0].reply.status, STATUS_OK);
  ck_assert_uint_eq(bench.replies[0].reply.frame, 100U * BLOCK);
  for (uint32_t n = 2; n <= N_STOPPED; ++n) {
    bench_edit(&bench, n, levels[n % 2U], UINT64_MAX / 2U);
    bench_await(&bench, &bench.n_replies, n);
    ck_assert_int_eq(bench.replies[n - 1U].reply.status, STATUS_OK);
  }
  bench_clear(&bench);
}

TEST(a_short_stall_of_blocks_advances_no_edit)
{
  static Bench bench;
  bench_init(&bench, false);
  bench_arm(&bench, false, 0U);
  uint64_t stalled_ns = UINT64_MAX;
  // Again, if this thread stalled for so long that the worker may have taken it for the end of
  // audio.
  for (uint32_t n = 1; stalled_ns > LONG_STALL_NS; ++n) {
    const uint64_t at = bench.frame + 10U * BLOCK;
    bench_play(&bench);
    const uint64_t since_ns = time_now_ns();
    edit_and_await(&bench, n, levels[n % 2U], at);
    blocks_seem_to_come = false;
    usleep(STALL_US);
    bench_play_until(&bench, &bench.n_replies, n);
    stalled_ns = time_now_ns() - since_ns;
    ck_assert_int_eq(bench.replies[n - 1U].reply.status, STATUS_OK);
    ck_assert_msg(stalled_ns > LONG_STALL_NS || bench.replies[n - 1U].reply.frame == at,
                  "active at %llu, not %llu", (unsigned long long)bench.replies[n - 1U].reply.frame,
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
    edit_and_await(&bench, n, levels[n % 2U], UINT64_MAX / 2U);
    bench_disarm(&bench);
    bench_await(&bench, &bench.n_replies, n);
    ck_assert_int_eq(bench.replies[n - 1U].reply.status, STATUS_OK);
    ck_assert_uint_eq(bench.replies[n - 1U].reply.frame, 0U);
  }
  bench_clear(&bench);
  blocks_seem_to_come = false;
}

/// Otherwise nobody would see that a process of a group has ended.
TEST(plugins_are_called_outside_of_audio_while_an_edit_waits)
{
  static Bench bench;
  bench_init(&bench, false);
  bench_arm(&bench, false, 0U);
  edit_and_await(&bench, 1U, levels[1], UINT64_MAX / 2U);
  const uint32_t before = n_idle;
  AWAIT(n_idle >= before + 2U);
  bench_disarm(&bench);
  bench_await(&bench, &bench.n_replies, 1U);
  bench_clear(&bench);
  blocks_seem_to_come = false;
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
  bench_init(&bench, false);
  bench_arm(&bench, false, 0U);
  bench_play(&bench);
  edit_and_await(&bench, 1U, levels[1], UINT64_MAX / 2U);
  OK(worker_failure(bench.worker, &error));
  plan_fail(bench.worker->player.plan, &stage);
  while (!bench_count(&bench, &bench.n_replies)) { // audio continues
    bench_play(&bench);
    usleep(BENCH_POLL_US);
  }
  ck_assert_int_eq(bench.replies[0].reply.status, STATUS_OK);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(worker_failure(bench.worker, &error), STATUS_DEVICE_LOST);
  ck_assert_str_eq(error.text, "a device that fails");
  bench_clear(&bench);
  blocks_seem_to_come = false;
}

// ---- the player ----

#define LONG_WAIT_US 200U // the player spins for less
#define LONG_WAITS   16U  // in a row, after which it does not spin

static _Atomic bool waits_are_long, waits_are_short;
static _Atomic uint32_t n_long_waits; // since waits_are_long
static _Atomic uint64_t last_spin_ns; // of the last wait for a block

bool __real_ring_wait_take(Ring* ring, uint64_t spin_ns, uint64_t timeout_ns, uint64_t* sequence);
bool __wrap_ring_wait_take(Ring* ring, uint64_t spin_ns, uint64_t timeout_ns, uint64_t* sequence);

bool
__wrap_ring_wait_take(Ring* const ring, const uint64_t spin_ns, const uint64_t timeout_ns,
                      uint64_t* const sequence)
{
  last_spin_ns = spin_ns;
  if (waits_are_long) {
    ++n_long_waits;
    usleep(LONG_WAIT_US);
    return false;
  }
  return !waits_are_short && __real_ring_wait_take(ring, spin_ns, timeout_ns, sequence);
}

TEST(the_player_spins_only_while_waits_are_short)
{
  static Bench bench;
  bench_init(&bench, false);
  bench_arm(&bench, false, 0U);
  for (uint32_t round = 0; round < 3U; ++round) {
    waits_are_short = true;
    AWAIT(last_spin_ns > 0U);
    n_long_waits = 0;
    waits_are_long = true;
    AWAIT(n_long_waits > LONG_WAITS + 1U); // the first one may have begun before
    ck_assert_uint_eq(last_spin_ns, 0U);
    waits_are_long = false;
  }
  waits_are_short = false;
  bench_clear(&bench);
}

// ---- a builder that checks its work only when the test asks for it ----

static _Atomic bool is_stepped;
static _Atomic uint32_t n_waits; // number of waits of such a builder; each follows a check
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

/// Let the builder check `n_checks` times.
static void
check(Bench* const bench, const uint32_t n_checks)
{
  AWAIT(is_waiting);
  for (uint32_t n = 0; n < n_checks; ++n) {
    pthread_mutex_lock(&bench->worker->edits_lock);
    const uint32_t before = n_waits;
    pthread_cond_signal(&bench->worker->edits_changed);
    pthread_mutex_unlock(&bench->worker->edits_lock);
    AWAIT(n_waits != before);
  }
}

// ---- measurements ----

/// An impulse response of one sample.  The plan of a rack loads one for each convolver.  The
/// measurement, which plans a copy of the rack, loads them again, and waits in its first load until
/// may_go_on is set.
typedef struct SlowResponse {
  uint32_t n_convolvers;
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
  if (++slow->n_loads == slow->n_convolvers + 1U) {
    while (!slow->may_go_on) {
      usleep(BENCH_POLL_US);
    }
  }
  *file = &response;
  return STATUS_OK;
}

static void*
disarm(void* const context)
{
  Bench* const bench = context;
  worker_calls.disarm(bench->worker);
  return NULL;
}

/// Make a worker that plays a rack at 0 dB, and edit it to a rack at -20 dB, which the worker will
/// measure.
static void
edit_slowly(Bench* const bench, SlowResponse* const slow)
{
  bench_init(bench, false);
  bench->worker->loader.files = (FxFiles){ .load = load_slowly, .context = slow };
  bench_edit(bench, 1U, "g: gain 0dB", 0U);
  bench_await(bench, &bench->n_replies, 1U);
  bench_arm(bench, false, 0U);
  bench_play(bench); // from now on, edits keep nodes: each convolver loads its response once
  bench_edit(bench, 2U,
             slow->n_convolvers == 1U ? "c: convolver x | h: gain -20dB"
                                      : "c: convolver x | d: convolver y | h: gain -20dB",
             0U);
  bench_await(bench, &bench->n_replies, 2U); // no block: the player takes the plan while it waits
}

/// Wait until the worker measures the rack.
static void
await_measurement(const SlowResponse* const slow)
{
  AWAIT(slow->n_loads > slow->n_convolvers);
}

TEST(an_edit_ends_a_measurement_however_long_it_has_taken)
{
  static Bench bench;
  SlowResponse slow = { .n_convolvers = 1 };
  edit_slowly(&bench, &slow);
  await_measurement(&slow);
  const uint64_t first = bench.frame;
  while (bench.frame - first < (uint64_t)BENCH_RATE_HZ) {
    bench_play(&bench);
  }
  bench_edit(&bench, 3U, levels[1], 0U);
  slow.may_go_on = true;
  bench_play_until(&bench, &bench.n_replies, 3U);
  const Fallback* const kept = &bench.replies[2].facts.fallbacks.of[0];
  ck_assert_double_eq_tol((double)kept->level, 1.0, 1e-3); // the first rack's level
  bench_clear(&bench);
}

TEST(an_edit_ends_the_planning_of_a_copy_before_its_next_node)
{
  static Bench bench;
  SlowResponse slow = { .n_convolvers = 2 };
  edit_slowly(&bench, &slow);
  await_measurement(&slow);
  bench_edit(&bench, 3U, levels[1], 0U);
  slow.may_go_on = true;
  bench_play_until(&bench, &bench.n_replies, 3U);
  ck_assert_uint_eq(slow.n_loads, 3U); // not the fourth, of the copy's second convolver
  bench_clear(&bench);
}

TEST(the_end_of_audio_ends_a_measurement)
{
  static Bench bench;
  SlowResponse slow = { .n_convolvers = 1 };
  WorkerStatus status;
  pthread_t thread;
  edit_slowly(&bench, &slow);
  await_measurement(&slow);
  is_stepped = true;
  ck_assert_int_eq(pthread_create(&thread, NULL, disarm, &bench), 0);
  AWAIT(atomic_load(&bench.worker->n_ending) > 0U);
  slow.may_go_on = true;
  pthread_join(thread, NULL);
  worker_calls.status(bench.worker, &status);
  ck_assert_double_eq_tol((double)status.facts.fallbacks.of[0].level, 1.0, 1e-3);
  check(&bench, 1U);
  worker_calls.status(bench.worker, &status);
  ck_assert_double_eq_tol((double)status.facts.fallbacks.of[0].level, 0.1, 1e-3);
  bench_clear(&bench);
  is_stepped = false;
}

/// Submit N_LATE + 1 blocks while the player is stopped: when it starts, all of them but the last
/// are late.  Then play blocks in time, `n_blocks` in total.
static void
play_late(Bench* const bench, const uint32_t n_blocks, const uint32_t flags)
{
  worker_stop_player(bench->worker);
  for (uint32_t b = 0; b <= N_LATE; ++b) {
    *ring_slot(bench->ring, ring_next(bench->ring)) =
        (SlotHeader){ .frame = bench->frame, .n_frames = BLOCK, .flags = flags };
    ring_submit(bench->ring);
    bench->frame += BLOCK;
  }
  OK(worker_start_player(bench->worker, &error));
  ck_assert(ring_wait_finished(bench->ring, ring_next(bench->ring) - 1U, UINT64_MAX));
  for (uint32_t b = N_LATE + 1U; b < n_blocks; ++b) {
    bench_play(bench);
  }
}

/// Play `n_blocks` blocks, N_LATE of them late, before each of `n_checks` checks.
static void
check_late(Bench* const bench, const uint32_t n_checks, const uint32_t n_blocks,
           const uint32_t flags)
{
  for (uint32_t n = 0; n < n_checks; ++n) {
    play_late(bench, n_blocks, flags);
    check(bench, 1U);
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
  check(&bench, 1U);
  WorkerStatus status;
  worker_calls.status(bench.worker, &status);
  ck_assert_double_eq_tol((double)status.facts.fallbacks.of[0].level, 0.1, 1e-3);
  bench_clear(&bench);
  is_stepped = false;
}

static uint64_t edited_ns; // when edit_before_a_check() has edited last

/// Edit before the builder checks, so that it does not measure, and play for a tenth of a second.
/// Returns false if it measures nevertheless.
static bool
edit_before_a_check(Bench* const bench, const SlowResponse* const slow, const uint32_t n)
{
  static const char* const racks[] = { "c: convolver x | h: gain -40dB",
                                       "c: convolver x | h: gain -20dB | i: gain -20dB" };
  while (!is_waiting) {
    if (slow->n_loads == 2U && !slow->may_go_on) {
      return false;
    }
    usleep(BENCH_POLL_US);
  }
  edited_ns = time_now_ns();
  bench_edit(bench, n, racks[n % 2U], 0U);
  bench_await(bench, &bench->n_replies, n); // no block, however long the builder takes
  for (uint32_t b = 0; b < 40U; ++b) {
    bench_play(bench);
  }
  return true;
}

/// Edit until the builder measures the rack although edits come.  Returns the number of edits.
static uint32_t
edit_until_overdue(Bench* const bench, const SlowResponse* const slow)
{
  const uint64_t first = bench->replies[1].reply.frame;
  uint32_t n = 2;
  while (edit_before_a_check(bench, slow, n + 1U)) {
    ++n;
    ck_assert_msg(bench->frame - first < (uint64_t)BENCH_RATE_HZ, "not measured after %u edits", n);
  }
  ck_assert_msg(bench->frame - first >= (uint64_t)(0.5 * BENCH_RATE_HZ), "measured after %u edits",
                n);
  return n;
}

TEST(edits_postpone_a_measurement_for_half_a_second_at_most)
{
  static Bench bench;
  uint64_t took_ns = UINT64_MAX;
  is_stepped = true;
  // Again, if the measurement took so long that the last edit may have ended it.
  while (took_ns > LONG_MEASURE_NS) {
    SlowResponse slow = { .n_convolvers = 1 };
    edit_slowly(&bench, &slow);
    const uint32_t n = edit_until_overdue(&bench, &slow) + 1U;
    bench_edit(&bench, n, levels[0], 0U); // does not end the overdue measurement
    slow.may_go_on = true;
    bench_play_until(&bench, &bench.n_replies, n);
    took_ns = time_now_ns() - edited_ns;
    const double level = (double)bench.replies[n - 1U].facts.fallbacks.of[0].level;
    ck_assert_msg(took_ns > LONG_MEASURE_NS || fabs(level - 0.01) < 1e-4, "level %g", level);
    bench_clear(&bench);
  }
  is_stepped = false;
}

TEST(a_measurement_that_takes_long_waits_for_a_pause_between_edits)
{
  static Bench bench;
  SlowResponse slow = { .n_convolvers = 1 };
  is_stepped = true;
  edit_slowly(&bench, &slow);
  uint32_t n = edit_until_overdue(&bench, &slow);
  usleep(1000000); // then the overdue measurement gives way
  bench_edit(&bench, ++n, levels[1], 0U);
  slow.may_go_on = true;
  bench_play_until(&bench, &bench.n_replies, n);
  ck_assert_float_eq(bench.replies[n - 1U].facts.fallbacks.of[0].response, 0.0F);
  for (uint32_t e = 0; e < 8U; ++e) {
    ck_assert(edit_before_a_check(&bench, &slow, ++n));
  }
  AWAIT(is_waiting);
  const float kept = bench.replies[n - 1U].facts.fallbacks.of[0].level;
  ck_assert_double_eq_tol((double)kept, 1.0, 1e-3); // the first rack's level
  check(&bench, 2U);
  ck_assert_uint_gt(bench.change.serial, bench.replies[n - 1U].facts.serial);
  ck_assert_double_eq_tol((double)bench.change.fallbacks.of[0].response, 0.01, 1e-4);
  bench_clear(&bench);
  is_stepped = false;
}

TEST(tails_end_when_fallbacks_play_half_of_the_time)
{
  static Bench bench;
  const uint32_t half = 2U * N_DRY;               // a check adds N_DRY - half / 4 blocks: N_DRY / 2
  const uint32_t n_checks = 2U * N_LIMIT / N_DRY; // after these, the next one exceeds the limit
  is_stepped = true;
  bench_start(&bench, "d: delay 10s feedback=0%");
  bench_play(&bench); // a node that has never sounded has no tail
  bench_edit(&bench, 2U, "g: gain 0dB", 0U);
  bench_play_until(&bench, &bench.n_replies, 2U);
  ck_assert_uint_eq(bench.replies[1].facts.n_units, 2U); // the gain, and the delay's tail
  bench_level(&bench);
  check(&bench, 1U); // measures the rack, and removes the connections that have faded out
  const uint32_t n_changes = bench_count(&bench, &bench.n_changes);

  check_late(&bench, n_checks + 1U, half, SLOT_WAITED); // do not count: the callback waits
  check_late(&bench, n_checks, half, 0U);
  check(&bench, 10U);                     // checks without blocks change nothing
  check_late(&bench, 1U, 6U * N_DRY, 0U); // few late blocks: subtracts N_DRY / 2
  check_late(&bench, 1U, half, 0U);
  ck_assert_uint_eq(bench_count(&bench, &bench.n_changes), n_changes);
  check_late(&bench, 1U, half, 0U);
  ck_assert_uint_eq(bench_count(&bench, &bench.n_changes), n_changes + 1U);
  check(&bench, 1U); // the sum begins again at 0
  ck_assert_uint_eq(bench_count(&bench, &bench.n_changes), n_changes + 1U);

  bench_level(&bench); // until the tail has faded out
  check(&bench, 1U);
  ck_assert_uint_eq(bench_count(&bench, &bench.n_changes), n_changes + 2U);
  ck_assert_uint_eq(bench.change.n_units, 1U);
  bench_clear(&bench);
  is_stepped = false;
}

/// Set a gain from 0 dB to -20 dB before there is a plan: in the rack that is kept for the first
/// plan, or, with `is_behind`, also in an edit that waits behind it.
static void
set_before_the_first_plan(const bool is_behind)
{
  static Bench bench;
  SCOPED_RACK Rack* const rack = rack_of(levels[0], NULL);
  const RackUid uid = rack->nodes[0].uid;
  const ParamMessage down = { .uid = uid, .value = -20.0 };
  const ParamMessage none[] = { { .uid = 99U, .value = 3.0 },
                                { .uid = uid, .param = 99U, .value = 3.0 },
                                { .uid = uid, .value = 1e9 } };
  bench_init(&bench, false);
  pthread_mutex_lock(&bench.hold);
  ck_assert_int_eq(worker_calls.edit(bench.worker, 1U, rack, 0U, 0U), STATUS_OK);
  bench_await(&bench, &bench.n_replies, 1U); // now the builder waits for the lock
  if (is_behind) {
    ck_assert_int_eq(worker_calls.edit(bench.worker, 2U, rack, 0U, 0U), STATUS_OK);
  }
  ck_assert(worker_calls.set(bench.worker, &down, 1U));
  ck_assert(worker_calls.set(bench.worker, none, ARRAY_LEN(none)));
  pthread_mutex_unlock(&bench.hold);
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
