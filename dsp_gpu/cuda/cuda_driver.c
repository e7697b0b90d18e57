// SPDX-License-Identifier: GPL-3.0-or-later
// Opens NVIDIA's driver and translates its errors.

#include "cuda_driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct Symbol {
  const char* name;
  size_t offset;       ///< Offset of the function pointer in CudaDriver
  uint32_t capability; ///< CUDA_HAS_* of an optional function, 0: required
} Symbol;

#define REQUIRED_ROW(member, symbol, type) { symbol, offsetof(CudaDriver, member), 0U },
#define OPTIONAL_ROW(member, symbol, type, capability)                                             \
  { symbol, offsetof(CudaDriver, member), capability },

static const Symbol symbols[] = { CUDA_FUNCTIONS(REQUIRED_ROW, OPTIONAL_ROW) };

const char* const cuda_library_names[] = { "libcuda.so.1", "libcuda.so", NULL };

static void*
open_first(const char* const* const names, const char** const name, Error* const error)
{
  char first_reason[256] = "";
  for (uint32_t n = 0; names[n]; ++n) {
    void* const library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
    if (library) {
      *name = names[n];
      return library;
    }
    if (n == 0U) { // keep the error for the name that an installed driver has
      snprintf(first_reason, sizeof(first_reason), "%s", dlerror());
    }
  }
  error_set(error, STATUS_NO_BACKEND,
            "no NVIDIA driver: %s; install the driver of the graphics card with its CUDA library "
            "(Debian: nvidia-driver, libcuda1)",
            first_reason);
  return NULL;
}

Status
cuda_driver_open(const char* const* const names, CudaDriver* const driver, Error* const error)
{
  const char* name = NULL;
  void* const library = open_first(names, &name, error);
  if (!library) {
    return STATUS_NO_BACKEND;
  }
  CudaDriver found = { 0 };
  for (size_t s = 0; s < ARRAY_LEN(symbols); ++s) {
    void* const function = dlsym(library, symbols[s].name);
    if (!function && !symbols[s].capability) {
      dlclose(library);
      return error_set(
          error, STATUS_NO_BACKEND,
          "%s has no %s: the NVIDIA driver is older than CUDA 11.4; install driver 470 "
          "or newer",
          name, symbols[s].name);
    }
    found.has |= function ? symbols[s].capability : 0U;
    memcpy((char*)&found + symbols[s].offset, &function, sizeof(function));
  }
  *driver = found;
  return STATUS_OK;
}

// Sticky errors: after one of them, the driver returns the same error for every call on the
// context.  According to cuda.h most of them require a new process; after the others the context or
// the device no longer exists.
static const CUresult sticky_results[] = {
  CUDA_ERROR_DEINITIALIZED,
  CUDA_ERROR_INVALID_CONTEXT,
  CUDA_ERROR_ECC_UNCORRECTABLE,
  CUDA_ERROR_NVLINK_UNCORRECTABLE,
  (CUresult)226, // CUDA_ERROR_CONTAINED, since 13.0
  CUDA_ERROR_ILLEGAL_ADDRESS,
  CUDA_ERROR_LAUNCH_TIMEOUT,
  CUDA_ERROR_CONTEXT_IS_DESTROYED,
  CUDA_ERROR_ASSERT,
  CUDA_ERROR_HARDWARE_STACK_ERROR,
  CUDA_ERROR_ILLEGAL_INSTRUCTION,
  CUDA_ERROR_MISALIGNED_ADDRESS,
  CUDA_ERROR_INVALID_ADDRESS_SPACE,
  CUDA_ERROR_INVALID_PC,
  CUDA_ERROR_LAUNCH_FAILED,
  (CUresult)721, // CUDA_ERROR_TENSOR_MEMORY_LEAK, since 13.0
  CUDA_ERROR_MPS_RPC_FAILURE,
  (CUresult)810, // CUDA_ERROR_MPS_CLIENT_TERMINATED, since 11.8
  CUDA_ERROR_UNKNOWN,
};

Status
cuda_status(const CUresult result)
{
  for (size_t s = 0; s < ARRAY_LEN(sticky_results); ++s) {
    if (result == sticky_results[s]) {
      return STATUS_DEVICE_LOST;
    }
  }
  switch ((int)result) {
  case CUDA_SUCCESS:
    return STATUS_OK;
  case CUDA_ERROR_OUT_OF_MEMORY:
    return STATUS_NO_MEM;
  case CUDA_ERROR_INVALID_VALUE:
  case CUDA_ERROR_INVALID_HANDLE:
    return STATUS_BAD_ARG;
  case CUDA_ERROR_NOT_FOUND:
    return STATUS_NOT_FOUND;
  default:
    return STATUS_NO_BACKEND;
  }
}

Status
cuda_made_nothing(const char* const call, Error* const error)
{
  return error_set(error, STATUS_NO_BACKEND, "%s: the driver reports success but returns NULL",
                   call);
}

Status
cuda_error(const CudaDriver* const driver, const CUresult result, const char* const call,
           Error* const error)
{
  const char* name = NULL;
  const char* sentence = NULL;
  if (driver->get_error_name(result, &name) || driver->get_error_string(result, &sentence) ||
      !name || !sentence) {
    return error_set(error, cuda_status(result), "%s: error %d, unknown to the driver", call,
                     (int)result);
  }
  return error_set(error, cuda_status(result), "%s: %s: %s", call, name, sentence);
}
