// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A runner in a process of its own, the *worker*, with all that keeps it running: RunnerCalls for
   the engine, and a thread, the *link*, that starts a worker, talks to it, watches it, ends it and
   starts the next one.

       starting ──READY──▶ loading ──REPLY──▶ idle ──ARM──▶ arming ──ARMED──▶ serving
           ▲                                                                     │
           └────── rest: 0, 1 s, 2 s … 60 s ◀── killed, reaped ◀── lost ◀────────┘

   *Lost* is a worker whose process has ended, that does not finish its blocks, that writes what
   cannot be into the ring or the socket, or does not answer in time.  All of them take the same
   way: the engine plays dry from the next block on, the process is killed and reaped, and the next
   worker gets the rack that was heard last, with all values that were set since, and a ring of its
   own; the engine goes over to that once the worker is armed.

   A worker that is lost again before it has played for half a second makes the next one wait; one
   that has played takes that back.  A worker whose device can only be had again by another process
   is exchanged: the next one is made ready beside it first, and takes over in one block.

   Whose fault it was: an edit that two workers in a row crashed on is refused.  A rack that two
   workers in a row crashed on, each within 10 s of being heard, is put into *quarantine*: the rack
   that was heard before it comes back (or the empty one), and for 10 minutes the same rack is
   refused.  Workers that were killed or stopped from outside are nobody's fault.
*/
#ifndef WARPRACK_ENGINE_REMOTE_H
#define WARPRACK_ENGINE_REMOTE_H

#include "engine.h"
#include "ring.h"
#include "runner.h"

#define REMOTE_NOTE_BYTES 320U

typedef struct Remote Remote;

/// What the link sees of the ring that is served, and of the callback.
typedef struct RemotePulse {
  uint64_t blocks;      ///< That the callback has processed
  uint64_t dry;         ///< Of these, played dry
  uint64_t n_submitted; ///< To the ring, as its region says
  uint64_t n_finished;  ///< By the worker, as the region says
  uint64_t faults;      ///< Of the ring
} RemotePulse;

/**
   What the link needs of the engine that it works for.  Called on the link's thread, or within
   RunnerCalls::arm; the lock of hold() is taken before any lock of the remote's.
*/
typedef struct RemoteHost {
  void* context;
  /// Between these two, nobody sends parameters and no period comes or goes.
  void (*hold)(void* context);
  void (*release)(void* context);
  /// Let the callback go over to `ring`, which is taken, and parameters through it, with
  /// `messages` as the first ones.  False, and nothing is taken, when there is no period. [held]
  bool (*offer)(void* context, Ring* ring, const ParamMessage* messages, uint32_t n);
  /// The ring of RunnerCalls::arm has a worker: who was lost until now is not behind it. [held]
  void (*given)(void* context);
  /// The worker behind the ring is gone, or there is none: the callback plays dry, parameters go by
  /// RunnerCalls::set. [held]
  void (*lost)(void* context);
  /// How the ring does that is served; false when none is. [any]
  bool (*pulse)(void* context, RemotePulse* pulse);
  uint64_t (*frame_now)(void* context);
} RemoteHost;

typedef struct RemoteStatus {
  const char* state; ///< "starting", "running", "resting"
  int64_t pid;       ///< 0 when there is none
  uint64_t n_starts; ///< Workers that took over from one that was lost or exchanged
  uint64_t n_quarantined;
  char note[REMOTE_NOTE_BYTES];       ///< What was last the matter, "" when nothing was
  char quarantine[REMOTE_NOTE_BYTES]; ///< Why the last rack was put there
} RemoteStatus;

extern const RunnerCalls remote_calls; ///< For a Remote

/**
   Start a worker and wait until it is ready.  The program is EngineConfig::worker_argv.

   @return What the worker says when it cannot be: STATUS_NO_BACKEND in the driver's words when one
   was asked for and is not there; STATUS_FILE when there is no such program, STATUS_WORKER when it
   ends.  [main]
*/
NODISCARD Status remote_new(const EngineConfig* config, const RunnerEvents* events,
                            const RemoteHost* host, Remote** out, Error* error);

void remote_status(const Remote* remote, RemoteStatus* status); // [any but rt]

/// A copy of the rack that is heard; NULL when out of memory. [any but rt]
Rack* remote_rack(const Remote* remote);

#endif
