// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The fades that run in the player.

   A fade belongs to a node and survives plans that keep the node.  It ends at its last frame; when
   its node leaves the rack or a new node replaces it; when a message or an edit sets its parameter
   to another value, to which the parameter then moves from the value that it has.  Node::targets
   has the end of the fade from its start on.
*/
#ifndef WARPRACK_ENGINE_WORKER_FADE_TABLE_H
#define WARPRACK_ENGINE_WORKER_FADE_TABLE_H

#include "engine/contract/fade.h"
#include "engine/plan/plan.h"
#include "engine/ring/ring.h"

typedef struct FadeTable {
  Fade* fades;  ///< [n] for StageChanges::fades
  Node** nodes; ///< [n] the node of each
  uint32_t n;
} FadeTable;

NODISCARD Status fade_table_init(FadeTable* table, Error* error); // [main]
void fade_table_clear(FadeTable* table);                          // [main]

/// End the fade of a parameter at a frame, if there is one.  Returns the value of the parameter at
/// that frame. [player, or while no player runs]
REALTIME double fade_table_take(FadeTable* table, Node* node, uint32_t param, uint64_t frame);

/// Begin the fade of a message at a frame, from a value.  Returns false if the table is full.
/// [player]
REALTIME bool fade_table_add(FadeTable* table, Node* node, uint32_t node_index,
                             const ParamMessage* message, uint64_t frame, double from);

/// Keep the fades of nodes that this plan has, too, and whose values it does not change.  The nodes
/// of the plan before are not freed yet. [player]
REALTIME void fade_table_follow(FadeTable* table, const Plan* plan);

/// Forget the fades that do nothing from this frame on. [player]
REALTIME void fade_table_drop_ended(FadeTable* table, uint64_t frame);

/// End all fades between two blocks: their parameters are set to their ends. [while no player runs]
void fade_table_end_all(FadeTable* table);

#endif
