// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The engine: runs one rack.  It owns the ring and the server's half (period.h); the other half
   (worker.h) makes the plans and runs the blocks.

   Threads: [main] arms and frees; [rt] is the audio driver's thread, which calls engine_run();
   [control] edits and sets parameters (one thread at a time); [builder] and [player] belong to the
   worker.
*/
#ifndef WARPRACK_ENGINE_ENGINE_H
#define WARPRACK_ENGINE_ENGINE_H

#include "engine/base/midi_period.h"
#include "engine/base/status.h"
#include "engine/callback/dry_spans.h"
#include "engine/callback/midi_queue.h"
#include "engine/contract/counters.h"
#include "engine/contract/level.h"
#include "engine/contract/package.h"
#include "engine/contract/period_door.h"
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

/// Disarm and free an engine.  The driver must be closed.  Accepts NULL. [main]
void engine_free(Engine* engine);

/**
   Set the format and arm the worker.  If the format differs from the last one, the worker plans the
   current rack again, with initial state.  A failure to plan is an error, unless audio has run
   before and the worker is another process: then the outputs play their fallbacks, and the worker
   tries again.  From the driver's change of format to the end of this call the door is shut, and
   the outputs are silent.  n_out 0: as in EngineConfig. [main]
*/
NODISCARD Status engine_arm(Engine* engine, double rate_hz, uint32_t block_frames, uint32_t n_in,
                            uint32_t n_out, Error* error);

/// Disarm the worker, and shut the door until the next engine_arm(): the outputs are silent. [main]
void engine_disarm(Engine* engine);

/// The door, which is open while the engine is armed; a driver may shut it, too. [any]
PeriodDoor* engine_door(Engine* engine);

/// Run one period that has passed the door.  A PeriodFunction; see period_run(). [rt]
REALTIME void engine_run(void* engine, const float* const* in, float* const* out, uint32_t n_frames,
                         bool wait, MidiPeriod* midi);

/// Run one period for a caller that is not a driver: through the door to engine_run(), or offline.
/// [rt]
REALTIME void engine_process(Engine* engine, const float* const* in, float* const* out,
                             uint32_t n_frames, bool wait);

/**
   Give the worker process a new catalogue of plugins: it has the catalogue before any rack that is
   sent later.  Does nothing if the worker is in this process, whose catalogue it uses.

   @param fd As EngineConfig::plugins_fd; duplicated.
   @param has_new_code The code of plugins has changed, which a process that has loaded them does
   not load again: another worker process is prepared, and replaces the current one at a block
   boundary.
   @return STATUS_NO_MEM if the descriptor cannot be duplicated.
   [any but rt]
*/
NODISCARD Status engine_use_plugins(Engine* engine, int fd, bool has_new_code, Error* error);

// ---- edits [control] ----

/// Called once per edit, when its rack is active or it is refused. [builder, supervisor]
typedef void (*EngineDone)(void* context, const EngineReply* reply);

/**
   Play `rack` from the first block that starts at or after `at_frame` (0: as soon as the plan is
   ready).  Values of parameters that are not structural ramp from that block on.  Copies the rack.

   @return STATUS_LIMIT while another edit is in flight, which means that its `done` was not called
   yet; STATUS_NO_MEM.  `done` (may be NULL) receives all other errors.
*/
NODISCARD Status engine_edit(Engine* engine, const Rack* rack, uint64_t at_frame, EngineDone done,
                             void* context);

/// A later command waits that makes the rack smaller: refuse the edit in flight as soon as one
/// worker was lost while it planned the edit.  Does nothing without an edit in flight, or if the
/// worker is in this process. [control]
void engine_overtake(Engine* engine);

/// As engine_edit(), but wait for the reply. [main, control]
NODISCARD Status engine_edit_wait(Engine* engine, const Rack* rack, Error* error);

/// Called once per engine_save(); `saved` is borrowed for the call. [builder, supervisor]
typedef void (*EngineSaveDone)(void* context, const EngineSaved* saved);

