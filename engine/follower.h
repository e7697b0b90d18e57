// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The level of one output against its dry signal: the energy of the wet blocks over that of the dry
   ones, in the last quarter to half second that counts, never above 1.

   A block counts unless its dry signal is quiet, under -90 dBFS or 30 dB under the mean of those
   that count, and the block would raise the level: what an output plays after its input has ended
   is a tail, not a level.  Before 0.1 s have counted, the level is the one that the plan was
   measured to have.
*/
#ifndef WARPRACK_ENGINE_FOLLOWER_H
#define WARPRACK_ENGINE_FOLLOWER_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

/// Energies of the blocks that count.
typedef struct FollowerSum {
  double wet, dry;
  double n_frames;
} FollowerSum;

typedef struct Follower {
  double half_frames;      ///< Of the window
  FollowerSum now, before; ///< Its two halves
  double level;            ///< Linear, 0 to 1
} Follower;

/// Begin with a level. [any]
void follower_begin(Follower* follower, double rate_hz, float level);

/// One block of the output was wet: the sums of the squares of its samples, and of the dry signal's
/// at the same frames. [rt]
REALTIME void follower_hear(Follower* follower, double wet, double dry, uint32_t n_frames);

#endif
