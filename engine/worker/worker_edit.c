// SPDX-License-Identifier: GPL-3.0-or-later
// The worker's edits: the edit that waits, the builder thread that plans it, and parameter messages
// that arrive while no player runs.

#include "worker_private.h"

#include "engine/base/rt.h"
#include "engine/base/time.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAKEN_POLL_NS   200000U           // between checks whether the player has taken a plan
#define HOUSEKEEPING_NS (50U * NS_PER_MS) // between checks for tails that have ended
#define CHECKS_BEHIND   10U               // checks with late blocks until tails end
#define POSTPONED_S     0.5               // of audio: limit for postponing measurements
#define OVERDUE_NS      NS_PER_S          // longest wait of an edit for an overdue measurement
// Rest after a plan for a latency that has changed: some plugins change it all the time.
#define MOVED_FIRST_NS   (NS_PER_S / 2U)
#define MOVED_LONGEST_NS (8U * NS_PER_S)
// Rest after a plan for a node that asked to be replaced: some plugins ask in every block.
#define RESTARTED_FIRST_NS   NS_PER_S
#define RESTARTED_LONGEST_NS (600U * NS_PER_S)
// If no block comes for this time and two periods, audio has stopped.  A driver that stalls on an
// overloaded machine continues earlier, so that edits still apply at their frames.
#define STANDSTILL_NS (2U * NS_PER_S)

// ---- renewals ----

void
worker_renew_nodes(Worker* const worker, const Plan* const plan)
{
  uint32_t failed = 0;
  Error error = { STATUS_OK, "" };
  if (!plan || !plan_renew(plan, &failed, &error)) {
    return;
  }
  const uint32_t index = rack_index_of(worker->rack, plan->nodes[failed].node->uid, UINT32_MAX);
  const char* const name = index == UINT32_MAX ? "a node" : worker->rack->nodes[index].name;
  char text[sizeof(worker->renewal_error)];
  snprintf(text, sizeof(text), "%s cannot be renewed after a NaN: %.400s", name, error.text);
  if (strcmp(text, worker->renewal_error) != 0) {
    memcpy(worker->renewal_error, text, sizeof(text));
    worker_say(worker, "%s", text);
  }
}

// ---- handing plans to the player ----

/// Detects that blocks no longer come.
typedef struct Pulse {
  uint64_t n_submitted, since_ns;
} Pulse;

/// True if blocks have stopped, or a call waits for the builder: then waiting for blocks is
/// useless.
static bool
stands_still(const Worker* const worker, Pulse* const pulse)
{
  if (atomic_load(&worker->n_ending)) {
    return true;
  }
  const uint64_t n_submitted = ring_n_submitted(worker->ring);
  const uint64_t now = time_now_ns();
  const double period_ns = 1e9 * worker->format.block_frames / worker->format.rate_hz;
  if (pulse->since_ns == 0U || n_submitted != pulse->n_submitted) {
    *pulse = (Pulse){ n_submitted, now };
  }
  return now - pulse->since_ns > STANDSTILL_NS + (uint64_t)(2.0 * period_ns);
}

/// Wait until the player has changed from the plan `old` to the offered plan.  If the device of
/// `old` has failed, the player changes at once, because all later blocks of `old` fail.
static void
wait_until_taken(Worker* const worker, const Plan* const old, const Plan* const plan)
{
  Player* const player = &worker->player;
  Pulse pulse = { 0 };
  atomic_store(&worker->awaited_frame, plan->at_frame);
  ring_wake(worker->ring);
  while (!player_has_taken(player)) {
    if (stands_still(worker, &pulse) || plan_has_failed(old)) {
      atomic_store(&player->hurry, true);
      ring_wake(worker->ring);
    }
    worker_renew_nodes(worker, old);
    worker_renew_nodes(worker, plan);
    time_sleep(TAKEN_POLL_NS);
  }
  atomic_store(&worker->awaited_frame, 0U);
}