/**
   Save what a node of the active rack has beside its parameters (FxInfo::save), while it plays.  If
   the next edit sets the node's parameter FxInfo::state_param to the file with this state
   (fx_state_name()), the node is not made again.

   @return STATUS_LIMIT while another save is in flight, STATUS_WORKER if no worker runs the rack.
   `done` receives all other errors, also that the worker was lost or hung meanwhile.
*/
NODISCARD Status engine_save(Engine* engine, RackUid uid, EngineSaveDone done, void* context,
                             Error* error);

/// Set n parameters that are not structural; those with the same frame in the same block.  Values
/// for unknown nodes are ignored and counted.  STATUS_LIMIT, without any change, if too many
/// messages wait. [control]
NODISCARD Status engine_set(Engine* engine, const ParamMessage* messages, uint32_t n);

/// Report that a value which the worker of a ring (EngineReports::ring) has set by MIDI is in the
/// document: later edits override it, and workers that are started later have it.  If another
/// worker plays now, or `ring` is 0, the worker gets the value.  STATUS_LIMIT if too many messages
/// wait: then an edit may leave the value as it is, and a new worker does not have it. [control]
NODISCARD Status engine_set_midi(Engine* engine, const ParamMessage* value, uint64_t ring);

/// Number of parameters and notes that the worker has not received yet; 0 without a worker or
/// audio. [control]
uint32_t engine_n_waiting(Engine* engine);

/// Begin and end n notes, with the same frame: messages of these kinds only.  Messages for nodes
/// that are not there, or take no notes, are ignored and counted.  STATUS_LIMIT, without any
/// change, if too many messages wait; STATUS_AUDIO_IO while no audio runs, STATUS_WORKER while no
/// worker does: then no note sounds. [control]
NODISCARD Status engine_play(Engine* engine, const ParamMessage* messages, uint32_t n);

// ---- MIDI [control] ----

/// True if the audio driver passes MIDI.
bool engine_has_midi(Engine* engine);

/// Take at most `max` MIDI events that have come, oldest first, and the ends of workers among them
/// (QueuedKind).  After QUEUED_END, engine_reports() has all reports of that worker.
uint32_t engine_take_midi(Engine* engine, QueuedMidi* came, uint32_t max);

/// Call it when all events of engine_take_midi() have set their parameters and the values are sent:
/// the worker gets the next events of controllers, unless more have come.  Until this call, from
/// the start of the audio, QUEUED_END or QUEUED_MISSED on, they come as QUEUED_MISSED.  `n_lost`:
/// how many of the events a worker got and had not run when it ended; adds them to midi_lost.
void engine_return_midi(Engine* engine, uint64_t n_lost);

/// Send n MIDI events with the next period: all or none.  Returns false if the driver has no MIDI,
/// or too many events wait.
bool engine_send_midi(Engine* engine, const MidiEvent* events, uint32_t n);

/// A copy of the active rack, which the caller frees: the document to continue with when
/// EngineStatus::quarantined has grown.  NULL if out of memory, and if the worker is in this
/// process, where no rack is quarantined. [any but rt]
Rack* engine_rack(Engine* engine);

// ---- offline [main] ----

/// STATUS_DEVICE_LOST with its text if a device has failed.  The output since then is invalid.
/// STATUS_OK if the worker is another process: WorkerStatus reports its device. [any]
Status engine_failure(Engine* engine, Error* error);

/// End a pass over the signal.  Sets `again`, and resets the units, if an effect requests another
/// pass over the whole signal.  Fails if an effect could not measure the pass.
NODISCARD Status engine_finish_pass(Engine* engine, bool* again, Error* error);

/// Apply a message that a worker has applied before: as one with this number in the order of
/// arrival, at its frame, which is in the next block.  STATUS_LIMIT if too many wait.
NODISCARD Status engine_replay(Engine* engine, const ParamMessage* message, uint64_t number,
                               Error* error);

