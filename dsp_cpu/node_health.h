// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Bypass and renewal of nodes whose output is not finite (engine/plan/README.md has the rules).

   A unit is reset at once by FxInfo::unit_init.  If the effect has FxInfo::renew, the node stops
   instead: the player does not touch it until the builder has renewed it.
*/
#ifndef WARPRACK_DSP_CPU_NODE_HEALTH_H
#define WARPRACK_DSP_CPU_NODE_HEALTH_H

#include "engine/contract/backend.h"

/// True if a node of an effect with FxInfo::renew runs in this block.  Sets *is_renewed if it runs
/// for the first time since its renewal: then it needs node_health_catch_up(). [player]
REALTIME bool node_health_may_run(NodeHealth* health, bool* is_renewed);

/// Set all values of a node; `unit` is any of its units.  The values that change in the block, or
/// fade, are left to that. [player]
REALTIME void
node_health_catch_up(const FxInfo* fx, const BatchUnit* unit, const StageChanges* changes);

/// Record the largest magnitudes of the inputs and outputs of a node with FxInfo::renew in a good
/// block.  The gain of its input after a NaN is the ratio of the recent ones, at most 1; it is 0
/// while no input is known. [player]
REALTIME void
node_health_follow_level(NodeHealth* health, float peak_in, float peak_out, uint32_t n_frames);

/// True if nothing of node_health_follow() is under way: the last blocks were finite, and the input
/// does not play. [player]
static inline bool
node_health_is_good(const NodeHealth* const health)
{
  return !health->n_bad && !health->n_cold_frames && !health->plays_input;
}

/// Record one more block of a node that ran: whether its output was finite, and whether its effect
/// has FxInfo::renew.  Returns true while the node's input replaces its output: that of a renewed
/// node has no input again until its latency has passed. [player]
REALTIME bool node_health_follow(NodeHealth* health, bool finite, bool is_renewed,
                                 uint32_t latency_frames, uint32_t n_frames);

#endif
