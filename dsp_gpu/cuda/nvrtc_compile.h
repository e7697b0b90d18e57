// SPDX-License-Identifier: GPL-3.0-or-later
/**
   NVIDIA's run-time compiler: CUDA C to a cubin, the machine code of one architecture.  The library
   (NVRTC, of the CUDA Toolkit) is opened when it is first needed; it needs no GPU and no driver.

   A cubin rather than PTX: nothing is left to compile in the driver, and a driver older than the
   compiler can still run it.
*/
#ifndef WARPRACK_DSP_GPU_CUDA_NVRTC_COMPILE_H
#define WARPRACK_DSP_GPU_CUDA_NVRTC_COMPILE_H

#include "engine/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct NvrtcJob {
  const char* name;           ///< File name in messages, e.g. "fx_gain.cu"
  const char* source;         ///< Whole text
  uint32_t capability;        ///< Of the device: 10 * major + minor
  const char* const* options; ///< NULL-terminated, beside the architecture's
} NvrtcJob;

typedef struct NvrtcResult {
  void* cubin; ///< An ELF file; the caller's, free()
  size_t n_bytes;
  char* log; ///< The compiler's, with --ptxas-options=-v also the registers; the caller's, free()
} NvrtcResult;

/// Open the library.  STATUS_NO_BACKEND with what to install.  Cheap to call again. [main, builder]
NODISCARD Status nvrtc_load(Error* error);

/// As nvrtc_load(), with other names of the library, NULL-terminated. [main, builder]
NODISCARD Status nvrtc_load_from(const char* const* names, Error* error);

/// "NVRTC 13.0", for keys of caches and for reports; empty before nvrtc_load(). [any]
const char* nvrtc_version(void);

/**
   The architecture to compile for: the device's own, else the newest older one of the same major
   number, whose machine code the device runs as well.

   @param[out] target 10 * major + minor.  Untouched on error.
   @return STATUS_NO_BACKEND when this NVRTC is too old or too new for the device.
*/
NODISCARD Status // [builder]
nvrtc_target(uint32_t capability, uint32_t* target, Error* error);

/**
   Compile for nvrtc_target(job->capability), as C++14 with fused multiply-add.

   @param[out] result Untouched on error.
   @return STATUS_BAD_ARG with the file's name and the first errors, each with its line, when the
   source is wrong; STATUS_NO_BACKEND without a compiler for the device; STATUS_NO_MEM.
*/
NODISCARD Status // [builder]
nvrtc_compile(const NvrtcJob* job, NvrtcResult* result, Error* error);

#endif
