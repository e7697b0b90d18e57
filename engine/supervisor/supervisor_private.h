// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by the files of the supervisor: the calls (supervisor.c), the state (supervisor_state.c),
   one worker process (supervisor_child.c), the thread that watches it (supervisor_loop.c).

   Locks: `lock` guards all fields that are not marked [supervisor].  A thread holds it for
   microseconds only.  No thread holds it when it calls WorkerEvents or the host, because their
   locks come before it; the host's calls marked [held] are the exception.  The supervisor waits for
   no other thread, and a call that waits for the supervisor does not hold `lock`.
*/
#ifndef WARPRACK_ENGINE_SUPERVISOR_SUPERVISOR_PRIVATE_H
#define WARPRACK_ENGINE_SUPERVISOR_SUPERVISOR_PRIVATE_H

#include "crash_policy.h"
#include "rack_history.h"
#include "supervisor.h"

#include "engine/base/backoff.h"
#include "engine/base/key_index.h"
#include "engine/base/process.h"
#include "engine/base/recorder.h"
#include "engine/base/time.h"
#include "engine/rack/rack_fades.h"
#include "engine/wire/wire.h"

#include <pthread.h>
#include <stdatomic.h>

typedef enum ChildState {
  CHILD_STARTING, ///< CONFIG is sent
  CHILD_LOADING,  ///< The active rack is sent
  CHILD_IDLE,     ///< The child has no format
  CHILD_ARMING,   ///< A format and a ring are sent
  CHILD_ARMED,    ///< The child is armed, but the callback does not have its ring yet
  CHILD_SERVING
} ChildState;

/// A worker process.
typedef struct Child {
  Process* process;
  Wire* wire;
  Recorder* recorder;
  ChildState state;
  uint64_t n_plugins;  ///< Supervisor::n_plugins when the process was started
  bool is_ready;       ///< While STARTING: READY has arrived, and the child waits for its rack
  uint64_t since_ns;   ///< Time at which this state began
  uint64_t busy_ns;    ///< Time of its last note that this state takes long; 0: none
  Ring* ring;          ///< The ring of its ARM, until the host takes it; NULL: the engine's
  Ring* lent;          ///< The engine's, if its ARM has that; valid while ARMING
  uint64_t generation; ///< Generation of the format of its ARM
  uint32_t n_arms_out; ///< Number of ARM messages without a reply
  uint32_t n_disarms_out;
  uint32_t n_saves_out;
  uint64_t asked_ns;   ///< Time at which the last DISARM was sent
  bool has_plan;       ///< The child was armed once
  bool must_reload;    ///< The quarantine has changed since its rack was sent: it gets that again
                       ///< before it is armed
  bool has_load;       ///< It plans the active rack, ...
  bool has_edit;       ///< ... or the pending edit, never both
  uint64_t given_ns;   ///< Time at which that rack was sent
  uint64_t replied_ns; ///< Time of the last reply to a rack or an ARM, which it handles in turn
  uint64_t n_sent;     ///< Number of parameter messages sent to it, or contained in its documents
  WorkerFacts facts;   ///< The newest
  WorkerStatus status;
  EnginePlacement* placements; ///< [n_placements]
  uint32_t n_placements;
  uint32_t n_refusals;  ///< Attempts in a row in which it could not make nodes
  Error broken;         ///< The error that ended sending; STATUS_OK: none
  uint64_t arm_at_ns;   ///< Time of the next attempt to arm it, after a failure
  uint64_t arm_rest_ns; ///< The delay before that attempt

  /// [n_missed] values set since the rack was sent, or since it was armed.  They are sent when its
  /// ring is offered
  ParamMessage* missed;
  uint32_t n_missed, max_missed;
  KeyIndex missed_at; ///< By uid and parameter: the place in `missed`

  /// A call of a plugin does not return: the process plays on without edits until it is exchanged
  bool is_stuck;

  // [supervisor]
  bool has_more; ///< It has sent more messages than one round handles
  RecorderWatch calls[RECORDER_THREADS];
  uint64_t watched_ns;      ///< Time of the last look at them
  SupervisorPulse pulse;    ///< At the last check
  SupervisorPulse finished; ///< The pulse at which it last finished a block
  uint64_t checked_ns;
  uint64_t stalled_ns;   ///< Time without a finished block while blocks were due
  uint64_t wet_since_ns; ///< Time since which the callback plays its blocks; 0: it plays the
                         ///< fallbacks
  bool is_healthy;
} Child;

