// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What the files of the worker share: its life (worker.c), its edits and the builder thread
   (worker_edit.c), its player thread (worker_player.c), what runs the nodes (worker_backend.c,
   worker_device.c, worker_place.c), files and trials (worker_offline.c).

   Locks, none of which an audio thread ever takes, in the order in which they may be nested:
     planning_lock  planning, arming and disarming; held long
     edits_lock     the edit that waits for the builder
     status_lock    device, notes, facts and the plan that queries read; held for an instant
   None is held when WorkerEvents are called.
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

typedef struct Edit {
  uint64_t id;
  Rack* rack;
  uint64_t at_frame;
  uint64_t stamp;
} Edit;

struct Worker {
  EngineConfig config;
  WorkerEvents events;
  FileLoader loader;
  char realtime_note[512]; ///< Constant once the worker is made

  Backend* device;                 ///< Open GPU, or NULL; written under `status_lock`
  const Backend* backend;          ///< Of nodes that leave the choice; as `device`
  PlaceReason reason;              ///< Why it is that one
  PlacementCosts* costs;           ///< What the choice goes by; NULL when it is made already
  double cost_ns[PLACEMENT_SIDES]; ///< Of a block, predicted at the last choice; as `device`
  char no_gpu[512];                ///< Why there is no device
  char backend_note[640];          ///< Guarded by `status_lock`
  bool is_lost;                    ///< The device has failed, nothing is planned on it; as `device`
  bool was_used;                   ///< Then: nodes that leave the choice were there
  Error lost_why;                  ///< As `device`
  bool needs_new_process;          ///< As `device`; see WorkerStatus
  Backoff retry;                   ///< Of the device, once it is closed; at UINT64_MAX: never

  pthread_mutex_t planning_lock;
  Format format; ///< Valid once has_format
  bool has_format;
  Rack* rack;          ///< Heard, or to be heard once there is a format
  Ring* ring;          ///< NULL while disarmed, and offline
  Fallbacks fallbacks; ///< Of `rack`
  Fallbacks measured;  ///< By the last measurement, as if all outputs were `auto`
  bool must_measure;   ///< `rack` has not been measured yet
  uint64_t
      outdated_at; ///< Then: first frame since the last measurement, or since the worker was armed

  uint32_t n_behind; ///< [builder] How often looks found the ring full: has_heavy_tails()

  pthread_mutex_t edits_lock;
  pthread_cond_t edits_changed;
  Edit* edit; ///< Waits for the builder; NULL: none does
  bool builder_stops;
  bool has_builder;
  _Atomic uint64_t awaited_frame; ///< The builder waits for the blocks before it; 0: for none
  _Atomic uint32_t n_ending;      ///< Calls because of which none of them will come
  pthread_t builder;

  pthread_mutex_t status_lock;
  WorkerFacts facts;
  const Plan* shown; ///< Whose nodes the queries look at

  Pool* pool;
  Player player;
  pthread_t player_thread;
  bool has_player_thread;
  _Atomic bool player_stops;

  float* offline_rows;   ///< Of two blocks: guarded copies of [n_in][block], then [n_out][block]
  uint32_t offline_turn; ///< Which of the two the next block has
  uint64_t next_frame;   ///< Offline: of the next block
};

// ---- worker.c ----

/// Update and report the facts of the plan that is heard. [planning_lock held]
void worker_publish_facts(Worker* worker);

WorkerFacts worker_facts(Worker* worker);

/// Choose the fallbacks of a rack before its measurement.  Returns true if an output is `auto`.
/// [planning_lock held]
bool worker_outdate_fallbacks(Worker* worker, const Rack* rack, uint32_t n_out);

/// Measure a rack, and choose the fallbacks of its outputs.  With `gives_way` the measurement ends
/// without a result as soon as worker_ends_measurement(), and `must_measure` stays set.
/// [planning_lock held]
void worker_choose_fallbacks(Worker* worker, const PlanRequest* request, bool gives_way);

