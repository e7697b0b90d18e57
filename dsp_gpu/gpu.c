// SPDX-License-Identifier: GPL-3.0-or-later
// The implementations of the seam that this build has.

#include "gpu.h"

// One row for each API that was compiled in; no row at all is no array in C, hence the last.
static const GpuApi* const apis[] = {
#ifdef WARPRACK_CUDA
  &gpu_cuda,
#endif
#ifdef WARPRACK_OPENCL
  &gpu_opencl,
#endif
  NULL
};

const GpuApi* const*
gpu_apis(uint32_t* const n_apis)
{
  *n_apis = (uint32_t)ARRAY_LEN(apis) - 1U;
  return apis;
}
