// SPDX-License-Identifier: GPL-3.0-or-later
#include "stage_chain.h"

#include "mix.h"

#include "engine/base/faults_worker.h"
#include "engine/base/recorder.h"
#include "engine/base/simd.h"
#include "engine/base/time.h"

#include <string.h>

#define JOBS           16U  // signals side by side: their tiles fit into the first-level cache
#define TILE           128U // frames of a tile
#define SHARE          8U   // signals: a core gets a multiple
#define SECTION_WEIGHT 4U   // a section takes about as long as so many factors

// ---- the nodes that run together ----

/// True if no parameter of a node moves in this block.
static bool
is_at_rest(const Stage* const stage, ChainNode* const node)
{
  const Run* const run = node->run;
  const Batch* const batch = node->batch;
  const uint32_t n_sets = *batch->specs[run->first_unit].n_sets;
  if (stage->is_changing && stage->marks.has_change[run->node_index]) {
    node->rests = false;
    return false;
  }
  if (!node->rests || node->n_sets != n_sets) {
    const FxUnit* const units = batch->units + run->first_unit;
    uint32_t u = 0;
    while (u < run->n_units && batch->fx->linear->rests(units[u].node, units[u].state)) {
      ++u;
    }
    node->rests = u == run->n_units;
    node->n_sets = n_sets;
  }
  return node->rests;
}

static bool
is_quiet(const Stage* const stage, ChainNode* const node)
{
  return is_at_rest(stage, node) && !node->run->health->needs_care;
}

/// The number of nodes from this one on that run together.
static uint32_t
count_quiet(const Stage* const stage, const Run* const run, const uint32_t n_frames)
{
  const Chain* const chain = run->chain;
  if (!is_quiet(stage, &chain->nodes[run->place])) {
    return 1U;
  }
  uint32_t end = run->place + 1U;
  while (end < chain->n_nodes && !chain->nodes[end - 1U].run->tap &&
         mix_only_copies(chain->nodes[end].run->mix, n_frames) &&
         is_quiet(stage, &chain->nodes[end])) {
    ++end;
  }
  return end - run->place;
}

/// List the nodes of a batch that run with the next ones of their chains.  Returns their number.
static uint32_t
list_tasks(const Stage* const stage, const Batch* const batch, const uint32_t n_frames)
{
  uint32_t n_tasks = 0;
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    const Run* const run = &batch->runs[r];
    Chain* const chain = run->chain;
    if (!chain || run->is_done) {
      continue;
    }
    const uint32_t n_nodes = count_quiet(stage, run, n_frames); // also notes that it moves
    if (run->place < chain->n_alone) {
      chain->n_alone = run->place + 1U < chain->n_alone ? chain->n_alone : 0U;
    } else if (n_nodes > 1U) {
      ChainTask* const task = &stage->tasks[n_tasks++];
      task->chain = chain;
      task->nodes = &chain->nodes[run->place];
      task->n_nodes = n_nodes;
      atomic_init(&task->is_bad, false);
    }
  }
  return n_tasks;
}

/// True if the kernel can run the signals of two tasks side by side.
static bool
are_alike(const ChainTask* const a, const ChainTask* const b)
{
  bool are = a->n_nodes == b->n_nodes;
  for (uint32_t n = 0; are && n < a->n_nodes; ++n) {
    are = a->nodes[n].n_sections == b->nodes[n].n_sections;
  }
  return are;
}

// ---- signals ----

/// Tasks that are alike, and run together.
typedef struct Group {
  ChainTask* tasks;
  uint32_t n_tasks, n_signals, n_frames, n_shares;
  bool is_timed;
  uint64_t call;
  const CascadeKernel* kernel;
  _Atomic uint64_t ns; ///< Of all shares together
} Group;

/// One channel through the nodes of a task.
typedef struct Signal {
  ChainTask* task;
  uint32_t unit;
} Signal;

static const FxUnit*
unit_of(const Signal signal, const uint32_t node)
{
  const ChainNode* const of = &signal.task->nodes[node];
  return &of->batch->units[of->run->first_unit + signal.unit];
}

