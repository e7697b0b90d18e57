// SPDX-License-Identifier: GPL-3.0-or-later
/// A worker without an engine, as in its process, which has only messages and a ring: one channel,
/// and a record of all its events.
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
  uint64_t frame;       ///< Of the next block
  bool calls_itself;    ///< The replies' receiver uses the worker
  pthread_mutex_t gate; ///< It waits for this, after the reply was counted

  pthread_mutex_t lock;
  uint32_t n_replies, n_changes;
  struct {
    uint64_t id;
    EngineReply reply;
    WorkerFacts facts;
  } replies[BENCH_REPLIES];
  WorkerFacts change; ///< The last one
} Bench;

/// A worker that is not armed yet.  It knows where `bench` is, and so fills it in place.
void bench_init(Bench* bench, bool offline);

/// With the worker freed.
void bench_clear(Bench* bench);

/// Arm with a ring of its own, or offline without; returns what is told about the plan.
WorkerFacts bench_arm(Bench* bench, bool offline, uint64_t n_sent);
void bench_disarm(Bench* bench);

void bench_edit(Bench* bench, uint64_t id, const char* text, uint64_t at_frame);

/// A worker whose first rack, edit 1, is answered before it is armed; returns what is told about
/// it.
WorkerFacts bench_start(Bench* bench, const char* text);

/// A block of ones through the ring; returns its last sample.
float bench_play(Bench* bench);

/// The same, once all ramps have ended.
float bench_level(Bench* bench);

/// A counter of the bench, under its lock.
uint32_t bench_count(Bench* bench, const uint32_t* count);

/// Until the counter of replies or changes has reached `n`; with blocks that go on.
void bench_await(Bench* bench, const uint32_t* count, uint32_t n);
void bench_play_until(Bench* bench, const uint32_t* count, uint32_t n);

#endif
