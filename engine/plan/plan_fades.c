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
  latency at v.  A change never overtakes one of an earlier plan that is still to arrive at v: it
  comes a fade and a block after that.
*/

#include "plan_graph.h"

#define LONGEST_WAIT_SECONDS 4.0 // of a fade, for fades of earlier plans
#define MAKING_FADES         2U  // time until a plan is active, in fades, usually at most
#define MAX_ON_THE_WAY       8U  // changes that are on their way to the same vertex

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

/// A fade at a node that comes or goes arrives at the vertices behind it, too.
static void
pass_on_earliest(const Graph* const graph, const uint32_t v, uint32_t* const earliest)
{
  const Plan* const plan = graph->plan;
  const EdgeGroups* const in_links = &graph->in_links;
  for (uint32_t i = in_links->first[v]; i < in_links->first[v + 1U]; ++i) {
    const Link* const link = plan->links[in_links->list[i]].link;
    const uint32_t from = link->from ? link->from->plan_index : 0U;
    if (link->from && earliest[from] && comes_or_goes(graph, &plan->nodes[from])) {
      const uint32_t way = plan->nodes[from].latency_frames + link->mix.delay_frames;
      earliest[v] = later(earliest[v], earliest[from] + way);
    }
  }
}

// ---- changes that have not begun ----

/// True if the last fade of a connection belongs to a change of which nothing will have begun when
/// this plan becomes active.
static bool
is_pending(const Graph* const graph, const PlanLink* const plan_link)
{
  const Node* const from = plan_link->link->from;
  const Death* const death = from ? &graph->plan->nodes[from->plan_index].death : NULL;
  if (death && death->dying && !death->fresh) {
    return false; // the fade after the node's tail has taken its place
  }
  const uint64_t making = (uint64_t)MAKING_FADES * graph->ramp_frames;
  return plan_link->begins > graph->request->now_frame + making;
}

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

/// The aim of a link; a new one if the plan has none.
static PlanAim*
find_aim(Graph* const graph, Link* const link)
{
  for (uint32_t a = 0; a < graph->plan->n_aims; ++a) {
    if (graph->plan->aims[a].link == link) {
      return &graph->plan->aims[a];
    }
  }
  return graph_aim(graph, link, link->gain);
}

/// Replace changes of earlier plans that have not begun, if this plan removes what one of them
/// adds: their fades begin with those of this plan, and what they add and this plan removes ends
/// without having played.  Returns false if out of memory.
static bool
replace_pending(Graph* const graph, const uint32_t* const order)
{
  Plan* const plan = graph->plan;
  bool* const is_longer = arena_take(graph->scratch, plan->n_nodes + 1U, sizeof(bool));
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const PlanLink* const plan_link = &plan->links[l];
    graph->replaces = graph->replaces || (plan_link->death.fresh && is_pending(graph, plan_link));
  }
  for (uint32_t l = 0; is_longer && graph->replaces && l < plan->n_links; ++l) {
    PlanLink* const plan_link = &plan->links[l];
    if (!is_pending(graph, plan_link)) {
      continue;
    }
    plan_link->death.is_unheard = plan_link->death.fresh;
    if (!plan_link->death.dying) {
      PlanAim* const aim = find_aim(graph, plan_link->link);
      aim->replaces = true;
      aim->before = plan_link->before;
    } else if (!plan_link->death.fresh) {
      plan_link->death.fresh = true;
      is_longer[graph_index(plan_link->link->to, plan->n_nodes)] = true;
    }
  }
  if (is_longer) {
    let_die_later(graph, order, is_longer);
  }
  return is_longer != NULL;
}

/// Take back what this plan has replaced: connections that were still to fade in.
static void
drop_unheard(Graph* const graph)
{
  Plan* const plan = graph->plan;
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    PlanLink* const plan_link = &plan->links[l];
    if (plan_link->death.fresh && plan_link->death.is_unheard) {
      PlanAim* const aim = graph_aim(graph, plan_link->link, 0.0F);
      aim->replaces = true;
      aim->before = plan_link->before;
      plan_link->death.expires = graph->ramp_frames;
      plan_link->fades = plan_link->begins = 0U;
    }
  }
}

// ---- times ----

