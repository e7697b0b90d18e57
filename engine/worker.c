// SPDX-License-Identifier: GPL-3.0-or-later
// The block path: swap plans, apply parameter messages at their frames, run the plan.

#include "worker.h"

#include "rt.h"

#include <stdlib.h>

Status
worker_init(Worker* const worker, Error* const error)
{
  worker->waiting = calloc(WORKER_MAX_WAITING, sizeof(WaitingMessage));
  worker->events = calloc(WORKER_MAX_EVENTS, sizeof(StageEvent));
  if (!worker->waiting || !worker->events) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return STATUS_OK;
}

void
worker_clear(Worker* const worker)
{
  plan_free(atomic_exchange(&worker->offered, NULL));
  plan_free(atomic_exchange(&worker->retired, NULL));
  plan_free(worker->plan);
  worker->plan = NULL;
  free(worker->waiting);
  free(worker->events);
}

static void
count(_Atomic uint64_t* const counter, const uint64_t n)
{
  atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

// ---- plans ----

void
worker_offer(Worker* const worker, Plan* const plan)
{
  atomic_store_explicit(&worker->offered, plan, memory_order_release);
}

bool
worker_has_taken(Worker* const worker)
{
  return atomic_load_explicit(&worker->offered, memory_order_acquire) == NULL;
}

Plan*
worker_collect(Worker* const worker)
{
  return atomic_exchange_explicit(&worker->retired, NULL, memory_order_acquire);
}

/// Wait for a stage of a block.
static void
collect(Worker* const worker, const PlanStage* const stage, BegunBlock* const block)
{
  uint32_t n_reset = 0;
  const Status status = stage->backend->stage_collect(stage->stage, &n_reset);
  if (n_reset) {
    count(&worker->counts.units_reset, n_reset);
  }
  if (status) {
    block->has_failed = true;
    count(&worker->counts.device_errors, plan_fail(worker->plan, stage));
  }
}

/// Wait for the stage that a block has left at work.
static void
settle(Worker* const worker, BegunBlock* const block)
{
  if (block->last) {
    collect(worker, block->last, block);
    block->last = NULL;
  }
}

static BegunBlock*
begun_block(Worker* const worker, const uint32_t index)
{
  return &worker->begun[(worker->oldest + index) % WORKER_MAX_BEGUN];
}

static void
take_offer(Worker* const worker, const uint64_t frame)
{
  Plan* const plan = atomic_load_explicit(&worker->offered, memory_order_acquire);
  if (!plan ||
      (plan->at_frame > frame && !atomic_load_explicit(&worker->hurry, memory_order_relaxed))) {
    return;
  }
  for (uint32_t b = 0; b < worker->n_begun; ++b) {
    settle(worker, begun_block(worker, b)); // the builder will free its stages
  }
  Plan* const left = worker->plan;
  worker->plan = plan;
  plan_begin(plan);
  atomic_store_explicit(&worker->retired, left, memory_order_release);
  atomic_store_explicit(&worker->heard_at, frame, memory_order_relaxed);
  count(&worker->counts.plans, 1U);
  atomic_store_explicit(&worker->offered, NULL, memory_order_release);
}

void
worker_idle(Worker* const worker)
{
  rt_section_enter();
  take_offer(worker, atomic_load_explicit(&worker->next_frame, memory_order_relaxed));
  rt_section_leave();
}

// ---- parameter messages ----

static bool
is_before(const WaitingMessage* const a, const WaitingMessage* const b)
{
  return a->message.frame != b->message.frame ? a->message.frame < b->message.frame
                                              : a->number < b->number;
}

static void
heap_push(Worker* const worker, const WaitingMessage entry)
{
  uint32_t i = worker->n_waiting++;
  for (; i > 0U && is_before(&entry, &worker->waiting[(i - 1U) / 2U]); i = (i - 1U) / 2U) {
    worker->waiting[i] = worker->waiting[(i - 1U) / 2U];
  }
  worker->waiting[i] = entry;
}

static WaitingMessage
heap_pop(Worker* const worker)
{
  const WaitingMessage first = worker->waiting[0];
  const WaitingMessage last = worker->waiting[--worker->n_waiting];
  uint32_t i = 0;
  for (uint32_t child = 1; child < worker->n_waiting; child = 2U * i + 1U) {
    if (child + 1U < worker->n_waiting &&
        is_before(&worker->waiting[child + 1U], &worker->waiting[child])) {
      ++child;
    }
    if (!is_before(&worker->waiting[child], &last)) {
      break;
    }
    worker->waiting[i] = worker->waiting[child];
    i = child;
  }
  worker->waiting[i] = last;
  return first;
}

/// Move messages from the ring to the heap; what does not fit stays in the ring.  What comes late
/// is for `frame`, the next one that is played, and so in the order in which it was sent.
static void
receive(Worker* const worker, Ring* const messages, const uint64_t frame)
{
  ParamMessage message;
  while (worker->n_waiting < WORKER_MAX_WAITING && ring_receive(messages, &message)) {
    message.frame = message.frame > frame ? message.frame : frame;
    heap_push(worker, (WaitingMessage){ message, ++worker->n_received });
  }
}

/// The living node that a message is for, checked: the sender may be another process.
static int
addressee(Worker* const worker, const ParamMessage* const message)
{
  const int index = plan_find(worker->plan, message->uid);
  if (index < 0) {
    return -1;
  }
  const FxInfo* const fx = worker->plan->nodes[index].node->fx;
  if (message->param >= fx->n_params || fx->params[message->param].structural ||
      !fx_param_accepts(&fx->params[message->param], message->value)) {
    return -1;
  }
  return index;
}

static int
accept(Worker* const worker, const WaitingMessage* const entry)
{
  const ParamMessage* const message = &entry->message;
  const int index = addressee(worker, message);
  if (index < 0) {
    count(&worker->counts.params_dropped, 1U);
    return -1;
  }
  Node* const node = worker->plan->nodes[index].node;
  node->targets[message->param] = message->value;
  node->stamps[message->param] = entry->number;
  count(&worker->counts.params_applied, 1U);
  return index;
}

/// The changes that fall into this block, in order.
static uint32_t
collect_events(Worker* const worker, const uint64_t frame, const uint32_t n_frames)
{
  uint32_t n_events = 0;
  while (worker->n_waiting && n_events < WORKER_MAX_EVENTS &&
         worker->waiting[0].message.frame < frame + n_frames) {
    const WaitingMessage entry = heap_pop(worker);
    const int index = accept(worker, &entry);
    if (index >= 0) {
      const uint64_t at = entry.message.frame;
      worker->events[n_events++] = (StageEvent){ .offset = at > frame ? (uint32_t)(at - frame) : 0U,
                                                 .node_index = (uint32_t)index,
                                                 .param = entry.message.param,
                                                 .value = entry.message.value };
    }
  }
  return n_events;
}

static void
apply(Worker* const worker, const WaitingMessage entry)
{
  const int index = accept(worker, &entry);
  if (index >= 0) {
    node_set(worker->plan->nodes[index].node, entry.message.param, entry.message.value);
  }
}

void
worker_apply(Worker* const worker, const ParamMessage* const message)
{
  apply(worker, (WaitingMessage){ *message, ++worker->n_received });
}

void
worker_drain(Worker* const worker, Ring* const messages)
{
  const uint64_t frame = atomic_load_explicit(&worker->next_frame, memory_order_relaxed);
  for (receive(worker, messages, frame); worker->n_waiting; receive(worker, messages, frame)) {
    while (worker->n_waiting) {
      apply(worker, heap_pop(worker));
    }
  }
}

// ---- a block ----

void
worker_begin(Worker* const worker, Ring* const messages, const uint64_t frame,
             const uint32_t n_frames, float* const* const in, float* const* const out)
{
  rt_section_enter();
  BegunBlock* const block = begun_block(worker, worker->n_begun);
  *block = (BegunBlock){ .began_ns = rt_now_ns(), .frame = frame, .n_frames = n_frames };
  take_offer(worker, frame);
  if (messages) {
    receive(worker, messages, frame);
  }
  const uint32_t n_events = collect_events(worker, frame, n_frames);

  Plan* const plan = worker->plan;
  for (uint32_t c = 0; c < plan->n_in; ++c) {
    plan->rows[c] = in[c];
  }
  for (uint32_t c = 0; c < plan->n_out; ++c) {
    plan->rows[plan->n_in + c] = out[c];
  }
  for (uint32_t s = 0; s < plan->n_stages; ++s) {
    const PlanStage* const stage = &plan->stages[s];
    stage->backend->stage_submit(stage->stage, n_frames, worker->events, n_events);
    if (s + 1U < plan->n_stages) {
      collect(worker, stage, block);
    } else {
      block->last = stage;
    }
  }
  ++worker->n_begun;
  rt_section_leave();
}

bool
worker_can_end(const Worker* const worker)
{
  const PlanStage* const last = worker->begun[worker->oldest].last;
  return !last || last->backend->stage_is_done(last->stage);
}

bool
worker_end(Worker* const worker)
{
  rt_section_enter();
  BegunBlock* const block = begun_block(worker, 0U);
  worker->oldest = (worker->oldest + 1U) % WORKER_MAX_BEGUN;
  --worker->n_begun;
  settle(worker, block);
  atomic_store_explicit(&worker->next_frame, block->frame + block->n_frames, memory_order_relaxed);
  count(&worker->counts.blocks, 1U);
  const uint64_t now_ns = rt_now_ns();
  load_add(&worker->load, now_ns,
           (double)(now_ns - block->began_ns) * worker->rate_hz / (1e9 * block->n_frames));
  rt_section_leave();
  return !block->has_failed;
}

bool
worker_run(Worker* const worker, Ring* const messages, const uint64_t frame,
           const uint32_t n_frames, float* const* const in, float* const* const out)
{
  worker_begin(worker, messages, frame, n_frames, in, out);
  return worker_end(worker);
}
