// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Injected faults, for tests: an implementation of GpuApi that fails when a fault named gpu.*
   (../engine/base/faults.h) is due, and otherwise calls the real implementation.

   With the asynchronous error, gpu.error, the submission itself succeeds.  The count of submissions
   includes the trial submissions of a new plan: two for each stage.
*/
#ifndef WARPRACK_DSP_GPU_GPU_FAULTS_H
#define WARPRACK_DSP_GPU_GPU_FAULTS_H

#include "gpu.h"

/// Put the faults in front of an implementation, reset their counts, and treat its device as
/// intact.  One implementation at a time. [main, builder]
void gpu_faults_wrap(const GpuApi** api);

#endif