/// How a worker has planned a document.
typedef struct EngineReplay {
  uint64_t stamp;     ///< The document overrides the values of messages up to this number
  uint64_t planned;   ///< Frame of the next block when the worker planned
  bool is_first_plan; ///< There was no plan to continue from: all nodes are new
} EngineReplay;

/// Play a document from the next block on, as a worker did.  For depth 0.
NODISCARD Status engine_replay_edit(Engine* engine, const Rack* rack, const EngineReplay* how,
                                    Error* error);

// ---- queries [any but rt] ----

/// Frame time of the next block to be submitted, and the frame time at the monotonic time `ns`.
uint64_t engine_frame_now(Engine* engine);
uint64_t engine_frame_at(Engine* engine, uint64_t monotonic_ns);

/// Latency in frames, of the rack, and of the engine: depth * block + rack.
uint32_t engine_rack_latency(Engine* engine);
uint32_t engine_latency(Engine* engine);

/// Longest tail of the rack in frames, UINT64_MAX if unbounded.
uint64_t engine_tail(Engine* engine);

/// Number of output channels of the rack.
uint32_t engine_n_out(Engine* engine);

typedef struct EngineStatus {
  bool armed;
  double rate_hz;
  uint32_t block_frames, depth, n_in, n_out;
  uint32_t latency_frames, rack_latency_frames;
  uint32_t n_nodes, n_units, n_ranks;
  uint64_t edits_refused;
  WorkerState worker;
  int32_t worker_pid;         ///< Process id of the worker; 0: none
  uint64_t worker_restarts;   ///< Number of processes that replaced another one
  uint64_t worker_renewals;   ///< Of these, because plugins have new code: no process was lost
  uint64_t quarantined;       ///< Number of racks reverted because they crashed two processes in a
                              ///< row
  uint64_t nodes_quarantined; ///< Number of nodes that went into quarantine for the same reason, or
                              ///< because a new worker could not make them: their input plays
                              ///< instead, and the rack stays
  char worker_note[320];      ///< "" or why the last worker was lost
  char quarantine_note[320];  ///< "" or why a rack or a node last went into quarantine
  double load_p50, load_p99,
      load_max; ///< Time of a block divided by its period, in the last 10 to 20 s (load.h)
  PeriodCounts counts;
  WorkerCounts worker_counts;
  char backend[16];                ///< The backends of the nodes: "cpu", "cuda", "cpu+opencl" …
  uint32_t n_gpu_nodes;            ///< Nodes on the device
  uint32_t n_bypassed;             ///< Nodes that repeatedly output NaN or Inf
  char device[256];                ///< The open GPU: name, driver, memory; "" when none is open
  double cost_us[PLACEMENT_SIDES]; ///< Time of a block, predicted when AUTO chose; 0: no prediction
  char backend_note[640];          ///< "" or the result of the choice of backends
  char realtime_note[512];         ///< "" or the missing real-time privileges
  char late_note[512];             ///< "" or problems with the fallbacks
} EngineStatus;

void engine_status(Engine* engine, EngineStatus* status);

/// Counters of a port of the rack since the connection to the audio server, or its last change of
/// format; zeros for a port that does not exist. [any but rt]
PeriodPort engine_port(Engine* engine, bool is_output, uint32_t channel);

/// Take the levels of the rack's ports over a span of whole periods.  Successive spans have no gap
/// between them.  The next span begins with the first period after the call; while nobody calls, a
/// span goes on.  So levels from now on are those of the spans that begin at engine_frame_now() or
/// later.  Returns false, and `levels` is undefined, if no span has ended since the last call, or
/// no audio runs. [any but rt, one reader]
bool engine_levels(Engine* engine, PortLevels* levels);

/// Take the newest samples of some ports, interleaved, at most max_frames: see listener_take().
/// *rate_hz receives their rate.  To be called again and again, at least twice a second, with the
/// same ports; with n 0 to end.  `listener`: 0 to LISTEN_MAX - 1, or LISTEN_TAKE, which keeps its
/// samples when the audio ends, until they are taken.  [any but rt, one caller for each listener]
uint32_t engine_listen(Engine* engine, uint32_t listener, const PortRange* ports, float* samples,
                       uint32_t max_frames, double* rate_hz, uint64_t* n_lost);

