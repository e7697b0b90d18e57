// SPDX-License-Identifier: GPL-3.0-or-later
// First half of planning: old and new nodes and connections, with numbers of channels and
// latencies.

#include "plan_graph.h"

#include "engine/contract/node_switches.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static Status
find_routes(Graph* const graph, Error* const error)
{
  const Rack* const rack = graph->rack;
  uint32_t* const from = arena_take(graph->scratch, rack->n_edges, sizeof(uint32_t));
  uint32_t* const to = arena_take(graph->scratch, rack->n_edges, sizeof(uint32_t));
  uint32_t* const rank = arena_take(graph->scratch, rack->n_nodes, sizeof(uint32_t));
  graph->routes = arena_take(graph->scratch, rack->n_edges, sizeof(Route));
  graph->order = arena_take(graph->scratch, rack->n_nodes, sizeof(uint32_t));
  graph->latency_out = arena_take(graph->scratch, rack->n_nodes, sizeof(uint32_t));
  if (graph->scratch->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    graph->routes[e].from = from[e] = rack_index_of(rack, rack->edges[e].from.uid, GRAPH_IN);
    graph->routes[e].to = rack_index_of(rack, rack->edges[e].to.uid, GRAPH_OUT);
    to[e] = graph->routes[e].to == GRAPH_OUT ? rack->n_nodes : graph->routes[e].to;
  }
  graph->in_edges = edges_group(graph->scratch, rack->n_nodes + 1U, to, rack->n_edges, NULL);
  const uint32_t n_ordered =
      edges_order(graph->scratch, rack->n_nodes, from, to, &graph->in_edges, rank, graph->order);
  if (graph->scratch->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  return n_ordered < rack->n_nodes ? error_set(error, STATUS_BAD_RACK, "the rack has a cycle")
                                   : STATUS_OK;
}

#define END_BYTES (RACK_NAME_BYTES + FX_SIDE_BYTES + 16U) // of the text of an end

static const char*
name_of(const Graph* const graph, const uint32_t index)
{
  return index == GRAPH_IN ? "in" : index == GRAPH_OUT ? "out" : graph->rack->nodes[index].name;
}

/// The name of the end that connection `e` leads to, with its side input.
static const char*
target_name(const Graph* const graph, const uint32_t e, char text[const END_BYTES])
{
  const uint32_t to = graph->routes[e].to;
  const uint32_t side = graph->rack->edges[e].to.side;
  snprintf(text, END_BYTES, "%s%s%s", name_of(graph, to), side ? "." : "",
           side ? graph->rack->nodes[to].fx->sides[side - 1U].name : "");
  return text;
}

static uint32_t
width_out(const Graph* const graph, const uint32_t index)
{
  return index == GRAPH_IN ? graph->request->format->n_in : graph->plan->nodes[index].node->n_out;
}

/// Refuse connection `e`, whose `channel` is beyond the `width` channels of the end `name`.
static Status
no_channel(const Graph* const graph, const uint32_t e, const char* const name,
           const uint32_t channel, const uint32_t width, Error* const error)
{
  graph->fault->edge = e + 1U;
  return error_set(error, STATUS_BAD_RACK, "%s:%u does not exist: %s has %u channel%s", name,
                   channel, name, width, width == 1U ? "" : "s");
}

/// Print an end of a connection as "gain", "gain:1" or "out:5-6".
static void
print_channels(const char* const name, const uint32_t first, const uint32_t n, char* const text,
               const size_t n_bytes)
{
  if (!n) {
    snprintf(text, n_bytes, "%s", name);
  } else {
    snprintf(text, n_bytes, n == 1U ? "%s:%u" : "%s:%u-%u", name, first + 1U, first + n);
  }
}

/// The channels of a vertex that a connection may lead to: those of its main inputs, or of a side
/// input.
typedef struct Target {
  uint32_t first, width; ///< As in Link
} Target;

static Status
widths_differ(const Graph* const graph, const uint32_t e, const Target* const target,
              Error* const error)
{
  const RackEdge* const edge = &graph->rack->edges[e];
  const Route* const route = &graph->routes[e];
  const Link* const like = &route->like;
  const char* const from = name_of(graph, route->from);
  const uint32_t to_first = like->to_first - target->first;
  const uint32_t n = like->n_from < like->n_to ? like->n_from : like->n_to;
  char to[END_BYTES];
  target_name(graph, e, to);
  char given[2][END_BYTES + 16U]; // as written in the rack
  print_channels(from, like->from_first, edge->from.first ? like->n_from : 0U, given[0],
                 sizeof(given[0]));
  print_channels(to, to_first, edge->to.first ? like->n_to : 0U, given[1], sizeof(given[1]));
  char picked[END_BYTES + 16U]; // of the wider end
  const bool is_from_wide = like->n_from > like->n_to;
  print_channels(is_from_wide ? from : to, is_from_wide ? like->from_first : to_first, n, picked,
                 sizeof(picked));
  graph->fault->edge = e + 1U;
  return error_set(error, STATUS_BAD_RACK,
                   "%s gives %u channels and %s takes %u; pick some, as in connect %s %s", given[0],
                   like->n_from, given[1], like->n_to, is_from_wide ? picked : given[0],
                   is_from_wide ? given[1] : picked);
}

/// Resolve the source channels of the edges to vertex v.  Sets *width to the number of channels
/// that they give its main inputs (0: no edges).
static Status
resolve_sources(Graph* const graph, const uint32_t v, uint32_t* const width, Error* const error)
{
  *width = 0;
  for (uint32_t i = graph->in_edges.first[v]; i < graph->in_edges.first[v + 1U]; ++i) {
    const uint32_t e = graph->in_edges.list[i];
    const RackEdge* const edge = &graph->rack->edges[e];
    Route* const route = &graph->routes[e];
    const uint32_t available = width_out(graph, route->from);
    if (edge->from.last > available) {
      return no_channel(graph, e, name_of(graph, route->from), edge->from.last, available, error);
    }
    route->like.from_first = edge->from.first ? edge->from.first - 1U : 0U;
    route->like.n_from = edge->from.first ? edge->from.last - edge->from.first + 1U : available;
    const uint32_t n_given = edge->to.first ? edge->to.last : route->like.n_from;
    const uint32_t needs = edge->to.side ? 0U : n_given;
    *width = needs > *width ? needs : *width;
  }
  return STATUS_OK;
}

/// Resolve the destination channels of edge `e`.
static Status
resolve_destination(const Graph* const graph, const uint32_t e, const Target* const target,
                    Error* const error)
{
  const RackEdge* const edge = &graph->rack->edges[e];
  const Route* const route = &graph->routes[e];
  Link* const like = &graph->routes[e].like;
  const bool to_the_output = route->to == GRAPH_OUT;
  const uint32_t first = edge->to.first ? edge->to.first - 1U : 0U;
  like->to_first = target->first + first;
  like->n_to = edge->to.first ? edge->to.last - first : target->width;
  if (!edge->to.first && to_the_output && like->n_from > 1U && like->n_from < target->width) {
    like->n_to =
        like->n_from; // a stereo rack plays on the first two outputs of a device with eight
  }
  if (first + like->n_to > target->width) {
    char name[END_BYTES];
    return no_channel(graph, e, target_name(graph, e, name), edge->to.last, target->width, error);
  }
  if (like->n_from != like->n_to && like->n_from != 1U) {
    return widths_differ(graph, e, target, error);
  }
  return STATUS_OK;
}

/// Resolve the destination channels of the edges to the main inputs of vertex v, which has `width`
/// channels.
static Status
resolve_destinations(const Graph* const graph, const uint32_t v, const uint32_t width,
                     Error* const error)
{
  const Target target = { .width = width };
  Status status = STATUS_OK;
  for (uint32_t i = graph->in_edges.first[v]; !status && i < graph->in_edges.first[v + 1U]; ++i) {
    const uint32_t e = graph->in_edges.list[i];
    if (!graph->rack->edges[e].to.side) {
      status = resolve_destination(graph, e, &target, error);
    }
  }
  return status;
}

/// Resolve the destination channels of the edges to the side inputs of node v.
static Status
resolve_sides(const Graph* const graph, const uint32_t v, Error* const error)
{
  const Node* const node = graph->plan->nodes[v].node;
  Status status = STATUS_OK;
  for (uint32_t i = graph->in_edges.first[v]; !status && i < graph->in_edges.first[v + 1U]; ++i) {
    const uint32_t e = graph->in_edges.list[i];
    const uint32_t side = graph->rack->edges[e].to.side;
    if (side && !node->fx->is_missing) {
      Target target = { node->n_in, node_side_channels(node, side - 1U) };
      for (uint32_t s = 0; s + 1U < side; ++s) {
        target.first += node_side_channels(node, s);
      }
      status = resolve_destination(graph, e, &target, error);
    }
  }
  return status;
}

/// The longest latency of the inputs of vertex v, in frames.
static uint32_t
latency_at(const Graph* const graph, const uint32_t v)
{
  uint32_t latency = 0;
  for (uint32_t i = graph->in_edges.first[v]; i < graph->in_edges.first[v + 1U]; ++i) {
    const uint32_t from = graph->routes[graph->in_edges.list[i]].from;
    if (from != GRAPH_IN && graph->latency_out[from] > latency) {
      latency = graph->latency_out[from];
    }
  }
  return latency;
}

/// Outputs for a node whose plugin is missing: as many as inputs, but all that connections name,
/// and no more than they take where they name channels of their targets only.
static uint32_t
missing_width(const Graph* const graph, const uint32_t v, const uint32_t n_in)
{
  const Rack* const rack = graph->rack;
  const uint32_t n_out = graph->request->format->n_out; // 0: not known
  uint32_t named = 1;
  uint32_t taken = n_in;
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    const RackEdge* const edge = &rack->edges[e];
    const uint32_t end = edge->to.uid == RACK_UID_OUT && n_out ? n_out : n_in;
    const uint32_t target = edge->to.first ? edge->to.last - edge->to.first + 1U : end;
    if (edge->from.uid == rack->nodes[v].uid && edge->from.first) {
      named = edge->from.last > named ? edge->from.last : named;
    } else if (edge->from.uid == rack->nodes[v].uid) {
      taken = target < taken ? target : taken;
    }
  }
  return named > taken ? named : taken;
}

