// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The inner loop of every filter: signals through cascades of sections, one signal per SIMD lane.

   Method: each section is a direct form II in the delta operator, in double: R. H. Middleton and
   G. C. Goodwin, "Improved finite word length characteristics in digital control using delta
   operators", IEEE Trans. Automatic Control 31(11), 1986.  For

     H(z) = (b0 + b1 z^-1 + b2 z^-2) / (1 + a1 z^-1 + a2 z^-2),   s = 1 + a1 + a2,   r = -1 - a1

     y  = b0 x + cv v + cd d
     d' = r d - s v + x
     v' = v + d

   v is the delayed internal signal of a direct form II, and d its first difference.  s and r are
   stored directly: computing s and 1 - r from a1 and a2 cancels when the frequency is low against
   the rate (the tests go down to 10 Hz at 192 kHz).  The state depends on the poles alone, not on
   the zeros and gains.  The recursion from one d to the next is one multiply-add, the shortest
   possible; its latency limits the speed of a filter of few sections.
*/
#ifndef WARPRACK_DSP_CPU_CASCADE_KERNEL_H
#define WARPRACK_DSP_CPU_CASCADE_KERNEL_H

#include "engine/base/status.h"

#include <stdint.h>

#define CASCADE_MAX_LANES    8U
#define CASCADE_MAX_SECTIONS 16U

/// One section of one signal: coefficients and state, in one cache line.
typedef struct CascadeRow {
  double s, r, b0, cv, cd;
  double unused; ///< 0
  double v, d;   ///< State, see above
} CascadeRow;

/// One signal to filter.
typedef struct CascadeJob {
  CascadeRow* rows; ///< [n_sections]; the state is updated
  const float* in;  ///< [n_frames]
  float* out;       ///< [n_frames], does not overlap `in`
} CascadeJob;

typedef struct CascadeKernel {
  const char* name;
  uint32_t n_lanes; ///< Jobs per call, at most CASCADE_MAX_LANES
  /// Filter up to n_lanes signals.  The result of a job depends neither on the other jobs nor on
  /// how its frames are split into calls. [rt]
  void (*run)(const CascadeJob* jobs, uint32_t n_jobs, uint32_t n_sections, uint32_t n_frames);
} CascadeKernel;

/// Kernels that this CPU can run, the fastest first. [any]
const CascadeKernel* const* cascade_kernels(uint32_t* n_kernels);

#endif
