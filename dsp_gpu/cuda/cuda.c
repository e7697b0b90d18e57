// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA implementation of gpu.h: driver, devices and contexts.

#include "cuda_private.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_loaded;

#define MAX_DEVICES 256 // a larger number from the driver is an error

// Driver and devices

/// Error of a call that fails before a context exists; the device is not lost.
static Status
refused(const CUresult result, const char* const call, Error* const error)
{
  Status status = cuda_error(&cuda, result, call, error);
  status = status == STATUS_NO_MEM ? status : STATUS_NO_BACKEND;
  if (error) {
    error->status = status;
  }
  return status;
}

static Status
count_devices(int* const n_devices, Error* const error)
{
  const CUresult result = cuda.device_get_count(n_devices);
  if (result) {
    return refused(result, "cuDeviceGetCount", error);
  }
  if (*n_devices < 0 || *n_devices > MAX_DEVICES) {
    return error_set(error, STATUS_NO_BACKEND,
                     "cuDeviceGetCount: the driver counts %d devices, and at most %d are possible; "
                     "reinstall the driver",
                     *n_devices, MAX_DEVICES);
  }
  return STATUS_OK;
}

static Status
open_driver(Error* const error)
{
  // With lazy loading, the default since 12.2, the first launch of a kernel waits for all work in
  // the context.  The driver reads this variable when it is initialised.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  const Status status = cuda_driver_open(cuda_library_names, &cuda, error);
  if (status) {
    return status;
  }
  const CUresult result = cuda.init(0U);
  if (result) {
    return refused(result, "cuInit", error);
  }
  is_loaded = true;
  return STATUS_OK;
}

static Status
load_and_count(int* const n_devices, Error* const error)
{
  const Status status = is_loaded ? STATUS_OK : open_driver(error);
  return status ? status : count_devices(n_devices, error);
}

static Status
cuda_load(Error* const error)
{
  int n_devices = 0;
  return load_and_count(&n_devices, error);
}

static uint32_t
cuda_n_devices(void)
{
  int n_devices = 0;
  return is_loaded && !count_devices(&n_devices, NULL) ? (uint32_t)n_devices : 0U;
}

/// CUDA version of the driver, 0 if it reports none.
static uint32_t
driver_version(void)
{
  int version = 0;
  return !cuda.driver_get_version(&version) && version > 0 ? (uint32_t)version : 0U;
}

/// For example "580.65.06 (CUDA 13.0)"; only the CUDA version if the version of the kernel module
/// cannot be read.
static void
describe_driver(char* const text, const size_t n_bytes)
{
  char module[32] = "";
  FILE* const file = fopen("/sys/module/nvidia/version", "r");
  if (file) {
    if (!fgets(module, sizeof(module), file)) {
      module[0] = '\0';
    }
    fclose(file);
    module[strcspn(module, "\n")] = '\0';
  }
  const uint32_t version = driver_version();
  snprintf(text, n_bytes, module[0] ? "%s (CUDA %u.%u)" : "%sCUDA %u.%u", module, version / 1000U,
           version % 1000U / 10U);
}

/// An attribute of a device, 0 if the driver returns an error; *result keeps the first error.
static uint32_t
attribute(const CUdevice handle, const CUdevice_attribute which, CUresult* const result)
{
  int value = 0;
  if (!*result) {
    *result = cuda.device_get_attribute(&value, which, handle);
  }
  return !*result && value > 0 ? (uint32_t)value : 0U;
}

static uint32_t
capability_of(const CUdevice handle, CUresult* const result)
{
  return 10U * attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, result) +
         attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, result);
}

static Status
get_handle(const uint32_t index, CUdevice* const handle, Error* const error)
{
  int n_devices = 0;
  const Status status = load_and_count(&n_devices, error);
  if (status) {
    return status;
  }
  if (index >= (uint32_t)n_devices) {
    return error_set(error, STATUS_NO_BACKEND, "no CUDA device %u: there are %d", index, n_devices);
  }
  const CUresult result = cuda.device_get(handle, (int)index);
  return result ? refused(result, "cuDeviceGet", error) : STATUS_OK;
}