/// Take over the node of the previous plan that can continue as `rack_node`, or make a new node.
static Status
find_or_make(Graph* const graph, const uint32_t v, const uint32_t n_in,
             const Backend* const backend, Node** const out, Error* const error)
{
  const PlanRequest* const request = graph->request;
  const RackNode* const rack_node = &graph->rack->nodes[v];
  const NodeWidths widths = { n_in,
                              rack_node->fx->is_missing ? missing_width(graph, v, n_in) : 0U };
  const int old = request->previous ? plan_find(request->previous, rack_node->uid) : -1;
  if (old >= 0) {
    Node* const node = request->previous->nodes[old].node;
    if (node_can_be(node, rack_node, widths, request->format->rate_hz, backend)) {
      ++node->refs;
      *out = node;
      return STATUS_OK;
    }
  }
  return node_new(rack_node, widths, request->format, backend, request->loader, out, error);
}

/// Note that the node of a plugin cannot be made, and make one in its place that plays its input,
/// so that the other nodes are tried.  resolve_nodes() fails in the end.
static Status
stand_in(Graph* const graph, const uint32_t v, const uint32_t n_in, Node** const out,
         Error* const error)
{
  const PlanRequest* const request = graph->request;
  RackRefused* const refused = &graph->fault->refused;
  RackNode dry = graph->rack->nodes[v];
  const Status status = error->status;
  if (!dry.fx->origin || dry.is_quarantined || status == STATUS_NO_MEM ||
      refused->n == RACK_MAX_REFUSED) {
    return status;
  }
  graph->refusal = refused->n ? graph->refusal : *error;
  refused->uids[refused->n++] = dry.uid;
  dry.is_quarantined = true;
  return request->finds_all ? node_new(&dry, (NodeWidths){ n_in, 0U }, request->format,
                                       &backend_cpu, request->loader, out, error)
                            : status;
}

