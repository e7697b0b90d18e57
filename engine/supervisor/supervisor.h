// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A worker in a separate process: WorkerCalls for the engine, and a thread, the *supervisor*, that
   starts a worker process, exchanges messages with it, watches it, ends it and starts the next one.

       starting ──READY──▶ loading ──REPLY──▶ idle ──ARM──▶ arming ──ARMED──▶ serving
           ▲                                                                     │
           └────── rest: 0, 1 s, 2 s … 60 s ◀── killed, reaped ◀── lost ◀────────┘

   A worker is *lost* when its process has ended, when it finishes no blocks, when it writes invalid
   data to the ring or the socket, or when it does not answer in time.  Every loss is handled in the
   same way.  The callback plays the fallbacks from the next block on, and the supervisor kills and
   reaps the process.  It sends the next worker the active rack, with all values set since, and
   gives it a new ring.  The callback changes to that ring once the worker is armed.

   If a worker is lost before it has played for half a second, the delay before the next start
   doubles; if it has played for longer, the delay is zero again.  A worker whose device only
   another process can open is exchanged: the supervisor prepares the next worker beside it, which
   then takes over at a block boundary.

   An edit that crashed two workers in a row is refused.  A rack that crashed two workers in a row,
   each within 10 s of its first block, goes into *quarantine*: the previous rack (or the empty one)
   becomes active again, and the supervisor refuses the same rack for 10 minutes.  If the flight
   recorder names a node, only that node goes into quarantine: its input plays instead.  A kill or
   stop from outside counts against none of them.
   engine/supervisor/CRASHES.md has all rules.
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
  uint64_t n_finished;  ///< By the worker, from the ring's region
  uint64_t faults;      ///< Of the ring
} SupervisorPulse;

/**
   Calls of the supervisor to its engine, on the supervisor's thread or within WorkerCalls::arm.
   Lock order: the lock of hold() comes before the supervisor's.
*/
typedef struct SupervisorHost {
  void* context;
  /// Between hold() and release(), no parameter is sent and no period starts or ends.
  void (*hold)(void* context);
  void (*release)(void* context);
  /// Offer `ring` to the callback, and send parameters through it, `messages` first.  Takes
  /// ownership of `ring`.  Returns false, without taking ownership, if there is no period. [held]
  bool (*offer)(void* context, Ring* ring, const ParamMessage* messages, uint32_t n);
  /// A worker has received the ring of WorkerCalls::arm.  Workers lost before this call did not
  /// have that ring. [held]
  void (*given)(void* context);
  /// The ring's worker is lost, or there is none: the callback plays the fallbacks, and parameters
  /// go through WorkerCalls::set. [held]
  void (*lost)(void* context);
  /// The progress of the served ring; false if none is served. [any]
  bool (*pulse)(void* context, SupervisorPulse* pulse);
  uint64_t (*frame_now)(void* context);
} SupervisorHost;

typedef struct SupervisorStatus {
  WorkerState state;                ///< Never WORKER_IN_PROCESS
  int64_t pid;                      ///< 0: no process
  uint64_t n_starts;                ///< Number of workers that replaced a lost or exchanged one
  uint64_t n_renewals;              ///< Of these, because plugins have new code
  uint64_t n_quarantined;           ///< Racks
  uint64_t n_nodes_quarantined;     ///< Nodes
  char note[SUPERVISOR_NOTE_BYTES]; ///< The last problem, "" for none
  char quarantine[SUPERVISOR_NOTE_BYTES]; ///< Why a rack or a node last went into quarantine
} SupervisorStatus;

extern const WorkerCalls supervisor_calls; ///< For a Supervisor

/**
   Start a worker and wait until it is ready.  The program is EngineConfig::worker_argv.

   @return The worker's error: STATUS_NO_BACKEND with the driver's text if the requested backend is
   not available; STATUS_FILE if the program does not exist, STATUS_WORKER if its process ends.
   [main]
*/
NODISCARD Status supervisor_new(const EngineConfig* config, const WorkerEvents* events,
                                const SupervisorHost* host, Supervisor** out, Error* error);

void supervisor_status(Supervisor* supervisor, SupervisorStatus* status); // [any but rt]

/// A copy of the active rack, for rack_free(); NULL if out of memory. [any but rt]
Rack* supervisor_rack(Supervisor* supervisor);

#endif
