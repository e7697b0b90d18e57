// SPDX-License-Identifier: GPL-3.0-or-later
// The stage on the CPU.  It runs the steps in order, splits a batch at the frames where a parameter
// of one of its nodes changes, unless the effect takes changes with their frames (FxInfo::set_at),
// and shares a batch among the cores of the pool if its measured time is long enough.

#include "batch_turn.h"
#include "mix.h"
#include "node_health.h"
#include "stage_chain.h"
#include "stage_event.h"
#include "stage_guard.h"
#include "stage_setup.h"
#include "stage_tap.h"

#include "engine/base/faults_worker.h"
#include "engine/base/recorder.h"
#include "engine/base/time.h"
#include "engine/contract/mix_link.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define TIME_SMOOTHING (1.0 / 64.0)  // weight of one block in the running mean of a batch's time
#define TIME_OUTLIER   4.0           // times the mean: a longer block may have been interrupted
#define TIME_MEMORY    (1.0 / 128.0) // part of a long block's time that each block forgets
#define TIME_TOLD      64U           // blocks between two updates of the nodes' measured time
// Blocks between two measurements of plugins on one core: a prime number, because some plugins do
// the work of 2, 4, 8 ... blocks in the last of them.
#define PLUGIN_TIMED 17U

// ---- batches ----

/// Move the units of a node on by some frames of their rows, or back.
static void
move_run(const Run* const run, const int32_t n_frames)
{
  for (uint32_t i = 0; i < run->n_ins; ++i) {
    run->ins[i] = run->ins[i] ? run->ins[i] + n_frames : NULL; // a side input without connections
  }
  for (uint32_t o = 0; o < run->n_outs; ++o) {
    run->outs[o] += n_frames;
  }
}

/// Point the units of a node with latency to its input, delayed, for a run from frame `frame` on.
/// While the input replaces the output, the delay stays.
static void
point_dry(Batch* const batch, const Run* const run, const uint32_t frame)
{
  const BatchUnit* const specs = &batch->specs[run->first_unit];
  InputLine* const line = specs->input_line;
  if (!line->samples) {
    return;
  }
  if (batch->fx->latency && !specs->health->plays_input) {
    input_line_set_delay(line, batch->fx->latency(specs->node));
  }
  for (uint32_t u = 0; u < run->n_units; ++u) {
    batch->units[run->first_unit + u].dry =
        input_line_from(line, specs[u].channel * specs[u].n_in, frame);
  }
}

/// Write the inputs of the nodes with latency to their lines.
static void
put_inputs(Batch* const batch, const uint32_t n_frames)
{
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    const Run* const run = &batch->runs[r];
    const BatchUnit* const specs = &batch->specs[run->first_unit];
    for (uint32_t u = 0; specs->input_line->samples && u < run->n_units; ++u) {
      for (uint32_t c = 0; c < specs[u].n_in; ++c) {
        input_line_put(specs->input_line, specs[u].channel * specs[u].n_in + c,
                       batch->units[run->first_unit + u].in[c], n_frames);
      }
    }
    point_dry(batch, run, 0U);
  }
}

/// End the block of the lines.
static void
advance_lines(const Batch* const batch, const uint32_t n_frames)
{
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    InputLine* const line = batch->specs[batch->runs[r].first_unit].input_line;
    if (line->samples) {
      input_line_advance(line, n_frames);
    }
  }
}

typedef struct PoolJob {
  const FxInfo* fx;
  const FxUnit* units;
  uint32_t n_units, n_frames, n_jobs;
  uint64_t call;
  bool is_timed;
  _Atomic uint64_t ns; ///< Of all shares together
} PoolJob;

static void
run_share(void* const context, const uint32_t index)
{
  PoolJob* const job = context;
  const uint32_t begin = (uint32_t)((uint64_t)job->n_units * index / job->n_jobs);
  const uint32_t end = (uint32_t)((uint64_t)job->n_units * (index + 1U) / job->n_jobs);
  if (end > begin) {
    _Atomic uint64_t* const line = recorder_line();
    const uint64_t began_ns = job->is_timed ? time_now_ns() : 0U;
    recorder_mark(line, job->call);
    job->fx->run(job->units + begin, end - begin, job->n_frames);
    recorder_mark(line, 0U);
    if (job->is_timed) {
      atomic_fetch_add_explicit(&job->ns, time_now_ns() - began_ns, memory_order_relaxed);
    }
  }
}

