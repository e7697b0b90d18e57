// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Shared by both implementations: the kernels that the build embeds, the source text for the
   compiler, and the message of a compile error.
*/
#ifndef WARPRACK_DSP_GPU_GPU_COMPILE_H
#define WARPRACK_DSP_GPU_GPU_COMPILE_H

#include "engine/base/status.h"

#include <stdint.h>

/// A kernel file.
typedef struct GpuSource {
  const char* name; ///< Without its folder, e.g. "selftest.cu"
  const char* text;
} GpuSource;

extern const char* const gpu_dialect; ///< kernels/dialect.h
extern const GpuSource gpu_sources[]; ///< All of kernels/ [gpu_n_sources]
extern const uint32_t gpu_n_sources;

/// An embedded kernel file by name, NULL when there is none. [any]
const GpuSource* gpu_source_find(const char* name);

/// The dialect followed by a source, with #line directives so that the compiler's messages have
/// `name` and its line numbers.  The caller frees it; NULL without memory. [builder]
char* gpu_compile_text(const char* name, const char* source);

/// Write the compile log, from its first error on, to `error` as one line; return STATUS_BAD_ARG.
/// [builder]
Status gpu_compile_failed(Error* error, const char* name, const char* log);

#endif
