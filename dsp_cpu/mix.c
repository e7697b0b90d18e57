// SPDX-License-Identifier: GPL-3.0-or-later
// Sums connections into rows.

#include "mix.h"

#include "engine/base/simd.h"
#include "engine/contract/mix_link.h"

#include <string.h>

/// out += gain * in, or out = gain * in for the first term.
VECTOR_CLONES static void
add_steady(float* restrict const out, const float* restrict const in, const float gain,
           const bool first, const uint32_t n)
{
  if (first && gain == 1.0F) {
    memcpy(out, in, n * sizeof(float));
  } else if (first) {
    for (uint32_t i = 0; i < n; ++i) {
      out[i] = gain * in[i];
    }
  } else {
    for (uint32_t i = 0; i < n; ++i) {
      out[i] += gain * in[i];
    }
  }
}

/// The same with a gain that moves; once it rests, to the bit.
VECTOR_CLONES static void
add_moving(float* restrict const out, const float* restrict const in, const MixLink* const link,
           const bool first, const uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i) {
    const float sample = mix_link_gain(link, i + 1U) * in[i];
    out[i] = first ? sample : out[i] + sample;
  }
}

/// Write a block into a delay line, and read the block of `delay_frames` before.
static void
line_run(const MixTerm* const term, const float* const in, float* const out, const uint32_t n)
{
  const MixLink* const link = term->link;
  float* const line = link->lines + (size_t)term->channel * (link->line_mask + 1U);
  for (uint32_t i = 0; i < n; ++i) {
    line[(link->position + i) & link->line_mask] = in[i];
  }
  for (uint32_t i = 0; i < n; ++i) {
    out[i] = line[(link->position + i - link->delay_frames) & link->line_mask];
  }
}

void
mix_row(float* const* const rows, const MixRow* const row, const uint32_t n_frames)
{
  float* const out = rows[row->to];
  if (row->n_terms == 0U) {
    memset(out, 0, n_frames * sizeof(float));
  }
  for (uint32_t t = 0; t < row->n_terms; ++t) {
    const MixTerm* const term = &row->terms[t];
    float delayed[FX_MAX_BLOCK];
    const float* in = rows[term->from];
    if (term->link->lines) {
      line_run(term, in, delayed, n_frames);
      in = delayed;
    }
    if (mix_link_is_steady(term->link, n_frames)) {
      add_steady(out, in, term->link->gain.target, t == 0U, n_frames);
    } else {
      add_moving(out, in, term->link, t == 0U, n_frames);
    }
  }
}