/// Offer a plan to the player, and wait until it is active.  Returns its first frame.
static uint64_t
hand_over(Worker* const worker, Plan* const plan)
{
  Player* const player = &worker->player;
  const Plan* const old = player->plan;
  atomic_store(&player->hurry, !worker->has_player_thread);
  player_offer(player, plan);
  if (worker->has_player_thread) {
    wait_until_taken(worker, old, plan);
  } else {
    player_idle(player); // there is no player thread
  }
  const uint64_t first_frame = atomic_load(&player->first_frame);
  plan_became_active(plan, first_frame);
  worker_show_plan(worker, plan);
  Plan* const left = player_collect(player);
  worker_note_failure(worker, left);
  plan_free(left);
  return first_frame;
}

static Status
plan_once(Worker* const worker, const PlanRequest* const request, PlanFault* const fault,
          uint64_t* const first_frame, Error* const error)
{
  Plan* plan = NULL;
  const Status status = worker_make_plan(worker, request, &plan, fault, error);
  if (status) {
    return status;
  }
  *first_frame = hand_over(worker, plan);
  return STATUS_OK;
}

static PlanRequest
request_for(Worker* const worker, const Rack* const rack)
{
  const bool has_run = atomic_load(&worker->player.counts.worker_blocks) > 0U;
  PlanRequest request = { .rack = rack,
                          .previous = has_run ? worker->player.plan : NULL,
                          .active = worker->player.plan,
                          .now_frame = atomic_load(&worker->player.next_frame),
                          .format = &worker->format,
                          .loader = &worker->loader,
                          .pool = worker->pool };
  worker_place(worker, &request);
  return request;
}

// ---- two-step edits ----

/// Copy `now`, with gain 0 in each connection that `next` does not have.
static Rack*
muted_rack(const Rack* const now, const Rack* const next)
{
  Rack* const rack = rack_copy(now);
  for (uint32_t e = rack ? rack->n_edges : 0U; e-- > 0U;) {
    RackEdge* const edge = &rack->edges[e];
    if (rack_find_edge(next, edge->from, edge->to, e) == next->n_edges) {
      edge->gain_db = -INFINITY;
    }
  }
  return rack;
}

static void
wait_for_fades(Worker* const worker, const uint64_t first_frame)
{
  const uint64_t until = first_frame + (uint64_t)(2.0 * LINK_RAMP_SECONDS * worker->format.rate_hz);
  Pulse pulse = { 0 };
  atomic_store(&worker->awaited_frame, worker->has_player_thread ? until : 0U);
  while (worker->has_player_thread && atomic_load(&worker->player.next_frame) < until &&
         !stands_still(worker, &pulse)) {
    worker_renew_nodes(worker, worker->player.plan);
    time_sleep(TAKEN_POLL_NS);
  }
  atomic_store(&worker->awaited_frame, 0U);
}

/// The first of two steps: fade out the connections that `next` does not have, and all tails, and
/// wait until they are silent.
static Status
fade_the_tangle(Worker* const worker, const PlanRequest* const next, Error* const error)
{
  Rack* const muted = muted_rack(worker->rack, next->rack);
  if (!muted) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  PlanRequest request = request_for(worker, muted);
  request.at_frame = next->at_frame;
  request.keep_values = true;
  request.end_tails = true;
  PlanFault fault;
  uint64_t first_frame = 0;
  const Status status = plan_once(worker, &request, &fault, &first_frame, error);
  rack_free(muted);
  if (!status) {
    wait_for_fades(worker, first_frame);
  }
  return status;
}

/// Plan the active rack again, with the values that messages have set.
static Status
replan(Worker* const worker, const bool end_tails, Error* const error)
{
  PlanRequest request = request_for(worker, worker->rack);
  request.keep_values = true;
  request.end_tails = end_tails;
  PlanFault fault;
  uint64_t first_frame = 0;
  const Status status = plan_once(worker, &request, &fault, &first_frame, error);
  if (!status) {
    worker_publish_facts(worker);
  }
  return status;
}

