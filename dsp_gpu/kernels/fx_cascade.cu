// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Every filter that is a cascade of second-order sections: dsp_cpu/cascade.h in floats.  In two
  forms: a thread for each channel, or a group (SPREAD is 1), whose head comments say how.

  With s and r of dsp_cpu/cascade_kernel.h, whose states these are:

    v' = v + d
    d' = (r + s) d - s v' + x      r + s = 1 - 2 a1 / (1 + a1 + a0) in terms of dsp_cpu/section.h
    y  = b0 x + cv v' + (cd - cv) d

  The lower and narrower a filter is, the nearer is r + s to 1 and s to 0; s is not a difference,
  and two floats hold what 1 - r - s is to 2^-49.

  Errors at worst, for signals of full scale, in u = 2^-24, what rounding to a float takes off:
  - All coefficients, the states and what goes from section to section are sums of two floats, and
    all products and sums keep the rest of their rounding; rests are rounded, which is u u of the
    whole.  Floats alone would not do: s that is off by u changes a resonance by Q u, 1.2e-5 for a Q
    of 200; and rounding d, which is 1 / (2 pi f / rate) times the signal, at every frame leaves
  1e-6 at 10 Hz and 192 kHz.
  - y of the last section: three coefficients and three sums, u each, of numbers that are about the
    output at most: 6 u, or 3.6e-7 (-129 dB).
  - The cross-fade: 4 u, its weight being an odd polynomial around the middle.  The state that the
    next filter begins with: 4 u of what it was, which decays.
  So the output stays within 14 u, 8.4e-7, of exact arithmetic and within 1e-6 of the CPU's, which
  is rounded once.  But for one thing: a fade's length is a whole number of frames, and where a
  float and a double fall on different sides of one (once in some 10,000 changes), it is a frame
  longer or shorter than the CPU's.
*/

#include "cascade.h"
#if SPREAD
#include "cascade_spread.h"
#else
#include "cascade_channels.h"
#endif

KERNEL
fx_cascade(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, in, TILE_WORDS);
  LOCAL_ARRAY(f32, out, TILE_WORDS);
  LOCAL_ARRAY(f32, rest, TILE_WORDS);
  LOCAL_ARRAY(u32, scratch, SCRATCH_WORDS);
  Tiles tiles;
  tiles.in = in;
  tiles.out = out;
  tiles.rest = rest;
  group_run(STAGE, tiles, scratch);
}
