// SPDX-License-Identifier: GPL-3.0-or-later
// The parser's index of the rack: the highest numbers in default names, and the keys of all
// connections.  Without it, the parser would search all nodes and connections for each new one.

#include "rack_parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DIGITS 10U // of the number in a default name
#define SEARCHES   8U  // through all connections; only then does an index cost less

static const char digits[] = "0123456789";

// ---- default names ----

/// The default names of an effect, after its name alone: gain2, gain3, ...
struct NameSeries {
  const FxInfo* fx;
  unsigned long highest; ///< Number in use among the first n_seen nodes
  uint32_t n_seen;
};

/// The series of an effect, which may be new and without any node.  NULL if out of memory.
static NameSeries*
series_of(Parser* const parser, const FxInfo* const fx)
{
  for (uint32_t s = 0; s < parser->n_series; ++s) {
    if (parser->series[s].fx == fx) {
      return &parser->series[s];
    }
  }
  NameSeries* const grown = realloc(parser->series, (parser->n_series + 1U) * sizeof(NameSeries));
  if (!grown) {
    return NULL;
  }
  parser->series = grown;
  grown[parser->n_series] = (NameSeries){ .fx = fx, .highest = 1U };
  return &grown[parser->n_series++];
}

/// Add to a series the nodes that are new since the last call.
static void
add_new_nodes(NameSeries* const series, const Rack* const rack, const size_t length)
{
  for (; series->n_seen < rack->n_nodes; ++series->n_seen) {
    const char* const name = rack->nodes[series->n_seen].name;
    const char* const suffix = name + length;
    if (!strncmp(name, series->fx->name, length) && strspn(suffix, digits) < MAX_DIGITS) {
      char* end = NULL;
      const unsigned long number = strtoul(suffix, &end, 10);
      series->highest = *end == '\0' && number > series->highest ? number : series->highest;
    }
  }
}

Status
parser_default_name(Parser* const parser, const FxInfo* const fx, char name[const RACK_NAME_BYTES])
{
  const Rack* const rack = parser->rack;
  snprintf(name, RACK_NAME_BYTES, "%s", fx->name);
  if (!rack_find(rack, name)) {
    return STATUS_OK;
  }
  const size_t length = strnlen(fx->name, RACK_NAME_BYTES - MAX_DIGITS - 1U);
  NameSeries* const series = series_of(parser, fx);
  if (!series) {
    return rack_no_memory(parser->error);
  }
  add_new_nodes(series, rack, length);
  unsigned long number = series->highest;
  do {
    snprintf(name, RACK_NAME_BYTES, "%.*s%lu", (int)length, fx->name, ++number);
  } while (rack_find(rack, name));
  return STATUS_OK;
}

// ---- connections ----

static uint32_t
key_of(const RackEnd end)
{
  return (end.uid * 31U + end.side) * 0x9E3779B1U ^ ((uint32_t)end.first << 16U | end.last);
}

/// Add the connections that are new since the last call to the index.  Returns false if out of
/// memory.
static bool
add_new_edges(Parser* const parser)
{
  const Rack* const rack = parser->rack;
  for (; parser->n_edges_seen < rack->n_edges; ++parser->n_edges_seen) {
    const RackEdge* const edge = &rack->edges[parser->n_edges_seen];
    if (!key_index_set(&parser->edges, key_of(edge->from), key_of(edge->to), 0U)) {
      return false;
    }
  }
  return true;
}

/// True if the index shows that the rack has no connection with these ends.  Several ends may have
/// one key, so a key in the index proves nothing.
static bool
is_new(const Parser* const parser, const RackEdge* const edge)
{
  return key_index_find(&parser->edges, key_of(edge->from), key_of(edge->to)) == KEY_INDEX_NONE;
}

Status
parser_add_edge(Parser* const parser, const RackEdge* const edge, Error* const error)
{
  Rack* const rack = parser->rack;
  const bool has_index = parser->n_searches == SEARCHES;
  parser->n_searches += !has_index;
  if (has_index && !add_new_edges(parser)) {
    return rack_no_memory(error);
  }
  const uint32_t e = has_index && is_new(parser, edge)
                         ? rack->n_edges
                         : rack_find_edge(rack, edge->from, edge->to, 0U);
  return rack_put_edge(rack, e, edge, error);
}

// ---- all ----

void
parser_drop_index(Parser* const parser)
{
  free(parser->series);
  parser->series = NULL;
  parser->n_series = 0U;
  key_index_clear(&parser->edges);
  parser->n_edges_seen = 0U;
  parser->n_searches = 0U;
}