/// Let the plan have a mix for the switches of a node on a device if one is on: in the node itself,
/// or by a message in the one that it replaces.
static void
place_switches(const Graph* const graph, const uint32_t v, Node* const node)
{
  const PlanRequest* const request = graph->request;
  const Plan* const active = request->active ? request->active : request->previous;
  const int old = active ? plan_find(active, node->uid) : -1;
  const bool is_on = old >= 0 && node_switches_are_on(&active->nodes[old].node->switches);
  node_place_switches(node, is_on, request->format->block_frames);
  graph->plan->nodes[v].has_switches = node->switches.is_placed;
}

static Status
find_node(Graph* const graph, const uint32_t v, const uint32_t n_in, const Backend* const backend,
          Node** const out, Error* const error)
{
  Status status = find_or_make(graph, v, n_in, backend, out, error);
  status = status ? stand_in(graph, v, n_in, out, error) : STATUS_OK;
  if (!status) {
    (*out)->is_apart = graph->rack->nodes[v].is_apart;
    place_switches(graph, v, *out);
  }
  return status;
}

static bool
has_side_edge(const Graph* const graph, const uint32_t v)
{
  bool has = false;
  for (uint32_t i = graph->in_edges.first[v]; i < graph->in_edges.first[v + 1U]; ++i) {
    has = has || graph->rack->edges[graph->in_edges.list[i]].to.side;
  }
  return has;
}

