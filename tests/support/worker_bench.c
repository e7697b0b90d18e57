// SPDX-License-Identifier: GPL-3.0-or-later
// The test plays the worker's server.

#include "worker_bench.h"

#include "scoped.h"
#include "set_by_name.h"
#include "suite.h"
#include "test_driver.h"

#include <unistd.h>

/// Call all functions of the worker that take a lock.
static void
call_all(Bench* const bench)
{
  WorkerStatus status;
  EnginePlacement placements[4];
  const ParamMessage message = { .uid = RACK_UID_FIRST };
  worker_calls.status(bench->worker, &status);
  worker_calls.placements(bench->worker, placements, 4U);
  worker_calls.reset_load(bench->worker);
  OK(worker_failure(bench->worker, &error));
  ck_assert(!worker_calls.set(bench->worker, &message, 1U));
  worker_calls.disarm(bench->worker);
  ck_assert(worker_calls.set(bench->worker, &message, 1U));
}

static void
on_replied(void* const context, const uint64_t id, const EngineReply* const reply,
           const WorkerFacts* const facts)
{
  Bench* const bench = context;
  if (bench->calls_itself) {
    call_all(bench);
  }
  pthread_mutex_lock(&bench->lock);
  ck_assert_uint_lt(bench->n_replies, BENCH_REPLIES);
  bench->replies[bench->n_replies].id = id;
  bench->replies[bench->n_replies].reply = *reply;
  bench->replies[bench->n_replies++].facts = *facts;
  pthread_mutex_unlock(&bench->lock);
  pthread_mutex_lock(&bench->hold);
  pthread_mutex_unlock(&bench->hold);
}

static void
on_changed(void* const context, const WorkerFacts* const facts)
{
  Bench* const bench = context;
  SCOPED_LOCK(&bench->lock);
  bench->change = *facts;
  ++bench->n_changes;
}

uint32_t
bench_count(Bench* const bench, const uint32_t* const count)
{
  SCOPED_LOCK(&bench->lock);
  return *count;
}

void
bench_init(Bench* const bench, const bool offline)
{
  const EngineConfig config = { .n_in = 1, .n_out = 1, .offline = offline };
  const WorkerEvents events = { bench, on_replied, on_changed, NULL, NULL };
  *bench = (Bench){ .lock = PTHREAD_MUTEX_INITIALIZER, .hold = PTHREAD_MUTEX_INITIALIZER };
  OK(worker_new(&config, &events, &bench->worker, &error));
}

void
bench_edit(Bench* const bench, const uint64_t id, const char* const text, const uint64_t at_frame)
{
  Rack* const rack = rack_of(text, NULL);
  ck_assert_int_eq(worker_calls.edit(bench->worker, id, rack, at_frame, 0U), STATUS_OK);
  rack_free(rack);
}

WorkerFacts
bench_arm(Bench* const bench, const bool offline, const uint64_t n_sent)
{
  const RingShape shape = {
    .n_in = 1, .n_out = 1, .block_frames = BENCH_BLOCK, .n_slots = 4, .n_messages = 16
  };
  if (!offline) {
    OK(ring_new(&shape, &bench->ring, &error));
  }
  const WorkerStart start = { .format = { BENCH_RATE_HZ, BENCH_BLOCK, 1, 1, offline },
                              .ring = bench->ring,
                              .first_frame = bench->frame,
                              .n_sent = n_sent };
  WorkerFacts facts = { 0 };
  OK(worker_calls.arm(bench->worker, &start, &facts, &error));
  return facts;
}

void
bench_disarm(Bench* const bench)
{
  worker_calls.disarm(bench->worker);
  ring_free(bench->ring);
  bench->ring = NULL;
}

void
bench_clear(Bench* const bench)
{
  worker_calls.free(bench->worker);
  ring_free(bench->ring);
  pthread_mutex_destroy(&bench->hold);
  pthread_mutex_destroy(&bench->lock);
}

float
bench_play(Bench* const bench)
{
  const uint64_t sequence = ring_next(bench->ring);
  ck_assert(ring_can_submit(bench->ring));
  for (uint32_t i = 0; i < BENCH_BLOCK; ++i) {
    ring_input(bench->ring, sequence, 0)[i] = 1.0F;
  }
  *ring_slot(bench->ring, sequence) =
      (SlotHeader){ .frame = bench->frame, .n_frames = BENCH_BLOCK };
  ring_submit(bench->ring);
  bench->frame += BENCH_BLOCK;
  ck_assert(ring_wait_finished(bench->ring, sequence, UINT64_MAX));
  ck_assert_int_eq(ring_result(bench->ring, sequence), RING_SOUND);
  return ring_output(bench->ring, sequence, 0)[BENCH_BLOCK - 1U];
}

WorkerFacts
bench_start(Bench* const bench, const char* const text)
{
  bench_init(bench, false);
  bench_edit(bench, 1U, text, 0U);
  bench_await(bench, &bench->n_replies, 1U);
  return bench_arm(bench, false, 0U);
}

float
bench_level(Bench* const bench)
{
  for (uint32_t b = 0; b < 40U; ++b) {
    bench_play(bench);
  }
  return bench_play(bench);
}

void
bench_play_until(Bench* const bench, const uint32_t* const count, const uint32_t n)
{
  while (bench_count(bench, count) < n) {
    bench_play(bench);
    usleep(BENCH_POLL_US);
  }
}

void
bench_await(Bench* const bench, const uint32_t* const count, const uint32_t n)
{
  AWAIT(bench_count(bench, count) >= n);
}
