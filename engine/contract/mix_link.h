// SPDX-License-Identifier: GPL-3.0-or-later
/// The changing gain of a connection: operations on MixLink for all backends.
#ifndef WARPRACK_ENGINE_CONTRACT_MIX_LINK_H
#define WARPRACK_ENGINE_CONTRACT_MIX_LINK_H

#include "backend.h"

/// True if the gain is constant within the block. [player]
static inline bool
mix_link_is_steady(const MixLink* const link, const uint32_t n_frames)
{
  return link->gain.frames_left == 0U && (link->hold_frames == 0U || link->hold_frames >= n_frames);
}

/// The gain for a frame of the block; frames count from 1. [player]
static inline float
mix_link_gain(const MixLink* const link, const uint32_t frame)
{
  const bool holds = frame <= link->hold_frames;
  const Ramp* const ramp = holds ? &link->gain : &link->next;
  const uint32_t moved = holds ? frame : frame - link->hold_frames;
  return ramp_value_at(ramp, ramp->frames_left > moved ? ramp->frames_left - moved : 0U);
}

/// Ramp to `target` in `frames` >= 1 frames, after `hold_frames` frames, instead of all changes
/// that are still to come. [player]
static inline void
mix_link_aim(MixLink* const link, const float target, const uint32_t frames,
             const uint32_t hold_frames)
{
  link->next = link->gain;
  ramp_skip(&link->next, hold_frames);
  ramp_aim(&link->next, target, frames);
  link->hold_frames = hold_frames;
  link->gain = hold_frames ? link->gain : link->next;
  link->last_frames = 0U;
}

/// Ramp to `target` in `frames` frames, after `hold_frames` frames, and after the change that is on
/// hold, which begins at least a block earlier. [player]
static inline void
mix_link_aim_last(MixLink* const link, const float target, const uint32_t frames,
                  const uint32_t hold_frames)
{
  link->last_target = target;
  link->last_hold_frames = hold_frames - link->hold_frames;
  link->last_frames = frames;
}

/// If the gain moves, and will still move after `hold_frames` frames: begin the rest of its way
/// again then, in `frames` frames.  Gains that begin together have a constant sum if their targets
/// have: ramps are linear in value, slope and target. [player]
static inline void
mix_link_restart(MixLink* const link, const uint32_t frames, const uint32_t hold_frames)
{
  Ramp next = link->gain;
  ramp_skip(&next, hold_frames);
  if (!link->hold_frames && next.frames_left) {
    ramp_turn(&next, next.target, frames);
    link->next = next;
    link->hold_frames = hold_frames;
    link->gain = hold_frames ? link->gain : next;
  }
}

/// Take back the last change, before which the gain was `before`: drop it if it is still to come,
/// else ramp back in `frames` frames. [player]
static inline void
mix_link_take_back(MixLink* const link, const float before, const uint32_t frames)
{
  if (link->last_frames) {
    link->last_frames = 0U;
  } else {
    ramp_aim(&link->gain, before, frames);
    link->next = link->gain;
    link->hold_frames = 0U;
  }
}

/// Advance by a block. [player]
static inline void
mix_link_advance(MixLink* const link, const uint32_t n_frames)
{
  if (link->hold_frames || link->next.frames_left) { // else `gain` rests, and is equal to `next`
    const uint32_t held = link->hold_frames < n_frames ? link->hold_frames : n_frames;
    link->hold_frames -= held;
    ramp_skip(&link->gain, held);
    if (link->hold_frames == 0U) {
      ramp_skip(&link->next, n_frames - held);
      link->gain = link->next;
      if (link->last_frames) {
        const uint32_t passed = n_frames - held;
        const uint32_t hold = link->last_hold_frames;
        mix_link_aim(link, link->last_target, link->last_frames,
                     hold > passed ? hold - passed : 0U);
      }
    }
  }
  link->position = (link->position + n_frames) & link->line_mask;
}

#endif
