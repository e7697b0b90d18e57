// SPDX-License-Identifier: GPL-3.0-or-later
// Device memory, and host memory that the device can access.  Every transfer is asynchronous, in a
// stream, from or to pinned memory: an asynchronous copy of pageable memory holds the lock of the
// context, for which the player would have to wait.

#include "cuda_private.h"

#include <stdlib.h>
#include <string.h>

uint64_t
cuda_free_bytes(GpuDevice* const device)
{
  size_t n_free = 0;
  size_t n_bytes = 0;
  return !cuda_enter(device, NULL) && !cuda.mem_get_info(&n_free, &n_bytes) ? n_free : 0U;
}

// Device memory

static Status
clear(GpuBuffer* const buffer, Error* const error)
{
  GpuDevice* const device = buffer->device;
  const Status status = cuda_check(
      device, cuda.memset_d8_async(buffer->d_memory, 0U, buffer->n_bytes, device->copy_in),
      "cuMemsetD8Async", error);
  return status ? status
                : cuda_check(device, cuda.stream_synchronize(device->copy_in),
                             "cuStreamSynchronize", error);
}

static Status
allocate(GpuBuffer* const buffer, Error* const error)
{
  GpuDevice* const device = buffer->device;
  const CUresult result = cuda.mem_alloc(&buffer->d_memory, buffer->n_bytes);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    Error words;
    const Status status = cuda_check(device, result, "cuMemAlloc", &words);
    return error_set(error, status, "%s: %zu bytes requested, %llu free", words.text,
                     buffer->n_bytes, (unsigned long long)cuda_free_bytes(device));
  }
  return cuda_check_made(device, result, &buffer->d_memory, "cuMemAlloc", error);
}

Status
cuda_buffer_new(GpuDevice* const device, const size_t n_bytes, GpuBuffer** const buffer,
                Error* const error)
{
  Status status = cuda_enter(device, error);
  if (status) {
    return status;
  }
  if (n_bytes == 0U) {
    return error_set(error, STATUS_BAD_ARG, "a buffer of no bytes");
  }
  GpuBuffer* const made = calloc(1U, sizeof(*made));
  if (!made) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *made = (GpuBuffer){ .device = device, .n_bytes = n_bytes };
  status = allocate(made, error);
  if (!status) {
    status = clear(made, error);
    if (status) {
      cuda.mem_free(made->d_memory);
    }
  }
  if (status) {
    free(made);
    return status;
  }
  atomic_fetch_add(&device->n_objects, 1U);
  *buffer = made;
  return STATUS_OK;
}

void
cuda_buffer_free(GpuBuffer* const buffer)
{
  if (buffer) {
    cuda.ctx_set_current(buffer->device->context);
    cuda.mem_free(buffer->d_memory);
    atomic_fetch_sub(&buffer->device->n_objects, 1U);
    free(buffer);
  }
}

uint64_t
cuda_buffer_address(const GpuBuffer* const buffer)
{
  return buffer->d_memory;
}

// Copies that block: through the staging memory, piece by piece

static Status
check_range(const GpuBuffer* const buffer, const size_t offset, const size_t n_bytes,
            Error* const error)
{
  return offset <= buffer->n_bytes && n_bytes <= buffer->n_bytes - offset
             ? STATUS_OK
             : error_set(error, STATUS_BAD_ARG, "bytes %zu to %zu of a buffer of %zu", offset,
                         offset + n_bytes, buffer->n_bytes);
}

static size_t
piece(const size_t n_left)
{
  return n_left < CUDA_STAGING_BYTES ? n_left : CUDA_STAGING_BYTES;
}

Status
cuda_buffer_write(GpuBuffer* const buffer, const size_t offset, const void* const from,
                  const size_t n_bytes, Error* const error)
{
  GpuDevice* const device = buffer->device;
  Status status = cuda_enter(device, error);
  status = status ? status : check_range(buffer, offset, n_bytes, error);
  for (size_t at = 0; at < n_bytes && !status; at += piece(n_bytes - at)) {
    const size_t n = piece(n_bytes - at);
    memcpy(device->h_staging, (const char*)from + at, n);
    status = cuda_check(device,
                        cuda.memcpy_htod_async(buffer->d_memory + offset + at, device->h_staging, n,
                                               device->copy_in),
                        "cuMemcpyHtoDAsync", error);
    if (!status) {
      status = cuda_check(device, cuda.stream_synchronize(device->copy_in), "cuStreamSynchronize",
                          error);
    }
  }
  return status;
}

