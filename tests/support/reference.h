// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Reference outputs in double precision, made by the scripts in tests/data/.  The format (see
   signals.py there): every REFERENCE_STRIDE-th frame as raw float64, channel after channel.
*/
#ifndef WARPRACK_TESTS_REFERENCE_H
#define WARPRACK_TESTS_REFERENCE_H

#include <stdint.h>

#define REFERENCE_STRIDE 13U

/// Largest difference between channels[n_channels][n_frames] and tests/data/<name>.f64.  Fails the
/// test if the file is missing or has another length.
double reference_difference(const char* name, float* const* channels, uint32_t n_channels,
                            uint32_t n_frames);

#endif
