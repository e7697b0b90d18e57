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

  One change at a time passes through the rack: Plan::settled.  Only changes that arrive at once
  everywhere may overlap.
*/

#include "plan_graph.h"

/// True for a node that is new or dying in this plan.
static bool
comes_or_goes(const Graph* const graph, const PlanNode* const plan_node)
{
  return plan_node->death.dying ? plan_node->death.fresh
                                : !graph_is_continuing(graph, plan_node->node);
}

static uint32_t
later(const uint32_t a, const uint32_t b)
{
  return a > b ? a : b;
}

/// The longer of the latencies at a vertex in the old and in the new plan, in frames.
static uint32_t
longer_latency(const Graph* const graph, const Node* const node, const uint32_t now)
{
  if (!graph_is_continuing(graph, node)) {
    return now;
  }
  return later(graph_latency_at(graph->request->previous, node), now);
}

// ---- times ----

/// True for a connection that an earlier plan has left: it is silent when the change arrives.
static bool
is_left(const PlanLink* const plan_link)
{
  return plan_link->death.dying && !plan_link->death.fresh;
}

/// True if the change passes through a connection, because its source comes or goes.
static bool
passes(const Graph* const graph, const PlanLink* const plan_link)
{
  const Node* const from = plan_link->link->from;
  return from && !is_left(plan_link) && comes_or_goes(graph, &graph->plan->nodes[from->plan_index]);
}

/// Compute the times of the nodes that lead to vertex v, backwards from its known time.
static void
compute_backwards(const Graph* const graph, const uint32_t v, uint32_t* const when)
{
  const Plan* const plan = graph->plan;
  const EdgeGroups* const in_links = &graph->in_links;
  for (uint32_t i = in_links->first[v]; i < in_links->first[v + 1U]; ++i) {
    const PlanLink* const plan_link = &plan->links[in_links->list[i]];
    const Link* const link = plan_link->link;
    if (passes(graph, plan_link)) {
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

/// The time at which the change arrives last; 0 if nothing fades.
static uint32_t
last_arrival(const Graph* const graph, const uint32_t* const when)
{
  const Plan* const plan = graph->plan;
  uint32_t last = 0;
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    const uint32_t at = when[graph_index(plan->aims[a].link->to, plan->n_nodes)];
    last = is_coming(&plan->aims[a]) ? later(at, last) : last;
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const PlanLink* const plan_link = &plan->links[l];
    const uint32_t at = when[graph_index(plan_link->link->to, plan->n_nodes)];
    last = is_leaving(plan, plan_link) || passes(graph, plan_link) ? later(at, last) : last;
  }
  return last;
}

// ---- fades that run already ----

/// How long a fade may be put off by later ones, in fades.  Even in an endless stream of edits its
/// rest is below 0.3 % by then.
#define LONGEST_FADES 3U

/// A dying node gets sound for longer: graph_schedule_deaths() schedules its end again, and that of
/// its connections.
static void
die_later(const Graph* const graph, PlanNode* const dead, bool* const is_longer)
{
  const Plan* const plan = graph->plan;
  dead->death.fresh = true;
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    PlanLink* const plan_link = &plan->links[l];
    if (plan_link->link->from == dead->node && plan_link->death.dying) {
      plan_link->death.fresh = true;
      is_longer[graph_index(plan_link->link->to, plan->n_nodes)] = true;
    }
  }
}

/// Call die_later() for the dying nodes with `is_longer`, and for the nodes to which they lead.
static void
let_die_later(const Graph* const graph, const uint32_t* const order, bool* const is_longer)
{
  for (uint32_t i = 0; i < graph->plan->n_nodes; ++i) {
    PlanNode* const plan_node = &graph->plan->nodes[order[i]];
    if (is_longer[order[i]] && plan_node->death.dying && !plan_node->death.fresh) {
      die_later(graph, plan_node, is_longer);
    }
  }
}

/// True if a fade of a connection from a living node may run when those of this plan begin.
static bool
may_run(const Graph* const graph, const PlanLink* const plan_link)
{
  const uint64_t now = graph->request->now_frame;
  const Node* const from = plan_link->link->from;
  const bool is_tail = from && graph->plan->nodes[from->plan_index].death.dying;
  return !is_tail && plan_link->fades && plan_link->fades <= now &&
         now < plan_link->fades + (uint64_t)(LONGEST_FADES + 1U) * graph->ramp_frames;
}

/// Let the fades of earlier plans that still run begin again together with those of this plan,
/// which all begin at once.  Otherwise an edit during the fades of another one would make the sum
/// of the paths up to a tenth too large or too small.  Returns false if out of memory.
static bool
restart_fades(Graph* const graph, const uint32_t* const order)
{
  Plan* const plan = graph->plan;
  bool* const is_aimed = arena_take(graph->scratch, plan->n_links + 1U, sizeof(bool));
  bool* const is_longer = arena_take(graph->scratch, plan->n_nodes + 1U, sizeof(bool));
  if (!is_aimed || !is_longer) {
    return false;
  }
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    is_aimed[plan->aims[a].link->plan_index] = true;
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    PlanLink* const plan_link = &plan->links[l];
    if (!is_aimed[l] && may_run(graph, plan_link)) {
      graph_aim(graph, plan_link->link, plan_link->link->gain)->restarts = true;
      if (plan_link->death.dying) {
        plan_link->death.fresh = true;
        plan_link->death.expires = graph->ramp_frames;
        plan_link->death.tail = plan_link->death.expires;
        is_longer[graph_index(plan_link->link->to, plan->n_nodes)] = true;
      }
    }
  }
  let_die_later(graph, order, is_longer);
  return true;
}