/// The sections of a signal from those of a node on.
static size_t
section_of(const Signal signal, const uint32_t node)
{
  return (size_t)signal.unit * signal.task->chain->n_sections +
         signal.task->nodes[node].first_section;
}

static uint32_t
n_sections_of(const ChainTask* const task)
{
  const ChainNode* const last = &task->nodes[task->n_nodes - 1U];
  return last->first_section + last->n_sections - task->nodes->first_section;
}

static void
keep_states(const Signal signal)
{
  const size_t first = section_of(signal, 0U);
  CascadeRow* const* const rows = signal.task->chain->rows + first;
  double* const kept = signal.task->chain->kept + 2U * first;
  const uint32_t n_sections = n_sections_of(signal.task);
  for (uint32_t s = 0; s < n_sections; ++s) {
    kept[2U * s] = rows[s]->v;
    kept[2U * s + 1U] = rows[s]->d;
  }
}

static void
restore_states(const Signal signal)
{
  const size_t first = section_of(signal, 0U);
  CascadeRow* const* const rows = signal.task->chain->rows + first;
  const double* const kept = signal.task->chain->kept + 2U * first;
  const uint32_t n_sections = n_sections_of(signal.task);
  for (uint32_t s = 0; s < n_sections; ++s) {
    rows[s]->v = kept[2U * s];
    rows[s]->d = kept[2U * s + 1U];
  }
}

/// The next nodes that one call of the kernel runs, or one node with a factor.  Returns their
/// number.
static uint32_t
next_part(const ChainNode* const nodes, const uint32_t n_nodes, CascadeForm* const form)
{
  *form = (CascadeForm){ 0 };
  uint32_t n = 0;
  for (; n < n_nodes && nodes[n].n_sections; ++n) {
    if (form->n_sections + nodes[n].n_sections > CASCADE_MAX_SECTIONS) {
      break;
    }
    form->n_sections += nodes[n].n_sections;
    form->node_ends |= 1U << (form->n_sections - 1U);
  }
  return n ? n : 1U;
}

VECTOR_CLONES static void
scale(float* const restrict out, const float* const restrict in, const float factor,
      const uint32_t n_frames)
{
  for (uint32_t i = 0; i < n_frames; ++i) {
    out[i] = in[i] * factor;
  }
}

/// Run some nodes, which one call of the kernel runs or which are one node with a factor.
static void
run_part(const Group* const group, const Signal* const signals, CascadeJob* const jobs,
         const uint32_t n_jobs, const uint32_t node, const CascadeForm form,
         const uint32_t n_frames)
{
  if (form.n_sections) {
    for (uint32_t j = 0; j < n_jobs; ++j) {
      jobs[j].rows = signals[j].task->chain->rows + section_of(signals[j], node);
    }
    group->kernel->run(jobs, n_jobs, form, n_frames);
    return;
  }
  for (uint32_t j = 0; j < n_jobs; ++j) {
    const FxLinear* const linear = signals[j].task->nodes[node].batch->fx->linear;
    const float factor = linear->factor(unit_of(signals[j], node)->state);
    scale(jobs[j].out, jobs[j].in, factor, n_frames);
  }
}

/// Run all nodes for some frames, part by part.
static void
run_tile(const Group* const group, const Signal* const signals, const uint32_t n_signals,
         const uint32_t first, const uint32_t n_frames)
{
  float tiles[2][JOBS][TILE];
  const ChainTask* const task = group->tasks; // all are alike
  const float* from[JOBS];
  for (uint32_t j = 0; j < n_signals; ++j) {
    from[j] = unit_of(signals[j], 0U)->in[0] + first;
  }
  CascadeForm form;
  uint32_t n = 0;
  for (uint32_t node = 0, side = 0; node < task->n_nodes; node += n, side = 1U - side) {
    n = next_part(task->nodes + node, task->n_nodes - node, &form);
    const bool is_last = node + n == task->n_nodes;
    CascadeJob jobs[JOBS];
    for (uint32_t j = 0; j < n_signals; ++j) {
      float* const out =
          is_last ? unit_of(signals[j], task->n_nodes - 1U)->out[0] + first : tiles[side][j];
      jobs[j] = (CascadeJob){ .in = from[j], .out = out };
      from[j] = out;
    }
    run_part(group, signals, jobs, n_signals, node, form, n_frames);
  }
}

