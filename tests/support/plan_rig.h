// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Plays racks of test effects on the CPU, one block at a time: a RackRig with rows of its own, and
   what tests ask of grouped_fx.
*/
#ifndef WARPRACK_TESTS_PLAN_RIG_H
#define WARPRACK_TESTS_PLAN_RIG_H

#include "grouped_fx.h"
#include "rack_rig.h"

#define PLAN_RIG_BLOCK 64U
#define PLAN_RIG_ROWS  16U

typedef struct PlanRig {
  RackRig base;
  float in[PLAN_RIG_ROWS][PLAN_RIG_BLOCK], out[PLAN_RIG_ROWS][PLAN_RIG_BLOCK];
} PlanRig;

/// Make a rig without a rack.  Sample i of input channel c is c + 1 + slope * i / PLAN_RIG_BLOCK.
void plan_rig_init(PlanRig* rig, uint32_t n_in, float slope);

void plan_rig_clear(PlanRig* rig); ///< Frees the pool, too

/// The active plan.
const Plan* plan_rig_plan(const PlanRig* rig);

/// Play one block.
void plan_rig_play(PlanRig* rig);

// ---- nodes of grouped_fx ----

/// A rack of two nodes with all inputs each, for 16 outputs.
#define PLAN_RIG_TWO_NODES                                                                         \
  "add x1 gain\nadd x2 gain\nconnect in x1\nconnect in x2\n"                                       \
  "connect x1 out:1-8\nconnect x2 out:9-16"

/// Make a rig of 8 inputs, slope 1, and a rack whose nodes "x…" have this effect and size of units.
void plan_rig_start(PlanRig* rig, const char* text, const FxInfo* fx, uint32_t unit_in,
                    uint32_t unit_out);

/// Change a parameter of a node at a frame of the next block.
void
plan_rig_send(const PlanRig* rig, uint32_t index, uint32_t param, double value, uint32_t offset);

/// Change a parameter of the first node at the next block.
void plan_rig_set(const PlanRig* rig, uint32_t param, double value);

GroupedNode* plan_rig_node(const PlanRig* rig, uint32_t index);

/// Play a block; fails the test unless these were the calls of the effect, see grouped_log().
void plan_rig_expect(PlanRig* rig, const char* calls);

#endif