Status
worker_replan(Worker* const worker, Error* const error)
{
  return replan(worker, false, error);
}

/// Return to the rack that was active before the first step.
static void
fade_back(Worker* const worker)
{
  Error error = { STATUS_OK, "" };
  if (worker_replan(worker, &error)) {
    // Out of memory: the connections return with the next plan of a rack that has them.
  }
}

/// Plan an edit whose new connections and fading old ones form a cycle: fade out the old ones, then
/// add the new ones.
static Status
plan_in_two_steps(Worker* const worker, const PlanRequest* const last, uint64_t* const first_frame,
                  Error* const error)
{
  Status status = fade_the_tangle(worker, last, error);
  if (status) {
    return status;
  }
  PlanRequest second = *last;
  second.previous = second.active = worker->player.plan;
  second.drop_silent = true;
  PlanFault fault;
  status = plan_once(worker, &second, &fault, first_frame, error);
  if (status) {
    fade_back(worker);
  }
  return status;
}

/// Plan `rack` from the active plan, and wait until the new plan is active.  Takes ownership of
/// `rack` on success.  An `auto` output keeps the choice of the last measurement until measure().
/// [planning_lock held]
static Status
plan_edit(Worker* const worker, Rack* const rack, const uint64_t at_frame, const uint64_t stamp,
          PlanFault* const fault, uint64_t* const first_frame, Error* const error)
{
  PlanRequest request = request_for(worker, rack);
  request.at_frame = at_frame;
  request.stamp = stamp;
  Status status = plan_once(worker, &request, fault, first_frame, error);
  if (status && fault->is_tangled) {
    status = plan_in_two_steps(worker, &request, first_frame, error);
  }
  if (!status) {
    if (!worker->format.offline && !rack_differs_in_values(rack, worker->rack)) {
      (void)worker_outdate_fallbacks(worker, rack, worker->format.n_out);
    }
    rack_free(worker->rack);
    worker->rack = rack;
    plan_keep_saved(worker->player.plan, rack);
  }
  worker_publish_facts(worker);
  return status;
}

// ---- the builder ----

static void
reply_to(Worker* const worker, const Edit* const edit, const Status status,
         const Error* const error, const uint32_t refused_edge, const uint64_t frame)
{
  const WorkerFacts facts = worker_facts(worker);
  EngineReply reply = { .status = status,
                        .frame = frame,
                        .latency_frames = facts.rack_latency_frames,
                        .refused_edge = refused_edge };
  if (status) {
    memcpy(reply.text, error->text, sizeof(reply.text));
  }
  worker->events.replied(worker->events.context, edit->id, &reply, &facts);
}

/// Take the waiting edit; NULL if there is none.
static Edit*
take_edit(Worker* const worker)
{
  pthread_mutex_lock(&worker->edits_lock);
  Edit* const edit = worker->edit;
  worker->edit = NULL;
  pthread_mutex_unlock(&worker->edits_lock);
  return edit;
}

/// Plan the waiting edit, or keep its rack for the first worker_arm().  The edit stays in
/// Worker::edit until this thread holds `planning_lock`, so that worker_set() can set values in it.
static void
perform(Worker* const worker)
{
  Error error = { STATUS_OK, "" };
  PlanFault fault = { 0 };
  uint64_t first_frame = 0;
  pthread_mutex_lock(&worker->planning_lock);
  Edit* const edit = take_edit(worker);
  worker_renew_nodes(worker, worker->player.plan);
  worker_update_device(worker);
  Status status = STATUS_OK;
  if (worker->has_format) {
    status =
        plan_edit(worker, edit->rack, edit->at_frame, edit->stamp, &fault, &first_frame, &error);
    if (worker_take_loss(worker, status, &error)) {
      status =
          plan_edit(worker, edit->rack, edit->at_frame, edit->stamp, &fault, &first_frame, &error);
    }
  } else {
    rack_free(worker->rack);
    worker->rack = edit->rack;
  }
  pthread_mutex_unlock(&worker->planning_lock);
  if (status) {
    rack_free(edit->rack);
  }
  reply_to(worker, edit, status, &error, fault.edge, first_frame);
  free(edit);
}

