// SPDX-License-Identifier: GPL-3.0-or-later
// Second half of planning: rows and steps.
//
// For each backend, one level of the graph becomes one mix (connections into the inputs of its
// nodes) and one batch per effect.  The next level reuses the rows of the inputs.  A node's output
// rows are reused after the level of the last node that reads them.  Neighbouring steps of one
// backend become a stage.

#include "plan_steps.h"

#include <stdlib.h>
#include <string.h>

#define ROW_ALIGNMENT 16U // floats: 64 bytes

typedef struct Layout {
  Plan* plan;
  Arena* scratch;
  EdgeGroups in_links;  ///< Links by target; those to the output are group n_nodes
  uint32_t* sorted;     ///< [n_nodes] by level, then backend, effect, index
  uint32_t* last_level; ///< [n_nodes] highest level that reads the node's output
  uint32_t** in_rows;   ///< [n_nodes][node->n_in]
  uint32_t** out_rows;  ///< [n_nodes][n_out of the node]
  uint32_t* free_rows;  ///< Stack
  uint32_t n_free;
  uint32_t n_rows;
  StageStep* steps;
  uint32_t n_steps;
} Layout;

static uint32_t
row_take(Layout* const layout)
{
  return layout->n_free ? layout->free_rows[--layout->n_free] : layout->n_rows++;
}

static void
rows_give_back(Layout* const layout, const uint32_t* const rows, const uint32_t n)
{
  for (uint32_t i = 0; i < n; ++i) {
    layout->free_rows[layout->n_free++] = rows[i];
  }
}

static int
compare_by_level(const void* const a, const void* const b, void* const plan_nodes)
{
  const PlanNode* const nodes = plan_nodes;
  const uint32_t left = *(const uint32_t*)a;
  const uint32_t right = *(const uint32_t*)b;
  if (nodes[left].level != nodes[right].level) {
    return nodes[left].level < nodes[right].level ? -1 : 1;
  }
  if (nodes[left].node->backend != nodes[right].node->backend) {
    return nodes[left].node->backend->kind < nodes[right].node->backend->kind ? -1 : 1;
  }
  const FxInfo* const left_fx = nodes[left].node->fx;
  const FxInfo* const right_fx = nodes[right].node->fx;
  const int by_name = strcmp(left_fx->name, right_fx->name);
  if (by_name || left_fx == right_fx) {
    return by_name ? by_name : (left > right) - (left < right);
  }
  return (uintptr_t)left_fx < (uintptr_t)right_fx ? -1 : 1; // two plugins of one name
}

/// Fill the mix rows of one node's input or of the rack's output: one per channel, with its terms.
static void
mix_vertex(Layout* const layout, const uint32_t v, const uint32_t* const rows, const uint32_t n,
           MixRow* const mix)
{
  Plan* const plan = layout->plan;
  const uint32_t* const list = layout->in_links.list + layout->in_links.first[v];
  const uint32_t n_links = layout->in_links.first[v + 1U] - layout->in_links.first[v];
  for (uint32_t c = 0; c < n; ++c) {
    MixTerm* const terms = arena_take(&plan->arena, n_links, sizeof(MixTerm));
    mix[c] = (MixRow){ .to = rows[c], .terms = terms };
    for (uint32_t l = 0; terms && l < n_links; ++l) {
      Link* const link = plan->links[list[l]].link;
      if (c < link->to_first || c >= link->to_first + link->n_to) {
        continue;
      }
      const uint32_t channel = c - link->to_first;
      const uint32_t source = link->from_first + (link->n_from == 1U ? 0U : channel);
      const uint32_t from = link->from ? layout->out_rows[link->from->plan_index][source] : source;
      terms[mix[c].n_terms++] = (MixTerm){ .from = from, .link = &link->mix, .channel = channel };
    }
  }
}

