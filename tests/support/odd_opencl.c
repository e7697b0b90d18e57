// SPDX-License-Identifier: GPL-3.0-or-later

#include "odd_opencl.h"

#include "dsp_gpu/opencl/opencl_driver.h"

#include <stdatomic.h>
#include <string.h>

static OpenclDriver real;

static bool is_armed;
static bool gives; // true: the chosen call succeeds with an invalid result; false: it fails
static unsigned char given;
static uint32_t n_left;
static const char* odd_call;
static atomic_int n_live;

static void
arm(const bool to_give, const uint32_t n_good, const unsigned char byte)
{
  is_armed = true;
  gives = to_give;
  given = byte;
  n_left = n_good;
  odd_call = NULL;
}

void
odd_opencl_fail(const uint32_t n_good)
{
  arm(false, n_good, 0U);
}

void
odd_opencl_give(const uint32_t n_good, const unsigned char byte)
{
  arm(true, n_good, byte);
}

const char*
odd_opencl_call(void)
{
  return odd_call;
}

int32_t
odd_opencl_n_live(void)
{
  return atomic_load(&n_live);
}

/// Count a call; true for the call that a test has chosen.
static bool
is_odd(const char* const name)
{
  if (!is_armed || n_left-- > 0U) {
    return false;
  }
  is_armed = false;
  odd_call = name;
  return true;
}

static bool
fails(const char* const name)
{
  return !gives && is_odd(name);
}

static bool
gives_nothing(const char* const name)
{
  return gives && !given && is_odd(name);
}

static bool
gives_bytes(const char* const name)
{
  return gives && is_odd(name);
}

// ---- the kinds of functions ----

