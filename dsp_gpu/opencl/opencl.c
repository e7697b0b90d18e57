// SPDX-License-Identifier: GPL-3.0-or-later
// Opens and closes devices under OpenCL.

#include "opencl_private.h"

#include <stdlib.h>

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
      opencl_driver.clCreateContext(properties, 1, &found->id, opencl_store_message, device, &code);
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
  .buffer_address = opencl_buffer_address,
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
  .rehearse = opencl_submit,
  .submit = opencl_submit,
  .poll = opencl_poll,
  .nudge = opencl_nudge,
  .finish = finish,
  .last_error = opencl_last_error,
};
