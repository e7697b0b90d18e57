// SPDX-License-Identifier: GPL-3.0-or-later
// The fake driver's device, context, memory and modules.

#include "fake_nvrtc.h"
#include "fake_private.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_RANGES    1024U
#define MAX_FUNCTIONS 64U

struct CUctx_st {
  char nothing;
};

struct CUmod_st {
  char* text;
};

struct CUfunc_st {
  FakeFunction function;
};

typedef enum RangeKind { RANGE_DEVICE, RANGE_HOST, RANGE_REGISTERED } RangeKind;

/// A range of memory that the driver allocated or registered.
typedef struct Range {
  RangeKind kind;
  char* memory; ///< Host address; NULL: the row is free
  size_t n_bytes;
  bool is_mapped;
} Range;

static Range ranges[MAX_RANGES];
static size_t n_used_bytes;
static struct CUfunc_st functions[MAX_FUNCTIONS];
static uint32_t n_functions;
static unsigned context_flags;
static char loaded_kernel[64];
static char loaded_code[16];
static unsigned driver_version = FAKE_DRIVER_VERSION;

unsigned
fake_context_flags(void)
{
  return context_flags;
}

const char*
fake_loaded_kernel(void)
{
  return loaded_kernel;
}

const char*
fake_loaded_code(void)
{
  return loaded_code;
}

void
fake_set_driver_version(const unsigned version)
{
  driver_version = version;
}

// Device

