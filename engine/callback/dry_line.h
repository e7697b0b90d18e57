// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Delay line for the input: the callback reads from it the dry signal with the latency of the wet
   signal.
*/
#ifndef WARPRACK_ENGINE_CALLBACK_DRY_LINE_H
#define WARPRACK_ENGINE_CALLBACK_DRY_LINE_H

#include "engine/base/status.h"

#include <stdint.h>

typedef struct DryLine DryLine;

/**
   Make a line that holds silence.

   @param n_channels 0 or more.
   @param n_frames Largest delay plus largest number of frames fed at once.
   @param[out] out New line, owned by the caller; free with dry_line_free().  Untouched on error.
*/
NODISCARD Status // [main]
dry_line_new(uint32_t n_channels, uint32_t n_frames, DryLine** out, Error* error);

/// Free a line.  Accepts NULL. [main]
void dry_line_free(DryLine* line);

/// Number of channels. [any]
uint32_t dry_line_channels(const DryLine* line);

/// Write the next `n_frames` of one channel; NULL is silence. [rt]
REALTIME void dry_line_feed(DryLine* line, uint32_t channel, const float* in, uint32_t n_frames);

/// Advance the position by `n_frames`, after all channels have been fed. [rt]
REALTIME void dry_line_advance(DryLine* line, uint32_t n_frames);

/// Find the `n_frames` frames of one channel that end `delay_frames` before the last frame fed: two
/// runs of n_runs[] frames in the line, the second of which may be empty.  Valid until the next
/// dry_line_feed(). [rt]
REALTIME void dry_line_runs(const DryLine* line, uint32_t channel, uint32_t delay_frames,
                            uint32_t n_frames, const float* runs[2], uint32_t n_runs[2]);

/// Read the `n_frames` frames of one channel that end `delay_frames` before the last frame fed.
/// [rt]
REALTIME void dry_line_read(const DryLine* line, uint32_t channel, uint32_t delay_frames,
                            float* out, uint32_t n_frames);

#endif
