// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of a worker that chooses between CPU and GPU.  The model of placement.h predicts which is
// faster; making the plan shows whether its memory suffices.

#include "worker_private.h"

#include "engine/base/faults_worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PlacementSide
side_of(const Backend* const backend)
{
  return backend == &backend_cpu ? PLACEMENT_CPU : PLACEMENT_GPU;
}

/// True if the plan has new, changed or fewer nodes than `previous`, so that the choice may differ.
static bool
is_restructured(const Plan* const plan, const Plan* const previous)
{
  bool differs = !previous || plan->n_living != previous->n_living;
  for (uint32_t n = 0; !differs && n < plan->n_living; ++n) {
    differs = plan->nodes[n].node->refs == 1U; // new: in no other plan
  }
  return differs;
}

static uint32_t
effect_index(const FxInfo* const fx)
{
  uint32_t n = 0;
  const FxInfo* const* const effects = fx_table(&n);
  uint32_t index = 0;
  while (index < n && effects[index] != fx) {
    ++index;
  }
  return index;
}

/// Describe the living nodes of a plan for the model.
static void
describe(const PlanRequest* const request, const Plan* const plan, PlacementNode* const nodes)
{
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    const Node* const node = plan->nodes[n].node;
    const bool leaves_choice = request->rack->nodes[n].backend == RACK_BACKEND_AUTO;
    nodes[n] = (PlacementNode){
      .effect =
          node->fx->origin || node->is_quarantined ? PLACEMENT_PLUGIN : effect_index(node->fx),
      .rank = plan->nodes[n].rank,
      .n_channels = node->n_in > node->n_out ? node->n_in : node->n_out,
      .n_taps = fx_file_param(node->fx) >= 0 ? node->shape.tail_frames : 0U, // of the response
      .is_free = leaves_choice && node->fx->kernel,
      .side = side_of(node->backend),
      .measured_ns = atomic_load(&node->block_ns),
    };
  }
}

/// Predict the time of a block on each side: ns[PLACEMENT_SIDES].  Returns false if out of memory.
static bool
predict(const Worker* const worker, const PlanRequest* const request, const Plan* const plan,
        double* const ns)
{
  PlacementNode* const nodes = calloc(plan->n_living + 1U, sizeof(PlacementNode));
  const uint32_t n_in = request->format->n_in;
  const PlacementShape shape = { .block_frames = request->format->block_frames,
                                 .n_channels = n_in > plan->n_out ? n_in : plan->n_out,
                                 .n_cores = pool_size(worker->pool) };
  for (uint32_t s = 0; nodes && s < PLACEMENT_SIDES; ++s) {
    describe(request, plan, nodes); // placement_predict() sorts them
    ns[s] = placement_predict(worker->costs, &shape, nodes, plan->n_living, (PlacementSide)s);
  }
  free(nodes);
  return nodes != NULL;
}

/// Set the reason of the nodes without a backend of their own.
static void
set_reason(const PlanRequest* const request, Plan* const plan, const PlaceReason reason)
{
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    if (plan->nodes[n].reason == request->reason) {
      plan->nodes[n].reason = reason;
    }
  }
}

/// Record a choice, its predicted times, and the note for clients.
static void
record_choice(Worker* const worker, const Backend* const backend, const double* const ns,
              const char* const note)
{
  pthread_mutex_lock(&worker->status_lock);
  worker->backend = backend;
  for (uint32_t s = 0; s < PLACEMENT_SIDES; ++s) {
    worker->cost_ns[s] = ns[s];
  }
  snprintf(worker->backend_note, sizeof(worker->backend_note), "%s", note);
  pthread_mutex_unlock(&worker->status_lock);
}

/// Make the same plan with the backend `to`, and free the old one.  On failure *plan stays.
static Status
move_plan(const PlanRequest* const request, const Backend* const to, Plan** const plan,
          Error* const error)
{
  PlanRequest other = *request;
  other.backend = to;
  other.held_bytes += *plan ? (*plan)->n_bytes : 0U;
  Plan* moved = NULL;
  PlanFault fault;
  const Status status = plan_new(&other, &moved, &fault, error);
  if (!status) {
    plan_free(*plan);
    *plan = moved;
  }
  return status;
}

/// Choose a side for a plan, and move the plan if it was made on the other.
static void
choose_side(Worker* const worker, const PlanRequest* const request, Plan** const plan)
{
  double ns[PLACEMENT_SIDES] = { 0.0 };
  if (!predict(worker, request, *plan, ns)) {
    return; // out of memory: the plan stays on its side
  }
  const Backend* const sides[] = {
    [PLACEMENT_CPU] = &backend_cpu, [PLACEMENT_GPU] = worker->device
  };
  const bool has_past = request->previous && request->previous->n_living;
  const PlacementSide now = side_of(request->backend);
  const PlacementSide side = placement_decide(has_past, now, ns[PLACEMENT_CPU], ns[PLACEMENT_GPU]);
  char note[sizeof(worker->backend_note)]; // without numbers: each change is an event
  snprintf(note, sizeof(note), "effects run on %s, by measured costs",
           engine_backend_names[sides[side]->kind]);
  Error error = { STATUS_OK, "" };
  if (side == now || !move_plan(request, sides[side], plan, &error)) {
    record_choice(worker, sides[side], ns, note);
    return;
  }
  snprintf(note, sizeof(note), "effects run on %s, although %s would be quicker: %s",
           engine_backend_names[request->backend->kind], engine_backend_names[sides[side]->kind],
           error.text);
  set_reason(request, *plan, error.status == STATUS_NO_MEM ? PLACE_MEMORY : PLACE_FAILED);
  record_choice(worker, request->backend, ns, note);
}

Status
worker_make_plan(Worker* const worker, const PlanRequest* const request, Plan** const out,
                 PlanFault* const fault, Error* const error)
{
  Plan* plan = NULL;
  worker_faults_plan(request->rack);
  Status status = plan_new(request, &plan, fault, error);
  const bool chooses = worker->costs && worker->device && !worker->is_lost && !request->keep_values;
  const bool is_full = status == STATUS_NO_MEM;
  const bool refuses = status == STATUS_NO_BACKEND || status == STATUS_BAD_ARG; // does not compile
  if ((is_full || refuses) && chooses && request->backend != &backend_cpu) {
    char note[sizeof(worker->backend_note)];
    snprintf(note, sizeof(note), "effects run on cpu: %s",
             is_full ? "the GPU has not enough memory for the rack" : error->text);
    // The CPU has its own memory; if the rack itself is invalid, this attempt fails too.
    status = move_plan(request, &backend_cpu, &plan, error);
    if (!status) {
      set_reason(request, plan, is_full ? PLACE_MEMORY : PLACE_FAILED);
      record_choice(worker, &backend_cpu, worker->cost_ns, note);
    }
  } else if (!status && chooses && is_restructured(plan, request->previous)) {
    choose_side(worker, request, &plan);
  }
  if (!status) {
    *out = plan;
  }
  return status;
}
