// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What the files of a supervisor worker share: the calls (supervisor.c), one worker process
   (supervisor_child.c), the thread that watches it (supervisor_loop.c).

   Locks: `lock` guards all fields that are not marked [supervisor]; it is held for an
   instant, and never while WorkerEvents or the host are called, whose locks come before it, but for
   the host's calls that are marked [held].  The supervisor waits for no thread; a call that waits
   for it does not hold `lock`.
*/
#ifndef WARPRACK_ENGINE_SUPERVISOR_SUPERVISOR_PRIVATE_H
#define WARPRACK_ENGINE_SUPERVISOR_SUPERVISOR_PRIVATE_H

#include "crash_policy.h"
#include "rack_history.h"
#include "supervisor.h"

#include "engine/base/backoff.h"
#include "engine/base/process.h"
#include "engine/base/time.h"
#include "engine/wire/wire.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum ChildState {
  CHILD_STARTING, ///< It was given CONFIG
  CHILD_LOADING,  ///< It was given the rack that is heard
  CHILD_IDLE,     ///< It has no format
  CHILD_ARMING,   ///< It was given a format and a ring
  CHILD_ARMED,    ///< Its ring is not served to the callback yet
  CHILD_SERVING
} ChildState;

/// A worker process.
typedef struct Child {
  Process* process;
  Wire* wire;
  ChildState state;
  bool is_ready;       ///< STARTING: it only waits for its rack
  uint64_t since_ns;   ///< When it came into this state
  uint64_t busy_ns;    ///< When it last said that this state takes long; 0: it has not
  Ring* ring;          ///< That it is armed with, until the host has taken it; NULL: the engine's
  uint64_t generation; ///< Of the format that it is armed with
  uint32_t n_arms_out; ///< ARM without an ARMED yet
  uint32_t n_disarms_out;
  uint64_t asked_ns; ///< When the last one of these was sent
  bool has_plan;     ///< It has been armed once
  bool has_load;     ///< It plans the playing rack, ...
  bool has_edit;     ///< ... or the pending edit: never both
  uint64_t given_ns; ///< When it was given that
  uint64_t n_sent;   ///< Parameter messages that it gets, or that are in its documents
  WorkerFacts facts; ///< The newest
  WorkerStatus status;
  EnginePlace* places; ///< [n_places]
  uint32_t n_places;
  Error broken;         ///< Why nothing can be sent to it any more
  uint64_t arm_at_ns;   ///< When to try again to arm it, after that has failed
  uint64_t arm_rest_ns; ///< How long that was put off the last time

  /// [n_missed] values since it was given the rack, or armed, for when its ring is served.
  ParamMessage* missed;
  uint32_t n_missed, max_missed;

  // [supervisor]
  SupervisorPulse pulse;    ///< At the last look
  SupervisorPulse finished; ///< When a block was last finished
  uint64_t looked_ns;
  uint64_t stalled_ns;   ///< For how long it has finished none
  uint64_t wet_since_ns; ///< 0: it is not heard
  bool is_healthy;
} Child;

/// What the engine wants.
typedef struct Wanted {
  bool armed;
  uint64_t generation; ///< Counts arm and disarm
  Format format;
  RingShape shape;
} Wanted;

/// The supervisor's answer to a call that waits for it.
typedef struct Answer {
  bool is_there;
  Error error;
} Answer;

struct Supervisor {
  EngineConfig config;
  WorkerEvents events;
  SupervisorHost host;
  char realtime_note[512]; ///< What this process lacks; constant
  pthread_t thread;
  bool has_thread;
  int wake; ///< eventfd: the supervisor has something to do

  pthread_mutex_t lock;
  pthread_cond_t changed; ///< `started`, `armed` or `worker`
  bool quits;
  Answer started; ///< Of the first worker
  Answer armed;   ///< To the ARM that arm() has sent; it is there, too, when the worker is lost
  bool is_arming; ///< arm() waits for that
  bool plays_on;  ///< WorkerStart, the last one
  RackHistory history;
  Wanted wanted;
  Child* worker;     ///< Plays, or stands ready; NULL: none
  Child* next;       ///< Is made ready to take over; NULL: none
  WorkerFacts facts; ///< The newest of all workers, with a serial that goes on
  WorkerCounts past; ///< Counters of workers that are gone
  uint64_t n_starts, n_quarantined;
  char note[SUPERVISOR_NOTE_BYTES], quarantine[SUPERVISOR_NOTE_BYTES];

