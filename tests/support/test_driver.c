// SPDX-License-Identifier: GPL-3.0-or-later
// The test plays the audio driver.

#include "test_driver.h"

#include "scoped.h"
#include "set_by_name.h"
#include "signals.h"
#include "suite.h"

#include "engine/engine_private.h"
#include "engine/worker/worker_private.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#define POLL_US 200U

TestDriver
driver_from(const EngineConfig* const config, const char* const rack_text, const size_t n_frames)
{
  TestDriver driver = {
    .n_in = config->n_in, .n_out = config->n_out, .block = DRIVER_BLOCK, .n_frames = n_frames
  };
  OK(engine_new(config, &driver.engine, &error));
  Rack* const rack = rack_of(rack_text, NULL);
  OK(engine_edit_wait(driver.engine, rack, &error));
  rack_free(rack);
  OK(engine_arm(driver.engine, DRIVER_RATE_HZ, DRIVER_BLOCK, config->n_in, config->n_out, &error));
  for (uint32_t c = 0; c < DRIVER_CHANNELS; ++c) {
    driver.in[c] = calloc(n_frames + DRIVER_BLOCK, sizeof(float));
    driver.out[c] = calloc(n_frames + DRIVER_BLOCK, sizeof(float));
  }
  return driver;
}

TestDriver
driver_new(const char* const rack_text, const uint32_t n_in, const uint32_t n_out,
           const uint32_t depth, const bool offline, const size_t n_frames)
{
  const EngineConfig config = {
    .n_in = n_in, .n_out = n_out, .depth = depth, .deadline_fraction = 0.75, .offline = offline
  };
  return driver_from(&config, rack_text, n_frames);
}

void
driver_free(TestDriver* const driver)
{
  engine_free(driver->engine);
  for (uint32_t c = 0; c < DRIVER_CHANNELS; ++c) {
    free(driver->in[c]);
    free(driver->out[c]);
  }
}

void
driver_play(TestDriver* const driver, const size_t n_blocks)
{
  for (size_t b = 0; b < n_blocks; ++b) {
    ck_assert_uint_le(driver->position + driver->block, driver->n_frames);
    const float* in[DRIVER_CHANNELS];
    float* out[DRIVER_CHANNELS];
    for (uint32_t c = 0; c < DRIVER_CHANNELS; ++c) {
      in[c] = driver->in[c] + driver->position;
      out[c] = driver->out[c] + driver->position;
    }
    engine_process(driver->engine, in, out, driver->block, true);
    driver->position += driver->block;
  }
}

typedef struct Answer {
  _Atomic bool arrived;
  EngineReply reply;
} Answer;

static void
take_answer(void* const context, const EngineReply* const reply)
{
  Answer* const answer = context;
  answer->reply = *reply;
  answer->arrived = true;
}

/// Whether the edit in flight waits for the next block.
static bool
awaits_block(const TestDriver* const driver)
{
  const Worker* const worker = driver->engine->worker;
  return engine_frame_now(driver->engine) < atomic_load(&worker->awaited_frame);
}

static bool
is_in_flight(const TestDriver* const driver)
{
  Engine* const engine = driver->engine;
  SCOPED_LOCK(&engine->pointers_lock);
  return engine->edit.id != 0U;
}

void
driver_await_builder(const TestDriver* const driver, const uint64_t frame)
{
  const Worker* const worker = driver->engine->worker;
  AWAIT(atomic_load(&worker->awaited_frame) == frame || !is_in_flight(driver));
}

void
driver_await_reply(const TestDriver* const driver)
{
  AWAIT(!is_in_flight(driver));
}

/// The block in which the edit takes effect does not depend on a clock: one block is played while
/// the builder plans the edit, then only blocks that the edit waits for.
static Status
edit_to(TestDriver* const driver, Rack** const rack, Rack* const next, Error* const error)
{
  Answer answer = { .arrived = false };
  ck_assert_int_eq(engine_edit(driver->engine, next, 0, take_answer, &answer), STATUS_OK);
  driver_play(driver, 1);
  while (!answer.arrived) {
    while (awaits_block(driver)) {
      driver_play(driver, 1);
    }
    usleep(POLL_US);
  }
  if (answer.reply.status) {
    rack_free(next);
    return error_set(error, answer.reply.status, "%s", answer.reply.text);
  }
  rack_free(*rack);
  *rack = next;
  return STATUS_OK;
}

Status
driver_edit(TestDriver* const driver, Rack** const rack, const char* const text, Error* const error)
{
  return edit_to(driver, rack, rack_of(text, *rack), error);
}

Status
driver_apply(TestDriver* const driver, Rack** const rack, const char* const statements,
             Error* const error)
{
  Rack* const next = rack_copy(*rack);
  ck_assert_msg(rack_apply(next, statements, "rack", error) == STATUS_OK, "%s", error->text);
  return edit_to(driver, rack, next, error);
}

void
driver_assert_smooth_edit(TestDriver* const driver, Rack** const rack, const char* const text,
                          const char* const where)
{
  const size_t steady = 50U * (size_t)driver->block;
  const size_t begin = driver->position;
  ck_assert_uint_ge(begin, steady);
  Error error = { STATUS_OK, "" };
  ck_assert_msg(driver_edit(driver, rack, text, &error) == STATUS_OK, "%s: %s", text, error.text);
  driver_play(driver, 100);
  const float* const out = driver->out[0];
  const size_t first = begin - driver->block;
  const double before = max_second_difference(out + begin - steady, steady);
  const double after = max_second_difference(out + driver->position - steady, steady);
  const double largest = max_second_difference(out + first, driver->position - first);
  const double allowed = 1.5 * fmax(before, after);
  ck_assert_msg(largest <= allowed + 1e-6, "%s, to \"%s\": %g, allowed %g", where, text, largest,
                allowed);
}
