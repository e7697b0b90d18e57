// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The half of an engine that can crash: it makes plans and runs blocks.  Builder, worker, helper
   cores and device belong to it; the audio callback, the ring's making and everything that listens
   do not.

   The other half (engine.c) asks it by the calls of RunnerCalls and hears from it by RunnerEvents,
   and does not know in which process it is:

     runner_calls   here: a Runner in this process
     remote_calls   remote.h: a Runner in a process of its own, which is started, watched and
                    started again

   Racks go over as documents, parameters through the ring while there is one, blocks through the
   ring only.
*/
#ifndef WARPRACK_ENGINE_RUNNER_H
#define WARPRACK_ENGINE_RUNNER_H

#include "engine.h"
#include "fallback_choose.h"
#include "node.h"
#include "ring.h"

/// What follows from the plan that is heard.
typedef struct RunnerFacts {
  uint64_t serial; ///< Counts up with the plans: what arrives with a smaller one is out of date
  uint32_t rack_latency_frames, n_out;
  uint32_t n_nodes, n_units, n_levels;
  uint64_t tail_frames;                ///< UINT64_MAX when unbounded
  uint64_t memory_bytes, making_bytes; ///< As Plan's n_bytes and making_bytes
  Fallbacks fallbacks;                 ///< Offline none
} RunnerFacts;

/// What a runner says about itself; plain values, so that it can cross a socket.
typedef struct RunnerStatus {
  RunnerFacts facts;
  uint64_t blocks; ///< Finished
  uint64_t plans;
  uint64_t params_applied, params_dropped;
  uint64_t units_reset;
  uint64_t device_errors;
  double load_p50, load_p99, load_max;
  double cost_us[PLACEMENT_SIDES];
  uint32_t n_gpu_nodes;
  uint32_t n_bypassed;    ///< Nodes that make NaN or Inf again and again
  bool needs_new_process; ///< The device hangs, or cannot be opened again in this process
  char backend[16];
  char device[256];
  char backend_note[640];
  char realtime_note[512];
} RunnerStatus;

/// How a runner is to begin with a format.
typedef struct RunnerStart {
  Format format;
  Ring* ring;           ///< Where blocks come from; NULL offline.  Borrowed until disarm
  uint64_t first_frame; ///< Of the next block
  uint64_t n_sent;      ///< Parameter messages before the first in `ring`: stamps go on from there
  bool plays_on;        ///< Audio has run before: what cannot be planned is dry rather than refused
} RunnerStart;

/// What the runner tells.  Called on a thread of its own, or within a call where it has none; never
/// with a lock held that a call takes.
typedef struct RunnerEvents {
  void* context;
  /// An edit is heard or refused.
  void (*replied)(void* context, uint64_t id, const EngineReply* reply, const RunnerFacts* facts);
  /// Another plan is heard that no edit asked for: tails have ended, a device was left.
  void (*changed)(void* context, const RunnerFacts* facts);
} RunnerEvents;

/// What a runner can be asked for; `runner` is what its maker returned.
typedef struct RunnerCalls {
  /// Plan the present rack for a format, and run what comes through the ring.  When it fails, the
  /// runner stays disarmed; `facts` are those of the plan that it has then. [main]
  Status (*arm)(void* runner, const RunnerStart* start, RunnerFacts* facts, Error* error);
  /// Leave the ring, with all messages in it applied. [main]
  void (*disarm)(void* runner);
  /// Make `rack` (copied) the one that is heard; unless this fails (STATUS_NO_MEM), answered once
  /// by RunnerEvents::replied, in the order of the calls.  How many wait is the caller's to bound.
  /// `stamp`: parameter messages that were sent before it. [control]
  Status (*edit)(void* runner, uint64_t id, const Rack* rack, uint64_t at_frame, uint64_t stamp);
  /// Apply messages while there is no ring to send them through; false, and nothing is changed,
  /// when there is one. [control]
  bool (*set)(void* runner, const ParamMessage* messages, uint32_t n);
  /// These went through the ring, whose writer's lock is held.  May be NULL. [control]
  void (*sent)(void* runner, const ParamMessage* messages, uint32_t n);
  void (*status)(const void* runner, RunnerStatus* status); // [any but rt]
  /// As engine_places(). [any but rt]
  uint32_t (*places)(const void* runner, EnginePlace* places, uint32_t max);
  void (*reset_load)(void* runner);                    // [any but rt]
  Status (*failure)(const void* runner, Error* error); ///< As engine_failure() [any]
  void (*free)(void* runner);                          // [main]
} RunnerCalls;

// ---- in this process ----

typedef struct Runner Runner;

extern const RunnerCalls runner_calls;

/// Make a runner and open its device; STATUS_NO_BACKEND in the driver's words when one was asked
/// for and is not there. [main]
NODISCARD Status runner_new(const EngineConfig* config, const RunnerEvents* events, Runner** out,
                            Error* error);

// Offline [main]

/// One block, on this thread: engine_process() of an offline engine.  Adds to `counts` what
/// happened.
void runner_process(Runner* runner, const float* const* in, float* const* out, uint32_t n_frames,
                    PeriodCounts* counts);

/// As engine_finish_pass().
bool runner_finish_pass(Runner* runner);

/// API of the device that is open; ENGINE_BACKEND_CPU when none is.
EngineBackend runner_gpu(const Runner* runner);

#endif
