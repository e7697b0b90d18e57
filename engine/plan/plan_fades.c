// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The start times of fades.  They make old and new connections cross-fade at the same time although
  the latencies differ.

  A change passes through the rack like the signal.  It reaches vertex v (a node's input, or the
  rack's output) when[v] frames after a reference frame, which is the same for all vertices.  At a
  vertex that continues from the previous plan, the old and the new path meet, and the change
  arrives with the slower of the two.  From these vertices the times are computed backwards to the
  connections that fade: through new nodes along new paths, and through dying nodes along old paths.
  A connection never fades in before its delay line has filled, because when[v] is at least the
  latency at v.
*/

#include "plan_graph.h"

/// True for a node that is new or dying in this plan.
static bool
comes_or_goes(const Graph* const graph, const PlanNode* const plan_node)
{
  return plan_node->death.dying ? plan_node->death.fresh
                                : !graph_is_continuing(graph, plan_node->node);
}

/// The longer of the latencies at a vertex in the old and in the new plan, in frames.
static uint32_t
longer_latency(const Graph* const graph, const Node* const node, const uint32_t now)
{
  if (!graph_is_continuing(graph, node)) {
    return now;
  }
  const uint32_t before = graph_latency_at(graph->request->previous, node);
  return before > now ? before : now;
}

/// Compute the times of the nodes that lead to vertex v, backwards from its known time.
static void
compute_backwards(const Graph* const graph, const uint32_t v, uint32_t* const when)
{
  const Plan* const plan = graph->plan;
  const EdgeGroups* const in_links = &graph->in_links;
  for (uint32_t i = in_links->first[v]; i < in_links->first[v + 1U]; ++i) {
    const Link* const link = plan->links[in_links->list[i]].link;
    if (link->from && comes_or_goes(graph, &plan->nodes[link->from->plan_index])) {
      const uint32_t from = link->from->plan_index;
      const uint32_t way = plan->nodes[from].latency_frames + link->mix.delay_frames;
      uint32_t* const at = &when[from];
      *at = when[v] > way && when[v] - way > *at ? when[v] - way : *at;
    }
  }
}

static uint32_t*
compute_times(const Graph* const graph, const uint32_t* const order)
{
  const Plan* const plan = graph->plan;
  uint32_t* const when = arena_take(graph->scratch, plan->n_nodes + 1U, sizeof(uint32_t));
  if (when) {
    for (uint32_t n = 0; n < plan->n_nodes; ++n) {
      const PlanNode* const plan_node = &plan->nodes[n];
      when[n] = longer_latency(graph, plan_node->node, plan_node->latency_in);
    }
    when[plan->n_nodes] = longer_latency(graph, NULL, plan->latency_frames);
    compute_backwards(graph, plan->n_nodes, when);
    for (uint32_t i = plan->n_nodes; i-- > 0U;) {
      compute_backwards(graph, order[i], when);
    }
  }
  return when;
}

/// True for a connection from a living node that fades out with this plan.
static bool
is_leaving(const Plan* const plan, const PlanLink* const plan_link)
{
  const Node* const from = plan_link->link->from;
  return plan_link->death.fresh && !(from && plan->nodes[from->plan_index].death.dying);
}

/// True for the fade-in of a new connection.  A gain change of an active connection is not delayed.
static bool
is_coming(const PlanAim* const aim)
{
  return aim->link->gain == 0.0F;
}

/// Number of frames by which all fades can start earlier.
static uint32_t
slack(const Plan* const plan, const uint32_t* const when)
{
  uint32_t least = UINT32_MAX;
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    const Link* const link = plan->aims[a].link;
    const uint32_t spare = when[graph_index(link->to, plan->n_nodes)] - link->mix.delay_frames;
    least = is_coming(&plan->aims[a]) && spare < least ? spare : least;
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const uint32_t spare = when[graph_index(plan->links[l].link->to, plan->n_nodes)];
    least = is_leaving(plan, &plan->links[l]) && spare < least ? spare : least;
  }
  return least;
}

bool
graph_schedule_fades(Graph* const graph, const uint32_t* const order)
{
  Plan* const plan = graph->plan;
  const uint32_t* const when = compute_times(graph, order);
  if (!when) {
    return false;
  }
  const uint32_t spare = slack(plan, when);
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    if (is_coming(&plan->aims[a])) {
      plan->aims[a].hold_frames = when[graph_index(plan->aims[a].link->to, plan->n_nodes)] - spare;
    }
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    PlanLink* const plan_link = &plan->links[l];
    if (is_leaving(plan, plan_link)) {
      PlanAim* const aim = graph_aim(graph, plan_link->link, 0.0F);
      aim->hold_frames = when[graph_index(plan_link->link->to, plan->n_nodes)] - spare;
      plan_link->death.expires = (uint64_t)aim->hold_frames + graph->ramp_frames;
    }
  }
  return true;
}
