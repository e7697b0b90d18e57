// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes and connections that the rack no longer has stay in the plan until their fades and tails
// have ended.

#include "plan_graph.h"

static bool
is_in_plan(const Plan* const plan, const Node* const node)
{
  return !node || (node->plan_index < plan->n_nodes && plan->nodes[node->plan_index].node == node);
}

/// True if the backend of a node or connection has failed.
static bool
is_lost(const Graph* const graph, const Backend* const backend)
{
  return graph->request->lost && backend == graph->request->lost;
}

/// True if a part of the previous plan that is not in the rack must stay in this plan.
static bool
still_dies(const Graph* const graph, const Death* const old)
{
  return !old->dying || (!graph->request->drop_silent && old->expires > graph->request->now_frame);
}

static Death
die_on(const Death* const old)
{
  return old->dying ? (Death){ .dying = true, .expires = old->expires }
                    : (Death){ .dying = true, .fresh = true };
}

static void
keep_dying_nodes(Graph* const graph)
{
  const Plan* const previous = graph->request->previous;
  Plan* const plan = graph->plan;
  for (uint32_t n = 0; n < previous->n_nodes; ++n) {
    const PlanNode* const old = &previous->nodes[n];
    if (!is_in_plan(plan, old->node) && still_dies(graph, &old->death) &&
        !is_lost(graph, old->node->backend)) {
      ++old->node->refs;
      old->node->plan_index = plan->n_nodes;
      plan->nodes[plan->n_nodes] = *old;
      plan->nodes[plan->n_nodes++].death = die_on(&old->death);
    }
  }
}

static void
keep_dying_links(Graph* const graph)
{
  const Plan* const previous = graph->request->previous;
  Plan* const plan = graph->plan;
  for (uint32_t l = 0; l < previous->n_links; ++l) {
    const PlanLink* const old = &previous->links[l];
    const bool is_over = graph->request->drop_silent && old->link->gain == 0.0F;
    if (!graph_has_link(plan, old->link) && !is_over && still_dies(graph, &old->death) &&
        !is_lost(graph, old->link->backend) && is_in_plan(plan, old->link->from) &&
        is_in_plan(plan, old->link->to)) {
      ++old->link->refs;
      old->link->plan_index = plan->n_links;
      plan->links[plan->n_links++] =
          (PlanLink){ .link = old->link, .death = die_on(&old->death), .fades = old->fades };
    }
  }
}

void
graph_keep_dying(Graph* const graph)
{
  if (graph->request->previous) {
    keep_dying_nodes(graph);
    keep_dying_links(graph);
  }
}

/// Number of frames until a dying part can be left out.
static uint64_t
frames_left(const Graph* const graph, const Death* const death)
{
  const uint64_t now = death->fresh ? 0U : graph->request->now_frame;
  return death->expires > now ? death->expires - now : 0U;
}

/// Number of frames for which a dying link still passes audio.
static uint64_t
link_sounds(const Graph* const graph, const PlanLink* const dead)
{
  const uint64_t left = frames_left(graph, &dead->death);
  const Node* const from = dead->link->from;
  const bool tail_only = from && graph->plan->nodes[from->plan_index].death.dying;
  const uint32_t silent = tail_only ? graph->ramp_frames : 0U; // after a tail, the fade is silent
  return left > silent ? left - silent : 0U;
}

/// Number of frames for which a node that dies with this plan still sounds: until its dying inputs
/// have ended, plus its latency and tail.
static uint64_t
node_sounds(const Graph* const graph, const uint32_t v)
{
  const Plan* const plan = graph->plan;
  const uint64_t limit = (uint64_t)(TAIL_LIMIT_SECONDS * graph->request->format->rate_hz);
  const EdgeGroups* const in_links = &graph->in_links;
  uint64_t input_ends = 0;
  for (uint32_t i = in_links->first[v]; i < in_links->first[v + 1U]; ++i) {
    const uint64_t sounds = link_sounds(graph, &plan->links[in_links->list[i]]);
    input_ends = sounds > input_ends ? sounds : input_ends;
  }
  const Node* const node = plan->nodes[v].node;
  const uint64_t tail = graph_add(plan->nodes[v].latency_frames, node_tail(node));
  return graph_add(input_ends, tail) < limit ? input_ends + tail : limit;
}

/// Schedule the end of a node that sounds for `sounds` frames.  Each link from it fades when the
/// node's last sample has left the delay line; the node ends with the last link.
static void
schedule_death(Graph* const graph, PlanNode* const dead, const uint64_t sounds)
{
  Plan* const plan = graph->plan;
  dead->death.expires = sounds + graph->ramp_frames;
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    Link* const link = plan->links[l].link;
    Death* const death = &plan->links[l].death;
    if (link->from != dead->node) {
      continue;
    }
    if (death->fresh) {
      PlanAim* const aim = graph_aim(graph, link, 0.0F);
      aim->hold_frames = (uint32_t)sounds + link->mix.delay_frames;
      death->expires = (uint64_t)aim->hold_frames + graph->ramp_frames;
    }
    const uint64_t left = frames_left(graph, death); // also if the link was already dying
    dead->death.expires = left > dead->death.expires ? left : dead->death.expires;
  }
}

/// Fade parts that die since an earlier plan now.  Fades that already run continue.
static void
end_old_tails(Graph* const graph)
{
  Plan* const plan = graph->plan;
  const uint64_t soon = graph_add(graph->request->now_frame, 2U * graph->ramp_frames);
  const Death now = { .dying = true, .fresh = true, .expires = graph->ramp_frames };
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    Death* const death = &plan->links[l].death;
    if (death->dying && !death->fresh && death->expires > soon) {
      graph_aim(graph, plan->links[l].link, 0.0F);
      *death = now;
    }
  }
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    Death* const death = &plan->nodes[n].death;
    if (death->dying && !death->fresh && death->expires > soon) {
      *death = now;
    }
  }
}

void
graph_schedule_deaths(Graph* const graph, const uint32_t* const order)
{
  Plan* const plan = graph->plan;
  bool any = false;
  for (uint32_t i = 0; i < plan->n_nodes; ++i) {
    PlanNode* const dead = &plan->nodes[order[i]];
    if (dead->death.fresh) {
      schedule_death(graph, dead, node_sounds(graph, order[i]));
      any = true;
    }
  }
  if (graph->request->end_tails || (any && plan->n_nodes - plan->n_living > TAIL_LIMIT_NODES)) {
    end_old_tails(graph);
  }
}
