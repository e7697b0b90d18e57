// SPDX-License-Identifier: GPL-3.0-or-later
// The tables of counters, and operations on all counters.

#include "counters.h"

#include <math.h>

#define COUNTER_INFO(name, rule, in_log) { #name, COUNTER_##rule, in_log },

const CounterInfo period_counters[N_PERIOD_COUNTERS] = { PERIOD_COUNTERS(COUNTER_INFO) };
const CounterInfo worker_counters[N_WORKER_COUNTERS] = { WORKER_COUNTERS(COUNTER_INFO) };

const double load_bounds[LOAD_BUCKETS] = { 0.05, 0.1, 0.2, 0.3,  0.4, 0.5, 0.6, 0.7,
                                           0.8,  0.9, 1.0, 1.25, 1.5, 2.0, 4.0, INFINITY };

_Static_assert(sizeof(PeriodCounts) == N_PERIOD_COUNTERS * sizeof(uint64_t), "no padding");
_Static_assert(sizeof(WorkerCounts) == N_WORKER_COUNTS * sizeof(uint64_t), "no padding");

void
counters_add(const CounterInfo* const infos, const size_t n, uint64_t* const sum,
             const uint64_t* const counts)
{
  for (size_t i = 0; i < n; ++i) {
    const uint64_t larger = counts[i] > sum[i] ? counts[i] : sum[i];
    sum[i] = infos[i].rule == COUNTER_MAX ? larger : sum[i] + counts[i];
  }
}

void
worker_counts_add(WorkerCounts* const sum, const WorkerCounts* const counts)
{
  counters_add(worker_counters, N_WORKER_COUNTERS, sum->of, counts->of);
  for (uint32_t b = 0; b < LOAD_BUCKETS; ++b) {
    sum->load[b] += counts->load[b];
  }
}

void
counters_read(const _Atomic uint64_t* const counters, const size_t n, uint64_t* const counts)
{
  for (size_t i = 0; i < n; ++i) {
    counts[i] = atomic_load_explicit(&counters[i], memory_order_relaxed);
  }
}
