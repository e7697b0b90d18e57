// SPDX-License-Identifier: GPL-3.0-or-later
/// Plays an engine in real time: a thread plays a constant into its input, block after block, and
/// records the extremes of its output.
#ifndef WARPRACK_TESTS_CLOCKED_H
#define WARPRACK_TESTS_CLOCKED_H

#include "engine/engine.h"

#include <stdint.h>

#define CLOCKED_RATE_HZ 48000.0
#define CLOCKED_BLOCK   128U
#define CLOCKED_INPUT   0.5F

typedef struct Clocked Clocked;

/// Start the audio.  The engine must be armed, with one input, one output and depth 1.
Clocked* clocked_start(Engine* engine);

/// Stop the audio, and free it.
void clocked_stop(Clocked* clocked);

/// From now on the thread waits for each block, like a driver in freewheel, but still plays one
/// block per period.
void clocked_wait(Clocked* clocked);

/// The last sample of the last block.
float clocked_level(const Clocked* clocked);

/// Blocks played so far.
uint64_t clocked_blocks(const Clocked* clocked);

typedef struct ClockedFaults {
  float smallest;     ///< Smallest sample
  float largest;      ///< Largest sample
  float largest_step; ///< Largest difference between two successive samples
} ClockedFaults;

/// The extremes of the output since the last call; at the first call, since the first block that
/// follows the start-up latency.
ClockedFaults clocked_faults(Clocked* clocked);

#endif
