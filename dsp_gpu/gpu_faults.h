// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Injected faults, for tests: an implementation of GpuApi that fails when a fault named gpu.*
   (../engine/base/faults.h) is due, and otherwise calls the real implementation.

   The asynchronous error, gpu.error, lets its own submission succeed.  The count of submissions
   includes those that try a new plan: two for each stage.
*/
#ifndef WARPRACK_DSP_GPU_GPU_FAULTS_H
#define WARPRACK_DSP_GPU_GPU_FAULTS_H

#include "gpu.h"

/// Put the faults in front of an implementation and reset their counts; its device counts as
/// intact.  One implementation at a time. [main, builder]
void gpu_faults_wrap(const GpuApi** api);

#endif
