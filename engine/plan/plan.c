// SPDX-License-Identifier: GPL-3.0-or-later
// Functions of a finished plan, for the player and the builder.

#include "plan.h"

#include "engine/contract/mix_link.h"
#include "engine/contract/node_switches.h"

#include <stdlib.h>

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

Status
plan_renew(const Plan* const plan, uint32_t* const failed, Error* const error)
{
  Status last = STATUS_OK;
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    const Status status = node_renew(plan->nodes[n].node, error);
    *failed = status ? n : *failed;
    last = status ? status : last;
  }
  return last;
}

Status
plan_reset(const Plan* const plan, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t n = 0; !status && n < plan->n_nodes; ++n) {
    status = node_reset(plan->nodes[n].node, error);
  }
  for (uint32_t l = 0; !status && l < plan->n_links; ++l) {
    link_reset(plan->links[l].link);
  }
  return status;
}

static uint64_t
date(Death* const death, const uint64_t frame)
{
  if (death->fresh) {
    death->fresh = false;
    death->expires += frame;
    death->tail += frame;
  }
  return death->dying ? death->expires : UINT64_MAX;
}

void
plan_became_active(Plan* const plan, const uint64_t frame)
{
  plan->first_frame = frame;
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    Node* const node = plan->nodes[n].node;
    const bool comes = node->refs == 1U && !plan->is_first; // no other plan has it
    node->came = comes ? frame : node->came;
    date(&plan->nodes[n].death, frame);
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    date(&plan->links[l].death, frame);
  }
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    const PlanAim* const aim = &plan->aims[a];
    const Node* const from = aim->link->from;
    const bool is_tail = from && plan->nodes[from->plan_index].death.dying;
    if (!is_tail && !aim->restarts) {
      plan->links[aim->link->plan_index].fades = frame + aim->hold_frames;
    }
    aim->link->gain = aim->target;
  }
  const uint64_t settled = plan->fade_frames ? frame + plan->fade_frames : 0U;
  plan->settled = settled > plan->settled ? settled : plan->settled;
}

uint64_t
plan_next_begin(const Plan* const plan)
{
  return plan->fades_at_once ? 0U : plan->settled;
}

void
plan_keep_saved(const Plan* const plan, const Rack* const rack)
{
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    node_keep_saved(plan->nodes[n].node, &rack->nodes[n]);
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

int
plan_find_restart(const Plan* const plan, const uint64_t now_ns)
{
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    const Node* const node = plan->nodes[n].node;
    if (now_ns >= node->restart.at_ns && node_wants_restart(node)) {
      return (int)n;
    }
  }
  return -1;
}

int
plan_find_switched(const Plan* const plan)
{
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    const PlanNode* const plan_node = &plan->nodes[n];
    if (!plan_node->has_switches && plan_node->node->backend->node_new &&
        node_switches_are_on(&plan_node->node->switches)) {
      return (int)n;
    }
  }
  return -1;
}

int
plan_find_moved(const Plan* const plan)
{
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    if (node_latency(plan->nodes[n].node) != plan->nodes[n].latency_frames) {
      return (int)n;
    }
  }
  return -1;
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
  error_set(error, STATUS_DEVICE_LOST, "%s: no error message",
            engine_backend_names[stage->backend->kind]);
  stage->backend->stage_error(stage->stage, error);
  return STATUS_DEVICE_LOST;
}

int
plan_find(const Plan* const plan, const RackUid uid)
{
  const PlanUid* first = plan->by_uid; // the last one that is not above `uid`, if any, is here ...
  for (uint32_t n = plan->n_living; n > 1U;) { // ... or in the n - 1 places behind
    const uint32_t half = n / 2U;
    first = first[half].uid <= uid ? first + half : first; // a branch would be mispredicted
    n -= half;
  }
  return plan->n_living && first->uid == uid ? (int)first->node_index : -1;
}

static void
begin_aim(const PlanAim* const aim)
{
  MixLink* const mix = &aim->link->mix;
  if (aim->restarts) {
    mix_link_restart(mix, aim->frames);
  } else {
    mix_link_aim(mix, aim->target, aim->frames, aim->hold_frames);
  }
}

/// If the plan is the first one with the mix of a node's switches, begin their ramps when the delay
/// line has filled.
static void
begin_switches(const PlanNode* const plan_node)
{
  NodeSwitches* const switches = &plan_node->node->switches;
  if (plan_node->has_switches && !switches->is_played) {
    switches->is_played = true;
    node_switches_aim(switches, plan_node->node->change_frames, switches->dry.delay_frames);
  }
}

/// Take over the values that messages have set since the document was sent.
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
  if (node->switches.is_played) { // else they wait for a plan with their mix, to begin with a ramp
    node_switches_rest(&node->switches);
  }
}

void
plan_begin(Plan* const plan)
{
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    begin_aim(&plan->aims[a]);
  }
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    begin_switches(&plan->nodes[n]);
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
  for (uint32_t n = plan->n_living; n < plan->n_nodes; ++n) {
    node_end_notes(plan->nodes[n].node); // no message reaches a dying node
  }
}

void
plan_rest(const Plan* const plan)
{
  bool has_rested = false;
  for (uint32_t s = 0; s < plan->n_stages && !has_rested; ++s) {
    const PlanStage* const stage = &plan->stages[s];
    has_rested = stage->stage && stage->backend->stage_rest;
    if (has_rested) {
      stage->backend->stage_rest(stage->stage);
    }
  }
}

void
plan_leave(const Plan* const plan)
{
  for (uint32_t s = 0; plan && s < plan->n_stages; ++s) {
    const PlanStage* const stage = &plan->stages[s];
    if (stage->stage && stage->backend->stage_leave) {
      stage->backend->stage_leave(stage->stage);
    }
  }
}
