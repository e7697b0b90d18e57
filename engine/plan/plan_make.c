// SPDX-License-Identifier: GPL-3.0-or-later
// Makes a plan from a rack: plan_new(), the parts of the plan that need no graph, and the memory
// check.

#include "plan.h"

#include "plan_graph.h"
#include "plan_steps.h"

#include "engine/base/memory.h"

#include <stdlib.h>

/// List the document's values, which plan_begin() compares with the current ones.
static Status
list_values(Plan* const plan, const PlanRequest* const request, Error* const error)
{
  size_t n = 0;
  for (uint32_t v = 0; v < plan->n_living; ++v) {
    n += plan->nodes[v].node->fx->n_params;
  }
  plan->values = arena_take(&plan->arena, n, sizeof(PlanValue));
  if (!plan->values) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t v = 0; v < plan->n_living; ++v) {
    const RackNode* const rack_node = &request->rack->nodes[v];
    for (uint32_t p = 0; p < rack_node->fx->n_params; ++p) {
      if (!rack_node->fx->params[p].structural) {
        plan->values[plan->n_values++] =
            (PlanValue){ v, p,
                         node_number(plan->nodes[v].node, rack_node, p, request->format->rate_hz) };
      }
    }
  }
  return STATUS_OK;
}

/// List the new nodes that replace a node of the same effect, whose values from messages, and whose
/// rest, they take over.
static Status
list_heirs(Plan* const plan, const PlanRequest* const request, Error* const error)
{
  plan->heirs = arena_take(&plan->arena, plan->n_living, sizeof(PlanHeir));
  if (!plan->heirs) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  const Plan* const active = request->active ? request->active : request->previous;
  for (uint32_t v = 0; active && v < plan->n_living; ++v) {
    Node* const node = plan->nodes[v].node;
    const int old = plan_find(active, node->uid);
    const Node* const from = old >= 0 ? active->nodes[old].node : node;
    if (from != node && from->fx == node->fx) {
      node->restart = from->restart;
      plan->heirs[plan->n_heirs++] = (PlanHeir){ node, from };
    }
  }
  return STATUS_OK;
}

/// List what MIDI controllers move.
static Status
list_midi(Plan* const plan, const Rack* const rack, Error* const error)
{
  MidiTarget* const targets = arena_take(&plan->arena, rack->n_midi, sizeof(MidiTarget));
  if (!targets) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  plan->midi = (MidiTable){ targets, rack_midi_targets(rack, targets) };
  return STATUS_OK;
}

static StageSpec
stage_spec(const Plan* const plan, const PlanStage* const stage)
{
  return (StageSpec){ .max_block_frames = plan->block_frames,
                      .steps = plan->steps + stage->first_step,
                      .n_steps = stage->n_steps,
                      .rows = plan->rows,
                      .n_rows = plan->n_rows,
                      .n_in = plan->n_in,
                      .n_out = plan->n_out,
                      .out_rows = stage->out_rows,
                      .n_out_rows = stage->n_out_rows,
                      .n_nodes = plan->n_nodes };
}

Status
plan_make_stages(Plan* const plan, Pool* const pool, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t s = 0; !status && s < plan->n_stages; ++s) {
    PlanStage* const stage = &plan->stages[s];
    const StageSpec spec = stage_spec(plan, stage);
    status = stage->backend->stage_new(stage->backend, &spec, pool, &stage->stage, error);
  }
  return status;
}

// ---- memory ----

/// Memory of the plan without nodes and links, in bytes.
static size_t
table_bytes(const Plan* const plan)
{
  size_t n_bytes = sizeof(Plan) + plan->arena.n_bytes;
  for (uint32_t s = 0; s < plan->n_stages; ++s) {
    const Backend* const backend = plan->stages[s].backend;
    const StageSpec spec = stage_spec(plan, &plan->stages[s]);
    n_bytes += backend->stage_bytes ? backend->stage_bytes(backend, &spec) : 0U;
  }
  return n_bytes;
}

/// Memory of the nodes and links, in bytes: of all, or of those that belong to no other plan.
static size_t
content_bytes(const Plan* const plan, const bool all)
{
  size_t n_bytes = 0;
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    const Node* const node = plan->nodes[n].node;
    n_bytes += all || node->refs == 1U ? node_memory(node) : 0U;
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const Link* const link = plan->links[l].link;
    n_bytes += all || link->refs == 1U ? link_memory(link) : 0U;
  }
  return n_bytes;
}