/// The earliest time of a fade at each vertex: after the fades of earlier plans, unless edits that
/// follow one another quickly have put these off too far; not before the fades that this plan
/// replaces.  NULL if out of memory.
static uint32_t*
compute_earliest(Graph* const graph, const uint32_t* const order)
{
  const Plan* const plan = graph->plan;
  const uint64_t now = graph->request->now_frame;
  const uint32_t distance = later(graph->ramp_frames + graph->request->format->block_frames,
                                  plan->latency_frames / MAX_ON_THE_WAY);
  const uint64_t longest = (uint64_t)(LONGEST_WAIT_SECONDS * graph->request->format->rate_hz);
  const Plan* const previous = graph->request->previous;
  const uint32_t latency = later(plan->latency_frames, previous ? previous->latency_frames : 0U);
  const uint64_t allowed = latency + (uint64_t)MAX_ON_THE_WAY * distance;
  uint32_t* const earliest = arena_take(graph->scratch, plan->n_nodes + 1U, sizeof(uint32_t));
  for (uint32_t l = 0; earliest && l < plan->n_links; ++l) {
    const PlanLink* const plan_link = &plan->links[l];
    const uint64_t wait = plan_link->fades > now ? plan_link->fades - now : 0U;
    graph->is_late = graph->is_late || wait > allowed;
    if (wait && wait < longest) {
      const uint32_t until = (uint32_t)(plan_link->fades - now);
      const uint32_t after =
          until + (graph->replaces && is_pending(graph, plan_link) ? 0U : distance);
      uint32_t* const at = &earliest[graph_index(plan_link->link->to, plan->n_nodes)];
      *at = later(after, *at);
    }
  }
  for (uint32_t i = 0; earliest && i < plan->n_nodes; ++i) {
    pass_on_earliest(graph, order[i], earliest);
  }
  if (earliest) {
    pass_on_earliest(graph, plan->n_nodes, earliest);
  }
  return earliest;
}

/// Compute the times of the nodes that lead to vertex v, backwards from its known time.  A
/// connection that an earlier plan has left is silent when the change arrives.
static void
compute_backwards(const Graph* const graph, const uint32_t v, uint32_t* const when)
{
  const Plan* const plan = graph->plan;
  const EdgeGroups* const in_links = &graph->in_links;
  for (uint32_t i = in_links->first[v]; i < in_links->first[v + 1U]; ++i) {
    const PlanLink* const plan_link = &plan->links[in_links->list[i]];
    const Link* const link = plan_link->link;
    const bool is_left = plan_link->death.dying && !plan_link->death.fresh;
    if (link->from && !is_left && comes_or_goes(graph, &plan->nodes[link->from->plan_index])) {
      const uint32_t from = link->from->plan_index;
      const uint32_t way = plan->nodes[from].latency_frames + link->mix.delay_frames;
      uint32_t* const at = &when[from];
      *at = when[v] > way && when[v] - way > *at ? when[v] - way : *at;
    }
  }
}

static uint32_t*
compute_times(const Graph* const graph, const uint32_t* const order, const uint32_t* const earliest)
{
  const Plan* const plan = graph->plan;
  uint32_t* const when = arena_take(graph->scratch, plan->n_nodes + 1U, sizeof(uint32_t));
  if (when) {
    for (uint32_t n = 0; n < plan->n_nodes; ++n) {
      const PlanNode* const plan_node = &plan->nodes[n];
      when[n] = later(longer_latency(graph, plan_node->node, plan_node->latency_in), earliest[n]);
    }
    when[plan->n_nodes] =
        later(longer_latency(graph, NULL, plan->latency_frames), earliest[plan->n_nodes]);
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
  return plan_link->death.fresh && !plan_link->death.is_unheard &&
         !(from && plan->nodes[from->plan_index].death.dying);
}

/// True for the fade-in of a new connection.  A gain change of an active connection is not delayed.
static bool
is_coming(const PlanAim* const aim)
{
  return aim->link->gain == 0.0F || aim->replaces;
}

/// Number of frames by which all fades can start earlier.
static uint32_t
slack(const Plan* const plan, const uint32_t* const when, const uint32_t* const earliest)
{
  uint32_t least = UINT32_MAX;
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    const Link* const link = plan->aims[a].link;
    const uint32_t to = graph_index(link->to, plan->n_nodes);
    const uint32_t spare = when[to] - later(link->mix.delay_frames, earliest[to]);
    least = is_coming(&plan->aims[a]) && spare < least ? spare : least;
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const uint32_t to = graph_index(plan->links[l].link->to, plan->n_nodes);
    const uint32_t spare = when[to] - earliest[to];
    least = is_leaving(plan, &plan->links[l]) && spare < least ? spare : least;
  }
  return least;
}

