// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The bypass of one instance: cross-fades its output to its input, delayed by the latency.

   The weights follow a ramp (engine/contract/ramp.h), equal gain: out = (1 - w) out + w dry.  At
   rest the output is one of the two to the bit.
*/
#ifndef WARPRACK_PLUGINS_HOST_BYPASS_H
#define WARPRACK_PLUGINS_HOST_BYPASS_H

#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <stddef.h>
#include <stdint.h>

#define BYPASS_SECONDS 0.01

/// The same for all instances of a node.
typedef struct BypassShape {
  uint32_t n_in, n_out; ///< Channels; an output beyond the inputs gets the last input, or silence
                        ///< if there is none
  uint32_t max_block_frames;
  uint32_t max_latency_frames; ///< For which the lines have room, at most LATENCY_MAX_FRAMES; 0:
                               ///< there are no lines
  uint32_t fade_frames;
} BypassShape;

typedef struct Bypass {
  Ramp weight;             ///< Of the dry signal: 0 or 1 at rest
  uint32_t latency_frames; ///< The delay of the dry signal
  uint32_t position;       ///< Where the lines are written next
  uint32_t n_filled;       ///< Frames written, up to the latency: older ones are silent
  float* lines;            ///< [n_in][bypass_line_frames()]
} Bypass;

/// Size of a line. [any]
size_t bypass_line_frames(const BypassShape* shape);

/// A bypass at rest, with empty lines. [any]
Bypass bypass_at(bool is_bypassed, uint32_t latency_frames, float* lines);

/// Change the delay of the dry signal, at most to the longest one of the shape.  Does nothing, and
/// returns false, while the dry signal sounds, which must not jump. [rt]
REALTIME bool bypass_move(Bypass* bypass, const BypassShape* shape, uint32_t latency_frames);

/// True if bypass_run() has nothing to do. [rt]
static inline bool
bypass_is_idle(const Bypass* const bypass, const bool is_bypassed)
{
  return !is_bypassed && !bypass->latency_frames && !bypass->weight.frames_left &&
         bypass->weight.target == 0.0F;
}

/// True if the dry signal alone sounds, and no fade is under way. [rt]
REALTIME bool bypass_is_dry(const Bypass* bypass);

/// An output that has ended: the dry signal plus an offset, which the fade removes, continues it
/// without a step.
typedef struct BypassHold {
  bool begins;   ///< The output has ended before this block
  float* values; ///< [n_out] then its last samples; afterwards the offsets
} BypassHold;

/// Write the input into the lines, and fade the output if necessary.  `hold`: there is no output;
/// `is_bypassed` is true then.  NULL: there is one. [rt]
REALTIME void bypass_run(Bypass* bypass, const BypassShape* shape, bool is_bypassed,
                         const BypassHold* hold, const FxUnit* io, uint32_t n_frames);

#endif