/// Choose the backend of a node and its reason.  A node without backend= runs on the CPU if its
/// effect has no kernel, or if a side input is connected, which kernels do not read.  A backend=
/// that is not possible is an error.
static Status
place_node(const Graph* const graph, const uint32_t v, const Backend** const backend,
           PlaceReason* const reason, Error* const error)
{
  const PlanRequest* const request = graph->request;
  const RackNode* const rack_node = &graph->rack->nodes[v];
  const bool has_side = has_side_edge(graph, v);
  const bool has_kernel = rack_node->fx->kernel && !has_side;
  if (rack_node->is_quarantined) {
    *backend = &backend_cpu;
    *reason = PLACE_QUARANTINE;
    return STATUS_OK;
  }
  if (rack_node->backend != RACK_BACKEND_GPU) {
    const bool chosen = rack_node->backend == RACK_BACKEND_CPU;
    const bool needs_cpu = !has_kernel && request->backend != &backend_cpu;
    *backend = chosen || !has_kernel ? &backend_cpu : request->backend;
    *reason = chosen       ? PLACE_NODE
              : !needs_cpu ? request->reason
              : has_side   ? PLACE_SIDE
                           : PLACE_KERNEL;
    return STATUS_OK;
  }
  if (has_side) {
    return error_set(
        error, STATUS_NO_BACKEND,
        "%s: backend=gpu: a node with a connected side input runs on the CPU only; use "
        "backend=auto",
        rack_node->name);
  }
  if (!has_kernel) {
    return error_set(error, STATUS_NO_BACKEND,
                     "%s: backend=gpu: %s runs on the CPU only; use backend=auto", rack_node->name,
                     rack_node->fx->origin ? "a plugin" : rack_node->fx->name);
  }
  if (!request->gpu) {
    return error_set(error, STATUS_NO_BACKEND, "%s: backend=gpu: %s", rack_node->name,
                     request->no_gpu ? request->no_gpu : "no GPU");
  }
  *backend = request->gpu;
  *reason = request->gpu == &backend_cpu ? PLACE_LOST : PLACE_NODE;
  return STATUS_OK;
}