/// True if the player has been late for half a second or more while it plays tails of removed
/// nodes: the edit may have removed nodes that were too heavy.  n_behind counts up at each check
/// that finds late blocks, and down at any other.  One late block in FALLBACK_GOOD_BLOCKS suffices:
/// then the callback plays the fallbacks nearly all the time, and the tails would not be audible.
static bool
has_heavy_tails(Worker* const worker, const Plan* const plan)
{
  const uint64_t n_blocks = atomic_load(&worker->player.counts.worker_blocks);
  const uint64_t n_late = atomic_load(&worker->n_late);
  const uint64_t n_new = n_blocks - worker->seen_blocks;
  const bool is_late = (n_late - worker->seen_late) * FALLBACK_GOOD_BLOCKS >= n_new;
  worker->seen_blocks = n_blocks;
  worker->seen_late = n_late;
  if (n_new > 0U && is_late && worker->n_behind < CHECKS_BEHIND) {
    ++worker->n_behind;
  } else if (n_new > 0U && !is_late && worker->n_behind > 0U) {
    --worker->n_behind;
  }
  return worker->n_behind >= CHECKS_BEHIND && plan->n_nodes > plan->n_living;
}

/// True if edits have postponed or ended the measurement for POSTPONED_S.  False for a measurement
/// that takes longer than OVERDUE_NS: it waits for a pause between edits. [planning_lock held]
static bool
is_overdue(const Worker* const worker)
{
  const uint64_t n_frames = atomic_load(&worker->player.next_frame) - worker->outdated_at;
  return worker->must_measure && !worker->takes_long &&
         (double)n_frames >= POSTPONED_S * worker->format.rate_hz;
}

typedef struct Measurement {
  Worker* worker;
  uint64_t gives_way_ns; ///< From this time on, an edit ends the measurement
} Measurement;

/// PlanRequest::is_cancelled of a measurement: true while a call that arms, disarms or ends the
/// worker waits, or from gives_way_ns on, while an edit waits.  Meanwhile nodes are renewed.
/// [planning_lock held]
static bool
ends_measurement(void* const cancel_context)
{
  const Measurement* const measurement = cancel_context;
  Worker* const worker = measurement->worker;
  worker_renew_nodes(worker, worker->player.plan);
  pthread_mutex_lock(&worker->edits_lock);
  const bool has_edit = worker->edit != NULL;
  pthread_mutex_unlock(&worker->edits_lock);
  return (has_edit && time_now_ns() >= measurement->gives_way_ns) || atomic_load(&worker->n_ending);
}

/// Measure the current rack to choose its fallbacks.  An edit that arrives meanwhile ends the
/// measurement; an overdue one may first run for OVERDUE_NS. [planning_lock held]
static void
measure(Worker* const worker)
{
  const bool was_overdue = is_overdue(worker);
  Measurement measurement = { worker, was_overdue ? time_now_ns() + OVERDUE_NS : 0U };
  PlanRequest request = request_for(worker, worker->rack);
  request.is_cancelled = ends_measurement;
  request.cancel_context = &measurement;
  worker_choose_fallbacks(worker, &request);
  const bool gave_way = was_overdue && time_now_ns() >= measurement.gives_way_ns;
  worker->takes_long = worker->must_measure && (worker->takes_long || gave_way);
  file_cache_clear(&worker->loader);
  if (!worker->must_measure) {
    worker_publish_facts(worker);
  }
}

