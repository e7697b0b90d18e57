// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The fallback: the sound of an output while its blocks are late, the dry signal at a level, or
   silence.

   The rack sets it (`late`), else EngineConfig::on_late.  If that is "auto", a copy of the rack
   processes one impulse per input, and its response decides:

     - An output has an *own input*: the input of the same number, or the rack's only input, if the
       input is connected to the output through the rack.  An output without one is silent.
     - An output without low frequencies (a tweeter) is silent.  Its largest magnitude below 150 Hz
       is at least 20 dB under its largest magnitude above.
     - Any other output plays its own input at the output's present level, at most 0 dB.  The
       callback measures that level from the energies of the wet and the dry signal (follower.h).
       Its initial value is the level of the response for pink noise.

   The copy runs on the CPU for a tenth of a second of audio (fallback_choose.h).  After an
   edit, an `auto` output has the choice of the last measurement, and the level goes on following
   the output, until the new rack has been measured.  A `late` statement of the new rack applies
   with the edit itself, and so does the removal of one.  If the rack cannot be measured, its `auto`
   outputs are silent.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_FALLBACK_H
#define WARPRACK_ENGINE_CONTRACT_FALLBACK_H

#include "effect.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum FallbackWhy {
  FALLBACK_RACK,     ///< The rack sets it
  FALLBACK_OPTION,   ///< EngineConfig::on_late sets it
  FALLBACK_LEVEL,    ///< auto: the present level of the output
  FALLBACK_NO_INPUT, ///< auto: it has no input of its own
  FALLBACK_NO_LOWS,  ///< auto: it has no low frequencies
  FALLBACK_UNKNOWN,  ///< auto: it could not be measured
  FALLBACK_N_WHYS
} FallbackWhy;

typedef struct Fallback {
  float level;    ///< Of the dry signal, linear, 0 to 1; 0: silence
  float response; ///< Level of the rack's own response, linear, 0 to 1; 0: not measured yet
  bool follows;   ///< `level` is the initial value; then the level follows the output
  FallbackWhy why;
} Fallback;

/// The fallbacks of all outputs of a rack.
typedef struct Fallbacks {
  uint32_t n;
  Fallback of[FX_MAX_CHANNELS];
} Fallbacks;

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
