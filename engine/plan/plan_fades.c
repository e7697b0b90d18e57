// SPDX-License-Identifier: GPL-3.0-or-later
/*
  The times of fades.  They make old and new connections cross-fade at the same time although the
  latencies differ.

  The change passes through the rack like the signal.  It reaches vertex v (a node's input, or the
  rack's output) when[v] frames after a reference frame, which is the same for all vertices.  Each
  connection to v that comes, leaves or changes its gain fades at that time.

  - At a vertex of the previous plan, when[v] is its latency in that plan.  So its old inputs, those
    from dying nodes too, play the old rack until the fade begins.
  - A new node begins so early that its sound reaches the next vertex when the change does.  If it
    leads to several vertices that need it at different times, it begins one fade before the first
    of these times, and its connections fade in like those of other nodes.

  One change at a time passes through the rack: Plan::settled.  Only changes that arrive at once
  everywhere may overlap.
*/

#include "plan_graph.h"

/// True for a node that is new in this plan.
static bool
is_new(const Graph* const graph, const PlanNode* const plan_node)
{
  return !plan_node->death.dying && !graph_is_continuing(graph, plan_node->node);
}

static bool
is_from_new(const Graph* const graph, const Link* const link)
{
  return link->from && is_new(graph, &graph->plan->nodes[link->from->plan_index]);
}

static int64_t
earlier(const int64_t a, const int64_t b)
{
  return a < b ? a : b;
}

static int64_t
later(const int64_t a, const int64_t b)
{
  return a > b ? a : b;
}

// ---- times ----

/// The first and the last of the times at which the input of a vertex would have to begin, so that
/// its sound reaches each of the next vertices in time.  For a vertex of the previous plan, both
/// are its time.
typedef struct Due {
  int64_t first, last;
} Due;

/// Frames from the input of a connection's source, which is a node, to its target.
static uint32_t
way_of(const Plan* const plan, const Link* const link)
{
  return plan->nodes[link->from->plan_index].latency_frames + link->mix.delay_frames;
}

/// The time of a new node.
static int64_t
begin_new(const Graph* const graph, const uint32_t v, Due* const due)
{
  const Plan* const plan = graph->plan;
  if (due->first > due->last) { // it leads to nothing
    const int64_t out = graph_latency_at(graph->request->previous, NULL);
    due->first = due->last = out + plan->nodes[v].latency_in - plan->latency_frames;
  }
  return due->first < due->last ? due->first - graph->ramp_frames : due->first;
}

/// Compute the time of vertex v, and when the new nodes that lead to it are due.
static void
compute_time(const Graph* const graph, const uint32_t v, Due* const dues, int64_t* const when)
{
  const Plan* const plan = graph->plan;
  const EdgeGroups* const in_links = &graph->in_links;
  const PlanNode* const plan_node = v < plan->n_nodes ? &plan->nodes[v] : NULL;
  if (plan_node && is_new(graph, plan_node)) {
    when[v] = begin_new(graph, v, &dues[v]);
  } else {
    const bool is_dying = plan_node && plan_node->death.dying;
    when[v] = is_dying
                  ? plan_node->latency_in
                  : graph_latency_at(graph->request->previous, plan_node ? plan_node->node : NULL);
    dues[v] = (Due){ when[v], when[v] };
  }
  for (uint32_t i = in_links->first[v]; i < in_links->first[v + 1U]; ++i) {
    const Link* const link = plan->links[in_links->list[i]].link;
    if (is_from_new(graph, link)) {
      Due* const due = &dues[link->from->plan_index];
      const int64_t way = way_of(plan, link);
      due->first = earlier(dues[v].first - way, due->first);
      due->last = later(dues[v].last - way, due->last);
    }
  }
}

static const int64_t*
compute_times(const Graph* const graph, const uint32_t* const order)
{
  const uint32_t out = graph->plan->n_nodes;
  Due* const dues = arena_take(graph->scratch, out + 1U, sizeof(Due));
  int64_t* const when = arena_take(graph->scratch, out + 1U, sizeof(int64_t));
  if (!dues || !when) {
    return NULL;
  }
  for (uint32_t v = 0; v <= out; ++v) {
    dues[v] = (Due){ INT64_MAX, INT64_MIN };
  }
  compute_time(graph, out, dues, when);
  for (uint32_t i = out; i-- > 0U;) {
    compute_time(graph, order[i], dues, when);
  }
  return when;
}

// ---- fades ----

/// True for a connection from a living node that fades out with this plan.
static bool
is_leaving(const Plan* const plan, const PlanLink* const plan_link)
{
  const Node* const from = plan_link->link->from;
  return plan_link->death.fresh && !(from && plan->nodes[from->plan_index].death.dying);
}

/// True for a connection from a new node that sounds before the target needs it.
static bool
is_early(const Graph* const graph, const PlanLink* const plan_link, const int64_t* const when)
{
  const Plan* const plan = graph->plan;
  const Link* const link = plan_link->link;
  return is_from_new(graph, link) && when[link->from->plan_index] + way_of(plan, link) <
                                         when[graph_index(link->to, plan->n_nodes)];
}

