// SPDX-License-Identifier: GPL-3.0-or-later
// Open and close a device.

#include "device.h"

#include "gpu_compile.h"
#ifdef WARPRACK_FAULTS
#include "gpu_faults.h"
#endif

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// The best device of an API: GPUs before others, then the one with the most memory in total.  The
/// free memory would be a better measure, but drivers report it only to a process with a context on
/// the device, which takes some tenths of a second and some hundred MiB on each.
static Status
find_best(const GpuApi* const api, uint32_t* const index, GpuDeviceInfo* const info,
          Error* const error)
{
  const uint32_t n = api->n_devices();
  bool found = false;
  for (uint32_t i = 0; i < n; ++i) {
    GpuDeviceInfo each = { .is_gpu = false };
    const Status status = api->describe(i, &each, error);
    if (status) {
      return status;
    }
    const bool better =
        each.is_gpu != info->is_gpu ? each.is_gpu : each.memory_bytes > info->memory_bytes;
    if (!found || better) {
      found = true;
      *index = i;
      *info = each;
    }
  }
  return found ? STATUS_OK
               : error_set(error, STATUS_NO_BACKEND, "%s: the driver finds no device",
                           engine_backend_names[api->kind]);
}

static Status
find_device(const GpuApi* const api, const DeviceChoice* const choice, uint32_t* const index,
            GpuDeviceInfo* const info, Error* const error)
{
  const Status status = api->load(error);
  if (status) {
    return status;
  }
  if (choice->index == UINT32_MAX) {
    return find_best(api, index, info, error);
  }
  if (choice->index >= api->n_devices()) {
    return error_set(error, STATUS_NO_BACKEND,
                     "%s: no device %u; `warprack list devices` shows %u of them",
                     engine_backend_names[api->kind], choice->index, api->n_devices());
  }
  *index = choice->index;
  return api->describe(choice->index, info, error);
}

/// True if Linux has a driver for any GPU.  This check saves the time and memory of opening CUDA
/// and OpenCL.
static bool
may_have_gpu(void)
{
  static const char* const nodes[] = { "/dev/nvidiactl", "/dev/dri/renderD128", "/dev/kfd",
                                       "/dev/dxg",       "/dev/mali0",          "/dev/kgsl-3d0" };
  bool is_there = false;
  for (uint32_t n = 0; n < ARRAY_LEN(nodes); ++n) {
    is_there = is_there || access(nodes[n], F_OK) == 0;
  }
  return is_there;
}

static Status
find_asked(const DeviceChoice* const choice, const GpuApi** const api, uint32_t* const index,
           GpuDeviceInfo* const info, Error* const error)
{
  *api = gpu_api_find(choice->api);
  return *api ? find_device(*api, choice, index, info, error)
              : error_set(error, STATUS_NO_BACKEND,
                          "%s: not in this build; the output of meson setup names what is missing",
                          engine_backend_names[choice->api]);
}

/// Find the first API with a GPU.  For tests: WARPRACK_AUTO_GPU=none ignores all GPUs, and =any
/// accepts other devices as a GPU.
static Status
find_gpu(const DeviceChoice* const choice, const GpuApi** const api, uint32_t* const index,
         GpuDeviceInfo* const info, Error* const error)
{
  const char* const rule = getenv("WARPRACK_AUTO_GPU");
  const bool takes_any = rule && !strcmp(rule, "any");
  if (rule && !strcmp(rule, "none")) {
    return error_set(error, STATUS_NO_BACKEND, "WARPRACK_AUTO_GPU=none disables GPUs");
  }
  if (!takes_any && !may_have_gpu()) {
    return error_set(error, STATUS_NO_BACKEND, "this machine has no GPU");
  }
  uint32_t n_apis = 0;
  const GpuApi* const* const apis = gpu_apis(&n_apis);
  for (uint32_t a = 0; a < n_apis; ++a) {
    *api = apis[a];
    if (!find_device(apis[a], choice, index, info, NULL) && (info->is_gpu || takes_any)) {
      return STATUS_OK;
    }
  }
  if (choice->index != UINT32_MAX) {
    return error_set(error, STATUS_NO_BACKEND, "neither CUDA nor OpenCL has a GPU with number %u",
                     choice->index);
  }
  return error_set(error, STATUS_NO_BACKEND, "neither CUDA nor OpenCL has a GPU");
}

