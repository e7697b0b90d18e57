// SPDX-License-Identifier: GPL-3.0-or-later
// Percentiles by nearest rank: the smallest value that is not less than a share of all values.

#include "percentiles.h"

#include <math.h>
#include <stdlib.h>

static int
compare(const void* const a, const void* const b)
{
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static double
at_rank(const double* const sorted, const size_t n, const double share)
{
  const size_t rank = (size_t)ceil(share * (double)n);
  return sorted[rank ? rank - 1U : 0U];
}

Percentiles
percentiles_of(double* const values, const size_t n)
{
  if (!n) {
    return (Percentiles){ 0 };
  }
  qsort(values, n, sizeof(double), compare);
  double sum = 0.0;
  for (size_t i = 0; i < n; ++i) {
    sum += values[i];
  }
  return (Percentiles){ .p50 = at_rank(values, n, 0.5),
                        .p99 = at_rank(values, n, 0.99),
                        .p999 = at_rank(values, n, 0.999),
                        .max = values[n - 1U],
                        .mean = sum / (double)n };
}
