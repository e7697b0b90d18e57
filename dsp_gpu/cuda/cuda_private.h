// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by the files of the CUDA implementation: cuda.c (driver, devices), cuda_errors.c,
   cuda_memory.c, cuda_module.c and cuda_record.c (recordings, and how slots overlap).

   Builder and player use a device at the same time.  The player uses only `lanes` and the atomic
   members; the copy and compute streams, the events that join them and the staging memory belong to
   the builder.
*/
#ifndef WARPRACK_DSP_GPU_CUDA_CUDA_PRIVATE_H
#define WARPRACK_DSP_GPU_CUDA_CUDA_PRIVATE_H

#include "cuda_driver.h"
#include "nvrtc_compile.h"

#include "dsp_gpu/gpu.h"

#include <stdatomic.h>

#define CUDA_N_LANES        2U
#define CUDA_SPARE_WORDS    16U // pinned memory is slow to allocate, and freeing it stalls the device
#define CUDA_RESERVED_WORDS 8U // of recordings, from the start: for two plans of two stages

/// A stream for every second submission with copies to the device.  The first lane also runs all
/// submissions without copies.
typedef struct CudaLane {
  CUstream stream;      ///< Submissions of one lane run one after another
  CUevent kernels_done; ///< Recorded by each submission with copies after its last kernel
} CudaLane;

struct GpuDevice {
  CUcontext context;
  NvrtcMachine machine;
  uint32_t first_way; ///< The first of nvrtc_way() whose code the driver has not refused
  CudaLane lanes[CUDA_N_LANES];

  // The builder's streams, for captures of recordings, copies and clears
  CUstream copy_in, compute, copy_out;
  CUevent copied_in, computed, marked, copied_out; ///< Join the streams of a recording
  void* h_staging;                                 ///< Pinned, CUDA_STAGING_BYTES
  GpuHostMemory* spare_words[CUDA_SPARE_WORDS];    ///< [n_spare_words] from freed recordings
  uint32_t n_spare_words;
  GpuModule* done_module;
  GpuKernel* done_kernel;       ///< Writes the done word
  GpuKernel* await_kernel;      ///< Begins an armed chain
  GpuKernel* ended_kernel;      ///< Ends an armed chain
  _Atomic(GpuRecording*) armed; ///< Armed and not yet submitted; written by the player, and by
                                ///< recording_free() while no player runs

  CUstream nudges;         ///< Depends on no other stream; used by the thread that keeps the device
                           ///< awake
  GpuKernel* nudge_kernel; ///< Does nothing

  atomic_uint n_objects;          ///< Objects made through GpuApi and not yet freed
  atomic_int last_result;         ///< CUresult of the last failed submit() or poll()
  _Atomic(const char*) last_call; ///< The name of that call
  atomic_bool is_lost;            ///< A sticky error has happened
};

// Large enough that the fixed cost of a copy is a few percent of its time.
#define CUDA_STAGING_BYTES ((size_t)1 << 20U)

struct GpuBuffer {
  GpuDevice* device;
  CUdeviceptr d_memory;
  size_t n_bytes;
};

struct GpuHostMemory {
  GpuDevice* device;
  void* h_memory;
  CUdeviceptr d_memory; ///< The device's address of the same memory
  size_t n_bytes;
  bool is_registered; ///< True: the caller's memory; false: the driver's
};

struct GpuKernel {
  char* name;
  CUfunction function;
  GpuKernel* next;
};

struct GpuModule {
  GpuDevice* device;
  char name[64]; ///< Name of the source, for messages
  CUmodule module;
  GpuKernel* kernels;
};

// ---- cuda_errors.c ----

extern CudaDriver cuda; ///< Filled by load()

/// Make the context current in this thread; STATUS_DEVICE_LOST on a lost device. [any]
NODISCARD Status cuda_enter(GpuDevice* device, Error* error);

/// Error and status of a call on a device; marks the device as lost after a sticky error.
/// STATUS_OK for CUDA_SUCCESS. [main, builder]
NODISCARD Status cuda_check(GpuDevice* device, CUresult result, const char* call, Error* error);

/// Like cuda_check(), for every call that writes a handle or an address to `*made`, which the
/// caller has set to 0.  Success with `*made` still 0 is an error, too. [main, builder]
NODISCARD Status cuda_check_made(GpuDevice* device, CUresult result, const void* made,
                                 const char* call, Error* error);

/// As cuda_check(), but without a text; last_error() returns it later. [player]
Status cuda_note(GpuDevice* device, CUresult result, const char* call);

/// As in GpuApi.
void cuda_last_error(GpuDevice* device, Error* error);

/// Free device memory in bytes; 0 if the driver does not report it. [builder]
uint64_t cuda_free_bytes(GpuDevice* device);

// cuda_memory.c, as in GpuApi
Status cuda_buffer_new(GpuDevice* device, size_t n_bytes, GpuBuffer** buffer, Error* error);
void cuda_buffer_free(GpuBuffer* buffer);
uint64_t cuda_buffer_address(const GpuBuffer* buffer);
Status
cuda_buffer_write(GpuBuffer* buffer, size_t offset, const void* from, size_t n_bytes, Error* error);
Status cuda_buffer_read(GpuBuffer* buffer, size_t offset, void* to, size_t n_bytes, Error* error);
Status cuda_host_register(GpuDevice* device, void* memory, size_t n_bytes, GpuHostMemory** host,
                          Error* error);
Status cuda_host_new(GpuDevice* device, size_t n_bytes, GpuHostMemory** host, Error* error);
void* cuda_host_pointer(GpuHostMemory* host);
void cuda_host_free(GpuHostMemory* host);

// cuda_module.c, as in GpuApi
Status cuda_module_new(GpuDevice* device, const char* name, const char* source,
                       const char* const* options, GpuModule** module, Error* error);
void cuda_module_free(GpuModule* module);
Status cuda_kernel_get(GpuModule* module, const char* name, GpuKernel** kernel, Error* error);

// cuda_record.c, as in GpuApi
Status cuda_record(GpuDevice* device, const GpuWork* work, GpuRecording** recording, Error* error);
void cuda_recording_free(GpuRecording* recording);
/// Allocate spare words, as cuda_open() does.
NODISCARD Status cuda_words_reserve(GpuDevice* device, Error* error);
Status cuda_rehearse(GpuRecording* recording, uint64_t sequence);
Status cuda_arm(GpuRecording* recording);
void cuda_disarm(GpuRecording* recording);
Status cuda_submit(GpuRecording* recording, uint64_t sequence);
Status cuda_poll(GpuRecording* recording, uint64_t sequence, bool* done);
Status cuda_nudge(GpuDevice* device);
Status cuda_finish(GpuDevice* device, Error* error);

/// Source of the kernels that begin and end recordings, and of a kernel that does nothing.
extern const char cuda_done_source[];
#define CUDA_AWAIT_KERNEL "warprack_await"
#define CUDA_DONE_KERNEL  "warprack_done"
#define CUDA_ENDED_KERNEL "warprack_ended"
#define CUDA_NUDGE_KERNEL "warprack_nudge"

#endif