/// The number of cores that share some units of a batch, which run for n_frames: more than one if
/// they take long enough.
static uint32_t
choose_cores(const Stage* const stage, const Batch* const batch, const uint32_t n_units,
             const uint32_t n_frames)
{
  if (!batch->may_share) {
    return 1U;
  }
  const uint32_t n_cores = pool_size(stage->pool);
  const uint32_t most = n_cores < n_units ? n_cores : n_units;
  const double part_of_batch = (double)n_units / batch->n_units;
  const double part_of_block = (double)n_frames / stage->n_frames;
  const double ns = batch->mean_ns * part_of_batch * part_of_block;
  return most > 1U && batch_pays_pool(ns, batch->is_shared) ? most : 1U;
}

/// Run some units of a batch for a part of the block, on the pool if it pays.  `call`: what the
/// flight recorder names meanwhile.
static void
run_units(const Stage* const stage, Batch* const batch, const FxUnit* const units,
          const uint32_t n_units, const uint32_t n_frames, const uint64_t call)
{
  const uint32_t n_jobs = choose_cores(stage, batch, n_units, n_frames);
  if (n_jobs > 1U) {
    PoolJob job = { batch->fx, units, n_units, n_frames, n_jobs, call, batch->is_timed, 0U };
    pool_run(stage->pool, run_share, &job, n_jobs);
    batch->block_ns += (double)atomic_load_explicit(&job.ns, memory_order_relaxed);
  } else if (n_units) {
    const uint64_t began_ns = batch->is_timed ? time_now_ns() : 0U;
    recorder_mark(stage->line, call);
    worker_faults_run(batch->specs, batch->n_units);
    batch->fx->run(units, n_units, n_frames);
    recorder_mark(stage->line, 0U);
    batch->block_ns += batch->is_timed ? (double)(time_now_ns() - began_ns) : 0.0;
  }
}

/// Run the units of one node from frame `from` of the block to before frame `to`, and move them
/// there.
static void
run_part(const Stage* const stage, Batch* const batch, const Run* const run, const uint32_t from,
         const uint32_t to)
{
  point_dry(batch, run, from);
  run_units(stage, batch, batch->units + run->first_unit, run->n_units, to - from, run->call);
  move_run(run, (int32_t)(to - from));
}

/// The changes of the node of a run.
static NodeChanges
changes_of(const Stage* const stage, const Batch* const batch, const Run* const run)
{
  return (NodeChanges){ .block = stage->changes,
                        .next_event = stage->marks.next_event,
                        .next_fade = stage->marks.next_fade,
                        .fx = batch->fx,
                        .node = batch->specs[run->first_unit].node,
                        .first_fade = stage->marks.first_fade[run->node_index],
                        .event = stage->marks.first_event[run->node_index] };
}

/// Run the units of one node from value to value, and after the last cut to the end.  Notes and
/// switches do not cut a run.
static void
run_with_cuts(const Stage* const stage, Batch* const batch, const Run* const run,
              const uint32_t n_frames)
{
  NodeChanges changes = changes_of(stage, batch, run);
  uint32_t n_cuts_left = batch->fx->cut_at_events ? FX_MAX_CUTS : UINT32_MAX;
  uint32_t done = 0;
  uint32_t at = node_changes_next(&changes, 0U);
  for (; at < n_frames; at = node_changes_next(&changes, at + 1U)) {
    if (at > done && n_cuts_left && node_changes_have_value(&changes, at)) {
      run_part(stage, batch, run, done, at);
      done = at;
      --n_cuts_left;
    }
    node_changes_pass(&changes, at, 0U, at - done);
  }
  run_part(stage, batch, run, done, n_frames);
  move_run(run, -(int32_t)n_frames);
  point_dry(batch, run, 0U);
}

/// Pass the changes of a node whose run has no cuts, with their frames.
static void
pass_changes(NodeChanges changes, const uint32_t n_frames)
{
  uint32_t at = node_changes_next(&changes, 0U);
  for (; at < n_frames; at = node_changes_next(&changes, at + 1U)) {
    node_changes_pass(&changes, at, at, at);
  }
}

/// Run a batch with events, or with nodes that must not run, or have run: first all others without
/// cuts together.
static void
run_split(const Stage* const stage, Batch* const batch, const uint32_t n_frames,
          const bool has_changes)
{
  uint32_t n_whole = 0;
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    Run* const run = &batch->runs[r];
    const bool changes =
        has_changes && !run->is_stopped && stage->marks.has_change[run->node_index];
    const NodeChanges of_run = changes_of(stage, batch, run);
    run->is_cut = changes && node_changes_cut(&of_run, n_frames);
    if (changes && !run->is_cut) {
      pass_changes(of_run, n_frames);
      point_dry(batch, run, 0U);
    }
    if (!run->is_stopped && !run->is_done && !run->is_cut) {
      memcpy(batch->whole + n_whole, batch->units + run->first_unit, run->n_units * sizeof(FxUnit));
      n_whole += run->n_units;
    }
  }
  run_units(stage, batch, batch->whole, n_whole, n_frames, batch->call);
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    if (batch->runs[r].is_cut) {
      run_with_cuts(stage, batch, &batch->runs[r], n_frames);
    }
  }
}

