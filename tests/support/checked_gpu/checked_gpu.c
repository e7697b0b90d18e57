// SPDX-License-Identifier: GPL-3.0-or-later
// Implements gpu.h on the host: a C++ compiler makes modules, and a recording runs in submit().

#include "checked_gpu.h"

#include "dsp_gpu/gpu_compile.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_KERNELS  16U
#define MEMORY_BYTES ((uint64_t)1 << 30U)

struct GpuBuffer {
  char* at;
};

struct GpuHostMemory {
  char* at;
  bool is_owned;
};

typedef void LocalFunction(char** at, size_t* n_bytes);

struct GpuKernel {
  GpuModule* module;
  CheckedEntry* entry;
};

struct GpuModule {
  char folder[32];
  void* library;
  GpuKernel kernels[MAX_KERNELS];
  uint32_t n_kernels;
  char* local;
  size_t local_bytes;
};

struct GpuRecording {
  GpuLaunch* launches;
  uint32_t n_launches;
};

// ---- device ----

static Status
load(Error* const error)
{
  return getenv("WARPRACK_CXX") && getenv("WARPRACK_DIALECT")
             ? STATUS_OK
             : error_set(error, STATUS_NO_BACKEND, "WARPRACK_CXX or WARPRACK_DIALECT is not set");
}

static uint32_t
n_devices(void)
{
  return 1U;
}

static Status
describe(const uint32_t index, GpuDeviceInfo* const info, Error* const error)
{
  (void)index;
  (void)error;
  *info = (GpuDeviceInfo){ .name = "Checked",
                           .driver = "1",
                           .memory_bytes = MEMORY_BYTES,
                           .largest_bytes = MEMORY_BYTES,
                           .compute_units = 1U,
                           .max_group = GPU_MAX_GROUP,
                           .local_bytes = 48U << 10U,
                           .shares_memory = true,
                           .reaches_host = true };
  return STATUS_OK;
}

static Status
open_device(const uint32_t index, GpuDevice** const device, Error* const error)
{
  static char nothing;
  (void)index;
  (void)error;
  *device = (GpuDevice*)&nothing;
  return STATUS_OK;
}

static void
close_device(GpuDevice* const device)
{
  (void)device;
}

// ---- memory ----

static char*
take(const size_t n_bytes)
{
  char* const at = aligned_alloc(4096U, (n_bytes + 4095U) / 4096U * 4096U);
  if (!at) {
    abort();
  }
  memset(at, 0, n_bytes);
  checked_add_range(at, n_bytes);
  return at;
}

static Status
buffer_new(GpuDevice* const device, const size_t n_bytes, GpuBuffer** const buffer,
           Error* const error)
{
  (void)device;
  (void)error;
  *buffer = calloc(1, sizeof(**buffer));
  (*buffer)->at = take(n_bytes);
  return STATUS_OK;
}

static void
buffer_free(GpuBuffer* const buffer)
{
  if (buffer) {
    checked_remove_range(buffer->at);
    free(buffer->at);
    free(buffer);
  }
}

static uint64_t
buffer_address(const GpuBuffer* const buffer)
{
  return (uint64_t)(uintptr_t)buffer->at;
}

static Status
buffer_write(GpuBuffer* const buffer, const size_t offset, const void* const from,
             const size_t n_bytes, Error* const error)
{
  (void)error;
  memcpy(buffer->at + offset, from, n_bytes);
  return STATUS_OK;
}

static Status
buffer_read(GpuBuffer* const buffer, const size_t offset, void* const to, const size_t n_bytes,
            Error* const error)
{
  (void)error;
  memcpy(to, buffer->at + offset, n_bytes);
  return STATUS_OK;
}

static Status
host_register(GpuDevice* const device, void* const memory, const size_t n_bytes,
              GpuHostMemory** const host, Error* const error)
{
  (void)device;
  (void)error;
  *host = calloc(1, sizeof(**host));
  (*host)->at = memory;
  checked_add_range(memory, n_bytes);
  return STATUS_OK;
}

static Status
host_new(GpuDevice* const device, const size_t n_bytes, GpuHostMemory** const host,
         Error* const error)
{
  (void)device;
  (void)error;
  *host = calloc(1, sizeof(**host));
  **host = (GpuHostMemory){ take(n_bytes), true };
  return STATUS_OK;
}

static void*
host_pointer(GpuHostMemory* const host)
{
  return host->at;
}

static void
host_free(GpuHostMemory* const host)
{
  if (host) {
    checked_remove_range(host->at);
    free(host->is_owned ? host->at : NULL);
    free(host);
  }
}

// ---- modules ----

static bool
write_text(const char* const path, const char* const name, const char* const source)
{
  char* const text = gpu_compile_text(name, source);
  FILE* const file = fopen(path, "w");
  const bool is_good = text && file && fputs(text, file) >= 0;
  free(text);
  return file && !fclose(file) && is_good;
}

