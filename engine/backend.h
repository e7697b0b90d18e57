// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What a DSP backend is: the seam between the planner and the code that runs a stage.

   A stage is a run of consecutive steps of a plan that one backend executes.  The planner describes
   it by data; the backend turns the description into whatever it runs (the CPU walks the steps; a
   GPU records one submission per ring slot).  dsp_cpu/stage_cpu.c is the first implementation.

   Channels of audio are rows of one planar arena, [n_rows][row_frames] floats, each row 64-byte
   aligned (row_frames >= block, padded).  Row numbers are the plan's buffers.
*/
#ifndef WARPRACK_ENGINE_BACKEND_H
#define WARPRACK_ENGINE_BACKEND_H

#include "effect.h"
#include "status.h"

#include <stdbool.h>
#include <stdint.h>

/// A linear ramp of one connection's gain, owned by the connection's state and advanced by the mix
/// step.
typedef struct MixGain {
  float current, target, step;
  uint32_t frames_left; ///< 0: current == target
} MixGain;

/// One addend of a mix: row `from`, delayed by `delay` frames through its own line, times a ramped
/// gain.
typedef struct MixTerm {
  uint32_t from; ///< Row in the arena
  MixGain* gain; ///< Shared by the channels of a connection: read by each, advanced once per step
                 ///< by `leads`
  bool leads;    ///< This term advances `gain`
  float* line;   ///< Delay line of `line_frames` (power of two) samples, or NULL when delay is 0
  uint32_t line_mask;
  uint32_t delay;     ///< Frames
  uint32_t* position; ///< Write position in `line`
} MixTerm;

/// row `to` = sum of its terms.
typedef struct MixRow {
  uint32_t to;
  uint32_t n_terms;
  const MixTerm* terms;
} MixRow;

typedef enum StepKind { STEP_MIX, STEP_BATCH } StepKind;

/// One step of a stage.  Steps of the same `level` do not depend on each other.
typedef struct StageStep {
  StepKind kind;
  uint32_t level;
  // STEP_MIX
  const MixRow* rows;
  uint32_t n_rows;
  // STEP_BATCH
  const FxInfo* fx;
  FxUnit* units; ///< [n_units] `in` and `out` point into unit_rows' pointer tables
  uint32_t n_units;
  const uint32_t* unit_node;    ///< [n_units] index of the plan's node, for fault reports
  const uint32_t* unit_channel; ///< [n_units] channel of the node, 0 when coupled
  const uint32_t* unit_n_out;   ///< [n_units] number of output rows
} StageStep;

typedef struct StageSpec {
  double rate_hz;
  uint32_t max_block_frames;
  StageStep* steps; ///< In order; borrowed for the stage's life
  uint32_t n_steps;
  float* arena; ///< [n_rows][row_frames]
  uint32_t n_rows;
  uint32_t row_frames;
} StageSpec;

typedef struct Stage Stage;
typedef struct Pool Pool;

typedef struct Backend {
  const char* name; ///< "cpu", "cuda", "opencl"
  /// Build a stage; everything that can fail or take time happens here. [builder]
  Status (*stage_new)(const StageSpec* spec, Pool* pool, Stage** stage, Error* error);
  void (*stage_free)(Stage* stage);
  /**
     Process frames [first, first + n_frames) of the arena's rows.  Parameter changes have been
     applied by the caller, who splits the block at their frames.  Returns the number of units whose
     output was not finite: those outputs are zeroed and the units reset. [worker]
  */
  uint32_t (*stage_run)(Stage* stage, uint32_t first_frame, uint32_t n_frames);
} Backend;

extern const Backend backend_cpu;

#endif
