// SPDX-License-Identifier: GPL-3.0-or-later
// Device buffers, and host memory that the device can access.

#include "opencl_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- buffers ----

static uint64_t
used_bytes(GpuDevice* const device)
{
  pthread_mutex_lock(&device->mutex);
  const uint64_t used = device->used_bytes;
  pthread_mutex_unlock(&device->mutex);
  return used;
}

static Status
no_room(GpuDevice* const device, const size_t n_bytes, const char* const why, Error* const error)
{
  const GpuDeviceInfo* const info = &device->found->info;
  return error_set(error, STATUS_NO_MEM,
                   "OpenCL, %s: %zu bytes do not fit: %" PRIu64 " of %" PRIu64
                   " are in use by warprack, one buffer has %" PRIu64 " at most (%s)",
                   info->name, n_bytes, used_bytes(device), info->memory_bytes, info->largest_bytes,
                   why);
}

// Filling forces drivers that allocate lazily to allocate the memory now, not at the first block.
static cl_int
fill_with_zeros(GpuDevice* const device, const cl_mem memory, const size_t n_bytes)
{
  const unsigned char zero = 0;
  const cl_command_queue queue = device->queues[QUEUE_BUILDER];
  const cl_int code =
      opencl_driver.clEnqueueFillBuffer(queue, memory, &zero, 1, 0, n_bytes, 0, NULL, NULL);
  return code ? code : opencl_driver.clFinish(queue);
}

static Status
make_buffer(GpuDevice* const device, const size_t n_bytes, cl_mem* const memory, Error* const error)
{
  const GpuDeviceInfo* const info = &device->found->info;
  // Drivers that swap, and PoCL, would allocate more memory than exists.
  if (n_bytes > info->largest_bytes || n_bytes > info->memory_bytes - used_bytes(device)) {
    return no_room(device, n_bytes, "not asked for", error);
  }
  cl_int code = CL_SUCCESS;
  *memory = opencl_driver.clCreateBuffer(device->context, CL_MEM_READ_WRITE, n_bytes, NULL, &code);
  code = opencl_made(*memory, code);
  if (code) {
    return no_room(device, n_bytes, opencl_error_name(code), error);
  }
  code = fill_with_zeros(device, *memory, n_bytes);
  if (code) {
    opencl_driver.clReleaseMemObject(*memory);
    return no_room(device, n_bytes, opencl_error_name(code), error);
  }
  return STATUS_OK;
}

Status
opencl_buffer_new(GpuDevice* const device, const size_t n_bytes, GpuBuffer** const out,
                  Error* const error)
{
  Status status = opencl_check(device, error);
  if (status) {
    return status;
  }
  if (!n_bytes) {
    return error_set(error, STATUS_BAD_ARG, "OpenCL: a buffer of no bytes");
  }
  GpuBuffer* const buffer = calloc(1, sizeof(*buffer));
  status = buffer ? make_buffer(device, n_bytes, &buffer->memory, error)
                  : error_set(error, STATUS_NO_MEM, "OpenCL: out of memory");
  if (status) {
    free(buffer);
    return status;
  }
  buffer->device = device;
  buffer->n_bytes = n_bytes;
  pthread_mutex_lock(&device->mutex);
  device->used_bytes += n_bytes;
  pthread_mutex_unlock(&device->mutex);
  *out = buffer;
  return STATUS_OK;
}

void
opencl_buffer_free(GpuBuffer* const buffer)
{
  if (!buffer) {
    return;
  }
  opencl_driver.clReleaseMemObject(buffer->memory);
  pthread_mutex_lock(&buffer->device->mutex);
  buffer->device->used_bytes -= buffer->n_bytes;
  pthread_mutex_unlock(&buffer->device->mutex);
  free(buffer);
}

/// A kernel reaches only the buffers that it takes.
uint64_t
opencl_buffer_address(const GpuBuffer* const buffer)
{
  (void)buffer;
  return 0U;
}

static Status
check_range(const GpuBuffer* const buffer, const size_t offset, const size_t n_bytes,
            Error* const error)
{
  if (offset > buffer->n_bytes || n_bytes > buffer->n_bytes - offset) {
    return error_set(error, STATUS_BAD_ARG, "OpenCL: bytes %zu to %zu of a buffer that has %zu",
                     offset, offset + n_bytes, buffer->n_bytes);
  }
  return opencl_check(buffer->device, error);
}

Status
opencl_buffer_write(GpuBuffer* const buffer, const size_t offset, const void* const from,
                    const size_t n_bytes, Error* const error)
{
  GpuDevice* const device = buffer->device;
  const Status status = check_range(buffer, offset, n_bytes, error);
  if (status || !n_bytes) {
    return status;
  }
  const cl_int code = opencl_driver.clEnqueueWriteBuffer(
      device->queues[QUEUE_BUILDER], buffer->memory, CL_TRUE, offset, n_bytes, from, 0, NULL, NULL);
  return code ? opencl_lose(device, error, "clEnqueueWriteBuffer", code) : STATUS_OK;
}

