// SPDX-License-Identifier: GPL-3.0-or-later
/// The format of the audio.
#ifndef WARPRACK_ENGINE_CONTRACT_FORMAT_H
#define WARPRACK_ENGINE_CONTRACT_FORMAT_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define LATENCY_LIMIT_SECONDS 2.0 // for a live rack; also the length of the dry signal's delay line
#define LATENCY_MAX_FRAMES    (1U << 26U) // for any rack: minutes at any rate
#define FORMAT_MIN_RATE_HZ    1e3
#define FORMAT_MAX_RATE_HZ    1e6

/// The format for which all parts of an engine are made.
typedef struct Format {
  double rate_hz;
  uint32_t block_frames;
  uint32_t n_in, n_out; ///< n_out 0: the rack decides
  bool offline;
} Format;

/// STATUS_BAD_ARG for a rate, a block or a number of channels that no engine plays. [any]
NODISCARD Status format_check(const Format* format, Error* error);

/// The longest latency that a node or a rack may have, in frames. [any]
static inline uint32_t
latency_limit(const double rate_hz, const bool offline)
{
  const double live_frames = LATENCY_LIMIT_SECONDS * rate_hz;
  return !offline && live_frames < LATENCY_MAX_FRAMES ? (uint32_t)live_frames : LATENCY_MAX_FRAMES;
}

#endif