/// The state that the engine wants.
typedef struct Wanted {
  bool armed;
  uint64_t generation; ///< Counts arm and disarm
  Format format;
  RingShape shape;
} Wanted;

/// The supervisor's answer to a call that waits.
typedef struct Answer {
  bool is_there;
  Error error;
} Answer;

/// A wanted save of a node's state.
typedef struct SaveRequest {
  uint64_t id; ///< 0: none
  RackUid uid;
  const Child* child; ///< The worker that got the request; only compared, as it may have ended.
                      ///< NULL: the request waits, because no worker plays the rack
  uint64_t asked_ns;  ///< When that worker got the request; without one, when the request came
} SaveRequest;

struct Supervisor {
  EngineConfig config;
  WorkerEvents events;
  SupervisorHost host;
  char realtime_note[512]; ///< Real-time privileges that this process lacks; constant
                           ///< from the end of supervisor_new() on
  pthread_t thread;
  bool has_thread;
  int wake; ///< eventfd that wakes the supervisor

  pthread_mutex_t lock;
  pthread_cond_t changed; ///< `started`, `armed`, `next` or `worker` has changed
  bool quits;
  Answer started; ///< Of the first worker
  Answer armed;   ///< To the ARM of arm(); also set when the worker is lost
  bool is_arming; ///< arm() waits for `armed`
  bool plays_on;  ///< Of the last WorkerStart
  SaveRequest save;
  RackHistory history;
  RackFades fades;    ///< That run, or would run without the loss of the worker
  int plugins_fd;     ///< The catalogue of plugins that all workers have; -1: none
  uint64_t n_plugins; ///< Number of catalogues whose plugins had new code
  EnginePlacement*
      placements; ///< [n_placements] of the last child that has ended and had made nodes
  uint32_t n_placements;
  Backoff exchange; ///< Of attempts to start a worker beside the current one
  Wanted wanted;
  Child* worker;     ///< The current worker: serving, or ready to be armed; NULL: none
  Child* next;       ///< In preparation to take over; NULL: none
  WorkerFacts facts; ///< The newest of all workers; the serial continues from worker to worker
  WorkerCounts past; ///< Counters of past workers
  uint64_t n_starts, n_renewals, n_quarantined, n_nodes_quarantined;
  char note[SUPERVISOR_NOTE_BYTES], quarantine[SUPERVISOR_NOTE_BYTES];

  // [supervisor]
  CrashPolicy policy;
  uint64_t start_at_ns; ///< Time of the next start while there is no worker
  bool had_gpu;         ///< A worker has opened a GPU
  bool wants_exchange;  ///< Only another process can open the worker's device, or load new code
  Process* left;        ///< Processes of past children, until they have ended: process_leave()
};

// ---- supervisor_child.c ----

/// Start a process. [supervisor]
NODISCARD Status child_start(const Supervisor* supervisor, Child** out, Error* error);

/// Kill and reap the child's process, unless it has ended, and free the child.  Waits for at most a
/// second.  Accepts NULL.
/// [supervisor]
void child_free(Child* child);

/// Close the child's socket, so that its process ends, put the process into the list `left`, and
/// free the child.  `may_end`: give the process a second to end; otherwise it is killed.  Does not
/// wait.  Accepts NULL. [supervisor]
void child_leave(Child* child, Process** left, bool may_end);

// The functions below need the supervisor's lock, because other threads may use the child.  A
// failure to send is stored in Child::broken, which the supervisor checks. [any but rt]

void child_set_state(Child* child, ChildState state);

/// Send the first messages: the catalogue of plugins, if there is one, and the configuration.
NODISCARD Status child_configure(Child* child, const Supervisor* supervisor, Error* error);

/// Send the catalogue of plugins.
void child_use_plugins(Child* child, int fd);

/// Send a child the active rack.
void child_load(Child* child, const RackHistory* history);

/// Send the active rack again if the child has missed values, or must_reload.  While the child
/// plans, do nothing: the supervisor calls this in each round.
void child_reload(Child* child, const RackHistory* history);

/// Send the active rack again.  While the child plans, do nothing, and return false.
bool child_resend(Child* child, const RackHistory* history);

/// Send the child the pending edit, unless there is none, it is refused, or the child already
/// plans.
void child_give_edit(Child* child, const RackHistory* history);

