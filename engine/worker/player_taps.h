// SPDX-License-Identifier: GPL-3.0-or-later
/// The taps of a player: measures the nodes that the control thread names in the ring.
#ifndef WARPRACK_ENGINE_WORKER_PLAYER_TAPS_H
#define WARPRACK_ENGINE_WORKER_PLAYER_TAPS_H

#include "engine/plan/plan.h"
#include "engine/ring/ring.h"

#include <stdbool.h>
#include <stdint.h>

/// A tap of the ring: the node that it watches, and what was measured in a block.
typedef struct PlayerTap {
  uint32_t uid; ///< 0: none
  NodeTap sum;
} PlayerTap;

/// Begins as zeros.
typedef struct PlayerTaps {
  PlayerTap taps[RING_TAPS];
  uint32_t n; ///< Those with a node
} PlayerTaps;

/// Watch the nodes of the active plan that the ring names now. [player]
REALTIME void player_taps_move(PlayerTaps* taps, const Plan* plan, Ring* ring);

/// Watch the same nodes in the active plan, after it has changed. [player]
REALTIME void player_taps_follow(PlayerTaps* taps, const Plan* plan);

/// Pass what was measured in a block. [player]
REALTIME void player_taps_pass(PlayerTaps* taps, Ring* ring);

/// Watch no node any more. [while no player runs]
void player_taps_end(PlayerTaps* taps, const Plan* plan);

#endif
