// SPDX-License-Identifier: GPL-3.0-or-later
/**
   How long blocks take, as a share of the time there is for one: a histogram that one thread writes
   and any may read.
*/
#ifndef WARPRACK_ENGINE_LOAD_H
#define WARPRACK_ENGINE_LOAD_H

#include "status.h"

#include <stdatomic.h>
#include <stdint.h>

#define LOAD_BINS      800U
#define LOAD_BIN_WIDTH 0.0025 // a quarter of a percent; the last bin takes everything from 200 % on

typedef struct Load {
  _Atomic uint32_t bins[LOAD_BINS];
  _Atomic double largest;
} Load;

/// One block took `share` of its period. [worker]
REALTIME void load_add(Load* load, double share);

/// Forget everything.  A block that is counted at the same moment may be lost. [any]
void load_reset(Load* load);

/// The share that a fraction `quantile` of the blocks did not exceed (upper edge of its bin; never
/// above the largest). [any]
double load_quantile(const Load* load, double quantile);

#endif
