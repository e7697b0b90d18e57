// SPDX-License-Identifier: GPL-3.0-or-later
// Edits of the signal path: insert, remove or rename a node.

#include "rack_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_LAST UINT32_MAX // last channel of an end without channels

// ---- channels of ends ----

static uint32_t
first_of(const RackEnd end)
{
  return end.first ? end.first : 1U;
}

static uint32_t
last_of(const RackEnd end)
{
  return end.first ? end.last : NO_LAST;
}

static bool
is_single(const RackEnd end)
{
  return end.first && end.first == end.last;
}

static uint32_t
min_u32(const uint32_t a, const uint32_t b)
{
  return a < b ? a : b;
}

/// Find the channels of a connection's `far` end that correspond to channels `first` to `last` of
/// its `near` end.  A single channel corresponds to all channels of the other end.  Returns false
/// if there are none.
static bool
part_of(const RackEnd far, const RackEnd near, const uint32_t first, const uint32_t last,
        RackEnd* const part)
{
  *part = far;
  if (last == NO_LAST || is_single(far) || is_single(near)) {
    return true;
  }
  const uint32_t part_first = first_of(far) + (first - first_of(near));
  const uint32_t part_last = min_u32(last_of(far), first_of(far) + (last - first_of(near)));
  part->first = (uint16_t)part_first;
  part->last = (uint16_t)part_last;
  return part_first <= part_last && part_last <= FX_MAX_CHANNELS;
}

// ---- remove ----

/// Join a connection into a node and one out of it: the channels that pass through the node, with
/// the sum of both gains.  Returns false if no channel passes.
static bool
join(const RackEdge* const into, const RackEdge* const out_of, RackEdge* const joint)
{
  if (!rack_ends_overlap(into->to, out_of->from)) {
    return false;
  }
  const bool begins_later = first_of(out_of->from) > first_of(into->to);
  const uint32_t first = first_of(begins_later ? out_of->from : into->to);
  const uint32_t last = min_u32(last_of(into->to), last_of(out_of->from));
  joint->replaces = into->to.uid;
  joint->gain_db = fmin(fmax(into->gain_db + out_of->gain_db, RACK_GAIN_MIN_DB), RACK_GAIN_MAX_DB);
  return part_of(into->from, into->to, first, last, &joint->from) &&
         part_of(out_of->to, out_of->from, first, last, &joint->to);
}

/// Find the only connection into the main inputs of a node.  Returns NULL if there is none or more
/// than one.
static const RackEdge*
only_edge_into(const Rack* const rack, const RackUid uid)
{
  const RackEdge* only = NULL;
  uint32_t n = 0;
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    const RackEdge* const edge = &rack->edges[e];
    if (edge->to.uid == uid && !edge->to.side) {
      only = edge;
      ++n;
    }
  }
  return n == 1U ? only : NULL;
}

/// Find the only connection out of a node; those to side inputs count only if there is no other.
/// Returns NULL if there is none or more than one.
static const RackEdge*
only_edge_out_of(const Rack* const rack, const RackUid uid)
{
  const RackEdge* only[2] = { NULL, NULL }; // to main inputs, to side inputs
  uint32_t n[2] = { 0, 0 };
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    const RackEdge* const edge = &rack->edges[e];
    const bool is_to_side = edge->to.side;
    if (edge->from.uid == uid) {
      only[is_to_side] = edge;
      ++n[is_to_side];
    }
  }
  const bool has_sides_only = !n[false];
  return n[has_sides_only] == 1U ? only[has_sides_only] : NULL;
}

/// Find out whether the signal gets from one end of `joint` to the other without passing `node`.
static Status
find_detour(const Rack* const rack, const RackNode* const node, const RackEdge* const joint,
            bool* const found, Error* const error)
{
  const uint32_t ends = rack->n_nodes; // index of in and out
  bool* const reached = calloc(ends + 1U, sizeof(bool));
  if (!reached) {
    return rack_no_memory(error);
  }
  bool is_direct = false;
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    const RackEdge* const edge = &rack->edges[e];
    if (edge->to.uid != node->uid && rack_ends_overlap(edge->from, joint->from)) {
      bool* const at = &reached[rack_index_of(rack, edge->to.uid, ends)];
      *at = *at || !edge->to.side;
      is_direct = is_direct || rack_ends_overlap(edge->to, joint->to);
    }
  }
  const Status status = rack_spread(rack, node, reached, error);
  reached[ends] = false; // no path leads from the output or to the input
  *found = is_direct;
  for (uint32_t e = 0; e < rack->n_edges && !status; ++e) {
    const RackEdge* const edge = &rack->edges[e];
    *found = *found || (reached[rack_index_of(rack, edge->from.uid, ends)] &&
                        rack_ends_overlap(edge->to, joint->to));
  }
  free(reached);
  return status;
}

