// SPDX-License-Identifier: GPL-3.0-or-later
// The engine's edits: a queue of racks, the builder thread that plans them one by one, and
// parameter messages.

#include "engine.h"

#include "engine_private.h"
#include "rt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_EDITS       256U
#define HEARD_POLL_NS   200000U    // between looks whether the worker has taken a plan
#define STANDSTILL_NS   200000000U // no block for so long and two periods: no audio runs
#define HOUSEKEEPING_NS 50000000U  // between looks for what has finished dying

static void
sleep_ns(const uint64_t ns)
{
  const struct timespec time = { .tv_sec = (time_t)(ns / 1000000000U),
                                 .tv_nsec = (long)(ns % 1000000000U) };
  nanosleep(&time, NULL);
}

// ---- handing plans to the worker ----

/// Watches whether blocks still come.
typedef struct Pulse {
  uint64_t frame, since_ns;
} Pulse;

static bool
stands_still(const Engine* const engine, Pulse* const pulse)
{
  const uint64_t frame = engine_frame_now(engine);
  const uint64_t now = rt_now_ns();
  const double period_ns = 1e9 * engine->format.block_frames / engine->format.rate_hz;
  if (pulse->since_ns == 0U || frame != pulse->frame) {
    *pulse = (Pulse){ frame, now };
  }
  return now - pulse->since_ns > STANDSTILL_NS + (uint64_t)(2.0 * period_ns);
}

/// Give the plan to the worker and wait until it is heard; returns the frame.
static uint64_t
hand_over(Engine* const engine, Plan* const plan)
{
  Worker* const worker = &engine->worker;
  atomic_store(&worker->hurry, !engine->has_worker_thread);
  worker_offer(worker, plan);
  if (engine->has_worker_thread) {
    Pulse pulse = { 0 };
    ring_wake(engine->ring);
    while (!worker_has_taken(worker)) {
      if (stands_still(engine, &pulse)) {
        atomic_store(&worker->hurry, true);
        ring_wake(engine->ring);
      }
      sleep_ns(HEARD_POLL_NS);
    }
  } else {
    worker_idle(worker); // nobody else is there
  }
  const uint64_t heard_at = atomic_load(&worker->heard_at);
  plan_heard(plan, heard_at);
  engine_show_plan(engine, plan);
  Plan* const left = worker_collect(worker);
  engine_note_failure(engine, left);
  plan_free(left);
  return heard_at;
}

/// Tell the period about the rack's latency and the queries about the plan.
static void
announce(Engine* const engine)
{
  engine_publish_facts(engine);
  Period* const period = atomic_load(&engine->period);
  if (period) {
    period_set_latency(period, engine->worker.plan->latency_frames);
  }
}

static Status
plan_once(Engine* const engine, const PlanRequest* const request, bool* const tangled,
          uint64_t* const heard_at, Error* const error)
{
  Plan* plan = NULL;
  const Status status = engine_make_plan(engine, request, &plan, tangled, error);
  if (status) {
    return status;
  }
  *heard_at = hand_over(engine, plan);
  announce(engine);
  return STATUS_OK;
}

static PlanRequest
request_for(Engine* const engine, const Rack* const rack)
{
  const bool has_run = atomic_load(&engine->worker.counts.blocks) > 0U;
  PlanRequest request = { .rack = rack,
                          .previous = has_run ? engine->worker.plan : NULL,
                          .now_frame = atomic_load(&engine->worker.next_frame),
                          .format = &engine->format,
                          .loader = &engine->loader,
                          .pool = engine->pool };
  engine_place(engine, &request);
  return request;
}

// ---- two-step edits ----

static bool
same_end(const RackEnd* const a, const RackEnd* const b)
{
  return a->uid == b->uid && a->first == b->first && a->last == b->last;
}

static bool
has_edge(const Rack* const rack, const RackEdge* const edge)
{
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    if (same_end(&rack->edges[e].from, &edge->from) && same_end(&rack->edges[e].to, &edge->to)) {
      return true;
    }
  }
  return false;
}