static Status
cuda_describe(const uint32_t index, GpuDeviceInfo* const info, Error* const error)
{
  CUdevice handle = 0;
  const Status status = get_handle(index, &handle, error);
  if (status) {
    return status;
  }
  GpuDeviceInfo found = { .is_gpu = true };
  CUresult result =
      // The driver may not add a final 0: the last byte of the zeroed name stays 0.
      cuda.device_get_name(found.name, (int)sizeof(found.name) - 1, handle);
  if (result) {
    return refused(result, "cuDeviceGetName", error);
  }
  size_t n_bytes = 0;
  result = cuda.device_total_mem(&n_bytes, handle);
  if (result) {
    return refused(result, "cuDeviceTotalMem", error);
  }
  found.memory_bytes = n_bytes;
  found.largest_bytes = n_bytes; // CUDA has no smaller limit for one buffer
  found.compute_units = attribute(handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &result);
  found.max_group = attribute(handle, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &result);
  found.local_bytes = attribute(handle, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &result);
  found.capability = capability_of(handle, &result);
  found.shares_memory = attribute(handle, CU_DEVICE_ATTRIBUTE_INTEGRATED, &result) != 0U;
  found.reaches_host = attribute(handle, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, &result) != 0U;
  found.ends_kernels = attribute(handle, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT, &result) != 0U;
  if (result) {
    return refused(result, "cuDeviceGetAttribute", error);
  }
  describe_driver(found.driver, sizeof(found.driver));
  *info = found;
  return STATUS_OK;
}

// Contexts

static Status
make_stream(GpuDevice* const device, CUstream* const cu_stream, Error* const error)
{
  return cuda_check_made(device, cuda.stream_create(cu_stream, CU_STREAM_NON_BLOCKING), cu_stream,
                         "cuStreamCreate", error);
}

static Status
make_event(GpuDevice* const device, CUevent* const event, Error* const error)
{
  return cuda_check_made(device, cuda.event_create(event, CU_EVENT_DISABLE_TIMING), event,
                         "cuEventCreate", error);
}

static Status
make_lane(GpuDevice* const device, CudaLane* const lane, Error* const error)
{
  Status status = make_stream(device, &lane->stream, error);
  status = status ? status : make_event(device, &lane->kernels_done, error);
  if (!status) { // record the event, for which the first submission of the other lane waits
    status = cuda_check(device, cuda.event_record(lane->kernels_done, lane->stream),
                        "cuEventRecord", error);
  }
  return status;
}

/// Make all objects of a device except its context; on error cuda_close() frees those that exist.
static Status
furnish(GpuDevice* const device, Error* const error)
{
  CUstream* const streams[] = { &device->copy_in, &device->compute, &device->copy_out,
                                &device->nudges };
  CUevent* const events[] = { &device->copied_in, &device->computed, &device->marked,
                              &device->copied_out };
  Status status = STATUS_OK;
  for (size_t s = 0; s < ARRAY_LEN(streams) && !status; ++s) {
    status = make_stream(device, streams[s], error);
  }
  for (size_t e = 0; e < ARRAY_LEN(events) && !status; ++e) {
    status = make_event(device, events[e], error);
  }
  for (size_t l = 0; l < CUDA_N_LANES && !status; ++l) {
    status = make_lane(device, &device->lanes[l], error);
  }
  if (!status) {
    status = cuda_check_made(
        device,
        cuda.mem_host_alloc(&device->h_staging, CUDA_STAGING_BYTES, CU_MEMHOSTALLOC_PORTABLE),
        &device->h_staging, "cuMemHostAlloc", error);
  }
  if (!status) {
    const char* const options[] = { "-DGROUP_SIZE=32", NULL };
    status =
        cuda_module_new(device, "done.cu", cuda_done_source, options, &device->done_module, error);
  }
  const struct {
    const char* name;
    GpuKernel** kernel;
  } kernels[] = { { CUDA_AWAIT_KERNEL, &device->await_kernel },
                  { CUDA_DONE_KERNEL, &device->done_kernel },
                  { CUDA_ENDED_KERNEL, &device->ended_kernel },
                  { CUDA_NUDGE_KERNEL, &device->nudge_kernel } };
  for (size_t k = 0; k < ARRAY_LEN(kernels) && !status; ++k) {
    status = cuda_kernel_get(device->done_module, kernels[k].name, kernels[k].kernel, error);
  }
  return status ? status : cuda_words_reserve(device, error);
}

