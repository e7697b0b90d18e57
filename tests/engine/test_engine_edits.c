// SPDX-License-Identifier: GPL-3.0-or-later
// Edits on their way to the worker: one is in flight, and each has a reply.  The engine ignores
// facts of a plan that is older than the known one.

#include "engine/callback/period_state.h"
#include "engine/engine_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/test_driver.h"

#include <stdatomic.h>
#include <unistd.h>

#define POLL_US 200U

/// A file whose loading ends when the test says so.
typedef struct SlowFile {
  _Atomic bool is_open, may_go_on;
} SlowFile;

static Status
load_slowly(void* const context, const char* const name, const double rate_hz, FxFile** const file,
            Error* const error)
{
  (void)rate_hz;
  (void)file;
  SlowFile* const slow = context;
  slow->is_open = true;
  while (!slow->may_go_on) {
    usleep(POLL_US);
  }
  return error_set(error, STATUS_FILE, "%s is gone", name);
}

typedef struct Tally {
  _Atomic uint32_t n_good, n_refused;
} Tally;

static void
on_done(void* const context, const EngineReply* const reply)
{
  Tally* const tally = context;
  atomic_fetch_add(reply->status ? &tally->n_refused : &tally->n_good, 1U);
}

TEST(one_edit_is_in_flight_and_no_more)
{
  SlowFile slow = { .is_open = false };
  const EngineConfig config = {
    .n_in = 1, .n_out = 1, .depth = 1, .files = { .load = load_slowly, .context = &slow }
  };
  TestDriver driver = driver_from(&config, "g: gain", 100000U);
  Rack* const stuck = rack_of("c: convolver x", NULL);
  Rack* const next = rack_of("g: gain | h: gain", NULL);
  Tally tally = { 0 };
  ck_assert_int_eq(engine_edit(driver.engine, stuck, 0U, on_done, &tally), STATUS_OK);
  AWAIT(slow.is_open);
  ck_assert_int_eq(engine_edit(driver.engine, next, 0U, on_done, &tally), STATUS_LIMIT);
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(engine_edit_wait(driver.engine, next, &error), STATUS_LIMIT);
  ck_assert_str_eq(error.text, "another edit is in flight");
  slow.may_go_on = true;
  AWAIT(tally.n_refused > 0U); // its file cannot be loaded
  ck_assert_int_eq(engine_edit(driver.engine, next, 0U, on_done, &tally), STATUS_OK);
  while (!tally.n_good) {
    driver_play(&driver, 1);
    driver.position = 0;
    usleep(POLL_US);
  }
  EngineStatus status;
  engine_status(driver.engine, &status);
  ck_assert_uint_eq(status.edits_refused, 1U); // edits that were not accepted do not count
  ck_assert_uint_eq(status.n_nodes, 2U);
  rack_free(next);
  rack_free(stuck);
  driver_free(&driver);
  ck_assert_uint_eq(tally.n_good + tally.n_refused, 2U);
}

/// The current level of a rack with an input of ones.
static float
level_of(TestDriver* const driver)
{
  driver->position = 0;
  for (size_t i = 0; i < driver->n_frames; ++i) {
    driver->in[0][i] = 1.0F;
  }
  driver_play(driver, 60);
  return driver->out[0][driver->position - 1U];
}

TEST(documents_and_messages_keep_their_order_through_a_new_start)
{
  SCOPED(driver_free)
  TestDriver driver = driver_new("g: gain 0dB", 1, 1, 1, false, 100U * DRIVER_BLOCK);
  SCOPED_RACK Rack* const rack = rack_of("g: gain 0dB", NULL);
  const ParamMessage down = { .uid = rack->nodes[0].uid, .value = -20.0 };
  ck_assert_float_eq(level_of(&driver), 1.0F);
  engine_disarm(driver.engine);
  ck_assert_int_eq(engine_set(driver.engine, &down, 1), STATUS_OK); // without a ring
  OK(engine_arm(driver.engine, DRIVER_RATE_HZ, DRIVER_BLOCK, 1, 1, &error));
  ck_assert_double_eq_tol(level_of(&driver), 0.1, 1e-6);
  OK(engine_edit_wait(driver.engine, rack, &error));
  ck_assert_float_eq(level_of(&driver), 1.0F); // the document is newer than the message
  const uint64_t soon = engine_frame_now(driver.engine) + 10U * DRIVER_BLOCK;
  ck_assert_int_eq(engine_edit(driver.engine, rack, soon, NULL, NULL), STATUS_OK);
  ck_assert_int_eq(engine_set(driver.engine, &down, 1), STATUS_OK);
  ck_assert_double_eq_tol(level_of(&driver), 0.1, 1e-6); // and this message than the document
}