/// The time of this block that counts for the mean.  A block that takes far longer than usual was
/// interrupted, or the effect does the work of many blocks in one, for example a long FFT.  The
/// second occurs again soon.  A long block therefore counts at most as much as the last long one.
static double
counted_ns(Batch* const batch)
{
  const double most_ns = fmax(TIME_OUTLIER * batch->mean_ns, batch->longest_ns);
  batch->longest_ns = fmax(batch->block_ns, (1.0 - TIME_MEMORY) * batch->longest_ns);
  return batch->mean_ns == 0.0 ? batch->block_ns : fmin(batch->block_ns, most_ns);
}

/// Update the running mean by the time of this block, and store it in the nodes for later plans.
static void
measure(Batch* const batch)
{
  const bool first = batch->mean_ns == 0.0;
  batch->mean_ns += (first ? 1.0 : TIME_SMOOTHING) * (counted_ns(batch) - batch->mean_ns);
  batch->is_shared = batch_pays_pool(batch->mean_ns, batch->is_shared);
  if (first || ++batch->n_measured % TIME_TOLD == 0U) {
    const double unit_ns = batch->mean_ns / batch->n_units;
    for (uint32_t r = 0; r < batch->n_runs; ++r) {
      // The process may have been suspended in between, so the time may exceed 32 bits.
      const uint32_t node_ns = (uint32_t)fmin(unit_ns * batch->runs[r].n_units, UINT32_MAX);
      atomic_store_explicit(batch->specs[batch->runs[r].first_unit].node_ns, node_ns,
                            memory_order_relaxed);
    }
  }
}

/// True if the time of this block is measured: where it decides about the pool; if the batch has
/// its turn; and now and then of plugins, whose cost only a measurement can tell
/// (engine/worker/placement.h).
static bool
is_timed(Batch* const batch)
{
  return batch->may_share || batch->has_turn ||
         (batch->fx->origin && batch->n_blocks++ % PLUGIN_TIMED == 0U);
}

// ---- a block ----

static bool
any_change(const Stage* const stage, const Batch* const batch)
{
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    if (stage->marks.has_change[batch->runs[r].node_index]) {
      return true;
    }
  }
  return false;
}

/// Pass the changes of all nodes of a batch, with their frames.
static void
pass_all_changes(const Stage* const stage, const Batch* const batch, const uint32_t n_frames)
{
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    const Run* const run = &batch->runs[r];
    if (!run->is_stopped && stage->marks.has_change[run->node_index]) {
      pass_changes(changes_of(stage, batch, run), n_frames);
    }
  }
}

/// Set the values that have changed while nodes were stopped, except those that change in this
/// block.
static void
catch_up(const Batch* const batch, const StageChanges* const changes)
{
  for (uint32_t r = 0; batch->fx->renew && r < batch->n_runs; ++r) {
    const Run* const run = &batch->runs[r];
    if (run->is_renewed) {
      node_health_catch_up(batch->fx, &batch->specs[run->first_unit], changes);
    }
  }
}

/// Let the units write to the outputs of the rack that would only copy their rows, in this block.
static void
point_outputs(const Stage* const stage, const uint32_t n_frames)
{
  const StageStep* const last = &stage->spec.steps[stage->spec.n_steps - 1U];
  const MixPlace* const places = stage->places + stage->n_places - last->n_rows;
  for (uint32_t r = 0; r < last->n_rows; ++r) {
    const MixRow* const row = &last->rows[r];
    if (places[r].out) {
      const bool only_copies = mix_only_copies(row, n_frames);
      *places[r].out = stage->spec.rows[only_copies ? row->to : row->terms->from];
    }
  }
}

/// True if all nodes that read the rows of a mix have already run, together with others of their
/// chains.
static bool
feeds_done(const Stage* const stage, const uint32_t mix)
{
  const StageStep* const steps = stage->spec.steps;
  const Batch* const batch = &stage->batches[mix + 1U];
  return mix + 1U < stage->spec.n_steps && batch->n_done && batch->n_done == batch->n_runs &&
         (mix + 2U == stage->spec.n_steps || steps[mix + 2U].kind == STEP_MIX);
}