/// What is heard now, with no gain where `next` has no connection.
static Rack*
muted_rack(const Rack* const now, const Rack* const next)
{
  Rack* const rack = rack_copy(now);
  for (uint32_t e = 0; rack && e < rack->n_edges; ++e) {
    if (!has_edge(next, &rack->edges[e])) {
      rack->edges[e].gain_db = -INFINITY;
    }
  }
  return rack;
}

static void
wait_for_fades(const Engine* const engine, const uint64_t heard_at)
{
  const uint64_t until = heard_at + (uint64_t)(2.0 * LINK_RAMP_SECONDS * engine->format.rate_hz);
  Pulse pulse = { 0 };
  while (engine->has_worker_thread && atomic_load(&engine->worker.next_frame) < until &&
         !stands_still(engine, &pulse)) {
    sleep_ns(HEARD_POLL_NS);
  }
}

/// The first of two steps: fade what `next` does not have, and all tails, and wait until they are
/// silent.
static Status
fade_the_tangle(Engine* const engine, const PlanRequest* const next, Error* const error)
{
  Rack* const muted = muted_rack(engine->rack, next->rack);
  if (!muted) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  PlanRequest request = request_for(engine, muted);
  request.at_frame = next->at_frame;
  request.keep_values = true;
  request.end_tails = true;
  bool tangled = false;
  uint64_t heard_at = 0;
  const Status status = plan_once(engine, &request, &tangled, &heard_at, error);
  rack_free(muted);
  if (!status) {
    wait_for_fades(engine, heard_at);
  }
  return status;
}

Status
engine_replan(Engine* const engine, Error* const error)
{
  PlanRequest request = request_for(engine, engine->rack);
  request.keep_values = true;
  bool tangled = false;
  uint64_t heard_at = 0;
  return plan_once(engine, &request, &tangled, &heard_at, error);
}

/// Back to the rack that was heard before the first step.
static void
fade_back(Engine* const engine)
{
  Error error = { STATUS_OK, "" };
  if (engine_replan(engine, &error)) {
    // No memory, not even for this: the next plan of any rack that has them brings them back.
  }
}

/// New connections and fading ones would make a cycle: let the old ones fade before the new ones
/// come.
static Status
plan_in_two_steps(Engine* const engine, const PlanRequest* const last, uint64_t* const heard_at,
                  Error* const error)
{
  Status status = fade_the_tangle(engine, last, error);
  if (status) {
    return status;
  }
  PlanRequest second = *last;
  second.previous = engine->worker.plan;
  second.drop_silent = true;
  bool tangled = false;
  status = plan_once(engine, &second, &tangled, heard_at, error);
  if (status) {
    fade_back(engine);
  }
  return status;
}

Status
engine_plan(Engine* const engine, Rack* const rack, const uint64_t at_frame, const uint64_t stamp,
            uint64_t* const heard_at, Error* const error)
{
  PlanRequest request = request_for(engine, rack);
  request.at_frame = at_frame;
  request.stamp = stamp;
  bool tangled = false;
  Status status = plan_once(engine, &request, &tangled, heard_at, error);
  if (status && tangled) {
    status = plan_in_two_steps(engine, &request, heard_at, error);
  }
  if (!status) {
    rack_free(engine->rack);
    engine->rack = rack;
  }
  return status;
}

// ---- the builder ----

static void
reply_to(const Engine* const engine, const Edit* const edit, const Status status,
         const Error* const error, const uint64_t frame)
{
  EngineReply reply = { .status = status,
                        .frame = frame,
                        .latency_frames = engine_rack_latency(engine) };
  if (status) {
    memcpy(reply.text, error->text, sizeof(reply.text));
  }
  if (edit->done) {
    edit->done(edit->context, &reply);
  }
}