/// Add a step that mixes into the inputs of `n` nodes, or into the rack's output if `nodes` is
/// NULL.
static void
mix_level(Layout* const layout, const uint32_t* const nodes, const uint32_t n)
{
  Plan* const plan = layout->plan;
  const uint32_t output = plan->n_nodes;
  uint32_t n_rows = nodes ? 0U : plan->n_out;
  uint32_t n_links =
      nodes ? 0U : layout->in_links.first[output + 1U] - layout->in_links.first[output];
  for (uint32_t i = 0; i < n; ++i) {
    n_rows += plan->nodes[nodes[i]].node->n_in;
    n_links += layout->in_links.first[nodes[i] + 1U] - layout->in_links.first[nodes[i]];
  }
  MixRow* const rows = arena_take(&plan->arena, n_rows, sizeof(MixRow));
  MixLink** const links = arena_take(&plan->arena, n_links, sizeof(MixLink*));
  uint32_t* const out_rows = arena_take(layout->scratch, plan->n_out, sizeof(uint32_t));
  if (!rows || !links || !out_rows) {
    return;
  }
  uint32_t row = 0;
  uint32_t link = 0;
  for (uint32_t i = 0; i < (nodes ? n : 1U); ++i) {
    const uint32_t v = nodes ? nodes[i] : output;
    for (uint32_t c = 0; !nodes && c < plan->n_out; ++c) {
      out_rows[c] = plan->n_in + c;
    }
    const uint32_t width = nodes ? plan->nodes[v].node->n_in : plan->n_out;
    mix_vertex(layout, v, nodes ? layout->in_rows[v] : out_rows, width, rows + row);
    row += width;
    for (uint32_t l = layout->in_links.first[v]; l < layout->in_links.first[v + 1U]; ++l) {
      links[link++] = &plan->links[layout->in_links.list[l]].link->mix;
    }
  }
  layout->steps[layout->n_steps++] = (StageStep){
    .backend = nodes ? plan->nodes[nodes[0]].node->backend : plan->out_backend,
    .kind = STEP_MIX,
    .rows = rows,
    .n_rows = n_rows,
    .links = links,
    .n_links = n_links,
  };
}

/// Add one batch of nodes of one effect.
static void
batch_nodes(Layout* const layout, const uint32_t* const nodes, const uint32_t n)
{
  Plan* const plan = layout->plan;
  uint32_t n_units = 0;
  for (uint32_t i = 0; i < n; ++i) {
    n_units += plan->nodes[nodes[i]].node->n_units;
  }
  BatchUnit* const units = arena_take(&plan->arena, n_units, sizeof(BatchUnit));
  if (!units) {
    return;
  }
  uint32_t u = 0;
  for (uint32_t i = 0; i < n; ++i) {
    Node* const node = plan->nodes[nodes[i]].node;
    const FxShape* const shape = &node->shape;
    for (uint32_t c = 0; c < node->n_units; ++c) {
      units[u++] = (BatchUnit){ .node = node->fx_node,
                                .n_sets = &node->n_sets,
                                .node_index = nodes[i],
                                .channel = c,
                                .node_ns = &node->block_ns,
                                .health = &node->health,
                                .targets = node->targets,
                                .n_in = shape->unit_in,
                                .n_out = shape->unit_out,
                                .in_rows = layout->in_rows[nodes[i]] + c * shape->unit_in,
                                .out_rows = layout->out_rows[nodes[i]] + c * shape->unit_out };
    }
  }
  plan->n_units += n_units;
  layout->steps[layout->n_steps++] = (StageStep){
    .backend = plan->nodes[nodes[0]].node->backend,
    .kind = STEP_BATCH,
    .fx = plan->nodes[nodes[0]].node->fx,
    .units = units,
    .n_units = n_units,
  };
}

static void
take_rows(Layout* const layout, uint32_t** const table, const uint32_t v, const uint32_t n)
{
  table[v] = arena_take(&layout->plan->arena, n, sizeof(uint32_t));
  for (uint32_t c = 0; table[v] && c < n; ++c) {
    table[v][c] = row_take(layout);
  }
}

/// Add the steps of the nodes of one level on one backend: their mix, then a batch for each effect.
static void
lay_out_group(Layout* const layout, const uint32_t* const nodes, const uint32_t n)
{
  const PlanNode* const plan_nodes = layout->plan->nodes;
  mix_level(layout, nodes, n);
  for (uint32_t begin = 0, i = 1; i <= n; ++i) {
    if (i == n || plan_nodes[nodes[i]].node->fx != plan_nodes[nodes[begin]].node->fx) {
      batch_nodes(layout, nodes + begin, i - begin);
      begin = i;
    }
  }
}

