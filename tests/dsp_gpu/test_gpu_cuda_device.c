// SPDX-License-Identifier: GPL-3.0-or-later
// CUDA on a real GPU passes the checks of all APIs (support/gpu_checks.c).  Skipped without a GPU.

#include "tests/support/gpu_checks.h"
#include "tests/support/suite.h"

#include <stdio.h>

int
main(void)
{
  Error error;
  GpuDeviceInfo info;
  if (gpu_cuda.load(&error) || gpu_cuda.describe(0, &info, &error)) {
    puts(error.text);
    return TEST_SKIPPED;
  }
  printf("%s, %s\n", info.name, info.driver);
  fflush(stdout);
  return gpu_checks_run(&gpu_cuda);
}