/// Plan one edit, or keep its rack for the first engine_arm().
static void
perform(Engine* const engine, Edit* const edit)
{
  Error error = { STATUS_OK, "" };
  uint64_t heard_at = 0;
  pthread_mutex_lock(&engine->planning);
  engine_mind_device(engine);
  Status status = rack_check(edit->rack, &error);
  if (!status && engine->has_format) {
    status = engine_plan(engine, edit->rack, edit->at_frame, edit->stamp, &heard_at, &error);
    if (engine_take_loss(engine, status, &error)) {
      status = engine_plan(engine, edit->rack, edit->at_frame, edit->stamp, &heard_at, &error);
    }
  } else if (!status) {
    rack_free(engine->rack);
    engine->rack = edit->rack;
  }
  pthread_mutex_unlock(&engine->planning);
  if (status) {
    rack_free(edit->rack);
    atomic_fetch_add(&engine->edits_refused, 1U);
  }
  reply_to(engine, edit, status, &error, heard_at);
  free(edit);
}

/// Leave a device that failed, and leave out what has finished dying.
static void
keep_house(Engine* const engine)
{
  pthread_mutex_lock(&engine->planning);
  engine_mind_device(engine);
  const Plan* const plan = engine->worker.plan;
  if (engine->has_format && plan &&
      plan_next_expiry(plan) <= atomic_load(&engine->worker.next_frame)) {
    Error error = { STATUS_OK, "" };
    if (engine_replan(engine, &error)) {
      // Out of memory, at worst: the dead stay a little longer, silent, and the next round tries
      // again.
    }
  }
  pthread_mutex_unlock(&engine->planning);
}

static Edit*
next_edit(Engine* const engine)
{
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += (long)HOUSEKEEPING_NS;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  pthread_mutex_lock(&engine->edits);
  if (!engine->first_edit && !engine->builder_stops) {
    pthread_cond_timedwait(&engine->edits_changed, &engine->edits, &until);
  }
  Edit* const edit = engine->first_edit;
  if (edit) {
    engine->first_edit = edit->next;
    engine->last_edit = engine->first_edit ? engine->last_edit : &engine->first_edit;
    --engine->n_edits;
  }
  pthread_mutex_unlock(&engine->edits);
  return edit;
}

static bool
builder_stops(Engine* const engine)
{
  pthread_mutex_lock(&engine->edits);
  const bool stops = engine->builder_stops;
  pthread_mutex_unlock(&engine->edits);
  return stops;
}

static void*
builder_main(void* const context)
{
  Engine* const engine = context;
  while (!builder_stops(engine)) {
    Edit* const edit = next_edit(engine);
    if (edit) {
      perform(engine, edit);
    } else {
      keep_house(engine);
    }
  }
  return NULL;
}

Status
engine_start_builder(Engine* const engine, Error* const error)
{
  const Status status =
      rt_thread_start("warprack-build", builder_main, engine, &engine->builder, error);
  engine->has_builder = !status;
  return status;
}

void
engine_stop_builder(Engine* const engine)
{
  if (engine->has_builder) {
    pthread_mutex_lock(&engine->edits);
    engine->builder_stops = true;
    pthread_cond_signal(&engine->edits_changed);
    pthread_mutex_unlock(&engine->edits);
    pthread_join(engine->builder, NULL);
    engine->has_builder = false;
  }
  while (engine->first_edit) {
    Edit* const edit = engine->first_edit;
    const Error error = { STATUS_LIMIT, "the engine stops" };
    engine->first_edit = edit->next;
    rack_free(edit->rack);
    reply_to(engine, edit, error.status, &error, 0U);
    free(edit);
  }
  engine->last_edit = &engine->first_edit;
}

// ---- what control calls ----

static uint64_t
messages_sent(Engine* const engine)
{
  pthread_mutex_lock(&engine->pointers);
  const uint64_t n_sent = engine->n_sent;
  pthread_mutex_unlock(&engine->pointers);
  return n_sent;
}