/// The delay of the dry signal, in frames.
static uint32_t
dry_latency(const TestDriver* const driver)
{
  return atomic_load(&atomic_load(&driver->engine->period)->rack_latency_frames);
}

TEST(late_reports_of_a_worker_are_ignored)
{
  SCOPED(driver_free)
  TestDriver driver = driver_new("l: limiter lookahead=1ms", 1, 1, 1, false, 1000U);
  const uint32_t latency_frames = engine_rack_latency(driver.engine);
  ck_assert_uint_gt(latency_frames, 0U);
  EngineStatus status;
  engine_status(driver.engine, &status);
  ck_assert_uint_eq(status.rack_latency_frames, latency_frames);
  ck_assert_uint_eq(status.latency_frames, latency_frames + DRIVER_BLOCK);
  ck_assert_uint_eq(dry_latency(&driver), latency_frames);
  WorkerFacts facts = driver.engine->facts;
  facts.rack_latency_frames = 7U;
  --facts.serial;
  engine_take_facts(driver.engine, &facts);
  ck_assert_uint_eq(engine_rack_latency(driver.engine), latency_frames);
  ck_assert_uint_eq(dry_latency(&driver), latency_frames);
  facts.serial += 2U;
  engine_take_facts(driver.engine, &facts);
  ck_assert_uint_eq(engine_rack_latency(driver.engine), 7U);
  ck_assert_uint_eq(dry_latency(&driver), 7U);
}

// ---- taps ----

/// Watch a node with a tap for some blocks.  Returns false if nothing was measured.
static bool
watch(TestDriver* const driver, const uint32_t tap, const RackUid uid, NodeTap* const level)
{
  NodeTap more;
  *level = (NodeTap){ 0 };
  for (uint32_t k = 0; k < 20U; ++k) {
    driver_play(driver, 5);
    if (engine_tap(driver->engine, tap, uid, &more)) {
      *level = more; // the newest
    }
  }
  return level->n_samples;
}

TEST(nodes_are_measured_while_they_are_watched)
{
  static const char text[] =
      "c: compressor threshold=-20dB ratio=4 attack=0ms knee=0dB | "
      "l: limiter ceiling=-12dB link=off | g: gate threshold=20dB range=-30dB "
      "release=1ms | v: gain -6dB";
  SCOPED(driver_free) TestDriver driver = driver_new(text, 2, 2, 1, false, 1300U * DRIVER_BLOCK);
  SCOPED_RACK Rack* const rack = rack_of(text, NULL);
  for (size_t i = 0; i < driver.n_frames; ++i) {
    driver.in[0][i] = 1.0F;
    driver.in[1][i] = -0.5F;
  }
  driver_play(&driver, 100);
  static const double reductions_db[] = { 15.0, 0.0, 30.0, 0.0 };
  // In dB: the compressor leaves -15, so the limiter does nothing.
  static const double peaks_db[] = { -15.0, -15.0, -45.0, -51.0 };
  for (uint32_t n = 0; n < ARRAY_LEN(peaks_db); ++n) {
    NodeTap level;
    ck_assert(watch(&driver, n, rack->nodes[n].uid, &level));
    const double peak_db = 20.0 * log10((double)level.level.peak);
    const double mean = level.level.energy / (double)level.n_samples;
    ck_assert_double_eq_tol(peak_db, peaks_db[n], 0.1);
    ck_assert_double_eq_tol(10.0 * log10(mean), peaks_db[n] + 10.0 * log10(0.625), 0.1);
    ck_assert_double_eq_tol((double)level.reduction_db, reductions_db[n], 0.1);
  }
  SCOPED_RACK Rack* const other = rack_copy(rack);
  ck_assert_int_eq(rack_remove(other, "v", NULL), STATUS_OK);
  OK(engine_edit_wait(driver.engine, other, &error));
  NodeTap level;
  ck_assert(watch(&driver, 0, rack->nodes[0].uid, &level)); // in the new plan, too
  ck_assert_double_eq_tol((double)level.reduction_db, 15.0, 0.1);
  watch(&driver, 3, rack->nodes[3].uid, &level);             // takes the last span, too
  ck_assert(!watch(&driver, 3, rack->nodes[3].uid, &level)); // it is gone
  ck_assert(!watch(&driver, 0, RACK_UID_NONE, &level));
  ck_assert(watch(&driver, 3, rack->nodes[0].uid, &level)); // another tap for the same node
  engine_disarm(driver.engine);
  OK(engine_arm(driver.engine, DRIVER_RATE_HZ, DRIVER_BLOCK, 2, 2, &error));
  ck_assert(watch(&driver, 2, rack->nodes[2].uid, &level)); // through another ring
}

