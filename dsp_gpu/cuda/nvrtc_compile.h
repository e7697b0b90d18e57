// SPDX-License-Identifier: GPL-3.0-or-later
/**
   NVIDIA's run-time compiler: CUDA C to a cubin, the machine code of one architecture.  The
   library (NVRTC, of the CUDA Toolkit) is opened at first use; it needs no GPU and no driver.

   A cubin has two advantages over PTX: the driver does not compile it, and a driver older than the
   compiler can run it.
*/
#ifndef WARPRACK_DSP_GPU_CUDA_NVRTC_COMPILE_H
#define WARPRACK_DSP_GPU_CUDA_NVRTC_COMPILE_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct NvrtcJob {
  const char* name;           ///< File name in messages, e.g. "fx_gain.cu"
  const char* source;         ///< Complete text
  uint32_t capability;        ///< Compute capability of the device: 10 * major + minor
  const char* const* options; ///< NULL-terminated, in addition to the architecture
} NvrtcJob;

typedef struct NvrtcResult {
  void* cubin; ///< An ELF file; the caller calls free()
  size_t n_bytes;
  char* log; ///< The compiler's log, with --ptxas-options=-v also the registers; the caller calls
             ///< free()
} NvrtcResult;

/// Open the library.  STATUS_NO_BACKEND names the package to install.  Repeated calls are cheap.
/// [main, builder]
NODISCARD Status nvrtc_load(Error* error);

/// As nvrtc_load(), with other names of the library, NULL-terminated. [main, builder]
NODISCARD Status nvrtc_load_from(const char* const* names, Error* error);

/// For example "NVRTC 13.0", for cache keys and reports; empty before nvrtc_load(). [any]
const char* nvrtc_version(void);

/**
   Choose the architecture to compile for: that of the device, or else the newest older one with the
   same major number, because the device can run its machine code.

   @param[out] target 10 * major + minor.  Untouched on error.
   @return STATUS_NO_BACKEND if this NVRTC is too old or too new for the device.
*/
NODISCARD Status // [builder]
nvrtc_target(uint32_t capability, uint32_t* target, Error* error);

/**
   Compile for nvrtc_target(job->capability), as C++14 with fused multiply-add.

   @param[out] result Untouched on error.
   @return STATUS_BAD_ARG with the file's name and the first errors, each with its line, if the
   source has errors; STATUS_NO_BACKEND without a compiler for the device; STATUS_NO_MEM.
*/
NODISCARD Status // [builder]
nvrtc_compile(const NvrtcJob* job, NvrtcResult* result, Error* error);

#endif
