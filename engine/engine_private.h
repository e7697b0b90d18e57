// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What the files of the engine share: its life and the callback (engine.c), edits and parameters
   (engine_edits.c), what it tells (engine_status.c).

   Locks, none of which an audio thread ever takes, in the order in which they may be nested:
     arming    who arms or disarms, or sets parameters without a ring; held long
     edits     the edits that wait for a reply
     pointers  the rest that more than one thread sees; held for an instant
   The last two are taken by what the runner calls, and so not held when it is called.
*/
#ifndef WARPRACK_ENGINE_ENGINE_PRIVATE_H
#define WARPRACK_ENGINE_ENGINE_PRIVATE_H

#include "engine.h"
#include "runner.h"

#include <pthread.h>
#include <stdatomic.h>

#define ENGINE_MAX_EDITS 256U

/// An edit without a reply yet.
typedef struct PendingEdit {
  uint64_t id; ///< 0: the place is free
  EngineDone done;
  void* context;
} PendingEdit;

struct Engine {
  EngineConfig config;
  const RunnerCalls* calls;
  void* runner;

  pthread_mutex_t arming;
  _Atomic bool armed;

  pthread_mutex_t edits;
  PendingEdit pending[ENGINE_MAX_EDITS];
  uint64_t last_id;
  _Atomic uint64_t edits_refused;

  pthread_mutex_t pointers;
  Format format;     ///< Of the last time that it was armed
  Ring* ring;        ///< NULL while disarmed, and offline
  uint64_t n_sent;   ///< Parameter messages
  RunnerFacts facts; ///< The newest
  PeriodCounts past; ///< Counters of periods that are over; offline, of all blocks

  _Atomic uint32_t process_out; ///< Channels that engine_process() writes
  _Atomic(Period*) period;      ///< NULL while disarmed, and offline; taken away under `pointers`
  _Atomic bool in_process;      ///< The driver's thread is inside engine_process()
  _Atomic uint64_t next_frame;  ///< Offline, and while disarmed
};

// ---- engine.c ----

/// Keep facts, unless newer ones are there, and tell the period of the latency. [any but rt]
void engine_take_facts(Engine* engine, const RunnerFacts* facts);

/// Frame time of the next block of a period.
uint64_t engine_period_frame(const Period* period);

/// `sum` becomes what both have counted.
void engine_add_counts(PeriodCounts* sum, const PeriodCounts* counts);

// ---- engine_edits.c ----

/// RunnerEvents::replied; `context` is the engine.
void engine_replied(void* context, uint64_t id, const EngineReply* reply, const RunnerFacts* facts);

#endif
