// SPDX-License-Identifier: GPL-3.0-or-later
/// The inner loop of every filter, for the instruction sets of this CPU.
#ifndef WARPRACK_DSP_CPU_CASCADE_KERNEL_H
#define WARPRACK_DSP_CPU_CASCADE_KERNEL_H

#include "filter_job.h"

#include "engine/base/status.h"

typedef struct CascadeKernel {
  const char* name;
  /// Filter any number of signals.  The result of a job depends neither on the other jobs, nor on
  /// how its frames are split into calls, nor on how its sections are split at ends of nodes.  No
  /// output is -0.0, so that the frame at which a state becomes zero does not show. [rt]
  void (*run)(const CascadeJob* jobs, uint32_t n_jobs, CascadeForm form, uint32_t n_frames);
} CascadeKernel;

/// Kernels that this CPU can run, the fastest first. [any]
const CascadeKernel* const* cascade_kernels(uint32_t* n_kernels);

#endif
