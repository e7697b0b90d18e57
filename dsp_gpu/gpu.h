// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The seam to the GPU: what warprack needs of a driver, and nothing else.  Two implementations,
   cuda.c (driver API and NVRTC) and opencl.c (1.2 and later), both opened at run time: the program
   starts and works with neither.

   Kernels come as source in the dialect of kernels/dialect.h, which both compile.  A block's work
   is recorded once per ring slot and then submitted again and again:

       record:   {copies in} → {kernels, in order} → {copies out} → done word = sequence number

   On CUDA each kind of work has its stream, joined by events and captured as one graph per slot, so
   that the copies of one slot overlap the kernels of another; on OpenCL three queues do the same.
   Hence recordings in flight together copy to and from different places.
   Completion is a word in host memory that the worker polls (CUDA), or the state of the last
   command (OpenCL, which gives no other promise that what was written can be seen).

   Threads: [main] lists and opens; [builder] allocates, compiles, records, warms up; [player]
   submits and polls, and nothing else while blocks arrive.  Builder and worker use one device at
   the same time; every other object is used by one thread at a time.

   Errors carry the driver's own words.  STATUS_NO_MEM is memory of device or host,
   STATUS_BAD_ARG a caller's mistake, STATUS_NO_BACKEND all else that a driver refuses.  A sticky
   error (the device's context is lost) makes every later call fail with STATUS_DEVICE_LOST; what is
   left then is to free all objects, which still works, and close.
*/
#ifndef WARPRACK_DSP_GPU_GPU_H
#define WARPRACK_DSP_GPU_GPU_H

#include "engine/base/status.h"
#include "engine/contract/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_MAX_ARGS  16U
#define GPU_MAX_GROUP 256U // threads per group in shared kernels: what every driver allows
/// Bytes, of every buffer and of offsets into it: NVIDIA's OpenCL asks most.
#define GPU_ALIGNMENT 512U

typedef struct GpuDevice GpuDevice;
typedef struct GpuBuffer GpuBuffer;         ///< Memory of the device
typedef struct GpuHostMemory GpuHostMemory; ///< Host memory that the device can reach
typedef struct GpuModule GpuModule;         ///< Compiled source
typedef struct GpuKernel GpuKernel;         ///< One entry point; lives as long as its module
typedef struct GpuRecording GpuRecording;   ///< Work that can be submitted

typedef struct GpuDeviceInfo {
  char name[128];
  char driver[64];        ///< Version of driver or platform
  uint64_t memory_bytes;  ///< In all
  uint64_t largest_bytes; ///< Of one buffer
  uint32_t compute_units;
  uint32_t max_group;   ///< Threads per group
  uint32_t local_bytes; ///< Local (shared) memory per group
  uint32_t capability;  ///< CUDA: 10 * major + minor; OpenCL: 0
  bool is_gpu;          ///< False for CPUs under OpenCL (PoCL)
  bool shares_memory;   ///< The device works in host memory: copies are needless
  bool reaches_host;    ///< Kernels may be given host memory; without, it takes copies
} GpuDeviceInfo;

/// A copy between host memory and a buffer.
typedef struct GpuCopy {
  GpuBuffer* buffer;
  size_t buffer_offset; ///< Bytes
  GpuHostMemory* host;
  size_t host_offset; ///< Bytes
  size_t n_bytes;
} GpuCopy;

typedef enum GpuArgKind { GPU_ARG_BUFFER, GPU_ARG_HOST, GPU_ARG_U32, GPU_ARG_F32 } GpuArgKind;

/// One argument of a kernel: a pointer to a buffer or, where GpuDeviceInfo::reaches_host, to host
/// memory, with an offset in bytes (a multiple of GPU_ALIGNMENT), or a number.
typedef struct GpuArg {
  GpuArgKind kind;
  union {
    GpuBuffer* buffer;
    GpuHostMemory* host;
    uint32_t u32;
    float f32;
  };
  size_t offset;
} GpuArg;

typedef struct GpuLaunch {
  GpuKernel* kernel;
  uint32_t groups[2];  ///< Number of groups in x and y
  uint32_t group_size; ///< Threads in x; as the source was compiled for (GROUP_SIZE)
  uint32_t n_args;
  GpuArg args[GPU_MAX_ARGS];
} GpuLaunch;

/// What a recording does.
typedef struct GpuWork {
  uint32_t slot; ///< Of the ring: recordings of an even and of an odd slot overlap
  const GpuCopy* in;
  uint32_t n_in;
  const GpuLaunch* launches;
  uint32_t n_launches;
  const GpuCopy* out;
  uint32_t n_out;
} GpuWork;

typedef struct GpuApi {
  const char* name; ///< "cuda", "opencl"

  /// Open the driver.  STATUS_NO_BACKEND with what is missing; cheap to call again. [main]
  Status (*load)(Error* error);
  /// Number of devices, 0 when load() failed. [main]
  uint32_t (*n_devices)(void);
  Status (*describe)(uint32_t index, GpuDeviceInfo* info, Error* error); ///< [main]
  /// Make a context on a device. [main]
  Status (*open)(uint32_t index, GpuDevice** device, Error* error);
  /// Free a context, after all that was made on it has been freed.  Accepts NULL. [main]
  void (*close)(GpuDevice* device);
  /// Free device memory now, in bytes; 0 when the driver cannot tell. [builder]
  uint64_t (*free_bytes)(GpuDevice* device);

  /// Device memory, zeroed.  STATUS_NO_MEM with the sizes asked for and left. [builder]
  Status (*buffer_new)(GpuDevice* device, size_t n_bytes, GpuBuffer** buffer, Error* error);
  void (*buffer_free)(GpuBuffer* buffer);
  /// Copy now and wait; n_bytes at byte `offset`. [builder]
  Status (*buffer_write)(GpuBuffer* buffer, size_t offset, const void* from, size_t n_bytes,
                         Error* error);
  Status (*buffer_read)(GpuBuffer* buffer, size_t offset, void* to, size_t n_bytes, Error* error);

  /// Let the device reach memory that the caller owns (the ring's region): pinned and mapped.  Page
  /// aligned. [builder]
  Status (*host_register)(GpuDevice* device, void* memory, size_t n_bytes, GpuHostMemory** host,
                          Error* error);
  /// Pinned, mapped, zeroed memory of the driver's own. [builder]
  Status (*host_new)(GpuDevice* device, size_t n_bytes, GpuHostMemory** host, Error* error);
  void* (*host_pointer)(GpuHostMemory* host);
  void (*host_free)(GpuHostMemory* host); ///< Unregister or free [builder]

  /**
     Compile source in the dialect, or take it from the cache (gpu_cache.h).

     @param name For messages and the compile log's line numbers, e.g. "fx_gain.cu".
     @param options NULL-terminated "-D..." words.
     Errors carry the first lines of the compile log.  Every kernel is loaded before this returns.
     [builder]
  */
  Status (*module_new)(GpuDevice* device, const char* name, const char* source,
                       const char* const* options, GpuModule** module, Error* error);
  void (*module_free)(GpuModule* module);
  Status (*kernel_get)(GpuModule* module, const char* name, GpuKernel** kernel, Error* error);

  /// Record work for later submission.  Copies `work`. [builder]
  Status (*record)(GpuDevice* device, const GpuWork* work, GpuRecording** recording, Error* error);
  /// Waits for a submission in flight; comes before the memory and the modules that it uses are
  /// freed. [builder]
  void (*recording_free)(GpuRecording* recording);
  /// Start a recording; its done word will become `sequence` (never 0).  Returns before the work is
  /// done; a recording is submitted again only after it is done.  Submissions of one device run in
  /// order, kernels after kernels. [player]
  Status (*submit)(GpuRecording* recording, uint64_t sequence);
  /// STATUS_OK with *done, or the asynchronous error of the device.  What was copied out
  /// can be read once this says done, not earlier. [player]
  Status (*poll)(GpuRecording* recording, uint64_t sequence, bool* done);
  /// A moment of work for the device that no submission waits for, nor waits for one; nothing while
  /// the last one has not ended.  Returns at once. [any one thread]
  Status (*nudge)(GpuDevice* device);
  /// Wait for everything that was submitted. [builder, or worker while disarmed]
  Status (*finish)(GpuDevice* device, Error* error);

  /// The words for the last error that submit() or poll() returned. [worker stopped, or any after
  /// an error]
  void (*last_error)(GpuDevice* device, Error* error);
} GpuApi;

#define GPU_API_DECLARED(word, name) extern const GpuApi gpu_##name;
BACKEND_GPU_APIS(GPU_API_DECLARED)

/// The implementations that were compiled in, in the order of dsp_gpu/meson.build. [any]
const GpuApi* const* gpu_apis(uint32_t* n_apis);

#endif
