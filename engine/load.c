// SPDX-License-Identifier: GPL-3.0-or-later
// Histogram of the share of the period that blocks take.

#include "load.h"

void
load_add(Load* const load, const double share)
{
  const double bin = share / LOAD_BIN_WIDTH;
  const uint32_t index = bin < LOAD_BINS - 1.0 ? (uint32_t)bin : LOAD_BINS - 1U;
  atomic_fetch_add_explicit(&load->bins[index], 1U, memory_order_relaxed);
  if (share > atomic_load_explicit(&load->largest, memory_order_relaxed)) {
    atomic_store_explicit(&load->largest, share, memory_order_relaxed);
  }
}

void
load_reset(Load* const load)
{
  for (uint32_t b = 0; b < LOAD_BINS; ++b) {
    atomic_store_explicit(&load->bins[b], 0U, memory_order_relaxed);
  }
  atomic_store_explicit(&load->largest, 0.0, memory_order_relaxed);
}

double
load_quantile(const Load* const load, const double quantile)
{
  uint64_t total = 0;
  for (uint32_t b = 0; b < LOAD_BINS; ++b) {
    total += atomic_load_explicit(&load->bins[b], memory_order_relaxed);
  }
  const double largest = atomic_load_explicit(&load->largest, memory_order_relaxed);
  uint64_t seen = 0;
  for (uint32_t b = 0; b + 1U < LOAD_BINS && total > 0U; ++b) {
    seen += atomic_load_explicit(&load->bins[b], memory_order_relaxed);
    if ((double)seen >= quantile * (double)total) {
      const double edge = (b + 1U) * LOAD_BIN_WIDTH;
      return edge < largest ? edge : largest;
    }
  }
  return largest;
}
