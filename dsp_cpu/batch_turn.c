// SPDX-License-Identifier: GPL-3.0-or-later
#include "batch_turn.h"

#include <math.h>

#define RECORDED_AT_ONCE 64U // nodes of a batch in a turn, which take less than 1 us

void
batch_turn_end(Batch* const batch)
{
  const double unit_ns = batch->block_ns / batch->n_units;
  const uint32_t n = batch->n_runs < RECORDED_AT_ONCE ? batch->n_runs : RECORDED_AT_ONCE;
  for (uint32_t i = 0; i < n; ++i) {
    const Run* const run = &batch->runs[batch->next_run];
    const double ns = fmin(unit_ns * run->n_units, UINT32_MAX);
    node_times_add(batch->specs[run->first_unit].times, (uint32_t)ns);
    batch->next_run = (batch->next_run + 1U) % batch->n_runs;
  }
  batch->has_turn = false;
  batch->may_be_timed = batch->may_share || batch->fx->origin;
}
