// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The input beside a take: the samples that the worker gets, as an AU file of 32-bit floats.  The
   header of that format needs no length, so the file is complete at each moment.

   All functions [control].
*/
#ifndef WARPRACK_CONTROL_TAKE_AUDIO_H
#define WARPRACK_CONTROL_TAKE_AUDIO_H

#include "take_state.h"

#include "engine/engine.h"

/// Listen to the first n_in inputs from the next block on, and write the header.  The caller then
/// sets TakeAudio::next_frame.  STATUS_LIMIT for more than LISTEN_CHANNELS of them, or none.
NODISCARD Status take_audio_begin(TakeAudio* audio, Engine* engine, uint32_t n_in, double rate_hz,
                                  Error* error);

/// Append the newest samples to TakeAudio::bytes, at the place of their frames: silent until the
/// first block, and for a moment when the audio begins again.  STATUS_LIMIT if samples are lost,
/// because nobody called this for half a second.
NODISCARD Status take_audio_read(TakeAudio* audio, Engine* engine, Error* error);

/// Take no more samples, and forget those that were not written.
void take_audio_end(TakeAudio* audio, Engine* engine);

#endif