/// If the latency of a node has changed, plan the rack with the new one. [planning_lock held]
static void
follow_latency(Worker* const worker)
{
  const uint64_t now_ns = time_now_ns();
  const int moved = now_ns < worker->moving.at_ns ? -1 : plan_find_moved(worker->player.plan);
  if (moved < 0) {
    return;
  }
  const PlanNode* const plan_node = &worker->player.plan->nodes[moved];
  const char* const name = worker->rack->nodes[moved].name;
  const uint32_t before = plan_node->latency_frames;
  const uint32_t now = node_latency(plan_node->node);
  Error error = { STATUS_OK, "" };
  backoff_fail(&worker->moving, MOVED_FIRST_NS, MOVED_LONGEST_NS, now_ns);
  if (replan(worker, false, &error)) {
    worker_say(worker,
               "%s: its latency has changed from %u to %u frames, which cannot be compensated: %s",
               name, before, now, error.text);
  } else {
    counter_add(&worker->player.counts.latency_changes, 1U);
    worker_say(worker, "%s: its latency has changed from %u to %u frames", name, before, now);
  }
}

/// If a node asks for it, plan the rack with a new node in its place, which cross-fades in.
/// [planning_lock held]
static void
replace_restarting(Worker* const worker)
{
  const uint64_t now_ns = time_now_ns();
  const Plan* const plan = worker->player.plan;
  const int index = plan_find_restart(plan, now_ns);
  if (index < 0) {
    return;
  }
  Node* const node = plan->nodes[index].node;
  const char* const name = worker->rack->nodes[index].name;
  Error error = { STATUS_OK, "" };
  backoff_fail(&node->restart, RESTARTED_FIRST_NS, RESTARTED_LONGEST_NS, now_ns);
  node->is_left = true;
  if (replan(worker, false, &error)) {
    node->is_left = false;
    worker_say(worker, "%s: its plugin asks for a restart, which fails: %s", name, error.text);
  } else {
    worker_say(worker, "%s: its plugin has asked for a restart, and a new instance plays", name);
  }
}

/// Renew nodes, leave a failed device or try it again, measure the rack if needed, follow
/// latencies, and remove nodes whose tails have ended or are too heavy to play. [planning_lock
/// held]
static void
tidy(Worker* const worker)
{
  fx_idle();
  worker_renew_nodes(worker, worker->player.plan);
  worker_update_device(worker);
  if (!worker->has_format || !worker->player.plan) {
    return;
  }
  if (worker->must_measure) {
    measure(worker);
  }
  replace_restarting(worker);
  follow_latency(worker);
  const Plan* const plan = worker->player.plan;
  const bool end_tails = has_heavy_tails(worker, plan);
  if (end_tails || plan_next_expiry(plan) <= atomic_load(&worker->player.next_frame)) {
    Error error = { STATUS_OK, "" };
    worker->n_behind = 0;
    if (replan(worker, end_tails, &error)) {
      // Out of memory: the removed nodes stay in the plan, and the next round tries again.
    }
  }
}

static void
keep_house(Worker* const worker)
{
  pthread_mutex_lock(&worker->planning_lock);
  const uint64_t before = worker_facts(worker).serial;
  tidy(worker);
  const WorkerFacts facts = worker_facts(worker);
  pthread_mutex_unlock(&worker->planning_lock);
  if (facts.serial != before) {
    worker->events.changed(worker->events.context, &facts);
  }
}

static bool
must_keep_house(Worker* const worker)
{
  pthread_mutex_lock(&worker->planning_lock);
  const bool is_late = is_overdue(worker);
  pthread_mutex_unlock(&worker->planning_lock);
  return is_late;
}

/// Wait for an edit or a save, at most HOUSEKEEPING_NS.  Returns true if an edit waits.
static bool
await_edit(Worker* const worker)
{
  const uint64_t until_ns = time_now_ns() + HOUSEKEEPING_NS;
  pthread_mutex_lock(&worker->edits_lock);
  if (!worker->edit && !worker->save.id && !worker->builder_stops) {
    time_cond_wait(&worker->edits_changed, &worker->edits_lock, until_ns);
  }
  const bool has_edit = worker->edit != NULL;
  pthread_mutex_unlock(&worker->edits_lock);
  return has_edit;
}

