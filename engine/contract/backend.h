// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The interface of a DSP backend, between the planner and the code that runs a stage.

   A stage is a run of consecutive steps of a plan that one backend executes.  The planner
   describes a stage by data; the backend translates the description: the CPU walks the steps
   (dsp_cpu/stage_cpu.c), a GPU has one submission recorded for each of two slots
   (dsp_gpu/stage_gpu.c).

   A backend with its own memory keeps in it the data that outlives a plan: the units of its nodes
   and the delay lines of the connections to them.

   One row is one channel of one block of audio.  Rows are numbered, and StageSpec::rows has their
   current addresses: the rows of the rack's input and output change address with the ring's slot,
   all others keep it.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_BACKEND_H
#define WARPRACK_ENGINE_CONTRACT_BACKEND_H

#include "effect.h"
#include "fade.h"
#include "input_line.h"
#include "level.h"
#include "node_times.h"
#include "ramp.h"

#include "engine/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DeviceMemory DeviceMemory; ///< A node's units, or a connection's delay lines, in a
                                          ///< backend's memory

/// The two sides between which the engine moves nodes without a fixed backend (placement.h).
typedef enum PlacementSide { PLACEMENT_CPU, PLACEMENT_GPU, PLACEMENT_SIDES } PlacementSide;

/// The changing part of one connection, shared by its channels.  Belongs to the player while audio
/// runs.
typedef struct MixLink {
  Ramp gain; ///< Current ramp; `next` replaces it after `hold_frames` more frames
  Ramp next; ///< Continues from the value of `gain` at that frame; equal to `gain` without a hold
  uint32_t hold_frames;
  uint32_t delay_frames; ///< Latency compensation
  uint32_t line_mask;    ///< Frames of each delay line (a power of two) - 1
  uint32_t position;     ///< Place of the next frame in the delay lines
  float* lines; ///< [channels][line_mask + 1]; NULL without delay, or if the backend has the lines
  DeviceMemory* device; ///< The delay lines in the backend's memory, else NULL
} MixLink;

/// One addend of a row: a source row, through the connection's delay, times its gain.
typedef struct MixTerm {
  uint32_t from; ///< Row
  MixLink* link;
  uint32_t channel; ///< Channel of the connection: index of the delay line
} MixTerm;

/// Row `to` is the sum of its terms; silence without terms.  It is an output of the rack, or one
/// input of one unit of the same rank, which alone reads it; or an output of a node on a device,
/// behind its switches, which also reads its input.
typedef struct MixRow {
  uint32_t to;
  uint32_t n_terms;
  const MixTerm* terms;
} MixRow;

/// The renewal of a node by FxInfo::renew, after a non-finite output.  The builder leaves the state
/// WANTED, the player all others.
typedef enum NodeRenewal {
  RENEWAL_NONE,      ///< The player runs the node
  RENEWAL_POSTPONED, ///< The player does not run it, and asks for the renewal later
  RENEWAL_WANTED,    ///< The builder renews the node, and the player does not touch it
  RENEWAL_DONE,      ///< The player runs the node from its next block on
  RENEWAL_FAILED     ///< FxInfo::renew has failed: the player postpones the next attempt
} NodeRenewal;

/// Record of a node's non-finite outputs.  Outlives a plan.
typedef struct NodeHealth {
  uint32_t n_bad;           ///< [player] Non-finite blocks, up to the limit for a bypass
  uint32_t n_good;          ///< [player] Finite blocks since then
  uint32_t n_postponed;     ///< [player] Blocks until a postponed renewal
  bool plays_input;         ///< [player] The node's input replaced its output in the last block
  bool needs_care;          ///< [player] Something of this record or a switch of the node is under
                            ///< way: the guard does more than to check the output
  float dry_gain;           ///< [player] Of the input when it does: 1 of built-in effects without
                            ///< latency
  float peak_in, peak_out;  ///< [player] Recent largest magnitudes, of a node whose input plays at
                            ///< once
  uint32_t n_cold_frames;   ///< [player] Frames that the node has to run, after a reset, until its
                            ///< output has the input again: its latency
  _Atomic bool is_bypassed; ///< Written by the player: it does so for long, see PLACE_BYPASSED
  _Atomic NodeRenewal renewal;
} NodeHealth;