/// Find the connection that replaces a removed node, if the node has one input and one output, and
/// no other path leads around it.
static Status
find_joint(const Rack* const rack, const RackNode* const node, RackEdge* const joint,
           bool* const found, Error* const error)
{
  const RackEdge* const into = only_edge_into(rack, node->uid);
  const RackEdge* const out_of = only_edge_out_of(rack, node->uid);
  *found = into && out_of && join(into, out_of, joint);
  bool has_detour = false;
  const Status status = *found ? find_detour(rack, node, joint, &has_detour, error) : STATUS_OK;
  *found = *found && !has_detour;
  return status;
}

Status
rack_remove(Rack* const rack, const char* const name, Error* const error)
{
  RackNode* const node = rack_lookup(rack, name, error);
  RackEdge joint;
  bool heals = false;
  Status status = node ? find_joint(rack, node, &joint, &heals, error) : STATUS_NOT_FOUND;
  status = status ? status : rack_follow_node(rack, name, NULL, error);
  if (status) {
    return status;
  }
  uint32_t n_kept = 0;
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    const RackEdge* const edge = &rack->edges[e];
    if (edge->to.uid == node->uid && !edge->to.side && heals) {
      rack->edges[n_kept++] = joint;
    } else if (edge->to.uid != node->uid && edge->from.uid != node->uid) {
      rack->edges[n_kept++] = *edge;
    }
  }
  rack->n_edges = n_kept;
  rack_drop_node(rack, node);
  return STATUS_OK;
}

// ---- insert ----

Status
rack_splice(Rack* const rack, const RackUid uid, const RackSide side, const RackEnd at,
            Error* const error)
{
  const uint32_t n_before = rack->n_edges;
  const RackEnd node = { .uid = uid };
  const bool is_before = side == RACK_BEFORE;
  const RackNode* const inserted = rack_find_uid(rack, uid);
  if (inserted->fx->is_source) {
    return error_set(error, STATUS_BAD_RACK,
                     "\"%s\" has no audio input to take over connections; write add and connect",
                     inserted->name);
  }
  const Status status =
      rack_add_edge(rack, is_before ? node : at, is_before ? at : node, 0.0, error);
  if (status) {
    return status;
  }
  uint32_t n_moved = 0;
  for (uint32_t e = 0; e < n_before; ++e) {
    RackEnd* const end = is_before ? &rack->edges[e].to : &rack->edges[e].from;
    if (rack_end_matches(at, *end)) {
      *end = at.first ? node : (RackEnd){ .uid = uid, .first = end->first, .last = end->last };
      ++n_moved;
    }
  }
  if (!n_moved) {
    char text[RACK_END_BYTES];
    rack->n_edges = n_before;
    return error_set(error, STATUS_NOT_FOUND,
                     "no connection %s %s to be taken over; write add and connect",
                     is_before ? "to" : "from", rack_print_end(rack, at, text));
  }
  return STATUS_OK;
}

Status
rack_insert(Rack* const rack, const char* const name, const char* const effect,
            const char* const side, const char* const end, Error* const error)
{
  const FxInfo* fx = NULL;
  RackEnd at;
  RackSide where;
  Status status = rack_read_effect(effect, &fx, error);
  status = status ? status : rack_read_side(side, &where, error);
  status = status ? status : rack_read_end(rack, end, &at, error);
  status = status ? status : rack_add_node(rack, name, fx, RACK_UID_NONE, error);
  if (status) {
    return status;
  }
  RackNode* const node = &rack->nodes[rack->n_nodes - 1U];
  status = rack_splice(rack, node->uid, where, at, error);
  if (status) {
    rack_drop_node(rack, node);
  }
  return status;
}

// ---- rename ----

Status
rack_rename(Rack* const rack, const char* const name, const char* const new_name,
            Error* const error)
{
  RackNode* const node = rack_lookup(rack, name, error);
  if (!node || !strcmp(name, new_name)) {
    return node ? STATUS_OK : STATUS_NOT_FOUND;
  }
  Status status = rack_check_name(rack, new_name, error);
  status = status ? status : rack_follow_node(rack, name, new_name, error);
  if (!status) {
    rack_name_node(rack, node, new_name);
  }
  return status;
}