Status
engine_edit(Engine* const engine, const Rack* const rack, const uint64_t at_frame,
            const EngineDone done, void* const context)
{
  Edit* const edit = calloc(1, sizeof(Edit));
  Rack* const copy = rack_copy(rack);
  if (!edit || !copy) {
    free(edit);
    rack_free(copy);
    return STATUS_NO_MEM;
  }
  *edit = (Edit){ .rack = copy,
                  .at_frame = at_frame,
                  .stamp = messages_sent(engine),
                  .done = done,
                  .context = context };
  if (!engine->has_builder) {
    perform(engine, edit);
    return STATUS_OK;
  }
  pthread_mutex_lock(&engine->edits);
  const bool full = engine->n_edits >= MAX_EDITS;
  if (!full) {
    *engine->last_edit = edit;
    engine->last_edit = &edit->next;
    ++engine->n_edits;
    pthread_cond_signal(&engine->edits_changed);
  }
  pthread_mutex_unlock(&engine->edits);
  if (full) {
    rack_free(copy);
    free(edit);
  }
  return full ? STATUS_LIMIT : STATUS_OK;
}

typedef struct Awaited {
  pthread_mutex_t mutex;
  pthread_cond_t arrived;
  bool has_arrived;
  EngineReply reply;
} Awaited;

static void
await_done(void* const context, const EngineReply* const reply)
{
  Awaited* const awaited = context;
  pthread_mutex_lock(&awaited->mutex);
  awaited->reply = *reply;
  awaited->has_arrived = true;
  pthread_cond_signal(&awaited->arrived);
  pthread_mutex_unlock(&awaited->mutex);
}

Status
engine_edit_wait(Engine* const engine, const Rack* const rack, Error* const error)
{
  Awaited awaited = { .mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER };
  const Status status = engine_edit(engine, rack, 0U, await_done, &awaited);
  if (status) {
    return error_set(error, status,
                     status == STATUS_LIMIT ? "too many edits wait" : "out of memory");
  }
  pthread_mutex_lock(&awaited.mutex);
  while (!awaited.has_arrived) {
    pthread_cond_wait(&awaited.arrived, &awaited.mutex);
  }
  pthread_mutex_unlock(&awaited.mutex);
  return awaited.reply.status ? error_set(error, awaited.reply.status, "%s", awaited.reply.text)
                              : STATUS_OK;
}

/// No worker runs: the plan can be touched here. [planning held]
static void
set_without_worker(Engine* const engine, const ParamMessage* const messages, const uint32_t n)
{
  for (uint32_t m = 0; engine->worker.plan && m < n; ++m) {
    worker_apply(&engine->worker, &messages[m]);
  }
  engine->n_sent = engine->worker.n_received;
}

static Status
send_messages(Engine* const engine, const ParamMessage* const messages, const uint32_t n)
{
  pthread_mutex_lock(&engine->pointers);
  const bool has_worker = engine->ring != NULL;
  const bool sent = has_worker && ring_send(engine->ring, messages, n);
  engine->n_sent += sent ? n : 0U;
  pthread_mutex_unlock(&engine->pointers);
  if (has_worker) {
    return sent ? STATUS_OK : STATUS_LIMIT;
  }
  pthread_mutex_lock(&engine->planning);
  const bool still_without = engine->ring == NULL;
  if (still_without) {
    set_without_worker(engine, messages, n);
  }
  pthread_mutex_unlock(&engine->planning);
  return still_without ? STATUS_OK : send_messages(engine, messages, n);
}

Status
engine_set(Engine* const engine, const EngineParam* const params, const uint32_t n,
           const uint64_t at_frame)
{
  ParamMessage* const messages = calloc(n + 1U, sizeof(ParamMessage));
  if (!messages) {
    return STATUS_NO_MEM;
  }
  for (uint32_t m = 0; m < n; ++m) {
    messages[m] = (ParamMessage){
      .frame = at_frame, .uid = params[m].uid, .param = params[m].param, .value = params[m].value
    };
  }
  const Status status = send_messages(engine, messages, n);
  free(messages);
  return status;
}
