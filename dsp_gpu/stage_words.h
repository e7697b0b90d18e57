// SPDX-License-Identifier: GPL-3.0-or-later
/// Lists of words from which the builder makes the tables of a stage. [builder]
#ifndef WARPRACK_DSP_GPU_STAGE_WORDS_H
#define WARPRACK_DSP_GPU_STAGE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/// A growing list of words.
typedef struct Words {
  uint32_t* at; ///< [n]
  uint32_t n, capacity;
  bool failed; ///< An allocation failed
} Words;

/// Append n words, zeros if `values` is NULL; returns the place of the first.
uint32_t words_add(Words* words, const uint32_t* values, uint32_t n);

#endif
