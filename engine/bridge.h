// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The bridge from what an output has just played to its fallback, over a gap in the wet signal.

   What plays in the gap is the fallback, and on top of it what the output had in addition to it:
   the difference of the two over the last BRIDGE_HISTORY frames is continued by linear prediction
   and faded out over the length of the bridge.  So value, slope and tones go on where the gap
   begins, and an output that was its fallback already, a rack that only turns down, goes on as if
   nothing were missing.  While the bridge lasts no sample is more than 0.4 dB above the largest of
   the last BRIDGE_HISTORY frames, or above the fallback, where that is larger.

   The predictor is Burg's (J. P. Burg, "Maximum entropy spectral analysis", 37th meeting of the
   Society of Exploration Geophysicists, 1967), of order 16, with the parabolic taper of D. N.
   Swingler, "A modified Burg algorithm for maximum entropy spectral analysis", Proc. IEEE 67(9),
   1979: without it the frequency of a tone depends on its phase, and 16 ms later the tone is out of
   step.  Its reflection coefficients are below 1, so that what it continues never grows without
   end.

   Prediction is work for the callback, at the first missing block of all outputs at once.  It is
   bounded by the number of outputs: of very many, each gets a lower order (see bridge_new()).
*/
#ifndef WARPRACK_ENGINE_BRIDGE_H
#define WARPRACK_ENGINE_BRIDGE_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

#define BRIDGE_HISTORY   256U // frames that the prediction knows
#define BRIDGE_MAX_ORDER 16U
#define BRIDGE_LANES     4U // outputs that are predicted side by side

typedef struct Bridge Bridge;

/**
   A bridge for n_channels outputs in blocks of `block_frames`: three blocks long, 20 ms at most.

   The order is 16, or the largest power of two at which predicting all outputs is held to take a
   quarter of the period; 0, where what was there is held and faded out.

   @param[out] out New bridge, owned by the caller; free with bridge_free().  Untouched on error.
*/
NODISCARD Status // [main]
bridge_new(double rate_hz, uint32_t n_channels, uint32_t block_frames, Bridge** out, Error* error);

/// Free a bridge.  Accepts NULL. [main]
void bridge_free(Bridge* bridge);

/// Order of the prediction. [any]
uint32_t bridge_order(const Bridge* bridge);

// ---- in every block [rt] ----

/// What an output has played: NULL is silence.
REALTIME void bridge_hear(Bridge* bridge, uint32_t channel, const float* row, uint32_t n_frames);

/// All outputs have been heard: go on.
REALTIME void bridge_advance(Bridge* bridge, uint32_t n_frames);

// ---- in a gap [rt] ----

/// The gap begins with the next frame.
REALTIME void bridge_begin(Bridge* bridge);

/// Predict outputs `first` to `first` + BRIDGE_LANES - 1.  fallback[lane] is what each would have
/// played as its fallback in the last BRIDGE_HISTORY frames; lanes that are no outputs any more are
/// not looked at.
REALTIME void
bridge_predict(Bridge* bridge, uint32_t first, const float (*fallback)[BRIDGE_HISTORY]);

/// True until the bridge has reached the fallback.
REALTIME bool bridge_is_open(const Bridge* bridge);

/// Make of a block of an output's fallback what plays in the gap.  Each output is asked for once
/// between two calls of bridge_advance().
REALTIME void bridge_add(Bridge* bridge, uint32_t channel, float* row, uint32_t n_frames);

#endif
