// SPDX-License-Identifier: GPL-3.0-or-later

#include "device_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEADLINE_NS 100000000000U // PoCL compiles at the first launch, on a busy machine

int
device_suite_run(const char* const name, const EngineBackend api, Backend** const device)
{
  const char* const named = getenv("WARPRACK_TEST_BACKEND");
  const bool is_cuda = named && !strcmp(named, "cuda");
  const DeviceChoice choice = { .api = api       ? api
                                       : is_cuda ? ENGINE_BACKEND_CUDA
                                                 : ENGINE_BACKEND_OPENCL,
                                .index = UINT32_MAX,
                                .deadline_ns = DEADLINE_NS };
  Error error = { STATUS_OK, "" };
  if (device_backend_new(&choice, device, &error)) {
    puts(error.text);
    return TEST_SKIPPED;
  }
  puts(device_backend_summary(*device));
  fflush(stdout);
  const int exit_code = suite_run(name);
  device_backend_free(*device);
  return exit_code;
}
