// SPDX-License-Identifier: GPL-3.0-or-later
// Makes random edits of a chain.

#include "random_edits.h"

#include <stdio.h>
#include <string.h>

/// An effect to insert, and the parameters to change.
typedef struct Toy {
  const char* effect;
  const char* param; ///< A ramped parameter
  double min, max;
  const char* structure; ///< Structural parameter, or NULL
  double structure_min, structure_max;
} Toy;

static const Toy toys[] = {
  { "gain", "gain", -12.0, 3.0, NULL, 0.0, 0.0 },
  { "highpass", "frequency", 20.0, 400.0, "order", 1.0, 6.0 },
  { "lowpass", "frequency", 4000.0, 18000.0, "order", 1.0, 6.0 },
  { "peaking", "frequency", 100.0, 8000.0, NULL, 0.0, 0.0 },
};

/// The next random number of splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", 2014).
static uint64_t
next_random(RandomEdits* const edits)
{
  uint64_t z = (edits->state += 0x9E3779B97F4A7C15U);
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

static uint32_t
random_below(RandomEdits* const edits, const uint32_t n)
{
  return (uint32_t)(next_random(edits) % n);
}

static double
random_between(RandomEdits* const edits, const double min, const double max)
{
  return min + (max - min) * (double)(next_random(edits) >> 11U) * 0x1p-53;
}

static const Toy*
toy_of(const RackNode* const node)
{
  for (uint32_t i = 0; i < ARRAY_LEN(toys); ++i) {
    if (!strcmp(toys[i].effect, node->fx->name)) {
      return &toys[i];
    }
  }
  return NULL;
}

static const char*
name_of(const Rack* const rack, const RackUid uid)
{
  return uid == RACK_UID_IN ? "in" : uid == RACK_UID_OUT ? "out" : rack_find_uid(rack, uid)->name;
}

/// The incoming or outgoing connection of a node.  In a chain, each node has one of each.
static const RackEdge*
edge_at(const Rack* const rack, const RackUid uid, const bool incoming)
{
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    if ((incoming ? rack->edges[e].to.uid : rack->edges[e].from.uid) == uid) {
      return &rack->edges[e];
    }
  }
  return NULL;
}

static Status
set_number(RackNode* const node, const char* const id, const double number, Error* const error)
{
  uint32_t param = 0;
  const Status status = rack_find_param(node->fx, id, &param, error);
  return status ? status : rack_set_param_number(node, param, number, error);
}

static Status
set_value(RandomEdits* const edits, Error* const error)
{
  RackNode* const node = &edits->rack->nodes[random_below(edits, edits->rack->n_nodes)];
  const Toy* const toy = toy_of(node);
  return set_number(node, toy->param, random_between(edits, toy->min, toy->max), error);
}

static Status
set_structure(RandomEdits* const edits, Error* const error)
{
  RackNode* const node = &edits->rack->nodes[random_below(edits, edits->rack->n_nodes)];
  const Toy* const toy = toy_of(node);
  if (!toy->structure) {
    return set_value(edits, error);
  }
  const uint32_t n = (uint32_t)(toy->structure_max - toy->structure_min) + 1U;
  return set_number(node, toy->structure, toy->structure_min + random_below(edits, n), error);
}

static Status
set_gain(RandomEdits* const edits, Error* const error)
{
  const Rack* const rack = edits->rack;
  const RackEdge edge = rack->edges[random_below(edits, rack->n_edges)];
  return rack_connect(edits->rack, name_of(rack, edge.from.uid), name_of(rack, edge.to.uid),
                      random_between(edits, -6.0, 0.0), error);
}

static Status
insert_node(RandomEdits* const edits, Error* const error)
{
  Rack* const rack = edits->rack;
  const RackEdge edge = rack->edges[random_below(edits, rack->n_edges)];
  char from[RACK_NAME_BYTES];
  char to[RACK_NAME_BYTES];
  char name[RACK_NAME_BYTES];
  snprintf(from, sizeof(from), "%s", name_of(rack, edge.from.uid));
  snprintf(to, sizeof(to), "%s", name_of(rack, edge.to.uid));
  snprintf(name, sizeof(name), "n%u", edits->names++);
  const Toy* const toy = &toys[random_below(edits, ARRAY_LEN(toys))];
  Status status = rack_add(rack, name, toy->effect, error);
  status = status ? status : rack_disconnect(rack, from, to, error);
  status = status ? status : rack_connect(rack, from, name, 0.0, error);
  return status ? status : rack_connect(rack, name, to, edge.gain_db, error);
}

static Status
remove_node(RandomEdits* const edits, Error* const error)
{
  Rack* const rack = edits->rack;
  const RackNode* const node = &rack->nodes[random_below(edits, rack->n_nodes)];
  char from[RACK_NAME_BYTES];
  char to[RACK_NAME_BYTES];
  snprintf(from, sizeof(from), "%s", name_of(rack, edge_at(rack, node->uid, true)->from.uid));
  snprintf(to, sizeof(to), "%s", name_of(rack, edge_at(rack, node->uid, false)->to.uid));
  const Status status = rack_remove(rack, node->name, error);
  return status ? status : rack_connect(rack, from, to, 0.0, error);
}

Status
random_edits_new(RandomEdits* const edits, const uint64_t seed, Error* const error)
{
  *edits = (RandomEdits){ .state = seed };
  return rack_parse("chain highpass 80 | gain -6dB", "rack", NULL, &edits->rack, error);
}

Status
random_edits_next(RandomEdits* const edits, Error* const error)
{
  const uint32_t n = edits->rack->n_nodes;
  switch (random_below(edits, 5)) {
  case 0:
    return set_value(edits, error);
  case 1:
    return set_structure(edits, error);
  case 2:
    return set_gain(edits, error);
  case 3:
    return n < RANDOM_EDITS_MAX ? insert_node(edits, error) : remove_node(edits, error);
  default:
    return n > RANDOM_EDITS_MIN ? remove_node(edits, error) : insert_node(edits, error);
  }
}

void
random_edits_clear(RandomEdits* const edits)
{
  rack_free(edits->rack);
  *edits = (RandomEdits){ 0 };
}
