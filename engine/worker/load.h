// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The processing time of the blocks of the last 10 to 20 s, as a share of their period: a
   histogram that one thread writes and any may read.  It has two halves; a block replaces the
   older one when the newer one is 10 s old.  Without blocks, the queries return the last values.
   WorkerCounts::load is the histogram that never forgets.
*/
#ifndef WARPRACK_ENGINE_WORKER_LOAD_H
#define WARPRACK_ENGINE_WORKER_LOAD_H

#include "engine/base/status.h"
#include "engine/base/time.h"
#include "engine/contract/counters.h"

#include <stdatomic.h>
#include <stdint.h>

#define LOAD_BINS      800U
#define LOAD_BIN_WIDTH 0.0025 // a quarter of a percent; the last bin counts 200 % and more

#define LOAD_HALF_NS (10U * NS_PER_S)

typedef struct LoadHalf {
  _Atomic uint32_t bins[LOAD_BINS];
  _Atomic double largest;
} LoadHalf;

typedef struct Load {
  LoadHalf halves[2];
  uint32_t newer;    ///< [player]
  uint64_t began_ns; ///< When the newer half began [player]
} Load;

/// Record a block that has ended now and took `share` of its period. [player]
REALTIME void load_add(Load* load, uint64_t now_ns, double share);

/// The index in load_bounds of the bucket of a share. [any]
REALTIME uint32_t load_bucket(double share);

/// Clear the histogram.  A block that is recorded at the same time may be lost. [any]
void load_reset(Load* load);

/// The share that a fraction `quantile` of the blocks did not exceed: the upper edge of its bin,
/// but at most the largest share. [any]
double load_quantile(const Load* load, double quantile);

/// The largest share of any block. [any]
double load_largest(const Load* load);

#endif