// ---- all fades ----

/// Let the fades begin `spare` frames earlier than when[].
static void
time_fades(Graph* const graph, const uint32_t* const when, const int64_t spare)
{
  Plan* const plan = graph->plan;
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    PlanAim* const aim = &plan->aims[a];
    if (is_coming(aim)) {
      aim->hold_frames = (uint32_t)(when[graph_index(aim->link->to, plan->n_nodes)] - spare);
    }
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    PlanLink* const plan_link = &plan->links[l];
    if (is_leaving(plan, plan_link)) {
      PlanAim* const aim = graph_aim(graph, plan_link->link, 0.0F);
      aim->hold_frames = (uint32_t)(when[graph_index(plan_link->link->to, plan->n_nodes)] - spare);
      plan_link->death.expires = (uint64_t)aim->hold_frames + graph->ramp_frames;
      plan_link->death.tail = plan_link->death.expires;
    }
  }
}

bool
graph_schedule_fades(Graph* const graph, const uint32_t* const order)
{
  Plan* const plan = graph->plan;
  const Plan* const previous = graph->request->previous;
  const uint64_t now = graph->request->now_frame;
  const uint64_t left = previous && previous->settled > now ? previous->settled - now : 0U;
  const uint32_t* const when = compute_times(graph, order);
  if (!when) {
    return false;
  }
  const uint32_t spare = slack(plan, when);
  const uint32_t last = last_arrival(graph, when);
  const bool fades = previous && spare != UINT32_MAX;
  const uint32_t lasts = fades && last > spare ? last - spare : 0U;
  // Fades that do not begin at once everywhere come after those that still run.
  const uint32_t wait = lasts && !graph->request->lost ? (uint32_t)left : 0U;
  plan->fade_frames = fades ? wait + lasts + graph->ramp_frames : 0U;
  plan->fades_at_once = !lasts && (!left || previous->fades_at_once);
  plan->settled = previous ? previous->settled : 0U;
  time_fades(graph, when, (int64_t)spare - wait);
  return !fades || !plan->fades_at_once || restart_fades(graph, order);
}
