// SPDX-License-Identifier: GPL-3.0-or-later
/// The last measured times of the blocks of one node.  One thread writes them, any may read.
#ifndef WARPRACK_ENGINE_CONTRACT_NODE_TIMES_H
#define WARPRACK_ENGINE_CONTRACT_NODE_TIMES_H

#include "engine/base/macros.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NODE_TIMES 64U

/// Begins as zeros.
typedef struct NodeTimes {
  _Atomic uint32_t ns[NODE_TIMES]; ///< A ring
  _Atomic uint32_t n;              ///< Measured so far, also of those that are overwritten
} NodeTimes;

/// Record a measured block. [player]
static inline void
node_times_add(NodeTimes* const times, const uint32_t ns)
{
  const uint32_t n = atomic_load_explicit(&times->n, memory_order_relaxed);
  atomic_store_explicit(&times->ns[n % NODE_TIMES], ns, memory_order_relaxed);
  atomic_store_explicit(&times->n, n + 1U, memory_order_release);
}

/// The times that half and 99 % of the last measured blocks did not exceed.  Returns false, and
/// zeros, if none was measured. [any but rt]
bool node_times_read(const NodeTimes* times, uint32_t* p50_ns, uint32_t* p99_ns);

#endif
