// SPDX-License-Identifier: GPL-3.0-or-later
// What the rack no longer has: kept in the plan until its fades and tails have ended.

#include "plan_graph.h"

#include <stddef.h>

static bool
is_in_plan(const Plan* const plan, const Node* const node)
{
  return !node || (node->plan_index < plan->n_nodes && plan->nodes[node->plan_index].node == node);
}

static bool
link_is_in_plan(const Plan* const plan, const Link* const link)
{
  return link->plan_index < plan->n_links && plan->links[link->plan_index].link == link;
}

/// Whether something of the previous plan must still be in this one although the rack has it no
/// longer.
static bool
still_dies(const Graph* const graph, const Death* const old)
{
  return !old->dying || old->expires > graph->request->now_frame;
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
    if (!is_in_plan(plan, old->node) && still_dies(graph, &old->death)) {
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
    if (!link_is_in_plan(plan, old->link) && still_dies(graph, &old->death) &&
        is_in_plan(plan, old->link->from) && is_in_plan(plan, old->link->to)) {
      ++old->link->refs;
      old->link->plan_index = plan->n_links;
      plan->links[plan->n_links++] = (PlanLink){ .link = old->link, .death = die_on(&old->death) };
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

/// How long a connection that ends at `to` must still sound, so that what replaces it can arrive.
static uint32_t
hold_at(const Graph* const graph, const Node* const to)
{
  const Plan* const plan = graph->plan;
  if (!graph_is_continuing(graph, to) || (to && plan->nodes[to->plan_index].death.dying)) {
    return 0U;
  }
  const uint32_t before = graph_latency_at(graph->request->previous, to);
  const uint32_t now = to ? plan->nodes[to->plan_index].latency_in : plan->latency_frames;
  uint32_t hold = now > before ? now - before : 0U;
  for (uint32_t a = 0; a < plan->n_aims; ++a) { // delay lines of new connections that fill first
    const Link* const link = (const Link*)((const char*)plan->aims[a].mix - offsetof(Link, mix));
    if (link->to == to && plan->aims[a].hold > hold) {
      hold = plan->aims[a].hold;
    }
  }
  return hold;
}

/// Connections from what lives on, or from the rack's input, fade as soon as what replaces them
/// arrives.
static void
fade_links_of_the_living(Graph* const graph)
{
  Plan* const plan = graph->plan;
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const Link* const link = plan->links[l].link;
    Death* const death = &plan->links[l].death;
    if (death->fresh && (!link->from || !plan->nodes[link->from->plan_index].death.dying)) {
      const uint32_t hold = hold_at(graph, link->to);
      death->expires = hold + graph->ramp_frames;
      graph_aim(graph, plan->links[l].link, 0.0F, hold);
    }
  }
}

/// Frames for which something still comes through a connection that dies with this plan.
static uint64_t
link_sounds(const Graph* const graph, const PlanLink* const dead)
{
  const Node* const from = dead->link->from;
  const bool tail_only = from && graph->plan->nodes[from->plan_index].death.dying;
  return dead->death.expires -
         (tail_only ? graph->ramp_frames : 0U); // behind a tail, the fade is silent
}

/// Frames that a node which dies with this plan still sounds: until its dying inputs have ended,
/// and its tail.
static uint64_t
node_sounds(const Graph* const graph, const InEdges* const in_edges, const uint32_t v)
{
  const Plan* const plan = graph->plan;
  const uint64_t limit = (uint64_t)(TAIL_LIMIT_SECONDS * graph->request->format->rate_hz);
  uint64_t input_ends = 0;
  for (uint32_t i = in_edges->first[v]; i < in_edges->first[v + 1U]; ++i) {
    const PlanLink* const in = &plan->links[in_edges->list[i]];
    if (in->death.fresh && link_sounds(graph, in) > input_ends) {
      input_ends = link_sounds(graph, in);
    }
  }
  const Node* const node = plan->nodes[v].node;
  const uint64_t tail = graph_add(node->shape.latency_frames, node_tail(node));
  return graph_add(input_ends, tail) < limit ? input_ends + tail : limit;
}

/// A removed node plays on until its tail has decayed; then the connections from it fade, in case
/// it has not.
static void
schedule_node_deaths(Graph* const graph, const uint32_t* const order, const InEdges* const in_edges)
{
  Plan* const plan = graph->plan;
  for (uint32_t i = 0; i < plan->n_nodes; ++i) {
    PlanNode* const dead = &plan->nodes[order[i]];
    if (!dead->death.fresh) {
      continue;
    }
    const uint64_t sounds = node_sounds(graph, in_edges, order[i]);
    dead->death.expires = sounds + graph->ramp_frames;
    for (uint32_t l = 0; l < plan->n_links; ++l) {
      if (plan->links[l].death.fresh && plan->links[l].link->from == dead->node) {
        plan->links[l].death.expires = dead->death.expires;
        graph_aim(graph, plan->links[l].link, 0.0F, (uint32_t)sounds);
      }
    }
  }
}

void
graph_schedule_deaths(Graph* const graph, const uint32_t* const order,
                      const InEdges* const in_edges)
{
  fade_links_of_the_living(graph);
  schedule_node_deaths(graph, order, in_edges);
}
