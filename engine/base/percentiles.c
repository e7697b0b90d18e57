// SPDX-License-Identifier: GPL-3.0-or-later
// Percentiles by nearest rank: the smallest value that is not less than a share of all values.
//
// The interval of the median: the values of rank n / 2 - 0.98 sqrt(n) and n / 2 + 1 + 0.98 sqrt(n)
// enclose the median of the distribution in 95 of 100 cases, for any distribution (W. J. Conover,
// "Practical Nonparametric Statistics", 3rd edition, 1999, section 3.2).

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

bool
percentiles_median_is_precise(double* const values, const size_t n, const double share)
{
  const double half = 0.98 * sqrt((double)n);
  const double low = floor((double)n / 2.0 - half);
  const double high = ceil((double)n / 2.0 + 1.0 + half);
  if (low < 1.0 || high > (double)n) {
    return false; // too few values
  }
  qsort(values, n, sizeof(double), compare);
  const double median = at_rank(values, n, 0.5);
  return values[(size_t)low - 1U] >= (1.0 - share) * median &&
         values[(size_t)high - 1U] <= (1.0 + share) * median;
}