/// Mix into rows.  A row that would only be a copy for a unit is not written: the unit reads the
/// source's row, which stays as it is until all nodes of the rank have run.
static void
run_mix(const Stage* const stage, const uint32_t mix, const MixPlace* const places,
        const uint32_t n_frames)
{
  const StageStep* const step = &stage->spec.steps[mix];
  float* const* const rows = stage->spec.rows;
  const uint32_t n_rows = feeds_done(stage, mix) ? 0U : step->n_rows;
  for (uint32_t r = 0; r < n_rows; ++r) {
    const MixRow* const row = &step->rows[r];
    const bool only_copies = mix_only_copies(row, n_frames);
    if (!only_copies || !(places[r].in || places[r].out)) {
      mix_row(rows, row, n_frames);
    }
    if (places[r].in) {
      *places[r].in = rows[only_copies ? row->terms->from : row->to];
    }
  }
  for (uint32_t l = 0; l < step->n_links; ++l) {
    mix_link_advance(step->links[l], n_frames);
  }
}

NOINLINE static void
end_batch(const Batch* const batch, const uint32_t n_frames)
{
  if (batch->has_latency) {
    advance_lines(batch, n_frames);
  }
  if (batch->n_taps) {
    stage_tap_measure(batch, n_frames);
  }
}

/// Run the nodes of a batch, without those that are stopped or have run.
static void
run_nodes(const Stage* const stage, Batch* const batch, const bool any_stopped,
          const uint32_t n_frames)
{
  bool has_changes = stage->is_changing && any_change(stage, batch);
  catch_up(batch, stage->changes);
  if (has_changes && batch->fx->set_at && !batch->fx->cut_at_events) {
    pass_all_changes(stage, batch, n_frames);
    has_changes = false;
  }
  if (has_changes || any_stopped || batch->n_done) {
    run_split(stage, batch, n_frames, has_changes);
  } else {
    run_units(stage, batch, batch->units, batch->n_units, n_frames, batch->call);
  }
}

static void
run_batch(Stage* const stage, Batch* const batch, const uint32_t n_frames)
{
  if (batch->has_latency) {
    put_inputs(batch, n_frames);
  }
  if (batch->has_chains && batch->n_done < batch->n_runs) {
    stage_chain_run(stage, batch, n_frames);
  }
  const bool any_stopped = batch->fx->renew && stage_guard_find_stopped(batch);
  const bool is_done = batch->n_done == batch->n_runs;
  batch->is_timed = batch->may_be_timed && !any_stopped && is_timed(batch);
  batch->block_ns = batch->chain_ns;
  batch->chain_ns = 0.0;
  if (!is_done) {
    run_nodes(stage, batch, any_stopped, n_frames);
  }
  if (batch->is_timed && batch->has_turn) {
    batch_turn_end(batch); // the mean leaves this block out
  } else if (batch->is_timed) {
    measure(batch);
  }
  if (!is_done) {
    stage->n_reset += stage_guard(stage, batch, n_frames);
  }
  if (batch->n_done) {
    stage_chain_end(batch);
  }
  if (batch->has_end) {
    end_batch(batch, n_frames);
  }
}

/// Process the complete block, so that stage_cpu_collect() never waits.
static void
stage_cpu_submit(Stage* const stage, const uint32_t n_frames, const StageChanges* const changes)
{
  stage->line = recorder_line();
  stage->changes = changes;
  stage->is_changing = changes->n_events || changes->n_fades;
  stage->n_frames = n_frames;
  stage->n_reset = 0;
  change_marks_set(&stage->marks, changes, n_frames);
  point_outputs(stage, n_frames);
  batch_turn_begin(stage, n_frames);
  const MixPlace* places = stage->places;
  for (uint32_t s = 0; s < stage->spec.n_steps; ++s) {
    const StageStep* const step = &stage->spec.steps[s];
    if (step->kind == STEP_MIX) {
      run_mix(stage, s, places, n_frames);
      places += step->n_rows;
    } else {
      run_batch(stage, &stage->batches[s], n_frames);
    }
  }
  change_marks_clear(&stage->marks, changes);
}

static bool
stage_cpu_is_done(Stage* const stage)
{
  (void)stage;
  return true;
}

static Status
stage_cpu_collect(Stage* const stage, uint32_t* const n_reset)
{
  *n_reset = stage->n_reset;
  return STATUS_OK;
}

const Backend backend_cpu = {
  .kind = ENGINE_BACKEND_CPU,
  .stage_bytes = stage_cpu_bytes,
  .stage_new = stage_cpu_new,
  .stage_free = stage_cpu_free,
  .stage_submit = stage_cpu_submit,
  .stage_is_done = stage_cpu_is_done,
  .stage_collect = stage_cpu_collect,
  .stage_tap = stage_tap,
};
