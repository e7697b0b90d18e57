// SPDX-License-Identifier: GPL-3.0-or-later
/**
   What both drivers do around a compiler: the kernels that the build embeds, the text that is
   compiled, and the message when it does not compile.
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

/// The dialect and a source behind it, with #line directives so that the compiler's messages name
/// `name` and its lines.  To be freed; NULL without memory. [builder]
char* gpu_compile_text(const char* name, const char* source);

/// Fill `error` with the compile log from its first error on, on one line, and return
/// STATUS_BAD_ARG. [builder]
Status gpu_compile_failed(Error* error, const char* name, const char* log);

#endif
