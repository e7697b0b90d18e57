// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by the files of the OpenCL implementation: opencl_list.c (the list of devices), opencl.c
   (open, close), opencl_errors.c, opencl_memory.c, opencl_module.c, opencl_record.c (prepares
   submissions) and opencl_submit.c (the player's part).
*/
#ifndef WARPRACK_DSP_GPU_OPENCL_OPENCL_PRIVATE_H
#define WARPRACK_DSP_GPU_OPENCL_OPENCL_PRIVATE_H

#include "opencl_driver.h"

#include "dsp_gpu/gpu.h"

#include <pthread.h>
#include <stdatomic.h>

/// A device that can be opened.
typedef struct OpenclFound {
  cl_device_id id;
  cl_platform_id platform;
  GpuDeviceInfo info;
  bool rounds_correctly; ///< Division and square root, if the option requests it
  char toolchain[512];   ///< All versions that affect compiled code
} OpenclFound;

/// In-order queues.  The builder has its own, so that it waits only for its own copies.
enum { QUEUE_IN, QUEUE_KERNELS, QUEUE_OUT, QUEUE_BUILDER, QUEUE_NUDGES, N_QUEUES };

struct GpuDevice {
  const OpenclFound* found;
  cl_context context;
  cl_command_queue queues[N_QUEUES];
  cl_mem nudged;         ///< Bytes that the nudges write and no code reads
  cl_event last_nudge;   ///< Event of the last nudge until it ends, else NULL; used by the thread
                         ///< that nudges
  _Atomic bool is_lost;  ///< Set by the thread that gets the error, read by all
  pthread_mutex_t mutex; ///< Guards the members below; the player takes it only when the device is
                         ///< lost
  const char* lost_call; ///< The function that returned the error
  cl_int lost_code;
  char words[200];     ///< The driver's message, from its callback; "" for none
  uint64_t used_bytes; ///< Total size of all buffers
};

struct GpuBuffer {
  GpuDevice* device;
  cl_mem memory;
  size_t n_bytes;
};

/// On a device that shares memory, this is the memory itself.  On other devices, copies of a block
/// use `pinned`, because drivers copy without waiting only from and to memory that they allocated:
/// submit() fills it, poll() empties it when the block is done.
struct GpuHostMemory {
  GpuDevice* device;
  cl_mem memory;
  char* pointer; ///< The caller's, or `pinned`
  char* pinned;  ///< Memory that the driver copies from and to
  void* owned;   ///< To be freed, NULL for memory of the caller or the driver
  size_t n_bytes;
};

struct GpuKernel {
  GpuModule* module;
  cl_kernel kernel;
  char name[64];
  cl_uint n_args;
  size_t group_size; ///< GROUP_SIZE of the compilation
};

struct GpuModule {
  GpuDevice* device;
  cl_program program;
  char name[64];
  uint32_t n_kernels;
  GpuKernel* kernels; ///< [n_kernels]
};

typedef struct RecordedCopy {
  cl_mem buffer;
  size_t offset; ///< Into the buffer
  size_t n_bytes;
  char* pinned; ///< Memory on the host side
  char* staged; ///< Source or destination of `pinned`, NULL if `pinned` is that memory itself
} RecordedCopy;

typedef struct RecordedLaunch {
  cl_kernel kernel; ///< Used by this launch only: it keeps the arguments
  size_t n_threads[2];
  size_t group_size[2];
  cl_mem parts[GPU_MAX_ARGS]; ///< Sub-buffers, NULL for other arguments
} RecordedLaunch;

struct GpuRecording {
  GpuDevice* device;
  uint32_t n_in, n_launches, n_out;
  RecordedCopy* in;
  RecordedLaunch* launches;
  RecordedCopy* out;
  cl_event last;      ///< Last event of the submission in flight, else NULL
  uint64_t in_flight; ///< Number of that submission
  bool is_queued;     ///< Its commands may still be in the queues
  uint64_t done;      ///< The number of the last completed submission
};

// ---- opencl_list.c ----

Status opencl_load(Error* error);
uint32_t opencl_n_devices(void);
Status opencl_describe(uint32_t index, GpuDeviceInfo* info, Error* error);
const OpenclFound* opencl_found(uint32_t index); ///< NULL out of range

// ---- opencl_errors.c ----

/// Store the driver's message; the driver calls this from any thread.
void CL_CALLBACK opencl_store_message(const char* words, const void* details, size_t detail_bytes,
                                      void* device);
/// Error of a call that leaves the device usable. [builder]
Status opencl_fail(GpuDevice* device, Error* error, const char* call, cl_int code);
/// Error of a call that leaves the device's queues in an unknown state.  Always
/// STATUS_DEVICE_LOST. [builder, player]
Status opencl_lose(GpuDevice* device, Error* error, const char* call, cl_int code);
/// STATUS_DEVICE_LOST with the text of the first error, or STATUS_OK if there was none. [builder]
Status opencl_check(GpuDevice* device, Error* error);
/// As in GpuApi.
void opencl_last_error(GpuDevice* device, Error* error);

// ---- the other functions of GpuApi, see gpu.h ----

Status opencl_buffer_new(GpuDevice* device, size_t n_bytes, GpuBuffer** buffer, Error* error);
void opencl_buffer_free(GpuBuffer* buffer);
uint64_t opencl_buffer_address(const GpuBuffer* buffer);
Status opencl_buffer_write(GpuBuffer* buffer, size_t offset, const void* from, size_t n_bytes,
                           Error* error);
Status opencl_buffer_read(GpuBuffer* buffer, size_t offset, void* to, size_t n_bytes, Error* error);
Status opencl_host_register(GpuDevice* device, void* memory, size_t n_bytes, GpuHostMemory** host,
                            Error* error);
Status opencl_host_new(GpuDevice* device, size_t n_bytes, GpuHostMemory** host, Error* error);
void* opencl_host_pointer(GpuHostMemory* host);
void opencl_host_free(GpuHostMemory* host);

Status opencl_module_new(GpuDevice* device, const char* name, const char* source,
                         const char* const* options, GpuModule** module, Error* error);
void opencl_module_free(GpuModule* module);
Status opencl_kernel_get(GpuModule* module, const char* name, GpuKernel** kernel, Error* error);

Status
opencl_record(GpuDevice* device, const GpuWork* work, GpuRecording** recording, Error* error);
void opencl_recording_free(GpuRecording* recording);
Status opencl_submit(GpuRecording* recording, uint64_t sequence);
Status opencl_poll(GpuRecording* recording, uint64_t sequence, bool* done);
Status opencl_nudge(GpuDevice* device);

#endif