// ---- the ring's region ----

static void
detach(Backend* const self)
{
  Device* const device = (Device*)self;
  if (device_is_stuck(device)) {
    return; // a stuck device may still write to the region
  }
  device->api->host_free(device->h_region);
  device->h_region = NULL;
  device->d_region = NULL;
  device->region = NULL;
}

void
device_attach_buffer(Device* const device, void* const region, GpuBuffer* const buffer)
{
  detach(&device->backend);
  device->region = region;
  device->d_region = buffer;
}

static Status
attach(Backend* const self, void* const region, const size_t n_bytes, Error* const error)
{
  Device* const device = (Device*)self;
  detach(self);
  if (!device->info.reaches_host) {
    return STATUS_OK; // the stages of this device copy the rows
  }
  const Status status =
      device->api->host_register(device->gpu, region, n_bytes, &device->h_region, error);
  device->region = status ? NULL : region;
  return status;
}

static const Backend functions = {
  .node_new = device_node_new,
  .lines_new = device_lines_new,
  .memory_free = device_memory_free,
  .memory_reset = device_memory_reset,
  .attach = attach,
  .detach = detach,
  .stage_new = stage_gpu_new,
  .stage_free = stage_gpu_free,
  .stage_rest = stage_gpu_rest,
  .stage_leave = stage_gpu_leave,
  .stage_submit = stage_gpu_submit,
  .stage_is_done = stage_gpu_is_done,
  .stage_collect = stage_gpu_collect,
  .stage_error = stage_gpu_error,
};

Status
device_backend_new(const DeviceChoice* const choice, Backend** const backend, Error* const error)
{
  const GpuApi* api = NULL;
  GpuDeviceInfo info = { .is_gpu = false };
  uint32_t index = 0;
  Status status = choice->api ? find_asked(choice, &api, &index, &info, error)
                              : find_gpu(choice, &api, &index, &info, error);
  if (status) {
    return status;
  }
  Device* const device = calloc(1, sizeof(Device));
  status = device ? api->open(index, &device->gpu, error)
                  : error_set(error, STATUS_NO_MEM, "out of memory");
  if (status) {
    free(device);
    return status;
  }
  device->api = api;
  device->info = info;
  device->deadline_ns = choice->deadline_ns;
  device->keep_awake = choice->keep_awake;
  device->backend = functions;
  device->backend.kind = api->kind;
  snprintf(device->summary, sizeof(device->summary), "%s device %u: %s, driver %s, %" PRIu64 " MiB",
           engine_backend_names[api->kind], index, device->info.name, device->info.driver,
           device->info.memory_bytes >> 20U);
  status = device_measure_switch(device, error);
#ifdef WARPRACK_FAULTS
  if (!status) {
    gpu_faults_wrap(&device->api);
  }
#endif
  if (status) {
    device_backend_free(&device->backend);
    return status;
  }
  *backend = &device->backend;
  return STATUS_OK;
}

/// Stuck devices with all their memory.  They are never freed; the list keeps them reachable for
/// leak checkers.
static Device* left_behind;

bool
device_backend_was_left(void)
{
  return left_behind != NULL;
}

bool
device_backend_free(Backend* const backend)
{
  Device* const device = (Device*)backend;
  if (!device) {
    return true;
  }
  device_backend_play(backend, false);
  if (device_is_stuck(device)) {
    device->next_left = left_behind;
    left_behind = device;
    return false;
  }
  detach(backend);
  device_spares_free(device);
  device_chunks_free(device);
  device_kernels_free(device);
  device->api->close(device->gpu);
  free(device);
  return true;
}

void
device_backend_set_deadline(Backend* const backend, const uint64_t deadline_ns)
{
  ((Device*)backend)->deadline_ns = deadline_ns;
}

bool
device_backend_is_gpu(const Backend* const backend)
{
  return ((const Device*)backend)->info.is_gpu;
}

const char*
device_backend_summary(const Backend* const backend)
{
  return ((const Device*)backend)->summary;
}