/// Add the fades of connections that leave, and of those from new nodes that sound early.  Those of
/// other new connections, and changes of gains, are in the plan.
static void
add_fades(Graph* const graph, const int64_t* const when)
{
  Plan* const plan = graph->plan;
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    Link* const link = plan->links[l].link;
    if (is_leaving(plan, &plan->links[l])) {
      graph_aim(graph, link, 0.0F);
    } else if (link->gain != 0.0F && is_early(graph, &plan->links[l], when)) {
      graph_aim(graph, link, link->gain);
      link_mute(link);
    }
  }
}

/// Number of frames by which all fades can start earlier; INT64_MAX if nothing fades.  A new
/// connection fades in when its delay line has filled.
static int64_t
slack(const Plan* const plan, const int64_t* const when)
{
  int64_t least = INT64_MAX;
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    const Link* const link = plan->aims[a].link;
    const uint32_t fills = link->refs == 1U ? link->mix.delay_frames : 0U;
    least = earlier(when[graph_index(link->to, plan->n_nodes)] - fills, least);
  }
  return least;
}

/// The time at which the change arrives last: with a fade, out of a new node, or through a
/// connection whose source comes or goes.
static int64_t
last_arrival(const Graph* const graph, const int64_t* const when)
{
  const Plan* const plan = graph->plan;
  int64_t last = INT64_MIN;
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    last = later(when[graph_index(plan->aims[a].link->to, plan->n_nodes)], last);
  }
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    if (is_new(graph, &plan->nodes[n])) {
      last = later(when[n] + plan->nodes[n].latency_frames, last);
    }
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const PlanLink* const plan_link = &plan->links[l];
    if (plan_link->death.fresh || is_from_new(graph, plan_link->link)) {
      last = later(when[graph_index(plan_link->link->to, plan->n_nodes)], last);
    }
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

/// True if a fade of a connection may still run when those of this plan begin.  It ignores the
/// fade of a connection that ends with a tail.
static bool
may_run(const Graph* const graph, const PlanLink* const plan_link)
{
  const uint64_t now = graph->request->now_frame;
  return plan_link->fades && plan_link->fades <= now &&
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
    const Node* const from = plan_link->link->from;
    const bool is_tail = from && plan->nodes[from->plan_index].death.dying;
    if (!is_aimed[l] && !is_tail && may_run(graph, plan_link)) {
      graph_aim(graph, plan_link->link, plan_link->link->gain)->restarts = true;
      if (plan_link->death.dying) {
        plan_link->death.fresh = true;
        plan_link->death.expires = graph->ramp_frames;
        plan_link->death.tail = plan_link->death.expires;
        is_longer[graph_index(plan_link->link->to, plan->n_nodes)] = true;
      }
    }
  }
  if (!graph->request->end_tails) { // else they fade out at once
    let_die_later(graph, order, is_longer);
  }
  return true;
}

// ---- all fades ----

/// True if the level would move when the fades of this plan begin during those that still run: if
/// this plan fades a connection whose source still fades in, or if a node dies while a connection
/// from it fades.
static bool
must_wait(const Graph* const graph)
{
  const Plan* const plan = graph->plan;
  const uint64_t longest = (uint64_t)(LONGEST_FADES + 1U) * graph->ramp_frames;
  bool must = false;
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    const Node* const from = plan->aims[a].link->from;
    must = must || (from && from->came && graph->request->now_frame < from->came + longest);
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    const PlanLink* const plan_link = &plan->links[l];
    const Node* const from = plan_link->link->from;
    must = must || (from && plan->nodes[from->plan_index].death.fresh && may_run(graph, plan_link));
  }
  return must;
}

/// Let the fades begin `spare` frames earlier than when[].
static void
time_fades(const Graph* const graph, const int64_t* const when, const int64_t spare)
{
  Plan* const plan = graph->plan;
  for (uint32_t a = 0; a < plan->n_aims; ++a) {
    PlanAim* const aim = &plan->aims[a];
    Death* const death = &plan->links[aim->link->plan_index].death;
    aim->hold_frames = (uint32_t)(when[graph_index(aim->link->to, plan->n_nodes)] - spare);
    if (death->fresh) {
      death->expires = death->tail = (uint64_t)aim->hold_frames + graph->ramp_frames;
    }
  }
}

bool
graph_schedule_fades(Graph* const graph, const uint32_t* const order)
{
  Plan* const plan = graph->plan;
  const Plan* const previous = graph->request->previous;
  plan->fades_at_once = true;
  if (!previous) {
    return true;
  }
  const uint64_t now = graph->request->now_frame;
  const uint64_t left = previous->settled > now ? previous->settled - now : 0U;
  const int64_t* const when = compute_times(graph, order);
  if (!when) {
    return false;
  }
  add_fades(graph, when);
  const int64_t spare = slack(plan, when);
  const bool fades = plan->n_aims > 0U;
  const uint32_t lasts = fades ? (uint32_t)(last_arrival(graph, when) - spare) : 0U;
  const bool waits = (lasts || must_wait(graph)) && !graph->request->lost;
  const uint32_t wait = waits ? (uint32_t)left : 0U;
  plan->fade_frames = fades ? wait + lasts + graph->ramp_frames : 0U;
  plan->fades_at_once = !lasts && !wait && (!left || previous->fades_at_once);
  plan->settled = previous->settled;
  time_fades(graph, when, spare - wait);
  return !fades || !plan->fades_at_once || restart_fades(graph, order);
}