/// True if connections to the rack's output had delay lines in the previous plan.
static bool
has_delayed_output(const Plan* const previous)
{
  for (uint32_t l = 0; previous && l < previous->n_links; ++l) {
    if (!previous->links[l].link->to && previous->links[l].link->mix.delay_frames) {
      return true;
    }
  }
  return false;
}

/// Choose the backend that mixes the rack's output: a device if all nodes connected to the output
/// run there.  The backend does not change while there are delay lines, because their content must
/// play to its end.
static const Backend*
place_output(const Graph* const graph)
{
  const PlanRequest* const request = graph->request;
  if (has_delayed_output(request->previous) && request->previous->out_backend != request->lost) {
    return request->previous->out_backend;
  }
  const Backend* backend = NULL;
  for (uint32_t e = 0; e < graph->rack->n_edges; ++e) {
    if (graph->routes[e].to == GRAPH_OUT && graph->routes[e].from != GRAPH_IN) {
      const Backend* const own = graph->plan->nodes[graph->routes[e].from].node->backend;
      backend = !backend || backend == own ? own : &backend_cpu;
    }
  }
  return backend ? backend : request->backend;
}

/// Fail if PlanRequest::is_cancelled() returns true.
static Status
check_cancelled(const Graph* const graph, Error* const error)
{
  const PlanRequest* const request = graph->request;
  return request->is_cancelled && request->is_cancelled(request->cancel_context)
             ? error_set(error, STATUS_LIMIT, "the planning was cancelled")
             : STATUS_OK;
}

/// Find the latencies of a node.  Fails if that of the rack up to its output is too long: a plugin
/// may report any number.
static Status
resolve_latency(const Graph* const graph, const uint32_t v, Error* const error)
{
  const Format* const format = graph->request->format;
  const uint32_t limit = latency_limit(format->rate_hz, format->offline);
  PlanNode* const plan_node = &graph->plan->nodes[v];
  plan_node->latency_in = latency_at(graph, v);
  plan_node->latency_frames = node_latency(plan_node->node);
  const uint64_t out = (uint64_t)plan_node->latency_in + plan_node->latency_frames;
  if (out > limit) {
    return error_set(error, STATUS_LIMIT,
                     "the rack would have a latency of %" PRIu64 " frames (%.3g s); at most %.4g s",
                     out, (double)out / format->rate_hz, limit / format->rate_hz);
  }
  graph->latency_out[v] = (uint32_t)out;
  return STATUS_OK;
}

static Status
resolve_node(Graph* const graph, const uint32_t v, Error* const error)
{
  uint32_t n_in = 0;
  Status status = check_cancelled(graph, error);
  status = status ? status : resolve_sources(graph, v, &n_in, error);
  if (status) {
    return status;
  }
  n_in =
      n_in || graph->rack->nodes[v].fx->is_source ? n_in : 1U; // no connections: one silent channel
  if (n_in > FX_MAX_CHANNELS) {
    return error_set(error, STATUS_BAD_RACK, "%s would have %u channels; a node can have %u",
                     graph->rack->nodes[v].name, n_in, FX_MAX_CHANNELS);
  }
  PlanNode* const plan_node = &graph->plan->nodes[v];
  const Backend* backend = NULL;
  status = place_node(graph, v, &backend, &plan_node->reason, error);
  status = status ? status : resolve_destinations(graph, v, n_in, error);
  if (!status) {
    status = find_node(graph, v, n_in, backend, &plan_node->node, error);
  }
  status = status ? status : resolve_sides(graph, v, error);
  return status ? status : resolve_latency(graph, v, error);
}

