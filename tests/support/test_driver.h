// SPDX-License-Identifier: GPL-3.0-or-later
/// An engine with the test as its driver: input from memory, output to memory, simulated time.
/// Every failure of the engine fails the test.
#ifndef WARPRACK_TESTS_TEST_DRIVER_H
#define WARPRACK_TESTS_TEST_DRIVER_H

#include "engine/engine.h"

#include <stdbool.h>

#define DRIVER_RATE_HZ  48000.0
#define DRIVER_BLOCK    64U
#define DRIVER_CHANNELS 4U ///< Number of input buffers, and of output buffers

typedef struct TestDriver {
  Engine* engine;
  uint32_t n_in, n_out, block;
  size_t n_frames; ///< Capacity
  size_t position; ///< Frames played
  float* in[DRIVER_CHANNELS];
  float* out[DRIVER_CHANNELS];
} TestDriver;

/// An engine that plays `rack_text`, with room for n_frames of input (zeroed) and output.
TestDriver driver_new(const char* rack_text, uint32_t n_in, uint32_t n_out, uint32_t depth,
                      bool offline, size_t n_frames);

/// driver_new() with another configuration of the engine.
TestDriver driver_from(const EngineConfig* config, const char* rack_text, size_t n_frames);

void driver_free(TestDriver* driver);

/// Play n_blocks blocks, and wait for each.
void driver_play(TestDriver* driver, size_t n_blocks);

/// Edit the rack to `text` (with uids kept from *rack) while blocks are played until it takes
/// effect; *rack becomes the new document.
Status driver_edit(TestDriver* driver, Rack** rack, const char* text, Error* error);

/// driver_edit() to the rack that results when statements are applied to *rack.
Status driver_apply(TestDriver* driver, Rack** rack, const char* statements, Error* error);

/// Edit the rack after at least 50 blocks, and play 100 more.  Assert that the largest second
/// difference is at most 1.5 times that of the 50 blocks before the edit, or of the last 50.
/// `where` begins the message.
void
driver_assert_smooth_edit(TestDriver* driver, Rack** rack, const char* text, const char* where);

/// Wait until the builder has planned an edit, and waits for `frame`, the edit's time.  After
/// seconds without a block, the worker takes audio for ended: then wait until it has done the edit.
void driver_await_builder(const TestDriver* driver, uint64_t frame);

/// Wait until the edit in flight has its reply, so that the engine takes another one.
void driver_await_reply(const TestDriver* driver);

#endif
