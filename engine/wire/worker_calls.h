// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The interface between the two halves of an engine.  The server half (engine.c) has the audio
   callback, the ring and the clients.  The worker half makes plans and runs blocks; it can crash.
   The server calls the worker through WorkerCalls and receives WorkerEvents; it does not depend on
   the process in which the worker runs.

   All types in this header are plain values, so that they can be sent through a socket.  Racks are
   sent as documents, parameters through the ring while it exists, and blocks only through the ring.
*/
#ifndef WARPRACK_ENGINE_WIRE_WORKER_CALLS_H
#define WARPRACK_ENGINE_WIRE_WORKER_CALLS_H

#include "engine/base/recorder.h"
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

/// Place and state of the worker: word for the enumeration, name for clients.
#define WORKER_STATES(ROW)                                                                         \
  ROW(IN_PROCESS, "in-process") /* a thread of this process */                                     \
  ROW(STARTING,   "starting")   /* a process that is not yet ready */                              \
  ROW(RUNNING,    "running")    /* a process */                                                    \
  ROW(RESTING,    "resting")    /* no process until the next start */

// clang-format on

#define WORKER_STATE_OF_ROW(word, name) WORKER_##word,

typedef enum WorkerState { WORKER_STATES(WORKER_STATE_OF_ROW) WORKER_N_STATES } WorkerState;

extern const char* const worker_state_names[WORKER_N_STATES];

/// The result of an edit.
typedef struct EngineReply {
  Status status;
  char text[512];          ///< Reason if status is not OK
  uint64_t frame;          ///< First frame that the new rack plays
  uint32_t latency_frames; ///< Latency of the rack from that frame on
  uint32_t refused_edge;   ///< 1 + index of the connection whose channels do not fit; 0: none
  RackRefused refused;     ///< Nodes of plugins that could not be made: all, up to the limit
} EngineReply;

/// A state of a node that a worker has saved.
typedef struct EngineSaved {
  Error error;                ///< STATUS_OK: it is saved
  const unsigned char* bytes; ///< [n_bytes] of FxInfo::save, a package (package.h); not checked
  uint32_t n_bytes;           ///< At least 1 if it is saved, at most FX_STATE_MAX_BYTES
} EngineSaved;

/// A node whose plugin has ended the process of its group, or did not return.
typedef struct EngineNodeLoss {
  RackUid uid;
  RecorderPhase phase; ///< Not RECORDER_NONE
  bool is_hang;
  bool is_guess; ///< Another node of its group may have caused it
} EngineNodeLoss;

/// The backend on which a node of the active rack runs, and why.
typedef struct EnginePlacement {
  RackUid uid;
  EngineBackend backend; ///< Never ENGINE_BACKEND_AUTO
  PlaceReason reason;
  uint32_t latency_frames; ///< Of the node
  uint32_t p50_ns, p99_ns; ///< Of its last blocks on one core: times that half, and 99 %, did not
                           ///< exceed; 0: not measured
} EnginePlacement;

/// Properties of the active plan.
typedef struct WorkerFacts {
  uint64_t serial; ///< Increases with each plan: facts with a smaller serial are out of date
  uint32_t rack_latency_frames, n_out;
  uint32_t n_nodes, n_units, n_ranks;
  uint64_t tail_frames;                ///< UINT64_MAX: unbounded
  uint64_t memory_bytes, making_bytes; ///< As Plan's n_bytes and making_bytes
  Fallbacks fallbacks;                 ///< Offline: none
} WorkerFacts;

/// The status of a worker.
typedef struct WorkerStatus {
  WorkerFacts facts;
  WorkerCounts counts;
  double load_p50, load_p99, load_max;
  double cost_us[PLACEMENT_SIDES];
  uint32_t n_gpu_nodes;
  uint32_t n_bypassed;    ///< Nodes that repeatedly output NaN or Inf
  bool needs_new_process; ///< The device hangs, or this process cannot open it again
  bool uses_cpu;          ///< Nodes run on the CPU
  bool awaits_frame;      ///< The edit in hand is planned, and waits for its frame
  EngineBackend gpu;      ///< API of the GPU that runs nodes; ENGINE_BACKEND_CPU: none
  char device[256];
  char backend_note[640];
  char realtime_note[512];
} WorkerStatus;

