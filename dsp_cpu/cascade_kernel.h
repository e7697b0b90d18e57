// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The inner loop of every filter: signals through cascades of sections, one signal per SIMD lane.

   Method: each section is a trapezoidal state-variable filter (V. Zavalishin, "The Art of VA Filter
   Design" (2018), chapter 4; A. Simper, "Solving the continuous SVF equations using trapezoidal
   integration" (Cytomic, 2013)), in double.  Trapezoidal integration is the bilinear transform, so
   it is the exact cascade of a Section; unlike a direct form, it keeps its precision when the
   frequency is low against the rate, and its state depends on the poles alone, not on the gains.

     u   = e1 x1 + e2 (x - x2)
     y   = m0 x + mu u + m2 x2
     x1' = u - x1
     x2' = x2 + g u

   x1 and x2 are the integrators (band and low), u is twice the band output.
*/
#ifndef WARPRACK_DSP_CPU_CASCADE_KERNEL_H
#define WARPRACK_DSP_CPU_CASCADE_KERNEL_H

#include "../engine/status.h"

#include <stdint.h>

#define CASCADE_MAX_LANES    8U
#define CASCADE_MAX_SECTIONS 16U

/// One section of one signal: coefficients and state, a cache line.
typedef struct CascadeRow {
  double e1, e2, g, m0, mu, m2;
  double x1, x2;
} CascadeRow;

/// One signal to filter.
typedef struct CascadeJob {
  CascadeRow* rows; ///< [n_sections]; the state is updated
  const float* in;  ///< [n_frames]
  float* out;       ///< [n_frames], not `in`
} CascadeJob;

typedef struct CascadeKernel {
  const char* name;
  uint32_t n_lanes; ///< Jobs per call, at most CASCADE_MAX_LANES
  /// Filter up to n_lanes signals.  The result of a job does not depend on the others, nor on how
  /// its frames are split into calls. [rt]
  void (*run)(const CascadeJob* jobs, uint32_t n_jobs, uint32_t n_sections, uint32_t n_frames);
} CascadeKernel;

/// Kernels that this CPU can run, the fastest first. [any]
const CascadeKernel* const* cascade_kernels(uint32_t* n_kernels);

#endif
