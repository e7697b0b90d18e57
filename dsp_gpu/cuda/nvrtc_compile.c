// SPDX-License-Identifier: GPL-3.0-or-later
// Compiles CUDA C at run time with NVRTC: finds the libraries, chooses one, compiles.

#include "nvrtc_compile.h"

#include "dsp_gpu/gpu_compile.h"

#include <dlfcn.h>
#include <nvrtc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS   64U
#define MAX_ARCHS     64
#define MAX_LIBRARIES 4U

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
  X(nvrtcGetCUBIN)                                                                                 \
  X(nvrtcGetPTXSize)                                                                               \
  X(nvrtcGetPTX)

#define MEMBER(function) __typeof__(function)* function;

struct Nvrtc {
  NVRTC_FUNCTIONS(MEMBER)
  void* handle;
  uint32_t major; ///< Version of CUDA
  char version[32];
};

typedef struct Symbol {
  const char* name;
  size_t offset; ///< Offset of the function pointer in Nvrtc
} Symbol;

#define ROW(function) { #function, offsetof(Nvrtc, function) },

static const Symbol symbols[] = { NVRTC_FUNCTIONS(ROW) };

// Newest first: the newest supports the most architectures.  The name without a number comes with
// the toolkit's development files and may be any version.
static const char* const usual_names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                           "libnvrtc.so", NULL };

// The libraries that were opened so far; each is opened when it is needed, because that takes
// milliseconds.
static const char* const* names = usual_names;
static Nvrtc libraries[MAX_LIBRARIES]; // in the order of `names`
static uint32_t n_libraries;
static uint32_t n_tried;   // of `names`
static Error open_failure; // of a name that exists, else of the first name

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

// Libraries

static bool
look_up(Nvrtc* const found, const char** const missing)
{
  for (size_t s = 0; s < ARRAY_LEN(symbols); ++s) {
    void* const function = dlsym(found->handle, symbols[s].name);
    if (!function) {
      *missing = symbols[s].name;
      return false;
    }
    memcpy((char*)found + symbols[s].offset, &function, sizeof(function));
  }
  return true;
}

static bool
is_known(const void* const handle)
{
  for (uint32_t l = 0; l < n_libraries; ++l) {
    if (libraries[l].handle == handle) {
      return true;
    }
  }
  return false;
}

/// Read the functions and the version of an open library.
static Status
describe(Nvrtc* const library, const char* const name, Error* const error)
{
  const char* missing = NULL;
  int major = 0;
  int minor = 0;
  if (!look_up(library, &missing)) {
    return error_set(error, STATUS_NO_BACKEND,
                     "%s has no %s: it is older than CUDA 11.4; install a newer libnvrtc", name,
                     missing);
  }
  const nvrtcResult result = library->nvrtcVersion(&major, &minor);
  if (result) {
    return refused(library, result, "nvrtcVersion", error);
  }
  library->major = (uint32_t)major;
  snprintf(library->version, sizeof(library->version), "NVRTC %d.%d", major, minor);
  return STATUS_OK;
}

/// Open a library.  STATUS_NOT_FOUND if there is none of this name, or if it is one of `libraries`.
static Status
open_library(const char* const name, Nvrtc* const library, Error* const error)
{
  *library = (Nvrtc){ .handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) };
  if (!library->handle) {
    return error_set(
        error, STATUS_NOT_FOUND,
        "no NVRTC, which compiles kernels: %s; install libnvrtc of the CUDA Toolkit, 11.4 "
        "or newer, or name its folder in LD_LIBRARY_PATH",
        dlerror());
  }
  const Status status =
      is_known(library->handle) ? STATUS_NOT_FOUND : describe(library, name, error);
  if (status) {
    dlclose(library->handle);
  }
  return status;
}

