// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by the files of the supervisor: the calls (supervisor.c), one worker process
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
  CHILD_STARTING, ///< CONFIG was sent
  CHILD_LOADING,  ///< The rack that plays was sent
  CHILD_IDLE,     ///< It has no format
  CHILD_ARMING,   ///< A format and a ring were sent
  CHILD_ARMED,    ///< Its ring is not served to the callback yet
  CHILD_SERVING
} ChildState;

/// A worker process.
typedef struct Child {
  Process* process;
  Wire* wire;
  ChildState state;
  bool is_ready;       ///< STARTING: it only waits for its rack
  uint64_t since_ns;   ///< Time at which this state began
  uint64_t busy_ns;    ///< When it last reported that this state takes long; 0: never
  Ring* ring;          ///< The ring with which it is armed, until the host has taken it; NULL: the
                       ///< engine's
  uint64_t generation; ///< Of the format with which it is armed
  uint32_t n_arms_out; ///< ARM without an ARMED yet
  uint32_t n_disarms_out;
  uint64_t asked_ns; ///< When the last one of these was sent
  bool has_plan;     ///< It has been armed once
  bool has_load;     ///< It plans the playing rack, ...
  bool has_edit;     ///< ... or the pending edit: never both
  uint64_t given_ns; ///< When that was sent to it
  uint64_t n_sent;   ///< Parameter messages sent to it, or contained in its documents
  WorkerFacts facts; ///< The newest
  WorkerStatus status;
  EnginePlace* places; ///< [n_places]
  uint32_t n_places;
  Error broken;         ///< Why messages can no longer be sent to it
  uint64_t arm_at_ns;   ///< When to try to arm it again, after a failure
  uint64_t arm_rest_ns; ///< The last wait before such an attempt

  /// [n_missed] values set since the rack was sent, or since it was armed; sent when its ring is
  /// served
  ParamMessage* missed;
  uint32_t n_missed, max_missed;

  // [supervisor]
  SupervisorPulse pulse;    ///< At the last check
  SupervisorPulse finished; ///< When it last finished a block
  uint64_t looked_ns;
  uint64_t stalled_ns;   ///< Time since it finished a block
  uint64_t wet_since_ns; ///< 0: its blocks are not played
  bool is_healthy;
} Child;

/// The state that the engine wants.
typedef struct Wanted {
  bool armed;
  uint64_t generation; ///< Counts arm and disarm
  Format format;
  RingShape shape;
} Wanted;

/// The supervisor's answer to a waiting call.
typedef struct Answer {
  bool is_there;
  Error error;
} Answer;

struct Supervisor {
  EngineConfig config;
  WorkerEvents events;
  SupervisorHost host;
  char realtime_note[512]; ///< Real-time privileges that this process lacks; constant
  pthread_t thread;
  bool has_thread;
  int wake; ///< eventfd: the supervisor has something to do

  pthread_mutex_t lock;
  pthread_cond_t changed; ///< `started`, `armed` or `worker`
  bool quits;
  Answer started; ///< Of the first worker
  Answer armed;   ///< To the ARM of arm(); also set when the worker is lost
  bool is_arming; ///< arm() waits for that
  bool plays_on;  ///< WorkerStart, the last one
  RackHistory history;
  Wanted wanted;
  Child* worker;     ///< Plays, or is ready; NULL: none
  Child* next;       ///< In preparation to take over; NULL: none
  WorkerFacts facts; ///< The newest of all workers, with a continuous serial
  WorkerCounts past; ///< Counters of past workers
  uint64_t n_starts, n_quarantined;
  char note[SUPERVISOR_NOTE_BYTES], quarantine[SUPERVISOR_NOTE_BYTES];

  // [supervisor]
  CrashPolicy policy;
  uint64_t start_at_ns; ///< When to start the next worker, while there is none
  bool had_gpu;         ///< The first worker had opened one
  bool wants_exchange;  ///< Only another process can open the worker's device
  Backoff exchange;     ///< Of attempts to start one beside it
};

// ---- supervisor_child.c ----

/// Start a process and send CONFIG. [supervisor]
NODISCARD Status child_start(const Supervisor* supervisor, Child** out, Error* error);

/**
   Close the child's socket and reap it.  Accepts NULL. [supervisor]

   @param asked Give it a moment to end by itself, then kill it; else kill it at once.
*/
void child_free(Child* child, bool asked);

// The rest is for a child that others may see as well, with the supervisor's lock held.  What
// cannot be sent makes it Child::broken, which the supervisor finds. [any but rt]

void child_set_state(Child* child, ChildState state);

/// Send it the rack that plays.
void child_load(Child* child, const RackHistory* history);

/// Send the child the playing rack again, for the values that it has missed, if any.  While the
/// child plans, this waits for the reply.
void child_reload(Child* child, const RackHistory* history);

/// Send the child the pending edit, if there is one to try, unless the child already plans.
void child_give_edit(Child* child, const RackHistory* history);

/// Arm it with the engine's ring, or, if `own`, with a ring that the child then owns.
void
child_arm(Child* child, const Supervisor* supervisor, Ring* ring, bool own, uint64_t first_frame);

/// Disarm it, unless it is not armed.
void child_disarm(Child* child);

/// For an idle child, once a second: a DISARM, whose reply shows that it is alive.
void child_ask(Child* child);

/// Set values: through the socket, or stored until the child's ring is served.
void child_set(Child* child, const ParamMessage* messages, uint32_t n);

// A process that hangs in a driver takes longer to end.
#define SUPERVISOR_KILL_LIMIT_NS (2U * NS_PER_S)

/// The reason of a child's loss.
typedef struct Cause {
  char text[SUPERVISOR_NOTE_BYTES / 2U];
  bool from_outside; ///< Not caused by the child
} Cause;

// ---- supervisor_messages.c [supervisor] ----

/// Handle the messages that a child has sent; false if the child is lost because of one.
NODISCARD bool supervisor_hear(Supervisor* supervisor, Child* child, Cause* cause);

/// Publish the worker's current facts to the engine.
void supervisor_publish(Supervisor* supervisor, const Child* child);

// ---- supervisor_watchdog.c [supervisor] ----

/// Check a child's health; false if it is lost, with the reason.
NODISCARD bool supervisor_watch(Supervisor* supervisor, Child* child, Cause* cause);

// ---- supervisor_restart.c ----

/// Store the reason of a loss; returns false, for functions that return whether the child is well.
bool supervisor_is_lost(Cause* cause, const char* text, bool from_outside);

/// True for a signal that a program raises in itself.
bool supervisor_is_own_signal(int number);

/// Add the counters of a child that ends to those of all before it. [lock held]
void supervisor_keep_counts(Supervisor* supervisor, const Child* child);

/// End a lost child, blame an edit or the rack, and set the time of the next start. [supervisor]
void supervisor_lose(Supervisor* supervisor, Child* child, Cause* cause);

/// Set when the worker is next exchanged for its device: the wait grows, unless the last one
/// worked for long. [supervisor]
void supervisor_put_off_exchange(Supervisor* supervisor, uint64_t now_ns);

// ---- supervisor_loop.c ----

/// The function of the supervisor thread.
void* supervisor_loop(void* supervisor);

/// True if edits go to the worker, not to the next one, which already has the rack. [lock held]
bool supervisor_takes_edits(const Supervisor* supervisor);

// ---- supervisor.c ----

/// Supervisor::lock. [any but rt]
void supervisor_lock(Supervisor* supervisor);
void supervisor_unlock(Supervisor* supervisor);

/// Wake the supervisor. [any]
void supervisor_wake(const Supervisor* supervisor);

#endif