/// Add the steps of all nodes of one level.  `nodes` is a run of layout->sorted.
static void
lay_out_level(Layout* const layout, const uint32_t* const nodes, const uint32_t n)
{
  const PlanNode* const plan_nodes = layout->plan->nodes;
  const uint32_t level = plan_nodes[nodes[0]].level;
  for (uint32_t i = 0; i < n; ++i) {
    take_rows(layout, layout->in_rows, nodes[i], plan_nodes[nodes[i]].node->n_in);
    take_rows(layout, layout->out_rows, nodes[i], plan_nodes[nodes[i]].node->n_out);
  }
  for (uint32_t begin = 0, i = 1; i <= n; ++i) {
    if (i == n || plan_nodes[nodes[i]].node->backend != plan_nodes[nodes[begin]].node->backend) {
      lay_out_group(layout, nodes + begin, i - begin);
      begin = i;
    }
  }
  for (uint32_t i = 0; i < n; ++i) {
    rows_give_back(layout, layout->in_rows[nodes[i]], plan_nodes[nodes[i]].node->n_in);
  }
  for (uint32_t v = 0; v < layout->plan->n_nodes; ++v) {
    if (plan_nodes[v].level < level && layout->last_level[v] == level) {
      rows_give_back(layout, layout->out_rows[v], plan_nodes[v].node->n_out);
    }
  }
}

static Status
take_layout(Layout* const layout, Error* const error)
{
  const Plan* const plan = layout->plan;
  Arena* const scratch = layout->scratch;
  size_t max_rows = 0;
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    max_rows += plan->nodes[n].node->n_in + plan->nodes[n].node->n_out;
  }
  layout->sorted = arena_take(scratch, plan->n_nodes, sizeof(uint32_t));
  layout->last_level = arena_take(scratch, plan->n_nodes, sizeof(uint32_t));
  layout->in_rows = arena_take(scratch, plan->n_nodes, sizeof(uint32_t*));
  layout->out_rows = arena_take(scratch, plan->n_nodes, sizeof(uint32_t*));
  layout->free_rows = arena_take(scratch, max_rows, sizeof(uint32_t));
  layout->steps = arena_take(&layout->plan->arena, 2U * plan->n_nodes + 1U, sizeof(StageStep));
  if (scratch->failed || plan->arena.failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const Link* const link = plan->links[l].link;
    const uint32_t reader = link->to ? plan->nodes[link->to->plan_index].level : plan->n_levels;
    if (link->from && reader > layout->last_level[link->from->plan_index]) {
      layout->last_level[link->from->plan_index] = reader;
    }
  }
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    layout->sorted[n] = n;
  }
  qsort_r(layout->sorted, plan->n_nodes, sizeof(uint32_t), compare_by_level, plan->nodes);
  return STATUS_OK;
}

static size_t
row_stride(const Plan* const plan)
{
  return (plan->block_frames + ROW_ALIGNMENT - 1U) & ~(size_t)(ROW_ALIGNMENT - 1U);
}

/// Number of rows that are not in the ring's slot.
static size_t
n_own_rows(const Plan* const plan)
{
  return plan->n_rows - plan->n_in - plan->n_out;
}

size_t
steps_row_bytes(const Plan* const plan)
{
  return n_own_rows(plan) * row_stride(plan) * sizeof(float);
}

Status
steps_take_rows(Plan* const plan, Error* const error)
{
  const uint32_t n_fixed = plan->n_in + plan->n_out;
  float* const memory =
      arena_take(&plan->arena, n_own_rows(plan) * row_stride(plan), sizeof(float));
  if (!memory) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t r = n_fixed; r < plan->n_rows; ++r) {
    plan->rows[r] = memory + (r - n_fixed) * row_stride(plan);
  }
  return STATUS_OK;
}

void
steps_bind(Plan* const plan)
{
  for (uint32_t s = 0; s < plan->n_steps; ++s) {
    BatchUnit* const units = (BatchUnit*)plan->steps[s].units; // batch_nodes() made them
    for (uint32_t u = 0; u < plan->steps[s].n_units; ++u) {
      const Node* const node = plan->nodes[units[u].node_index].node;
      units[u].state = node->states ? node->states + units[u].channel * node->state_stride : NULL;
      units[u].device = node->device;
    }
  }
}

// ---- rows passed between stages ----