/// Run some signals, at most JOBS.
static void
run_signals(const Group* const group, const Signal* const signals, const uint32_t n_signals)
{
  const ChainTask* const task = group->tasks;
  for (uint32_t j = 0; j < n_signals; ++j) {
    keep_states(signals[j]);
  }
  CascadeForm form;
  const bool is_one_part = next_part(task->nodes, task->n_nodes, &form) == task->n_nodes;
  const uint32_t n_at_once = is_one_part ? group->n_frames : TILE;
  for (uint32_t first = 0; first < group->n_frames; first += n_at_once) {
    const uint32_t n_left = group->n_frames - first;
    run_tile(group, signals, n_signals, first, n_left < n_at_once ? n_left : n_at_once);
  }
  for (uint32_t j = 0; j < n_signals; ++j) {
    const float* const out = unit_of(signals[j], task->n_nodes - 1U)->out[0];
    if (!stage_guard_is_finite(out, group->n_frames)) {
      atomic_store_explicit(&signals[j].task->is_bad, true, memory_order_relaxed);
    }
  }
}

static void
run_share(void* const context, const uint32_t index)
{
  Group* const group = context;
  const uint64_t n_eights = (group->n_signals + SHARE - 1U) / SHARE;
  const uint32_t begin = (uint32_t)(n_eights * index / group->n_shares) * SHARE;
  uint32_t end = (uint32_t)(n_eights * (index + 1U) / group->n_shares) * SHARE;
  end = end < group->n_signals ? end : group->n_signals;
  Signal signals[JOBS];
  uint32_t n = 0;
  uint32_t at = 0; // the first signal of the task
  _Atomic uint64_t* const line = recorder_line();
  const uint64_t began_ns = group->is_timed ? time_now_ns() : 0U;
  recorder_mark(line, group->call);
  for (uint32_t t = 0; t < group->n_tasks && at < end; at += group->tasks[t++].chain->n_units) {
    const uint32_t n_units = group->tasks[t].chain->n_units;
    for (uint32_t u = begin > at ? begin - at : 0U; u < n_units && at + u < end; ++u) {
      signals[n++] = (Signal){ &group->tasks[t], u };
      if (n == JOBS || at + u + 1U == end) {
        run_signals(group, signals, n);
        n = 0;
      }
    }
  }
  recorder_mark(line, 0U);
  if (group->is_timed) {
    atomic_fetch_add_explicit(&group->ns, time_now_ns() - began_ns, memory_order_relaxed);
  }
}

// ---- groups ----

/// The weight of the nodes of a task in its time.
static uint32_t
weight_of(const ChainNode* const node)
{
  return node->n_sections ? node->n_sections * SECTION_WEIGHT : 1U;
}

/// True if the time of a node of a task is wanted.
static bool
is_timed(const ChainTask* const task)
{
  bool is = false;
  for (uint32_t n = 0; n < task->n_nodes; ++n) {
    is = is || task->nodes[n].batch->may_be_timed;
  }
  return is;
}

/// The time that a task takes on one core, as it was measured.
static double
usual_ns(const ChainTask* const task)
{
  double ns = 0.0;
  for (uint32_t n = 0; n < task->n_nodes; ++n) {
    const Batch* const batch = task->nodes[n].batch;
    ns += batch->mean_ns * task->chain->n_units / batch->n_units;
  }
  return ns;
}

