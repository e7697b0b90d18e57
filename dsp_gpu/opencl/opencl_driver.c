// SPDX-License-Identifier: GPL-3.0-or-later
// OpenCL's ICD loader, opened at run time.

#include "opencl_driver.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

OpenclDriver opencl_driver;

/// Where the address of each function is stored.
static const struct {
  const char* name;
  size_t offset;
} functions[] = {
#define OPENCL_ROW(function) { #function, offsetof(OpenclDriver, function) },
  OPENCL_FUNCTIONS(OPENCL_ROW)
#undef OPENCL_ROW
};

static void*
open_first(const char* const* const names, const char** const opened, Error* const error)
{
  for (uint32_t n = 0; names[n]; ++n) {
    void* const library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
    if (library) {
      *opened = names[n];
      return library;
    }
    const char* const words = dlerror();
    if (n == 0) { // the other names are aliases of the same library
      error_set(error, STATUS_NO_BACKEND,
                "no OpenCL: %s; install its loader (Debian: ocl-icd-libopencl1) and a driver",
                words ? words : names[n]);
    }
  }
  return NULL;
}

Status
opencl_driver_open(const char* const* const library_names, Error* const error)
{
  const char* opened = NULL;
  void* const library = open_first(library_names, &opened, error);
  if (!library) {
    return STATUS_NO_BACKEND;
  }
  OpenclDriver found;
  for (uint32_t f = 0; f < ARRAY_LEN(functions); ++f) {
    void* const address = dlsym(library, functions[f].name);
    if (!address) {
      dlclose(library);
      return error_set(error, STATUS_NO_BACKEND, "OpenCL: %s has no %s; version 1.2 is needed",
                       opened, functions[f].name);
    }
    memcpy((char*)&found + functions[f].offset, &address, sizeof(address));
  }
  opencl_driver = found;
  return STATUS_OK;
}

const char*
opencl_error_name(const cl_int code)
{
  static const struct {
    cl_int code;
    const char* name;
  } rows[] = {
#define ROW(name) { name, #name }
    // clang-format off
    ROW(CL_DEVICE_NOT_FOUND),
    ROW(CL_DEVICE_NOT_AVAILABLE),
    ROW(CL_COMPILER_NOT_AVAILABLE),
    ROW(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    ROW(CL_OUT_OF_RESOURCES),
    ROW(CL_OUT_OF_HOST_MEMORY),
    ROW(CL_PROFILING_INFO_NOT_AVAILABLE),
    ROW(CL_MEM_COPY_OVERLAP),
    ROW(CL_BUILD_PROGRAM_FAILURE),
    ROW(CL_MAP_FAILURE),
    ROW(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    ROW(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    ROW(CL_COMPILE_PROGRAM_FAILURE),
    ROW(CL_LINKER_NOT_AVAILABLE),
    ROW(CL_LINK_PROGRAM_FAILURE),
    ROW(CL_KERNEL_ARG_INFO_NOT_AVAILABLE),
    ROW(CL_INVALID_VALUE),
    ROW(CL_INVALID_DEVICE_TYPE),
    ROW(CL_INVALID_PLATFORM),
    ROW(CL_INVALID_DEVICE),
    ROW(CL_INVALID_CONTEXT),
    ROW(CL_INVALID_QUEUE_PROPERTIES),
    ROW(CL_INVALID_COMMAND_QUEUE),
    ROW(CL_INVALID_HOST_PTR),
    ROW(CL_INVALID_MEM_OBJECT),
    ROW(CL_INVALID_BINARY),
    ROW(CL_INVALID_BUILD_OPTIONS),
    ROW(CL_INVALID_PROGRAM),
    ROW(CL_INVALID_PROGRAM_EXECUTABLE),
    ROW(CL_INVALID_KERNEL_NAME),
    ROW(CL_INVALID_KERNEL_DEFINITION),
    ROW(CL_INVALID_KERNEL),
    ROW(CL_INVALID_ARG_INDEX),
    ROW(CL_INVALID_ARG_VALUE),
    ROW(CL_INVALID_ARG_SIZE),
    ROW(CL_INVALID_KERNEL_ARGS),
    ROW(CL_INVALID_WORK_DIMENSION),
    ROW(CL_INVALID_WORK_GROUP_SIZE),
    ROW(CL_INVALID_WORK_ITEM_SIZE),
    ROW(CL_INVALID_GLOBAL_OFFSET),
    ROW(CL_INVALID_EVENT_WAIT_LIST),
    ROW(CL_INVALID_EVENT),
    ROW(CL_INVALID_OPERATION),
    ROW(CL_INVALID_BUFFER_SIZE),
    ROW(CL_INVALID_GLOBAL_WORK_SIZE),
    ROW(CL_INVALID_PROPERTY),
    ROW(CL_INVALID_COMPILER_OPTIONS),
    ROW(CL_INVALID_LINKER_OPTIONS),
    { -1001, "no OpenCL platform is installed" }, // CL_PLATFORM_NOT_FOUND_KHR of the ICD
    { OPENCL_RETURNED_NULL, "the driver reports success but returns NULL" },
    { -9999, "illegal access to memory" }, // NVIDIA's own, in no header
  // clang-format on
#undef ROW
  };
  for (uint32_t r = 0; r < ARRAY_LEN(rows); ++r) {
    if (rows[r].code == code) {
      return rows[r].name;
    }
  }
  return "an error that OpenCL 1.2 has no name for";
}
