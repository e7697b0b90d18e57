// SPDX-License-Identifier: GPL-3.0-or-later
/// A worker without an engine, as in a worker process: the test sends its messages and plays its
/// ring, with one channel, and the bench records all its events.
#ifndef WARPRACK_TESTS_WORKER_BENCH_H
#define WARPRACK_TESTS_WORKER_BENCH_H

#include "engine/worker/worker_private.h"

#include <pthread.h>

#define BENCH_RATE_HZ 48000.0
#define BENCH_BLOCK   64U
#define BENCH_REPLIES 128U
#define BENCH_POLL_US 200U

typedef struct Bench {
  Worker* worker;
  Ring* ring;
  uint64_t frame;       ///< First frame of the next block
  bool calls_itself;    ///< The function that receives replies calls the worker
  pthread_mutex_t hold; ///< That function waits for this lock, after it has counted the reply

  pthread_mutex_t lock;
  uint32_t n_replies, n_changes;
  struct {
    uint64_t id;
    EngineReply reply;
    WorkerFacts facts;
  } replies[BENCH_REPLIES];
  WorkerFacts change; ///< The facts of the last change
} Bench;

/// Make a worker that is not armed.  It keeps the address of `bench`, which must not move.
void bench_init(Bench* bench, bool offline);

/// Free the worker and the ring.
void bench_clear(Bench* bench);

/// Arm the worker: with a new ring, or offline without a ring.  Returns the facts of the plan.
WorkerFacts bench_arm(Bench* bench, bool offline, uint64_t n_sent);
void bench_disarm(Bench* bench);

void bench_edit(Bench* bench, uint64_t id, const char* text, uint64_t at_frame);

/// Make a worker, wait for the reply to its first rack (edit 1), and arm the worker.  Returns the
/// facts of the plan.
WorkerFacts bench_start(Bench* bench, const char* text);

/// Play a block of ones through the ring.  Returns its last sample.
float bench_play(Bench* bench);

/// Play blocks until all ramps have ended, and one more.  Returns its last sample.
float bench_level(Bench* bench);

/// Read a counter of the bench under its lock.
uint32_t bench_count(Bench* bench, const uint32_t* count);

/// Wait until a counter (of replies or changes) is at least `n`: without or with blocks.
void bench_await(Bench* bench, const uint32_t* count, uint32_t n);
void bench_play_until(Bench* bench, const uint32_t* count, uint32_t n);

#endif
