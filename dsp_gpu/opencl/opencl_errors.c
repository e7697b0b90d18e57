// SPDX-License-Identifier: GPL-3.0-or-later
// The errors of calls on a device.

#include "opencl_private.h"

#include <stdio.h>

// The driver's message; the driver calls this from any thread.
void CL_CALLBACK
opencl_store_message(const char* const words, const void* const details, const size_t detail_bytes,
                     void* const data)
{
  (void)details;
  (void)detail_bytes;
  GpuDevice* const device = data;
  pthread_mutex_lock(&device->mutex);
  snprintf(device->words, sizeof(device->words), "%s", words ? words : "");
  pthread_mutex_unlock(&device->mutex);
}

static Status
fill_error(GpuDevice* const device, Error* const error, const Status status, const char* const call,
           const cl_int code)
{
  pthread_mutex_lock(&device->mutex);
  error_set(error, status, "OpenCL, %s: %s: %s (%d)%s%s", device->found->info.name, call,
            opencl_error_name(code), code, device->words[0] ? ": " : "", device->words);
  pthread_mutex_unlock(&device->mutex);
  return status;
}

static Status
status_of(const cl_int code)
{
  switch (code) {
  case CL_MEM_OBJECT_ALLOCATION_FAILURE:
  case CL_OUT_OF_HOST_MEMORY:
  case CL_OUT_OF_RESOURCES:
  case CL_INVALID_BUFFER_SIZE:
    return STATUS_NO_MEM;
  default:
    return STATUS_NO_BACKEND;
  }
}

Status
opencl_fail(GpuDevice* const device, Error* const error, const char* const call, const cl_int code)
{
  return fill_error(device, error, status_of(code), call, code);
}

void
opencl_last_error(GpuDevice* const device, Error* const error)
{
  if (atomic_load(&device->is_lost)) {
    fill_error(device, error, STATUS_DEVICE_LOST, device->lost_call, device->lost_code);
  } else {
    error_set(error, STATUS_OK, "OpenCL, %s: no error", device->found->info.name);
  }
}

Status
opencl_lose(GpuDevice* const device, Error* const error, const char* const call, const cl_int code)
{
  pthread_mutex_lock(&device->mutex);
  if (!device->lost_call) { // keep the first error, which causes the later ones
    device->lost_call = call;
    device->lost_code = code;
    atomic_store(&device->is_lost, true);
  }
  pthread_mutex_unlock(&device->mutex);
  if (error) {
    opencl_last_error(device, error);
  }
  return STATUS_DEVICE_LOST;
}

Status
opencl_check(GpuDevice* const device, Error* const error)
{
  if (!atomic_load(&device->is_lost)) {
    return STATUS_OK;
  }
  opencl_last_error(device, error);
  return STATUS_DEVICE_LOST;
}