Status
opencl_buffer_read(GpuBuffer* const buffer, const size_t offset, void* const to,
                   const size_t n_bytes, Error* const error)
{
  GpuDevice* const device = buffer->device;
  const Status status = check_range(buffer, offset, n_bytes, error);
  if (status || !n_bytes) {
    return status;
  }
  const cl_int code = opencl_driver.clEnqueueReadBuffer(
      device->queues[QUEUE_BUILDER], buffer->memory, CL_TRUE, offset, n_bytes, to, 0, NULL, NULL);
  return code ? opencl_lose(device, error, "clEnqueueReadBuffer", code) : STATUS_OK;
}

// ---- host memory ----

// The device uses the host memory itself.
static Status
share(GpuDevice* const device, GpuHostMemory* const host, Error* const error)
{
  cl_int code = CL_SUCCESS;
  host->pinned = host->pointer;
  host->memory =
      opencl_driver.clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                                   host->n_bytes, host->pointer, &code);
  code = opencl_made(host->memory, code);
  if (code) {
    host->memory = NULL;
    return opencl_fail(device, error, "clCreateBuffer of host memory", code);
  }
  return STATUS_OK;
}

// Pinned memory, mapped until it is freed: OpenCL has no other way to allocate pinned memory.
static Status
pin(GpuDevice* const device, GpuHostMemory* const host, Error* const error)
{
  cl_int code = CL_SUCCESS;
  host->memory = opencl_driver.clCreateBuffer(
      device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, host->n_bytes, NULL, &code);
  code = opencl_made(host->memory, code);
  if (code) {
    host->memory = NULL;
    return opencl_fail(device, error, "clCreateBuffer of pinned memory", code);
  }
  host->pinned = opencl_driver.clEnqueueMapBuffer(device->queues[QUEUE_BUILDER], host->memory,
                                                  CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                                  host->n_bytes, 0, NULL, NULL, &code);
  code = opencl_made(host->pinned, code);
  if (code) {
    host->pinned = NULL;
    return opencl_fail(device, error, "clEnqueueMapBuffer", code);
  }
  memset(host->pinned, 0, host->n_bytes);
  return STATUS_OK;
}

// `pointer`: the caller's memory, or NULL to allocate some.
static Status
make_host(GpuDevice* const device, GpuHostMemory* const host, void* const pointer,
          Error* const error)
{
  const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  host->pointer = pointer;
  if (!device->found->info.shares_memory) {
    const Status status = pin(device, host, error);
    host->pointer = pointer ? pointer : host->pinned;
    return status;
  }
  if (!pointer) {
    const size_t whole_pages = (host->n_bytes + page_bytes - 1U) / page_bytes * page_bytes;
    host->owned = aligned_alloc(page_bytes, whole_pages);
    host->pointer = host->owned;
    if (!host->owned) {
      return error_set(error, STATUS_NO_MEM, "OpenCL: out of memory: %zu bytes", host->n_bytes);
    }
    memset(host->owned, 0, whole_pages);
  }
  return share(device, host, error);
}

static Status
new_host(GpuDevice* const device, void* const pointer, const size_t n_bytes,
         GpuHostMemory** const out, Error* const error)
{
  Status status = opencl_check(device, error);
  if (status) {
    return status;
  }
  if (!n_bytes || (uintptr_t)pointer % (uintptr_t)sysconf(_SC_PAGESIZE)) {
    return error_set(error, STATUS_BAD_ARG,
                     "OpenCL: host memory of %zu bytes at %p: at least 1, at the begin of a page",
                     n_bytes, pointer);
  }
  GpuHostMemory* const host = calloc(1, sizeof(*host));
  if (!host) {
    return error_set(error, STATUS_NO_MEM, "OpenCL: out of memory");
  }
  host->n_bytes = n_bytes;
  host->device = device;
  status = make_host(device, host, pointer, error);
  if (status) {
    opencl_host_free(host);
    return status;
  }
  *out = host;
  return STATUS_OK;
}

Status
opencl_host_register(GpuDevice* const device, void* const memory, const size_t n_bytes,
                     GpuHostMemory** const host, Error* const error)
{
  if (!memory) {
    return error_set(error, STATUS_BAD_ARG, "OpenCL: no memory to register");
  }
  return new_host(device, memory, n_bytes, host, error);
}

Status
opencl_host_new(GpuDevice* const device, const size_t n_bytes, GpuHostMemory** const host,
                Error* const error)
{
  return new_host(device, NULL, n_bytes, host, error);
}

void*
opencl_host_pointer(GpuHostMemory* const host)
{
  return host->pointer;
}

void
opencl_host_free(GpuHostMemory* const host)
{
  if (!host) {
    return;
  }
  if (host->pinned && !host->device->found->info.shares_memory) {
    const cl_command_queue queue = host->device->queues[QUEUE_BUILDER];
    opencl_driver.clEnqueueUnmapMemObject(queue, host->memory, host->pinned, 0, NULL, NULL);
    opencl_driver.clFinish(queue);
  }
  if (host->memory) {
    opencl_driver.clReleaseMemObject(host->memory);
  }
  free(host->owned);
  free(host);
}
