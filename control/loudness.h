// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Loudness of ports by EBU R 128 (ITU-R BS.1770-4) and their true peak, by libebur128, on a thread
   of its own with low priority: its filters cost far more than a message may.
*/
#ifndef WARPRACK_CONTROL_LOUDNESS_H
#define WARPRACK_CONTROL_LOUDNESS_H

#include "engine/engine.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Loudness Loudness;

/// Negative infinity for silence, and before there is enough sound.
typedef struct LoudnessValues {
  double momentary, short_term; ///< LUFS over 0.4 s and over 3 s
  double integrated;            ///< LUFS since the beginning, gated
  double true_peak;             ///< dBTP since the beginning: the largest of all channels
} LoudnessValues;

/// Start the thread.  Free with loudness_free(). [control]
NODISCARD Status loudness_new(Engine* engine, Loudness** out, Error* error);

/// Stop the thread.  Accepts NULL. [control]
void loudness_free(Loudness* loudness);

/// Measure some ports, from now on, with place 0 to LISTEN_MAX - 1; n 0: no more. [control]
void loudness_measure(Loudness* loudness, uint32_t place, const PortRange* ports);

/// The newest values of a place. [control]
LoudnessValues loudness_values(Loudness* loudness, uint32_t place);

/// Number of frames that were lost because the thread was late. [control]
uint64_t loudness_lost(Loudness* loudness);

#endif
