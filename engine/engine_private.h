// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What the two halves of the engine share: its life (engine.c) and its edits (engine_edit.c).

   Locks, none of which an audio thread ever takes, in the order in which they may be nested:
     planning  who plans, arms or disarms; held long
     edits     the queue
     pointers  `ring`, `period` and `past` as threads other than the audio threads see them; held
   for an instant
*/
#ifndef WARPRACK_ENGINE_ENGINE_PRIVATE_H
#define WARPRACK_ENGINE_ENGINE_PRIVATE_H

#include "engine.h"
#include "pool.h"
#include "ring.h"
#include "worker.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct Edit {
  struct Edit* next;
  Rack* rack;
  uint64_t at_frame;
  uint64_t stamp;
  EngineDone done;
  void* context;
} Edit;

struct Engine {
  EngineConfig config;
  FileLoader loader;
  Backend* device;                 ///< Open GPU, or NULL; written under `pointers`
  const Backend* backend;          ///< Of nodes that leave the choice; as `device`
  const char* why_backend;         ///< Word for it, see EnginePlace
  PlacementCosts* costs;           ///< What the choice goes by; NULL when it is made already
  double cost_ns[PLACEMENT_SIDES]; ///< Of a block, predicted at the last choice; as `device`
  char no_gpu[512];                ///< Why there is no device
  char backend_note[640];          ///< Guarded by `pointers`
  bool is_lost;                    ///< The device has failed, nothing is planned on it; as `device`
  bool was_used;                   ///< Then: nodes that leave the choice were there
  Error lost_why;                  ///< As `device`
  uint64_t rest_ns;                ///< For how long it stays out of use
  uint64_t try_at_ns;              ///< When that is over, once it is closed; UINT64_MAX: never

  pthread_mutex_t planning;
  Format format; ///< Valid once has_format; written under `pointers` too
  bool has_format;
  _Atomic bool armed;
  Rack* rack;        ///< Heard, or to be heard once there is a format
  PeriodCounts past; ///< Counters of periods that are over
  char realtime_note[512];

  pthread_mutex_t edits;
  pthread_cond_t edits_changed;
  Edit* first_edit;
  Edit** last_edit; ///< Where the next one is hooked in
  uint32_t n_edits;
  bool builder_stops;
  bool has_builder;
  pthread_t builder;
  _Atomic uint64_t edits_refused;

  pthread_mutex_t pointers;
  Ring* ring; ///< NULL while disarmed, and offline
  uint64_t n_sent;

  Pool* pool;
  Worker worker;
  pthread_t worker_thread;
  bool has_worker_thread;
  _Atomic bool worker_stops;

  _Atomic uint32_t process_out; ///< Channels that engine_process() writes
  _Atomic(Period*) period;      ///< NULL while disarmed, and offline
  _Atomic bool in_process;      ///< The driver's thread is inside engine_process()

  float* offline_rows; ///< Of two blocks: guarded copies of [n_in][block], then [n_out][block]
  _Atomic uint64_t next_frame; ///< Offline, and while disarmed
  _Atomic uint32_t rack_latency, n_out, n_nodes, n_units, n_levels;
  const Plan* shown; ///< Whose nodes the queries look at; guarded by `pointers`
  _Atomic uint64_t tail;
};

/// Plan `rack` on top of what is heard and wait until it is heard.  Takes `rack` over on success.
/// [planning held]
NODISCARD Status engine_plan(Engine* engine, Rack* rack, uint64_t at_frame, uint64_t stamp,
                             uint64_t* heard_at, Error* error);

// ---- engine_backend.c ----

/// Open the device that the configuration asks for, or that is there. [main]
NODISCARD Status engine_open_backend(Engine* engine, Error* error);

/// Open that device alone.  [main, builder]
NODISCARD Status engine_open_device(const Engine* engine, Backend** device, Error* error);

/// Close it, after all plans were freed. [main]
void engine_close_backend(Engine* engine);

/// Let the device reach a ring; without, its stages copy. [planning held]
void engine_show_ring(Engine* engine, const Ring* ring);

/// Let the device reach a new ring, and the plan's stages work in it.  [main, no worker]
NODISCARD Status engine_attach_ring(Engine* engine, const Ring* ring, Error* error);

/// The reverse, before the ring is freed: the plan has no stages then. [main, no worker]
void engine_detach_ring(Engine* engine);

/// Tell a request what nodes may run on. [planning held]
void engine_place(const Engine* engine, PlanRequest* request);

/// From now on the queries look at this plan, and no longer at the one before. [planning held]
void engine_show_plan(Engine* engine, const Plan* plan);

/// Fill what engine_status() says of backends. [pointers held]
void engine_tell_backend(const Engine* engine, EngineStatus* status);

// ---- engine_place.c ----

/// Make a plan; where the engine chooses, on the better side. [planning held]
NODISCARD Status engine_make_plan(Engine* engine, const PlanRequest* request, Plan** out,
                                  bool* tangled, Error* error);
// ---- engine_device.c ----

/// Let the device take as long as blocks of this format allow. [planning held, no worker]
void engine_set_deadline(Engine* engine, const Format* format);

/// Take the words of a device that failed in `plan` (may be NULL), before the plan is freed.
/// [planning held]
void engine_note_failure(Engine* engine, const Plan* plan);

/// A plan could not be made: when that is because the device has failed, leave it.  True when it is
/// worth trying once more. [planning held]
bool engine_take_loss(Engine* engine, Status status, const Error* why);

/// Leave a device that has failed, or try it again when it is time. [planning held]
void engine_mind_device(Engine* engine);

// ---- engine_edit.c ----

/// Plan the rack that is heard once more, with the values that were set. [planning held]
NODISCARD Status engine_replan(Engine* engine, Error* error);

// ---- engine.c ----

/// What the queries say about the plan that is heard. [planning held]
void engine_publish_facts(Engine* engine);

NODISCARD Status // [main]
engine_start_builder(Engine* engine, Error* error);
void engine_stop_builder(Engine* engine);

#endif
