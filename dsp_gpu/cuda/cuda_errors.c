// SPDX-License-Identifier: GPL-3.0-or-later
// The functions of the driver, and the errors of their calls on a device.

#include "cuda_private.h"

#include <assert.h>
#include <string.h>

CudaDriver cuda;

Status
cuda_note(GpuDevice* const device, const CUresult result, const char* const call)
{
  const Status status = cuda_status(result);
  if (status) {
    atomic_store(&device->last_call, call);
    atomic_store(&device->last_result, (int)result);
  }
  if (status == STATUS_DEVICE_LOST) {
    atomic_store(&device->is_lost, true);
  }
  return status;
}

Status
cuda_check(GpuDevice* const device, const CUresult result, const char* const call,
           Error* const error)
{
  if (!result) {
    return STATUS_OK;
  }
  cuda_error(&cuda, result, call, error);
  return cuda_note(device, result, call);
}

Status
cuda_check_made(GpuDevice* const device, const CUresult result, const void* const made,
                const char* const call, Error* const error)
{
  static_assert(sizeof(CUdeviceptr) == sizeof(void*), "addresses are as wide as handles");
  static const char nothing[sizeof(void*)];
  const Status status = cuda_check(device, result, call, error);
  const bool is_made = memcmp(made, nothing, sizeof(nothing)) != 0;
  return status || is_made ? status : cuda_made_nothing(call, error);
}

void
cuda_last_error(GpuDevice* const device, Error* const error)
{
  const CUresult result = (CUresult)atomic_load(&device->last_result);
  const char* const call = atomic_load(&device->last_call);
  if (result) {
    cuda_error(&cuda, result, call, error);
  } else {
    error_set(error, STATUS_OK, "no error");
  }
}

Status
cuda_enter(GpuDevice* const device, Error* const error)
{
  if (atomic_load(&device->is_lost)) {
    cuda_last_error(device, error);
    return STATUS_DEVICE_LOST;
  }
  return cuda_check(device, cuda.ctx_set_current(device->context), "cuCtxSetCurrent", error);
}