/// The library with this index, of those that can be opened; NULL if there are fewer.
static const Nvrtc*
library_at(const uint32_t index)
{
  for (; n_libraries <= index && n_libraries < MAX_LIBRARIES && names[n_tried]; ++n_tried) {
    Error error = { STATUS_OK, "" };
    const Status status = open_library(names[n_tried], &libraries[n_libraries], &error);
    if (status && (!open_failure.status || status != STATUS_NOT_FOUND)) {
      open_failure = error;
    }
    n_libraries += !status;
  }
  return index < n_libraries ? &libraries[index] : NULL;
}

Status
nvrtc_load(Error* const error)
{
  return library_at(0) ? STATUS_OK : error_set(error, STATUS_NO_BACKEND, "%s", open_failure.text);
}

Status
nvrtc_load_from(const char* const* const other_names, Error* const error)
{
  names = other_names;
  n_tried = 0U;
  n_libraries = 0U;
  open_failure = (Error){ 0 };
  return nvrtc_load(error);
}

// Ways

/// The newest architecture of a library whose code the device runs, 0 if there is none: as machine
/// code one with the same major number, as PTX any that is not newer than the device.
static Status
find_target(const Nvrtc* const library, const uint32_t capability, const bool is_ptx,
            uint32_t* const target, Error* const error)
{
  int n_archs = 0;
  int archs[MAX_ARCHS] = { 0 };
  nvrtcResult result = library->nvrtcGetNumSupportedArchs(&n_archs);
  if (result) {
    return refused(library, result, "nvrtcGetNumSupportedArchs", error);
  }
  if (n_archs > MAX_ARCHS) {
    return error_set(error, STATUS_LIMIT, "%s compiles for more than %d architectures",
                     library->version, MAX_ARCHS);
  }
  result = library->nvrtcGetSupportedArchs(archs);
  if (result) {
    return refused(library, result, "nvrtcGetSupportedArchs", error);
  }
  *target = 0U;
  for (int a = 0; a < n_archs; ++a) {
    const uint32_t arch = (uint32_t)archs[a];
    if ((is_ptx || arch / 10U == capability / 10U) && arch <= capability && arch > *target) {
      *target = arch;
    }
  }
  return STATUS_OK;
}

typedef enum Pass { PASS_CUBIN, PASS_NEWER_CUBIN, PASS_PTX, N_PASSES } Pass;

/// Fill *way with this library's way of a pass; target 0 if it has none.
static Status
find_way(const Nvrtc* const library, const NvrtcMachine* const machine, const Pass pass,
         NvrtcWay* const way, Error* const error)
{
  const bool is_newer = library->major > machine->driver_version / 1000U;
  *way = (NvrtcWay){ .library = library, .is_ptx = pass == PASS_PTX };
  return is_newer == (pass == PASS_NEWER_CUBIN)
             ? find_target(library, machine->capability, way->is_ptx, &way->target, error)
             : STATUS_OK;
}

Status
nvrtc_way(const NvrtcMachine* const machine, uint32_t index, NvrtcWay* const way,
          Error* const error)
{
  Status status = nvrtc_load(error);
  if (status) {
    return status;
  }
  for (Pass pass = PASS_CUBIN; pass < N_PASSES; ++pass) {
    const Nvrtc* library = NULL;
    for (uint32_t l = 0; (library = library_at(l)); ++l) {
      NvrtcWay found;
      status = find_way(library, machine, pass, &found, error);
      if (status) {
        return status;
      }
      if (found.target && index-- == 0U) {
        *way = found;
        return STATUS_OK;
      }
    }
  }
  return error_set(
      error, STATUS_NO_BACKEND,
      "%s does not compile for sm_%u, this GPU's architecture; install a libnvrtc that does",
      libraries[0].version, machine->capability);
}

const char*
nvrtc_version(const NvrtcWay* const way)
{
  return way->library->version;
}

void
nvrtc_target_name(const NvrtcWay* const way, char name[NVRTC_TARGET_BYTES])
{
  snprintf(name, NVRTC_TARGET_BYTES, "%s_%u", way->is_ptx ? "compute" : "sm", way->target);
}

