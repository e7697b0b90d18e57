// SPDX-License-Identifier: GPL-3.0-or-later
/// The main function of a test program that needs a GPU device.
#ifndef WARPRACK_TESTS_DEVICE_SUITE_H
#define WARPRACK_TESTS_DEVICE_SUITE_H

#include "suite.h"

#include "engine/contract/backend.h"

/// The longest wait for a device: PoCL compiles at the first launch, on a machine that may be busy.
#define DEVICE_PATIENT_NS 100000000000U

/// The API that WARPRACK_TEST_BACKEND names ("cuda", "opencl"); OpenCL by default.
EngineBackend device_suite_api(void);

/// Run the tests with `*device` open: the best one of `api`, or of device_suite_api() for
/// ENGINE_BACKEND_AUTO.  With NULL the device is closed before the tests, which open their own.
/// Returns the exit code of the program; TEST_SKIPPED with the driver's message if there is no
/// device.
int device_suite_run(const char* name, EngineBackend api, Backend** device);

#endif
