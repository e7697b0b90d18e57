// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels on CUDA: compiles source to a cubin with NVRTC and loads the cubin into the context.

#include "cuda_private.h"
#include "nvrtc_compile.h"

#include "dsp_gpu/gpu_cache.h"
#include "dsp_gpu/gpu_compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 32U

/// The gpu_cache.h key of a cubin, one word for each member.
typedef struct Key {
  char target[16];
  const char* words[MAX_OPTIONS + 5U];
} Key;

static Status
make_key(Key* const key, const NvrtcJob* const job, Error* const error)
{
  uint32_t target = 0;
  const Status status = nvrtc_target(job->capability, &target, error);
  if (status) {
    return status;
  }
  snprintf(key->target, sizeof(key->target), "sm_%u", target);
  uint32_t n = 0;
  key->words[n++] = "cuda";
  key->words[n++] = nvrtc_version();
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

static Status
load_cubin(GpuModule* const module, const char* const name, const void* const cubin,
           Error* const error)
{
  Error words;
  const Status status =
      cuda_check_made(module->device, cuda.module_load_data(&module->module, cubin),
                      &module->module, "cuModuleLoadData", &words);
  return status ? error_set(error, status, "%s: %s", name, words.text) : STATUS_OK;
}

/// Load the cubin from the cache.  Returns false if there is none or the driver refuses it; a
/// refused cubin is compiled again and overwritten.
static bool
load_from_cache(GpuModule* const module, const Key* const key)
{
  void* cubin = NULL;
  size_t n_bytes = 0;
  if (!gpu_cache_load(key->words, &cubin, &n_bytes)) {
    return false;
  }
  const bool is_loaded = !load_cubin(module, "", cubin, NULL);
  free(cubin);
  return is_loaded;
}

static Status
compile(GpuModule* const module, const NvrtcJob* const job, const Key* const key,
        Error* const error)
{
  NvrtcResult result = { 0 };
  Status status = nvrtc_compile(job, &result, error);
  status = status ? status : load_cubin(module, job->name, result.cubin, error);
  if (!status) {
    // If this fails, the next start compiles again.
    gpu_cache_store(key->words, result.cubin, result.n_bytes);
  }
  free(result.cubin);
  free(result.log);
  return status;
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
    const NvrtcJob job = {
      .name = name, .source = text, .capability = device->capability, .options = options
    };
    Key key;
    status = make_key(&key, &job, error);
    if (!status && !load_from_cache(made, &key)) {
      status = compile(made, &job, &key, error);
    }
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
