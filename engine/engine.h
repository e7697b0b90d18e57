// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The engine: runs one rack.  Owns the ring and the callback's half (period.h); the other half
   (worker.h) makes the plans and runs the blocks.

   Threads: [main] sets up and tears down; [rt] is the audio driver's thread, in engine_run();
   [control] edits and sets parameters (one thread at a time); [builder] and [player] belong to the
   worker.
*/
#ifndef WARPRACK_ENGINE_ENGINE_H
#define WARPRACK_ENGINE_ENGINE_H

#include "engine/base/status.h"
#include "engine/contract/counters.h"
#include "engine/contract/period_gate.h"
#include "engine/rack/rack.h"
#include "engine/wire/config.h"
#include "engine/wire/worker_calls.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Engine Engine;

/// Make an engine and open its device; STATUS_NO_BACKEND with the driver's text if the requested
/// one is not available.
NODISCARD Status // [main]
engine_new(const EngineConfig* config, Engine** out, Error* error);

/// Stop and free.  The driver must be closed.  Accepts NULL. [main]
void engine_free(Engine* engine);

/**
   Set the format and (re)start the worker; if the format differs from the last one, plans the
   current rack again, with initial state.  A failure is an error, unless audio has run before and
   the worker is a process: then the dry signal plays, and the worker tries again.  Between a
   driver's change of format and the end of this call the gate is shut: silence.  n_out 0 keeps
   EngineConfig's rule.  [main]
*/
NODISCARD Status engine_arm(Engine* engine, double rate_hz, uint32_t block_frames, uint32_t n_in,
                            uint32_t n_out, Error* error);

/// Stop the worker; the gate is shut, which plays silence, until the next engine_arm(). [main]
void engine_disarm(Engine* engine);

/// The gate that is open while the engine is armed; a driver shuts it, too. [any]
PeriodGate* engine_gate(Engine* engine);

/// One period that has passed the gate, as a PeriodFunction; see period_run(). [rt]
REALTIME void
engine_run(void* engine, const float* const* in, float* const* out, uint32_t n_frames, bool wait);

/// One period of a caller that is no driver: through the gate to engine_run(), or offline. [rt]
REALTIME void engine_process(Engine* engine, const float* const* in, float* const* out,
                             uint32_t n_frames, bool wait);

// ---- edits [control] ----

/// Called on the builder thread, once per edit, when it plays or is rejected.
typedef void (*EngineDone)(void* context, const EngineReply* reply);

/// One change of a parameter that is not structural.
typedef struct EngineParam {
  RackUid uid;
  uint32_t param;
  double value; ///< In the table's unit
} EngineParam;

/**
   Play `rack` from the first block that starts at or after `at_frame` (0: as soon as it is ready).
   Non-structural values that differ ramp from that block on.  Copies the rack.

   @return STATUS_LIMIT while another edit is in flight: its `done` was not called yet.
   STATUS_NO_MEM.  All other errors arrive by `done` (may be NULL).
*/
NODISCARD Status engine_edit(Engine* engine, const Rack* rack, uint64_t at_frame, EngineDone done,
                             void* context);

/// The same, and wait for the reply; without audio, until the rack is planned. [main, control]
NODISCARD Status engine_edit_wait(Engine* engine, const Rack* rack, Error* error);

/// Set n parameters at one frame (0: with the next block), all in the same block.  Unknown nodes
/// are ignored and counted.  STATUS_LIMIT, with nothing changed, if too many messages wait.
/// [control]
NODISCARD Status engine_set(Engine* engine, const EngineParam* params, uint32_t n,
                            uint64_t at_frame);

/// A copy of the rack that plays, which the caller frees: the document to continue with when
/// EngineStatus::quarantined has grown.  NULL when out of memory, and in this process, where no
/// rack is ever reverted. [any but rt]
Rack* engine_rack(Engine* engine);

// ---- offline [main] ----

/// STATUS_DEVICE_LOST with its text if a device has failed.  Output since then is not the rack's.
/// [any]
Status engine_failure(Engine* engine, Error* error);

/// Set `again` while effects request another pass over the whole signal; units have been reset
/// then.  Fails if an effect could not measure the pass.
NODISCARD Status engine_finish_pass(Engine* engine, bool* again, Error* error);

