// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The spans in which the outputs played their fallbacks, to the frame, from the callback to a
   reader, without locks.

   The callback keeps the last spans, and does not wait for a reader: the reader finds out whether
   there were more since its last call.  Times are those of the outputs.
*/
#ifndef WARPRACK_ENGINE_CALLBACK_DRY_SPANS_H
#define WARPRACK_ENGINE_CALLBACK_DRY_SPANS_H

#include "engine/base/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define DRY_SPANS 256U // a power of two

typedef struct DrySpan {
  uint64_t first, end; ///< Frame times; `end` is that of the first frame after it
} DrySpan;

/// Zero is a valid state.
typedef struct DrySpans {
  _Atomic uint64_t n;     ///< Spans so far; the last one may still go on
  _Atomic uint64_t known; ///< Frame time after the last block
  struct {
    _Atomic uint64_t first, end;
  } spans[DRY_SPANS];
} DrySpans;

/// Add the block that the outputs play from `first` to `end`. [rt]
REALTIME void dry_spans_add(DrySpans* spans, uint64_t first, uint64_t end, bool is_dry);

/// Read the spans between the frame time `*from` and the last block, the newest one first, and move
/// `*from` there, for the next call.  If there were too many, the last one in `to` covers those
/// that are not known, with the blocks between them.  Returns their number. [any but rt]
uint32_t dry_spans_read(const DrySpans* spans, uint64_t* from, DrySpan to[DRY_SPANS]);

#endif