/// The initial state of a worker for a format.
typedef struct WorkerStart {
  Format format;
  Ring* ring;           ///< Source of the blocks; NULL offline.  Borrowed until disarm
  uint64_t first_frame; ///< Of the next block
  uint64_t n_sent;      ///< Parameter messages sent before the first one in `ring`: stamps continue
                        ///< from there
  bool plays_on;        ///< Audio has run before: if planning the rack fails, the inputs play, and
                        ///< the start succeeds
  RackRefused* refused; ///< Receives the nodes of plugins that the worker failed to make: all, up
                        ///< to the limit.  NULL: the first one ends the attempt
} WorkerStart;

/// Events of the worker.  Called on a thread of the worker, or within a WorkerCalls function if it
/// has no thread.  The worker holds no lock that a WorkerCalls function takes.
typedef struct WorkerEvents {
  void* context;
  /// An edit has become active, or was refused.
  void (*replied)(void* context, uint64_t id, const EngineReply* reply, const WorkerFacts* facts);
  /// Another plan has become active without an edit: because tails have ended, or because nodes
  /// moved to or from a device.
  void (*changed)(void* context, const WorkerFacts* facts);
  /// A state is saved, or could not be saved; `saved` is borrowed for the call.
  void (*saved)(void* context, uint64_t id, const EngineSaved* saved);
  /// The process of a group was lost in the code of a node.  NULL: nobody counts these losses.
  void (*node_lost)(void* context, const EngineNodeLoss* loss);
} WorkerEvents;

/// The calls of a worker; `worker` is the object that its constructor returned.
typedef struct WorkerCalls {
  /// Plan the current rack for a format, and run the blocks of the ring.  On failure the worker
  /// stays disarmed; `facts` are those of its plan then. [main]
  Status (*arm)(void* worker, const WorkerStart* start, WorkerFacts* facts, Error* error);
  /// Apply all messages in the ring, then leave it. [main]
  void (*disarm)(void* worker);
  /// Make `rack` (copied) the active one.  Unless the call fails, WorkerEvents::replied is called
  /// once for it.  `stamp`: number of parameter messages sent before the edit.  STATUS_NO_MEM;
  /// STATUS_LIMIT while another edit waits: the caller sends one edit at a time. [control]
  Status (*edit)(void* worker, uint64_t id, const Rack* rack, uint64_t at_frame, uint64_t stamp);
  /// Save the state of a node of the active rack (FxInfo::save).  Unless the call fails,
  /// WorkerEvents::saved is called once for it.  An edit that then states the file of that state
  /// does not make the node again.  STATUS_LIMIT while another save waits; STATUS_WORKER if there
  /// is no worker.  [control]
  Status (*save)(void* worker, uint64_t id, RackUid uid, Error* error);
  /// As engine_overtake().  NULL where a crash ends the whole program. [control]
  void (*overtake)(void* worker);
  /// As engine_use_plugins().  NULL if the worker is in this process. [any but rt]
  Status (*use_plugins)(void* worker, int fd, bool has_new_code, Error* error);
  /// Apply messages without a ring.  Returns false and changes nothing if there is a ring.
  /// [control]
  bool (*set)(void* worker, const ParamMessage* messages, uint32_t n);
  /// Reports messages that were sent through the ring, all of values or all of notes; the caller
  /// holds the ring's writer lock.  `now`: frame time of the next block.
  /// May be NULL. [control]
  void (*sent)(void* worker, const ParamMessage* messages, uint32_t n, uint64_t now);
  void (*status)(void* worker, WorkerStatus* status); // [any but rt]
  /// As engine_placements(). [any but rt]
  uint32_t (*placements)(void* worker, EnginePlacement* placements, uint32_t max);
  void (*reset_load)(void* worker); // [any but rt]
  void (*free)(void* worker);       // [main]
} WorkerCalls;

#endif
