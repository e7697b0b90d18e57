// SPDX-License-Identifier: GPL-3.0-or-later
/// The end of a test program that needs a device.
#ifndef WARPRACK_TESTS_DEVICE_SUITE_H
#define WARPRACK_TESTS_DEVICE_SUITE_H

#include "suite.h"

#include "engine/contract/backend.h"

/// Run the tests with `*device` open: the best one of `api`, or, where that is ENGINE_BACKEND_AUTO,
/// of the API that WARPRACK_TEST_BACKEND names ("cuda", "opencl"; OpenCL by default).  The exit
/// code of the program, TEST_SKIPPED with the driver's words when there is none.
int device_suite_run(const char* name, EngineBackend api, Backend** device);

#endif
