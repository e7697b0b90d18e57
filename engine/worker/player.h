// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The player: runs the active plan, block after block, and changes to the next plan between two
   blocks.

   Builder and player pass plans without locks, through these atomics:

     builder: player_offer(plan) ──offered──▶ player, at the first block from plan->at_frame on
     builder: player_collect()   ◀──retired── player: the plan that it left; the builder frees it

   The builder offers one plan at a time and collects before it offers the next.

   Notes.  Each note that begins ends: by a message, after its length, when another note of its key
   begins, when its node leaves the rack or an edit makes it again, or when audio ends.  A note
   with a length takes the place of its message in the heap until its end, so that there is room.
   An end whose note has ended earlier is void, and leaves the heap when the heap is full.

   MIDI.  An event waits in the heap as a message does.  When its frame has come, it becomes
   messages for the same frame, by the map of the plan (midi_changes.h).  The player publishes the
   reports of a block together, with REPORT_EVENTS as the last one, before the effects run, because
   these may crash the worker.  So the server knows which events a worker ran before it ended.
*/
#ifndef WARPRACK_ENGINE_WORKER_PLAYER_H
#define WARPRACK_ENGINE_WORKER_PLAYER_H

#include "fade_table.h"
#include "load.h"
#include "player_taps.h"
#include "waiting_heap.h"

#include "engine/contract/counters.h"
#include "engine/midi/midi_decode.h"
#include "engine/plan/plan.h"
#include "engine/ring/ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PLAYER_MAX_EVENTS 1024U // changes within one block; others follow in the next one
#define PLAYER_MAX_BEGUN  2U    // blocks that are begun and not ended

/// A block that was begun.
typedef struct BegunBlock {
  const PlanStage* last; ///< Stage that still runs, NULL if all have ended
  uint64_t began_ns;
  uint64_t frame;
  uint32_t n_frames;
  bool has_failed; ///< The output of a stage is invalid
} BegunBlock;

typedef struct Player {
  _Atomic(Plan*) offered;
  _Atomic(Plan*) retired;
  _Atomic uint64_t first_frame; ///< First frame of the plan that was offered last, valid once
                                ///< `offered` is NULL again
  _Atomic bool hurry;           ///< Take the offered plan regardless of its at_frame
  Plan* plan;                   ///< [player] The active one
  _Atomic uint64_t next_frame;  ///< Written by the player: first frame after the last block
  uint64_t n_received;          ///< [player] Messages so far
  Ring* reports;                ///< Receives what is applied; NULL: nobody asks.  Changed while no
                                ///< player runs
  const MidiEvent* midi;        ///< [player] [n_midi] of the next block
  uint32_t n_midi;
  bool has_run_midi;       ///< [player] Events were run, and REPORT_EVENTS has not followed
  MidiDecoder decoder;     ///< [player]
  uint64_t n_orders;       ///< [player] The last WaitingMessage::order
  WaitingHeap waiting;     ///< [player]
  bool may_have_void_ends; ///< [player] An end in the heap may be void
  StageEvent* events;      ///< [player] [n_events] of the current block
  uint32_t n_events;
  FadeTable fades;                    ///< [player]
  BegunBlock begun[PLAYER_MAX_BEGUN]; ///< [player] A ring: n_begun blocks from `oldest` on
  uint32_t oldest, n_begun;
  double rate_hz;
  PlayerTaps taps; ///< [player]
  PlayerCounters counts;
  Load load;
} Player;

NODISCARD Status // [main]
player_init(Player* player, Error* error);

/// Free the player's memory and its plans. [main]
void player_clear(Player* player);

/**
   Begin one block.  If its last stage runs on a device, that stage may still run when this function
   returns, and beside the next block.  At most PLAYER_MAX_BEGUN blocks are begun and not ended.

   @param messages Ring to take messages from, or NULL.
   @param in [plan->n_in] pointers to n_frames samples, which are only read.
   @param out [plan->n_out] pointers to n_frames samples, complete after player_end().
*/
REALTIME void // [player]
player_begin(Player* player, Ring* messages, uint64_t frame, uint32_t n_frames, float* const* in,
             float* const* out);

/// The MIDI events of the next block, [n] in the order of their frames; borrowed until
/// player_begin().  Their bytes, and their frames in the block, may have any value. [player]
REALTIME void player_give_midi(Player* player, const MidiEvent* events, uint32_t n);

/// True if player_end() would not wait. [player]
REALTIME bool player_can_end(const Player* player);

/**
   Wait for the oldest block that was begun.

   @return False if a device has failed: `out` is invalid in this block and in all later blocks of
   the plan, and plan_failure() has the reason.  Stages on other backends continue to run.  [player]
*/
REALTIME bool player_end(Player* player);

/// Begin a block and end it, for callers that run one block at a time. [player]
REALTIME bool player_run(Player* player, Ring* messages, uint64_t frame, uint32_t n_frames,
                         float* const* in, float* const* out);

/// Take an offered plan now if its frame has come.  Called between blocks. [player]
REALTIME void player_idle(Player* player);

/// Apply all messages in the ring now, regardless of their frames, because the frame count that
/// they refer to ends, and report them.  Ends all notes and fades, and begins none.
/// [main, player stopped]
void player_drain(Player* player, Ring* messages);

/// Apply one message between blocks, without a fade. [main, player stopped]
void player_apply(Player* player, const ParamMessage* message);

/// Let a message apply at its frame, as one that came from the ring with this number.  Returns
/// false if too many wait. [main, player stopped]
bool player_replay(Player* player, const ParamMessage* message, uint64_t number);

/// Hand over a plan. [builder]
void player_offer(Player* player, Plan* plan);

/// True once the offered plan is active. [builder]
bool player_has_taken(Player* player);

/// Take the plan that the player has left; the caller frees it.  NULL if there is none. [builder]
Plan* player_collect(Player* player);

#endif
