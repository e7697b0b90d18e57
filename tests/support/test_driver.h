// SPDX-License-Identifier: GPL-3.0-or-later
/// An engine with the test as its driver: input from memory, output to memory, simulated time.
/// Every failure of the engine fails the test.
#ifndef WARPRACK_TESTS_TEST_DRIVER_H
#define WARPRACK_TESTS_TEST_DRIVER_H

#include "engine/engine.h"

#include <stdbool.h>

#define DRIVER_RATE_HZ  48000.0
#define DRIVER_BLOCK    64U
#define DRIVER_CHANNELS 4U ///< Buffers of each side

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

/// The same with an engine of your own making.
TestDriver driver_from(const EngineConfig* config, const char* rack_text, size_t n_frames);

void driver_free(TestDriver* driver);

/// Play n_blocks blocks, each waited for.
void driver_play(TestDriver* driver, size_t n_blocks);

/// Edit the rack to `text` (with uids kept from *rack) while blocks are played until it takes
/// effect; *rack becomes the new document.
Status driver_edit(TestDriver* driver, Rack** rack, const char* text, Error* error);

/// The same with the rack that statements make of *rack.
Status driver_apply(TestDriver* driver, Rack** rack, const char* statements, Error* error);

/// Wait until the builder has planned an edit and waits for the frame that it is meant for.
void driver_await_builder(const TestDriver* driver, uint64_t frame);

/// Wait until the edit in flight has its reply, so that the engine takes another one.
void driver_await_reply(const TestDriver* driver);

/// The rack of a text that is good.
Rack* driver_rack(const char* text);

#endif
