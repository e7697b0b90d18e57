// SPDX-License-Identifier: GPL-3.0-or-later
/**
   NVIDIA's run-time compiler: CUDA C to code for one architecture.  The library (NVRTC, of the CUDA
   Toolkit) is opened at first use; it needs no GPU and no driver.

   A machine may have several versions of the library, and a driver refuses code from a compiler
   that is newer than the driver.  A "way" is a library and the form of its code:

       1. a cubin (machine code of one architecture) from a library whose major version the driver
          has or exceeds, the newest first: the driver does not compile it
       2. a cubin from a newer library: most drivers refuse it
       3. PTX (which the driver compiles) from a library as in 1: for GPUs that are newer than all
          these libraries

   The caller takes the first way whose code the driver loads.
*/
#ifndef WARPRACK_DSP_GPU_CUDA_NVRTC_COMPILE_H
#define WARPRACK_DSP_GPU_CUDA_NVRTC_COMPILE_H

#include "engine/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVRTC_TARGET_BYTES 24U

typedef struct Nvrtc Nvrtc; ///< An open library

/// What the code has to run on.
typedef struct NvrtcMachine {
  uint32_t driver_version; ///< CUDA version of the driver: 1000 * major + 10 * minor
  uint32_t capability;     ///< Compute capability of the device: 10 * major + minor
} NvrtcMachine;

typedef struct NvrtcWay {
  const Nvrtc* library;
  uint32_t target; ///< Architecture: 10 * major + minor
  bool is_ptx;
} NvrtcWay;

typedef struct NvrtcJob {
  const char* name;           ///< File name in messages, e.g. "fx_gain.cu"
  const char* source;         ///< Complete text
  const char* const* options; ///< NULL-terminated, in addition to the architecture
} NvrtcJob;

typedef struct NvrtcResult {
  void* code; ///< A cubin, which is an ELF file, or PTX with a final 0; the caller calls free()
  size_t n_bytes;
  char* log; ///< The compiler's log, with --ptxas-options=-v also the registers; the caller calls
             ///< free()
} NvrtcResult;

/// Open the newest library.  STATUS_NO_BACKEND names the package to install.  Repeated calls are
/// cheap. [main, builder]
NODISCARD Status nvrtc_load(Error* error);

/// As nvrtc_load(), and use libraries of other names from now on, NULL-terminated, at most 4, which
/// the caller keeps. [main, builder]
NODISCARD Status nvrtc_load_from(const char* const* names, Error* error);

/**
   Get a way, in the order above.

   @param index 0 for the first way.
   @param[out] way Untouched on error.
   @return STATUS_NO_BACKEND if there are not so many: for index 0, if this machine has no library,
   or only libraries that are too old or too new for the device.
*/
NODISCARD Status // [builder]
nvrtc_way(const NvrtcMachine* machine, uint32_t index, NvrtcWay* way, Error* error);

/// Version of the way's library, for example "NVRTC 13.0", for cache keys and reports. [any]
const char* nvrtc_version(const NvrtcWay* way);

/// Write the way's architecture: "sm_90", or "compute_90" for PTX. [any]
void nvrtc_target_name(const NvrtcWay* way, char name[NVRTC_TARGET_BYTES]);

/**
   Compile as C++14 with fused multiply-add.

   @param[out] result Untouched on error.
   @return STATUS_BAD_ARG with the file's name and the first errors, each with its line, if the
   source has errors; STATUS_NO_BACKEND for other errors of the library; STATUS_NO_MEM.
*/
NODISCARD Status // [builder]
nvrtc_compile(const NvrtcWay* way, const NvrtcJob* job, NvrtcResult* result, Error* error);

#endif
