// SPDX-License-Identifier: GPL-3.0-or-later
/*
  Every filter that is a cascade of second-order sections: dsp_cpu/cascade.h in floats, with one
  thread for each section (cascade_channels.h).  fx_cascade_long.cu has another form.

  With s and r of dsp_cpu/cascade_kernel.h, whose states these are:

    v' = v + d
    d' = (r + s) d - s v' + x      r + s = 1 - 2 a1 / (1 + a1 + a0) in terms of dsp_cpu/section.h
    y  = b0 x + cv v' + (cd - cv) d

  For low and narrow filters, r + s is near 1 and s near 0.  s is not computed as a difference, and
  two floats represent 1 - r - s to 2^-49.

  Where doubles are fast (HAS_FAST_F64), the arithmetic of sections is as on the CPU, in a third of
  the instructions.  Elsewhere, worst-case errors, for signals of full scale, in u = 2^-24, the
  rounding error of a float:
  - All coefficients, the states and the signals between sections are sums of two floats, and all
    products and sums keep their rounding error; the rounding of that error is u u of the result.
    Single floats are not enough: an error of u in s changes a resonance by Q u, 1.2e-5 for a Q of
    200; and d is 1 / (2 pi f / rate) times the signal, so rounding it in every frame leaves an
    error of 1e-6 at 10 Hz and 192 kHz.
  - y of the last section: three coefficients and three sums, with an error of u each, of numbers
    not much larger than the output: 6 u, or 3.6e-7 (-129 dB).
  - The cross-fade: 4 u, since its weight is an odd polynomial around the centre.  The initial state
    of the next filter: 4 u of the old state, which decays.
  So the output stays within 14 u, 8.4e-7, of exact arithmetic and within 1e-6 of the CPU's output,
  which is rounded once.  One exception: the length of a fade is rounded to frames.  If float and
  double round it differently (once in about 10,000 changes), the fade is one frame longer or
  shorter than on the CPU.
*/

#include "cascade_channels.h"

KERNEL
fx_cascade(STAGE_ARGS)
{
  LOCAL_ARRAY(f32, in, TILE_WORDS);
  LOCAL_ARRAY(f32, out, TILE_WORDS);
  LOCAL_ARRAY(f32, rest, TILE_WORDS);
  LOCAL_ARRAY(u32, scratch, SCRATCH_WORDS);
  const Stage stage = STAGE;
  chains_run(stage, chains_of(stage, scratch), tiles_of(in, out, rest), 0, 0);
}
