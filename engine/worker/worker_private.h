// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by the files of the worker: its life (worker.c), its edits and the builder thread
   (worker_edit.c), plans handed to the player (worker_plan.c), the choice of fallbacks
   (worker_fallbacks.c), states of its nodes (worker_save.c), its player thread (worker_player.c),
   its backends (worker_backend.c, worker_device.c, worker_place.c), offline blocks
   (worker_offline.c), and its reports (worker_facts.c).

   Locks, in the order in which they may be nested; audio threads take none of them:
     planning_lock  planning, arming and disarming; held long
     edits_lock     the edit and the save that wait for the builder
     status_lock    device, notes, facts and the plan that queries read; held for an instant
   The worker holds none of them when it calls WorkerEvents.
*/
#ifndef WARPRACK_ENGINE_WORKER_WORKER_PRIVATE_H
#define WARPRACK_ENGINE_WORKER_WORKER_PRIVATE_H

#include "placement.h"
#include "player.h"
#include "worker.h"

#include "engine/base/backoff.h"
#include "engine/contract/pool.h"

#include <pthread.h>
#include <stdatomic.h>

// Between two calls of fx_idle(), and checks for tails that have ended.
#define WORKER_IDLE_NS (50U * NS_PER_MS)

/// Let plugins start until then; offline they have any time. [builder]
static inline void
worker_limit_starts(const Format* const format, const uint64_t until_ns)
{
  fx_set_deadline(format->offline ? 0U : until_ns);
}

typedef struct Edit {
  uint64_t id;
  Rack* rack;
  uint64_t at_frame;
  uint64_t stamp;
  uint64_t given_ns;
  bool is_replayed;   ///< Then plan it as when ...
  bool is_first_plan; ///< ... there was no plan to continue from, ...
  uint64_t planned;   ///< ... and the next block began at this frame
} Edit;

/// A wanted save of a node's state.
typedef struct Save {
  uint64_t id; ///< 0: none
  RackUid uid;
} Save;

struct Worker {
  EngineConfig config;
  WorkerEvents events;
  FileLoader loader;
  char realtime_note[512]; ///< Constant after worker_new()

  Backend* device;                 ///< Open GPU, or NULL; written under `status_lock`
  const Backend* backend;          ///< Of nodes without a backend of their own; as `device`
  PlaceReason reason;              ///< Why `backend` was chosen
  PlacementCosts* costs;           ///< Costs to choose by; NULL: the choice is fixed
  double cost_ns[PLACEMENT_SIDES]; ///< Of a block, predicted at the last choice; as `device`
  char no_gpu[512];                ///< Why there is no device
  char backend_note[640];          ///< Guarded by `status_lock`
  bool is_lost;                    ///< The device has failed, and plans do not use it; as `device`
  bool was_used;                   ///< While is_lost: `backend` was the device before
  Error lost_why;                  ///< As `device`
  bool needs_new_process;          ///< As `device`; see WorkerStatus
  Backoff retry;                   ///< Time of the next attempt to open the device; UINT64_MAX:
                                   ///< never

  pthread_mutex_t planning_lock;
  Format format; ///< Valid once has_format
  bool has_format;
  Rack* rack;          ///< The active rack, or the one to play once there is a format
  Ring* ring;          ///< NULL while disarmed, and offline
  Fallbacks fallbacks; ///< Of `rack`
  Fallbacks measured;  ///< By the last measurement, as if all outputs were `auto`
  bool must_measure;   ///< `rack` has not been measured yet
  bool takes_long;     ///< An edit ended the overdue measurement of `rack`
  uint64_t ended_ns;   ///< When the last edit or arming ended
  uint64_t
      outdated_at; ///< While must_measure: frame at which the measurement became invalid, or first
                   ///< frame of the last arm

  Backoff restoring;       ///< [builder] Rest before lost nodes are made again, after a failure
  uint32_t n_unrestored;   ///< [builder] Failures since the last success
  char renewal_error[512]; ///< [builder] The last one in the log
  Backoff moving;          ///< [builder] Rest after a plan for a latency that has changed
  Backoff placing;         ///< [builder] Rest after a plan for switches that has failed

  _Atomic uint64_t n_late;         ///< [player] Blocks that ended after they were due
  uint64_t seen_blocks, seen_late; ///< [builder] Ended blocks, and late ones, at the last check
  double dry_s;                    ///< [builder] Time with fallbacks: has_heavy_tails()
  uint64_t seen_submitted;         ///< [builder] Blocks of the ring, when it last looked ...
  uint64_t still_since_ns;         ///< [builder] ... and since when there are no more; 0: new ring

