// SPDX-License-Identifier: GPL-3.0-or-later
// The devices of all OpenCL platforms: GPUs first, then accelerators, then CPUs.

#include "opencl_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES   32U
#define MAX_PLATFORMS 16U
#define PROBE_BYTES   4096U // a page, the alignment required for registered memory

static const char* const library_names[] = { "libOpenCL.so.1", "libOpenCL.so", NULL };

static struct {
  bool is_tried;
  Error error; // of load()
  uint32_t n_devices;
  OpenclFound devices[MAX_DEVICES];
} list;

// ---- queries of a device; 0 and "" without an answer ----

static uint64_t
device_number(const cl_device_id id, const cl_device_info what)
{
  uint64_t value = 0; // assumes a little-endian host: a narrower answer fills the low bytes
  return opencl_driver.clGetDeviceInfo(id, what, sizeof(value), &value, NULL) ? 0 : value;
}

static void
device_text(const cl_device_id id, const cl_device_info what, char* const text,
            const size_t n_bytes)
{
  char whole[1024] = ""; // empty if the driver returns nothing
  if (opencl_driver.clGetDeviceInfo(id, what, sizeof(whole) - 1U, whole, NULL)) {
    whole[0] = '\0';
  }
  snprintf(text, n_bytes, "%s", whole + strspn(whole, " "));
}

static void
platform_text(const cl_platform_id id, const cl_platform_info what, char* const text,
              const size_t n_bytes)
{
  char whole[1024] = ""; // empty if the driver returns nothing
  if (opencl_driver.clGetPlatformInfo(id, what, sizeof(whole) - 1U, whole, NULL)) {
    whole[0] = '\0';
  }
  snprintf(text, n_bytes, "%s", whole);
}

static bool
is_usable(const cl_device_id id)
{
  char version[64];
  unsigned major = 0;
  unsigned minor = 0;
  device_text(id, CL_DEVICE_VERSION, version, sizeof(version));
  return sscanf(version, "OpenCL %u.%u", &major, &minor) == 2 && major * 10U + minor >= 12U &&
         device_number(id, CL_DEVICE_AVAILABLE) &&
         device_number(id, CL_DEVICE_COMPILER_AVAILABLE) &&
         device_number(id, CL_DEVICE_ENDIAN_LITTLE) &&
         device_number(id, CL_DEVICE_MAX_WORK_GROUP_SIZE) >= GPU_MAX_GROUP &&
         device_number(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) <= GPU_ALIGNMENT * 8U; // in bits
}

// ---- shared memory ----

static bool
is_all(const unsigned char* const bytes, const unsigned char value)
{
  for (uint32_t i = 0; i < PROBE_BYTES; ++i) {
    if (bytes[i] != value) {
      return false;
    }
  }
  return true;
}

// True if the device sees the host's writes and the host sees the device's.
static bool
sees_both_ways(const cl_command_queue queue, const cl_mem shared, const cl_mem other,
               unsigned char* const host)
{
  unsigned char seen[PROBE_BYTES];
  const unsigned char pattern = 0xA5;
  memset(host, 0x5A, PROBE_BYTES);
  return !opencl_driver.clEnqueueCopyBuffer(queue, shared, other, 0, 0, PROBE_BYTES, 0, NULL,
                                            NULL) &&
         !opencl_driver.clEnqueueReadBuffer(queue, other, CL_TRUE, 0, PROBE_BYTES, seen, 0, NULL,
                                            NULL) &&
         is_all(seen, 0x5A) &&
         !opencl_driver.clEnqueueFillBuffer(queue, shared, &pattern, 1, 0, PROBE_BYTES, 0, NULL,
                                            NULL) &&
         !opencl_driver.clFinish(queue) && is_all(host, pattern);
}

// The standard allows a device to keep a copy of host memory until the memory is mapped, and two
// blocks in flight cannot map and unmap the whole memory around every use.  A device that uses host
// memory (an integrated GPU, PoCL) needs no copy, but the standard does not guarantee that it makes
// none: this function tests it.  A device that fails counts as one with memory of its own.
static bool
shares_memory(const cl_device_id id)
{
  // "own": treat the memory as separate, for tests without a graphics card.
  const char* const wish = getenv("WARPRACK_OPENCL_MEMORY");
  if (!device_number(id, CL_DEVICE_HOST_UNIFIED_MEMORY) || (wish && !strcmp(wish, "own"))) {
    return false;
  }
  bool is_shared = false;
  unsigned char* const host = aligned_alloc(PROBE_BYTES, PROBE_BYTES);
  const cl_context context = opencl_driver.clCreateContext(NULL, 1, &id, NULL, NULL, NULL);
  if (context && host) {
    memset(host, 0, PROBE_BYTES);
    const cl_command_queue queue = opencl_driver.clCreateCommandQueue(context, id, 0, NULL);
    const cl_mem shared =
        opencl_driver.clCreateBuffer(context, CL_MEM_USE_HOST_PTR, PROBE_BYTES, host, NULL);
    const cl_mem other = opencl_driver.clCreateBuffer(context, 0, PROBE_BYTES, NULL, NULL);
    is_shared = queue && shared && other && sees_both_ways(queue, shared, other, host);
    if (other) {
      opencl_driver.clReleaseMemObject(other);
    }
    if (shared) {
      opencl_driver.clReleaseMemObject(shared);
    }
    if (queue) {
      opencl_driver.clReleaseCommandQueue(queue);
    }
  }
  if (context) {
    opencl_driver.clReleaseContext(context);
  }
  free(host);
  return is_shared;
}

