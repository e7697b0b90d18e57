// SPDX-License-Identifier: GPL-3.0-or-later
// Opens and closes devices under OpenCL, and handles their errors.

#include "opencl_private.h"

#include <stdio.h>
#include <stdlib.h>

// ---- errors ----

// The driver's message; the driver calls this from any thread.
static void CL_CALLBACK
store_message(const char* const words, const void* const details, const size_t detail_bytes,
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

static void
last_error(GpuDevice* const device, Error* const error)
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
    last_error(device, error);
  }
  return STATUS_DEVICE_LOST;
}

Status
opencl_check(GpuDevice* const device, Error* const error)
{
  if (!atomic_load(&device->is_lost)) {
    return STATUS_OK;
  }
  last_error(device, error);
  return STATUS_DEVICE_LOST;
}

// ---- open and close ----

static Status
finish(GpuDevice* const device, Error* const error)
{
  const Status status = opencl_check(device, error);
  if (status) {
    return status;
  }
  for (uint32_t q = 0; q < N_QUEUES; ++q) {
    const cl_int code = opencl_driver.clFinish(device->queues[q]);
    if (code) {
      return opencl_lose(device, error, "clFinish", code);
    }
  }
  return STATUS_OK;
}

static void
close_device(GpuDevice* const device)
{
  if (!device) {
    return;
  }
  if (device->context) {
    (void)finish(device, NULL); // fails at once on a lost device
  }
  if (device->last_nudge) {
    opencl_driver.clReleaseEvent(device->last_nudge);
  }
  if (device->nudged) {
    opencl_driver.clReleaseMemObject(device->nudged);
  }
  for (uint32_t q = 0; q < N_QUEUES; ++q) {
    if (device->queues[q]) {
      opencl_driver.clReleaseCommandQueue(device->queues[q]);
    }
  }
  if (device->context) {
    opencl_driver.clReleaseContext(device->context);
  }
  pthread_mutex_destroy(&device->mutex);
  free(device);
}

static Status
make_context(GpuDevice* const device, Error* const error)
{
  const OpenclFound* const found = device->found;
  const cl_context_properties properties[] = { CL_CONTEXT_PLATFORM,
                                               (cl_context_properties)found->platform, 0 };
  cl_int code = CL_SUCCESS;
  device->context =
      opencl_driver.clCreateContext(properties, 1, &found->id, store_message, device, &code);
  code = opencl_made(device->context, code);
  if (code) {
    device->context = NULL;
    return opencl_fail(device, error, "clCreateContext", code);
  }
  for (uint32_t q = 0; q < N_QUEUES; ++q) {
    device->queues[q] = opencl_driver.clCreateCommandQueue(device->context, found->id, 0, &code);
    code = opencl_made(device->queues[q], code);
    if (code) {
      device->queues[q] = NULL;
      return opencl_fail(device, error, "clCreateCommandQueue", code);
    }
  }
  device->nudged =
      opencl_driver.clCreateBuffer(device->context, CL_MEM_READ_WRITE, GPU_ALIGNMENT, NULL, &code);
  code = opencl_made(device->nudged, code);
  if (code) {
    device->nudged = NULL;
    return opencl_fail(device, error, "clCreateBuffer", code);
  }
  return STATUS_OK;
}

static Status
open_device(const uint32_t index, GpuDevice** const out, Error* const error)
{
  const OpenclFound* const found = opencl_found(index);
  if (!found) {
    GpuDeviceInfo info;
    return opencl_describe(index, &info, error);
  }
  GpuDevice* const device = calloc(1, sizeof(*device));
  if (!device) {
    return error_set(error, STATUS_NO_MEM, "OpenCL: out of memory");
  }
  device->found = found;
  pthread_mutex_init(&device->mutex, NULL);
  const Status status = make_context(device, error);
  if (status) {
    close_device(device);
    return status;
  }
  *out = device;
  return STATUS_OK;
}

const GpuApi gpu_opencl = {
  .kind = ENGINE_BACKEND_OPENCL,
  .load = opencl_load,
  .n_devices = opencl_n_devices,
  .describe = opencl_describe,
  .open = open_device,
  .close = close_device,
  .buffer_new = opencl_buffer_new,
  .buffer_free = opencl_buffer_free,
  .buffer_write = opencl_buffer_write,
  .buffer_read = opencl_buffer_read,
  .host_register = opencl_host_register,
  .host_new = opencl_host_new,
  .host_pointer = opencl_host_pointer,
  .host_free = opencl_host_free,
  .module_new = opencl_module_new,
  .module_free = opencl_module_free,
  .kernel_get = opencl_kernel_get,
  .record = opencl_record,
  .recording_free = opencl_recording_free,
  .submit = opencl_submit,
  .poll = opencl_poll,
  .nudge = opencl_nudge,
  .finish = finish,
  .last_error = last_error,
};
