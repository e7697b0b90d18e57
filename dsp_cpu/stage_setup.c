// SPDX-License-Identifier: GPL-3.0-or-later
#include "stage_setup.h"

#include "batch_turn.h"
#include "stage_chain.h"

#include "engine/base/recorder.h"
#include "engine/base/rt.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

static void
batch_free(Batch* const batch)
{
  free(batch->units); // one allocation holds all arrays
}

/// Pointers to the rows of a batch.
typedef struct BatchWidth {
  size_t n_ins, n_outs;
} BatchWidth;

static BatchWidth
batch_width(const StageStep* const step)
{
  BatchWidth width = { 0 };
  for (uint32_t u = 0; u < step->n_units; ++u) {
    width.n_ins += step->units[u].n_in + step->units[u].n_side;
    width.n_outs += step->units[u].n_out;
  }
  return width;
}

/// All arrays of a batch.
static size_t
batch_bytes(const StageStep* const step)
{
  const BatchWidth width = batch_width(step);
  return step->n_units * (2U * sizeof(FxUnit) + sizeof(Run)) +
         (width.n_ins + width.n_outs) * sizeof(float*);
}

/// Allocate them.
static Status
batch_take(Batch* const batch, const StageStep* const step)
{
  const BatchWidth width = batch_width(step);
  *batch = (Batch){ .fx = step->fx, .specs = step->units, .n_units = step->n_units };
  batch->units = rt_memory(batch_bytes(step));
  if (!batch->units) {
    return STATUS_NO_MEM;
  }
  batch->whole = batch->units + step->n_units;
  batch->runs = (Run*)(batch->whole + step->n_units);
  batch->ins = (const float**)(batch->runs + step->n_units);
  batch->outs = (float**)(batch->ins + width.n_ins);
  return STATUS_OK;
}

/// The word for a run of a unit's node; 0 for plugins, whose host records them itself.
static uint64_t
call_of(const FxInfo* const fx, const BatchUnit* const unit, const bool is_shared)
{
  return fx->origin ? 0U : recorder_word(unit->uid, is_shared);
}

/// A row while a stage is made: the last step that writes it, and what reads it after that.
typedef struct RowUse {
  MixPlace* mixed;   ///< Of the mix that writes it; NULL: no mix does
  const MixRow* mix; ///< Likewise
  float** out;       ///< Of the unit that writes it; NULL: no unit does
  uint32_t n_reads;
} RowUse;

static void
use_mix(RowUse* const uses, const StageStep* const step, MixPlace* const places)
{
  for (uint32_t r = 0; r < step->n_rows; ++r) {
    for (uint32_t t = 0; t < step->rows[r].n_terms; ++t) {
      ++uses[step->rows[r].terms[t].from].n_reads;
    }
    uses[step->rows[r].to] = (RowUse){ .mixed = &places[r], .mix = &step->rows[r] };
  }
}

/// Point an input of a unit to its row.
static void
use_input(const StageSpec* const spec, RowUse* const uses, const uint32_t row,
          const float** const in)
{
  if (row != BACKEND_NO_ROW) {
    *in = spec->rows[row];
    ++uses[row].n_reads;
    if (uses[row].mixed) {
      assert(!uses[row].mixed->in); // MixRow: one input reads the row
      uses[row].mixed->in = in;
    }
  }
}

/// Point a unit to its rows.
static void
use_unit(const StageSpec* const spec, RowUse* const uses, const BatchUnit* const unit,
         const float** const ins, float** const outs)
{
  for (uint32_t c = 0; c < unit->n_in; ++c) {
    use_input(spec, uses, unit->in_rows[c], &ins[c]);
  }
  for (uint32_t c = 0; c < unit->n_side; ++c) {
    use_input(spec, uses, unit->side_rows[c], &ins[unit->n_in + c]);
  }
  for (uint32_t c = 0; c < unit->n_out; ++c) {
    outs[c] = spec->rows[unit->out_rows[c]];
    uses[unit->out_rows[c]] = (RowUse){ .out = &outs[c] };
  }
}

/// Find the outputs of the rack to which units may write.
static void
use_outputs(const Stage* const stage, const RowUse* const uses)
{
  const StageSpec* const spec = &stage->spec;
  const StageStep* const last = &spec->steps[spec->n_steps - 1U];
  MixPlace* const places = stage->places + stage->n_places - last->n_rows;
  for (uint32_t r = 0; r < last->n_rows; ++r) {
    const MixRow* const row = &last->rows[r];
    const RowUse* const from = row->n_terms == 1U ? &uses[row->terms->from] : NULL;
    if (from && from->n_reads == 1U && row->to < spec->n_in + spec->n_out) {
      places[r].out = from->out;
    }
  }
}