/// Resolve all nodes.  If making a node fails, its error is the reason, also if the rack does not
/// fit the node in its place.
static Status
resolve_nodes(Graph* const graph, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t i = 0; !status && i < graph->rack->n_nodes; ++i) {
    status = resolve_node(graph, graph->order[i], error);
  }
  *error = graph->refusal.status ? graph->refusal : *error;
  return graph->refusal.status ? graph->refusal.status : status;
}

/// Refuse fallbacks of outputs that do not exist.  Those of "late" without channels go on to
/// FX_MAX_CHANNELS.
static Status
check_lates(const Graph* const graph, Error* const error)
{
  const Rack* const rack = graph->rack;
  const uint32_t n_out = graph->request->format->n_out; // 0: not known
  for (uint32_t l = 0; n_out && l < rack->n_lates; ++l) {
    const uint32_t last = rack->lates[l].last;
    if (last > n_out && last < FX_MAX_CHANNELS) {
      return error_set(error, STATUS_BAD_RACK, "late: out:%u does not exist: out has %u channel%s",
                       last, n_out, n_out == 1U ? "" : "s");
    }
  }
  return STATUS_OK;
}

static Status
resolve_output(Graph* const graph, Error* const error)
{
  Plan* const plan = graph->plan;
  const uint32_t out = graph->rack->n_nodes;
  uint32_t natural = 0;
  Status status = check_lates(graph, error);
  status = status ? status : resolve_sources(graph, out, &natural, error);
  if (status) {
    return status;
  }
  plan->n_out = graph->request->format->n_out ? graph->request->format->n_out
                : natural                     ? natural
                                              : 1U;
  plan->latency_frames = latency_at(graph, out);
  return resolve_destinations(graph, out, plan->n_out, error);
}

