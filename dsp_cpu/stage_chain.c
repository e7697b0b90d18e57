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
#define MOST_FACTORS   16U  // of a part
#define FACTOR_FRAMES  32U  // that stay in registers from factor to factor
#define SECTION_WEIGHT 4U   // a section takes about as long as so many factors

// ---- the nodes that run together ----

/// True if no parameter of a node moves in this block.
static bool
is_at_rest(const Stage* const stage, ChainNode* const node)
{
  const Run* const run = node->run;
  if (stage->is_changing && stage->marks.has_change[run->node_index]) {
    node->rests = false;
    return false;
  }
  if (!node->rests || node->n_sets_at_rest != *node->n_sets) {
    uint32_t u = 0;
    while (u < run->n_units && node->linear->rests(node->units[u].node, node->units[u].state)) {
      ++u;
    }
    node->rests = u == run->n_units;
    node->n_sets_at_rest = *node->n_sets;
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
  const FxUnit* const last = chain->nodes[end - 1U].units;
  if (end > run->place + 1U && last->out[0] == chain->nodes[run->place].units->in[0]) {
    --end; // nodes two places apart share rows (StageStep): it would write to the rows it reads
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
    const uint32_t n_nodes = count_quiet(stage, run, n_frames); // also updates ChainNode::rests
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
  return &signal.task->nodes[node].units[signal.unit];
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

/// Some nodes of a task that run together, frame by frame: with sections, or with factors.
typedef struct Part {
  uint32_t first, n_nodes;
  CascadeForm form; ///< Without sections: factors
} Part;

/// The part from a node on.
static Part
part_from(const ChainTask* const task, const uint32_t first)
{
  Part part = { .first = first };
  const bool has_sections = task->nodes[first].n_sections != 0U;
  for (uint32_t n = first; n < task->n_nodes; ++n) {
    const uint32_t n_sections = task->nodes[n].n_sections;
    if ((n_sections != 0U) != has_sections || part.n_nodes == MOST_FACTORS ||
        part.form.n_sections + n_sections > CASCADE_MAX_SECTIONS) {
      break;
    }
    ++part.n_nodes;
    part.form.n_sections += n_sections;
    part.form.node_ends |= has_sections ? 1U << (part.form.n_sections - 1U) : 0U;
  }
  return part;
}

/// Multiply by one factor after the other, as nodes do.
VECTOR_CLONES static void
scale(float* const restrict out, const float* const restrict in, const float* const factors,
      const uint32_t n_factors, const uint32_t n_frames)
{
  for (uint32_t first = 0; first < n_frames; first += FACTOR_FRAMES) {
    const uint32_t n = n_frames - first < FACTOR_FRAMES ? n_frames - first : FACTOR_FRAMES;
    float frames[FACTOR_FRAMES] = { 0.0F };
    memcpy(frames, in + first, n * sizeof(float));
    for (uint32_t f = 0; f < n_factors; ++f) {
      for (uint32_t i = 0; i < FACTOR_FRAMES; ++i) {
        frames[i] *= factors[f];
      }
    }
    memcpy(out + first, frames, n * sizeof(float));
  }
}

/// Run a part of the nodes, which have sections or factors.  Fills CascadeJob::rows.
static void
run_part(const Group* const group, const Signal* const signals, CascadeJob* const jobs,
         const uint32_t n_jobs, const Part* const part, const uint32_t n_frames)
{
  if (part->form.n_sections) {
    for (uint32_t j = 0; j < n_jobs; ++j) {
      jobs[j].rows = signals[j].task->chain->rows + section_of(signals[j], part->first);
    }
    group->kernel->run(jobs, n_jobs, part->form, n_frames);
    return;
  }
  for (uint32_t j = 0; j < n_jobs; ++j) {
    const ChainNode* const nodes = signals[j].task->nodes + part->first;
    float factors[MOST_FACTORS];
    for (uint32_t n = 0; n < part->n_nodes; ++n) {
      factors[n] = nodes[n].linear->factor(nodes[n].units[signals[j].unit].state);
    }
    scale(jobs[j].out, jobs[j].in, factors, part->n_nodes, n_frames);
  }
}

/// Run all nodes for some frames, part by part.
static void
run_tile(const Group* const group, const Signal* const signals, const uint32_t n_signals,
         const uint32_t first, const uint32_t n_frames)
{
  float tiles[2][JOBS][TILE];
  const ChainTask* const task = group->tasks; // all are alike
  CascadeJob jobs[JOBS];
  for (uint32_t j = 0; j < n_signals; ++j) {
    jobs[j].in = unit_of(signals[j], 0U)->in[0] + first;
  }
  for (uint32_t node = 0, side = 0; node < task->n_nodes; side = 1U - side) {
    const Part part = part_from(task, node);
    node += part.n_nodes;
    for (uint32_t j = 0; j < n_signals; ++j) {
      jobs[j].out =
          node == task->n_nodes ? unit_of(signals[j], node - 1U)->out[0] + first : tiles[side][j];
    }
    run_part(group, signals, jobs, n_signals, &part, n_frames);
    for (uint32_t j = 0; j < n_signals; ++j) {
      jobs[j].in = jobs[j].out;
    }
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
  const bool is_one_part = part_from(task, 0U).n_nodes == task->n_nodes;
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

/// Let the fault hooks see each node of a group.
static void
pass_faults(const Group* const group)
{
  for (uint32_t t = 0; t < group->n_tasks; ++t) {
    const ChainTask* const task = &group->tasks[t];
    for (uint32_t n = 0; n < task->n_nodes; ++n) {
      worker_faults_run(task->nodes[n].batch->specs + task->nodes[n].run->first_unit,
                        task->nodes[n].run->n_units);
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
  if (index == 0U) {
    pass_faults(group);
  }
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

/// The weight of a node in the time of its task.
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

/// The time that a task takes on one core, by the measured times of its batches.
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

/// After the run of a task: its nodes are done; or, if an output is bad, restore their states, so
/// that each node runs in its batch.
static void
end_task(ChainTask* const task)
{
  if (!atomic_load_explicit(&task->is_bad, memory_order_relaxed)) {
    for (uint32_t n = 0; n < task->n_nodes; ++n) {
      task->nodes[n].run->is_done = true;
      ++task->nodes[n].batch->n_done;
    }
    return;
  }
  for (uint32_t u = 0; u < task->chain->n_units; ++u) {
    restore_states((Signal){ task, u });
  }
  task->chain->n_alone = task->nodes->run->place + task->n_nodes;
}

void
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
}

void
stage_chain_end(Batch* const batch)
{
  for (uint32_t r = 0; r < batch->n_runs; ++r) {
    batch->runs[r].is_done = false;
  }
  batch->n_done = 0;
}
