// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Faults on demand, for tests: an implementation of the seam that fails when one of the faults
   called gpu.* (../engine/base/faults.h) makes it fail, and is the one behind it otherwise.

   An error that is asynchronous, gpu.error, leaves its own submission good.  Submissions are
   counted with those that try a plan out: two for each stage.
*/
#ifndef WARPRACK_DSP_GPU_GPU_FAULTS_H
#define WARPRACK_DSP_GPU_GPU_FAULTS_H

#include "gpu.h"

/// Put the faults in front of an implementation, whose device is whole; they are counted anew.  One
/// implementation at a time. [main, builder]
void gpu_faults_wrap(const GpuApi** api);

#endif