/// Compute the ranks of all nodes, including dying ones, and the end times of all dying parts.
static Status
order_everything(Graph* const graph, Error* const error)
{
  Plan* const plan = graph->plan;
  uint32_t* const from = arena_take(graph->scratch, plan->n_links, sizeof(uint32_t));
  uint32_t* const to = arena_take(graph->scratch, plan->n_links, sizeof(uint32_t));
  uint32_t* const rank = arena_take(graph->scratch, plan->n_nodes, sizeof(uint32_t));
  uint32_t* const order = arena_take(graph->scratch, plan->n_nodes, sizeof(uint32_t));
  if (graph->scratch->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  for (uint32_t l = 0; l < plan->n_links; ++l) {
    from[l] = graph_index(plan->links[l].link->from, GRAPH_IN);
    to[l] = graph_index(plan->links[l].link->to, plan->n_nodes);
  }
  graph->in_links = edges_group(graph->scratch, plan->n_nodes + 1U, to, plan->n_links, NULL);
  const uint32_t n_ordered =
      edges_order(graph->scratch, plan->n_nodes, from, to, &graph->in_links, rank, order);
  if (graph->scratch->failed) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  if (n_ordered < plan->n_nodes) {
    graph->fault->is_tangled = true;
    return error_set(error, STATUS_BAD_RACK, "new connections and fading ones make a cycle");
  }
  for (uint32_t n = 0; n < plan->n_nodes; ++n) {
    plan->nodes[n].rank = rank[n];
    plan->n_ranks = rank[n] + 1U > plan->n_ranks ? rank[n] + 1U : plan->n_ranks;
  }
  if (!graph_schedule_fades(graph, order)) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  graph_schedule_deaths(graph, order);
  return STATUS_OK;
}

static int
compare_plan_uids(const void* const a, const void* const b)
{
  const RackUid left = ((const PlanUid*)a)->uid;
  const RackUid right = ((const PlanUid*)b)->uid;
  return (left > right) - (left < right);
}

static Status
take_tables(Graph* const graph, Error* const error)
{
  Plan* const plan = graph->plan;
  const Plan* const previous = graph->request->previous;
  const uint32_t max_nodes = graph->rack->n_nodes + (previous ? previous->n_nodes : 0U);
  const uint32_t max_links = graph->rack->n_edges + (previous ? previous->n_links : 0U);
  plan->nodes = arena_take(&plan->arena, max_nodes, sizeof(PlanNode));
  plan->links = arena_take(&plan->arena, max_links, sizeof(PlanLink));
  plan->aims = arena_take(&plan->arena, max_links, sizeof(PlanAim));
  plan->by_uid = arena_take(&plan->arena, graph->rack->n_nodes, sizeof(PlanUid));
  return plan->arena.failed ? error_set(error, STATUS_NO_MEM, "out of memory") : STATUS_OK;
}

/// Pass the references to the living nodes to the plan: from now on plan_free() releases them.
static void
adopt_living_nodes(Graph* const graph)
{
  Plan* const plan = graph->plan;
  plan->n_nodes = plan->n_living = graph->rack->n_nodes;
  for (uint32_t n = 0; n < plan->n_living; ++n) {
    plan->nodes[n].node->plan_index = n;
    plan->by_uid[n] = (PlanUid){ plan->nodes[n].node->uid, n };
  }
  qsort(plan->by_uid, plan->n_living, sizeof(PlanUid), compare_plan_uids);
}

static void
drop_nodes(const Graph* const graph)
{
  for (uint32_t n = 0; n < graph->rack->n_nodes; ++n) {
    node_unref(graph->plan->nodes[n].node);
  }
}

Status
graph_resolve(Graph* const graph, Plan* const plan, const PlanRequest* const request,
              Arena* const scratch, PlanFault* const fault, Error* const error)
{
  *graph = (Graph){ .plan = plan,
                    .request = request,
                    .fault = fault,
                    .scratch = scratch,
                    .rack = request->rack,
                    .ramp_frames = (uint32_t)lrint(LINK_RAMP_SECONDS * request->format->rate_hz) };
  Status status = take_tables(graph, error);
  status = status ? status : find_routes(graph, error);
  if (!status) {
    status = resolve_nodes(graph, error);
    if (status) {
      drop_nodes(graph);
    } else {
      adopt_living_nodes(graph);
    }
  }
  status = status ? status : resolve_output(graph, error);
  if (!status) {
    plan->out_backend = place_output(graph);
    status = graph_make_links(graph, error);
  }
  if (!status) {
    graph_keep_dying(graph);
  }
  return status ? status : order_everything(graph, error);
}

/// The longest tail of the inputs of vertex v, in frames.
static uint64_t
tail_at(const Graph* const graph, const uint32_t v, const uint64_t* const tail_out)
{
  uint64_t tail = 0;
  for (uint32_t i = graph->in_edges.first[v]; i < graph->in_edges.first[v + 1U]; ++i) {
    const uint32_t from = graph->routes[graph->in_edges.list[i]].from;
    if (from != GRAPH_IN && tail_out[from] > tail) {
      tail = tail_out[from];
    }
  }
  return tail;
}

Status
graph_load(Graph* const graph, Error* const error)
{
  Plan* const plan = graph->plan;
  const PlanRequest* const request = graph->request;
  uint64_t* const tail_out = arena_take(graph->scratch, plan->n_living, sizeof(uint64_t));
  if (!tail_out) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  Status status = STATUS_OK;
  for (uint32_t i = 0; !status && i < plan->n_living; ++i) {
    const uint32_t v = graph->order[i];
    Node* const node = plan->nodes[v].node;
    status = check_cancelled(graph, error);
    if (!status) {
      status = node_load(node, &graph->rack->nodes[v], request->format, request->loader, error);
    }
    if (!status) {
      tail_out[v] = graph_add(tail_at(graph, v, tail_out), node_tail(node));
    }
  }
  for (uint32_t l = 0; !status && l < plan->n_links; ++l) {
    status = link_load(plan->links[l].link, error);
  }
  if (!status) {
    plan->tail_frames = tail_at(graph, plan->n_living, tail_out);
  }
  return status;
}