// Functions without a result.
#define DO(NAME, PARAMETERS, ARGUMENTS)                                                            \
  static cl_int odd_##NAME PARAMETERS                                                              \
  {                                                                                                \
    return fails(#NAME) ? CL_OUT_OF_RESOURCES : real.NAME ARGUMENTS;                               \
  }

// Functions that free, flush or wait, even if they report an error.
#define DO_ALWAYS(NAME, PARAMETERS, ARGUMENTS)                                                     \
  static cl_int odd_##NAME PARAMETERS                                                              \
  {                                                                                                \
    atomic_fetch_sub(&n_live, strncmp(#NAME, "clRelease", 9) == 0);                                \
    const cl_int code = real.NAME ARGUMENTS;                                                       \
    return fails(#NAME) ? CL_OUT_OF_RESOURCES : code;                                              \
  }

// Functions that return an object (or, with `n` 0, an address), and an error in *code.
#define MAKE(TYPE, NAME, N, PARAMETERS, ARGUMENTS)                                                 \
  static TYPE odd_##NAME PARAMETERS                                                                \
  {                                                                                                \
    const bool has_failed = fails(#NAME);                                                          \
    if (has_failed || gives_nothing(#NAME)) {                                                      \
      if (code) {                                                                                  \
        *code = has_failed ? CL_OUT_OF_RESOURCES : CL_SUCCESS;                                     \
      }                                                                                            \
      return NULL;                                                                                 \
    }                                                                                              \
    TYPE const made = real.NAME ARGUMENTS;                                                         \
    atomic_fetch_add(&n_live, made ? (N) : 0);                                                     \
    return made;                                                                                   \
  }

// Functions that make an event if the caller wants one.
#define ENQUEUE(NAME, PARAMETERS, ARGUMENTS)                                                       \
  static cl_int odd_##NAME PARAMETERS                                                              \
  {                                                                                                \
    cl_event* const asked = event;                                                                 \
    if (fails(#NAME)) {                                                                            \
      return CL_OUT_OF_RESOURCES;                                                                  \
    }                                                                                              \
    if (asked && gives_nothing(#NAME)) {                                                           \
      event = NULL;                                                                                \
      *asked = NULL;                                                                               \
    }                                                                                              \
    const cl_int code = real.NAME ARGUMENTS;                                                       \
    atomic_fetch_add(&n_live, event && !code);                                                     \
    return code;                                                                                   \
  }

// Functions that write n_bytes to `value`.  CL_PROGRAM_BINARIES, an array of the caller's
// addresses, is not filled.
#define TELL(NAME, PARAMETERS, ARGUMENTS)                                                          \
  static cl_int odd_##NAME PARAMETERS                                                              \
  {                                                                                                \
    if (fails(#NAME)) {                                                                            \
      return CL_OUT_OF_RESOURCES;                                                                  \
    }                                                                                              \
    if (gives_bytes(#NAME)) {                                                                      \
      if (what != CL_PROGRAM_BINARIES) {                                                           \
        memset(value, given, n_bytes);                                                             \
      }                                                                                            \
      return CL_SUCCESS;                                                                           \
    }                                                                                              \
    return real.NAME ARGUMENTS;                                                                    \
  }

// Functions that fill an array of up to n elements and set *count to their number.
#define LIST(NAME, MADE, PARAMETERS, ARGUMENTS)                                                    \
  static cl_int odd_##NAME PARAMETERS                                                              \
  {                                                                                                \
    if (fails(#NAME)) {                                                                            \
      return CL_OUT_OF_RESOURCES;                                                                  \
    }                                                                                              \
    if (array && gives_nothing(#NAME)) {                                                           \
      memset(array, 0, n * sizeof(array[0]));                                                      \
      if (count) {                                                                                 \
        *count = n;                                                                                \
      }                                                                                            \
      return CL_SUCCESS;                                                                           \
    }                                                                                              \
    const cl_int code = real.NAME ARGUMENTS;                                                       \
    for (cl_uint a = 0; (MADE) && array && !code && a < n; ++a) {                                  \
      atomic_fetch_add(&n_live, array[a] != NULL);                                                 \
    }                                                                                              \
    if (count && gives_bytes(#NAME)) {                                                             \
      memset(count, given, sizeof(*count));                                                        \
    }                                                                                              \
    return code;                                                                                   \
  }

// ---- the functions ----

#define WAITING const cl_uint n_waits, const cl_event *const waits, cl_event *event

DO(clBuildProgram,
   (const cl_program program, const cl_uint n, const cl_device_id* const ids,
    const char* const options, void(CL_CALLBACK* const notify)(cl_program, void*),
    void* const data),
   (program, n, ids, options, notify, data))
DO(clSetKernelArg,
   (const cl_kernel kernel, const cl_uint index, const size_t n_bytes, const void* const value),
   (kernel, index, n_bytes, value))

DO_ALWAYS(clFinish, (const cl_command_queue queue), (queue))
DO_ALWAYS(clFlush, (const cl_command_queue queue), (queue))
DO_ALWAYS(clReleaseCommandQueue, (const cl_command_queue queue), (queue))
DO_ALWAYS(clReleaseContext, (const cl_context context), (context))
DO_ALWAYS(clReleaseEvent, (const cl_event event), (event))
DO_ALWAYS(clReleaseKernel, (const cl_kernel kernel), (kernel))
DO_ALWAYS(clReleaseMemObject, (const cl_mem memory), (memory))
DO_ALWAYS(clReleaseProgram, (const cl_program program), (program))
DO_ALWAYS(clWaitForEvents, (const cl_uint n, const cl_event* const events), (n, events))

MAKE(cl_mem, clCreateBuffer, 1,
     (const cl_context context, const cl_mem_flags flags, const size_t n_bytes, void* const host,
      cl_int* const code),
     (context, flags, n_bytes, host, code))
MAKE(cl_command_queue, clCreateCommandQueue, 1,
     (const cl_context context, const cl_device_id id, const cl_command_queue_properties what,
      cl_int* const code),
     (context, id, what, code))
MAKE(cl_context, clCreateContext, 1,
     (const cl_context_properties* const properties, const cl_uint n, const cl_device_id* const ids,
      void(CL_CALLBACK* const notify)(const char*, const void*, size_t, void*), void* const data,
      cl_int* const code),
     (properties, n, ids, notify, data, code))
MAKE(cl_kernel, clCreateKernel, 1,
     (const cl_program program, const char* const name, cl_int* const code), (program, name, code))
MAKE(cl_program, clCreateProgramWithBinary, 1,
     (const cl_context context, const cl_uint n, const cl_device_id* const ids,
      const size_t* const lengths, const unsigned char** const binaries, cl_int* const states,
      cl_int* const code),
     (context, n, ids, lengths, binaries, states, code))
MAKE(cl_program, clCreateProgramWithSource, 1,
     (const cl_context context, const cl_uint n, const char** const texts,
      const size_t* const lengths, cl_int* const code),
     (context, n, texts, lengths, code))
MAKE(cl_mem, clCreateSubBuffer, 1,
     (const cl_mem memory, const cl_mem_flags flags, const cl_buffer_create_type type,
      const void* const region, cl_int* const code),
     (memory, flags, type, region, code))
MAKE(void*, clEnqueueMapBuffer, 0,
     (const cl_command_queue queue, const cl_mem memory, const cl_bool waits_for,
      const cl_map_flags flags, const size_t offset, const size_t n_bytes, WAITING,
      cl_int* const code),
     (queue, memory, waits_for, flags, offset, n_bytes, n_waits, waits, event, code))

ENQUEUE(clEnqueueCopyBuffer,
        (const cl_command_queue queue, const cl_mem from, const cl_mem to, const size_t from_offset,
         const size_t to_offset, const size_t n_bytes, WAITING),
        (queue, from, to, from_offset, to_offset, n_bytes, n_waits, waits, event))
ENQUEUE(clEnqueueFillBuffer,
        (const cl_command_queue queue, const cl_mem memory, const void* const pattern,
         const size_t pattern_bytes, const size_t offset, const size_t n_bytes, WAITING),
        (queue, memory, pattern, pattern_bytes, offset, n_bytes, n_waits, waits, event))
ENQUEUE(clEnqueueMarkerWithWaitList, (const cl_command_queue queue, WAITING),
        (queue, n_waits, waits, event))
ENQUEUE(clEnqueueNDRangeKernel,
        (const cl_command_queue queue, const cl_kernel kernel, const cl_uint n,
         const size_t* const first, const size_t* const n_threads, const size_t* const group,
         WAITING),
        (queue, kernel, n, first, n_threads, group, n_waits, waits, event))
ENQUEUE(clEnqueueReadBuffer,
        (const cl_command_queue queue, const cl_mem memory, const cl_bool waits_for,
         const size_t offset, const size_t n_bytes, void* const to, WAITING),
        (queue, memory, waits_for, offset, n_bytes, to, n_waits, waits, event))
ENQUEUE(clEnqueueUnmapMemObject,
        (const cl_command_queue queue, const cl_mem memory, void* const address, WAITING),
        (queue, memory, address, n_waits, waits, event))
ENQUEUE(clEnqueueWriteBuffer,
        (const cl_command_queue queue, const cl_mem memory, const cl_bool waits_for,
         const size_t offset, const size_t n_bytes, const void* const from, WAITING),
        (queue, memory, waits_for, offset, n_bytes, from, n_waits, waits, event))

#define TOLD const size_t n_bytes, void *const value, size_t *const n_told

TELL(clGetDeviceInfo, (const cl_device_id id, const cl_device_info what, TOLD),
     (id, what, n_bytes, value, n_told))
TELL(clGetEventInfo, (const cl_event event, const cl_event_info what, TOLD),
     (event, what, n_bytes, value, n_told))
TELL(clGetKernelInfo, (const cl_kernel kernel, const cl_kernel_info what, TOLD),
     (kernel, what, n_bytes, value, n_told))
TELL(clGetKernelWorkGroupInfo,
     (const cl_kernel kernel, const cl_device_id id, const cl_kernel_work_group_info what, TOLD),
     (kernel, id, what, n_bytes, value, n_told))
TELL(clGetPlatformInfo, (const cl_platform_id id, const cl_platform_info what, TOLD),
     (id, what, n_bytes, value, n_told))
TELL(clGetProgramBuildInfo,
     (const cl_program program, const cl_device_id id, const cl_program_build_info what, TOLD),
     (program, id, what, n_bytes, value, n_told))
TELL(clGetProgramInfo, (const cl_program program, const cl_program_info what, TOLD),
     (program, what, n_bytes, value, n_told))

LIST(clCreateKernelsInProgram, true,
     (const cl_program program, const cl_uint n, cl_kernel* const array, cl_uint* const count),
     (program, n, array, count))
LIST(clGetDeviceIDs, false,
     (const cl_platform_id platform, const cl_device_type type, const cl_uint n,
      cl_device_id* const array, cl_uint* const count),
     (platform, type, n, array, count))
LIST(clGetPlatformIDs, false, (const cl_uint n, cl_platform_id* const array, cl_uint* const count),
     (n, array, count))

void
odd_opencl_wrap(void)
{
  real = opencl_driver;
#define ODD(function) .function = odd_##function,
  opencl_driver = (OpenclDriver){ OPENCL_FUNCTIONS(ODD) };
#undef ODD
}