TEST(an_unexpected_reply_is_ignored)
{
  SCOPED(driver_free) TestDriver driver = driver_new("g: gain", 1, 1, 1, false, 1000U);
  const EngineReply reply = { .status = STATUS_LIMIT };
  const WorkerFacts facts = { 0 };
  engine_replied(driver.engine, 0U, &reply, &facts); // the id of a free place
  engine_replied(driver.engine, 12345U, &reply, &facts);
  EngineStatus status;
  engine_status(driver.engine, &status);
  ck_assert_uint_eq(status.edits_refused, 0U);
}

TEST(the_status_describes_the_worker)
{
  SCOPED(driver_free) TestDriver driver = driver_new("g: gain", 1, 1, 1, false, 1000U);
  driver_play(&driver, 3);
  EngineStatus status;
  do { // the last block is finished after the callback ended
    engine_status(driver.engine, &status);
  } while (status.worker_counts.worker_blocks < 3U);
  ck_assert_uint_eq(status.worker_counts.worker_blocks, 3U);
  ck_assert_int_eq(status.worker, WORKER_IN_PROCESS);
  ck_assert_int_eq(status.worker_pid, 0);
  ck_assert_uint_eq(status.worker_restarts, 0U);
  ck_assert_uint_eq(status.quarantined, 0U);
  ck_assert_str_eq(status.worker_note, "");
}

TEST(a_live_engine_needs_a_number_of_outputs)
{
  const EngineConfig config = { .n_in = 1, .n_out = 0, .depth = 1 };
  Engine* engine = NULL;
  OK(engine_new(&config, &engine, &error));
  Error error = { STATUS_OK, "" };
  ck_assert_int_eq(engine_arm(engine, DRIVER_RATE_HZ, DRIVER_BLOCK, 1, 0, &error), STATUS_BAD_ARG);
  assert_says(error.text, "outputs");
  engine_free(engine);
}

TEST(a_fade_to_silence_lasts_when_the_engine_is_armed_again)
{
  SCOPED(driver_free)
  TestDriver driver = driver_new("g: gain 0dB", 1, 1, 1, false, 200U * DRIVER_BLOCK);
  ck_assert_float_eq(level_of(&driver), 1.0F);
  engine_fade(driver.engine, true);
  OK(engine_arm(driver.engine, DRIVER_RATE_HZ, DRIVER_BLOCK, 1, 1, &error));
  ck_assert(engine_is_silent(driver.engine));
  const size_t armed = driver.position;
  ck_assert_float_eq(level_of(&driver), 0.0F);
  for (size_t i = armed; i < driver.position; ++i) {
    ck_assert_float_eq(driver.out[0][i], 0.0F); // from the first sample on
  }
  engine_fade(driver.engine, false);
  ck_assert_float_eq(level_of(&driver), 1.0F);
}

SUITE_MAIN("engine_edits")
