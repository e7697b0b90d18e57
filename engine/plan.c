// SPDX-License-Identifier: GPL-3.0-or-later
// Plans as a whole: made from a rack, begun on the worker, freed by the builder.

#include "plan.h"

#include "memory.h"
#include "plan_graph.h"
#include "plan_steps.h"

#include <stdlib.h>

/// The document's values, for plan_begin() to compare with what is set.
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
            (PlanValue){ v, p, rack_number(rack_node, p, request->format->rate_hz) };
      }
    }
  }
  return STATUS_OK;
}

/// Nodes that replace one of the same kind: the worker has set that one's values, and brings them.
static Status
list_heirs(Plan* const plan, const PlanRequest* const request, Error* const error)
{
  plan->heirs = arena_take(&plan->arena, plan->n_living, sizeof(PlanHeir));
  if (!plan->heirs) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  const Plan* const heard = request->heard ? request->heard : request->previous;
  for (uint32_t v = 0; heard && v < plan->n_living; ++v) {
    Node* const node = plan->nodes[v].node;
    const int old = plan_find(heard, node->uid);
    const Node* const from = old >= 0 ? heard->nodes[old].node : node;
    if (from != node && from->fx == node->fx) {
      plan->heirs[plan->n_heirs++] = (PlanHeir){ node, from };
    }
  }
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

void
plan_drop_stages(Plan* const plan)
{
  for (uint32_t s = 0; s < plan->n_stages; ++s) {
    if (plan->stages[s].stage) {
      plan->stages[s].backend->stage_free(plan->stages[s].stage);
      plan->stages[s].stage = NULL;
    }
  }
  atomic_store_explicit(&plan->failed, NULL, memory_order_relaxed);
}

// ---- memory ----

/// The plan's own, without nodes and links.
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

/// Of its nodes and links: all, or those that no other plan has.
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

/// False where all nodes go on from an earlier plan: the rack has become smaller, or has not
/// changed.
static bool
has_new_nodes(const Plan* const plan)
{
  bool has_new = false;
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    has_new |= plan->nodes[n].node->refs == 1U;
  }
  return has_new;
}

/// Before anything large is asked for: is there room?  What takes nodes away is never refused.
static Status
check_memory(Plan* const plan, const PlanRequest* const request, const Arena* const scratch,
             Error* const error)
{
  plan->making_bytes = table_bytes(plan) + steps_row_bytes(plan) + scratch->n_bytes +
                       content_bytes(plan, false) + file_cache_bytes(request->loader);
  const size_t total = request->held_bytes + plan->making_bytes;
  if (!request->max_bytes || total <= request->max_bytes || !has_new_nodes(plan)) {
    return STATUS_OK;
  }
  char needed[MEMORY_TEXT_BYTES];
  char held[MEMORY_TEXT_BYTES];
  char allowed[MEMORY_TEXT_BYTES];
  memory_text(plan->making_bytes, needed);
  memory_text(request->held_bytes, held);
  memory_text(request->max_bytes, allowed);
  return request->held_bytes
             ? error_set(error, STATUS_LIMIT,
                         "the rack takes %s of memory while it is planned, beside %s of the one "
                         "that plays; racks may take %s (option --memory)",
                         needed, held, allowed)
             : error_set(error, STATUS_LIMIT,
                         "the rack takes %s of memory while it is planned; racks may take %s "
                         "(option --memory)",
                         needed, allowed);
}

// ---- the whole ----

/// All that needs little memory: what is new of the nodes and links is designed, but not loaded.
static Status
resolve(Plan* const plan, const PlanRequest* const request, Graph* const graph,
        Arena* const scratch, bool* const tangled, Error* const error)
{
  Status status = rack_check_rate(request->rack, request->format->rate_hz, error);
  if (!status) {
    status = graph_resolve(graph, plan, request, scratch, tangled, error);
  }
  if (!status) {
    status = steps_make(plan, request->format, scratch, error);
  }
  if (!status) {
    status = list_heirs(plan, request, error);
  }
  if (!status && !request->keep_values) {
    status = list_values(plan, request, error);
  }
  return status;
}

/// The rest.
static Status
load(Plan* const plan, const PlanRequest* const request, Graph* const graph, Error* const error)
{
  Status status = graph_load(graph, error);
  if (!status) {
    status = steps_take_rows(plan, error);
  }
  if (!status) {
    steps_bind(plan);
    status = plan_make_stages(plan, request->pool, error);
  }
  return status;
}

