// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Stands in front of OpenCL's table of functions (dsp_gpu/opencl_driver.h) and lets one call fail,
   or return success without what it should hand out.  Everything else is passed on.

   Objects are counted; functions that free, flush or wait do so whatever they return.
*/
#ifndef WARPRACK_TESTS_ODD_OPENCL_H
#define WARPRACK_TESTS_ODD_OPENCL_H

#include <stdbool.h>
#include <stdint.h>

/// Stand in front of the functions that the table has now.
void odd_opencl_wrap(void);

/// Let call number `n_good` + 1 from now fail with CL_OUT_OF_RESOURCES.
void odd_opencl_fail(uint32_t n_good);

/// Let call number `n_good` + 1 from now, of those that hand something out, return CL_SUCCESS and
/// hand out only bytes of this value: NULL, 0 and "", or with another value than 0 numbers and
/// texts that are absurd (objects are not counted then).
void odd_opencl_give(uint32_t n_good, unsigned char byte);

/// The name of that call, NULL before it has come.
const char* odd_opencl_call(void);

/// Objects that were made and not yet released.
int32_t odd_opencl_n_live(void);

#endif
