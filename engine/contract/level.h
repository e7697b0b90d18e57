// SPDX-License-Identifier: GPL-3.0-or-later
/// Levels of signals: peak and energy.
#ifndef WARPRACK_ENGINE_CONTRACT_LEVEL_H
#define WARPRACK_ENGINE_CONTRACT_LEVEL_H

#include "effect.h"

#include <stdbool.h>
#include <stdint.h>

/// One channel over a span of frames.
typedef struct Level {
  float peak;    ///< Largest magnitude, linear
  double energy; ///< Sum of the squares of the samples; may be infinite
} Level;

/// The ports of the rack over a span of frames.
typedef struct PortLevels {
  uint64_t first_frame, n_frames;
  uint32_t n_in, n_out;
  Level of[2U * FX_MAX_CHANNELS]; ///< [n_in + n_out] inputs, then outputs
} PortLevels;

/// A node over a span, all its output channels together.
typedef struct NodeTap {
  Level level;
  uint64_t n_samples; ///< Of all channels
  float
      reduction_db; ///< Largest reduction of its gain at the end of a block (FxInfo::reduction_db)
} NodeTap;

#define LISTEN_CHANNELS 8U         // of a PortRange
#define LISTEN_MAX      4U         // ranges that are listened to at the same time
#define LISTEN_TAKE     LISTEN_MAX // one more, for the input of a take
#define LISTEN_ALL      (LISTEN_MAX + 1U)

/// Successive channels of the rack's inputs or outputs.
typedef struct PortRange {
  bool is_output;
  uint32_t first; ///< From 0
  uint32_t n;     ///< 1 to LISTEN_CHANNELS; 0: none
} PortRange;

/// Add the level of another span to `sum`. [any]
static inline void
level_add(Level* const sum, const Level* const more)
{
  sum->peak = more->peak > sum->peak ? more->peak : sum->peak;
  sum->energy += more->energy;
}

#endif
