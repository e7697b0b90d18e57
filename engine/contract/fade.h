// SPDX-License-Identifier: GPL-3.0-or-later
/**
   A fade: a parameter goes to a new value in a given number of frames, on a curve.

   A fade is evaluated on a grid of FADE_GRID frames that begins at its own first frame, never at
   that of a block, so that the samples do not depend on the blocks.  At each point of the grid,
   FxInfo::set() gets the value that the fade has FADE_AHEAD frames later, with a ramp of that
   length.  The next point is half of it away, so the ramp turns there while it moves: a straight
   line keeps its slope within some per cent, which ramps that end at each point would not.  The
   last ramp ends with the fade, exactly at its value:

       frame   0        64       128             n - 128 ... n - 65      n
       ramp    |----- to 128 -----|                   |-------- to n -----|
                        |----- to 192 -----|                    no further point

   A fade of at most FADE_AHEAD frames is one ramp.

   Values move as a controller would move them, by the taper of their parameter.  Only numbers of
   the effect fade (fx_param_fades()); the player changes whole numbers, choices and switches at the
   start of the time, and a switch that goes off at its end.
*/
#ifndef WARPRACK_ENGINE_CONTRACT_FADE_H
#define WARPRACK_ENGINE_CONTRACT_FADE_H

#include "effect.h"

#define FADE_GRID  64U
#define FADE_AHEAD (2U * FADE_GRID)

/// Fades that run at a time in a worker.
#define FADE_MAX 4096U

/// No further point.
#define FADE_NEVER UINT64_MAX

/// How far a fade is at a part w of its time.
typedef enum FxCurve {
  CURVE_LINEAR, ///< w
  CURVE_S,      ///< 3 w^2 - 2 w^3: slow at both ends
  CURVE_IN,     ///< w^2: slow at the start
  CURVE_OUT,    ///< 1 - (1 - w)^2: slow at the end
  FX_N_CURVES
} FxCurve;

/// Names by FxCurve: "linear", "s", "in", "out"; NULL-terminated.
extern const char* const fx_curve_names[];

/// A fade that runs, or has yet to begin in the current block.
typedef struct Fade {
  uint32_t node_index; ///< As BatchUnit::node_index
  uint32_t param;
  const FxParam* row;        ///< Of the parameter
  double from, to;           ///< Values
  double from_norm, to_norm; ///< Their positions (fx_param_to_norm()); not used of TAPER_LINEAR
  uint64_t start;            ///< Frame time of its first frame
  uint64_t until;    ///< Frame time at which a later message takes over the parameter; FADE_NEVER
  uint32_t n_frames; ///< At least 1
  FxCurve curve;
} Fade;

/// The arguments of FxInfo::set() at a point.
typedef struct FadePoint {
  double value;
  uint32_t ramp_frames;
} FadePoint;

/// The value at a part of the time, 0 to 1; exactly `from` at 0 and `to` at 1. [any]
REALTIME double
fx_fade_value(const FxParam* param, double from, double to, FxCurve curve, double position);

/// Set Fade::from and Fade::to, and what follows from them; the parameter is set. [player]
REALTIME void fade_set_ends(Fade* fade, double from, double to);

/// The value of a fade at a frame time from its start on. [player]
REALTIME double fade_value(const Fade* fade, uint64_t frame);

/// Frame time of the first point at or after `frame`, or FADE_NEVER. [player]
REALTIME uint64_t fade_next(const Fade* fade, uint64_t frame);

/// A point, at a result of fade_next(). [player]
REALTIME FadePoint fade_point(const Fade* fade, uint64_t frame);

#endif
