// SPDX-License-Identifier: GPL-3.0-or-later
/// An engine with its driver, which is the test itself: input from memory, output to memory, time
/// passes when the test says so.  Every failure of the engine is the test's.
#ifndef WARPRACK_TESTS_PLAYER_H
#define WARPRACK_TESTS_PLAYER_H

#include "../../engine/engine.h"

#include <stdbool.h>

#define PLAYER_RATE_HZ  48000.0
#define PLAYER_BLOCK    64U
#define PLAYER_CHANNELS 4U ///< Buffers of each side

typedef struct Player {
  Engine* engine;
  uint32_t n_in, n_out, block;
  size_t n_frames; ///< Capacity
  size_t position; ///< Frames played
  float* in[PLAYER_CHANNELS];
  float* out[PLAYER_CHANNELS];
} Player;

/// An engine that plays `rack_text`, with room for n_frames of input (zeroed) and output.
Player player_new(const char* rack_text, uint32_t n_in, uint32_t n_out, uint32_t depth,
                  bool offline, size_t n_frames);

/// The same with an engine of your own making.
Player player_from(const EngineConfig* config, const char* rack_text, size_t n_frames);

void player_free(Player* player);

/// Play n_blocks blocks, each waited for.
void player_play(Player* player, size_t n_blocks);

/// Edit the rack to `text` (with uids kept from *rack) while blocks go on until it is heard; *rack
/// becomes the new document.
Status player_edit(Player* player, Rack** rack, const char* text, Error* error);

/// The same with the rack that statements make of *rack.
Status player_apply(Player* player, Rack** rack, const char* statements, Error* error);

/// Wait until the builder has planned an edit and waits for the frame that it is meant for.
void player_await_builder(const Player* player, uint64_t frame);

/// The rack of a text that is good.
Rack* player_rack(const char* text);

#endif
