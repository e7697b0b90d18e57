// SPDX-License-Identifier: GPL-3.0-or-later
// Compiles source to kernels, or loads them from the cache.

#include "opencl_private.h"

#include "dsp_gpu/gpu_cache.h"
#include "dsp_gpu/gpu_compile.h"
#include "engine/base/text_buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BINARY_BYTES ((size_t)256 << 20U) // binaries of PoCL have some hundred kilobytes
#define MAX_KERNELS      256U                 // in one module

/// The source, and all other data on which its binary depends.
typedef struct Job {
  GpuDevice* device;
  const char* name;
  char* text;    ///< Dialect and source
  char* options; ///< In one string, as OpenCL requires
} Job;

enum { KEY_WORDS = 6 };

static void
key_of(const Job* const job, const char* key[KEY_WORDS])
{
  const OpenclFound* const found = job->device->found;
  const char* const words[KEY_WORDS] = { "opencl",     found->toolchain, found->info.name,
                                         job->options, job->text,        NULL };
  memcpy(key, words, sizeof(words));
}

// ---- options ----

// No relaxed mathematics: the compiler must not reorder the arithmetic of recursive filters.
static char*
join_options(const OpenclFound* const found, const char* const* const options)
{
  const char* const division =
      found->rounds_correctly ? " -cl-fp32-correctly-rounded-divide-sqrt" : "";
  // "yes": treat doubles as fast, for tests without a graphics card.
  const char* const wish = getenv("WARPRACK_OPENCL_DOUBLE");
  const char* const doubles = wish && !strcmp(wish, "yes") ? " -DHAS_FAST_F64=1" : "";
  TextBuffer joined = { 0 };
  text_buffer_print(&joined, "-cl-std=CL1.2%s%s", division, doubles);
  for (uint32_t o = 0; options && options[o]; ++o) {
    text_buffer_print(&joined, " %s", options[o]);
  }
  return text_buffer_take(&joined);
}

// ---- programs ----

static Status
build_failed(const Job* const job, const cl_program program, const cl_int code, Error* const error)
{
  char log[16384] = "";
  opencl_driver.clGetProgramBuildInfo(program, job->device->found->id, CL_PROGRAM_BUILD_LOG,
                                      sizeof(log) - 1U, log, NULL);
  return log[0] ? gpu_compile_failed(error, job->name, log)
                : opencl_fail(job->device, error, "clBuildProgram", code);
}

static Status
from_source(const Job* const job, cl_program* const program, Error* const error)
{
  GpuDevice* const device = job->device;
  const char* text = job->text;
  cl_int code = CL_SUCCESS;
  *program = opencl_driver.clCreateProgramWithSource(device->context, 1, &text, NULL, &code);
  code = opencl_made(*program, code);
  if (code) {
    return opencl_fail(device, error, "clCreateProgramWithSource", code);
  }
  code = opencl_driver.clBuildProgram(*program, 1, &device->found->id, job->options, NULL, NULL);
  if (code) {
    const Status status = build_failed(job, *program, code, error);
    opencl_driver.clReleaseProgram(*program);
    return status;
  }
  return STATUS_OK;
}

// True if the cache had a binary and the driver accepted it; a refused binary is deleted from the
// cache.
static bool
from_cache(const Job* const job, cl_program* const program)
{
  GpuDevice* const device = job->device;
  const char* key[KEY_WORDS];
  void* bytes = NULL;
  size_t n_bytes = 0;
  key_of(job, key);
  if (!gpu_cache_load(key, &bytes, &n_bytes)) {
    return false;
  }
  const unsigned char* binary = bytes;
  cl_int code = CL_SUCCESS;
  *program = opencl_driver.clCreateProgramWithBinary(device->context, 1, &device->found->id,
                                                     &n_bytes, &binary, NULL, &code);
  code = opencl_made(*program, code);
  const bool is_made = !code;
  code = is_made ? opencl_driver.clBuildProgram(*program, 1, &device->found->id, job->options, NULL,
                                                NULL)
                 : code;
  free(bytes);
  if (code) {
    gpu_cache_forget(key);
    if (is_made) {
      opencl_driver.clReleaseProgram(*program);
    }
  }
  return !code;
}

// If the driver returns no binary, or the disk is full, the next start only takes longer.  PoCL
// compiles every kernel again for clGetProgramInfo(CL_PROGRAM_BINARIES).
static void
to_cache(const Job* const job, const cl_program program)
{
  size_t n_bytes = 0;
  if (!gpu_cache_has_folder() ||
      opencl_driver.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(n_bytes), &n_bytes,
                                     NULL) ||
      !n_bytes || n_bytes > MAX_BINARY_BYTES) {
    return;
  }
  unsigned char* binary = calloc(n_bytes, 1U);
  if (binary && !opencl_driver.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary),
                                                &binary, NULL)) {
    const char* key[KEY_WORDS];
    key_of(job, key);
    gpu_cache_store(key, binary, n_bytes);
  }
  free(binary);
}

