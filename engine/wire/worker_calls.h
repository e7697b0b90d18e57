// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The seam between the two halves of an engine.  The server half (engine.c) has the audio callback,
   the ring and the clients.  The worker half makes plans and runs blocks: it can crash.  The server
   calls the worker through WorkerCalls and hears from it through WorkerEvents, and does not know in
   which process the worker runs.

   All types here are plain values, so that they can cross a socket.  Racks cross as documents,
   parameters through the ring while there is one, and blocks through the ring only.
*/
#ifndef WARPRACK_ENGINE_WIRE_WORKER_CALLS_H
#define WARPRACK_ENGINE_WIRE_WORKER_CALLS_H

#include "engine/base/status.h"
#include "engine/contract/backend.h"
#include "engine/contract/counters.h"
#include "engine/contract/fallback.h"
#include "engine/contract/format.h"
#include "engine/rack/rack.h"
#include "engine/ring/ring.h"

#include <stdbool.h>
#include <stdint.h>

// clang-format off

/// Where the worker is, and whether it plays: word in enumerations, name for clients.
#define WORKER_STATES(ROW)                                                                         \
  ROW(IN_PROCESS, "in-process") /* a thread of this process */                                     \
  ROW(STARTING,   "starting")   /* a process that is not ready yet */                              \
  ROW(RUNNING,    "running")    /* a process */                                                    \
  ROW(RESTING,    "resting")    /* no process, until the next one is started */

// clang-format on

#define WORKER_STATE_OF_ROW(word, name) WORKER_##word,

typedef enum WorkerState { WORKER_STATES(WORKER_STATE_OF_ROW) WORKER_N_STATES } WorkerState;

extern const char* const worker_state_names[WORKER_N_STATES];

/// What an edit came to.
typedef struct EngineReply {
  Status status;
  char text[512];          ///< Reason when status is not OK
  uint64_t frame;          ///< First frame at which it is heard
  uint32_t latency_frames; ///< Of the rack, from now on
  uint32_t refused_edge;   ///< 1 + index of the connection whose channels do not fit; 0: none
} EngineReply;

/// Where a node of the rack that is heard runs.
typedef struct EnginePlace {
  RackUid uid;
  EngineBackend backend; ///< Never ENGINE_BACKEND_AUTO
  PlaceReason reason;
} EnginePlace;

/// What follows from the plan that is heard.
typedef struct WorkerFacts {
  uint64_t serial; ///< Counts up with the plans: what arrives with a smaller one is out of date
  uint32_t rack_latency_frames, n_out;
  uint32_t n_nodes, n_units, n_levels;
  uint64_t tail_frames;                ///< UINT64_MAX when unbounded
  uint64_t memory_bytes, making_bytes; ///< As Plan's n_bytes and making_bytes
  Fallbacks fallbacks;                 ///< Offline none
} WorkerFacts;

/// What a worker says about itself; plain values, so that it can cross a socket.
typedef struct WorkerStatus {
  WorkerFacts facts;
  WorkerCounts counts;
  double load_p50, load_p99, load_max;
  double cost_us[PLACEMENT_SIDES];
  uint32_t n_gpu_nodes;
  uint32_t n_bypassed;    ///< Nodes that make NaN or Inf again and again
  bool needs_new_process; ///< The device hangs, or cannot be opened again in this process
  bool uses_cpu;          ///< Nodes run there
  EngineBackend gpu;      ///< API of the GPU that nodes run on; ENGINE_BACKEND_CPU: on none
  char device[256];
  char backend_note[640];
  char realtime_note[512];
} WorkerStatus;

/// How a worker is to begin with a format.
typedef struct WorkerStart {
  Format format;
  Ring* ring;           ///< Where blocks come from; NULL offline.  Borrowed until disarm
  uint64_t first_frame; ///< Of the next block
  uint64_t n_sent;      ///< Parameter messages before the first in `ring`: stamps go on from there
  bool plays_on;        ///< Audio has run before: a rack that fails to plan is dry, not refused
} WorkerStart;

/// What the worker tells.  Called on a thread of its own, or within a call where it has none; never
/// with a lock held that a call takes.
typedef struct WorkerEvents {
  void* context;
  /// An edit is heard or refused.
  void (*replied)(void* context, uint64_t id, const EngineReply* reply, const WorkerFacts* facts);
  /// Another plan is heard that no edit asked for: tails have ended, a device was left.
  void (*changed)(void* context, const WorkerFacts* facts);
} WorkerEvents;

/// What a worker can be asked for; `worker` is what its maker returned.
typedef struct WorkerCalls {
  /// Plan the present rack for a format, and run what comes through the ring.  When it fails, the
  /// worker stays disarmed; `facts` are those of the plan that it has then. [main]
  Status (*arm)(void* worker, const WorkerStart* start, WorkerFacts* facts, Error* error);
  /// Leave the ring, with all messages in it applied. [main]
  void (*disarm)(void* worker);
  /// Make `rack` (copied) the one that is heard; unless this fails, answered once by
  /// WorkerEvents::replied.  `stamp`: parameter messages that were sent before it.  STATUS_NO_MEM;
  /// STATUS_LIMIT while another edit waits: the caller sends one at a time. [control]
  Status (*edit)(void* worker, uint64_t id, const Rack* rack, uint64_t at_frame, uint64_t stamp);
  /// Apply messages while there is no ring to send them through; false, and nothing is changed,
  /// when there is one. [control]
  bool (*set)(void* worker, const ParamMessage* messages, uint32_t n);
  /// These went through the ring, whose writer's lock is held.  May be NULL. [control]
  void (*sent)(void* worker, const ParamMessage* messages, uint32_t n);
  void (*status)(void* worker, WorkerStatus* status); // [any but rt]
  /// As engine_places(). [any but rt]
  uint32_t (*places)(void* worker, EnginePlace* places, uint32_t max);
  void (*reset_load)(void* worker);              // [any but rt]
  Status (*failure)(void* worker, Error* error); ///< As engine_failure() [any]
  void (*free)(void* worker);                    // [main]
} WorkerCalls;

#endif
