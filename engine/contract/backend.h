// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What a DSP backend is: the seam between the planner and the code that runs a stage.

   A stage is a run of consecutive steps of a plan that one backend executes.  The planner describes
   it by data; the backend turns the description into whatever it runs: the CPU walks the steps
   (dsp_cpu/stage_cpu.c), a GPU has one submission recorded for each of two slots
   (dsp_gpu/stage_gpu.c).

   A backend with memory of its own keeps there what outlives a plan: the units of its nodes and the
   delay lines of the connections that lead to them.

   One row is one channel of one block of audio.  Rows are numbered; StageSpec::rows says where each
   lies now: the rows of the rack's input and output move with the ring's slot, the others stay.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_BACKEND_H
#define WARPRACK_ENGINE_CONTRACT_BACKEND_H

#include "effect.h"
#include "ramp.h"

#include "engine/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct DeviceMemory DeviceMemory; ///< Of a backend: a node's units, a connection's lines

/// The two sides between which the nodes that leave the choice move (placement.h).
typedef enum PlacementSide { PLACEMENT_CPU, PLACEMENT_GPU, PLACEMENT_SIDES } PlacementSide;

/// The moving part of one connection, shared by its channels.  Belongs to the worker while audio
/// runs.
typedef struct MixLink {
  Ramp gain; ///< For `hold` more frames; then `next` takes its place
  Ramp next; ///< Made so that it goes on from where `gain` will be; the same when hold is 0
  uint32_t hold;
  uint32_t delay;     ///< Frames; latency compensation
  uint32_t line_mask; ///< Frames of each delay line (a power of two) - 1
  uint32_t position;  ///< Where the next frame is written in the delay lines
  float* lines; ///< [channels][line_mask + 1]; NULL without delay, and where they are the backend's
  DeviceMemory* device; ///< The delay lines, where they are the backend's; else NULL
} MixLink;

/// One addend of a row: a source row, through the connection's delay, times its gain.
typedef struct MixTerm {
  uint32_t from; ///< Row
  MixLink* link;
  uint32_t channel; ///< Of the connection: which of its delay lines
} MixTerm;

/// Row `to` is the sum of its terms; silence when it has none.
typedef struct MixRow {
  uint32_t to;
  uint32_t n_terms;
  const MixTerm* terms;
} MixRow;

/// Whether what a node makes is finite.  Outlives a plan.
typedef struct NodeHealth {
  uint32_t n_bad;  ///< [player] Blocks that were not, up to the limit at which it is bypassed
  uint32_t n_good; ///< [player] Blocks since then that were
  _Atomic bool is_bypassed; ///< Written by the worker: its input is heard in its place
} NodeHealth;

/// One unit of a batch and the rows that it reads and writes.
typedef struct BatchUnit {
  void* node;
  void* state;               ///< NULL where units are in memory of the backend
  DeviceMemory* device;      ///< There; else NULL
  const uint32_t* n_sets;    ///< Counts the changes of the node's parameters [player]
  uint32_t node_index;       ///< Of the plan's nodes; the units of a node are neighbours
  uint32_t channel;          ///< For unit_init
  _Atomic uint32_t* node_ns; ///< Measured time of the node's block on one core; outlives the plan
  NodeHealth* health;        ///< Of the node
  uint32_t n_in, n_out;
  const uint32_t* in_rows;
  const uint32_t* out_rows;
} BatchUnit;

typedef enum StepKind {
  STEP_MIX,  ///< Sum connections into rows
  STEP_BATCH ///< Run units of one effect
} StepKind;

/// One step.  Batches between two mixes do not depend on each other.
typedef struct StageStep {
  const struct Backend* backend;
  StepKind kind;
  const MixRow* rows;     ///< MIX [n_rows]
  uint32_t n_rows;        ///< MIX
  MixLink* const* links;  ///< MIX [n_links]: to be advanced once all rows are done
  uint32_t n_links;       ///< MIX
  const FxInfo* fx;       ///< BATCH
  const BatchUnit* units; ///< BATCH [n_units]
  uint32_t n_units;       ///< BATCH
} StageStep;

typedef struct StageSpec {
  uint32_t max_block_frames;
  const StageStep* steps; ///< Borrowed for the stage's life, with all that they point to
  uint32_t n_steps;
  float* const* rows; ///< [n_rows] of max_block_frames, 64-byte aligned; read again at every run
  uint32_t n_rows;
  uint32_t n_in, n_out; ///< The rack's rows come first: n_in of its input, then n_out of its output
  const uint32_t* out_rows; ///< [n_out_rows] rows that are read behind the stage
  uint32_t n_out_rows;
  uint32_t n_nodes; ///< Bound of BatchUnit::node_index
} StageSpec;

/// A parameter change inside a block.
typedef struct StageEvent {
  uint32_t offset; ///< Frame within the block
  uint32_t node_index;
  uint32_t param;
  double value;
} StageEvent;

typedef struct Stage Stage;
typedef struct Pool Pool;

/// A node for which a backend is to find memory.
typedef struct DeviceNode {
  const FxInfo* fx; ///< With a kernel
  void* node;       ///< Created for it
  uint32_t n_units;
} DeviceNode;