typedef struct OutRows {
  Plan* plan;
  uint32_t* writer; ///< [n_rows] the stage, from 1, that last wrote the row
  uint32_t* listed; ///< [n_rows] the stage, from 1, that has the row in its out_rows
  uint32_t stage;   ///< The current stage, from 1
} OutRows;

static void
note_read(const OutRows* const out, const uint32_t row)
{
  const uint32_t writer = out->writer[row];
  if (writer && writer != out->stage && out->listed[row] != writer) {
    PlanStage* const stage = &out->plan->stages[writer - 1U];
    stage->out_rows[stage->n_out_rows++] = row;
    out->listed[row] = writer;
  }
}

static void
follow_step(const OutRows* const out, const StageStep* const step)
{
  for (uint32_t r = 0; r < step->n_rows; ++r) {
    for (uint32_t t = 0; t < step->rows[r].n_terms; ++t) {
      note_read(out, step->rows[r].terms[t].from);
    }
    out->writer[step->rows[r].to] = out->stage;
  }
  for (uint32_t u = 0; u < step->n_units; ++u) {
    for (uint32_t c = 0; c < step->units[u].n_in; ++c) {
      note_read(out, step->units[u].in_rows[c]);
    }
    for (uint32_t c = 0; c < step->units[u].n_out; ++c) {
      out->writer[step->units[u].out_rows[c]] = out->stage;
    }
  }
}

/// Find the out_rows of each stage: rows that a later stage reads, or that are the rack's output.
static Status
find_out_rows(Plan* const plan, const uint32_t n_rows, Arena* const scratch, Error* const error)
{
  OutRows out = { .plan = plan,
                  .writer = arena_take(scratch, n_rows, sizeof(uint32_t)),
                  .listed = arena_take(scratch, n_rows, sizeof(uint32_t)) };
  for (uint32_t s = 0; s < plan->n_stages; ++s) {
    plan->stages[s].out_rows = arena_take(&plan->arena, n_rows, sizeof(uint32_t));
  }
  if (scratch->failed || plan->arena.failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t s = 0; s < plan->n_stages; ++s) {
    const PlanStage* const stage = &plan->stages[s];
    out.stage = s + 1U;
    for (uint32_t i = stage->first_step; i < stage->first_step + stage->n_steps; ++i) {
      follow_step(&out, &plan->steps[i]);
    }
  }
  out.stage = plan->n_stages + 1U;
  for (uint32_t c = 0; c < plan->n_out; ++c) {
    note_read(&out, plan->n_in + c);
  }
  return STATUS_OK;
}

/// Group consecutive steps of one backend.
static void
group_stages(Plan* const plan)
{
  for (uint32_t s = 0; s < plan->n_steps; ++s) {
    if (s == 0U || plan->steps[s].backend != plan->steps[s - 1U].backend) {
      plan->stages[plan->n_stages++] =
          (PlanStage){ .backend = plan->steps[s].backend, .first_step = s };
    }
    ++plan->stages[plan->n_stages - 1U].n_steps;
  }
}

Status
steps_make(Plan* const plan, const Format* const format, const EdgeGroups* const in_links,
           Arena* const scratch, Error* const error)
{
  plan->n_in = format->n_in;
  Layout layout = {
    .plan = plan, .scratch = scratch, .in_links = *in_links, .n_rows = plan->n_in + plan->n_out
  };
  const Status status = take_layout(&layout, error);
  if (status) {
    return status;
  }
  for (uint32_t begin = 0, i = 1; begin < plan->n_nodes && i <= plan->n_nodes; ++i) {
    if (i == plan->n_nodes ||
        plan->nodes[layout.sorted[i]].level != plan->nodes[layout.sorted[begin]].level) {
      lay_out_level(&layout, layout.sorted + begin, i - begin);
      begin = i;
    }
  }
  mix_level(&layout, NULL, 0U);
  if (plan->arena.failed || scratch->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  plan->steps = layout.steps;
  plan->n_steps = layout.n_steps;
  plan->stages = arena_take(&plan->arena, plan->n_steps, sizeof(PlanStage));
  if (!plan->stages) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  group_stages(plan);
  plan->n_rows = layout.n_rows;
  plan->rows = arena_take(&plan->arena, plan->n_rows, sizeof(float*));
  if (!plan->rows) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return find_out_rows(plan, layout.n_rows, scratch, error);
}
