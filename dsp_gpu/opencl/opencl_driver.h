// SPDX-License-Identifier: GPL-3.0-or-later
/**
   OpenCL's ICD loader, opened at run time: a table of its functions, and the names of its error
   codes.

   The table is writable so that tests can replace single functions.
*/
#ifndef WARPRACK_DSP_GPU_OPENCL_OPENCL_DRIVER_H
#define WARPRACK_DSP_GPU_OPENCL_OPENCL_DRIVER_H

#include "engine/base/status.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#define OPENCL_FUNCTIONS(F)                                                                        \
  F(clBuildProgram)                                                                                \
  F(clCreateBuffer)                                                                                \
  F(clCreateCommandQueue)                                                                          \
  F(clCreateContext)                                                                               \
  F(clCreateKernel)                                                                                \
  F(clCreateKernelsInProgram)                                                                      \
  F(clCreateProgramWithBinary)                                                                     \
  F(clCreateProgramWithSource)                                                                     \
  F(clCreateSubBuffer)                                                                             \
  F(clEnqueueCopyBuffer)                                                                           \
  F(clEnqueueFillBuffer)                                                                           \
  F(clEnqueueMapBuffer)                                                                            \
  F(clEnqueueMarkerWithWaitList)                                                                   \
  F(clEnqueueNDRangeKernel)                                                                        \
  F(clEnqueueReadBuffer)                                                                           \
  F(clEnqueueUnmapMemObject)                                                                       \
  F(clEnqueueWriteBuffer)                                                                          \
  F(clFinish)                                                                                      \
  F(clFlush)                                                                                       \
  F(clGetDeviceIDs)                                                                                \
  F(clGetDeviceInfo)                                                                               \
  F(clGetEventInfo)                                                                                \
  F(clGetKernelInfo)                                                                               \
  F(clGetKernelWorkGroupInfo)                                                                      \
  F(clGetPlatformIDs)                                                                              \
  F(clGetPlatformInfo)                                                                             \
  F(clGetProgramBuildInfo)                                                                         \
  F(clGetProgramInfo)                                                                              \
  F(clReleaseCommandQueue)                                                                         \
  F(clReleaseContext)                                                                              \
  F(clReleaseEvent)                                                                                \
  F(clReleaseKernel)                                                                               \
  F(clReleaseMemObject)                                                                            \
  F(clReleaseProgram)                                                                              \
  F(clSetKernelArg)                                                                                \
  F(clWaitForEvents)

/// OpenCL's functions under their own names, with the types that CL/cl.h declares.
typedef struct OpenclDriver {
#define OPENCL_MEMBER(function) __typeof__(&function) function;
  OPENCL_FUNCTIONS(OPENCL_MEMBER)
#undef OPENCL_MEMBER
} OpenclDriver;

extern OpenclDriver opencl_driver;

/// An error code of warprack: the driver reported success but returned NULL.
#define OPENCL_RETURNED_NULL 1

/**
   Fill the table from the first of the NULL-terminated libraries that can be opened; it stays open.
   STATUS_NO_BACKEND with the loader's message. [main]
*/
Status opencl_driver_open(const char* const* library_names, Error* error);

/// The code of a call that returns an object: `code`, or OPENCL_RETURNED_NULL if the call reported
/// success but returned NULL. [any]
static inline cl_int
opencl_made(const void* const made, const cl_int code)
{
  return made || code ? code : OPENCL_RETURNED_NULL;
}

/// The name of an error code, e.g. "CL_OUT_OF_RESOURCES"; never NULL. [any]
const char* opencl_error_name(cl_int code);

#endif