// Compilation

static char*
get_log(const Nvrtc* const library, const nvrtcProgram program)
{
  size_t n_bytes = 0;
  if (library->nvrtcGetProgramLogSize(program, &n_bytes) || n_bytes > MAX_RESULT_BYTES) {
    n_bytes = 0;
  }
  char* const log = calloc(n_bytes + 1U, 1U);
  if (log && n_bytes && library->nvrtcGetProgramLog(program, log)) {
    log[0] = '\0';
  }
  return log;
}

static Status
run_compiler(const NvrtcWay* const way, const nvrtcProgram program, const NvrtcJob* const job,
             Error* const error)
{
  const Nvrtc* const library = way->library;
  char target[NVRTC_TARGET_BYTES];
  nvrtc_target_name(way, target);
  char architecture[48];
  snprintf(architecture, sizeof(architecture), "--gpu-architecture=%s", target);
  const char* options[MAX_OPTIONS] = { architecture, "--std=c++14", "--fmad=true" };
  uint32_t n_options = 3;
  for (uint32_t o = 0; job->options && job->options[o]; ++o) {
    if (n_options == MAX_OPTIONS) {
      return error_set(error, STATUS_BAD_ARG, "%s: more than %u options", job->name, MAX_OPTIONS);
    }
    options[n_options++] = job->options[o];
  }
  const nvrtcResult result = library->nvrtcCompileProgram(program, (int)n_options, options);
  if (!result) {
    return STATUS_OK;
  }
  char* const log = get_log(library, program);
  const char* const words = log && log[0] ? log : library->nvrtcGetErrorString(result);
  gpu_compile_failed(error, job->name, words ? words : "");
  free(log);
  return STATUS_BAD_ARG;
}

static Status
take_result(const NvrtcWay* const way, const nvrtcProgram program, NvrtcResult* const result,
            Error* const error)
{
  const Nvrtc* const library = way->library;
  const char* const size_call = way->is_ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize";
  const char* const call = way->is_ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN";
  size_t n_bytes = 0;
  nvrtcResult refusal = way->is_ptx ? library->nvrtcGetPTXSize(program, &n_bytes)
                                    : library->nvrtcGetCUBINSize(program, &n_bytes);
  if (refusal) {
    return refused(library, refusal, size_call, error);
  }
  if (!n_bytes || n_bytes > MAX_RESULT_BYTES) {
    return error_set(error, STATUS_NO_BACKEND, "%s: code of %zu bytes", size_call, n_bytes);
  }
  NvrtcResult taken = { .code = malloc(n_bytes),
                        .n_bytes = n_bytes,
                        .log = get_log(library, program) };
  if (taken.code && taken.log) {
    refusal = way->is_ptx ? library->nvrtcGetPTX(program, taken.code)
                          : library->nvrtcGetCUBIN(program, taken.code);
    if (!refusal) {
      *result = taken;
      return STATUS_OK;
    }
  }
  free(taken.code);
  free(taken.log);
  return refusal ? refused(library, refusal, call, error)
                 : error_set(error, STATUS_NO_MEM, "out of memory");
}

Status
nvrtc_compile(const NvrtcWay* const way, const NvrtcJob* const job, NvrtcResult* const result,
              Error* const error)
{
  const Nvrtc* const library = way->library;
  nvrtcProgram program = NULL;
  const nvrtcResult refusal =
      library->nvrtcCreateProgram(&program, job->source, job->name, 0, NULL, NULL);
  if (refusal || !program) {
    return refusal ? refused(library, refusal, "nvrtcCreateProgram", error)
                   : error_set(error, STATUS_NO_BACKEND,
                               "nvrtcCreateProgram: NVRTC reports success but returns NULL");
  }
  Status status = run_compiler(way, program, job, error);
  status = status ? status : take_result(way, program, result, error);
  library->nvrtcDestroyProgram(&program);
  return status;
}