// ---- queries [any but rt] ----

/// Frame time of the next block to be submitted, and the frame time at the monotonic time `ns`.
uint64_t engine_frame_now(Engine* engine);
uint64_t engine_frame_at(Engine* engine, uint64_t monotonic_ns);

/// Latency of the rack, and of the whole way: depth * block + rack.
uint32_t engine_rack_latency(Engine* engine);
uint32_t engine_latency(Engine* engine);

/// Longest tail of the rack in frames, UINT64_MAX if unbounded.
uint64_t engine_tail(Engine* engine);

/// Channels that the rack makes from n_in inputs.
uint32_t engine_n_out(Engine* engine);

typedef struct EngineStatus {
  bool armed;
  double rate_hz;
  uint32_t block_frames, depth, n_in, n_out;
  uint32_t latency_frames, rack_latency_frames;
  uint32_t n_nodes, n_units, n_levels;
  uint64_t edits_refused;
  WorkerState worker;
  int32_t worker_pid;        ///< Of that process; 0: none
  uint64_t worker_restarts;  ///< Processes that replaced a lost one
  uint64_t quarantined;      ///< Racks reverted because two processes in a row crashed on them
  char worker_note[320];     ///< "" or why the last worker was lost
  char quarantine_note[320]; ///< "" or why the last rack was reverted
  double load_p50, load_p99,
      load_max; ///< Time of a block over its period, in the last 10 to 20 s (load.h)
  PeriodCounts counts;
  WorkerCounts worker_counts;
  char backend[16];                ///< The backends of the nodes: "cpu", "cuda", "cpu+opencl" …
  uint32_t n_gpu_nodes;            ///< Nodes on the device
  uint32_t n_bypassed;             ///< Nodes that repeatedly output NaN or Inf
  char device[256];                ///< The open GPU: name, driver, memory; "" when none is open
  double cost_us[PLACEMENT_SIDES]; ///< Of a block, predicted when AUTO chose; 0: it did not
  char backend_note[640];          ///< "" or the result of the choice of backends
  char realtime_note[512];         ///< "" or the missing real-time privileges
  char late_note[512];             ///< "" or problems with the fallbacks
} EngineStatus;

void engine_status(Engine* engine, EngineStatus* status);

/// Counters of a port of the rack since the audio server was joined, or returned with another
/// format; zeros for a port that does not exist. [any but rt]
PeriodPort engine_port(Engine* engine, bool is_output, uint32_t channel);

/// All nodes of the rack that plays, in its order; writes at most `max` of them.  Returns their
/// number.
uint32_t engine_places(Engine* engine, EnginePlace* places, uint32_t max);

void engine_reset_load(Engine* engine);

/// Fade the output out (about 50 ms), or back in; true once silent.  It lasts when the engine is
/// armed again: what was faded out begins silent. [main]
void engine_fade(Engine* engine, bool to_silence);
bool engine_is_silent(Engine* engine);

/// Run `n_blocks` of quiet noise through a plan of `rack` that never plays, and measure it (for
/// `check`). [main]
typedef struct EnginePrediction {
  uint64_t memory_bytes;       ///< Memory of the rack
  uint64_t making_bytes;       ///< Largest memory while it is planned
  uint64_t memory_limit_bytes; ///< EngineConfig::memory_bytes, or its default
  double block_ns_p50, block_ns_p99;
  uint32_t latency_frames, n_out;
  uint64_t tail_frames;
  Fallbacks fallbacks;             ///< The fallback of each output
  char backend[16];                ///< What ran it, as in EngineStatus
  EngineBackend gpu;               ///< API of the open device, CPU if none was open
  double cost_us[PLACEMENT_SIDES]; ///< As in EngineStatus
  char device[256];                ///< As in EngineStatus
  char backend_note[640];          ///< As in EngineStatus
} EnginePrediction;

NODISCARD Status engine_predict(const EngineConfig* config, const Rack* rack, double rate_hz,
                                uint32_t block_frames, uint32_t n_blocks,
                                EnginePrediction* prediction, Error* error);

#endif