/// The GPU APIs, best first; one row for each: its word in enumerations, and its name.
/// dsp_gpu/gpu.h says which of them a build has.
#define BACKEND_GPU_APIS(ROW)                                                                      \
  ROW(CUDA, cuda)                                                                                  \
  ROW(OPENCL, opencl)

typedef struct Backend Backend;

struct Backend {
  const char* name; ///< "cpu", or the name of a GPU API

  // Memory of the backend's own; all NULL where nodes and lines live in the host's.

  /// Zeroed units, and the node's constants.  STATUS_NO_MEM when the device is full. [builder]
  Status (*node_new)(const Backend* self, const DeviceNode* node, DeviceMemory** memory,
                     Error* error);
  /// n_lines delay lines of n_frames (a power of two), silent. [builder]
  Status (*lines_new)(const Backend* self, uint32_t n_lines, uint32_t n_frames,
                      DeviceMemory** memory, Error* error);
  /// Accepts NULL. [builder]
  void (*memory_free)(DeviceMemory* memory);
  /// Bring units and lines back to their start. [builder, while no worker runs]
  void (*memory_reset)(DeviceMemory* memory);

  /// Let the device reach the ring's region, page aligned, in which the rack's rows will lie in all
  /// stages that are made from now on.  May be NULL. [main]
  Status (*attach)(Backend* self, void* region, size_t n_bytes, Error* error);
  /// After those stages have been freed. [main]
  void (*detach)(Backend* self);

  /// Memory that stage_new() will take of this process; nodes and states need not be there yet.
  /// NULL: next to nothing. [builder]
  size_t (*stage_bytes)(const Backend* self, const StageSpec* spec);
  /// Build a stage; everything that can fail or take time happens here.  `pool` may be NULL.
  /// [builder]
  Status (*stage_new)(const Backend* self, const StageSpec* spec, Pool* pool, Stage** stage,
                      Error* error);
  /// After the last block was collected.  Waits no longer than half a second for a device that has
  /// not finished in time. [builder]
  void (*stage_free)(Stage* stage);
  /**
     Begin one block: reads its rows, and the rows as they lie now stay valid until it is collected.
     At most two blocks of one stage are begun and not collected.

     @param events Sorted by offset; nodes of other stages are passed over.
     [player]
  */
  void (*stage_submit)(Stage* stage, uint32_t n_frames, const StageEvent* events,
                       uint32_t n_events);
  /// True when stage_collect() would not wait. [player]
  bool (*stage_is_done)(Stage* stage);
  /**
     Wait for the oldest block that was begun; its rows are written.

     @param[out] n_reset Units whose output was not finite; that output was silenced and the unit
     initialised.
     @return STATUS_OK, or why there is no output: STATUS_DEVICE_LOST once a device has failed or
     has not finished in time.  The stage is of no use then.
     [player]
  */
  Status (*stage_collect)(Stage* stage, uint32_t* n_reset);
  /// The words for what stage_collect() returned. [any, after it]
  void (*stage_error)(const Stage* stage, Error* error);
};

extern const Backend backend_cpu;

// ---- backends with a device, implemented by dsp_gpu/ ----

/// Which device, and how it is used.
typedef struct DeviceChoice {
  const char* api;      ///< "cuda", "opencl"; NULL: the first that has a GPU (not a processor)
  uint32_t index;       ///< As `warprack list devices` counts them; UINT32_MAX: the best
  uint64_t deadline_ns; ///< A block that takes longer has failed
  bool keep_awake;      ///< Keep a GPU's clocks up while it plays
} DeviceChoice;

/// Open a device.  STATUS_NO_BACKEND in the driver's own words when it is not there.  Without an
/// API drivers are not even opened where Linux has no GPU. [main]
NODISCARD Status device_backend_new(const DeviceChoice* choice, Backend** backend, Error* error);
/**
   Close it, after all nodes, lines and stages have been freed.  Accepts NULL. [main, builder]

   @return False when a block never came back.  Then no driver may be asked to free what that block
   uses, because it would wait for ever: context and memory are left until the process ends.
*/
bool device_backend_free(Backend* backend);
/// True once that has happened.  Then threads of the driver still run, and the process must not
/// take apart what they use: it ends by _exit(). [main, at its end]
bool device_backend_was_left(void);
/// Blocks will come in real time from now on, or no longer. [main or builder]
void device_backend_play(Backend* backend, bool plays);
/// Change DeviceChoice::deadline_ns. [main or builder, while no worker runs]
void device_backend_set_deadline(Backend* backend, uint64_t deadline_ns);
/// False for a processor that plays the device. [any]
bool device_backend_is_gpu(const Backend* backend);
/// One line on the device: name, driver, memory. [any]
const char* device_backend_summary(const Backend* backend);

/// What was measured, kept on disk from start to start, by a name: for this device, driver, build
/// and processor only.  False when there is nothing, of another size or damaged. [main]
bool device_recall(const Backend* backend, const char* name, void* bytes, size_t n_bytes);
/// False when it could not be written: then the next start measures again. [main]
bool device_remember(const Backend* backend, const char* name, const void* bytes, size_t n_bytes);

#endif
