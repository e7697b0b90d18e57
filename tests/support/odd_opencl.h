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

/// Of the calls from now that return a result, make number `n_good` + 1 return CL_SUCCESS, and fill
/// its result with this byte: NULL, 0 and "" for 0, absurd numbers and texts for another value
/// (these are never objects, so object calls do not count then).
void odd_opencl_give(uint32_t n_good, unsigned char byte);

/// The name of the call that was made to fail, NULL before it.
const char* odd_opencl_call(void);

/// Number of objects that were made and not yet released.
int32_t odd_opencl_n_live(void);

#endif