Status
cuda_buffer_read(GpuBuffer* const buffer, const size_t offset, void* const to, const size_t n_bytes,
                 Error* const error)
{
  GpuDevice* const device = buffer->device;
  Status status = cuda_enter(device, error);
  status = status ? status : check_range(buffer, offset, n_bytes, error);
  for (size_t at = 0; at < n_bytes && !status; at += piece(n_bytes - at)) {
    const size_t n = piece(n_bytes - at);
    status = cuda_check(device,
                        cuda.memcpy_dtoh_async(device->h_staging, buffer->d_memory + offset + at, n,
                                               device->copy_out),
                        "cuMemcpyDtoHAsync", error);
    if (!status) {
      status = cuda_check(device, cuda.stream_synchronize(device->copy_out), "cuStreamSynchronize",
                          error);
    }
    if (!status) {
      memcpy((char*)to + at, device->h_staging, n);
    }
  }
  return status;
}

// Host memory

/// Find the device's address of pinned memory and return the object.
static Status
map(GpuHostMemory* const made, GpuHostMemory** const host, Error* const error)
{
  GpuDevice* const device = made->device;
  const Status status =
      cuda_check_made(device, cuda.mem_host_get_device_pointer(&made->d_memory, made->h_memory, 0U),
                      &made->d_memory, "cuMemHostGetDevicePointer", error);
  if (!status) {
    atomic_fetch_add(&device->n_objects, 1U);
    *host = made;
  }
  return status;
}

/// Enter the device, and allocate the description of host memory.
static Status
begin_host(GpuDevice* const device, GpuHostMemory** const made, Error* const error)
{
  const Status status = cuda_enter(device, error);
  *made = status ? NULL : calloc(1U, sizeof(GpuHostMemory));
  return status || *made ? status : error_set(error, STATUS_NO_MEM, "out of memory");
}

Status
cuda_host_register(GpuDevice* const device, void* const memory, const size_t n_bytes,
                   GpuHostMemory** const host, Error* const error)
{
  GpuHostMemory* made = NULL;
  Status status = begin_host(device, &made, error);
  if (status) {
    return status;
  }
  *made = (GpuHostMemory){
    .device = device, .h_memory = memory, .n_bytes = n_bytes, .is_registered = true
  };
  status =
      cuda_check(device,
                 cuda.mem_host_register(memory, n_bytes,
                                        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
                 "cuMemHostRegister", error);
  if (!status) {
    status = map(made, host, error);
    if (status) {
      cuda.mem_host_unregister(memory);
    }
  }
  if (status) {
    free(made);
  }
  return status;
}

Status
cuda_host_new(GpuDevice* const device, const size_t n_bytes, GpuHostMemory** const host,
              Error* const error)
{
  GpuHostMemory* made = NULL;
  Status status = begin_host(device, &made, error);
  if (status) {
    return status;
  }
  *made = (GpuHostMemory){ .device = device, .n_bytes = n_bytes };
  status =
      cuda_check_made(device,
                      cuda.mem_host_alloc(&made->h_memory, n_bytes,
                                          CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                      &made->h_memory, "cuMemHostAlloc", error);
  if (!status) {
    memset(made->h_memory, 0, n_bytes); // the driver does not zero it
    status = map(made, host, error);
    if (status) {
      cuda.mem_free_host(made->h_memory);
    }
  }
  if (status) {
    free(made);
  }
  return status;
}

void*
cuda_host_pointer(GpuHostMemory* const host)
{
  return host->h_memory;
}

void
cuda_host_free(GpuHostMemory* const host)
{
  if (!host) {
    return;
  }
  cuda.ctx_set_current(host->device->context);
  if (host->is_registered) {
    cuda.mem_host_unregister(host->h_memory);
  } else {
    cuda.mem_free_host(host->h_memory);
  }
  atomic_fetch_sub(&host->device->n_objects, 1U);
  free(host);
}
