// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Replaces the functions in OpenCL's table (dsp_gpu/opencl/opencl_driver.h) by wrappers.  A test
   can make one call fail, or report success with invalid results.  All other calls go to the
   driver.

   The wrappers count objects.  A call that frees, flushes or waits does so even if it reports an
   error.
*/
#ifndef WARPRACK_TESTS_ODD_OPENCL_H
#define WARPRACK_TESTS_ODD_OPENCL_H

#include <stdbool.h>
#include <stdint.h>

/// Wrap the functions that the table has now.
void odd_opencl_wrap(void);

/// Make call number `n_good` + 1 from now fail with CL_OUT_OF_RESOURCES.
void odd_opencl_fail(uint32_t n_good);

/// Make call number `n_good` + 1 from now return CL_SUCCESS, with a result whose bytes are all
/// `byte`: NULL, 0 or "" for byte 0, else an absurd number or text.  Only calls that return a
/// result count; if `byte` is not 0, calls that return objects do not count either.
void odd_opencl_give(uint32_t n_good, unsigned char byte);

/// The name of the call that was made odd; NULL until it happens.
const char* odd_opencl_call(void);

/// Number of objects that were made and not yet released.
int32_t odd_opencl_n_live(void);

#endif
