// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Faults on demand, for tests: an implementation of the seam that fails where the environment
   variable WARPRACK_FAULTS says, and is the one behind it otherwise.  Built with -Dfaults=true
   only.

   The variable is a list of names, each with the occurrence at which it fires, from 1, separated by
   commas: `gpu.hang@100,gpu.nomem@3`.

     gpu.build@N      the N-th module's source has a mistake at its end
     gpu.error@N=CODE an asynchronous error befalls the N-th submission; the device is lost
     gpu.hang@N       the N-th submission and all later ones are never done
     gpu.late@N=MS    the N-th submission is seen done MS milliseconds late
     gpu.nomem@N      the N-th buffer and all later ones do not fit
     gpu.record@N     the N-th recording is refused

   Submissions are counted with those that try a plan out: two for each stage.
*/
#ifndef WARPRACK_DSP_GPU_GPU_FAULTS_H
#define WARPRACK_DSP_GPU_GPU_FAULTS_H

#include "gpu.h"

/**
   Put the faults that are asked for in front of an implementation; counting begins anew.  One
   implementation at a time.

   @param[in,out] api Unchanged when none is asked for.
   @return STATUS_BAD_ARG when the variable cannot be read. [main, builder]
*/
NODISCARD Status gpu_faults_wrap(const GpuApi** api, Error* error);

#endif
