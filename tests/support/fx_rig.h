// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Runs one node of one effect without the engine, but in the same way: as many units as the
   effect's shape needs, aligned states, separate buffers for input and output, blocks of any
   length.
*/
#ifndef WARPRACK_TESTS_FX_RIG_H
#define WARPRACK_TESTS_FX_RIG_H

#include "dry_rig.h"
#include "suite.h"

#include "engine/contract/effect.h"

/// One value for a new node.  A TEXT or CHOICE parameter takes `text`, a FILE parameter `text` and
/// `file`, any other `number`.
typedef struct RigArg {
  const char* id;
  double number;
  const char* text;
  const FxFile* file;
} RigArg;

/// SET("gain", -6.0): a RigArg with a number.
#define SET(name, value)                                                                           \
  {                                                                                                \
    .id = (name), .number = (value)                                                                \
  }

typedef struct FxRig {
  const FxInfo* fx;
  FxShape shape;
  void* node;
  uint32_t n_in, n_out, n_units, max_block;
  uint32_t ramp_frames;     ///< Of rig_set()
  void** states;            ///< [n_units]
  InputLine input_line;     ///< The inputs
  const float* const* side; ///< [n_side] for the next rig_run(): the channels of FxUnit::side, unit
                            ///< by unit
  uint32_t n_side;          ///< 0: no side input is connected
} FxRig;

/// How rig_run() splits the signal into calls of `run`.
typedef enum RigSplit {
  RIG_BLOCKS, ///< Blocks of max_block, the last one shorter
  RIG_RANDOM, ///< Random lengths 1..max_block
  RIG_SINGLE  ///< One frame at a time
} RigSplit;

/// Make a node.  If the effect fails, returns its status with the reason in `error`, and leaves the
/// rig empty.
Status rig_try(FxRig* rig, const char* effect, double rate_hz, uint32_t n_in, uint32_t max_block,
               bool offline, const RigArg* args, uint32_t n_args, Error* error);

/// rig_try() with an effect that is not in the table.
Status rig_try_fx(FxRig* rig, const FxInfo* fx, double rate_hz, uint32_t n_in, uint32_t max_block,
                  bool offline, const RigArg* args, uint32_t n_args, Error* error);

/// rig_try() without `offline`; an error fails the test.
#define rig_new(rig, effect, rate_hz, n_in, max_block, ...)                                        \
  do {                                                                                             \
    const RigArg rig_args_[] = { __VA_ARGS__ };                                                    \
    OK(rig_try(rig, effect, rate_hz, n_in, max_block, false, rig_args_,                            \
               (uint32_t)ARRAY_LEN(rig_args_), &error));                                           \
  } while (0)

void rig_free(FxRig* rig);

/// Set a parameter by id, as the engine would between two runs.
void rig_set(FxRig* rig, const char* id, double value);

/// Process planar in[n_in][n_frames] to out[n_out][n_frames].
void rig_run(FxRig* rig, const float* const* in, float* const* out, size_t n_frames, RigSplit split,
             uint64_t seed);

/// Initialise all units again, and forget the inputs.
void rig_reset(FxRig* rig);

#endif
