// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels on CUDA: compiles source to a cubin or PTX with NVRTC and loads it into the context.

#include "cuda_private.h"

#include "dsp_gpu/gpu_cache.h"
#include "dsp_gpu/gpu_compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 32U

/// The gpu_cache.h key of the code, one word for each member.
typedef struct Key {
  char target[NVRTC_TARGET_BYTES];
  const char* words[MAX_OPTIONS + 5U];
} Key;

static Status
make_key(Key* const key, const NvrtcWay* const way, const NvrtcJob* const job, Error* const error)
{
  nvrtc_target_name(way, key->target);
  uint32_t n = 0;
  key->words[n++] = "cuda";
  key->words[n++] = nvrtc_version(way);
  key->words[n++] = key->target;
  for (uint32_t o = 0; job->options[o]; ++o) {
    if (o == MAX_OPTIONS) {
      return error_set(error, STATUS_BAD_ARG, "%s: more than %u options", job->name, MAX_OPTIONS);
    }
    key->words[n++] = job->options[o];
  }
  key->words[n++] = job->source;
  key->words[n] = NULL;
  return STATUS_OK;
}

/// True if the driver does not run this code, but may run code from another compiler: machine code
/// in an unknown format or for another device, or PTX of a newer version.
static bool
is_refusal(const CUresult result)
{
  return result == CUDA_ERROR_INVALID_IMAGE || result == CUDA_ERROR_NO_BINARY_FOR_GPU ||
         result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
}

static Status
load_code(GpuModule* const module, const char* const name, const void* const code,
          bool* const is_refused, Error* const error)
{
  Error words;
  const CUresult result = cuda.module_load_data(&module->module, code);
  *is_refused = is_refusal(result);
  const Status status =
      cuda_check_made(module->device, result, &module->module, "cuModuleLoadData", &words);
  return status ? error_set(error, status, "%s: %s", name, words.text) : STATUS_OK;
}

/// Load the code from the cache.  Returns false if there is none or the driver refuses it; refused
/// code is compiled again and overwritten.
static bool
load_from_cache(GpuModule* const module, const Key* const key)
{
  void* code = NULL;
  size_t n_bytes = 0;
  if (!gpu_cache_load(key->words, &code, &n_bytes)) {
    return false;
  }
  bool is_refused = false;
  const bool is_loaded = !load_code(module, "", code, &is_refused, NULL);
  free(code);
  return is_loaded;
}

/// Load from the cache, or compile and load.
static Status
load_by(GpuModule* const module, const NvrtcWay* const way, const NvrtcJob* const job,
        bool* const is_refused, Error* const error)
{
  *is_refused = false;
  Key key;
  Status status = make_key(&key, way, job, error);
  if (status || load_from_cache(module, &key)) {
    return status;
  }
  NvrtcResult result = { 0 };
  status = nvrtc_compile(way, job, &result, error);
  status = status ? status : load_code(module, job->name, result.code, is_refused, error);
  if (!status) {
    // If this fails, the next start compiles again.
    gpu_cache_store(key.words, result.code, result.n_bytes);
  }
  free(result.code);
  free(result.log);
  return status;
}

/// Load by way number `index`, or a later one if the driver refuses its code.  The next module
/// begins with the way that succeeded.
static Status
load_from(GpuModule* const module, const uint32_t index, const NvrtcJob* const job,
          Error* const error)
{
  GpuDevice* const device = module->device;
  NvrtcWay way;
  Status status = nvrtc_way(&device->machine, index, &way, error);
  if (status) {
    return status;
  }
  bool is_refused = false;
  Error words = { STATUS_OK, "" };
  status = load_by(module, &way, job, &is_refused, &words);
  if (!status) {
    device->first_way = index;
    return STATUS_OK;
  }
  if (!is_refused) {
    return error_set(error, status, "%s", words.text);
  }
  const uint32_t version = device->machine.driver_version;
  return load_from(module, index + 1U, job, NULL)
             ? error_set(error, status,
                         "%s; the driver has CUDA %u.%u and the compiler is %s: install a libnvrtc "
                         "that is no newer than the driver",
                         words.text, version / 1000U, version % 1000U / 10U, nvrtc_version(&way))
             : STATUS_OK;
}

Status
cuda_module_new(GpuDevice* const device, const char* const name, const char* const source,
                const char* const* const options, GpuModule** const module, Error* const error)
{
  Status status = cuda_enter(device, error);
  if (status) {
    return status;
  }
  GpuModule* const made = calloc(1U, sizeof(*made));
  char* const text = gpu_compile_text(name, source);
  if (made && text) {
    made->device = device;
    snprintf(made->name, sizeof(made->name), "%s", name);
    const NvrtcJob job = { .name = name, .source = text, .options = options };
    status = load_from(made, device->first_way, &job, error);
  } else {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  free(text);
  if (status) {
    free(made);
    return status;
  }
  atomic_fetch_add(&device->n_objects, 1U);
  *module = made;
  return STATUS_OK;
}

static void
kernel_free(GpuKernel* const kernel)
{
  free(kernel->name);
  free(kernel);
}

void
cuda_module_free(GpuModule* const module)
{
  if (!module) {
    return;
  }
  while (module->kernels) {
    GpuKernel* const kernel = module->kernels;
    module->kernels = kernel->next;
    kernel_free(kernel);
  }
  cuda.ctx_set_current(module->device->context);
  cuda.module_unload(module->module);
  atomic_fetch_sub(&module->device->n_objects, 1U);
  free(module);
}

Status
cuda_kernel_get(GpuModule* const module, const char* const name, GpuKernel** const kernel,
                Error* const error)
{
  GpuDevice* const device = module->device;
  Status status = cuda_enter(device, error);
  if (status) {
    return status;
  }
  for (GpuKernel* known = module->kernels; known; known = known->next) {
    if (!strcmp(known->name, name)) { // every plan requests the same kernels
      *kernel = known;
      return STATUS_OK;
    }
  }
  GpuKernel* const made = calloc(1U, sizeof(*made));
  if (!made || !(made->name = strdup(name))) {
    free(made);
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  Error words;
  status = cuda_check_made(device, cuda.module_get_function(&made->function, module->module, name),
                           &made->function, "cuModuleGetFunction", &words);
  // Usually eager loading has already loaded the kernel.  This call is for a process that
  // initialised the driver before CUDA_MODULE_LOADING was set.
  if (!status && (cuda.has & CUDA_HAS_FUNC_LOAD)) {
    status = cuda_check(device, cuda.func_load(made->function), "cuFuncLoad", &words);
  }
  if (status) {
    kernel_free(made);
    return error_set(error, status, "kernel %s of %s: %s", name, module->name, words.text);
  }
  made->next = module->kernels;
  module->kernels = made;
  *kernel = made;
  return STATUS_OK;
}