Status
plan_new(const PlanRequest* const request, Plan** const out, bool* const tangled,
         Error* const error)
{
  *tangled = false;
  Plan* const plan = calloc(1, sizeof(Plan));
  if (!plan) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  plan->stamp = request->stamp;
  plan->block_frames = request->format->block_frames;
  plan->at_frame = request->at_frame;
  Arena scratch = { 0 };
  Graph graph;
  Status status = resolve(plan, request, &graph, &scratch, tangled, error);
  if (!status) {
    status = check_memory(plan, request, &scratch, error);
  }
  if (!status) {
    status = load(plan, request, &graph, error);
  }
  arena_clear(&scratch);
  if (!request->keeps_files) {
    file_cache_clear(request->loader);
  }
  if (status) {
    plan_free(plan);
    return status;
  }
  plan->n_bytes = table_bytes(plan) + content_bytes(plan, true);
  *out = plan;
  return STATUS_OK;
}

void
plan_free(Plan* const plan)
{
  if (!plan) {
    return;
  }
  plan_drop_stages(plan);
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    link_unref(plan->links[l].link);
  }
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    node_unref(plan->nodes[n].node);
  }
  arena_clear(&plan->arena);
  free(plan);
}

void
plan_reset(const Plan* const plan)
{
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    node_reset(plan->nodes[n].node);
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    link_reset(plan->links[l].link);
  }
}

static uint64_t
date(Death* const death, const uint64_t frame)
{
  if (death->fresh) {
    death->fresh = false;
    death->expires += frame;
  }
  return death->dying ? death->expires : UINT64_MAX;
}

void
plan_heard(Plan* const plan, const uint64_t frame)
{
  plan->heard_at = frame;
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    date(&plan->nodes[n].death, frame);
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    date(&plan->links[l].death, frame);
  }
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    plan->aims[a].link->gain = plan->aims[a].target;
  }
}

uint64_t
plan_next_expiry(const Plan* const plan)
{
  uint64_t next = UINT64_MAX;
  for (uint32_t n = plan->n_living; n < plan->n_nodes; ++n) {
    next = plan->nodes[n].death.expires < next ? plan->nodes[n].death.expires : next;
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const Death* const death = &plan->links[l].death;
    next = death->dying && death->expires < next ? death->expires : next;
  }
  return next;
}

bool
plan_fail(Plan* const plan, const PlanStage* const stage)
{
  const bool is_first = !plan_has_failed(plan);
  if (is_first) {
    atomic_store_explicit(&plan->failed, stage, memory_order_release);
  }
  return is_first;
}

bool
plan_has_failed(const Plan* const plan)
{
  return atomic_load_explicit(&plan->failed, memory_order_acquire) != NULL;
}

Status
plan_failure(const Plan* const plan, const Backend** const backend, Error* const error)
{
  const PlanStage* const stage = atomic_load_explicit(&plan->failed, memory_order_acquire);
  if (!stage) {
    return STATUS_OK;
  }
  *backend = stage->backend;
  error_set(error, STATUS_DEVICE_LOST, "%s: no words", stage->backend->name);
  stage->backend->stage_error(stage->stage, error);
  return STATUS_DEVICE_LOST;
}

int
plan_find(const Plan* const plan, const RackUid uid)
{
  uint32_t low = 0;
  for (uint32_t high = plan->n_living; low < high;) {
    const uint32_t middle = low + (high - low) / 2U;
    const uint32_t index = plan->by_uid[middle];
    if (plan->nodes[index].node->uid == uid) {
      return (int)index;
    }
    if (plan->nodes[index].node->uid < uid) {
      low = middle + 1U;
    } else {
      high = middle;
    }
  }
  return -1;
}

static void
begin_aim(const PlanAim* const aim)
{
  MixLink* const mix = &aim->link->mix;
  // What still waits to fade in goes on waiting when it gets another gain.
  const uint32_t hold = aim->target > 0.0F && mix->hold > aim->hold ? mix->hold : aim->hold;
  mix->next = mix->gain;
  ramp_skip(&mix->next, hold);
  ramp_aim(&mix->next, aim->target, aim->frames);
  mix->hold = hold;
  mix->gain = hold ? mix->gain : mix->next;
}

/// The values that were set since the document was.
static void
take_over(const Plan* const plan, const PlanHeir* const heir)
{
  Node* const node = heir->node;
  for (uint32_t p = 0; p < node->fx->n_params; ++p) {
    if (!node->fx->params[p].structural && heir->from->stamps[p] > plan->stamp) {
      node->targets[p] = heir->from->targets[p];
      node->stamps[p] = heir->from->stamps[p];
      node_set(node, p, node->targets[p]);
    }
  }
}

void
plan_begin(Plan* const plan)
{
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    begin_aim(&plan->aims[a]);
  }
  for (uint32_t h = 0; h < plan->n_heirs; ++h) {
    take_over(plan, &plan->heirs[h]);
  }
  for (uint32_t v = 0; v < plan->n_values; ++v) {
    const PlanValue* const value = &plan->values[v];
    Node* const node = plan->nodes[value->node_index].node;
    if (node->targets[value->param] != value->value && node->stamps[value->param] <= plan->stamp) {
      node->targets[value->param] = value->value;
      node_set(node, value->param, value->value);
    }
  }
}