CUresult CUDAAPI
cuDriverGetVersion(int* const version)
{
  FAKE_ENTER_WITHOUT_CONTEXT()
  FAKE_GIVE_NUMBER(version)
  *version = (int)driver_version;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGetCount(int* const count)
{
  FAKE_ENTER_WITHOUT_CONTEXT()
  FAKE_GIVE_NUMBER(count)
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGet(CUdevice* const device, const int ordinal)
{
  FAKE_ENTER_WITHOUT_CONTEXT()
  FAKE_GIVE_NUMBER(device)
  *device = 40 + ordinal; // differs from the ordinal: code that confuses them gets an error
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGetName(char* const name, const int length, const CUdevice device)
{
  FAKE_ENTER_WITHOUT_CONTEXT()
  FAKE_GIVE(name)
  (void)device;
  snprintf(name, (size_t)length, "Fake GPU");
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceTotalMem_v2(size_t* const n_bytes, const CUdevice device)
{
  FAKE_ENTER_WITHOUT_CONTEXT()
  FAKE_GIVE_NUMBER(n_bytes)
  (void)device;
  *n_bytes = FAKE_MEMORY_BYTES;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuDeviceGetAttribute(int* const value, const CUdevice_attribute which, const CUdevice device)
{
  FAKE_ENTER_WITHOUT_CONTEXT()
  FAKE_GIVE_NUMBER(value)
  if (device != 40) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  switch ((int)which) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = FAKE_CAPABILITY / 10;
    break;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = FAKE_CAPABILITY % 10;
    break;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 4;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = 1024;
    break;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
    *value = 49152;
    break;
  case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
  case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
    *value = 1;
    break;
  default:
    *value = 0;
    break;
  }
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxCreate_v2(CUcontext* const context, const unsigned flags, const CUdevice device)
{
  FAKE_ENTER_WITHOUT_CONTEXT(.flags = flags)
  FAKE_GIVE(context)
  (void)device;
  context_flags = flags;
  *context = calloc(1, sizeof(**context));
  fake_made();
  fake_set_current(*context);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuCtxDestroy_v2(const CUcontext context)
{
  FAKE_ENTER_FREEING();
  free(context);
  fake_freed();
  return fake_result;
}

// Memory

static Range*
add_range(const RangeKind kind, void* const memory, const size_t n_bytes, const bool is_mapped)
{
  for (uint32_t r = 0; r < MAX_RANGES; ++r) {
    if (!ranges[r].memory) {
      ranges[r] = (Range){ kind, memory, n_bytes, is_mapped };
      fake_made();
      return &ranges[r];
    }
  }
  fputs("fake CUDA driver: too many allocations\n", stderr);
  abort();
}

/// The range of a kind that contains all these bytes, or NULL.
static Range*
find_range(const RangeKind kind, const char* const memory, const size_t n_bytes)
{
  for (uint32_t r = 0; r < MAX_RANGES; ++r) {
    Range* const range = &ranges[r];
    if (range->memory && range->kind == kind && memory >= range->memory &&
        memory + n_bytes <= range->memory + range->n_bytes) {
      return range;
    }
  }
  return NULL;
}

static CUresult
free_range(const RangeKind kind, const void* const memory)
{
  Range* const range = find_range(kind, memory, 1);
  if (!range || range->memory != memory) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (kind != RANGE_REGISTERED) {
    free(range->memory);
  }
  range->memory = NULL;
  fake_freed();
  return CUDA_SUCCESS;
}

void*
fake_host(const CUdeviceptr address)
{
  return (void*)(uintptr_t)(address - FAKE_OFFSET); // NOLINT
}

static CUdeviceptr
address_of(const void* const memory)
{
  return (CUdeviceptr)(uintptr_t)memory + FAKE_OFFSET;
}

bool
fake_is_device_range(const CUdeviceptr address, const size_t n_bytes)
{
  return find_range(RANGE_DEVICE, fake_host(address), n_bytes) != NULL;
}

bool
fake_is_pinned(const void* const memory, const size_t n_bytes)
{
  return find_range(RANGE_HOST, memory, n_bytes) || find_range(RANGE_REGISTERED, memory, n_bytes);
}

CUresult CUDAAPI
cuMemGetInfo_v2(size_t* const n_free, size_t* const n_bytes)
{
  FAKE_ENTER()
  FAKE_GIVE_NUMBER(n_free)
  *n_free = FAKE_MEMORY_BYTES - n_used_bytes;
  *n_bytes = FAKE_MEMORY_BYTES;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemAlloc_v2(CUdeviceptr* const address, const size_t n_bytes)
{
  FAKE_ENTER()
  FAKE_NOT_WHILE_CAPTURING()
  FAKE_GIVE(address)
  if (n_bytes > FAKE_MEMORY_BYTES - n_used_bytes) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  void* const memory = malloc(n_bytes);
  memset(memory, 0xA5, n_bytes); // the driver does not promise zeros
  n_used_bytes += n_bytes;
  *address = address_of(add_range(RANGE_DEVICE, memory, n_bytes, true)->memory);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemFree_v2(const CUdeviceptr address)
{
  FAKE_ENTER_FREEING();
  const Range* const range = find_range(RANGE_DEVICE, fake_host(address), 1);
  n_used_bytes -= range ? range->n_bytes : 0U;
  const CUresult result = free_range(RANGE_DEVICE, fake_host(address));
  return fake_result ? fake_result : result;
}

CUresult CUDAAPI
cuMemHostAlloc(void** const memory, const size_t n_bytes, const unsigned flags)
{
  FAKE_ENTER(.flags = flags)
  FAKE_NOT_WHILE_CAPTURING()
  FAKE_GIVE(memory)
  void* const made = aligned_alloc(4096U, (n_bytes + 4095U) / 4096U * 4096U);
  memset(made, 0xA5, n_bytes);
  add_range(RANGE_HOST, made, n_bytes, flags & CU_MEMHOSTALLOC_DEVICEMAP);
  *memory = made;
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemFreeHost(void* const memory)
{
  FAKE_ENTER_FREEING();
  const CUresult result = free_range(RANGE_HOST, memory);
  return fake_result ? fake_result : result;
}

CUresult CUDAAPI
cuMemHostRegister_v2(void* const memory, const size_t n_bytes, const unsigned flags)
{
  FAKE_ENTER(.flags = flags)
  if (find_range(RANGE_REGISTERED, memory, 1)) {
    return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  }
  add_range(RANGE_REGISTERED, memory, n_bytes, flags & CU_MEMHOSTREGISTER_DEVICEMAP);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuMemHostUnregister(void* const memory)
{
  FAKE_ENTER_FREEING();
  const CUresult result = free_range(RANGE_REGISTERED, memory);
  return fake_result ? fake_result : result;
}

CUresult CUDAAPI
cuMemHostGetDevicePointer_v2(CUdeviceptr* const address, void* const memory, const unsigned flags)
{
  FAKE_ENTER(.flags = flags)
  FAKE_GIVE(address)
  const Range* range = find_range(RANGE_HOST, memory, 1);
  range = range ? range : find_range(RANGE_REGISTERED, memory, 1);
  if (!range || !range->is_mapped) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *address = address_of(memory);
  return CUDA_SUCCESS;
}

// Modules and kernels

CUresult CUDAAPI
cuModuleLoadData(CUmodule* const module, const void* const image)
{
  FAKE_ENTER()
  FAKE_NOT_WHILE_CAPTURING()
  FAKE_GIVE(module)
  char form[8] = "";
  unsigned compiler = 0;
  if (sscanf(image, FAKE_CODE_SCAN, form, &compiler) != 2 || compiler > driver_version / 1000U) {
    return strcmp(form, "ptx") ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  snprintf(loaded_code, sizeof(loaded_code), "%s %u", form, compiler);
  *module = malloc(sizeof(**module));
  (*module)->text = strdup(image);
  fake_made();
  return CUDA_SUCCESS;
}

CUresult CUDAAPI
cuModuleUnload(const CUmodule module)
{
  FAKE_ENTER_FREEING();
  free(module->text);
  free(module);
  fake_freed();
  return fake_result;
}

CUresult CUDAAPI
cuModuleGetFunction(CUfunction* const function, const CUmodule module, const char* const name)
{
  FAKE_ENTER()
  FAKE_GIVE(function)
  for (uint32_t f = 0; f < n_functions; ++f) {
    if (!strcmp(functions[f].function.name, name) && strstr(module->text, name)) {
      *function = &functions[f];
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_NOT_FOUND;
}

#ifndef FAKE_WITHOUT_FUNC_LOAD
CUresult CUDAAPI
cuFuncLoad(const CUfunction function)
{
  FAKE_ENTER()
  snprintf(loaded_kernel, sizeof(loaded_kernel), "%s", function->function.name);
  return CUDA_SUCCESS;
}
#endif

const FakeFunction*
fake_function(const CUfunction function)
{
  return &function->function;
}

FakeFunction*
fake_find_function(const char* const name)
{
  for (uint32_t f = 0; f < n_functions; ++f) {
    if (!strcmp(functions[f].function.name, name)) {
      return &functions[f].function;
    }
  }
  return NULL;
}

void
fake_teach(const char* const name, const char* const types, const FakeKernel function)
{
  FakeFunction* known = fake_find_function(name);
  known = known ? known : &functions[n_functions++].function;
  *known = (FakeFunction){ .function = function };
  snprintf(known->name, sizeof(known->name), "%s", name);
  snprintf(known->types, sizeof(known->types), "%s", types);
}

void
fake_teach_wait(const char* const name, const FakeReady is_ready)
{
  fake_find_function(name)->is_ready = is_ready;
}

void
fake_break(const char* const name, const CUresult result)
{
  FAKE_LOCK();
  fake_find_function(name)->failure = result;
}