/// The switches of a node that the engine executes, see node_switches.h.  Outlives a plan.
typedef struct NodeSwitches {
  atomic_bool is_bypassed, is_muted; ///< Written by the player
  bool is_placed; ///< [builder] Of a node on a device: plans have the mix from now on
  bool is_played; ///< [player] The active plan has the mix; or the node is on the CPU
  MixLink wet;    ///< The weight of the effect's output
  MixLink dry;    ///< The weight of the input; on a device with its delay lines
} NodeSwitches;

#define BACKEND_NO_ROW UINT32_MAX

/// One unit of a batch and the rows that it reads and writes.
typedef struct BatchUnit {
  void* node;
  void* state;                 ///< NULL if the backend's memory has the units
  DeviceMemory* device;        ///< The units in the backend's memory, else NULL
  uint32_t uid;                ///< Of the rack's node, for the flight recorder (recorder.h);
                               ///< RACK_UID_NONE while it is in quarantine
  const uint32_t* n_sets;      ///< Counts the changes of the node's parameters [player]
  const uint32_t* ramp_frames; ///< Of a ramp to a new value that states no time [player]
  uint32_t node_index;         ///< Index among the plan's nodes; the units of a node are neighbours
  uint32_t channel;            ///< Argument of FxInfo::unit_init
  uint32_t chain;              ///< 1 + node_index of the first node of its chain; 0: it is in none
  _Atomic uint32_t* node_ns;   ///< Measured time of the node's block on one core; outlives the plan
  NodeTimes* times;            ///< As node_ns: its last times; not used on a device
  NodeHealth* health;          ///< Health of the node
  InputLine* input_line;       ///< Of the node
  NodeSwitches* switches;      ///< Of the node
  const double* targets;       ///< [n_params] last values set in the node [player]
  uint32_t n_in, n_out, n_side;
  const uint32_t* in_rows;
  const uint32_t* out_rows;
  const uint32_t* side_rows; ///< [n_side] for FxUnit::side: BACKEND_NO_ROW where it is NULL
} BatchUnit;

typedef enum StepKind {
  STEP_MIX,  ///< Sum connections into rows
  STEP_BATCH ///< Run units of one effect
} StepKind;

/**
   One step.  Batches between two mixes do not depend on each other.

   The nodes of a chain (BatchUnit::chain) have one unit per channel and an FxInfo::linear.  Each
   feeds only the next one, which is in a later step, channel by channel.  Their output rows are two
   sets in turn, so nodes two places apart have the same rows.  From the step of the first node
   until the last reader has run, nothing else uses these rows.  So a backend may run several nodes
   of a chain in the step of the first of them, if the last one does not write to the rows that the
   first one reads.
*/
typedef struct StageStep {
  const struct Backend* backend;
  StepKind kind;
  const MixRow* rows;     ///< MIX [n_rows]
  bool is_stored;         ///< MIX: of NodeSwitches, on a device: other mixes read its rows
  uint32_t n_rows;        ///< MIX
  MixLink* const* links;  ///< MIX [n_links]: links to advance once all rows are done
  uint32_t n_links;       ///< MIX
  const FxInfo* fx;       ///< BATCH
  const BatchUnit* units; ///< BATCH [n_units]
  uint32_t n_units;       ///< BATCH
} StageStep;

typedef struct StageSpec {
  uint32_t max_block_frames;
  const StageStep* steps; ///< Borrowed for the stage's life, with all data that they point to
  uint32_t n_steps;
  float* const* rows; ///< [n_rows] of max_block_frames, 64-byte aligned; read again at every run
  uint32_t n_rows;
  uint32_t n_in, n_out; ///< The rack's rows come first: n_in of its input, then n_out of its output
  const uint32_t* out_rows; ///< [n_out_rows] rows that later stages or the output read
  uint32_t n_out_rows;
  uint32_t n_nodes; ///< Upper limit (exclusive) of BatchUnit::node_index
} StageSpec;

/// A parameter change within a block, or an event for an instrument.
typedef struct StageEvent {
  uint32_t offset; ///< Frame within the block
  uint32_t node_index;
  bool is_note;         ///< For FxInfo::event
  FxEvent note;         ///< With is_note
  uint32_t param;       ///< Without
  FxOfEngine of_engine; ///< Without: FxParam::of_engine of that parameter, a switch
  double value;         ///< Without
  uint32_t ramp_frames; ///< Without: of the ramp to the value
} StageEvent;

/// All that changes in a block.
typedef struct StageChanges {
  const StageEvent* events; ///< [n_events], at most FX_MAX_EVENTS, sorted by offset
  uint32_t n_events;
  const Fade* fades; ///< [n_fades], at most FADE_MAX, that run or begin in the block
  uint32_t n_fades;
  uint64_t frame; ///< Frame time of the block's first frame
} StageChanges;

