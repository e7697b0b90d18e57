// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The input of a node with latency, for tests that run a node without the engine: what the stage on
   the CPU does with InputLine.
*/
#ifndef WARPRACK_TESTS_DRY_RIG_H
#define WARPRACK_TESTS_DRY_RIG_H

#include "engine/contract/input_line.h"

#include <check.h>
#include <stdlib.h>

/// A silent line for a node with this shape; the caller frees the samples.
static inline InputLine
dry_rig_new(const FxShape* const shape, const uint32_t n_in, const uint32_t max_block)
{
  InputLine line = input_line_for(shape, max_block);
  if (line.n_frames && n_in) {
    line.samples = calloc((size_t)n_in * line.n_frames, sizeof(float));
    ck_assert_ptr_nonnull(line.samples);
  }
  return line;
}

/// Put the inputs of a block, [n_in], at the latency that the node has now.
static inline void
dry_rig_put(InputLine* const line, const FxInfo* const fx, const void* const node,
            const float* const* const in, const uint32_t n_in, const uint32_t n_frames)
{
  if (line->samples && fx->latency) {
    input_line_set_delay(line, fx->latency(node));
  }
  for (uint32_t c = 0; line->samples && c < n_in; ++c) {
    input_line_put(line, c, in[c], n_frames);
  }
}

/// FxUnit::dry of unit u.
static inline FxDry
dry_rig_unit(const InputLine* const line, const FxShape* const shape, const uint32_t u)
{
  return line->samples ? input_line_from(line, u * shape->unit_in, 0U) : (FxDry){ 0 };
}

static inline void
dry_rig_advance(InputLine* const line, const uint32_t n_frames)
{
  if (line->samples) {
    input_line_advance(line, n_frames);
  }
}

#endif
