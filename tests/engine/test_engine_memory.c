// SPDX-License-Identifier: GPL-3.0-or-later
// Whichever allocation fails, the engine reports that memory ran out, continues with the current
// rack, and leaks nothing (checked by the leak checker, if there is one).

#include "engine/engine_private.h"
#include "engine/worker/worker_private.h"
#include "tests/support/scoped.h"
#include "tests/support/set_by_name.h"
#include "tests/support/suite.h"
#include "tests/support/wrapped_alloc.h"

#include <math.h>
#include <string.h>

#define RATE  48000.0
#define BLOCK 64U

/// Whether the builder has measured the rack: until then it may allocate at any time.
static bool
is_measured(const Engine* const engine)
{
  Worker* const worker = engine->worker;
  SCOPED_LOCK(&worker->planning_lock);
  return !worker->must_measure;
}

/// An engine that plays `text`, live or offline.
static Engine*
playing(const char* const text, const bool offline)
{
  const EngineConfig config = { .n_in = 2, .n_out = 2, .depth = 1, .offline = offline };
  Engine* engine = NULL;
  SCOPED_RACK Rack* const rack = rack_of(text, NULL);
  OK(engine_new(&config, &engine, &error));
  OK(engine_edit_wait(engine, rack, &error));
  OK(engine_arm(engine, RATE, BLOCK, 2, 2, &error));
  AWAIT(offline || is_measured(engine));
  return engine;
}

/// Play some blocks of ones; returns the last sample.
static float
level(Engine* const engine)
{
  static float memory[4][BLOCK];
  const float* const in[] = { memory[0], memory[1] };
  float* const out[] = { memory[2], memory[3] };
  for (uint32_t i = 0; i < BLOCK; ++i) {
    memory[0][i] = memory[1][i] = 1.0F;
  }
  for (uint32_t b = 0; b < 40U; ++b) {
    engine_process(engine, in, out, BLOCK, true);
  }
  return memory[2][BLOCK - 1U];
}

TEST(an_engine_is_made_completely_or_not_at_all)
{
  uint32_t n = 0;
  Error error = { STATUS_OK, "" };
  for (bool done = false; !done; ++n) {
    const EngineConfig config = { .n_in = 2, .n_out = 2, .depth = 1, .n_helpers = 2 };
    Engine* engine = NULL;
    failing_alloc_arm(n);
    const Status status = engine_new(&config, &engine, &error);
    done = !failing_alloc_disarm();
    ck_assert((status == STATUS_OK) == done);
    ck_assert((engine != NULL) == done);
    engine_free(engine);
  }
  ck_assert_uint_gt(n, 4);
}

static const char before[] = "a: gain -6dB | b: gain -6dB";

/// Edit from `before` to `text` again and again; each time a later allocation fails.
static void
check_edit(const char* const text, const bool offline)
{
  Engine* const engine = playing(before, offline);
  SCOPED_RACK Rack* const old = rack_of(before, NULL);
  SCOPED_RACK Rack* const rack = rack_of(text, old);
  const float unchanged = level(engine);
  uint32_t n = 0;
  Error error = { STATUS_OK, "" };
  for (bool done = false; !done; ++n) {
    failing_alloc_arm(n);
    const Status status = engine_edit_wait(engine, rack, &error);
    done = !failing_alloc_disarm();
    ck_assert_msg(status == (done ? STATUS_OK : STATUS_NO_MEM), "%s, allocation %u: %s", text, n,
                  error.text);
    ck_assert_msg(done || level(engine) == unchanged, "%s, allocation %u", text, n);
  }
  ck_assert_uint_gt(n, 10);
  engine_free(engine);
}

TEST(an_edit_without_memory_changes_nothing)
{
  static const char* const texts[] = {
    "a: gain -6dB | b: gain -6dB | c: gain -6dB",
    "(l: limiter lookahead=5ms + g: gain) | c: compressor | r: reverb mix=0 | d: delay 10ms mix=0",
    "f: fir lowpass 1000 taps=31 | h: highpass 10 | m: matrix \"1 0; 0 1\"",
  };
  for (uint32_t t = 0; t < ARRAY_LEN(texts); ++t) {
    check_edit(texts[t], false);
    check_edit(texts[t], true);
  }
}

TEST(edits_that_were_not_accepted_do_not_wait)
{
  Engine* const engine = playing(before, false);
  SCOPED_RACK Rack* const rack = rack_of(before, NULL);
  for (uint32_t n = 0; n < 10U; ++n) {
    failing_alloc_arm(0);
    const Status status = engine_edit(engine, rack, 0U, NULL, NULL);
    ck_assert(failing_alloc_disarm());
    ck_assert_int_eq(status, STATUS_NO_MEM);
  }
  OK(engine_edit_wait(engine, rack, &error));
  engine_free(engine);
}

TEST(edits_in_two_steps_that_were_not_accepted_do_not_wait)
{
  check_edit("b: gain -6dB | a: gain -6dB", true); // offline, without waiting for the fades
}

/// True if memory was short only for the copy of the rack that measures the fallbacks, and the
/// engine reports this.
static bool
lacks_only_a_copy(Engine* const engine)
{
  static EngineStatus status;
  engine_status(engine, &status);
  return strstr(status.late_note, "a copy of the rack") != NULL;
}

TEST(a_format_without_memory_leaves_silence_and_the_rack)
{
  Error error = { STATUS_OK, "" };
  for (uint32_t offline = 0; offline < 2U; ++offline) {
    Engine* const engine = playing(before, offline);
    const float unchanged = level(engine);
    uint32_t n = 0;
    uint32_t n_reported = 0; // the builder may also measure while engine_arm() runs, or later
    for (bool done = false; !done; ++n) {
      failing_alloc_arm(n);
      const Status status = engine_arm(engine, RATE + 1.0 + n, BLOCK, 2, 2, &error);
      done = !failing_alloc_disarm();
      ck_assert_msg(!status || (!done && status == STATUS_NO_MEM), "allocation %u: %s", n,
                    error.text);
      n_reported += !done && !status && lacks_only_a_copy(engine);
      if (!offline) {
        ck_assert_float_eq(level(engine), status ? 0.0F : unchanged);
      }
    }
    ck_assert_float_eq(level(engine), unchanged);
    ck_assert_uint_gt(n, 20);
    ck_assert(offline || n_reported > 0U);
    engine_free(engine);
  }
}

SUITE_MAIN("engine_memory")