static void
cuda_close(GpuDevice* const device)
{
  if (!device) {
    return;
  }
  cuda.ctx_set_current(device->context);
  const CUevent events[] = { device->copied_in,
                             device->computed,
                             device->marked,
                             device->copied_out,
                             device->lanes[0].kernels_done,
                             device->lanes[1].kernels_done };
  const CUstream streams[] = { device->copy_in, device->compute,         device->copy_out,
                               device->nudges,  device->lanes[0].stream, device->lanes[1].stream };
  cuda_module_free(device->done_module);
  while (device->n_spare_words) {
    cuda_host_free(device->spare_words[--device->n_spare_words]);
  }
  assert(atomic_load(&device->n_objects) == 0U);
  for (size_t e = 0; e < ARRAY_LEN(events); ++e) {
    if (events[e]) {
      cuda.event_destroy(events[e]);
    }
  }
  for (size_t s = 0; s < ARRAY_LEN(streams); ++s) {
    if (streams[s]) {
      cuda.stream_destroy(streams[s]);
    }
  }
  if (device->h_staging) {
    cuda.mem_free_host(device->h_staging);
  }
  cuda.ctx_destroy(device->context);
  free(device);
}

static Status
cuda_open(const uint32_t index, GpuDevice** const device, Error* const error)
{
  CUdevice handle = 0;
  Status status = get_handle(index, &handle, error);
  if (status) {
    return status;
  }
  GpuDevice* const opened = calloc(1U, sizeof(*opened));
  if (!opened) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  CUresult result = CUDA_SUCCESS;
  opened->machine = (NvrtcMachine){ driver_version(), capability_of(handle, &result) };
  if (result) {
    free(opened);
    return refused(result, "cuDeviceGetAttribute", error);
  }
  // Spin: a sleeping wait would add the scheduler's wake-up time.
  result = cuda.ctx_create(&opened->context, CU_CTX_SCHED_SPIN | CU_CTX_MAP_HOST, handle);
  if (result || !opened->context) {
    free(opened);
    return result ? refused(result, "cuCtxCreate", error) : cuda_made_nothing("cuCtxCreate", error);
  }
  status = furnish(opened, error);
  if (status) {
    cuda_close(opened);
    return status;
  }
  *device = opened;
  return STATUS_OK;
}

const GpuApi gpu_cuda = {
  .kind = ENGINE_BACKEND_CUDA,
  .load = cuda_load,
  .n_devices = cuda_n_devices,
  .describe = cuda_describe,
  .open = cuda_open,
  .close = cuda_close,
  .buffer_new = cuda_buffer_new,
  .buffer_free = cuda_buffer_free,
  .buffer_address = cuda_buffer_address,
  .buffer_write = cuda_buffer_write,
  .buffer_read = cuda_buffer_read,
  .host_register = cuda_host_register,
  .host_new = cuda_host_new,
  .host_pointer = cuda_host_pointer,
  .host_free = cuda_host_free,
  .module_new = cuda_module_new,
  .module_free = cuda_module_free,
  .kernel_get = cuda_kernel_get,
  .record = cuda_record,
  .recording_free = cuda_recording_free,
  .rehearse = cuda_rehearse,
  .arm = cuda_arm,
  .disarm = cuda_disarm,
  .submit = cuda_submit,
  .poll = cuda_poll,
  .nudge = cuda_nudge,
  .finish = cuda_finish,
  .last_error = cuda_last_error,
};
