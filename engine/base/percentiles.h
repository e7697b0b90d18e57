// SPDX-License-Identifier: GPL-3.0-or-later
/// Median and percentiles of measured times.
#ifndef WARPRACK_ENGINE_BASE_PERCENTILES_H
#define WARPRACK_ENGINE_BASE_PERCENTILES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Percentiles {
  double p50, p99, p999, max, mean;
} Percentiles;

/// Sorts `values` in place.  Nearest rank: each result except the mean is one of the values.  All
/// results are 0 for n == 0.
Percentiles percentiles_of(double* values, size_t n);

/// True if the 95 % confidence interval of the median reaches at most `share` of the median to each
/// side.  Sorts `values` in place.
bool percentiles_median_is_precise(double* values, size_t n, double share);

#endif
