// SPDX-License-Identifier: GPL-3.0-or-later
#include "node_times.h"

#include "engine/base/percentiles.h"

bool
node_times_read(const NodeTimes* const times, uint32_t* const p50_ns, uint32_t* const p99_ns)
{
  const uint32_t n_measured = atomic_load_explicit(&times->n, memory_order_acquire);
  const uint32_t n = n_measured < NODE_TIMES ? n_measured : NODE_TIMES;
  double ns[NODE_TIMES];
  for (uint32_t i = 0; i < n; ++i) {
    ns[i] = atomic_load_explicit(&times->ns[i], memory_order_relaxed);
  }
  const Percentiles found = percentiles_of(ns, n);
  *p50_ns = (uint32_t)found.p50;
  *p99_ns = (uint32_t)found.p99;
  return n;
}
