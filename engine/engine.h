// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The engine: one rack that runs.  Owns the ring and the callback's half (period.h); its other half
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

/// Make an engine, and open its device: STATUS_NO_BACKEND in the driver's words when one was asked
/// for and is not there.
NODISCARD Status // [main]
engine_new(const EngineConfig* config, Engine** out, Error* error);

/// Stop and free.  The driver must be closed.  Accepts NULL. [main]
void engine_free(Engine* engine);

/**
   Set the format and (re)start the worker; plans the present rack again, with initial state, when
   the format differs from the last one.  When that fails it is an error, but where audio has run
   before and the worker is a process: then the signal is dry, and it is tried again.  Between a
   driver's change of format and the end of this call the gate is shut: silence. n_out 0 keeps
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

/// Called on the builder thread, once per edit, when it is heard or refused.
typedef void (*EngineDone)(void* context, const EngineReply* reply);

/// One change of a parameter that is not structural.
typedef struct EngineParam {
  RackUid uid;
  uint32_t param;
  double value; ///< In the table's unit
} EngineParam;

/**
   Make `rack` the rack that is heard, at the first block that starts at or after `at_frame` (0: as
   soon as it is ready). Non-structural values that differ are ramped from that block on.  Copies
   the rack.

   @return STATUS_LIMIT while another edit is in flight: its `done` was not called yet.
   STATUS_NO_MEM.  Everything else arrives by `done` (may be NULL).
*/
NODISCARD Status engine_edit(Engine* engine, const Rack* rack, uint64_t at_frame, EngineDone done,
                             void* context);

/// The same, and wait for the reply; while no audio runs, until it is planned. [main, control]
NODISCARD Status engine_edit_wait(Engine* engine, const Rack* rack, Error* error);

/// Change n parameters at one frame (0: at the next block), all in the same block.  Unknown nodes
/// are ignored and counted.  STATUS_LIMIT, with nothing changed, when too many messages wait.
/// [control]
NODISCARD Status engine_set(Engine* engine, const EngineParam* params, uint32_t n,
                            uint64_t at_frame);

/// A copy of the rack that is heard, for the caller to free: what to go on with when
/// EngineStatus::quarantined has grown.  NULL when out of memory, and in this process, where no
/// rack is ever taken back. [any but rt]
Rack* engine_rack(Engine* engine);

// ---- offline [main] ----

/// Whether a device has failed: STATUS_DEVICE_LOST and its words.  What was processed since is not
/// the rack's sound. [any]
Status engine_failure(Engine* engine, Error* error);

/// Set `again` while effects ask for another pass over the whole signal; units have been
/// initialised again.  Fails when an effect could not measure the pass.
NODISCARD Status engine_finish_pass(Engine* engine, bool* again, Error* error);

// ---- queries [any but rt] ----

/// Frame time of the next block to be submitted, and of the monotonic time `ns` by the same clock.
uint64_t engine_frame_now(Engine* engine);
uint64_t engine_frame_at(Engine* engine, uint64_t monotonic_ns);

/// Latency of the rack, and of the whole way: depth * block + rack.
uint32_t engine_rack_latency(Engine* engine);
uint32_t engine_latency(Engine* engine);

/// Longest tail of the rack in frames, UINT64_MAX when unbounded.
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
  int32_t worker_pid;        ///< Of that process; 0: there is none
  uint64_t worker_restarts;  ///< Processes that have taken the place of one that was lost
  uint64_t quarantined;      ///< Racks taken back because two processes in a row crashed on them
  char worker_note[320];     ///< "" or why one was lost last, in words
  char quarantine_note[320]; ///< "" or why a rack was taken back last
  double load_p50, load_p99,
      load_max; ///< Time of a block over its period, in the last 10 to 20 s (load.h)
  PeriodCounts counts;
  WorkerCounts worker_counts;
  char backend[16];                ///< What runs the nodes: "cpu", "cuda", "cpu+opencl" …
  uint32_t n_gpu_nodes;            ///< Nodes on the device
  uint32_t n_bypassed;             ///< Nodes that make NaN or Inf again and again
  char device[256];                ///< The open GPU: name, driver, memory; "" when none is open
  double cost_us[PLACEMENT_SIDES]; ///< Of a block, predicted when AUTO chose; 0: it did not
  char backend_note[640];          ///< "" or what the choice of backends came to, in words
  char realtime_note[512];         ///< "" or what real-time privilege is missing
  char late_note[512];             ///< "" or what is wrong with what plays while blocks are late
} EngineStatus;

void engine_status(Engine* engine, EngineStatus* status);

/// Counters of a port of the rack since the audio server was joined, or came back with another
/// format; zeros for one that is not there. [any but rt]
PeriodPort engine_port(Engine* engine, bool is_output, uint32_t channel);

/// All nodes of the rack that is heard, in its order; at most `max` of them are written.  Returns
/// how many there are.
uint32_t engine_places(Engine* engine, EnginePlace* places, uint32_t max);

void engine_reset_load(Engine* engine);

/// Fade the output out (about 50 ms), or back in; true once silent.  It lasts when the engine is
/// armed again: what was faded out begins silent. [main]
void engine_fade(Engine* engine, bool to_silence);
bool engine_is_silent(Engine* engine);

/// Run `n_blocks` of quiet noise through a plan of `rack` that is never heard, and measure it (for
/// `check`). [main]
typedef struct EnginePrediction {
  uint64_t memory_bytes;       ///< That the rack holds
  uint64_t making_bytes;       ///< The most that it takes while it is planned
  uint64_t memory_limit_bytes; ///< EngineConfig::memory_bytes, or its default
  double block_ns_p50, block_ns_p99;
  uint32_t latency_frames, n_out;
  uint64_t tail_frames;
  Fallbacks fallbacks;             ///< What each output would play while blocks are late
  char backend[16];                ///< What ran it, as in EngineStatus
  EngineBackend gpu;               ///< Of the device that was open, CPU when none was
  double cost_us[PLACEMENT_SIDES]; ///< As in EngineStatus
  char device[256];                ///< As in EngineStatus
  char backend_note[640];          ///< As in EngineStatus
} EnginePrediction;

NODISCARD Status engine_predict(const EngineConfig* config, const Rack* rack, double rate_hz,
                                uint32_t block_frames, uint32_t n_blocks,
                                EnginePrediction* prediction, Error* error);

#endif