  // [supervisor]
  CrashPolicy policy;
  uint64_t start_at_ns; ///< When to start the next worker, while there is none
  bool had_gpu;         ///< The first worker had opened one
  bool wants_exchange;  ///< The worker's device can only be had by another process
  Backoff exchange;     ///< Of starts of one beside it
};

// ---- supervisor_child.c ----

/// Start a process and give it CONFIG. [supervisor]
NODISCARD Status child_start(const Supervisor* supervisor, Child** out, Error* error);

/**
   Close its socket and reap it.  Accepts NULL. [supervisor]

   @param asked Give it a moment to end by itself, then kill it; else kill it at once.
*/
void child_free(Child* child, bool asked);

// The rest is for a child that others may see as well, with the supervisor's lock held.  What
// cannot be sent makes it Child::broken, which the supervisor finds. [any but rt]

void child_set_state(Child* child, ChildState state);

/// Give it the rack that is heard.
void child_load(Child* child, const RackHistory* history);

/// Give it the playing rack again, for the values that it has missed, if any.  While it plans, that
/// waits for the reply.
void child_reload(Child* child, const RackHistory* history);

/// Give it the pending edit, if there is one to try, unless it plans already.
void child_give_edit(Child* child, const RackHistory* history);

/// Arm it with a ring that is the engine's, or `own`: then the child's.
void
child_arm(Child* child, const Supervisor* supervisor, Ring* ring, bool own, uint64_t first_frame);

/// Disarm it, unless it is not armed.
void child_disarm(Child* child);

/// Each second that it is idle: a DISARM, whose answer says no more than that it is alive.
void child_ask(Child* child);

/// Values that were set: by its socket, or kept until its ring is served.
void child_set(Child* child, const ParamMessage* messages, uint32_t n);

// A process that hangs in a driver stays for longer.
#define SUPERVISOR_KILL_LIMIT_NS (2U * NS_PER_S)

/// Why a child is lost.
typedef struct Cause {
  char text[SUPERVISOR_NOTE_BYTES / 2U];
  bool from_outside; ///< Not by its own doing
} Cause;

// ---- supervisor_messages.c [supervisor] ----

/// Do what a child says, as far as it has come; false when the child is lost by that.
NODISCARD bool supervisor_hear(Supervisor* supervisor, Child* child, Cause* cause);

/// Let the engine know what is heard of the worker now.
void supervisor_publish(Supervisor* supervisor, const Child* child);

// ---- supervisor_watchdog.c [supervisor] ----

/// Whether it does what it should; else why it is lost.
NODISCARD bool supervisor_watch(Supervisor* supervisor, Child* child, Cause* cause);

// ---- supervisor_restart.c ----

/// Note why a child is lost: false, for whoever returns whether it is well.
bool supervisor_is_lost(Cause* cause, const char* text, bool from_outside);

/// True for what a program does to itself.
bool supervisor_is_own_signal(int number);

/// Add the counters of a child that goes to those of all before it. [lock held]
void supervisor_keep_counts(Supervisor* supervisor, const Child* child);

/// End a child that is lost, judge, and set when the next one starts. [supervisor]
void supervisor_lose(Supervisor* supervisor, Child* child, Cause* cause);

/// Set when a worker is exchanged for its device: each time later, unless that has been well for
/// long. [supervisor]
void supervisor_put_off_exchange(Supervisor* supervisor, uint64_t now_ns);

// ---- supervisor_loop.c ----

/// The thread.
void* supervisor_loop(void* supervisor);

/// Whether edits go to the worker, and not to the next one, which has the rack already. [lock held]
bool supervisor_takes_edits(const Supervisor* supervisor);

// ---- supervisor.c ----

/// Supervisor::lock. [any but rt]
void supervisor_lock(Supervisor* supervisor);
void supervisor_unlock(Supervisor* supervisor);

/// Wake the supervisor. [any]
void supervisor_wake(const Supervisor* supervisor);

#endif