static bool
builder_stops(Worker* const worker)
{
  pthread_mutex_lock(&worker->edits_lock);
  const bool stops = worker->builder_stops;
  pthread_mutex_unlock(&worker->edits_lock);
  return stops;
}

static void*
builder_main(void* const context)
{
  Worker* const worker = context;
  while (!builder_stops(worker)) {
    const bool has_edit = await_edit(worker);
    if (has_edit) {
      perform(worker);
    }
    worker_perform_save(worker, false);
    if (!has_edit || must_keep_house(worker)) {
      keep_house(worker);
    }
  }
  return NULL;
}

Status
worker_start_builder(Worker* const worker, Error* const error)
{
  const Status status =
      rt_thread_start("warprack-build", builder_main, worker, &worker->builder, error);
  worker->has_builder = !status;
  return status;
}

void
worker_stop_builder(Worker* const worker)
{
  if (worker->has_builder) {
    pthread_mutex_lock(&worker->edits_lock);
    worker->builder_stops = true;
    pthread_cond_signal(&worker->edits_changed);
    pthread_mutex_unlock(&worker->edits_lock);
    atomic_fetch_add(&worker->n_ending, 1U);
    pthread_join(worker->builder, NULL);
    atomic_fetch_sub(&worker->n_ending, 1U);
    worker->has_builder = false;
  }
  Edit* const edit = take_edit(worker);
  if (edit) {
    const Error error = { STATUS_LIMIT, "the engine stops" };
    rack_free(edit->rack);
    reply_to(worker, edit, error.status, &error, 0U, 0U);
    free(edit);
  }
  worker_perform_save(worker, true);
}

// ---- calls of the control thread ----

Status
worker_edit(void* const context, const uint64_t id, const Rack* const rack, const uint64_t at_frame,
            const uint64_t stamp)
{
  Worker* const worker = context;
  Edit* const edit = calloc(1, sizeof(Edit));
  Rack* const copy = rack_copy(rack);
  if (!edit || !copy) {
    free(edit);
    rack_free(copy);
    return STATUS_NO_MEM;
  }
  *edit = (Edit){ .id = id, .rack = copy, .at_frame = at_frame, .stamp = stamp };
  pthread_mutex_lock(&worker->edits_lock);
  const bool has_room = !worker->edit;
  worker->edit = has_room ? edit : worker->edit;
  pthread_cond_signal(&worker->edits_changed);
  pthread_mutex_unlock(&worker->edits_lock);
  if (!has_room) {
    rack_free(copy);
    free(edit);
    return STATUS_LIMIT;
  }
  if (!worker->has_builder) {
    perform(worker);
  }
  return STATUS_OK;
}

/// Set values in the current document and in that of the waiting edit. [planning_lock held]
static void
set_in_racks(Worker* const worker, const ParamMessage* const messages, const uint32_t n)
{
  pthread_mutex_lock(&worker->edits_lock);
  for (uint32_t m = 0; m < n; ++m) {
    const ParamMessage* const message = &messages[m];
    rack_set_value(worker->rack, message->uid, message->param, message->value);
    if (worker->edit) {
      rack_set_value(worker->edit->rack, message->uid, message->param, message->value);
    }
  }
  pthread_mutex_unlock(&worker->edits_lock);
}

bool
worker_set(void* const context, const ParamMessage* const messages, const uint32_t n)
{
  Worker* const worker = context;
  Player* const player = &worker->player;
  pthread_mutex_lock(&worker->planning_lock);
  const bool has_ring = worker->ring != NULL;
  for (uint32_t m = 0; m < n && !has_ring && player->plan; ++m) {
    player_apply(player, &messages[m]); // no player runs, so this thread may change the plan
  }
  if (!player->plan) {
    set_in_racks(worker, messages, n);
  }
  pthread_mutex_unlock(&worker->planning_lock);
  return !has_ring;
}