/// Frame time of the first frame of these ports that engine_listen() has returned. [as that]
uint64_t engine_listen_start(Engine* engine, uint32_t listener);

/// The spans in which the outputs played their fallbacks, since `*from`, also before audio ended:
/// see dry_spans_read(). [any but rt]
uint32_t engine_dry_spans(Engine* engine, uint64_t* from, DrySpan to[DRY_SPANS]);

/**
   Watch a node of the active rack with a tap, 0 to RING_TAPS - 1, from the next block on, and take
   what was measured since the last call that returned true.  To be called again and again, also
   with RACK_UID_NONE, which ends the watch, because a new worker has no taps.  Each tap watches
   another node.

   @return False, and `level` is undefined, if there is nothing: no block was played since, no node
   has this uid, or it runs on a GPU.
   [any but rt, one caller]
*/
bool engine_tap(Engine* engine, uint32_t tap, RackUid uid, NodeTap* level);

/// What the worker has applied since the last call.
typedef struct EngineReports {
  uint32_t n;      ///< Reports that were written
  uint64_t n_lost; ///< Reports lost, or invalid
  uint64_t ring;   ///< A number that changes when another worker plays, or the audio restarts.
                   ///< Before the reports of the new worker come the unread ones of the previous
                   ///< worker, in calls of their own, at most 512; the others count as lost.
                   ///< 0: no audio runs, or no worker
} EngineReports;

/// Take the oldest reports of the values, notes and plans that the worker has applied, at most
/// `max`, in their order; see ring.h.  Only `kind` is checked: the worker may write anything.
/// Invalid reports count towards `max`.
/// [any but rt, one caller]
EngineReports engine_reports(Engine* engine, RingReport* reports, uint32_t max);

/// Write the placements of the nodes of the active rack, in its order, at most `max`.  Returns the
/// number of nodes.
uint32_t engine_placements(Engine* engine, EnginePlacement* placements, uint32_t max);

void engine_reset_load(Engine* engine);

/// Fade the output out (about 50 ms), or back in; engine_is_silent() is true once it is silent.
/// The state survives engine_arm(): an engine that was faded out begins silent. [main]
void engine_fade(Engine* engine, bool to_silence);
bool engine_is_silent(Engine* engine);

/// The result of engine_predict(), which runs at most `n_blocks` of quiet noise through a plan of
/// `rack` that never plays, and measures it (for `check`).  If the blocks take long, it ends when
/// their median is precise to 5 %. [main]
typedef struct EnginePrediction {
  EngineStatus status;         ///< Before the blocks
  WorkerFacts facts;           ///< Of the plan, with the fallbacks that a live run would choose
  uint64_t memory_limit_bytes; ///< EngineConfig::memory_bytes, or its default
  uint32_t n_blocks;           ///< Measured
  double block_ns_p50, block_ns_p99;
  double stalled_share; ///< Part of the time that blocks took which needed more than 0.5 ms and ten
                        ///< times the median
  EngineBackend gpu;    ///< API of the open device; ENGINE_BACKEND_CPU if none was open
} EnginePrediction;

NODISCARD Status engine_predict(const EngineConfig* config, const Rack* rack, double rate_hz,
                                uint32_t block_frames, uint32_t n_blocks,
                                EnginePrediction* prediction, Error* error);

/// Choose the fallback of each output of the rack of an armed offline engine as a live run would,
/// from the responses of a copy of the rack. [main]
NODISCARD Status engine_measure_fallbacks(Engine* engine, const Rack* rack, Fallbacks* fallbacks,
                                          Error* error);

/// All warnings of a rack, one per line: rack_warnings(), then fallback_warnings().  The caller
/// frees them; NULL when out of memory. [any, not rt]
char* engine_warnings(const Rack* rack, double rate_hz, const Fallbacks* fallbacks);

#endif
