// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The bridge: the transition of the outputs from the wet signal to their fallbacks (fallback.h).

   The callback opens a bridge when a block is late.  From then on each output plays its fallback
   plus a correction.  The correction continues the difference between the output and its fallback
   of the last BRIDGE_HISTORY frames, and fades out over the length of the bridge.  Therefore the
   waveform has no step at the first late frame, tones keep their phase, and an output that equals
   its fallback plays exactly the fallback.  During a bridge no sample is more than 0.4 dB above the
   largest magnitude of those frames, or above the fallback's sample where that is larger.

   Method: linear prediction of order 16 by J. P. Burg, "Maximum entropy spectral analysis", 37th
   meeting of the Society of Exploration Geophysicists, 1967, with the parabolic taper of D. N.
   Swingler, "A modified Burg algorithm for maximum entropy spectral analysis", Proc. IEEE 67(9),
   1979.  Without the taper, the frequency that Burg's method estimates for a tone depends on the
   phase of the tone, and after 16 ms the continued tone is out of phase.  All reflection
   coefficients are smaller than 1, so that the continuation does not grow without limit.

   Cost: the first late block is the expensive one, because it analyses all outputs.  A cost model
   (constants in bridge.c) keeps the time that it adds to the callback within a share of the period
   on the machine of the model.  bridge_new() begins with order 0 for all outputs: the bridge holds
   the last difference while it fades, and the bound above refers to the frames of the last block
   only.  bridge_new() then raises the order to 2, 4, 8 and 16, each time from the first output on,
   while the modelled cost fits.  With many outputs or short blocks, outputs with higher numbers
   therefore have lower orders.  Within BRIDGE_SHARE, FX_MAX_CHANNELS outputs fit into blocks of 16
   frames at 48 kHz; within an eighth, half as many do.  A larger number of outputs has order 0 and
   exceeds the share.  The orders depend only on rate, outputs, block length and share, not on a
   clock: the same input gives the same samples.
*/
#ifndef WARPRACK_ENGINE_CALLBACK_BRIDGE_H
#define WARPRACK_ENGINE_CALLBACK_BRIDGE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define BRIDGE_HISTORY   256U // frames before the gap that the prediction analyses
#define BRIDGE_MAX_ORDER 16U
#define BRIDGE_LANES     4U   // outputs in a group; callers handle the groups in ascending order
#define BRIDGE_SHARE     0.25 // of the period, if the callback does not wait for its block

typedef struct Bridge Bridge;

/**
   Make a closed bridge with a history of silence.

   The length of a bridge is three blocks, at most 20 ms.

   @param n_channels Outputs, 0 or more.
   @param block_frames Frames of a block, at least 1.
   @param share Part of the period that the modelled cost may take.
   @param[out] out New bridge, owned by the caller; free with bridge_free().  Untouched on error.
*/
NODISCARD Status // [main]
bridge_new(double rate_hz, uint32_t n_channels, uint32_t block_frames, double share, Bridge** out,
           Error* error);

/// Free a bridge.  Accepts NULL. [main]
void bridge_free(Bridge* bridge);

/// Order of the prediction for one output: 0, 2, 4, 8 or 16. [any]
uint32_t bridge_order(const Bridge* bridge, uint32_t channel);

/// Time that the first late block adds to the callback, in seconds, by the cost model. [any]
double bridge_cost(const Bridge* bridge);

// ---- in every block [rt] ----

/// Record the samples that an output has played.  NULL is silence.
REALTIME void bridge_record(Bridge* bridge, uint32_t channel, const float* row, uint32_t n_frames);

/// End a block, after all outputs.
REALTIME void bridge_advance(Bridge* bridge, uint32_t n_frames);

// ---- in a gap [rt] ----

/// Open a bridge: the gap begins with the next frame.
REALTIME void bridge_begin(Bridge* bridge);

/// Frames before the gap that bridge_predict() analyses for the group that begins with output
/// `first`: at most BRIDGE_HISTORY.
REALTIME uint32_t bridge_known(const Bridge* bridge, uint32_t first);

/// Analyse the group that begins with output `first`.  fallback[lane] is the fallback of output
/// `first` + lane in the last bridge_known() frames, from index 0 on.  Rows of outputs that do not
/// exist are ignored.
REALTIME void
bridge_predict(Bridge* bridge, uint32_t first, const float (*fallback)[BRIDGE_HISTORY]);

/// True until the correction has faded out.
REALTIME bool bridge_is_open(const Bridge* bridge);

/// Add the correction to the next frames of an output's fallback.  Call it for each output, in
/// ascending order, then bridge_advance() with the same number of frames.
REALTIME void bridge_add(Bridge* bridge, uint32_t channel, float* row, uint32_t n_frames);

#endif
