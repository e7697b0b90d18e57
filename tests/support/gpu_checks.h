// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The properties that every implementation of dsp_gpu/gpu.h and of the kernels' dialect must have,
   checked on a real device.  The test of each API runs these checks in addition to its own.

   A driver starts threads, and a forked child does not have them.  So programs that use these
   checks run with CK_FORK=no.
*/
#ifndef WARPRACK_TESTS_GPU_CHECKS_H
#define WARPRACK_TESTS_GPU_CHECKS_H

#include "dsp_gpu/gpu.h"

#define GPU_CHECKS_GROUP 64U // threads per group of the kernels that gpu_rig_open() compiles

/// A device with the kernels of kernels/selftest.cu.
typedef struct GpuRig {
  const GpuApi* api;
  GpuDeviceInfo info;
  GpuDevice* device;
  GpuModule* module;
} GpuRig;

/// Open device 0 and compile the kernels; an error fails the test.
GpuRig gpu_rig_open(const GpuApi* api);
void gpu_rig_close(GpuRig* rig);

GpuBuffer* gpu_rig_buffer(const GpuRig* rig, size_t n_bytes);
GpuHostMemory* gpu_rig_host(const GpuRig* rig, size_t n_bytes);
GpuKernel* gpu_rig_kernel(const GpuRig* rig, const char* name);
GpuRecording* gpu_rig_record(const GpuRig* rig, const GpuWork* work);
/// Submit and poll until done.
void gpu_rig_run(const GpuRig* rig, GpuRecording* recording, uint64_t sequence);
/// Poll until done; fails the test after 20 s.
void gpu_rig_await(const GpuRig* rig, GpuRecording* recording, uint64_t sequence);

/// Sends n floats through a device: { copy in → in * gain → copy out }.
typedef struct GpuTrip {
  GpuHostMemory *in, *out;
  GpuBuffer *d_in, *d_out;
  GpuRecording* recording;
} GpuTrip;

GpuTrip gpu_trip_new(const GpuRig* rig, uint32_t n_floats, float gain);
void gpu_trip_free(const GpuRig* rig, GpuTrip* trip);

/// Run all checks, on device 0, and the tests of the program as one Check suite; returns the exit
/// code.
int gpu_checks_run(const GpuApi* api);

#endif
