// SPDX-License-Identifier: GPL-3.0-or-later
// The connections of a plan: connections that continue from the previous plan, and new ones that
// fade in.

#include "plan_graph.h"

#include <math.h>
#include <stdlib.h>

bool
graph_is_continuing(const Graph* const graph, const Node* const node)
{
  const Plan* const previous = graph->request->previous;
  if (!previous || !node) {
    return previous != NULL;
  }
  const int old = plan_find(previous, node->uid);
  return old >= 0 && previous->nodes[old].node == node;
}

bool
graph_has_link(const Plan* const plan, const Link* const link)
{
  return link->plan_index < plan->n_links && plan->links[link->plan_index].link == link;
}

PlanAim*
graph_aim(Graph* const graph, Link* const link, const float target)
{
  Plan* const plan = graph->plan;
  PlanAim* const aim = &plan->aims[plan->n_aims++];
  *aim = (PlanAim){ .link = link, .target = target, .frames = graph->ramp_frames };
  return aim;
}

uint32_t
graph_latency_at(const Plan* const plan, const Node* const node)
{
  if (!node) {
    return plan->latency_frames;
  }
  const int index = plan_find(plan, node->uid);
  return index >= 0 ? plan->nodes[index].latency_in : 0U;
}

/// All members that must be equal for one link to continue as another.
typedef struct LinkKey {
  uint64_t of[8];
} LinkKey;

static LinkKey
key_of(const Link* const link)
{
  return (LinkKey){ { (uintptr_t)link->from, (uintptr_t)link->to,
                      link->mix.delay_frames ? (uintptr_t)link->backend : 0U, link->from_first,
                      link->n_from, link->to_first, link->n_to, link->mix.delay_frames } };
}

static int
compare_links(const Link* const a, const Link* const b)
{
  const LinkKey left = key_of(a);
  const LinkKey right = key_of(b);
  for (uint32_t i = 0; i < ARRAY_LEN(left.of); ++i) {
    if (left.of[i] != right.of[i]) {
      return left.of[i] < right.of[i] ? -1 : 1;
    }
  }
  return 0;
}

static int
compare_plan_links(const void* const a, const void* const b)
{
  return compare_links((*(const PlanLink* const*)a)->link, (*(const PlanLink* const*)b)->link);
}

/// The living links of the previous plan, sorted for old_links_find().
typedef struct OldLinks {
  const PlanLink** sorted;
  uint32_t n;
} OldLinks;

static OldLinks
old_links_new(const Graph* const graph)
{
  const Plan* const previous = graph->request->previous;
  OldLinks old = { 0 };
  if (previous) {
    old.sorted = arena_take(graph->scratch, previous->n_links, sizeof(PlanLink*));
    for (uint32_t l = 0; old.sorted && l < previous->n_links; ++l) {
      if (!previous->links[l].death.dying) {
        old.sorted[old.n++] = &previous->links[l];
      }
    }
    if (old.n) {
      qsort(old.sorted, old.n, sizeof(PlanLink*), compare_plan_links);
    }
  }
  return old;
}

/// Find the first link equal to `like` that the plan has not taken over yet.  There can be several:
/// with one input, `in` and `in:1` are equal links of two connections.
static const PlanLink*
old_links_find(const OldLinks* const old, const Plan* const plan, const Link* const like)
{
  uint32_t low = 0;
  for (uint32_t high = old->n; low < high;) {
    const uint32_t middle = low + (high - low) / 2U;
    if (compare_links(old->sorted[middle]->link, like) < 0) {
      low = middle + 1U;
    } else {
      high = middle;
    }
  }
  while (low < old->n && graph_has_link(plan, old->sorted[low]->link)) {
    ++low;
  }
  return low < old->n && !compare_links(old->sorted[low]->link, like) ? old->sorted[low] : NULL;
}

static float
gain_of(const RackEdge* const edge, const bool is_heard)
{
  return is_heard ? (float)pow(10.0, edge->gain_db / 20.0) : 0.0F;
}

static Status
resolve_link(Graph* const graph, const OldLinks* const old, const uint32_t e, const bool is_heard,
             Error* const error)
{
  Plan* const plan = graph->plan;
  Route* const route = &graph->routes[e];
  Link* const like = &route->like;
  like->from = route->from == GRAPH_IN ? NULL : plan->nodes[route->from].node;
  like->to = route->to == GRAPH_OUT ? NULL : plan->nodes[route->to].node;
  like->backend = like->to ? like->to->backend : plan->out_backend;
  const uint32_t latency_to = like->to ? plan->nodes[route->to].latency_in : plan->latency_frames;
  like->mix.delay_frames = route->delay_frames =
      latency_to - (like->from ? graph->latency_out[route->from] : 0U);

  const float gain = gain_of(&graph->rack->edges[e], is_heard);
  const PlanLink* const before = old_links_find(old, plan, like);
  Link* link = before ? before->link : NULL;
  if (link) {
    ++link->refs;
  } else {
    // A new link from a node that continues fades in.  A new node starts with silence, so that its
    // links need no fade.
    const bool fades = graph_is_continuing(graph, like->from);
    const Status status = link_new(like, fades ? 0.0F : gain, route->delay_frames,
                                   graph->request->format->block_frames, &link, error);
    if (status) {
      return status;
    }
  }
  if (link->gain != gain) {
    graph_aim(graph, link, gain);
  }
  link->plan_index = plan->n_links;
  plan->links[plan->n_links] = before ? *before : (PlanLink){ .link = link };
  ++plan->n_links;
  return STATUS_OK;
}

/// True for a connection to a side input of a node whose plugin is missing.
static bool
is_unheard(const Graph* const graph, const uint32_t e)
{
  const uint32_t to = graph->routes[e].to;
  return graph->rack->edges[e].to.side && graph->rack->nodes[to].fx->is_missing;
}

Status
graph_make_links(Graph* const graph, Error* const error)
{
  const OldLinks old = old_links_new(graph);
  const bool* const is_heard = graph_find_heard(graph);
  if (graph->scratch->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  Status status = STATUS_OK;
  for (uint32_t e = 0; !status && e < graph->rack->n_edges; ++e) {
    if (!is_unheard(graph, e)) {
      status = resolve_link(graph, &old, e, is_heard[e], error);
    }
  }
  return status;
}
