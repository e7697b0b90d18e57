// SPDX-License-Identifier: GPL-3.0-or-later
/// An engine with audio in real time: a thread plays a constant into one channel, block after
/// block, and checks each output sample.
#ifndef WARPRACK_TESTS_CLOCKED_H
#define WARPRACK_TESTS_CLOCKED_H

#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

#define CLOCKED_RATE_HZ 48000.0
#define CLOCKED_BLOCK   128U
#define CLOCKED_INPUT   0.5F

typedef struct Clocked Clocked;

/// Start the audio.  The engine has one channel in and out, depth 1 and is armed.
Clocked* clocked_start(Engine* engine);

/// Stop it and free.
void clocked_stop(Clocked* clocked);

/// From now on the thread waits for each block, as a driver in freewheel; its clock stays the
/// same.
void clocked_wait(Clocked* clocked);

/// The last sample of the last block.
float clocked_level(const Clocked* clocked);

/// Blocks so far.
uint64_t clocked_blocks(const Clocked* clocked);

typedef struct ClockedFaults {
  float smallest;     ///< Sample
  float largest;      ///< Sample
  float largest_step; ///< From one sample to the next
} ClockedFaults;

/// Since the last call, or since the end of the initial latency.
ClockedFaults clocked_faults(Clocked* clocked);

/// Wait until `is_so(context)`; fails the test after 20 s.
void await(bool (*is_so)(void* context), void* context, const char* what);

#endif
