// SPDX-License-Identifier: GPL-3.0-or-later
// Compiles CUDA C at run time with NVRTC.

#include "nvrtc_compile.h"

#include "dsp_gpu/gpu_compile.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 64U
#define MAX_ARCHS   64

// A larger size from NVRTC is an error: the log and the cubin of a kernel have a few kilobytes.
#define MAX_RESULT_BYTES ((size_t)256 << 20U)

#define NVRTC_FUNCTIONS(X)                                                                         \
  X(nvrtcVersion)                                                                                  \
  X(nvrtcGetErrorString)                                                                           \
  X(nvrtcGetNumSupportedArchs)                                                                     \
  X(nvrtcGetSupportedArchs)                                                                        \
  X(nvrtcCreateProgram)                                                                            \
  X(nvrtcDestroyProgram)                                                                           \
  X(nvrtcCompileProgram)                                                                           \
  X(nvrtcGetProgramLogSize)                                                                        \
  X(nvrtcGetProgramLog)                                                                            \
  X(nvrtcGetCUBINSize)                                                                             \
  X(nvrtcGetCUBIN)

#define MEMBER(function) __typeof__(function)* function;

typedef struct Nvrtc {
  NVRTC_FUNCTIONS(MEMBER)
  char version[32];
} Nvrtc;

typedef struct Symbol {
  const char* name;
  size_t offset; ///< Offset of the function pointer in Nvrtc
} Symbol;

#define ROW(function) { #function, offsetof(Nvrtc, function) },

static const Symbol symbols[] = { NVRTC_FUNCTIONS(ROW) };

// Newest first: the newest supports the most architectures.  The name without a number comes with
// the toolkit's development files and may be any version.
static const char* const library_names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                             "libnvrtc.so", NULL };

static Nvrtc nvrtc; // filled once, then only read
static bool is_loaded;

// Errors

/// Set the error "call: NVRTC's error text".
static Status
refused(const Nvrtc* const library, const nvrtcResult result, const char* const call,
        Error* const error)
{
  const char* const words = library->nvrtcGetErrorString(result);
  return words ? error_set(error, STATUS_NO_BACKEND, "%s: %s", call, words)
               : error_set(error, STATUS_NO_BACKEND, "%s: error %d, unknown to NVRTC", call,
                           (int)result);
}

// Library

static bool
look_up(void* const library, Nvrtc* const found, const char** const missing)
{
  for (size_t s = 0; s < ARRAY_LEN(symbols); ++s) {
    void* const function = dlsym(library, symbols[s].name);
    if (!function) {
      *missing = symbols[s].name;
      return false;
    }
    memcpy((char*)found + symbols[s].offset, &function, sizeof(function));
  }
  return true;
}