// ---- worker_edit.c ----

NODISCARD Status // [main]
worker_start_builder(Worker* worker, Error* error);

/// An edit that still waits is refused. [main]
void worker_stop_builder(Worker* worker);

/// WorkerCalls::edit and ::set.
Status worker_edit(void* worker, uint64_t id, const Rack* rack, uint64_t at_frame, uint64_t stamp);
bool worker_set(void* worker, const ParamMessage* messages, uint32_t n);

/// True when a call that arms, disarms or ends the worker waits, or an edit does and the
/// measurement is not overdue. [planning_lock held]
bool worker_ends_measurement(Worker* worker);

/// Plan the rack that is heard once more, with the values that were set. [planning_lock held]
NODISCARD Status worker_replan(Worker* worker, Error* error);

// ---- worker_player.c ----

/// Let a thread run what comes through the ring. [main]
NODISCARD Status worker_start_player(Worker* worker, Error* error);

/// End it, if there is one; the ring stays.  [main]
void worker_stop_player(Worker* worker);

// ---- worker_offline.c ----

/// Make room for the blocks of the format. [main]
NODISCARD Status worker_prepare_offline(Worker* worker, Error* error);

/// End the block that was begun ahead: it is not wanted. [main]
void worker_end_offline(Worker* worker);

// ---- worker_backend.c ----

/// Open the device that the configuration asks for, or that is there. [main]
NODISCARD Status worker_open_backend(Worker* worker, Error* error);

/// Open that device alone.  [main, builder]
NODISCARD Status worker_open_device(const Worker* worker, Backend** device, Error* error);

/// Close it, after all plans were freed. [main]
void worker_close_backend(Worker* worker);

/// Let the device reach a ring; without, its stages copy. [planning_lock held]
void worker_show_ring(Worker* worker, const Ring* ring);

/// Let the device reach a new ring, and the plan's stages work in it.  [main, no player]
NODISCARD Status worker_attach_ring(Worker* worker, const Ring* ring, Error* error);

/// The reverse, before the ring is freed: the plan has no stages then. [main, no player]
void worker_detach_ring(Worker* worker);

/// Tell a request what nodes may run on, and how much memory there is. [planning_lock held]
void worker_place(const Worker* worker, PlanRequest* request);

/// From now on the queries look at this plan, and no longer at the one before. [planning_lock held]
void worker_show_plan(Worker* worker, const Plan* plan);

/// Fill what WorkerCalls::status says of backends. [status_lock held]
void worker_tell_backend(const Worker* worker, WorkerStatus* status);

/// WorkerCalls::places.
uint32_t worker_places(void* worker, EnginePlace* places, uint32_t max);

// ---- worker_place.c ----

/// Make a plan; where the worker chooses, on the better side. [planning_lock held]
NODISCARD Status worker_make_plan(Worker* worker, const PlanRequest* request, Plan** out,
                                  PlanFault* fault, Error* error);

// ---- worker_device.c ----

/// Let the device take as long as blocks of this format allow. [planning_lock held, no player]
void worker_set_deadline(Worker* worker, const Format* format);

/// Take the words of a device that failed in `plan` (may be NULL), before the plan is freed.
/// [planning_lock held]
void worker_note_failure(Worker* worker, const Plan* plan);

/// A plan could not be made: when that is because the device has failed, leave it.  True when it is
/// worth trying once more. [planning_lock held]
bool worker_take_loss(Worker* worker, Status status, const Error* why);

/// Begin without a device that cannot be opened, as if it had failed just now. [main]
void worker_begin_lost(Worker* worker, const Error* why);

/// Leave a device that has failed, or try it again when it is time. [planning_lock held]
void worker_update_device(Worker* worker);

/// WorkerCalls::failure.
Status worker_failure(void* worker, Error* error);

#endif
