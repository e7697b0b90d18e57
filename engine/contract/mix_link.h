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
}

/// If the gain moves: begin the rest of its way again, in `frames` frames.  Gains that begin
/// together have a constant sum if their targets have: ramps are linear in value, slope and target.
/// [player]
static inline void
mix_link_restart(MixLink* const link, const uint32_t frames)
{
  if (!link->hold_frames && link->gain.frames_left) {
    ramp_turn(&link->gain, link->gain.target, frames);
    link->next = link->gain;
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
    }
  }
  link->position = (link->position + n_frames) & link->line_mask;
}

#endif
