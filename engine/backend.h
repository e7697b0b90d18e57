// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What a DSP backend is: the seam between the planner and the code that runs a stage.

   A stage is a run of consecutive steps of a plan that one backend executes.  The planner describes
   it by data; the backend turns the description into whatever it runs: the CPU walks the steps, a
   GPU records one submission per ring slot.  dsp_cpu/stage_cpu.c is the first implementation.

   One row is one channel of one block of audio.  Rows are numbered; StageSpec::rows says where each
   lies now: the rows of the rack's input and output move with the ring's slot, the others stay.
*/
#ifndef WARPRACK_ENGINE_BACKEND_H
#define WARPRACK_ENGINE_BACKEND_H

#include "effect.h"
#include "ramp.h"
#include "status.h"

#include <stdbool.h>
#include <stdint.h>

/// The moving part of one connection, shared by its channels.  Belongs to the worker while audio
/// runs.
typedef struct MixLink {
  Ramp gain; ///< For `hold` more frames; then `next` takes its place
  Ramp next; ///< Made so that it goes on from where `gain` will be; the same when hold is 0
  uint32_t hold;
  uint32_t delay;     ///< Frames; latency compensation
  uint32_t line_mask; ///< Frames of each delay line (a power of two) - 1
  uint32_t position;  ///< Where the next frame is written in the delay lines
} MixLink;

/// One addend of a row: a source row, through the connection's delay, times its gain.
typedef struct MixTerm {
  uint32_t from; ///< Row
  MixLink* link;
  float* line; ///< Delay line of this channel, NULL when link->delay is 0
} MixTerm;

/// Row `to` is the sum of its terms; silence when it has none.
typedef struct MixRow {
  uint32_t to;
  uint32_t n_terms;
  const MixTerm* terms;
} MixRow;

/// One unit of a batch and the rows that it reads and writes.
typedef struct BatchUnit {
  void* node;
  void* state;
  uint32_t node_index;       ///< Of the plan's nodes; the units of a node are neighbours
  uint32_t channel;          ///< For unit_init
  _Atomic uint32_t* node_ns; ///< Measured time of the node's block on one core; outlives the plan
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
  float* const*
      rows; ///< [n_rows] each of max_block_frames, 64-byte aligned; read anew at every run
  uint32_t n_rows;
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

typedef struct Backend {
  const char* name; ///< "cpu", "cuda", "opencl"
  /// Build a stage; everything that can fail or take time happens here.  `pool` may be NULL.
  /// [builder]
  Status (*stage_new)(const StageSpec* spec, Pool* pool, Stage** stage, Error* error);
  void (*stage_free)(Stage* stage);
  /**
     Process one block.

     @param events Sorted by offset; nodes of other stages are passed over.
     @return Units whose output was not finite; that output was silenced and the unit initialised.
     [worker]
  */
  uint32_t (*stage_run)(Stage* stage, uint32_t n_frames, const StageEvent* events,
                        uint32_t n_events);
} Backend;

extern const Backend backend_cpu;

#endif
