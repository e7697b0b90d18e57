// SPDX-License-Identifier: GPL-3.0-or-later
/**
   How long blocks took in the last 10 to 20 s, as a share of the time there is for one: a histogram
   that one thread writes and any may read.  It has two halves; the older one is forgotten when a
   block comes and the newer one is 10 s old.  While none comes, the queries return the last ones.
*/
#ifndef WARPRACK_ENGINE_WORKER_LOAD_H
#define WARPRACK_ENGINE_WORKER_LOAD_H

#include "engine/base/status.h"
#include "engine/base/time.h"

#include <stdatomic.h>
#include <stdint.h>

#define LOAD_BINS      800U
#define LOAD_BIN_WIDTH 0.0025 // a quarter of a percent; the last bin takes everything from 200 % on

#define LOAD_HALF_NS (10U * NS_PER_S)

typedef struct LoadHalf {
  _Atomic uint32_t bins[LOAD_BINS];
  _Atomic double largest;
} LoadHalf;

typedef struct Load {
  LoadHalf halves[2];
  uint32_t newer;    ///< [player]
  uint64_t began_ns; ///< When that was begun [player]
} Load;

/// One block, which has ended now, took `share` of its period. [player]
REALTIME void load_add(Load* load, uint64_t now_ns, double share);

/// Forget everything.  A block that is counted at the same moment may be lost. [any]
void load_reset(Load* load);

/// The share that a fraction `quantile` of the blocks did not exceed (upper edge of its bin; never
/// above the largest). [any]
double load_quantile(const Load* load, double quantile);

/// The largest share of any. [any]
double load_largest(const Load* load);

#endif