// ---- fades that run already ----

#define NO_HOLD UINT32_MAX

/// How long a fade may be put off by later ones, in fades.  Even in an endless stream of edits its
/// rest is below 0.3 % by then.
#define LONGEST_FADES 3U

/// The frames before the fades of this plan; NO_HOLD if there are none, or not at the same time.
static uint32_t
common_hold(const Plan* const plan)
{
  uint32_t hold = NO_HOLD;
  bool is_common = true;
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    const PlanAim* const aim = &plan->aims[a];
    const bool is_unheard = plan->links[aim->link->plan_index].death.is_unheard;
    if (!is_unheard && (is_coming(aim) || aim->target == 0.0F)) {
      is_common = is_common && (hold == NO_HOLD || hold == aim->hold_frames);
      hold = aim->hold_frames;
    }
  }
  return is_common ? hold : NO_HOLD;
}

/// True if a fade of a connection from a living node may run when those of this plan begin.
static bool
may_run(const Graph* const graph, const PlanLink* const plan_link, const uint32_t hold)
{
  const uint64_t now = graph->request->now_frame;
  const Node* const from = plan_link->link->from;
  const bool is_tail = from && graph->plan->nodes[from->plan_index].death.dying;
  return !is_tail && plan_link->fades && plan_link->fades <= now + hold &&
         now < plan_link->fades + (uint64_t)(LONGEST_FADES + 1U) * graph->ramp_frames;
}

/// Let the fades of earlier plans that still run begin again together with those of this plan.
/// Otherwise an edit during the fades of another one would make the sum of the paths up to a tenth
/// too large or too small.  The fades do not wait for each other, so that a stream of edits does
/// not queue.
static bool
restart_fades(Graph* const graph, const uint32_t* const order)
{
  Plan* const plan = graph->plan;
  const uint32_t hold = common_hold(plan);
  bool* const is_aimed = arena_take(graph->scratch, plan->n_links + 1U, sizeof(bool));
  bool* const is_longer = arena_take(graph->scratch, plan->n_nodes + 1U, sizeof(bool));
  if (!is_aimed || !is_longer) {
    return false;
  }
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    is_aimed[plan->aims[a].link->plan_index] = true;
  }
  for (uint32_t l = 0; hold != NO_HOLD && l < plan->n_links; ++l) {
    PlanLink* const plan_link = &plan->links[l];
    if (!is_aimed[l] && may_run(graph, plan_link, hold)) {
      PlanAim* const aim = graph_aim(graph, plan_link->link, plan_link->link->gain);
      aim->hold_frames = hold;
      aim->restarts = true;
      if (plan_link->death.dying) {
        plan_link->death.fresh = true;
        plan_link->death.expires = (uint64_t)hold + graph->ramp_frames;
        plan_link->death.tail = plan_link->death.expires;
        is_longer[graph_index(plan_link->link->to, plan->n_nodes)] = true;
      }
    }
  }
  let_die_later(graph, order, is_longer);
  return true;
}

// ---- all fades ----

bool
graph_schedule_fades(Graph* const graph, const uint32_t* const order)
{
  Plan* const plan = graph->plan;
  if (!replace_pending(graph, order)) {
    return false;
  }
  const uint32_t* const earliest = compute_earliest(graph, order);
  const uint32_t* const when = earliest ? compute_times(graph, order, earliest) : NULL;
  if (!when) {
    return false;
  }
  const uint32_t spare = slack(plan, when, earliest);
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
      aim->replaces = graph->replaces && is_pending(graph, plan_link);
      aim->before = plan_link->before;
      plan_link->death.expires = (uint64_t)aim->hold_frames + graph->ramp_frames;
      plan_link->death.tail = plan_link->death.expires;
    }
  }
  drop_unheard(graph);
  return restart_fades(graph, order);
}
