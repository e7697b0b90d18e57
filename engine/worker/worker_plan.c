// SPDX-License-Identifier: GPL-3.0-or-later
// Makes plans, and hands them to the player: the plan of an edit, if necessary in two steps, and a
// new plan of the active rack.

#include "worker_private.h"

#include "engine/base/time.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TAKEN_POLL_NS 200000U // between checks whether the player has taken a plan
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
    worker_log(worker, "%s", text);
  }
}

// ---- handing plans to the player ----

/// True if blocks have stopped, or a call waits for the builder: then waiting for blocks is
/// useless.
static bool
stands_still(Worker* const worker)
{
  if (atomic_load(&worker->n_ending)) {
    return true;
  }
  const uint64_t n_submitted = ring_n_submitted(worker->ring);
  const uint64_t now = time_now_ns();
  const double period_ns = 1e9 * worker->format.block_frames / worker->format.rate_hz;
  if (!worker->still_since_ns || n_submitted != worker->seen_submitted) {
    worker->seen_submitted = n_submitted;
    worker->still_since_ns = now;
  }
  return now - worker->still_since_ns > STANDSTILL_NS + (uint64_t)(2.0 * period_ns);
}

/// Wait a moment for the player.  An edit may wait for long: meanwhile plugins do what they do
/// between edits, and their processes are watched.  `idled_ns`: the time of the last fx_idle().
static void
wait_a_moment(uint64_t* const idled_ns)
{
  if (time_now_ns() - *idled_ns >= WORKER_IDLE_NS) {
    fx_idle();
    *idled_ns = time_now_ns();
  }
  time_sleep(TAKEN_POLL_NS);
}