Status
nvrtc_load_from(const char* const* const names, Error* const error)
{
  void* library = NULL;
  uint32_t n = 0;
  for (; names[n] && !library; ++n) {
    library = dlopen(names[n], RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) {
    return error_set(
        error, STATUS_NO_BACKEND,
        "no NVRTC, which compiles kernels: %s; install libnvrtc of the CUDA Toolkit, 11.4 "
        "or newer, or name its folder in LD_LIBRARY_PATH",
        dlerror());
  }
  Nvrtc found = { 0 };
  const char* missing = NULL;
  int major = 0;
  int minor = 0;
  if (!look_up(library, &found, &missing)) {
    dlclose(library);
    return error_set(error, STATUS_NO_BACKEND,
                     "%s has no %s: it is older than CUDA 11.4; install a newer libnvrtc",
                     names[n - 1U], missing);
  }
  const nvrtcResult result = found.nvrtcVersion(&major, &minor);
  if (result) {
    const Status status = refused(&found, result, "nvrtcVersion", error);
    dlclose(library);
    return status;
  }
  snprintf(found.version, sizeof(found.version), "NVRTC %d.%d", major, minor);
  nvrtc = found;
  is_loaded = true;
  return STATUS_OK;
}

Status
nvrtc_load(Error* const error)
{
  return is_loaded ? STATUS_OK : nvrtc_load_from(library_names, error);
}

const char*
nvrtc_version(void)
{
  return nvrtc.version;
}

// Architecture

Status
nvrtc_target(const uint32_t capability, uint32_t* const target, Error* const error)
{
  const Status status = nvrtc_load(error);
  if (status) {
    return status;
  }
  int n_archs = 0;
  int archs[MAX_ARCHS] = { 0 };
  nvrtcResult result = nvrtc.nvrtcGetNumSupportedArchs(&n_archs);
  if (result) {
    return refused(&nvrtc, result, "nvrtcGetNumSupportedArchs", error);
  }
  if (n_archs > MAX_ARCHS) {
    return error_set(error, STATUS_LIMIT, "%s compiles for more than %d architectures",
                     nvrtc.version, MAX_ARCHS);
  }
  result = nvrtc.nvrtcGetSupportedArchs(archs);
  if (result) {
    return refused(&nvrtc, result, "nvrtcGetSupportedArchs", error);
  }
  uint32_t best = 0;
  for (int a = 0; a < n_archs; ++a) {
    const uint32_t arch = (uint32_t)archs[a];
    if (arch / 10U == capability / 10U && arch <= capability && arch > best) {
      best = arch;
    }
  }
  if (!best) {
    return error_set(
        error, STATUS_NO_BACKEND,
        "%s does not compile for sm_%u, this GPU's architecture; install a libnvrtc that does",
        nvrtc.version, capability);
  }
  *target = best;
  return STATUS_OK;
}

// Compilation

static char*
get_log(const nvrtcProgram program)
{
  size_t n_bytes = 0;
  if (nvrtc.nvrtcGetProgramLogSize(program, &n_bytes) || n_bytes > MAX_RESULT_BYTES) {
    n_bytes = 0;
  }
  char* const log = calloc(n_bytes + 1U, 1U);
  if (log && n_bytes && nvrtc.nvrtcGetProgramLog(program, log)) {
    log[0] = '\0';
  }
  return log;
}

static Status
run_compiler(const nvrtcProgram program, const NvrtcJob* const job, const uint32_t target,
             Error* const error)
{
  char architecture[32];
  snprintf(architecture, sizeof(architecture), "--gpu-architecture=sm_%u", target);
  const char* options[MAX_OPTIONS] = { architecture, "--std=c++14", "--fmad=true" };
  uint32_t n_options = 3;
  for (uint32_t o = 0; job->options && job->options[o]; ++o) {
    if (n_options == MAX_OPTIONS) {
      return error_set(error, STATUS_BAD_ARG, "%s: more than %u options", job->name, MAX_OPTIONS);
    }
    options[n_options++] = job->options[o];
  }
  const nvrtcResult result = nvrtc.nvrtcCompileProgram(program, (int)n_options, options);
  if (!result) {
    return STATUS_OK;
  }
  char* const log = get_log(program);
  const char* const words = log && log[0] ? log : nvrtc.nvrtcGetErrorString(result);
  gpu_compile_failed(error, job->name, words ? words : "");
  free(log);
  return STATUS_BAD_ARG;
}

static Status
take_result(const nvrtcProgram program, NvrtcResult* const result, Error* const error)
{
  size_t n_bytes = 0;
  nvrtcResult refusal = nvrtc.nvrtcGetCUBINSize(program, &n_bytes);
  if (refusal) {
    return refused(&nvrtc, refusal, "nvrtcGetCUBINSize", error);
  }
  if (!n_bytes || n_bytes > MAX_RESULT_BYTES) {
    return error_set(error, STATUS_NO_BACKEND, "nvrtcGetCUBINSize: a cubin of %zu bytes", n_bytes);
  }
  NvrtcResult taken = { .cubin = malloc(n_bytes), .n_bytes = n_bytes, .log = get_log(program) };
  if (taken.cubin && taken.log) {
    refusal = nvrtc.nvrtcGetCUBIN(program, taken.cubin);
    if (!refusal) {
      *result = taken;
      return STATUS_OK;
    }
  }
  free(taken.cubin);
  free(taken.log);
  return refusal ? refused(&nvrtc, refusal, "nvrtcGetCUBIN", error)
                 : error_set(error, STATUS_NO_MEM, "out of memory");
}

Status
nvrtc_compile(const NvrtcJob* const job, NvrtcResult* const result, Error* const error)
{
  uint32_t target = 0;
  Status status = nvrtc_target(job->capability, &target, error);
  if (status) {
    return status;
  }
  nvrtcProgram program = NULL;
  const nvrtcResult refusal =
      nvrtc.nvrtcCreateProgram(&program, job->source, job->name, 0, NULL, NULL);
  if (refusal || !program) {
    return refusal ? refused(&nvrtc, refusal, "nvrtcCreateProgram", error)
                   : error_set(error, STATUS_NO_BACKEND,
                               "nvrtcCreateProgram: NVRTC reports success but returns NULL");
  }
  status = run_compiler(program, job, target, error);
  status = status ? status : take_result(program, result, error);
  nvrtc.nvrtcDestroyProgram(&program);
  return status;
}
