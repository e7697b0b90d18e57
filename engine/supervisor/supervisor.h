// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A worker in a process of its own, with all that keeps it running: WorkerCalls for the engine, and
   a thread, the *supervisor*, that starts a worker process, exchanges messages with it, watches it,
   ends it and starts the next one.

       starting ──READY──▶ loading ──REPLY──▶ idle ──ARM──▶ arming ──ARMED──▶ serving
           ▲                                                                     │
           └────── rest: 0, 1 s, 2 s … 60 s ◀── killed, reaped ◀── lost ◀────────┘

   A worker is *lost* when its process has ended, when it finishes no blocks, when it writes invalid
   data to the ring or the socket, or when it does not answer in time.  Every loss takes the same
   path: the callback plays dry from the next block on, the process is killed and reaped, and the
   next worker gets the rack that was heard last, with all values that were set since, and a ring of
   its own; the callback goes over to that ring once the worker is armed.

   A worker that is lost before it has played for half a second makes the next one wait; one that
   has played for longer resets the wait.  A worker whose device only another process can open is
   exchanged: the next one is made ready beside it first, and takes over in one block.

   Blame: an edit that two workers in a row crashed on is refused.  A rack that two workers in a row
   crashed on, each within 10 s of being heard, goes into *quarantine*: the rack that was heard
   before it comes back (or the empty one), and for 10 minutes the same rack is refused.  A kill
   or stop from outside is blamed on neither.  engine/supervisor/CRASHES.md has all rules.
*/
#ifndef WARPRACK_ENGINE_SUPERVISOR_SUPERVISOR_H
#define WARPRACK_ENGINE_SUPERVISOR_SUPERVISOR_H

#include "engine/wire/config.h"
#include "engine/wire/worker_calls.h"

#define SUPERVISOR_NOTE_BYTES 320U

typedef struct Supervisor Supervisor;

/// The progress of the served ring and of the callback, as seen by the supervisor.
typedef struct SupervisorPulse {
  uint64_t blocks;      ///< Blocks that the callback has processed
  uint64_t dry;         ///< Of these, played dry
  uint64_t n_submitted; ///< To the ring, from its region
  uint64_t n_finished;  ///< By the worker, from the region
  uint64_t faults;      ///< Of the ring
} SupervisorPulse;

/**
   Calls of the supervisor to its engine.  Made on the supervisor's thread, or within
   WorkerCalls::arm; the lock of hold() is taken before any lock of the supervisor's.
*/
typedef struct SupervisorHost {
  void* context;
  /// Between hold() and release(), no parameter is sent and no period starts or ends.
  void (*hold)(void* context);
  void (*release)(void* context);
  /// Offer `ring` to the callback and send parameters through it, `messages` first.  Takes
  /// ownership; returns false, and takes nothing, if there is no period. [held]
  bool (*offer)(void* context, Ring* ring, const ParamMessage* messages, uint32_t n);
  /// The ring of WorkerCalls::arm has a worker: workers lost before this call were other ones.
  /// [held]
  void (*given)(void* context);
  /// The ring's worker is lost, or there is none: the callback plays dry, parameters go through
  /// WorkerCalls::set. [held]
  void (*lost)(void* context);
  /// The progress of the served ring; false if none is served. [any]
  bool (*pulse)(void* context, SupervisorPulse* pulse);
  uint64_t (*frame_now)(void* context);
} SupervisorHost;

typedef struct SupervisorStatus {
  WorkerState state; ///< Never WORKER_IN_PROCESS
  int64_t pid;       ///< 0 when there is none
  uint64_t n_starts; ///< Workers that replaced a lost or exchanged one
  uint64_t n_quarantined;
  char note[SUPERVISOR_NOTE_BYTES];       ///< The last problem, "" for none
  char quarantine[SUPERVISOR_NOTE_BYTES]; ///< Why the last rack was put into quarantine
} SupervisorStatus;

extern const WorkerCalls supervisor_calls; ///< For a Supervisor

/**
   Start a worker and wait until it is ready.  The program is EngineConfig::worker_argv.

   @return The worker's error: STATUS_NO_BACKEND with the driver's text if the requested backend is
   not available; STATUS_FILE if there is no such program, STATUS_WORKER if it ends.  [main]
*/
NODISCARD Status supervisor_new(const EngineConfig* config, const WorkerEvents* events,
                                const SupervisorHost* host, Supervisor** out, Error* error);

void supervisor_status(Supervisor* supervisor, SupervisorStatus* status); // [any but rt]

/// A copy of the rack that plays; NULL when out of memory. [any but rt]
Rack* supervisor_rack(Supervisor* supervisor);

#endif
