// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Some signals through a cascade, one section per SIMD lane; two signals share a vector.

   Section s works some frames, the skew, behind section s - 1.  The output of a section moves to
   the lane of the next one and waits there, so neither the move nor the rounding at the end of a
   node lengthens the recurrence, whose latency limits the speed.  At both ends of a call, and of
   every chunk of a long one, there are steps in which only some of the lanes work.  Each lane does
   the operations of filter_job.h in their order.
*/
#ifndef WARPRACK_DSP_CPU_CASCADE_WAVE_H
#define WARPRACK_DSP_CPU_CASCADE_WAVE_H

#include "filter_job.h"

/// CascadeKernel::run for one to four jobs, on x86 processors with AVX2 and FMA.
void
cascade_wave_avx2(const CascadeJob* jobs, uint32_t n_jobs, CascadeForm form, uint32_t n_frames);

/// The same with AVX-512 (F, DQ and VL).
void
cascade_wave_avx512(const CascadeJob* jobs, uint32_t n_jobs, CascadeForm form, uint32_t n_frames);

#endif