static Status
make_program(const Job* const job, cl_program* const program, Error* const error)
{
  if (from_cache(job, program)) {
    return STATUS_OK;
  }
  const Status status = from_source(job, program, error);
  if (!status) {
    to_cache(job, *program);
  }
  return status;
}

static Status
compile(GpuDevice* const device, const char* const name, const char* const source,
        const char* const* const options, cl_program* const program, Error* const error)
{
  Job job = { device, name, gpu_compile_text(name, source), join_options(device->found, options) };
  const Status status = job.text && job.options
                            ? make_program(&job, program, error)
                            : error_set(error, STATUS_NO_MEM, "%s: out of memory", name);
  free(job.options);
  free(job.text);
  return status;
}

// ---- kernels ----

static cl_int
describe_kernel(const OpenclFound* const found, GpuKernel* const kernel)
{
  size_t group[3] = { 0 };
  cl_int code = opencl_driver.clGetKernelInfo(kernel->kernel, CL_KERNEL_FUNCTION_NAME,
                                              sizeof(kernel->name) - 1U, kernel->name, NULL);
  if (!code) {
    code = opencl_driver.clGetKernelInfo(kernel->kernel, CL_KERNEL_NUM_ARGS, sizeof(kernel->n_args),
                                         &kernel->n_args, NULL);
  }
  if (!code) {
    code = opencl_driver.clGetKernelWorkGroupInfo(
        kernel->kernel, found->id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof(group), group, NULL);
  }
  kernel->group_size = group[0];
  return code;
}

static Status
load_kernels(GpuModule* const module, Error* const error)
{
  GpuDevice* const device = module->device;
  cl_uint n = 0;
  cl_int code = opencl_driver.clCreateKernelsInProgram(module->program, 0, NULL, &n);
  if (!code && n > MAX_KERNELS) {
    return error_set(error, STATUS_NO_BACKEND, "%s: clCreateKernelsInProgram counts %u kernels",
                     module->name, n);
  }
  cl_kernel* const kernels = calloc(n + 1U, sizeof(kernels[0]));
  module->kernels = calloc(n + 1U, sizeof(module->kernels[0]));
  if (!kernels || !module->kernels) {
    free(kernels);
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", module->name);
  }
  if (!code && n) {
    code = opencl_driver.clCreateKernelsInProgram(module->program, n, kernels, NULL);
  }
  for (cl_uint k = 0; k < n && kernels[k]; ++k) {
    module->kernels[k] = (GpuKernel){ .module = module, .kernel = kernels[k] };
    module->n_kernels = k + 1U;
    code = code ? code : describe_kernel(device->found, &module->kernels[k]);
  }
  free(kernels);
  return code ? opencl_fail(device, error, "clCreateKernelsInProgram", code) : STATUS_OK;
}

// ---- modules ----

Status
opencl_module_new(GpuDevice* const device, const char* const name, const char* const source,
                  const char* const* const options, GpuModule** const out, Error* const error)
{
  Status status = opencl_check(device, error);
  cl_program program = NULL;
  status = status ? status : compile(device, name, source, options, &program, error);
  if (status) {
    return status;
  }
  GpuModule* const module = calloc(1, sizeof(*module));
  if (!module) {
    opencl_driver.clReleaseProgram(program);
    return error_set(error, STATUS_NO_MEM, "%s: out of memory", name);
  }
  module->device = device;
  module->program = program;
  snprintf(module->name, sizeof(module->name), "%s", name);
  status = load_kernels(module, error);
  if (status) {
    opencl_module_free(module);
    return status;
  }
  *out = module;
  return STATUS_OK;
}

void
opencl_module_free(GpuModule* const module)
{
  if (!module) {
    return;
  }
  for (uint32_t k = 0; k < module->n_kernels; ++k) {
    opencl_driver.clReleaseKernel(module->kernels[k].kernel);
  }
  free(module->kernels);
  opencl_driver.clReleaseProgram(module->program);
  free(module);
}

Status
opencl_kernel_get(GpuModule* const module, const char* const name, GpuKernel** const kernel,
                  Error* const error)
{
  for (uint32_t k = 0; k < module->n_kernels; ++k) {
    if (!strcmp(module->kernels[k].name, name)) {
      *kernel = &module->kernels[k];
      return STATUS_OK;
    }
  }
  return error_set(error, STATUS_NOT_FOUND, "%s has no kernel %s", module->name, name);
}
