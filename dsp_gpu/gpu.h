// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The interface to GPU drivers: only the functions that warprack needs.  Two implementations,
   cuda.c (driver API and NVRTC) and opencl.c (1.2 and later), open their driver at run time; the
   program also works without a driver.

   Kernels are source in the dialect of kernels/dialect.h, which both implementations compile.  The
   work of a block is recorded once per ring slot and then submitted for each block:

       record:   {copies in} → {kernels, in order} → {copies out} → done word

   On CUDA each kind of work has its own stream; events join the streams, and one graph per slot
   captures them, so that the copies of one slot overlap the kernels of another.  Work without
   copies is a graph of kernels in one stream.  On OpenCL three queues do the same.  Hence
   recordings in flight at the same time must copy to and from different places.  The player polls
   for completion: on CUDA a word in host memory, on OpenCL the state of the last command, because
   only its completion makes the writes visible.

   Threads, all of the process that runs the effects (the worker process, or the only one with
   --in-process): [main] lists and opens; [builder] allocates, compiles, records, warms up;
   [player] only submits and polls while blocks arrive.  Builder and player use one device at the
   same time; every other object is used by one thread at a time.

   Errors contain the driver's text.  STATUS_NO_MEM: the device or the host has no memory;
   STATUS_BAD_ARG: an error of the caller; STATUS_NO_BACKEND: any other error of the driver.  After
   a sticky error (the device's context is lost) every call fails with STATUS_DEVICE_LOST, except
   those that free objects and close().
*/
#ifndef WARPRACK_DSP_GPU_GPU_H
#define WARPRACK_DSP_GPU_GPU_H

#include "engine/base/status.h"
#include "engine/contract/backend.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_MAX_ARGS 16U
// Most threads per group in kernels for all devices: every driver allows this number.
#define GPU_MAX_GROUP 256U
/// Alignment in bytes of every buffer and of offsets into it: NVIDIA's OpenCL has the strictest
/// rule.
#define GPU_ALIGNMENT 512U

typedef struct GpuDevice GpuDevice;
typedef struct GpuBuffer GpuBuffer;         ///< Device memory
typedef struct GpuHostMemory GpuHostMemory; ///< Host memory that the device can access
typedef struct GpuModule GpuModule;         ///< Compiled source
typedef struct GpuKernel GpuKernel;         ///< One entry point; lives as long as its module
typedef struct GpuRecording GpuRecording;   ///< Work that can be submitted

typedef struct GpuDeviceInfo {
  char name[128];
  char driver[64];        ///< Version of driver or platform
  uint64_t memory_bytes;  ///< Total
  uint64_t largest_bytes; ///< Limit of one buffer
  uint32_t compute_units;
  uint32_t max_group;   ///< Threads per group
  uint32_t local_bytes; ///< Local (shared) memory per group
  uint32_t capability;  ///< CUDA: 10 * major + minor; OpenCL: 0
  bool is_gpu;          ///< False for CPUs under OpenCL (PoCL)
  bool shares_memory;   ///< The device uses host memory: no copies are needed
  bool reaches_host;    ///< Kernels can access host memory; otherwise copies are needed
  bool ends_kernels;    ///< CUDA: the driver ends kernels that run for seconds, as on a GPU with a
                        ///< display
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
  uint32_t group_size; ///< Threads in x; the GROUP_SIZE with which the source was compiled
  uint32_t n_args;
  GpuArg args[GPU_MAX_ARGS];
} GpuLaunch;

/// The work of a recording.
typedef struct GpuWork {
  uint32_t slot; ///< Slot of the ring: copies of even slots may overlap kernels of odd slots
  const GpuCopy* in;
  uint32_t n_in;
  const GpuLaunch* launches;
  uint32_t n_launches;
  const GpuCopy* out;
  uint32_t n_out;
  GpuBuffer* is_void; ///< For arm(): the word is 1 while kernels of an armed recording run without
                      ///< a submission, and 0 otherwise; the caller has cleared it.  NULL: the
                      ///< recording is never armed
  size_t is_void_offset; ///< Bytes
} GpuWork;

typedef struct GpuApi {
  EngineBackend kind; ///< The backend that uses this API

  /// Open the driver.  STATUS_NO_BACKEND names the missing part; repeated calls are cheap. [main]
  Status (*load)(Error* error);
  /// Number of devices, 0 if load() failed. [main]
  uint32_t (*n_devices)(void);
  Status (*describe)(uint32_t index, GpuDeviceInfo* info, Error* error); ///< [main]
  /// Make a context on a device. [main]
  Status (*open)(uint32_t index, GpuDevice** device, Error* error);
  /// Free a context, after all objects made on it.  Accepts NULL. [main]
  void (*close)(GpuDevice* device);

  /// Allocate zeroed device memory.  The text of STATUS_NO_MEM has the requested and the free
  /// size. [builder]
  Status (*buffer_new)(GpuDevice* device, size_t n_bytes, GpuBuffer** buffer, Error* error);
  void (*buffer_free)(GpuBuffer* buffer); ///< Accepts NULL
  /// The address of a buffer, if a kernel that takes one buffer reaches all others by the distance
  /// of their addresses; else 0. [builder]
  uint64_t (*buffer_address)(const GpuBuffer* buffer);
  /// Copy n_bytes to byte `offset` and wait for the end. [builder]
  Status (*buffer_write)(GpuBuffer* buffer, size_t offset, const void* from, size_t n_bytes,
                         Error* error);
  Status (*buffer_read)(GpuBuffer* buffer, size_t offset, void* to, size_t n_bytes, Error* error);

  /// Give the device access to memory that the caller owns (the ring's region): pinned and mapped.
  /// The memory must be page aligned. [builder]
  Status (*host_register)(GpuDevice* device, void* memory, size_t n_bytes, GpuHostMemory** host,
                          Error* error);
  /// Allocate pinned, mapped, zeroed memory. [builder]
  Status (*host_new)(GpuDevice* device, size_t n_bytes, GpuHostMemory** host, Error* error);
  void* (*host_pointer)(GpuHostMemory* host);
  void (*host_free)(GpuHostMemory* host); ///< Unregister or free.  Accepts NULL. [builder]

  /**
       Compile source in the dialect, or load it from the cache (gpu_cache.h).

       @param name File name in messages and in the compile log, e.g. "fx_gain.cu".
       @param options NULL-terminated "-D..." words.
       Errors contain the first lines of the compile log.  Every kernel is loaded on return.
       [builder]
    */
  Status (*module_new)(GpuDevice* device, const char* name, const char* source,
                       const char* const* options, GpuModule** module, Error* error);
  void (*module_free)(GpuModule* module); ///< Accepts NULL
  Status (*kernel_get)(GpuModule* module, const char* name, GpuKernel** kernel, Error* error);

  /// Record work for later submission.  Copies `work`. [builder]
  Status (*record)(GpuDevice* device, const GpuWork* work, GpuRecording** recording, Error* error);
  /// Wait for a submission in flight and free the recording; call it before freeing the memory and
  /// the modules that the recording uses.  Accepts NULL. [builder]
  void (*recording_free)(GpuRecording* recording);
  /// As submit(), once, before the player has the recording. [builder]
  Status (*rehearse)(GpuRecording* recording, uint64_t sequence);
  /// Let the device wait for submit(), which then costs no call of the driver.  If submit() is not
  /// called within 50 ms, or another recording is submitted first, the kernels run with
  /// GpuWork::is_void set.  Does nothing for a recording with copies, or while another is armed.
  /// NULL: not possible. [player, without work under way]
  Status (*arm)(GpuRecording* recording);
  /// End the wait that arm() has begun, if no submission has come. [player]
  void (*disarm)(GpuRecording* recording);
  /// Start the work of a recording, and return before it is done.  `sequence` is the number with
  /// which poll() asks for this submission, not 0 and not the number of the submission before.  A
  /// recording may be submitted again only after its work is done.
  /// The kernels of recordings with copies run in the order of submission, and so do those of
  /// recordings without copies.  Submit one kind only when no work of the other is under way that
  /// uses the same state. [player]
  Status (*submit)(GpuRecording* recording, uint64_t sequence);
  /// Set *done to whether the work is done, or return the asynchronous error of the device.  Memory
  /// that was copied out is valid only after *done was true. [player]
  Status (*poll)(GpuRecording* recording, uint64_t sequence, bool* done);
  /// Submit a very short kernel; it waits for no submission, and no submission waits for it.  Does
  /// nothing while the previous one still runs.  Returns at once. [any one thread]
  Status (*nudge)(GpuDevice* device);
  /// Wait for all submissions. [builder, or player while disarmed]
  Status (*finish)(GpuDevice* device, Error* error);

  /// The text of the last error that submit() or poll() returned. [player stopped, or any after an
  /// error]
  void (*last_error)(GpuDevice* device, Error* error);
} GpuApi;

#define GPU_API_DECLARED(word, name) extern const GpuApi gpu_##name;
BACKEND_GPU_APIS(GPU_API_DECLARED)

/// The implementations in this build, in the order of dsp_gpu/meson.build. [any]
const GpuApi* const* gpu_apis(uint32_t* n_apis);

/// The implementation for a backend; NULL if this build has none. [any]
static inline const GpuApi*
gpu_api_find(const EngineBackend kind)
{
  uint32_t n_apis = 0;
  const GpuApi* const* const apis = gpu_apis(&n_apis);
  for (uint32_t a = 0; a < n_apis; ++a) {
    if (apis[a]->kind == kind) {
      return apis[a];
    }
  }
  return NULL;
}

#endif
