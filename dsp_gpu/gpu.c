// SPDX-License-Identifier: GPL-3.0-or-later
// The implementations of the seam that this build has.

#include "gpu.h"

// The build lists those that it compiles; no row at all is no array in C, hence the last.
static const GpuApi* const apis[] = { GPU_APIS_BUILT NULL };

const GpuApi* const*
gpu_apis(uint32_t* const n_apis)
{
  *n_apis = (uint32_t)ARRAY_LEN(apis) - 1U;
  return apis;
}