/// Compile in a folder.  The files stay until the module is freed: fault() reads line numbers
/// there.
static void*
compile(const char* const folder, const char* const name, const char* const source,
        const char* const* const options)
{
  char words[1024] = "";
  char line[4096];
  for (uint32_t o = 0; options[o]; ++o) {
    snprintf(words + strlen(words), sizeof(words) - strlen(words), " %s", options[o]);
  }
  snprintf(line, sizeof(line), "%s/a.cpp", folder);
  const bool is_written = write_text(line, name, source);
  snprintf(line, sizeof(line),
           "cd %s && %s -std=c++17 -O1 -g1 -w -fPIC -ffp-contract=off -fsanitize=thread,alignment "
           "-fsanitize-undefined-trap-on-error %s -include %s -c a.cpp && %s -shared -o a.so a.o",
           folder, getenv("WARPRACK_CXX"), words, getenv("WARPRACK_DIALECT"),
           getenv("WARPRACK_CXX"));
  const bool is_compiled = is_written && !system(line); // NOLINT: a test
  snprintf(line, sizeof(line), "%s/a.so", folder);
  return is_compiled ? dlopen(line, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static void
module_free(GpuModule* const module)
{
  char line[128];
  if (module) {
    snprintf(line, sizeof(line), "rm -r %s", module->folder);
    if (module->library) {
      dlclose(module->library);
    }
    if (system(line)) { // NOLINT: a test
      puts(line);
    }
    free(module);
  }
}

static Status
module_new(GpuDevice* const device, const char* const name, const char* const source,
           const char* const* const options, GpuModule** const out, Error* const error)
{
  (void)device;
  GpuModule* const module = calloc(1, sizeof(*module));
  strcpy(module->folder, "/tmp/warprack_checked_XXXXXX"); // NOLINT: it fits
  if (!mkdtemp(module->folder)) {
    abort();
  }
  module->library = compile(module->folder, name, source, options);
  if (!module->library) {
    module_free(module);
    return error_set(error, STATUS_BAD_ARG, "%s does not compile", name);
  }
  LocalFunction* local = NULL;
  *(void**)&local = dlsym(module->library, "checked_local"); // POSIX allows this: dlsym(3)
  local(&module->local, &module->local_bytes);
  *out = module;
  return STATUS_OK;
}

static Status
kernel_get(GpuModule* const module, const char* const name, GpuKernel** const kernel,
           Error* const error)
{
  CheckedEntry* entry = NULL;
  *(void**)&entry = dlsym(module->library, name);
  uint32_t k = 0;
  while (k < module->n_kernels && module->kernels[k].entry != entry) {
    ++k;
  }
  if (!entry || k == MAX_KERNELS) {
    return error_set(error, STATUS_NOT_FOUND, "no kernel %s", name);
  }
  module->kernels[k] = (GpuKernel){ module, entry };
  module->n_kernels += k == module->n_kernels;
  *kernel = &module->kernels[k];
  return STATUS_OK;
}

// ---- recordings ----

static Status
record(GpuDevice* const device, const GpuWork* const work, GpuRecording** const recording,
       Error* const error)
{
  (void)device;
  if (work->n_in || work->n_out) {
    return error_set(error, STATUS_BAD_ARG, "copies, although host and device share memory");
  }
  *recording = calloc(1, sizeof(**recording));
  (*recording)->launches = calloc(work->n_launches, sizeof(GpuLaunch));
  (*recording)->n_launches = work->n_launches;
  memcpy((*recording)->launches, work->launches, work->n_launches * sizeof(GpuLaunch));
  return STATUS_OK;
}

static void
recording_free(GpuRecording* const recording)
{
  if (recording) {
    free(recording->launches);
    free(recording);
  }
}

static void
run(const GpuLaunch* const launch)
{
  CheckedLaunch checked = { .entry = launch->kernel->entry,
                            .groups = { launch->groups[0], launch->groups[1] },
                            .group_size = launch->group_size,
                            .local = launch->kernel->module->local,
                            .local_bytes = launch->kernel->module->local_bytes };
  for (uint32_t a = 0; a < launch->n_args; ++a) {
    const GpuArg* const arg = &launch->args[a];
    checked.args[a] = arg->kind == GPU_ARG_BUFFER ? (uintptr_t)arg->buffer->at + arg->offset
                      : arg->kind == GPU_ARG_HOST ? (uintptr_t)arg->host->at + arg->offset
                                                  : arg->u32;
  }
  checked_launch(&checked);
}

static Status
submit(GpuRecording* const recording, const uint64_t sequence)
{
  (void)sequence;
  for (uint32_t l = 0; l < recording->n_launches; ++l) {
    run(&recording->launches[l]);
  }
  return STATUS_OK;
}

static Status
poll_done(GpuRecording* const recording, const uint64_t sequence, bool* const done)
{
  (void)recording;
  (void)sequence;
  *done = true;
  return STATUS_OK;
}

static Status
nudge(GpuDevice* const device)
{
  (void)device;
  return STATUS_OK;
}

static Status
finish(GpuDevice* const device, Error* const error)
{
  (void)device;
  (void)error;
  return STATUS_OK;
}

static void
last_error(GpuDevice* const device, Error* const error)
{
  (void)device;
  error_set(error, STATUS_NO_BACKEND, "none");
}

static const GpuApi checked = {
  .kind = ENGINE_BACKEND_OPENCL,
  .load = load,
  .n_devices = n_devices,
  .describe = describe,
  .open = open_device,
  .close = close_device,
  .buffer_new = buffer_new,
  .buffer_free = buffer_free,
  .buffer_address = buffer_address,
  .buffer_write = buffer_write,
  .buffer_read = buffer_read,
  .host_register = host_register,
  .host_new = host_new,
  .host_pointer = host_pointer,
  .host_free = host_free,
  .module_new = module_new,
  .module_free = module_free,
  .kernel_get = kernel_get,
  .record = record,
  .recording_free = recording_free,
  .rehearse = submit,
  .submit = submit,
  .poll = poll_done,
  .nudge = nudge,
  .finish = finish,
  .last_error = last_error,
};

/// Replaces the function of dsp_gpu/gpu.c.
const GpuApi* const*
gpu_apis(uint32_t* const n_apis)
{
  static const GpuApi* const apis[] = { &checked };
  *n_apis = 1U;
  return apis;
}