void
plan_count_memory(Plan* const plan)
{
  plan->n_bytes = table_bytes(plan) + content_bytes(plan, true);
}

/// True if a living node is new.  False means that the rack has become smaller or has not changed.
static bool
has_new_nodes(const Plan* const plan)
{
  bool has_new = false;
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    has_new |= plan->nodes[n].node->refs == 1U;
  }
  return has_new;
}

/// Memory of the tails that a plan plays, in bytes.
static size_t
tail_bytes(const Plan* const plan)
{
  size_t n_bytes = 0;
  for (uint32_t n = plan ? plan->n_living : 0U; plan && n < plan->n_nodes; ++n) {
    n_bytes += node_memory(plan->nodes[n].node);
  }
  return n_bytes;
}

/// Check the memory limit before the large allocations.  An edit without new nodes never fails the
/// check.
static Status
check_memory(Plan* const plan, const PlanRequest* const request, const Arena* const scratch,
             PlanFault* const fault, Error* const error)
{
  plan->making_bytes = table_bytes(plan) + steps_row_bytes(plan) + scratch->n_bytes +
                       content_bytes(plan, false) + file_cache_bytes(request->loader);
  const size_t total = request->held_bytes + plan->making_bytes;
  if (!request->max_bytes || total <= request->max_bytes || !has_new_nodes(plan)) {
    return STATUS_OK;
  }
  const bool has_room = request->held_bytes < request->max_bytes;
  char needed[MEMORY_TEXT_BYTES];
  char held[MEMORY_TEXT_BYTES];
  char room[MEMORY_TEXT_BYTES];
  char allowed[MEMORY_TEXT_BYTES];
  memory_text(plan->making_bytes, needed);
  memory_text(request->held_bytes, held);
  memory_text(has_room ? request->max_bytes - request->held_bytes : 0U, room);
  memory_text(request->max_bytes, allowed);
  fault->needs_tails = total - tail_bytes(request->active) <= request->max_bytes;
  return request->held_bytes
             ? error_set(error, STATUS_LIMIT,
                         "the rack takes %s of memory while it is planned; beside %s of the one "
                         "that plays, %s fit into the %s that racks may take (option --memory)",
                         needed, held, room, allowed)
             : error_set(error, STATUS_LIMIT,
                         "the rack takes %s of memory while it is planned; racks may take %s "
                         "(option --memory)",
                         needed, allowed);
}

// ---- plan_new() ----

/// First part of plan_new(), which needs little memory: new nodes and links are created, but not
/// loaded.
static Status
resolve(Plan* const plan, const PlanRequest* const request, Graph* const graph,
        Arena* const scratch, PlanFault* const fault, Error* const error)
{
  Status status = rack_check_rate(request->rack, request->format->rate_hz, error);
  status = status ? status : graph_resolve(graph, plan, request, scratch, fault, error);
  status = status ? status
                  : steps_make(plan, request->format, &graph->in_links, !request->no_fusion,
                               scratch, error);
  status = status ? status : list_heirs(plan, request, error);
  status = status ? status : list_midi(plan, request->rack, error);
  if (!status && !request->keep_values) {
    status = list_values(plan, request, error);
  }
  return status;
}

/// Second part of plan_new(): the large memory, and the stages.
static Status
load(Plan* const plan, const PlanRequest* const request, Graph* const graph, Error* const error)
{
  Status status = graph_load(graph, error);
  status = status ? status : steps_take_rows(plan, error);
  if (!status) {
    steps_bind(plan);
    status = plan_make_stages(plan, request->pool, error);
  }
  return status;
}

Status
plan_new(const PlanRequest* const request, Plan** const out, PlanFault* const fault,
         Error* const error)
{
  *fault = (PlanFault){ 0 };
  Plan* const plan = calloc(1, sizeof(Plan));
  if (!plan) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  plan->stamp = request->stamp;
  plan->block_frames = request->format->block_frames;
  plan->at_frame = request->at_frame;
  plan->edit = request->edit;
  plan->planned = request->now_frame;
  plan->is_first = !request->previous;
  Arena scratch = { 0 };
  Graph graph;
  Status status = resolve(plan, request, &graph, &scratch, fault, error);
  status = status ? status : check_memory(plan, request, &scratch, fault, error);
  status = status ? status : load(plan, request, &graph, error);
  arena_clear(&scratch);
  if (!request->keeps_files) {
    file_cache_clear(request->loader);
  }
  if (status) {
    plan_free(plan);
    return status;
  }
  plan_count_memory(plan);
  *out = plan;
  return STATUS_OK;
}
