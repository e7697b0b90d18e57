// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Bypass and renewal of nodes whose output is not finite (engine/plan/README.md has the rules).

   A unit is reset at once by FxInfo::unit_init.  If the effect has FxInfo::renew, the node stops
   instead: the player does not touch it until the builder has renewed it.
*/
#ifndef WARPRACK_DSP_CPU_NODE_HEALTH_H
#define WARPRACK_DSP_CPU_NODE_HEALTH_H

#include "engine/contract/backend.h"

/// True if a node of an effect with FxInfo::renew runs in this block; `unit` is any of its units.
/// If the node has just been renewed, sets the values that have changed meanwhile. [player]
REALTIME bool node_health_may_run(const FxInfo* fx, const BatchUnit* unit);

/// Record one more block of a node that ran: whether its output was finite, and whether its effect
/// has FxInfo::renew.  Returns true while the node's input replaces its output. [player]
REALTIME bool node_health_follow(NodeHealth* health, bool finite, bool is_renewed);

#endif
