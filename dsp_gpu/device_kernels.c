// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels of a device: compiled at the first request, kept until the device is closed.

#include "device.h"

#include "gpu_compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS (FX_KERNEL_SIZES + 2U)

struct CompiledModule {
  CompiledModule* next;
  const char* file;
  uint32_t group_size;
  FxKernelSize sizes[FX_KERNEL_SIZES];
  GpuModule* module;
};

static bool
same_sizes(const FxKernelSize* const a, const FxKernelSize* const b)
{
  for (uint32_t s = 0; s < FX_KERNEL_SIZES; ++s) {
    const bool named = a[s].name && b[s].name;
    if (named ? strcmp(a[s].name, b[s].name) || a[s].value != b[s].value : a[s].name != b[s].name) {
      return false;
    }
  }
  return true;
}

static Status
compile(Device* const device, CompiledModule* const module, Error* const error)
{
  const GpuSource* const source = gpu_source_find(module->file);
  if (!source) {
    return error_set(error, STATUS_BAD_ARG, "%s: no such kernel file in this build", module->file);
  }
  char words[MAX_OPTIONS][48];
  const char* options[MAX_OPTIONS] = { words[0] };
  snprintf(words[0], sizeof(words[0]), "-DGROUP_SIZE=%u", module->group_size);
  uint32_t n = 1;
  for (uint32_t s = 0; s < FX_KERNEL_SIZES; ++s) {
    if (module->sizes[s].name) {
      snprintf(words[n], sizeof(words[n]), "-D%s=%u", module->sizes[s].name,
               module->sizes[s].value);
      options[n] = words[n];
      ++n;
    }
  }
  options[n] = NULL;
  return device->api->module_new(device->gpu, module->file, source->text, options, &module->module,
                                 error);
}

Status
device_kernel(Device* const device, const char* const file, const char* const entry,
              const uint32_t group_size, const FxKernelSize* const sizes, GpuKernel** const kernel,
              Error* const error)
{
  CompiledModule* module = device->modules;
  while (module && (strcmp(module->file, file) || module->group_size != group_size ||
                    !same_sizes(module->sizes, sizes))) {
    module = module->next;
  }
  if (!module) {
    module = calloc(1, sizeof(CompiledModule));
    if (!module) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    module->file = file;
    module->group_size = group_size;
    memcpy(module->sizes, sizes, sizeof(module->sizes));
    const Status status = compile(device, module, error);
    if (status) {
      free(module);
      return status;
    }
    module->next = device->modules;
    device->modules = module;
  }
  return device->api->kernel_get(module->module, entry, kernel, error);
}

void
device_kernels_free(Device* const device)
{
  while (device->modules) {
    CompiledModule* const module = device->modules;
    device->modules = module->next;
    device->api->module_free(module->module);
    free(module);
  }
}
