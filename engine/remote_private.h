// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What the files of a remote runner share: the calls (remote.c), one worker process
   (remote_child.c), the thread that watches it (remote_link.c).

   Locks: `lock` guards everything here that is not said to be the link's own; it is held for an
   instant, and never while RunnerEvents or the host are called, whose locks come before it, but for
   what of the host is called [held].  The link waits for nobody; who waits for the link holds no
   lock.
*/
#ifndef WARPRACK_ENGINE_REMOTE_PRIVATE_H
#define WARPRACK_ENGINE_REMOTE_PRIVATE_H

#include "process.h"
#include "remote.h"
#include "remote_blame.h"
#include "remote_book.h"
#include "wire.h"

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
  uint32_t n_loads_out;
  bool has_plan;     ///< It has been armed once
  bool has_edit;     ///< It was given the first pending edit
  uint64_t edit_ns;  ///< When that was
  uint64_t n_sent;   ///< Parameter messages that it gets, or that are in its documents
  RunnerFacts facts; ///< The newest
  RunnerStatus status;
  EnginePlace* places; ///< [n_places]
  uint32_t n_places;
  Error broken;         ///< Why nothing can be sent to it any more
  uint64_t arm_at_ns;   ///< When to try again to arm it, after that has failed
  uint64_t arm_rest_ns; ///< How long that was put off the last time

  /// [n_missed] values since it was given the rack, or armed, for when its ring is served.
  ParamMessage* missed;
  uint32_t n_missed, max_missed;

  // [link]
  RemotePulse pulse;    ///< At the last look
  RemotePulse finished; ///< When a block was last finished
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

/// What a call waits for that the link brings.
typedef struct Answer {
  bool is_there;
  Error error;
} Answer;

struct Remote {
  EngineConfig config;
  RunnerEvents events;
  RemoteHost host;
  char realtime_note[512]; ///< What this process lacks; constant
  pthread_t thread;
  bool has_thread;
  int wake; ///< eventfd: the link has something to do

  pthread_mutex_t lock;
  pthread_cond_t changed; ///< `started`, `armed` or `worker`
  bool quits;
  Answer started; ///< Of the first worker
  Answer armed;   ///< To the ARM that arm() has sent; it is there, too, when the worker is lost
  bool is_arming; ///< arm() waits for that
  bool plays_on;  ///< RunnerStart, the last one
  Book book;
  Wanted wanted;
  Child* worker;     ///< Plays, or stands ready; NULL: none
  Child* next;       ///< Is made ready to take over; NULL: none
  RunnerFacts facts; ///< The newest of all workers, with a serial that goes on
  RunnerStatus past; ///< Counters of workers that are gone
  uint64_t n_starts, n_quarantined;
  char note[REMOTE_NOTE_BYTES], quarantine[REMOTE_NOTE_BYTES];

  // [link]
  Blame blame;
  uint64_t start_at_ns;    ///< When to start the next worker, while there is none
  bool had_gpu;            ///< The first worker had opened one
  bool wants_exchange;     ///< The worker's device can only be had by another process
  uint64_t exchange_at_ns; ///< When to start that beside it
  uint64_t exchange_rest_ns;
};

// ---- remote_child.c ----

/// Start a process and give it CONFIG. [link]
NODISCARD Status child_start(const Remote* remote, Child** out, Error* error);

/**
   Close its socket and reap it.  Accepts NULL. [link]

   @param asked Give it a moment to end by itself, then kill it; else kill it at once.
*/
void child_free(Child* child, bool asked);

// The rest is for a child that others may see as well, with the remote's lock held.  What cannot be
// sent makes it Child::broken, for the link to find. [any but rt]

void child_set_state(Child* child, ChildState state);

/// Give it the rack that is heard.
void child_load(Child* child, const Book* book);

/// The same again, for the values in it that it has missed.
void child_reload(Child* child, const Book* book);

/// Give it the first pending edit, if it has none and there is one to try.
void child_give_edit(Child* child, const Book* book);

/// Arm it with a ring that is the engine's, or `own`: then the child's.
void child_arm(Child* child, const Remote* remote, Ring* ring, bool own, uint64_t first_frame);

/// Disarm it, unless it is not armed.
void child_disarm(Child* child);

/// Each second that it is idle: a DISARM, whose answer says no more than that it is alive.
void child_ask(Child* child);

/// Values that were set: by its socket, or kept until its ring is served.
void child_set(Child* child, const ParamMessage* messages, uint32_t n);

#define REMOTE_KILL_LIMIT_NS 2000000000U // a process that hangs in a driver stays for longer

/// Why a child is lost.
typedef struct Cause {
  char text[REMOTE_NOTE_BYTES / 2U];
  bool from_outside; ///< Not by its own doing
} Cause;

// ---- remote_hear.c [link] ----

/// Do what a child says, as far as it has come; false when the child is lost by that.
NODISCARD bool remote_hear(Remote* remote, Child* child, Cause* cause);

/// Let the engine know what is heard of the worker now.
void remote_publish(Remote* remote, const Child* child);

// ---- remote_watch.c [link] ----

/// Whether it does what it should; else why it is lost.
NODISCARD bool remote_watch(Remote* remote, Child* child, Cause* cause);

// ---- remote_loss.c ----

/// Note why a child is lost: false, for whoever returns whether it is well.
bool remote_is_lost(Cause* cause, const char* text, bool from_outside);

/// True for what a program does to itself.
bool remote_is_own_signal(int number);

/// Add the counters of a child that goes to those of all before it. [lock held]
void remote_keep_counts(Remote* remote, const Child* child);

/// End a child that is lost, judge, and set when the next one starts. [link]
void remote_lose(Remote* remote, Child* child, Cause* cause);

/// Let an edit that makes the rack smaller pass those that a worker was lost with, unless a worker
/// is at them again. [lock held]
void remote_overtake(Remote* remote);

/// Set when a worker is exchanged for its device: each time later, unless that has been well for
/// long. [link]
void remote_put_off_exchange(Remote* remote, uint64_t now_ns);

// ---- remote_link.c ----

/// The thread.
void* remote_link(void* remote);

/// Whether edits go to the worker, and not to the next one, which has the rack already. [lock held]
bool remote_takes_edits(const Remote* remote);

// ---- remote.c ----

/// Remote::lock. [any but rt]
void remote_lock(const Remote* remote);
void remote_unlock(const Remote* remote);

/// Let the link look. [any]
void remote_wake(const Remote* remote);

#endif
