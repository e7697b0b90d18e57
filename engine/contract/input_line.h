// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The recent input of a node with latency.  The input of such a node plays in place of its output,
   in a bypass, in quarantine and after a NaN, with the delay that the output has.

   The engine keeps the line, not the effect, so that the input goes on while the builder renews the
   node.  Units read it by fx_dry_row().  In each block all channels are put first; then come the
   runs, and input_line_advance() at the end.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_INPUT_LINE_H
#define WARPRACK_ENGINE_CONTRACT_INPUT_LINE_H

#include "effect.h"

#include <stdint.h>
#include <string.h>

typedef struct InputLine {
  float* samples;            ///< [channels][n_frames] rings, silent at first; NULL: none
  uint32_t n_frames;         ///< Of a ring: the longest delay and one block; 0: there is no latency
  uint32_t max_delay_frames; ///< A longer latency is played with this delay, early
  uint32_t delay_frames;     ///< [player] The latency of the node
  uint32_t position;         ///< [player] Place of the first frame of the block
} InputLine;

/// The line for nodes of this shape, without its samples. [builder]
static inline InputLine
input_line_for(const FxShape* const shape, const uint32_t max_block_frames)
{
  const uint32_t now = shape->latency_frames;
  const uint32_t longest = now > shape->max_latency_frames ? now : shape->max_latency_frames;
  return (InputLine){ .n_frames = longest ? longest + max_block_frames : 0U,
                      .max_delay_frames = longest,
                      .delay_frames = now };
}

/// Change the delay, while nothing plays that was read from the line. [player]
static inline void
input_line_set_delay(InputLine* const line, const uint32_t delay_frames)
{
  line->delay_frames =
      delay_frames < line->max_delay_frames ? delay_frames : line->max_delay_frames;
}

/// Write the block of one channel. [player]
static inline void
input_line_put(const InputLine* const line, const uint32_t channel, const float* const in,
               const uint32_t n_frames)
{
  float* const ring = line->samples + (size_t)channel * line->n_frames;
  const uint32_t to_end = line->n_frames - line->position;
  const uint32_t n_first = n_frames < to_end ? n_frames : to_end;
  memcpy(ring + line->position, in, n_first * sizeof(float));
  memcpy(ring, in + n_first, (n_frames - n_first) * sizeof(float));
}

/// The input for a unit whose channels begin with `first`, from this frame of the block on.
/// [player]
static inline FxDry
input_line_from(const InputLine* const line, const uint32_t first, const uint32_t frame)
{
  const uint32_t place = line->position + line->n_frames - line->delay_frames + frame;
  return (FxDry){ .lines = line->samples + (size_t)first * line->n_frames,
                  .n_frames = line->n_frames,
                  .start = place % line->n_frames };
}

/// End the block. [player]
static inline void
input_line_advance(InputLine* const line, const uint32_t n_frames)
{
  const uint32_t next = line->position + n_frames;
  line->position = next < line->n_frames ? next : next - line->n_frames;
}

/// An input of a unit, delayed by the latency of its node.  `delayed`: memory for n_frames. [rt]
static inline const float*
fx_dry_row(const FxUnit* const unit, const uint32_t channel, float* const delayed,
           const uint32_t n_frames)
{
  const FxDry* const dry = &unit->dry;
  if (!dry->lines) {
    return unit->in[channel];
  }
  const float* const ring = dry->lines + (size_t)channel * dry->n_frames;
  const uint32_t to_end = dry->n_frames - dry->start;
  const uint32_t n_first = n_frames < to_end ? n_frames : to_end;
  memcpy(delayed, ring + dry->start, n_first * sizeof(float));
  memcpy(delayed + n_first, ring, (n_frames - n_first) * sizeof(float));
  return delayed;
}

#endif
