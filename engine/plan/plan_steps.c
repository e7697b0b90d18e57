// SPDX-License-Identifier: GPL-3.0-or-later
// Second half of planning: rows and steps.
//
// For each backend, one rank of the graph becomes one mix (connections into the inputs of its
// nodes), one batch per effect, and on a device a mix for the switches of nodes.  The next rank
// reuses the rows of the inputs.  A node's output rows are reused after the rank of the last node
// that reads them.  Neighbouring steps of one backend become a stage.

#include "plan_steps.h"

#include "engine/base/rows.h"

#include <stdlib.h>
#include <string.h>

typedef struct Layout {
  Plan* plan;
  Arena* scratch;
  EdgeGroups in_links;  ///< Links by target; those to the output are group n_nodes
  uint32_t* sorted;     ///< [n_nodes] by rank, then backend, effect, index
  EdgeGroups last_read; ///< Nodes by the highest rank that reads their output
  uint32_t** in_rows;   ///< [n_nodes][node->n_in]
  uint32_t** side_rows; ///< [n_nodes][node->n_side] BACKEND_NO_ROW where nothing is connected; NULL
                        ///< if nothing is at all
  uint32_t** out_rows;  ///< [n_nodes][n_out of the node]
  uint32_t** fx_rows;   ///< [n_nodes][n_out of the node] the outputs of its effect: `out_rows`, or
                        ///< other rows if the plan has a mix for the switches of the node
  uint32_t* chain;      ///< [n_nodes] 1 + the first node of its chain; 0: it is in none
  uint32_t* chain_next; ///< [n_nodes] 1 + the next node of its chain; 0: it is the last, or in none
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
    if (rows[i] != BACKEND_NO_ROW) {
      layout->free_rows[layout->n_free++] = rows[i];
    }
  }
}

