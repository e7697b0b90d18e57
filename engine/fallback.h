// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What an output plays while its blocks are late: the dry signal at a level, or silence.

   The rack says so (`late`), else EngineConfig::on_late.  Where that leaves the choice ("auto"), a
   copy of the rack is given an impulse, and decides:

     - An output without an input of its own is silent: an input of the same number, or the only
   one, from which a way leads to the output.
     - So is one that lacks its lows, a tweeter: the largest magnitude of its response below 150 Hz
       is at least 20 dB under the largest above.
     - Any other plays its input at the level that it really has, 0 dB at most: the engine's other
       half follows the energies of wet and dry (follower.h), and begins with the level that the
       response has for pink noise.

   The copy is run on the CPU for a tenth of a second of its own time (fallback_choose.h).  After an
   edit, an `auto` output keeps its fallback, and the level goes on following the output, until the
   new rack has been measured.  A `late` statement of the new rack applies with the edit itself.  If
   the rack cannot be measured, its `auto` outputs are silent.
*/
#ifndef WARPRACK_ENGINE_FALLBACK_H
#define WARPRACK_ENGINE_FALLBACK_H

#include "effect.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum FallbackWhy {
  FALLBACK_RACK,     ///< The rack says so
  FALLBACK_OPTION,   ///< EngineConfig::on_late does
  FALLBACK_LEVEL,    ///< auto: the level that the output has
  FALLBACK_NO_INPUT, ///< auto: it has no input of its own
  FALLBACK_NO_LOWS,  ///< auto: it lacks its lows
  FALLBACK_UNKNOWN,  ///< auto: it could not be measured
  FALLBACK_N_WHYS
} FallbackWhy;

typedef struct Fallback {
  float level;    ///< Of the dry signal, linear, 0 to 1; 0: silence
  float response; ///< Level of the rack's own response, linear, 0 to 1; 0: not measured yet
  bool follows;   ///< `level` is where it begins: then it is the level that the output really has
  FallbackWhy why;
} Fallback;

/// Those of all outputs of a rack.
typedef struct Fallbacks {
  uint32_t n;
  Fallback of[FX_MAX_CHANNELS];
} Fallbacks;

/// The reason in one word: "rack", "option", "level", "no-input", "no-lows", "unknown".
const char* fallback_why(FallbackWhy why);

/// What the outputs from `first` on play that have the same fallback as it, in words: "out:1-2: the
/// input at -40.0 dB, the output's own level (auto)".  Returns the first output behind them, from 0
/// as `first`.
#define FALLBACK_TEXT_BYTES 128U
uint32_t
fallback_describe(const Fallbacks* fallbacks, uint32_t first, char text[FALLBACK_TEXT_BYTES]);

/// One line for those outputs that would be louder by 6 dB or more than the rack makes them, or
/// whose response could not be measured, ended by a newline; the caller frees it.  NULL when out of
/// memory.
char* fallback_warnings(const Fallbacks* fallbacks);

#endif