// ---- the list ----

static void
describe_versions(OpenclFound* const found)
{
  char platform[96];
  char platform_version[192];
  char device_version[128];
  char driver[64];
  platform_text(found->platform, CL_PLATFORM_NAME, platform, sizeof(platform));
  platform_text(found->platform, CL_PLATFORM_VERSION, platform_version, sizeof(platform_version));
  device_text(found->id, CL_DEVICE_VERSION, device_version, sizeof(device_version));
  device_text(found->id, CL_DRIVER_VERSION, driver, sizeof(driver));
  snprintf(found->info.driver, sizeof(found->info.driver), "%.40s %.22s", platform, driver);
  snprintf(found->toolchain, sizeof(found->toolchain), "%s|%s|%s|%s", platform, platform_version,
           device_version, driver);
}

static void
add_device(const cl_platform_id platform, const cl_device_id id, const cl_device_type type)
{
  if (list.n_devices == MAX_DEVICES || !id || !is_usable(id)) {
    return;
  }
  OpenclFound* const found = &list.devices[list.n_devices++];
  const bool is_shared = shares_memory(id);
  found->id = id;
  found->platform = platform;
  found->rounds_correctly =
      device_number(id, CL_DEVICE_SINGLE_FP_CONFIG) & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT;
  found->info = (GpuDeviceInfo){
    .memory_bytes = device_number(id, CL_DEVICE_GLOBAL_MEM_SIZE),
    .largest_bytes = device_number(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
    .compute_units = (uint32_t)device_number(id, CL_DEVICE_MAX_COMPUTE_UNITS),
    .max_group = (uint32_t)device_number(id, CL_DEVICE_MAX_WORK_GROUP_SIZE),
    .local_bytes = (uint32_t)device_number(id, CL_DEVICE_LOCAL_MEM_SIZE),
    .is_gpu = type == CL_DEVICE_TYPE_GPU,
    .shares_memory = is_shared,
    .reaches_host = is_shared,
  };
  device_text(id, CL_DEVICE_NAME, found->info.name, sizeof(found->info.name));
  describe_versions(found);
}

static void
add_devices(const cl_device_type type)
{
  cl_platform_id platforms[MAX_PLATFORMS] = {
    NULL
  }; // zeroed, because a driver may report more entries than it fills
  cl_uint n_platforms = 0;
  if (opencl_driver.clGetPlatformIDs(MAX_PLATFORMS, platforms, &n_platforms)) {
    return;
  }
  for (cl_uint p = 0; p < n_platforms && p < MAX_PLATFORMS; ++p) {
    cl_device_id ids[MAX_DEVICES] = { NULL };
    cl_uint n_ids = 0;
    if (!platforms[p] ||
        opencl_driver.clGetDeviceIDs(platforms[p], type, MAX_DEVICES, ids, &n_ids)) {
      continue; // usually CL_DEVICE_NOT_FOUND: no device of this type
    }
    for (cl_uint d = 0; d < n_ids && d < MAX_DEVICES; ++d) {
      add_device(platforms[p], ids[d], type);
    }
  }
}

static Status
load(Error* const error)
{
  const Status status = opencl_driver_open(library_names, error);
  if (status) {
    return status;
  }
  cl_uint n_platforms = 0;
  const cl_int code = opencl_driver.clGetPlatformIDs(0, NULL, &n_platforms);
  if (code || !n_platforms) {
    return error_set(error, STATUS_NO_BACKEND,
                     "OpenCL: no platform is installed (%d); install your device's driver, or "
                     "pocl-opencl-icd for the CPU",
                     code);
  }
  add_devices(CL_DEVICE_TYPE_GPU);
  add_devices(CL_DEVICE_TYPE_ACCELERATOR);
  add_devices(CL_DEVICE_TYPE_CPU);
  if (!list.n_devices) {
    return error_set(error, STATUS_NO_BACKEND,
                     "OpenCL: no device of the %u platforms has OpenCL 1.2, a compiler and groups "
                     "of %u threads",
                     n_platforms, GPU_MAX_GROUP);
  }
  return STATUS_OK;
}

Status
opencl_load(Error* const error)
{
  if (!list.is_tried) {
    list.is_tried = true;
    load(&list.error);
  }
  if (list.n_devices) {
    return STATUS_OK;
  }
  return error_set(error, STATUS_NO_BACKEND, "%s", list.error.text);
}

uint32_t
opencl_n_devices(void)
{
  return list.n_devices;
}

const OpenclFound*
opencl_found(const uint32_t index)
{
  return index < list.n_devices ? &list.devices[index] : NULL;
}

Status
opencl_describe(const uint32_t index, GpuDeviceInfo* const info, Error* const error)
{
  const OpenclFound* const found = opencl_found(index);
  if (!found) {
    return error_set(error, STATUS_NO_BACKEND, "OpenCL: there is no device %u, but %u in all",
                     index, list.n_devices);
  }
  *info = found->info;
  return STATUS_OK;
}
