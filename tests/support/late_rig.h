// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Plays racks with latency on the CPU: with a test effect whose latency and delay is
   (1 + shape) * LATE frames, and which declares a tail.
*/
#ifndef WARPRACK_TESTS_LATE_RIG_H
#define WARPRACK_TESTS_LATE_RIG_H

#include "rack_rig.h"

#define LATE        72U // frames for each step of `shape`
#define LATE_SHAPES 10U
#define LATE_TAIL   480U // frames
#define LATE_BLOCK  64U  // frames of a block

enum { LATE_POISON, LATE_SHAPE }; ///< Parameters: give NaN; the latency

/// A unit of the effect.
typedef struct LateState {
  uint64_t n_frames; ///< That it has run
  float line[LATE_SHAPES * LATE];
} LateState;

extern const FxInfo late_fx;

/// Parse `text`; nodes whose names begin with "late" become the test effect.  Nodes of the same
/// name have the same uid in every rack.
Rack* late_rack_of(const char* text);

/// Make a rig without a rack.
void late_rig_begin(RackRig* rig);

/// Plan the rack of the rig, after the test has changed it.  Returns the plan.
const Plan* late_rig_plan(RackRig* rig);

/// Change to another rack.  Returns its plan.
const Plan* late_rig_edit(RackRig* rig, const char* text);

void late_rig_play(RackRig* rig, const float* in, float* out, size_t n_frames);

#endif
