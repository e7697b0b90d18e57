// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The arithmetic of every filter: signals through cascades of sections.

   Method: each section is a direct form II in the delta operator, in double: R. H. Middleton and
   G. C. Goodwin, "Improved finite word length characteristics in digital control using delta
   operators", IEEE Trans. Automatic Control 31(11), 1986.  For

     H(z) = (b0 + b1 z^-1 + b2 z^-2) / (1 + a1 z^-1 + a2 z^-2),   s = 1 + a1 + a2,   r = -1 - a1

     y  = b0 x + (cv v + cd d)
     d' = r d + (x - s v)
     v' = v + d

   v is the delayed internal signal of a direct form II, and d its first difference.  s and r are
   stored directly: computing s and 1 - r from a1 and a2 cancels when the frequency is low against
   the rate (the tests go down to 10 Hz at 192 kHz).  The state depends on the poles alone, not on
   the zeros and gains.  The recursion from one d to the next is one multiply-add, the shortest
   possible; its latency limits the speed of a filter of few sections.

   The order of the operations is as written, with fused multiply-adds where the instruction set has
   them.  All kernels of an instruction set therefore give the same bits.
*/
#ifndef WARPRACK_DSP_CPU_FILTER_JOB_H
#define WARPRACK_DSP_CPU_FILTER_JOB_H

#include <stdint.h>

#define CASCADE_MAX_SECTIONS 16U

/// States below this value become zero at the end of a call, and during a long one.  The value is
/// far below the smallest float, so no output sample changes, and a decaying tail ends before its
/// states are denormal.
#define CASCADE_SMALLEST_STATE 1e-100

/// One section of one signal: coefficients and state, in one cache line.
typedef struct CascadeRow {
  double s, r, b0, cv, cd;
  double unused; ///< 0
  double v, d;   ///< State, see above
} CascadeRow;

/// One signal to filter.
typedef struct CascadeJob {
  CascadeRow* const* rows; ///< [n_sections], each one of this job alone; the states are updated
  const float* in;         ///< [n_frames]
  float* out;              ///< [n_frames], overlaps the `in` and `out` of no job
} CascadeJob;

/// The parts that all jobs of a call have in common.
typedef struct CascadeForm {
  uint32_t n_sections; ///< 1..CASCADE_MAX_SECTIONS
  /// Bit s is set if section s is the last one of a node: its output is rounded to float, as if it
  /// had been written to a row.  The bit of the last section has no effect.
  uint32_t node_ends;
} CascadeForm;

#endif
