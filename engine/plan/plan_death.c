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
  return old->dying ? *old : (Death){ .dying = true, .fresh = true };
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
      plan->links[plan->n_links] = *old;
      plan->links[plan->n_links++].death = die_on(&old->death);
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

/// Number of frames until a frame of a dying part.
static uint64_t
frames_until(const Graph* const graph, const Death* const death, const uint64_t frame)
{
  const uint64_t now = death->fresh ? 0U : graph->request->now_frame;
  return frame > now ? frame - now : 0U;
}

/// Number of frames until a dying part can be left out.
static uint64_t
frames_left(const Graph* const graph, const Death* const death)
{
  return frames_until(graph, death, death->expires);
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

/// How long a node still sounds, in frames.
typedef struct Sounds {
  uint64_t direct; ///< Without tails
  uint64_t all;
} Sounds;

/// How long a node that dies with this plan still sounds: until its dying inputs have ended, plus
/// its latency and tail.
static Sounds
node_sounds(const Graph* const graph, const uint32_t v)
{
  const Plan* const plan = graph->plan;
  const uint64_t limit = (uint64_t)(TAIL_LIMIT_SECONDS * graph->request->format->rate_hz);
  const EdgeGroups* const in_links = &graph->in_links;
  Sounds input = { 0 };
  for (uint32_t i = in_links->first[v]; i < in_links->first[v + 1U]; ++i) {
    const PlanLink* const link = &plan->links[in_links->list[i]];
    const uint64_t all = link_sounds(graph, link);
    const uint64_t direct = frames_until(graph, &link->death, link->death.tail);
    input.all = all > input.all ? all : input.all;
    input.direct = direct > input.direct ? direct : input.direct;
  }
  const uint32_t latency = plan->nodes[v].latency_frames;
  const uint64_t tail = graph_add(latency, node_tail(plan->nodes[v].node));
  return (Sounds){ .direct = input.direct + latency,
                   .all = graph_add(input.all, tail) < limit ? input.all + tail : limit };
}

/// Schedule the end of a node.  Each link from it fades when the node's last sample has left the
/// delay line; the node ends with the last link.
static void
schedule_death(Graph* const graph, PlanNode* const dead, const Sounds sounds)
{
  Plan* const plan = graph->plan;
  dead->death.expires = sounds.all + graph->ramp_frames;
  dead->death.tail = sounds.direct;
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    Link* const link = plan->links[l].link;
    Death* const death = &plan->links[l].death;
    if (link->from != dead->node) {
      continue;
    }
    if (death->fresh) {
      PlanAim* const aim = graph_aim(graph, link, 0.0F);
      aim->hold_frames = (uint32_t)sounds.all + link->mix.delay_frames;
      death->expires = (uint64_t)aim->hold_frames + graph->ramp_frames;
      death->tail = sounds.direct + link->mix.delay_frames;
    }
    const uint64_t left = frames_left(graph, death); // also if the link was already dying
    dead->death.expires = left > dead->death.expires ? left : dead->death.expires;
  }
}

/// End a part that an earlier plan has left: now, or with `tails_only` from the frame at which it
/// plays only tails.  Returns false if it ends about then anyway; else `hold_frames` receives how
/// long it still plays.
static bool
end_tail(const Graph* const graph, Death* const death, const bool tails_only,
         uint32_t* const hold_frames)
{
  const uint64_t now = graph->request->now_frame;
  const uint64_t end = tails_only && death->tail > now ? death->tail : now;
  if (!death->dying || death->fresh || death->expires <= graph_add(end, 2U * graph->ramp_frames)) {
    return false;
  }
  *hold_frames = (uint32_t)(end - now);
  *death = (Death){ .dying = true,
                    .fresh = true,
                    .expires = (uint64_t)*hold_frames + graph->ramp_frames,
                    .tail = *hold_frames };
  return true;
}

/// Let parts that an earlier plan has left fade out early.  Fades that already run continue.
static void
end_old_tails(Graph* const graph, const bool tails_only)
{
  Plan* const plan = graph->plan;
  uint32_t hold_frames = 0;
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    if (end_tail(graph, &plan->links[l].death, tails_only, &hold_frames)) {
      graph_aim(graph, plan->links[l].link, 0.0F)->hold_frames = hold_frames;
    }
  }
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    (void)end_tail(graph, &plan->nodes[n].death, tails_only, &hold_frames);
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
  const bool end_all = graph->request->end_tails;
  if (end_all || (any && plan->n_nodes - plan->n_living > TAIL_LIMIT_NODES)) {
    end_old_tails(graph, !end_all);
  }
}
