// SPDX-License-Identifier: GPL-3.0-or-later
// Histogram of the share of the period that blocks take, in two halves.

#include "load.h"

static void
clear(LoadHalf* const half)
{
  for (uint32_t b = 0; b < LOAD_BINS; ++b) {
    atomic_store_explicit(&half->bins[b], 0U, memory_order_relaxed);
  }
  atomic_store_explicit(&half->largest, 0.0, memory_order_relaxed);
}

void
load_add(Load* const load, const uint64_t now_ns, const double share)
{
  const uint64_t age_ns = now_ns - load->began_ns;
  if (age_ns >= 2U * LOAD_HALF_NS) { // no block for a long time: both halves are too old
    clear(&load->halves[load->newer]);
  }
  if (age_ns >= LOAD_HALF_NS) {
    load->newer = 1U - load->newer;
    load->began_ns = now_ns;
    clear(&load->halves[load->newer]);
  }
  LoadHalf* const half = &load->halves[load->newer];
  const double bin = share / LOAD_BIN_WIDTH;
  const uint32_t index = bin < LOAD_BINS - 1.0 ? (uint32_t)bin : LOAD_BINS - 1U;
  atomic_fetch_add_explicit(&half->bins[index], 1U, memory_order_relaxed);
  if (share > atomic_load_explicit(&half->largest, memory_order_relaxed)) {
    atomic_store_explicit(&half->largest, share, memory_order_relaxed);
  }
}

uint32_t
load_bucket(const double share)
{
  uint32_t bucket = 0;
  while (bucket + 1U < LOAD_BUCKETS && share > load_bounds[bucket]) {
    ++bucket;
  }
  return bucket;
}

void
load_reset(Load* const load)
{
  clear(&load->halves[0]);
  clear(&load->halves[1]);
}

static uint32_t
count_at(const Load* const load, const uint32_t bin)
{
  return atomic_load_explicit(&load->halves[0].bins[bin], memory_order_relaxed) +
         atomic_load_explicit(&load->halves[1].bins[bin], memory_order_relaxed);
}

double
load_quantile(const Load* const load, const double quantile)
{
  uint64_t total = 0;
  for (uint32_t b = 0; b < LOAD_BINS; ++b) {
    total += count_at(load, b);
  }
  const double largest = load_largest(load);
  uint64_t seen = 0;
  for (uint32_t b = 0; b + 1U < LOAD_BINS && total > 0U; ++b) {
    seen += count_at(load, b);
    if ((double)seen >= quantile * (double)total) {
      const double edge = (b + 1U) * LOAD_BIN_WIDTH;
      return edge < largest ? edge : largest;
    }
  }
  return largest;
}

double
load_largest(const Load* const load)
{
  const double a = atomic_load_explicit(&load->halves[0].largest, memory_order_relaxed);
  const double b = atomic_load_explicit(&load->halves[1].largest, memory_order_relaxed);
  return a > b ? a : b;
}
