// SPDX-License-Identifier: GPL-3.0-or-later
/**
   One or two signals through a cascade, one section per SIMD lane.

   Section s works some frames, the skew, behind section s - 1.  The output of a lane moves up to
   the next one and waits there: so neither the move nor the rounding at the end of a node lengthens
   the recurrence, whose latency limits the speed.  At both ends of a call, and every 512 frames,
   there are steps in which only some of the lanes work.  Each lane does the operations of
   filter_job.h in their order.
*/
#ifndef WARPRACK_DSP_CPU_CASCADE_WAVE_H
#define WARPRACK_DSP_CPU_CASCADE_WAVE_H

#include "filter_job.h"

/// CascadeKernel::run for one or two jobs, on x86 processors with AVX2 and FMA.
void cascade_wave(const CascadeJob* jobs, uint32_t n_jobs, CascadeForm form, uint32_t n_frames);

#endif