/// Wait until the player has changed from the plan `old` to the offered plan.  If the device of
/// `old` has failed, the player changes at once, because all later blocks of `old` fail.
static void
wait_until_taken(Worker* const worker, const Plan* const old, const Plan* const plan)
{
  Player* const player = &worker->player;
  uint64_t idled_ns = time_now_ns();
  bool is_due = false;
  atomic_store(&worker->awaited_frame, plan->at_frame);
  while (!player_has_taken(player)) {
    if (!is_due && atomic_load(&player->next_frame) >= plan->at_frame) {
      is_due = true;
      ring_wake(worker->ring); // the player takes it between two blocks
    }
    if (stands_still(worker) || plan_has_failed(old)) {
      atomic_store(&player->hurry, true);
      ring_wake(worker->ring);
    }
    worker_renew_nodes(worker, old);
    worker_renew_nodes(worker, plan);
    wait_a_moment(&idled_ns);
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

PlanRequest
worker_request(Worker* const worker, const Rack* const rack)
{
  const bool has_run = atomic_load(&worker->player.counts.worker_blocks) > 0U;
  PlanRequest request = { .rack = rack,
                          .previous = has_run ? worker->player.plan : NULL,
                          .active = worker->player.plan,
                          .now_frame = atomic_load(&worker->player.next_frame),
                          .format = &worker->format,
                          .loader = &worker->loader,
                          .no_fusion = worker->config.no_fusion,
                          .pool = worker->pool };
  worker_place(worker, &request);
  return request;
}

void
worker_request_at(const Worker* const worker, PlanRequest* const request, const uint64_t at_frame)
{
  const bool plays = worker->has_player_thread && request->previous;
  const uint64_t next = plays ? plan_next_begin(request->previous) : 0U;
  request->at_frame = at_frame > next ? at_frame : next;
  request->now_frame =
      request->at_frame > request->now_frame ? request->at_frame : request->now_frame;
}

/// Make a plan of the active rack, with the values that its nodes have.
static Status
replan(Worker* const worker, PlanRequest* const request, Error* const error)
{
  PlanFault fault;
  uint64_t first_frame = 0;
  request->keep_values = true;
  const Status status = plan_once(worker, request, &fault, &first_frame, error);
  if (!status) {
    worker_publish_facts(worker);
  }
  return status;
}

Status
worker_replan(Worker* const worker, const bool end_tails, Error* const error)
{
  PlanRequest request = worker_request(worker, worker->rack);
  request.end_tails = end_tails;
  return replan(worker, &request, error);
}

Status
worker_replan_in_turn(Worker* const worker, Error* const error)
{
  PlanRequest request = worker_request(worker, worker->rack);
  worker_request_at(worker, &request, 0U);
  return replan(worker, &request, error);
}

/// The same request, from the plan that is active now.
static PlanRequest
repeat(Worker* const worker, const PlanRequest* const request)
{
  PlanRequest again = worker_request(worker, request->rack);
  worker_request_at(worker, &again, request->at_frame);
  again.stamp = request->stamp;
  again.edit = request->edit;
  again.keep_values = request->keep_values;
  again.finds_all = request->finds_all;
  return again;
}

// ---- edits in two steps ----

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

/// Wait until the fades of the active plan, which began at a frame, and of tails have ended.
static void
wait_for_fades(Worker* const worker, const uint64_t first_frame)
{
  const uint64_t tails = first_frame + (uint64_t)(2.0 * LINK_RAMP_SECONDS * worker->format.rate_hz);
  const uint64_t settled = worker->player.plan->settled;
  const uint64_t until = tails > settled ? tails : settled;
  uint64_t idled_ns = time_now_ns();
  atomic_store(&worker->awaited_frame, worker->has_player_thread ? until : 0U);
  while (worker->has_player_thread && atomic_load(&worker->player.next_frame) < until &&
         !stands_still(worker)) {
    worker_renew_nodes(worker, worker->player.plan);
    wait_a_moment(&idled_ns);
  }
  atomic_store(&worker->awaited_frame, 0U);
}

/// The first of two steps: fade out the connections that `next` does not have, and all tails, and
/// wait until they are silent.
static Status
fade_out_old(Worker* const worker, const PlanRequest* const next, Error* const error)
{
  Rack* const muted = muted_rack(worker->rack, next->rack);
  if (!muted) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  PlanRequest request = worker_request(worker, muted);
  worker_request_at(worker, &request, next->at_frame);
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

/// Return to the rack that was active before the first step.
static void
fade_back(Worker* const worker)
{
  Error error = { STATUS_OK, "" };
  if (worker_replan(worker, false, &error)) {
    // Out of memory: the connections return with the next plan of a rack that has them.
  }
}

/// Plan an edit whose new connections and fading old ones form a cycle: fade out the old ones, then
/// add the new ones.
static Status
plan_in_two_steps(Worker* const worker, const PlanRequest* const last, uint64_t* const first_frame,
                  Error* const error)
{
  Status status = fade_out_old(worker, last, error);
  if (status) {
    return status;
  }
  PlanRequest second = repeat(worker, last);
  second.drop_silent = true;
  PlanFault fault;
  status = plan_once(worker, &second, &fault, first_frame, error);
  if (status) {
    fade_back(worker);
  }
  return status;
}

// ---- edits that need the memory of tails ----

/// End all tails from a frame on, and free the memory of their nodes.
static Status
free_tails(Worker* const worker, const uint64_t at_frame, Error* const error)
{
  uint64_t first_frame = 0;
  PlanFault fault;
  PlanRequest request = worker_request(worker, worker->rack);
  worker_request_at(worker, &request, at_frame);
  request.keep_values = request.end_tails = true;
  Status status = plan_once(worker, &request, &fault, &first_frame, error);
  if (!status) {
    wait_for_fades(worker, first_frame);
    request = worker_request(worker, worker->rack);
    request.keep_values = request.drop_silent = true;
    status = plan_once(worker, &request, &fault, &first_frame, error);
  }
  return status;
}

Status
worker_play(Worker* const worker, const PlanRequest* const request, PlanFault* const fault,
            uint64_t* const first_frame, Error* const error)
{
  PlanRequest last = *request;
  Error why;
  Status status = plan_once(worker, &last, fault, first_frame, error);
  if (status && fault->needs_tails && !free_tails(worker, request->at_frame, &why)) {
    last = repeat(worker, request);
    status = plan_once(worker, &last, fault, first_frame, error);
  }
  return status && fault->is_tangled ? plan_in_two_steps(worker, &last, first_frame, error)
                                     : status;
}
