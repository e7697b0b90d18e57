// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The player: runs the active plan, block after block, and changes to the next plan between two
   blocks.

   Plans change hands without locks, by three atomics:

     builder: player_offer(plan) ──offered──▶ player, at the first block from plan->at_frame on
     builder: player_collect()   ◀──retired── player: the plan that it left; the builder frees it

   The builder offers one plan at a time and collects before it offers the next.
*/
#ifndef WARPRACK_ENGINE_WORKER_PLAYER_H
#define WARPRACK_ENGINE_WORKER_PLAYER_H

#include "load.h"

#include "engine/contract/counters.h"
#include "engine/plan/plan.h"
#include "engine/ring/ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PLAYER_MAX_WAITING 4096U // parameter messages for later frames
#define PLAYER_MAX_EVENTS  1024U // parameter changes within one block
#define PLAYER_MAX_BEGUN   2U    // blocks at once

/// A parameter message with its number in the order of arrival, which breaks ties.
typedef struct WaitingMessage {
  ParamMessage message;
  uint64_t number;
} WaitingMessage;

/// A block that was begun.
typedef struct BegunBlock {
  const PlanStage* last; ///< Stage that still runs, NULL if all have ended
  uint64_t began_ns;
  uint64_t frame;
  uint32_t n_frames;
  bool has_failed; ///< A stage has no output
} BegunBlock;

typedef struct Player {
  _Atomic(Plan*) offered;
  _Atomic(Plan*) retired;
  _Atomic uint64_t heard_frame; ///< First frame of the plan that was offered last, valid once
                                ///< `offered` is NULL again
  _Atomic bool hurry;           ///< Take the offered plan regardless of its at_frame
  Plan* plan;                   ///< [player] The active one
  _Atomic uint64_t next_frame;  ///< Written by the player: first frame after the last block
  uint64_t n_received;          ///< [player] Messages so far
  WaitingMessage* waiting;      ///< [player] Binary heap by frame, then number
  uint32_t n_waiting;
  StageEvent* events;                 ///< [player] Of the block at hand
  BegunBlock begun[PLAYER_MAX_BEGUN]; ///< [player] n_begun of them from `oldest` on, in turn
  uint32_t oldest, n_begun;
  double rate_hz;
  PlayerCounters counts;
  Load load;
} Player;

NODISCARD Status // [main]
player_init(Player* player, Error* error);

/// Free all that the player owns, including its plans. [main]
void player_clear(Player* player);

/**
   Begin one block.  When its last stage is on a device it may be at work when this returns, beside
   the next block; at most PLAYER_MAX_BEGUN blocks are begun and not ended.

   @param messages Ring to take parameter messages from, or NULL.
   @param in [plan->n_in] pointers to n_frames samples, only read.
   @param out [plan->n_out] pointers to n_frames samples, filled when the block is ended.
*/
REALTIME void // [player]
player_begin(Player* player, Ring* messages, uint64_t frame, uint32_t n_frames, float* const* in,
             float* const* out);

/// True when player_end() would not wait.  [player]
REALTIME bool player_can_end(const Player* player);

/**
   Wait for the oldest block that was begun.

   @return False when a device has failed: `out` is not the rack's sound, now and in all later
   blocks of the plan, and plan_failure() says why.  What runs elsewhere goes on.  [player]
*/
REALTIME bool player_end(Player* player);

/// Begin a block and end it, for callers with one block at a time. [player]
REALTIME bool player_run(Player* player, Ring* messages, uint64_t frame, uint32_t n_frames,
                         float* const* in, float* const* out);

/// Between blocks: take an offered plan at once, if its time has come. [player]
REALTIME void player_idle(Player* player);

/// Apply all messages in the ring now, regardless of their frames: their frame clock ends. [main,
/// player stopped]
void player_drain(Player* player, Ring* messages);

/// Apply one message between blocks. [main, player stopped]
void player_apply(Player* player, const ParamMessage* message);

/// Hand over a plan. [builder]
void player_offer(Player* player, Plan* plan);

/// True once the offered plan is active. [builder]
bool player_has_taken(Player* player);

/// The plan that the player has left, to be freed, or NULL. [builder]
Plan* player_collect(Player* player);

#endif