static Status
batch_init(const Stage* const stage, RowUse* const uses, Batch* const batch,
           const StageStep* const step)
{
  const Status status = batch_take(batch, step);
  if (status) {
    return status;
  }
  const float** ins = batch->ins;
  float** outs = batch->outs;
  for (uint32_t u = 0; u < step->n_units; ++u) {
    const BatchUnit* const unit = &step->units[u];
    const uint32_t n_ins = unit->n_in + unit->n_side;
    if (u == 0U || unit->node_index != step->units[u - 1U].node_index) {
      batch->runs[batch->n_runs++] = (Run){ .first_unit = u,
                                            .node_index = unit->node_index,
                                            .ins = ins,
                                            .outs = outs,
                                            .n_in = unit->n_in,
                                            .health = unit->health,
                                            .switches = unit->switches,
                                            .mix = unit->n_in ? uses[*unit->in_rows].mix : NULL,
                                            .call = call_of(step->fx, unit, false) };
    }
    Run* const run = &batch->runs[batch->n_runs - 1U];
    ++run->n_units;
    run->n_ins += n_ins;
    run->n_outs += unit->n_out;
    batch->units[u] = (FxUnit){ .node = unit->node,
                                .state = unit->state,
                                .in = ins,
                                .out = outs,
                                .side = unit->n_side ? ins + unit->n_in : NULL };
    use_unit(&stage->spec, uses, unit, ins, outs);
    ins += n_ins;
    outs += unit->n_out;
    batch->has_latency = batch->has_latency || unit->input_line->samples;
  }
  batch->has_end = batch->has_latency;
  batch->wet = stage->weights;
  batch->dry = stage->weights + stage->spec.max_block_frames;
  batch->may_share = batch->n_units > 1U && pool_size(stage->pool) > 1U;
  batch->may_be_timed = batch->may_share || batch->fx->origin;
  batch->call = call_of(step->fx, step->units, batch->n_runs > 1U);
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    batch->mean_ns += atomic_load(step->units[batch->runs[r].first_unit].node_ns);
  }
  return STATUS_OK;
}

void
stage_cpu_free(Stage* const stage)
{
  for (uint32_t s = 0; stage->batches && s < stage->spec.n_steps; ++s) {
    batch_free(&stage->batches[s]);
  }
  free(stage->batches);
  free(stage->chains);
  free(stage->places);
  free(stage->marks.has_change);
  free(stage->weights);
  free(stage);
}

/// The rows of all mixes.
static uint32_t
count_places(const StageSpec* const spec)
{
  uint32_t n = 0;
  for (uint32_t s = 0; s < spec->n_steps; ++s) {
    n += spec->steps[s].n_rows;
  }
  return n;
}

/// The weights of one node in a block.
static size_t
weights_bytes(const StageSpec* const spec)
{
  return 2U * (size_t)spec->max_block_frames * sizeof(float);
}

size_t
stage_cpu_bytes(const Backend* const self, const StageSpec* const spec)
{
  (void)self;
  size_t n_bytes = sizeof(Stage) + spec->n_steps * sizeof(Batch) +
                   count_places(spec) * sizeof(MixPlace) + change_marks_bytes(spec->n_nodes) +
                   weights_bytes(spec) + stage_chain_bytes(spec);
  for (uint32_t s = 0; s < spec->n_steps; ++s) {
    n_bytes += spec->steps[s].kind == STEP_BATCH ? batch_bytes(&spec->steps[s]) : 0U;
  }
  return n_bytes;
}

/// Prepare all steps.  `uses`: [n_rows] zeros.
static Status
prepare_steps(Stage* const stage, RowUse* const uses)
{
  const StageSpec* const spec = &stage->spec;
  MixPlace* places = stage->places;
  Status status = STATUS_OK;
  for (uint32_t s = 0; !status && s < spec->n_steps; ++s) {
    const StageStep* const step = &spec->steps[s];
    if (step->kind == STEP_MIX) {
      use_mix(uses, step, places);
      places += step->n_rows;
    } else {
      status = batch_init(stage, uses, &stage->batches[s], step);
    }
  }
  if (!status) {
    use_outputs(stage, uses);
    status = stage_chain_init(stage);
  }
  return status;
}

Status
stage_cpu_new(const Backend* const self, const StageSpec* const spec, Pool* const pool,
              Stage** const out, Error* const error)
{
  (void)self;
  Stage* const stage = calloc(1, sizeof(Stage));
  if (!stage) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  stage->spec = *spec;
  stage->pool = pool;
  stage->n_places = count_places(spec);
  stage->until_turn = TURN_FRAMES; // not the first block, which fills the caches
  stage->batches = calloc(spec->n_steps, sizeof(Batch));
  stage->places = rt_memory(stage->n_places * sizeof(MixPlace));
  change_marks_init(&stage->marks, rt_memory(change_marks_bytes(spec->n_nodes)), spec->n_nodes);
  stage->weights = rt_memory(weights_bytes(spec));
  RowUse* const uses = calloc(spec->n_rows, sizeof(RowUse));
  const Status status =
      stage->batches && stage->places && stage->marks.has_change && stage->weights && uses
          ? prepare_steps(stage, uses)
          : STATUS_NO_MEM;
  free(uses);
  if (status) {
    stage_cpu_free(stage);
    return error_set(error, status, "out of memory");
  }
  *out = stage;
  return STATUS_OK;
}