static int
compare_by_rank(const void* const a, const void* const b, void* const plan_nodes)
{
  const PlanNode* const nodes = plan_nodes;
  const uint32_t left = *(const uint32_t*)a;
  const uint32_t right = *(const uint32_t*)b;
  if (nodes[left].rank != nodes[right].rank) {
    return nodes[left].rank < nodes[right].rank ? -1 : 1;
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

/// Fill the mix row of one channel of a node's inputs or of the rack's output, with its terms.
static void
mix_channel(Layout* const layout, const uint32_t v, const uint32_t c, const uint32_t row,
            MixRow* const mix)
{
  Plan* const plan = layout->plan;
  const uint32_t* const list = layout->in_links.list + layout->in_links.first[v];
  const uint32_t n_links = layout->in_links.first[v + 1U] - layout->in_links.first[v];
  MixTerm* const terms = arena_take(&plan->arena, n_links, sizeof(MixTerm));
  *mix = (MixRow){ .to = row, .terms = terms };
  for (uint32_t l = 0; terms && l < n_links; ++l) {
    Link* const link = plan->links[list[l]].link;
    if (c < link->to_first || c >= link->to_first + link->n_to) {
      continue;
    }
    const uint32_t channel = c - link->to_first;
    const uint32_t source = link->from_first + (link->n_from == 1U ? 0U : channel);
    const uint32_t from = link->from ? layout->out_rows[link->from->plan_index][source] : source;
    terms[mix->n_terms++] = (MixTerm){ .from = from, .link = &link->mix, .channel = channel };
  }
}

/// Fill the mix rows of a node: one per channel, side inputs that are connected included.  Returns
/// their number.
static uint32_t
mix_node(Layout* const layout, const uint32_t v, MixRow* const mix)
{
  const Node* const node = layout->plan->nodes[v].node;
  for (uint32_t c = 0; c < node->n_in; ++c) {
    mix_channel(layout, v, c, layout->in_rows[v][c], &mix[c]);
  }
  uint32_t n = node->n_in;
  for (uint32_t c = 0; layout->side_rows[v] && c < node->n_side; ++c) {
    if (layout->side_rows[v][c] != BACKEND_NO_ROW) {
      mix_channel(layout, v, node->n_in + c, layout->side_rows[v][c], &mix[n++]);
    }
  }
  return n;
}

/// Fill the mix rows of the rack's output.  Returns their number.
static uint32_t
mix_output(Layout* const layout, MixRow* const mix)
{
  const Plan* const plan = layout->plan;
  for (uint32_t c = 0; c < plan->n_out; ++c) {
    mix_channel(layout, plan->n_nodes, c, plan->n_in + c, &mix[c]);
  }
  return plan->n_out;
}

/// Add a step that mixes into the inputs of `n` nodes, or into the rack's output if `nodes` is
/// NULL.
static void
mix_rank(Layout* const layout, const uint32_t* const nodes, const uint32_t n)
{
  Plan* const plan = layout->plan;
  const EdgeGroups* const in_links = &layout->in_links;
  const uint32_t output[] = { plan->n_nodes };
  const uint32_t* const vertices = nodes ? nodes : output;
  const uint32_t n_vertices = nodes ? n : 1U;
  uint32_t max_rows = nodes ? 0U : plan->n_out;
  uint32_t max_links = 0;
  for (uint32_t i = 0; i < n_vertices; ++i) {
    const Node* const node = nodes ? plan->nodes[vertices[i]].node : NULL;
    max_rows += node ? node->n_in + node->n_side : 0U;
    max_links += in_links->first[vertices[i] + 1U] - in_links->first[vertices[i]];
  }
  MixRow* const rows = arena_take(&plan->arena, max_rows, sizeof(MixRow));
  MixLink** const links = arena_take(&plan->arena, max_links, sizeof(MixLink*));
  if (!rows || !links) {
    return;
  }
  uint32_t n_rows = 0;
  uint32_t n_links = 0;
  for (uint32_t i = 0; i < n_vertices; ++i) {
    const uint32_t v = vertices[i];
    n_rows += nodes ? mix_node(layout, v, rows + n_rows) : mix_output(layout, rows);
    for (uint32_t l = in_links->first[v]; l < in_links->first[v + 1U]; ++l) {
      links[n_links++] = &plan->links[in_links->list[l]].link->mix;
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

/// The rows of one unit's side inputs; NULL if none is connected.
static const uint32_t*
unit_side_rows(Layout* const layout, const uint32_t v, const uint32_t unit)
{
  const Node* const node = layout->plan->nodes[v].node;
  const uint32_t* from = layout->side_rows[v];
  uint32_t* const rows =
      from ? arena_take(&layout->plan->arena, node->n_side / node->n_units, sizeof(uint32_t))
           : NULL;
  uint32_t n = 0;
  for (uint32_t s = 0; rows && s < node->fx->n_sides; ++s) {
    const uint32_t width = fx_side_channels(node->fx, &node->shape, s);
    for (uint32_t c = 0; c < width; ++c) {
      rows[n++] = from[unit * width + c];
    }
    from += node->n_units * width;
  }
  return rows;
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
      units[u++] =
          (BatchUnit){ .node = node->fx_node,
                       .uid = node->is_quarantined ? RACK_UID_NONE : node->uid,
                       .n_sets = &node->n_sets,
                       .ramp_frames = &node->ramp_frames,
                       .node_index = nodes[i],
                       .channel = c,
                       .chain = layout->chain[nodes[i]],
                       .node_ns = &node->block_ns,
                       .times = &node->times,
                       .health = &node->health,
                       .input_line = &node->input_line,
                       .targets = node->targets,
                       .switches = &node->switches,
                       .n_in = shape->unit_in,
                       .n_out = shape->unit_out,
                       .n_side = layout->side_rows[nodes[i]] ? node->n_side / node->n_units : 0U,
                       .in_rows = layout->in_rows[nodes[i]] + c * shape->unit_in,
                       .out_rows = layout->fx_rows[nodes[i]] + c * shape->unit_out,
                       .side_rows = unit_side_rows(layout, nodes[i], c) };
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

/// True if a link leads to a channel of node v from `first` to before `end`.
static bool
is_linked(const Layout* const layout, const uint32_t v, const uint32_t first, const uint32_t end)
{
  bool found = false;
  for (uint32_t l = layout->in_links.first[v]; l < layout->in_links.first[v + 1U]; ++l) {
    const uint32_t to = layout->plan->links[layout->in_links.list[l]].link->to_first;
    found = found || (to >= first && to < end);
  }
  return found;
}

/// A table of n times BACKEND_NO_ROW; NULL if out of memory.
static uint32_t*
no_rows(Layout* const layout, const uint32_t n)
{
  uint32_t* const rows = arena_take(&layout->plan->arena, n, sizeof(uint32_t));
  for (uint32_t i = 0; rows && i < n; ++i) {
    rows[i] = BACKEND_NO_ROW;
  }
  return rows;
}

static void
take_rows(Layout* const layout, uint32_t** const table, const uint32_t v, const uint32_t n)
{
  table[v] = arena_take(&layout->plan->arena, n, sizeof(uint32_t));
  for (uint32_t c = 0; table[v] && c < n; ++c) {
    table[v][c] = row_take(layout);
  }
}

/// Take rows for the side inputs of node v that a link leads to.
static void
take_side_rows(Layout* const layout, const uint32_t v)
{
  const Node* const node = layout->plan->nodes[v].node;
  uint32_t end = node->n_in;
  for (uint32_t s = 0; s < node->fx->n_sides; ++s) {
    const uint32_t first = end;
    end += node_side_channels(node, s);
    if (!is_linked(layout, v, first, end)) {
      continue;
    }
    if (!layout->side_rows[v] && !(layout->side_rows[v] = no_rows(layout, node->n_side))) {
      return;
    }
    for (uint32_t c = first; c < end; ++c) {
      layout->side_rows[v][c - node->n_in] = row_take(layout);
    }
  }
}

/// Fill the mix rows of the outputs of node v behind its switches.  Returns their number.
static uint32_t
mix_outputs(Layout* const layout, const uint32_t v, MixRow* const mix)
{
  Plan* const plan = layout->plan;
  Node* const node = plan->nodes[v].node;
  const FxShape* const shape = &node->shape;
  MixTerm* const terms = arena_take(&plan->arena, 2U * (size_t)node->n_out, sizeof(MixTerm));
  for (uint32_t o = 0; terms && o < node->n_out; ++o) {
    const uint32_t of_unit = o % shape->unit_out;
    const uint32_t in = o / shape->unit_out * shape->unit_in +
                        (of_unit < shape->unit_in ? of_unit : shape->unit_in - 1U);
    MixTerm* const both = &terms[2U * o];
    both[0] = (MixTerm){ layout->fx_rows[v][o], &node->switches.wet, o };
    both[1] = (MixTerm){ layout->in_rows[v][in], &node->switches.dry, o };
    mix[o] = (MixRow){ .to = layout->out_rows[v][o], .n_terms = 2U, .terms = both };
  }
  return terms ? node->n_out : 0U;
}

/// Add the mix for the switches of those of n nodes of a device that have one.
static void
mix_switches(Layout* const layout, const uint32_t* const nodes, const uint32_t n)
{
  Plan* const plan = layout->plan;
  uint32_t max_rows = 0;
  uint32_t max_links = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const PlanNode* const plan_node = &plan->nodes[nodes[i]];
    max_rows += plan_node->has_switches ? plan_node->node->n_out : 0U;
    max_links += plan_node->has_switches ? 2U : 0U;
  }
  MixRow* const rows = max_rows ? arena_take(&plan->arena, max_rows, sizeof(MixRow)) : NULL;
  MixLink** const links = rows ? arena_take(&plan->arena, max_links, sizeof(MixLink*)) : NULL;
  if (!links) {
    return;
  }
  uint32_t n_rows = 0;
  uint32_t n_links = 0;
  for (uint32_t i = 0; i < n; ++i) {
    if (plan->nodes[nodes[i]].has_switches) {
      NodeSwitches* const switches = &plan->nodes[nodes[i]].node->switches;
      n_rows += mix_outputs(layout, nodes[i], rows + n_rows);
      links[n_links++] = &switches->wet;
      links[n_links++] = &switches->dry;
    }
  }
  layout->steps[layout->n_steps++] = (StageStep){
    .backend = plan->nodes[nodes[0]].node->backend,
    .kind = STEP_MIX,
    .rows = rows,
    .is_stored = true,
    .n_rows = n_rows,
    .links = links,
    .n_links = n_links,
  };
}

/// True if two nodes of one rank and backend may run in one batch.
static bool
run_together(const Node* const a, const Node* const b)
{
  return a->fx == b->fx && !a->is_apart && !b->is_apart;
}

/// Add the steps of the nodes of one rank on one backend: their mix, a batch for each effect, and
/// the mix for switches.
static void
lay_out_group(Layout* const layout, const uint32_t* const nodes, const uint32_t n)
{
  const PlanNode* const plan_nodes = layout->plan->nodes;
  mix_rank(layout, nodes, n);
  for (uint32_t begin = 0, i = 1; i <= n; ++i) {
    if (i == n || !run_together(plan_nodes[nodes[i]].node, plan_nodes[nodes[begin]].node)) {
      batch_nodes(layout, nodes + begin, i - begin);
      begin = i;
    }
  }
  mix_switches(layout, nodes, n);
}

/// Take rows for the outputs of a node.  The first one of a chain takes those of all its nodes: two
/// sets in turn.
static void
take_out_rows(Layout* const layout, const uint32_t v)
{
  uint32_t** const out_rows = layout->out_rows;
  const uint32_t n_out = layout->plan->nodes[v].node->n_out; // of the other nodes of a chain, too
  if (out_rows[v]) {
    return;
  }
  take_rows(layout, out_rows, v, n_out);
  uint32_t* sets[2] = { out_rows[v], NULL };
  uint32_t turn = 1U;
  for (uint32_t next = layout->chain_next[v]; next; next = layout->chain_next[next - 1U]) {
    if (!sets[turn]) {
      take_rows(layout, out_rows, next - 1U, n_out);
      sets[turn] = out_rows[next - 1U];
    }
    out_rows[next - 1U] = sets[turn];
    turn = 1U - turn;
  }
}

/// True if a node two places later in the chain has the same rows.
static bool
rows_go_on(const Layout* const layout, const uint32_t v)
{
  const uint32_t next = layout->chain_next[v];
  const uint32_t later = next ? layout->chain_next[next - 1U] : 0U;
  return later && layout->out_rows[later - 1U] == layout->out_rows[v];
}

/// Add the steps of all nodes of one rank.  `nodes` is a run of layout->sorted.
static void
lay_out_rank(Layout* const layout, const uint32_t* const nodes, const uint32_t n)
{
  const PlanNode* const plan_nodes = layout->plan->nodes;
  const uint32_t rank = plan_nodes[nodes[0]].rank;
  for (uint32_t i = 0; i < n; ++i) {
    take_rows(layout, layout->in_rows, nodes[i], plan_nodes[nodes[i]].node->n_in);
    take_side_rows(layout, nodes[i]);
    take_out_rows(layout, nodes[i]);
    layout->fx_rows[nodes[i]] = layout->out_rows[nodes[i]];
    if (plan_nodes[nodes[i]].has_switches) {
      take_rows(layout, layout->fx_rows, nodes[i], plan_nodes[nodes[i]].node->n_out);
    }
  }
  for (uint32_t begin = 0, i = 1; i <= n; ++i) {
    if (i == n || plan_nodes[nodes[i]].node->backend != plan_nodes[nodes[begin]].node->backend) {
      lay_out_group(layout, nodes + begin, i - begin);
      begin = i;
    }
  }
  for (uint32_t i = 0; i < n; ++i) {
    rows_give_back(layout, layout->in_rows[nodes[i]], plan_nodes[nodes[i]].node->n_in);
    if (layout->side_rows[nodes[i]]) {
      rows_give_back(layout, layout->side_rows[nodes[i]], plan_nodes[nodes[i]].node->n_side);
    }
    if (layout->fx_rows[nodes[i]] != layout->out_rows[nodes[i]]) {
      rows_give_back(layout, layout->fx_rows[nodes[i]], plan_nodes[nodes[i]].node->n_out);
    }
  }
  for (uint32_t i = layout->last_read.first[rank]; i < layout->last_read.first[rank + 1U]; ++i) {
    const uint32_t v = layout->last_read.list[i];
    if (plan_nodes[v].rank < rank && !rows_go_on(layout, v)) {
      rows_give_back(layout, layout->out_rows[v], plan_nodes[v].node->n_out);
    }
  }
}

// ---- chains ----

/// True if a link leads from one node to the next one of a chain, if it is the only one from the
/// first and to the second.
static bool
links_chain(const Link* const link)
{
  const Node* const from = link->from;
  const Node* const to = link->to;
  return from && to && from->fx->linear && to->fx->linear && !from->is_apart && !to->is_apart &&
         from->backend->kind == ENGINE_BACKEND_CPU && to->backend == from->backend &&
         link->n_from == link->n_to && link->n_from == from->n_out && link->n_to == to->n_in &&
         !link->mix.delay_frames;
}

/// Find the chains (StageStep).
static Status
find_chains(Layout* const layout, Error* const error)
{
  const Plan* const plan = layout->plan;
  uint32_t* const n_readers = arena_take(layout->scratch, plan->n_nodes, sizeof(uint32_t));
  if (layout->scratch->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const Link* const link = plan->links[l].link;
    if (link->from) {
      ++n_readers[link->from->plan_index];
    }
  }
  for (uint32_t i = 0; i < plan->n_nodes; ++i) { // by rank: each after the node that feeds it
    const uint32_t v = layout->sorted[i];
    const uint32_t first_in = layout->in_links.first[v];
    const Link* const link = layout->in_links.first[v + 1U] == first_in + 1U
                                 ? plan->links[layout->in_links.list[first_in]].link
                                 : NULL;
    const uint32_t from = link && links_chain(link) ? link->from->plan_index : UINT32_MAX;
    if (from != UINT32_MAX && n_readers[from] == 1U) {
      layout->chain[from] = layout->chain[from] ? layout->chain[from] : from + 1U;
      layout->chain[v] = layout->chain[from];
      layout->chain_next[from] = v + 1U;
    }
  }
  return STATUS_OK;
}

static Status
take_layout(Layout* const layout, Error* const error)
{
  const Plan* const plan = layout->plan;
  Arena* const scratch = layout->scratch;
  size_t max_rows = 0;
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    const Node* const node = plan->nodes[n].node;
    max_rows += node->n_in + node->n_side + (plan->nodes[n].has_switches ? 2U : 1U) * node->n_out;
  }
  layout->sorted = arena_take(scratch, plan->n_nodes, sizeof(uint32_t));
  layout->in_rows = arena_take(scratch, plan->n_nodes, sizeof(uint32_t*));
  layout->side_rows = arena_take(scratch, plan->n_nodes, sizeof(uint32_t*));
  layout->out_rows = arena_take(scratch, plan->n_nodes, sizeof(uint32_t*));
  layout->fx_rows = arena_take(scratch, plan->n_nodes, sizeof(uint32_t*));
  layout->chain = arena_take(scratch, plan->n_nodes, sizeof(uint32_t));
  layout->chain_next = arena_take(scratch, plan->n_nodes, sizeof(uint32_t));
  layout->free_rows = arena_take(scratch, max_rows, sizeof(uint32_t));
  uint32_t* const last_rank = arena_take(scratch, plan->n_nodes, sizeof(uint32_t));
  layout->steps = arena_take(&layout->plan->arena, 3U * plan->n_nodes + 1U, sizeof(StageStep));
  if (scratch->failed || plan->arena.failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const Link* const link = plan->links[l].link;
    const uint32_t reader = link->to ? plan->nodes[link->to->plan_index].rank : plan->n_ranks;
    if (link->from && reader > last_rank[link->from->plan_index]) {
      last_rank[link->from->plan_index] = reader;
    }
  }
  layout->last_read = edges_group(scratch, plan->n_ranks, last_rank, plan->n_nodes, NULL);
  if (scratch->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    layout->sorted[n] = n;
  }
  qsort_r(layout->sorted, plan->n_nodes, sizeof(uint32_t), compare_by_rank, plan->nodes);
  return STATUS_OK;
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
  return n_own_rows(plan) * rows_distance(plan->block_frames) * sizeof(float);
}

Status
steps_take_rows(Plan* const plan, Error* const error)
{
  const uint32_t n_fixed = plan->n_in + plan->n_out;
  const size_t distance = rows_distance(plan->block_frames);
  float* const memory = arena_take(&plan->arena, n_own_rows(plan) * distance, sizeof(float));
  if (!memory) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t r = n_fixed; r < plan->n_rows; ++r) {
    plan->rows[r] = memory + (r - n_fixed) * distance;
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
    for (uint32_t c = 0; c < step->units[u].n_side; ++c) {
      if (step->units[u].side_rows[c] != BACKEND_NO_ROW) {
        note_read(out, step->units[u].side_rows[c]);
      }
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
           const bool has_chains, Arena* const scratch, Error* const error)
{
  plan->n_in = format->n_in;
  Layout layout = {
    .plan = plan, .scratch = scratch, .in_links = *in_links, .n_rows = plan->n_in + plan->n_out
  };
  Status status = take_layout(&layout, error);
  status = status || !has_chains ? status : find_chains(&layout, error);
  if (status) {
    return status;
  }
  for (uint32_t begin = 0, i = 1; begin < plan->n_nodes && i <= plan->n_nodes; ++i) {
    if (i == plan->n_nodes ||
        plan->nodes[layout.sorted[i]].rank != plan->nodes[layout.sorted[begin]].rank) {
      lay_out_rank(&layout, layout.sorted + begin, i - begin);
      begin = i;
    }
  }
  mix_rank(&layout, NULL, 0U);
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
