// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by the files of the engine: its life and the callback (engine.c), the period and its rings
   (engine_period.c), edits and parameters (engine_edits.c), status (engine_status.c), and a worker
   in another process (engine_supervisor.c).

   Locks, in the order in which they may be nested; audio threads take none of them:
     arming_lock    arming, disarming, and setting parameters without a ring; held long
     pointers_lock  all other data that several threads use; held for microseconds.  Queries hold it
                    while they use the period, so that disarming does not free the period meanwhile
   The worker's events take `pointers_lock`, so no thread holds it when it calls the worker.  The
   exception is WorkerCalls::sent, which must be atomic with the message in the ring.
*/
#ifndef WARPRACK_ENGINE_ENGINE_PRIVATE_H
#define WARPRACK_ENGINE_ENGINE_PRIVATE_H

#include "engine.h"

#include "engine/callback/period.h"
#include "engine/supervisor/supervisor.h"
#include "engine/worker/worker.h"

#include <pthread.h>
#include <stdatomic.h>

#define ENGINE_MAX_KEPT  512U
#define ENGINE_MAX_RINGS 4U // of the period: the current, the left and the offered one

/// A report that nobody had read when its ring was left.
typedef struct KeptReport {
  RingReport report;
  uint64_t ring; ///< EngineReports::ring
} KeptReport;

/// The edit or the save in flight: sent, and without a reply.
typedef struct EngineFlight {
  uint64_t id;          ///< 0: none
  uint64_t stamp;       ///< Number of parameter messages sent before it
  EngineDone done;      ///< Of an edit
  EngineSaveDone saved; ///< Of a save
  void* context;
} EngineFlight;

struct Engine {
  EngineConfig config;
  const WorkerCalls* calls; ///< Calls of the worker or of the supervisor, with engine_half()
  Worker* worker;           ///< In this process; NULL: in a separate process
  Supervisor* supervisor;   ///< Of the separate process; NULL: the worker is in this process

  pthread_mutex_t arming_lock;
  _Atomic bool armed;

  _Atomic uint64_t edits_refused;

  pthread_mutex_t pointers_lock;
  EngineFlight edit, save;
  uint64_t last_id; ///< Of the last edit or save
  Format format;    ///< Of the last engine_arm()
  Ring* ring; ///< The ring for parameters; NULL offline, while disarmed, and while the worker is
              ///< lost
  Ring* rings[ENGINE_MAX_RINGS]; ///< Rings that the period uses; NULL: free
  uint64_t n_rings;              ///< Rings that `ring` has been so far
  KeptReport* kept; ///< [n_kept] of ENGINE_MAX_KEPT: reports of rings that `ring` has been, which
                    ///< nobody had read
  uint32_t n_kept;
  uint64_t n_unkept;    ///< Reports for which `kept` had no room, or that were lost before
  uint64_t unkept_ring; ///< EngineReports::ring of the last of these
  bool is_lost;         ///< The worker of the last armed ring is lost
  uint64_t n_sent;      ///< Number of parameter messages sent
  WorkerFacts facts;    ///< The newest
  PeriodCounts past;    ///< Counters of past periods; offline, of all blocks

  DrySpans* dry_spans;          ///< Of all periods
  Listener* ended_take;         ///< LISTEN_TAKE of the last period, until all is read; NULL: none
  PeriodDoor door;              ///< Shut while there is no period
  _Atomic uint32_t process_out; ///< Channels that engine_process() writes
  _Atomic(Period*) period; ///< NULL while disarmed, and offline; withdrawn under `pointers_lock`
  bool is_faded;           ///< The last engine_fade() was to silence [main]
  _Atomic uint64_t next_frame; ///< Frame time offline and while disarmed
};

/// The first argument of `calls`; NULL before the worker or supervisor exists.
static inline void*
engine_half(const Engine* const engine)
{
  return engine->supervisor ? (void*)engine->supervisor : engine->worker;
}

// ---- engine_period.c ----

/// Keep the reports of a ring that is left, as many as have room. [pointers_lock held]
void engine_keep_reports(Engine* engine, Ring* ring);

/// Send parameters by another ring from now on; NULL: by none.  Keeps the reports of the ring
/// before. [pointers_lock held]
void engine_set_ring(Engine* engine, Ring* ring);

/// Free a ring that the period has returned.  Accepts NULL. [pointers_lock held]
void engine_drop_ring(Engine* engine, Ring* ring);

/// Find a free entry in `rings`; NULL if there is none. [pointers_lock held]
Ring** engine_ring_place(Engine* engine);

/// As engine_frame_now(). [pointers_lock held]
uint64_t engine_clock_frame(const Engine* engine);

/// Publish a started period, with its format and ring, to all threads.  Offline, `period` is NULL.
/// [arming_lock held]
void engine_publish(Engine* engine, const WorkerStart* start, Period* period);

/// Withdraw the period from the driver's thread, wait until that thread has left it, and free it.
/// The thread may wait for a worker that hangs, and the code that ends such a wait needs the other
/// locks: therefore the caller holds only `arming_lock`.
void engine_withdraw_period(Engine* engine);

/// Store facts, unless newer ones are stored, and pass latency and fallbacks to the period.
/// [any but rt]
void engine_take_facts(Engine* engine, const WorkerFacts* facts);

// ---- engine_supervisor.c ----

/// Start the worker process that the configuration names. [main]
NODISCARD Status engine_start_supervisor(Engine* engine, const WorkerEvents* events, Error* error);

/// Fill in the supervisor's part of an EngineStatus. [any but rt]
void engine_fill_supervisor_status(Engine* engine, EngineStatus* status);

// ---- engine_edits.c ----

/// WorkerEvents::replied; `context` is the engine.
void engine_replied(void* context, uint64_t id, const EngineReply* reply, const WorkerFacts* facts);

/// WorkerEvents::saved; `context` is the engine.
void engine_saved(void* context, uint64_t id, const EngineSaved* saved);

#endif
