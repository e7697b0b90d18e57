// SPDX-License-Identifier: GPL-3.0-or-later

#include "device_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EngineBackend
device_suite_api(void)
{
  const char* const named = getenv("WARPRACK_TEST_BACKEND");
  return named && !strcmp(named, "cuda") ? ENGINE_BACKEND_CUDA : ENGINE_BACKEND_OPENCL;
}

int
device_suite_run(const char* const name, const EngineBackend api, Backend** const device)
{
  const DeviceChoice choice = { .api = api ? api : device_suite_api(),
                                .index = UINT32_MAX,
                                .deadline_ns = DEVICE_PATIENT_NS };
  Backend* opened = NULL;
  Error error = { STATUS_OK, "" };
  if (device_backend_new(&choice, &opened, &error)) {
    puts(error.text);
    return TEST_SKIPPED;
  }
  puts(device_backend_summary(opened));
  fflush(stdout);
  if (!device) {
    device_backend_free(opened);
    return suite_run(name);
  }
  *device = opened;
  const int exit_code = suite_run(name);
  device_backend_free(opened);
  return exit_code;
}