typedef struct Stage Stage;
typedef struct Pool Pool;

/// A node for which a backend allocates memory.
typedef struct DeviceNode {
  const FxInfo* fx; ///< An effect with a kernel
  void* node;       ///< Node created with FxSetup::for_kernel
  uint32_t n_units;
} DeviceNode;

/// The GPU APIs, best first.  A row has the name of the API in enumerations, and its text.
/// dsp_gpu/gpu.h lists the APIs of a build.
#define BACKEND_GPU_APIS(ROW)                                                                      \
  ROW(CUDA, cuda)                                                                                  \
  ROW(OPENCL, opencl)

#define ENGINE_BACKEND_OF_API(word, name) ENGINE_BACKEND_##word,

typedef enum EngineBackend {
  ENGINE_BACKEND_AUTO, ///< The engine's choice
  ENGINE_BACKEND_CPU,
  BACKEND_GPU_APIS(ENGINE_BACKEND_OF_API) ENGINE_N_BACKENDS
} EngineBackend;

/// Names by EngineBackend: "auto", "cpu", "cuda" ...; NULL-terminated.
extern const char* const engine_backend_names[];

// clang-format off

/// Why a node runs where it does: word in enumerations, name for clients.
#define PLACE_REASONS(ROW)                                                                         \
  ROW(NODE,       "node")       /* its own backend= */                                             \
  ROW(KERNEL,     "kernel")     /* the effect runs on the CPU only */                              \
  ROW(SIDE,       "side-input") /* a side input is connected: on the CPU only */                   \
  ROW(OPTION,     "option")     /* --backend */                                                    \
  ROW(COST,       "cost")       /* auto: the quicker side */                                       \
  ROW(MEMORY,     "memory")     /* auto: the GPU has not enough */                                 \
  ROW(FAILED,     "failed")     /* auto: the GPU refused the rack */                               \
  ROW(NO_GPU,     "no-gpu")     /* auto: there is none */                                          \
  ROW(UNMEASURED, "unmeasured") /* auto: costs could not be measured */                            \
  ROW(LOST,       "lost")       /* the GPU has failed */                                           \
  ROW(BYPASSED,   "bypassed")   /* it makes NaN or Inf again and again: its input is played instead */ \
  ROW(QUARANTINE, "quarantine") /* it has crashed two workers: its input is played instead */       \
  ROW(MISSING,    "missing")    /* its plugin is not there: its input is played instead */

// clang-format on

#define PLACE_REASON_OF_ROW(word, name) PLACE_##word,

typedef enum PlaceReason { PLACE_REASONS(PLACE_REASON_OF_ROW) PLACE_N_REASONS } PlaceReason;

extern const char* const place_reason_names[PLACE_N_REASONS];

typedef struct Backend Backend;

struct Backend {
  EngineBackend kind; ///< Never ENGINE_BACKEND_AUTO

  // Memory of the backend; all NULL if nodes and lines are in host memory.

  /// Allocate zeroed units, and copy the node's constants.  STATUS_NO_MEM if the device is full.
  /// [builder]
  Status (*node_new)(const Backend* self, const DeviceNode* node, DeviceMemory** memory,
                     Error* error);
  /// Allocate n_lines silent delay lines of n_frames (a power of two). [builder]
  Status (*lines_new)(const Backend* self, uint32_t n_lines, uint32_t n_frames,
                      DeviceMemory** memory, Error* error);
  /// Accepts NULL. [builder]
  void (*memory_free)(DeviceMemory* memory);
  /// Reset units and lines to silence. [builder, while no player runs]
  void (*memory_reset)(DeviceMemory* memory);

  /// Give the device access to the ring's region, page aligned.  All stages made from now on have
  /// the rack's rows there.  May be NULL. [main]
  Status (*attach)(Backend* self, void* region, size_t n_bytes, Error* error);
  /// End the device's access to the region, after all stages that use it have been freed. [main]
  void (*detach)(Backend* self);