/// Arm a child with the engine's ring or, if `own`, with a ring that the child then owns.
void
child_arm(Child* child, const Supervisor* supervisor, Ring* ring, bool own, uint64_t first_frame);

/// Disarm a child if it is armed or arming.
void child_disarm(Child* child);

/// Send an idle child a DISARM once a second; the reply shows that it is alive.
void child_ping(Child* child);

/// Forget the values that the child has missed, because it has them now.
void child_forget_missed(Child* child);

/// Set values: send them through the socket, or store them until the child's ring is offered.
void child_set(Child* child, const ParamMessage* messages, uint32_t n);

typedef enum CauseKind {
  CAUSE_OTHER,     ///< Not of a node
  CAUSE_CRASH,     ///< The process ended
  CAUSE_NO_BLOCKS, ///< It finished no blocks
  CAUSE_STUCK      ///< A call does not return
} CauseKind;

/// The reason of a child's loss.
typedef struct Cause {
  CauseKind kind;
  RecorderCall call; ///< Of CAUSE_STUCK
  bool is_guess;     ///< EngineNodeLoss::is_guess
  char text[SUPERVISOR_NOTE_BYTES / 2U];
  bool from_outside; ///< The child did not cause the loss
} Cause;

/// A node whose code caused a loss, of the active or the pending rack.
typedef struct Suspect {
  const RackNode* node;   ///< NULL: not known
  const RackNode* one_of; ///< If not known: one of several nodes that may have caused it, or NULL
  bool is_unknown;        ///< A crash of a rack with plugins, in the call of no node
  RecorderPhase phase;
} Suspect;

// ---- supervisor_state.c ----

/// Supervisor::lock. [any but rt]
void supervisor_lock(Supervisor* supervisor);
void supervisor_unlock(Supervisor* supervisor);

/// The worker, or NULL if there is none or its socket is broken. [lock held]
Child* supervisor_ready_worker(const Supervisor* supervisor);

/// True if the worker may have loaded code of plugins that has changed since. [lock held]
bool supervisor_has_old_code(const Supervisor* supervisor);

/// True if edits go to the current worker.  False while a next worker has the rack, and from the
/// arrival of new code of plugins until the first attempt to exchange the worker has failed: edits
/// then wait for the exchange. [lock held]
bool supervisor_takes_edits(const Supervisor* supervisor);

/// The longest time in which a worker plans a rack, also while it is armed or disarmed: the time
/// for its plugins to start, and that of the last call of one of them. [any]
uint64_t supervisor_plan_limit(const Supervisor* supervisor);

/// Store the cause of a loss.  Returns false, which the caller returns in turn.
bool supervisor_fail(Cause* cause, const char* text, bool from_outside);

/// True for a signal that a crash raises in the process itself.
bool supervisor_is_own_signal(int number);

/// Refuse the pending edit, which has caused too many losses. [lock held]
void supervisor_refuse_edit(Supervisor* supervisor, const Cause* cause);

// ---- supervisor_fades.c [lock held] ----

/// Record messages of values, before the active rack gets the values.  `now`: frame time.
void supervisor_note_fades(Supervisor* supervisor, const ParamMessage* messages, uint32_t n,
                           uint64_t now);

/// The first messages for a worker that takes over: the values that it has missed, and the fades
/// that run, as far as the ring has room.  The caller frees them; NULL if out of memory.
ParamMessage* supervisor_first_messages(Supervisor* supervisor, const Child* child, uint32_t* n);

// ---- supervisor_messages.c [supervisor] ----

/// Handle the messages that a child has sent.  Returns false, with the cause, if the child is lost.
NODISCARD bool supervisor_receive(Supervisor* supervisor, Child* child, Cause* cause);

/// Publish the worker's current facts to the engine.
void supervisor_publish(Supervisor* supervisor, const Child* child);

// ---- supervisor_watchdog.c [supervisor] ----

/// The time between checks of a worker that only plays, or without a child.  If more has passed
/// between two checks, this thread was suspended, and the rest does not count.
#define SUPERVISOR_REST_MS 100

/// Check a child's health.  Returns false, with the cause, if the child is lost.
NODISCARD bool supervisor_watch(Supervisor* supervisor, Child* child, Cause* cause);

// ---- supervisor_nodes.c [supervisor] ----

#define SUPERVISOR_EFFECT_BYTES (SUPERVISOR_NOTE_BYTES / 2U)

