// SPDX-License-Identifier: GPL-3.0-or-later
/**
   NVIDIA's driver, opened at run time: a table of the functions of the CUDA driver API that
   warprack calls, and the conversion of the driver's errors to Status and text.

   Each function is looked up under the versioned name that the driver's library exports for the
   signature in cudaTypedefs.h, so that the headers of any toolkit from 11.4 on give the same
   calls.  The program links no library of the toolkit.
*/
#ifndef WARPRACK_DSP_GPU_CUDA_CUDA_DRIVER_H
#define WARPRACK_DSP_GPU_CUDA_CUDA_DRIVER_H

#include "engine/base/status.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdbool.h>
#include <stdint.h>

/// PFN_cuFuncLoad_v12040, which headers before 12.4 do not have.
typedef CUresult(CUDAAPI* CudaFuncLoad)(CUfunction function);

/// REQUIRED(member, symbol, type) for each required function, then OPTIONAL(member, symbol, type,
/// capability).
#define CUDA_FUNCTIONS(REQUIRED, OPTIONAL)                                                         \
  REQUIRED(get_error_name, "cuGetErrorName", PFN_cuGetErrorName_v6000)                             \
  REQUIRED(get_error_string, "cuGetErrorString", PFN_cuGetErrorString_v6000)                       \
  REQUIRED(init, "cuInit", PFN_cuInit_v2000)                                                       \
  REQUIRED(driver_get_version, "cuDriverGetVersion", PFN_cuDriverGetVersion_v2020)                 \
  REQUIRED(device_get, "cuDeviceGet", PFN_cuDeviceGet_v2000)                                       \
  REQUIRED(device_get_count, "cuDeviceGetCount", PFN_cuDeviceGetCount_v2000)                       \
  REQUIRED(device_get_name, "cuDeviceGetName", PFN_cuDeviceGetName_v2000)                          \
  REQUIRED(device_get_attribute, "cuDeviceGetAttribute", PFN_cuDeviceGetAttribute_v2000)           \
  REQUIRED(device_total_mem, "cuDeviceTotalMem_v2", PFN_cuDeviceTotalMem_v3020)                    \
  REQUIRED(ctx_create, "cuCtxCreate_v2", PFN_cuCtxCreate_v3020)                                    \
  REQUIRED(ctx_destroy, "cuCtxDestroy_v2", PFN_cuCtxDestroy_v4000)                                 \
  REQUIRED(ctx_set_current, "cuCtxSetCurrent", PFN_cuCtxSetCurrent_v4000)                          \
  REQUIRED(mem_get_info, "cuMemGetInfo_v2", PFN_cuMemGetInfo_v3020)                                \
  REQUIRED(mem_alloc, "cuMemAlloc_v2", PFN_cuMemAlloc_v3020)                                       \
  REQUIRED(mem_free, "cuMemFree_v2", PFN_cuMemFree_v3020)                                          \
  REQUIRED(mem_host_alloc, "cuMemHostAlloc", PFN_cuMemHostAlloc_v2020)                             \
  REQUIRED(mem_free_host, "cuMemFreeHost", PFN_cuMemFreeHost_v2000)                                \
  REQUIRED(mem_host_register, "cuMemHostRegister_v2", PFN_cuMemHostRegister_v6050)                 \
  REQUIRED(mem_host_unregister, "cuMemHostUnregister", PFN_cuMemHostUnregister_v4000)              \
  REQUIRED(mem_host_get_device_pointer, "cuMemHostGetDevicePointer_v2",                            \
           PFN_cuMemHostGetDevicePointer_v3020)                                                    \
  REQUIRED(memcpy_htod_async, "cuMemcpyHtoDAsync_v2", PFN_cuMemcpyHtoDAsync_v3020)                 \
  REQUIRED(memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2", PFN_cuMemcpyDtoHAsync_v3020)                 \
  REQUIRED(memset_d8_async, "cuMemsetD8Async", PFN_cuMemsetD8Async_v3020)                          \
  REQUIRED(module_load_data, "cuModuleLoadData", PFN_cuModuleLoadData_v2000)                       \
  REQUIRED(module_unload, "cuModuleUnload", PFN_cuModuleUnload_v2000)                              \
  REQUIRED(module_get_function, "cuModuleGetFunction", PFN_cuModuleGetFunction_v2000)              \
  REQUIRED(launch_kernel, "cuLaunchKernel", PFN_cuLaunchKernel_v4000)                              \
  REQUIRED(stream_create, "cuStreamCreate", PFN_cuStreamCreate_v2000)                              \
  REQUIRED(stream_destroy, "cuStreamDestroy_v2", PFN_cuStreamDestroy_v4000)                        \
  REQUIRED(stream_query, "cuStreamQuery", PFN_cuStreamQuery_v2000)                                 \
  REQUIRED(stream_synchronize, "cuStreamSynchronize", PFN_cuStreamSynchronize_v2000)               \
  REQUIRED(stream_wait_event, "cuStreamWaitEvent", PFN_cuStreamWaitEvent_v3020)                    \
  REQUIRED(stream_begin_capture, "cuStreamBeginCapture_v2", PFN_cuStreamBeginCapture_v10010)       \
  REQUIRED(stream_end_capture, "cuStreamEndCapture", PFN_cuStreamEndCapture_v10000)                \
  REQUIRED(event_create, "cuEventCreate", PFN_cuEventCreate_v2000)                                 \
  REQUIRED(event_destroy, "cuEventDestroy_v2", PFN_cuEventDestroy_v4000)                           \
  REQUIRED(event_record, "cuEventRecord", PFN_cuEventRecord_v2000)                                 \
  REQUIRED(event_record_with_flags, "cuEventRecordWithFlags", PFN_cuEventRecordWithFlags_v11010)   \
  REQUIRED(graph_instantiate, "cuGraphInstantiateWithFlags",                                       \
           PFN_cuGraphInstantiateWithFlags_v11040)                                                 \
  REQUIRED(graph_upload, "cuGraphUpload", PFN_cuGraphUpload_v11010)                                \
  REQUIRED(graph_launch, "cuGraphLaunch", PFN_cuGraphLaunch_v10000)                                \
  REQUIRED(graph_destroy, "cuGraphDestroy", PFN_cuGraphDestroy_v10000)                             \
  REQUIRED(graph_exec_destroy, "cuGraphExecDestroy", PFN_cuGraphExecDestroy_v10000)                \
  OPTIONAL(func_load, "cuFuncLoad", CudaFuncLoad, CUDA_HAS_FUNC_LOAD)

/// Loads a kernel at once, regardless of CUDA_MODULE_LOADING (12.4).
#define CUDA_HAS_FUNC_LOAD 0x1U

#define CUDA_REQUIRED_MEMBER(member, symbol, type)             type member;
#define CUDA_OPTIONAL_MEMBER(member, symbol, type, capability) type member;

typedef struct CudaDriver {
  uint32_t has; ///< CUDA_HAS_*: the optional functions that were found
  CUDA_FUNCTIONS(CUDA_REQUIRED_MEMBER, CUDA_OPTIONAL_MEMBER)
} CudaDriver;

#undef CUDA_REQUIRED_MEMBER
#undef CUDA_OPTIONAL_MEMBER

/// Names of the driver's library, NULL-terminated; the second comes with development packages.
extern const char* const cuda_library_names[];

/**
   Open the first library that exists and look all functions up.  The library stays open for the
   life of the process: drivers start threads and may crash when they are unloaded.

   @param names NULL-terminated, at least one.
   @param[out] driver Untouched on error.
   @return STATUS_NO_BACKEND with the linker's message or the missing function, and the package to
   install.
*/
NODISCARD Status // [main]
cuda_driver_open(const char* const* names, CudaDriver* driver, Error* error);

/// The Status of a driver's error. [any]
Status cuda_status(CUresult result);

/// Set the error of a call that reported success but returned NULL. [any, not rt]
Status cuda_made_nothing(const char* call, Error* error);

/// Set the error "call: CUDA_ERROR_NAME: the driver's text" and return its Status. [any, not rt]
Status cuda_error(const CudaDriver* driver, CUresult result, const char* call, Error* error);

#endif
