// SPDX-License-Identifier: GPL-3.0-or-later
/// A LADSPA host for comparisons, written apart from plugins/ladspa: it reads the plugin's own
/// descriptor, connects every port again for each block, and shares no code with it.
#ifndef WARPRACK_TESTS_REFERENCE_LADSPA_H
#define WARPRACK_TESTS_REFERENCE_LADSPA_H

#include <stdbool.h>
#include <stdint.h>

/// What a plugin plays.
typedef struct ReferenceLadspa {
  const char* path;
  const char* label;
  void (*before_run)(void); ///< Called immediately before each run(), or NULL
  unsigned long rate_hz;
  uint32_t block_frames;
  uint32_t n_frames; ///< A multiple of block_frames
  uint32_t n_in;
  bool in_place;     ///< Inputs and outputs, of which there are as many, are the same memory
  float* const* in;  ///< [n_in][n_frames] one row per audio input
  float* const* out; ///< [audio outputs][n_frames] the result
  float* values;     ///< [ports] of the control inputs; becomes also that of the control outputs
} ReferenceLadspa;

/// Play.  Returns NULL, or why it is not possible.
const char* reference_ladspa_play(const ReferenceLadspa* play);

#endif
