// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Second half of planning: rows for every channel of every node, and the steps that fill them.
   [builder]
*/
#ifndef WARPRACK_ENGINE_PLAN_PLAN_STEPS_H
#define WARPRACK_ENGINE_PLAN_PLAN_STEPS_H

#include "plan.h"

#include "engine/base/edges.h"

/// Fill plan->steps and plan->stages from its nodes and links, which need not be loaded, and count
/// its units and rows.  `in_links` as in Graph.  `has_chains`: find chains (StageStep).
/// plan_make_stages() makes the stages themselves later.
NODISCARD Status steps_make(Plan* plan, const Format* format, const EdgeGroups* in_links,
                            bool has_chains, Arena* scratch, Error* error);

/// Memory of the rows, in bytes.
size_t steps_row_bytes(const Plan* plan);

/// Allocate the rows.
NODISCARD Status steps_take_rows(Plan* plan, Error* error);

/// Point the batches to the memory of the nodes, once the nodes are loaded.
void steps_bind(Plan* plan);

#endif
