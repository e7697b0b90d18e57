// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The level follower of one output: estimates the gain from the dry signal to the wet signal.
   While blocks are late, the fallback plays the dry signal at this level (fallback.h, "auto").

   The level is the square root of wet energy over dry energy, at most 1, in a window of the last
   0.25 to 0.5 s of counted blocks.  Until 0.1 s is counted, the level stays at its initial value,
   which the worker measured from the rack's impulse response.

   A block is not counted if its dry signal is quiet and counting the block would raise the level:
   such a block is a tail, for example reverb after the end of the input.  Quiet is below -90 dBFS,
   or more than 30 dB below the mean of the counted blocks.
*/
#ifndef WARPRACK_ENGINE_CALLBACK_FOLLOWER_H
#define WARPRACK_ENGINE_CALLBACK_FOLLOWER_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/// Sums over counted blocks.
typedef struct FollowerSum {
  double wet, dry; ///< Energy: sum of the squares of the samples
  double n_frames;
} FollowerSum;

typedef struct Follower {
  double half_frames;      ///< Frames of half a window
  FollowerSum now, before; ///< The newer and the older half
  double level;            ///< Linear, 0 to 1
} Follower;

/// Set the initial level (linear), and clear the window. [any]
void follower_begin(Follower* follower, double rate_hz, float level);

/// Update the level by one block of `n_frames`.  `wet`: energy of the wet signal that the output
/// played; `dry`: energy of the dry signal at the same frames. [rt]
REALTIME void follower_update(Follower* follower, double wet, double dry, uint32_t n_frames);

#endif
