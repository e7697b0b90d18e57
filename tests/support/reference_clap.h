// SPDX-License-Identifier: GPL-3.0-or-later
/// A CLAP host that shares no code with plugins/clap, to compare samples with.
#ifndef WARPRACK_TESTS_REFERENCE_CLAP_H
#define WARPRACK_TESTS_REFERENCE_CLAP_H

#include <stdbool.h>
#include <stdint.h>

#define REFERENCE_CLAP_ROWS 8U

/// What a plugin makes of n_frames of `in`, in a process of its own.
typedef struct ReferenceClap {
  const char* path;
  const char* id;
  double rate_hz;
  uint32_t block_frames, n_frames;      ///< The last block may be shorter
  const float* in[REFERENCE_CLAP_ROWS]; ///< One row per channel of all inputs
  float* out[REFERENCE_CLAP_ROWS];      ///< As many rows as the plugin has output channels
} ReferenceClap;

/// False if the plugin does not load or crashes.
bool reference_clap(const ReferenceClap* work);

#endif