  /// Host memory in bytes that stage_new() will need; nodes and states need not exist yet.  NULL:
  /// the amount is negligible. [builder]
  size_t (*stage_bytes)(const Backend* self, const StageSpec* spec);
  /// Make a stage; all steps that can fail or take time happen here.  `pool` may be NULL.
  /// [builder]
  Status (*stage_new)(const Backend* self, const StageSpec* spec, Pool* pool, Stage** stage,
                      Error* error);
  /// Free a stage after its last block was collected.  Waits at most half a second for a device
  /// that has not finished in time. [builder]
  void (*stage_free)(Stage* stage);
  /**
       Begin one block.  The rows must stay valid at their current addresses until stage_collect()
       has returned for the block.  At most two blocks of a stage are in flight.

       @param changes Those of nodes of other stages are skipped.
       [player]
    */
  void (*stage_submit)(Stage* stage, uint32_t n_frames, const StageChanges* changes);
  /// True if stage_collect() would not wait. [player]
  bool (*stage_is_done)(Stage* stage);
  /**
       Wait for the oldest block in flight, and write its rows.

       @param[out] n_reset Units whose output was not finite: the output was silenced and the unit
       reset.
       @return STATUS_OK, or the reason why there is no output: STATUS_DEVICE_LOST after a device
       has failed or missed its deadline.  Then the stage is unusable. [player]
    */
  Status (*stage_collect)(Stage* stage, uint32_t* n_reset);
  /// Prepare the next block, while none is in flight and the sound of the last one has been
  /// returned; may take some microseconds.  NULL: nothing to do. [player]
  void (*stage_rest)(Stage* stage);
  /// No further block comes, and stage_free() may follow.  NULL: nothing to do. [player]
  void (*stage_leave)(Stage* stage);
  /// Add all blocks from the next one on of a node to `tap`; NULL: no longer.  Returns false if the
  /// node is not in the stage.  NULL: the backend does not measure nodes. [player]
  bool (*stage_tap)(Stage* stage, uint32_t node_index, NodeTap* tap);
  /// The text for the error that stage_collect() returned. [any, after it]
  void (*stage_error)(const Stage* stage, Error* error);
};

extern const Backend backend_cpu;

// ---- backends with a device, implemented by dsp_gpu/ ----

/// Which device to open, and how to use it.
typedef struct DeviceChoice {
  EngineBackend api;    ///< ENGINE_BACKEND_AUTO: the first API that has a GPU (not a processor)
  uint32_t index;       ///< Number in `warprack list devices`; UINT32_MAX: the best device
  uint64_t deadline_ns; ///< A block that takes longer fails
  bool keep_awake;      ///< Keep a GPU's clocks high while audio runs
} DeviceChoice;

/// Open a device.  STATUS_NO_BACKEND with the driver's text if it is not available.  If `choice`
/// names no API and Linux reports no GPU, opens no driver. [main]
NODISCARD Status device_backend_new(const DeviceChoice* choice, Backend** backend, Error* error);
/**
   Close a device, after all nodes, lines and stages have been freed.  Accepts NULL. [main, builder]

   @return False if a block never ended.  A driver that frees memory of such a block waits for ever,
   so context and memory stay until the process ends.
*/
bool device_backend_free(Backend* backend);
/// True once device_backend_free() has returned false.  Then threads of the driver still run and
/// use memory of the process, so the process must end by _exit(). [main, at its end]
bool device_backend_was_left(void);
typedef void BackendProgress(void* context, uint32_t n_done, uint32_t n);
/// Before real-time blocks begin: load the kernels of all effects for blocks of this length, and
/// allocate a reserve of memory, so that edits need not, see device_load.c.  Calls `progress` for
/// each effect.  After an error the device can be used; edits then load what is missing.  Devices
/// that are never armed load nothing. [main or builder]
NODISCARD Status device_backend_load(Backend* backend, double rate_hz, uint32_t block_frames,
                                     BackendProgress* progress, void* context, Error* error);
/// Real-time blocks begin, or have ended. [main or builder]
void device_backend_play(Backend* backend, bool plays);
/// Change DeviceChoice::deadline_ns. [main or builder, while no player runs]
void device_backend_set_deadline(Backend* backend, uint64_t deadline_ns);
/// False if the device is a CPU. [any]
bool device_backend_is_gpu(const Backend* backend);
/// One line about the device: name, driver, memory. [any]
const char* device_backend_summary(const Backend* backend);

/// Load the measurement that is stored on disk under `name` for this device, driver, build and
/// processor.  False if none is stored, or if its size or checksum is wrong. [main]
bool device_recall(const Backend* backend, const char* name, void* bytes, size_t n_bytes);
/// Store a measurement.  False if it could not be written: then the next start measures again.
/// [main]
bool device_remember(const Backend* backend, const char* name, const void* bytes, size_t n_bytes);

#endif
