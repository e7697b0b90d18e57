// SPDX-License-Identifier: GPL-3.0-or-later
// The implementations of GpuApi in this build.

#include "gpu.h"

// The build lists the APIs that it compiles; the final NULL keeps the array valid without any.
static const GpuApi* const apis[] = { GPU_APIS_BUILT NULL };

const GpuApi* const*
gpu_apis(uint32_t* const n_apis)
{
  *n_apis = (uint32_t)ARRAY_LEN(apis) - 1U;
  return apis;
}
