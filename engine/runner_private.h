// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What the files of the runner share: its life (runner.c), its edits and the builder thread
   (runner_edit.c), its worker thread (runner_worker.c), what runs the nodes (runner_backend.c,
   runner_device.c, runner_place.c), files and trials (runner_offline.c).

   Locks, none of which an audio thread ever takes, in the order in which they may be nested:
     planning  who plans, arms or disarms; held long
     edits     the queue
     told      what queries read: device, notes, facts, the plan that is shown; held for an instant
   None is held when RunnerEvents are called.
*/
#ifndef WARPRACK_ENGINE_RUNNER_PRIVATE_H
#define WARPRACK_ENGINE_RUNNER_PRIVATE_H

#include "pool.h"
#include "runner.h"
#include "worker.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct Edit {
  struct Edit* next;
  uint64_t id;
  Rack* rack;
  uint64_t at_frame;
  uint64_t stamp;
} Edit;

struct Runner {
  EngineConfig config;
  RunnerEvents events;
  FileLoader loader;
  char realtime_note[512]; ///< Constant once the runner is made

  Backend* device;                 ///< Open GPU, or NULL; written under `told`
  const Backend* backend;          ///< Of nodes that leave the choice; as `device`
  const char* why_backend;         ///< Word for it, see EnginePlace
  PlacementCosts* costs;           ///< What the choice goes by; NULL when it is made already
  double cost_ns[PLACEMENT_SIDES]; ///< Of a block, predicted at the last choice; as `device`
  char no_gpu[512];                ///< Why there is no device
  char backend_note[640];          ///< Guarded by `told`
  bool is_lost;                    ///< The device has failed, nothing is planned on it; as `device`
  bool was_used;                   ///< Then: nodes that leave the choice were there
  Error lost_why;                  ///< As `device`
  uint64_t rest_ns;                ///< For how long it stays out of use
  bool needs_new_process;          ///< As `device`; see RunnerStatus
  uint64_t try_at_ns;              ///< When that is over, once it is closed; UINT64_MAX: never

  pthread_mutex_t planning;
  Format format; ///< Valid once has_format
  bool has_format;
  Rack* rack;          ///< Heard, or to be heard once there is a format
  Ring* ring;          ///< NULL while disarmed, and offline
  Fallbacks fallbacks; ///< Of `rack`
  Fallbacks measured;  ///< By the last measurement, as if all outputs were `auto`
  bool must_measure;   ///< `rack` has not been measured yet
  uint64_t
      outdated_at; ///< Then: first frame since the last measurement, or since the runner was armed

  uint32_t n_behind; ///< [builder] How often looks found the ring full: has_heavy_tails()

  pthread_mutex_t edits;
  pthread_cond_t edits_changed;
  Edit* first_edit;
  Edit** last_edit; ///< Where the next one is hooked in
  bool builder_stops;
  bool has_builder;
  _Atomic uint64_t awaited_frame; ///< The builder waits for the blocks before it; 0: for none
  _Atomic uint32_t n_ending;      ///< Calls because of which none of them will come
  pthread_t builder;

  pthread_mutex_t told;
  RunnerFacts facts;
  const Plan* shown; ///< Whose nodes the queries look at

  Pool* pool;
  Worker worker;
  pthread_t worker_thread;
  bool has_worker_thread;
  _Atomic bool worker_stops;

  float* offline_rows;   ///< Of two blocks: guarded copies of [n_in][block], then [n_out][block]
  uint32_t offline_turn; ///< Which of the two the next block has
  uint64_t next_frame;   ///< Offline: of the next block
};

// ---- runner.c ----

/// What is told about the plan that is heard. [planning held]
void runner_publish_facts(Runner* runner);

RunnerFacts runner_facts(const Runner* runner);

/// Choose the fallbacks of a rack before its measurement.  Returns true if an output is `auto`.
/// [planning held]
bool runner_outdate_fallbacks(Runner* runner, const Rack* rack, uint32_t n_out);

