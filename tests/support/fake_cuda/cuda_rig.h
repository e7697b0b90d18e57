// SPDX-License-Identifier: GPL-3.0-or-later
/// The CUDA half on the fake driver with a ring of four slots: each copies a block in, mixes it
/// into a state that the slots share (selftest_history), and copies the result out.
#ifndef WARPRACK_TESTS_FAKE_CUDA_CUDA_RIG_H
#define WARPRACK_TESTS_FAKE_CUDA_CUDA_RIG_H

#include "dsp_gpu/gpu.h"

#define RIG_SLOTS  4U
#define RIG_FRAMES 64U

typedef struct CudaRig {
  GpuDevice* device;
  void* ring; ///< Page aligned, the test's own
  GpuHostMemory* region;
  GpuBuffer* in[RIG_SLOTS];
  GpuBuffer* out[RIG_SLOTS];
  GpuBuffer* state;
  GpuModule* module;
  GpuKernel* history;
  GpuRecording* recordings[RIG_SLOTS];
} CudaRig;

/// Teach the fake driver the kernels; no cache of modules.
void cuda_rig_prepare(void);

/// Describe, open, allocate, compile, record.  After an error the rig holds what was made until
/// then.
Status cuda_rig_new(CudaRig* rig, Error* error);

/// As much of that as is there; sets it to nothing.
void cuda_rig_free(CudaRig* rig);

/// A new rig, or the test fails.
CudaRig cuda_rig(void);

/// The samples of a slot in the ring.
float* cuda_rig_in(const CudaRig* rig, uint32_t slot);
float* cuda_rig_out(const CudaRig* rig, uint32_t slot);

/// Submit a slot with `value` as every sample; the test fails on an error.
void cuda_rig_submit(const CudaRig* rig, uint32_t slot, uint64_t sequence, float value);

/// Whether a slot is done; the test fails on an error.
bool cuda_rig_is_done(const CudaRig* rig, uint32_t slot, uint64_t sequence);

#endif