/// The words for an effect: "clap com.x", or the name of a built-in one.
const char* supervisor_effect_words(const FxInfo* fx, char words[SUPERVISOR_EFFECT_BYTES]);

/// Store the latency of a node: in the worker, which plays; else in `child`; else in the last child
/// that has ended. [lock held]
void supervisor_keep_latency(const Supervisor* supervisor, const Child* child, NodeCase* node_case);

/// Find the node whose code caused the loss of a child, by its flight recorder.  [lock held]
Suspect
supervisor_find_suspect(const Supervisor* supervisor, const Child* child, const Cause* cause);

/// Append the suspect to a text about a loss: " in run of comp (clap com.x)".
void supervisor_name_suspect(const Suspect* suspect, char* text, size_t n_bytes);

/// True if a suspect, which has a node or one of several, is the fault of the pending edit, which
/// adds the node or makes it again. [lock held]
bool supervisor_is_of_edit(const Supervisor* supervisor, const Suspect* suspect);

/// If nodes ran together, and one of them caused a loss, let them run apart from the next worker
/// on.  Returns false if the suspect is none of such nodes, or if they already do. [lock held]
bool supervisor_part_nodes(Supervisor* supervisor, const Suspect* suspect);

/// Record a loss that a node caused.  Returns true if the node is in quarantine now.  `has_stood`:
/// as crash_policy_node_loss(). [lock held]
bool supervisor_judge_node(Supervisor* supervisor, const Child* child, const Suspect* suspect,
                           const Cause* cause, bool has_stood);

/// Handle a LOST: after the second loss the node is in quarantine, and the child must get its rack
/// again.
void supervisor_handle_lost(Supervisor* supervisor, Child* child, const EngineNodeLoss* loss);

/// Look at the calls of a child's threads.  If a call does not return, let another worker take over
/// while the child plays on, and refuse the edit that caused this; if the child does not play,
/// return false, with the cause.
NODISCARD bool supervisor_watch_calls(Supervisor* supervisor, Child* child, Cause* cause);

// ---- supervisor_refused.c [supervisor, lock held] ----

/// Put the nodes of plugins that a child could not make into quarantine.  Returns true if a rack
/// that is sent now may succeed.  `only_again`: only nodes that were in quarantine before.
bool supervisor_bypass_refused(Supervisor* supervisor, Child* child, const RackRefused* refused,
                               bool only_again, const char* why);

/// The child has made all nodes of the rack that it got last.
void supervisor_accept_nodes(Supervisor* supervisor, Child* child);

// ---- supervisor_save.c ----

/// WorkerCalls::save. [control]
Status supervisor_save(void* supervisor, uint64_t id, RackUid uid, Error* error);

/// Handle a SAVED.  Returns false, with the cause, for an answer to no request. [supervisor]
NODISCARD bool supervisor_handle_saved(Supervisor* supervisor, Child* child,
                                       const WireSaved* message, Cause* cause);

/// True while the worker saves a state, which no other worker has: none may replace it before it
/// has answered. [lock held]
bool supervisor_is_saving(const Supervisor* supervisor);

/// Ask a worker for the state that waits for one.  Answer a save whose worker is gone or hangs, or
/// that takes too long. [supervisor]
void supervisor_check_save(Supervisor* supervisor);

// ---- supervisor_restart.c ----

/// Keep the counters and the placements of a child that ends. [lock held]
void supervisor_keep_facts(Supervisor* supervisor, Child* child);

/// End a lost child, find out whether an edit or the rack caused the loss, and schedule the next
/// start. [supervisor]
void supervisor_lose(Supervisor* supervisor, Child* child, Cause* cause);

/// Refuse the pending edit if a command overtakes it, a worker was lost while it planned the edit,
/// and none is planning it now.  Returns true if it is refused by this call. [lock held]
bool supervisor_refuse_overtaken(Supervisor* supervisor);

/// Schedule the next attempt to exchange the worker for its device.  The delay doubles, but
/// restarts if the last exchange has worked for long. [lock held]
void supervisor_postpone_exchange(Supervisor* supervisor, uint64_t now_ns);

// ---- supervisor_loop.c ----

/// One round of the supervisor thread. [supervisor]
void supervisor_round(Supervisor* supervisor);

/// The function of the supervisor thread.
void* supervisor_loop(void* supervisor);

#endif