  pthread_mutex_t edits_lock;
  pthread_cond_t edits_changed;
  Edit* edit; ///< Waits for the builder; NULL: no edit waits
  Save save;  ///< Waits for the builder
  bool builder_stops;
  bool has_builder;
  _Atomic uint64_t awaited_frame; ///< The builder waits until this frame is played; 0: it does not
                                  ///< wait
  _Atomic uint32_t n_ending;      ///< Number of calls that wait for the builder: it must not wait
                                  ///< for blocks
  pthread_t builder;

  pthread_mutex_t status_lock;
  WorkerFacts facts;
  const Plan* shown; ///< The plan whose nodes the queries report

  Pool* pool;
  Player player;
  pthread_t player_thread;
  bool has_player_thread;
  uint32_t n_long_waits; ///< [player] In a row, for a block
  _Atomic bool player_stops;

  float* offline_rows;   ///< [2] blocks, each: [n_in][block] guarded inputs, then [n_out][block]
                         ///< outputs
  uint32_t offline_turn; ///< Index of the rows of the next block: 0 or 1
  uint64_t next_frame;   ///< Offline: of the next block
};

/// Set the deadline for plugins to start: the configured time after the request at `asked_ns`, or
/// after the end of the last edit or arming, for which the request has waited.  As the supervisor.
/// [planning_lock held]
static inline void
worker_limit_request(const Worker* const worker, const Format* const format,
                     const uint64_t asked_ns)
{
  const uint64_t since_ns = asked_ns > worker->ended_ns ? asked_ns : worker->ended_ns;
  worker_limit_starts(format, since_ns + engine_plugin_start_ns(&worker->config));
}

// ---- worker_facts.c ----

/// Write a line for the log (EngineConfig::note). [any but rt]
void PRINTF_LIKE(2, 3) worker_log(const Worker* worker, const char* format, ...);

/// Update the facts from the active plan. [planning_lock held]
void worker_publish_facts(Worker* worker);

WorkerFacts worker_facts(Worker* worker);

// ---- worker_plan.c ----

/// Renew the nodes of a plan that the player has stopped after a NaN; an error is written to the
/// log once.  May be called while the builder waits or measures. [planning_lock held]
void worker_renew_nodes(Worker* worker, const Plan* plan);

/// A request for a plan of `rack` that continues the active plan. [planning_lock held]
PlanRequest worker_request(Worker* worker, const Rack* rack);

/// Let the plan of a request begin at a frame, or later, when the change of the previous plan has
/// passed through the rack (plan_next_begin()).
void worker_request_at(const Worker* worker, PlanRequest* request, uint64_t at_frame);

/// Make a plan, and wait until the player has changed to it.  If new connections and fading old
/// ones form a cycle, fade out the old ones first.  If the memory limit does not allow the plan
/// beside tails, end these first. [planning_lock held]
NODISCARD Status worker_play(Worker* worker, const PlanRequest* request, PlanFault* fault,
                             uint64_t* first_frame, Error* error);

/// Plan the active rack again, with the values that messages have set; `end_tails`: without the
/// tails of removed nodes. [planning_lock held]
NODISCARD Status worker_replan(Worker* worker, bool end_tails, Error* error);

/// Likewise for new nodes: the plan begins when the change of the previous one has passed through
/// the rack, as that of an edit. [planning_lock held]
NODISCARD Status worker_replan_in_turn(Worker* worker, Error* error);

// ---- worker_fallbacks.c [planning_lock held] ----

/// Choose the fallbacks of a rack before its measurement.  Returns true if an output is `auto`.  If
/// none is, a rack with plugins is not measured, because that opens all of them a second time.
bool worker_outdate_fallbacks(Worker* worker, const Rack* rack, uint32_t n_out);

/// Measure a rack with an `auto` output before it first plays, for FIRST_NS at most.  The builder
/// measures it later if FIRST_NS is not enough, or if no output is `auto`: then only warnings need
/// the responses.
void worker_choose_first_fallbacks(Worker* worker, const PlanRequest* request);

/// True if edits have postponed or ended the measurement for POSTPONED_S.  False for a measurement
/// that takes longer than OVERDUE_NS: it waits for a pause between edits.
bool worker_measurement_is_overdue(const Worker* worker);

/// Measure the current rack to choose its fallbacks.  An edit that arrives meanwhile ends the
/// measurement; an overdue one may first run for OVERDUE_NS.
void worker_measure_fallbacks(Worker* worker);

// ---- worker_edit.c ----

