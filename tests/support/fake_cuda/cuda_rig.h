// SPDX-License-Identifier: GPL-3.0-or-later
/// The CUDA half of dsp_gpu on the fake driver, with a ring of four slots.  Each slot copies a
/// block in, mixes it into a state that all slots share (selftest_history), and copies the result
/// out.
#ifndef WARPRACK_TESTS_FAKE_CUDA_CUDA_RIG_H
#define WARPRACK_TESTS_FAKE_CUDA_CUDA_RIG_H

#include "dsp_gpu/gpu.h"

#define RIG_SLOTS  4U
#define RIG_FRAMES 64U

typedef struct CudaRig {
  GpuDevice* device;
  void* ring; ///< Memory of the test, aligned to a page
  GpuHostMemory* region;
  GpuBuffer* in[RIG_SLOTS];
  GpuBuffer* out[RIG_SLOTS];
  GpuBuffer* state;
  GpuModule* module;
  GpuKernel* history;
  GpuRecording* recordings[RIG_SLOTS];
} CudaRig;

/// Reset the fake driver and register the kernels.  Disables the cache of modules.
void cuda_rig_prepare(void);

/// Describe, open, allocate, compile, record.  After an error the rig has the objects that were
/// made before the error; free them with cuda_rig_free().
Status cuda_rig_new(CudaRig* rig, Error* error);

/// Free all objects of the rig, which may be incomplete, and clear it.
void cuda_rig_free(CudaRig* rig);

/// Prepare and make a rig; an error fails the test.
CudaRig cuda_rig(void);

/// The input and output samples of a slot in the ring.
float* cuda_rig_in(const CudaRig* rig, uint32_t slot);
float* cuda_rig_out(const CudaRig* rig, uint32_t slot);

/// Submit a slot with `value` as every sample; an error fails the test.
void cuda_rig_submit(const CudaRig* rig, uint32_t slot, uint64_t sequence, float value);

/// Whether a slot is done; an error fails the test.
bool cuda_rig_is_done(const CudaRig* rig, uint32_t slot, uint64_t sequence);

#endif
