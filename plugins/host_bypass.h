// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The bypass of one instance: cross-fades its output to its input, delayed by the latency
   (engine/contract/input_line.h).

   The weights follow a ramp (engine/contract/ramp.h), equal gain: out = (1 - w) out + w dry.  At
   rest the output is one of the two to the bit.
*/
#ifndef WARPRACK_PLUGINS_HOST_BYPASS_H
#define WARPRACK_PLUGINS_HOST_BYPASS_H

#include "engine/contract/effect.h"
#include "engine/contract/ramp.h"

#include <stdint.h>

#define BYPASS_SECONDS 0.01

/// The same for all instances of a node.
typedef struct BypassShape {
  uint32_t n_in, n_out; ///< Channels; an output beyond the inputs gets the last input, or silence
                        ///< if there is none
  uint32_t fade_frames;
} BypassShape;

typedef struct Bypass {
  Ramp weight; ///< Of the dry signal: 0 or 1 at rest
} Bypass;

/// A bypass at rest. [any]
static inline Bypass
bypass_at(const bool is_bypassed)
{
  return (Bypass){ .weight = ramp_at(is_bypassed ? 1.0F : 0.0F) };
}

/// True if the dry signal sounds, which must not jump. [rt]
static inline bool
bypass_is_heard(const Bypass* const bypass)
{
  return bypass->weight.frames_left || bypass->weight.target != 0.0F;
}

/// True if bypass_run() has nothing to do. [rt]
static inline bool
bypass_is_idle(const Bypass* const bypass, const bool is_bypassed)
{
  return !is_bypassed && !bypass_is_heard(bypass);
}

/// True if the dry signal alone sounds, and no fade is under way. [rt]
REALTIME bool bypass_is_dry(const Bypass* bypass);

/// An output that has ended: the dry signal plus an offset, which the fade removes, continues it
/// without a step.
typedef struct BypassHold {
  bool begins;   ///< The output has ended before this block
  float* values; ///< [n_out] then its last samples; afterwards the offsets
} BypassHold;

/// Fade the output if necessary.  `hold`: there is no output; `is_bypassed` is true then.  NULL:
/// there is one. [rt]
REALTIME void bypass_run(Bypass* bypass, const BypassShape* shape, bool is_bypassed,
                         const BypassHold* hold, const FxUnit* io, uint32_t n_frames);

#endif
