// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The fallback: the sound of an output while its blocks are late, the dry signal at a level, or
   silence.

   The rack's `late` statement sets the fallback; without one, EngineConfig::on_late does.  For
   "auto", a copy of the rack processes a test signal of -6 dBFS in each input.  The response of an
   output (the sum of the powers from all inputs, relative to the signal) then decides:

     - An output has an *own input*: the input of the same number, or the rack's only input, if the
       input is connected to the output through the rack.  An output without one is silent.
     - An output whose response to its own input does not begin within FALLBACK_BEGIN_S is silent,
       for example after a closed gate: its level could not be measured.
     - An output without low frequencies (for a tweeter) is silent: its largest magnitude below
       150 Hz is at least 20 dB less than its largest magnitude above 150 Hz.
     - Any other output plays its own input at the output's present level, at most 0 dB.  The
       callback measures that level from the energies of the wet and the dry signal (follower.h).
       Its initial value is the level of the response for pink noise.

   The copy runs on the CPU, until all responses have begun and lasted for 0.2 s of audio
   (fallback_choose.h).  After an edit, until the new rack has been measured, an `auto` output
   keeps the choice of the last measurement, and its level continues to follow the output.  Adding
   or removing a `late` statement takes effect with the edit.  If there is no memory for the copy,
   the `auto` outputs are silent.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_FALLBACK_H
#define WARPRACK_ENGINE_CONTRACT_FALLBACK_H

#include "effect.h"

#include <stdbool.h>
#include <stdint.h>

#define FALLBACK_GOOD_BLOCKS 8U  // blocks on time, in a row, before the wet signal returns
#define FALLBACK_BEGIN_S     1.0 // latest beginning of a measured response, after the rack's latency

typedef enum FallbackWhy {
  FALLBACK_RACK,     ///< The rack sets it
  FALLBACK_OPTION,   ///< EngineConfig::on_late sets it
  FALLBACK_LEVEL,    ///< auto: the present level of the output
  FALLBACK_NO_INPUT, ///< auto: the output has no input of its own
  FALLBACK_NO_LOWS,  ///< auto: the output has no low frequencies
  FALLBACK_UNKNOWN,  ///< auto: the output could not be measured
  FALLBACK_N_WHYS
} FallbackWhy;

typedef struct Fallback {
  float level;    ///< Level of the dry signal, linear, 0 to 1; 0: silence
  float response; ///< Level of the rack's own response, linear, 0 to 1; 0: not measured yet
  bool follows;   ///< `level` is the initial value; then the level follows the output
  FallbackWhy why;
} Fallback;

/// The fallbacks of all outputs of a rack.
typedef struct Fallbacks {
  uint32_t n;
  Fallback of[FX_MAX_CHANNELS];
} Fallbacks;

/// Give each output whose fallback is `auto` and not measured yet the choice that it had in
/// `before`, if that was `auto`, too.  Its level continues to follow the output.  Does nothing for
/// another number of outputs. [any]
void fallback_keep(const Fallbacks* before, Fallbacks* now);

/// The reason in one word: "rack", "option", "level", "no-input", "no-lows", "unknown".
const char* fallback_why(FallbackWhy why);

/// Describe the fallback of output `first` and of the outputs after it with the same fallback:
/// "out:1-2: the input at -40.0 dB, the output's own level (auto)".  Outputs count from 0.  Returns
/// the first output with another fallback.
#define FALLBACK_TEXT_BYTES 128U
uint32_t
fallback_describe(const Fallbacks* fallbacks, uint32_t first, char text[FALLBACK_TEXT_BYTES]);

/// One line of text, with a newline, for each range of outputs whose fallback is louder by 6 dB or
/// more than the rack's own output, or whose response could not be measured.  The caller frees it.
/// NULL when out of memory.
char* fallback_warnings(const Fallbacks* fallbacks);

#endif
