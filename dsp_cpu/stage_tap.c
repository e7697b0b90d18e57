// SPDX-License-Identifier: GPL-3.0-or-later
// Batches without a watched node do not come here.

#include "stage_tap.h"

#include "engine/contract/guard.h"

/// Set the tap of a node of a batch.  Returns false if the node is not there.
static bool
tap_batch(Batch* const batch, const uint32_t node_index, NodeTap* const tap)
{
  bool is_found = false;
  batch->n_taps = 0;
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    Run* const run = &batch->runs[r];
    if (run->node_index == node_index) {
      run->tap = tap;
      is_found = true;
    }
    batch->n_taps += run->tap != NULL;
  }
  batch->has_end = batch->has_latency || batch->n_taps;
  return is_found;
}

bool
stage_tap(Stage* const stage, const uint32_t node_index, NodeTap* const tap)
{
  for (uint32_t s = 0; s < stage->spec.n_steps; ++s) {
    if (stage->spec.steps[s].kind == STEP_BATCH && tap_batch(&stage->batches[s], node_index, tap)) {
      return true;
    }
  }
  return false;
}

static void
measure_run(const Batch* const batch, const Run* const run, const uint32_t n_frames)
{
  NodeTap* const tap = run->tap;
  for (uint32_t o = 0; o < run->n_outs; ++o) {
    const Level row = { guard_peak(run->outs[o], n_frames), guard_energy(run->outs[o], n_frames) };
    level_add(&tap->level, &row);
  }
  tap->n_samples += (uint64_t)n_frames * run->n_outs;
  for (uint32_t u = run->first_unit; batch->fx->reduction_db && u < run->first_unit + run->n_units;
       ++u) {
    const float reduction_db = batch->fx->reduction_db(batch->units[u].state);
    tap->reduction_db = reduction_db > tap->reduction_db ? reduction_db : tap->reduction_db;
  }
}

void
stage_tap_measure(const Batch* const batch, const uint32_t n_frames)
{
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    if (batch->runs[r].tap) {
      measure_run(batch, &batch->runs[r], n_frames);
    }
  }
}