/// The number of cores that share a group.
static uint32_t
choose_shares(const Stage* const stage, const Group* const group)
{
  const uint32_t n_cores = pool_size(stage->pool);
  const uint32_t n_eights = (group->n_signals + SHARE - 1U) / SHARE;
  const uint32_t most = n_cores < n_eights ? n_cores : n_eights;
  double ns = 0.0;
  for (uint32_t t = 0; most > 1U && t < group->n_tasks; ++t) {
    ns += usual_ns(&group->tasks[t]);
  }
  Chain* const chain = group->tasks->chain;
  chain->is_shared = most > 1U && batch_pays_pool(ns, chain->is_shared);
  return chain->is_shared ? most : 1U;
}

/// Give each node of a group its part of the time, by its weight.
static void
divide_time(const Group* const group, const double ns)
{
  const ChainTask* const task = group->tasks;
  double sum = 0.0;
  for (uint32_t n = 0; n < task->n_nodes; ++n) {
    sum += weight_of(&task->nodes[n]);
  }
  const double signal_ns = ns / (sum * group->n_signals); // of the weight 1
  for (uint32_t t = 0; t < group->n_tasks; ++t) {
    for (uint32_t n = 0; n < group->tasks[t].n_nodes; ++n) {
      const ChainNode* const node = &group->tasks[t].nodes[n];
      node->batch->chain_ns += signal_ns * weight_of(node) * node->run->n_units;
    }
  }
}

/// Let the fault hooks see each node as if it ran in its batch.
static void
pass_faults(const Stage* const stage, const ChainTask* const task)
{
  for (uint32_t n = 0; n < task->n_nodes; ++n) {
    const Batch* const batch = task->nodes[n].batch;
    recorder_mark(stage->line, batch->call);
    worker_faults_run(batch->specs, batch->n_units);
  }
}

static void
run_group(const Stage* const stage, ChainTask* const tasks, const uint32_t n_tasks,
          const uint32_t n_frames)
{
  uint32_t n_kernels = 0;
  Group group = { .tasks = tasks,
                  .n_tasks = n_tasks,
                  .n_frames = n_frames,
                  .call = tasks->chain->call,
                  .kernel = cascade_kernels(&n_kernels)[0] };
  for (uint32_t t = 0; t < n_tasks; ++t) {
    group.n_signals += tasks[t].chain->n_units;
    group.is_timed = group.is_timed || is_timed(&tasks[t]);
    pass_faults(stage, &tasks[t]);
  }
  group.n_shares = choose_shares(stage, &group);
  if (group.n_shares > 1U) {
    pool_run(stage->pool, run_share, &group, group.n_shares);
  } else {
    run_share(&group, 0U);
  }
  if (group.is_timed) {
    divide_time(&group, (double)atomic_load_explicit(&group.ns, memory_order_relaxed));
  }
}

/// After the run of a task: its nodes are done, or they run by themselves from the same states on.
static void
end_task(ChainTask* const task)
{
  if (!atomic_load_explicit(&task->is_bad, memory_order_relaxed)) {
    for (uint32_t n = 0; n < task->n_nodes; ++n) {
      task->nodes[n].run->is_done = true;
    }
    return;
  }
  for (uint32_t u = 0; u < task->chain->n_units; ++u) {
    restore_states((Signal){ task, u });
  }
  task->chain->n_alone = task->nodes->run->place + task->n_nodes;
}

bool
stage_chain_run(Stage* const stage, Batch* const batch, const uint32_t n_frames)
{
  const uint32_t n_tasks = list_tasks(stage, batch, n_frames);
  ChainTask* const tasks = stage->tasks;
  for (uint32_t begin = 0, i = 1; begin < n_tasks && i <= n_tasks; ++i) {
    if (i == n_tasks || !are_alike(&tasks[i], &tasks[begin])) {
      run_group(stage, tasks + begin, i - begin, n_frames);
      begin = i;
    }
  }
  for (uint32_t t = 0; t < n_tasks; ++t) {
    end_task(&tasks[t]);
  }
  bool any_done = false;
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    any_done = any_done || batch->runs[r].is_done;
  }
  return any_done;
}

void
stage_chain_end(Batch* const batch)
{
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    batch->runs[r].is_done = false;
  }
}
