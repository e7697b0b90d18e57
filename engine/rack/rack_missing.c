// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes whose plugin is missing.  When it is known again, it takes their values and connections.

#include "rack_private.h"

#include "engine/base/text.h"

#include <stdlib.h>
#include <string.h>

bool
rack_has_missing(const Rack* const rack)
{
  bool has = false;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    has = has || rack->nodes[n].fx->is_missing;
  }
  return has;
}

Status
rack_keep_value(Rack* const rack, const RackNode* const node, const char* const param,
                const char* const value, Error* const error)
{
  const bool is_word = !param[strcspn(param, " |()=\":#+")] && text_is_printable(param);
  if (!*param || !is_word || !text_is_printable(value)) {
    return error_set(
        error, STATUS_BAD_RACK, "%s: the plugin is missing, and no rack can have %s", node->name,
        *param && is_word ? "a value with control characters" : "a parameter of this name");
  }
  TextBuffer text = { .bytes = NULL };
  text_buffer_print(&text, "set %s.%s ", node->name, param);
  char* const to = text_buffer_reserve(&text, rack_quote(value, NULL));
  if (to) {
    text.n += rack_quote(value, to) - 1U;
  }
  char* const statement = text_buffer_take(&text);
  const Status status =
      statement ? rack_apply(rack, statement, node->name, error) : rack_no_memory(error);
  free(statement);
  return status;
}

// ---- the plugin is there again ----

/// Read the node's effect and values as a rack of one node.
static Status
read_again(const RackNode* const node, Rack** const alone, Error* const error)
{
  TextBuffer text = { .bytes = NULL };
  Error why = { STATUS_OK, "" };
  rack_print_node(node, &text);
  char* const line = text_buffer_take(&text);
  const Status status = line ? rack_parse(line, "", NULL, alone, &why) : rack_no_memory(&why);
  free(line);
  const char* const place_end = strstr(why.text, ": "); // of ":1:10: no such plugin"
  const bool has_place = why.text[0] == ':' && place_end;
  return status ? error_set(error, status, "%s", has_place ? place_end + 2 : why.text) : STATUS_OK;
}

/// Find the connection's side input among those of the plugin; 0: its main inputs.
static Status
find_side(const RackEdge* const edge, const RackNode* const node, const FxInfo* const fx,
          uint16_t* const side, Error* const error)
{
  const char* const name = edge->to.side ? node->fx->sides[edge->to.side - 1U].name : NULL;
  *side = name ? rack_find_side_input(fx, name, strlen(name)) : 0U;
  if (name && !*side) {
    return error_set(error, STATUS_BAD_RACK, "the plugin has no side input \"%s\"", name);
  }
  return !name && fx->is_source ? error_set(error, STATUS_BAD_RACK,
                                            "the plugin has no audio input, and connections "
                                            "lead to it")
                                : STATUS_OK;
}

/// Check that all connections to a node are possible with the plugin; with `moves`, change their
/// side inputs to those of the plugin.
static Status
connect_to(Rack* const rack, const RackNode* const node, const FxInfo* const fx, const bool moves,
           Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t e = 0; !status && e < rack->n_edges; ++e) {
    RackEdge* const edge = &rack->edges[e];
    uint16_t side = 0;
    if (edge->to.uid == node->uid) {
      status = find_side(edge, node, fx, &side, error);
      edge->to.side = moves ? side : edge->to.side;
    }
  }
  return status;
}

/// Read a node with its plugin, into a rack of its own for the caller to free.
static Status
try_node(Rack* const rack, const RackNode* const node, Rack** const alone, Error* const error)
{
  *alone = NULL;
  const Status status = read_again(node, alone, error);
  return status ? status : connect_to(rack, node, (*alone)->nodes[0].fx, false, error);
}

/// Give a node its plugin, if that is there and takes its values and connections.
static bool
return_plugin(Rack* const rack, RackNode* const node)
{
  Rack* alone = NULL;
  Error why;
  const Status status = try_node(rack, node, &alone, &why);
  if (!status && !connect_to(rack, node, alone->nodes[0].fx, true, &why)) {
    const RackNode placeholder = *node;
    node->fx = alone->nodes[0].fx;
    node->values = alone->nodes[0].values;
    alone->nodes[0].fx = placeholder.fx;
    alone->nodes[0].values = placeholder.values;
  }
  rack_free(alone);
  return !status;
}

uint32_t
rack_return_plugins(Rack* const rack)
{
  uint32_t n_returned = 0;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    n_returned += rack->nodes[n].fx->is_missing && return_plugin(rack, &rack->nodes[n]);
  }
  return n_returned;
}

void
rack_explain_missing(const Rack* const rack, const RackNode* const node, Error* const why)
{
  Rack* const copy = rack_copy(rack);
  Rack* alone = NULL;
  if (!copy) {
    (void)rack_no_memory(why);
  } else if (!try_node(copy, node, &alone, why)) {
    error_set(why, STATUS_OK, "its plugin is there again; /rack/find lets it play");
  }
  rack_free(alone);
  rack_free(copy);
}