NODISCARD Status // [main]
worker_start_builder(Worker* worker, Error* error);

/// End the builder thread.  Refuses an edit that still waits. [main]
void worker_stop_builder(Worker* worker);

/// WorkerCalls::edit and ::set.
Status worker_edit(void* worker, uint64_t id, const Rack* rack, uint64_t at_frame, uint64_t stamp);
bool worker_set(void* worker, const ParamMessage* messages, uint32_t n);

// ---- worker_groups.c [builder, planning_lock held] ----

/// Report the processes of groups that were lost, and count the blocks that nodes had to play
/// without them.  `refused`: the rack of an edit that was refused meanwhile, whose new nodes are no
/// nodes of the active rack; NULL: none.
void worker_report_groups(Worker* worker, const Rack* refused);

/// Plan the rack with new nodes in place of those whose processes are lost.  If that fails, try
/// them one by one, because one node may be at fault.
void worker_restore_groups(Worker* worker);

// ---- worker_save.c ----

/// WorkerCalls::save.
Status worker_save(void* worker, uint64_t id, RackUid uid, Error* error);

/// Save the state that waits, if there is one; `is_ending`: refuse it. [builder]
void worker_perform_save(Worker* worker, bool is_ending);

// ---- worker_player.c ----

/// Start the thread that runs the blocks of the ring. [main]
NODISCARD Status worker_start_player(Worker* worker, Error* error);

/// End the player thread, if there is one; the ring stays. [main]
void worker_stop_player(Worker* worker);

// ---- worker_offline.c ----

/// Allocate the rows of offline blocks of the current format. [main]
NODISCARD Status worker_prepare_offline(Worker* worker, Error* error);

/// End a block that was begun ahead, and drop its output. [main]
void worker_end_offline(Worker* worker);

// ---- worker_backend.c ----

/// Choose the backend by the configuration, and open its device.  With ENGINE_BACKEND_AUTO a
/// missing device is no error. [main]
NODISCARD Status worker_open_backend(Worker* worker, Error* error);

/// Open the device that the configuration names.  Does not change the worker. [main, builder]
NODISCARD Status worker_open_device(const Worker* worker, Backend** device, Error* error);

/// Close the device, after all plans are freed. [main]
void worker_close_backend(Worker* worker);

/// Map the ring into the device.  If that fails, the stages copy audio to the device and back.
/// [planning_lock held]
void worker_map_ring(Worker* worker, const Ring* ring);

/// Map a new ring into the device, and make the plan's stages for it. [main, no player]
NODISCARD Status worker_attach_ring(Worker* worker, const Ring* ring, Error* error);

/// Free the plan's stages and unmap the ring, before the ring is freed. [main, no player]
void worker_detach_ring(Worker* worker);

/// Set the backends and the memory limit of a request. [planning_lock held]
void worker_place(const Worker* worker, PlanRequest* request);

/// Set the plan that queries report, before the old plan is freed. [planning_lock held]
void worker_show_plan(Worker* worker, const Plan* plan);

/// Record that the device has failed: plans no longer use it. [planning_lock held]
void worker_mark_lost(Worker* worker, const Error* why);

/// Record the error of a device that has failed in `plan` (may be NULL), before the plan is freed.
/// [planning_lock held]
void worker_note_failure(Worker* worker, const Plan* plan);

/// Schedule the next attempt to open the device.  The delay doubles, but restarts if the device has
/// worked for long. [planning_lock held]
void worker_rest_device(Worker* worker);

/// Fill the members of the status that concern backends. [status_lock held]
void worker_fill_status(const Worker* worker, WorkerStatus* status);

/// WorkerCalls::placements.
uint32_t worker_placements(void* worker, EnginePlacement* placements, uint32_t max);

// ---- worker_place.c ----

/// Make a plan.  If the backend is not fixed, choose the side that is faster by measured costs.
/// [planning_lock held]
NODISCARD Status worker_make_plan(Worker* worker, const PlanRequest* request, Plan** out,
                                  PlanFault* fault, Error* error);

// ---- worker_device.c ----

/// Set the device's deadline for blocks of a format. [planning_lock held, no player]
void worker_set_deadline(Worker* worker, const Format* format);

/// Handle a failure to make a plan: if `status` is a device loss, leave the device.  Returns true
/// if the caller should try again. [planning_lock held]
bool worker_take_loss(Worker* worker, Status status, const Error* why);

/// Leave a failed device, or try to open it again when its delay has passed. [planning_lock held]
void worker_update_device(Worker* worker);

#endif