/// Measure a rack, and choose the fallbacks of its outputs.  With `gives_way` the measurement ends
/// without a result as soon as runner_ends_measurement(), and `must_measure` stays set.
/// [planning held]
void runner_choose_fallbacks(Runner* runner, const PlanRequest* request, bool gives_way);

// ---- runner_edit.c ----

NODISCARD Status // [main]
runner_start_builder(Runner* runner, Error* error);

/// The edits that still wait are refused. [main]
void runner_stop_builder(Runner* runner);

/// RunnerCalls::edit and ::set.
Status runner_edit(void* runner, uint64_t id, const Rack* rack, uint64_t at_frame, uint64_t stamp);
bool runner_set(void* runner, const ParamMessage* messages, uint32_t n);

/// True when a call that arms, disarms or ends the runner waits, or an edit does and the
/// measurement is not overdue. [planning held]
bool runner_ends_measurement(Runner* runner);

/// Plan the rack that is heard once more, with the values that were set. [planning held]
NODISCARD Status runner_replan(Runner* runner, Error* error);

// ---- runner_worker.c ----

/// Let a thread run what comes through the ring. [main]
NODISCARD Status runner_start_worker(Runner* runner, Error* error);

/// End it, if there is one; the ring stays.  [main]
void runner_stop_worker(Runner* runner);

// ---- runner_offline.c ----

/// Make room for the blocks of the format. [main]
NODISCARD Status runner_prepare_offline(Runner* runner, Error* error);

/// End the block that was begun ahead: it is not wanted. [main]
void runner_end_offline(Runner* runner);

// ---- runner_backend.c ----

/// Open the device that the configuration asks for, or that is there. [main]
NODISCARD Status runner_open_backend(Runner* runner, Error* error);

/// Open that device alone.  [main, builder]
NODISCARD Status runner_open_device(const Runner* runner, Backend** device, Error* error);

/// Close it, after all plans were freed. [main]
void runner_close_backend(Runner* runner);

/// Let the device reach a ring; without, its stages copy. [planning held]
void runner_show_ring(Runner* runner, const Ring* ring);

/// Let the device reach a new ring, and the plan's stages work in it.  [main, no worker]
NODISCARD Status runner_attach_ring(Runner* runner, const Ring* ring, Error* error);

/// The reverse, before the ring is freed: the plan has no stages then. [main, no worker]
void runner_detach_ring(Runner* runner);

/// Tell a request what nodes may run on, and how much memory there is. [planning held]
void runner_place(const Runner* runner, PlanRequest* request);

/// From now on the queries look at this plan, and no longer at the one before. [planning held]
void runner_show_plan(Runner* runner, const Plan* plan);

/// Fill what RunnerCalls::status says of backends. [told held]
void runner_tell_backend(const Runner* runner, RunnerStatus* status);

/// RunnerCalls::places.
uint32_t runner_places(const void* runner, EnginePlace* places, uint32_t max);

// ---- runner_place.c ----

/// Make a plan; where the runner chooses, on the better side. [planning held]
NODISCARD Status runner_make_plan(Runner* runner, const PlanRequest* request, Plan** out,
                                  bool* tangled, Error* error);

// ---- runner_device.c ----

/// Let the device take as long as blocks of this format allow. [planning held, no worker]
void runner_set_deadline(Runner* runner, const Format* format);

/// Take the words of a device that failed in `plan` (may be NULL), before the plan is freed.
/// [planning held]
void runner_note_failure(Runner* runner, const Plan* plan);

/// A plan could not be made: when that is because the device has failed, leave it.  True when it is
/// worth trying once more. [planning held]
bool runner_take_loss(Runner* runner, Status status, const Error* why);

/// Begin without a device that cannot be opened, as if it had failed just now. [main]
void runner_begin_lost(Runner* runner, const Error* why);

/// Leave a device that has failed, or try it again when it is time. [planning held]
void runner_mind_device(Runner* runner);

/// RunnerCalls::failure.
Status runner_failure(const void* runner, Error* error);

#endif
