// SPDX-License-Identifier: GPL-3.0-or-later
// The edits of a rack.  An edit that fails changes nothing.

#include "rack_private.h"

#include <stdlib.h>
#include <string.h>

// ---- nodes ----

Status
rack_add_node(Rack* const rack, const char* const name, const FxInfo* const fx, const RackUid uid,
              Error* const error)
{
  const Status status = rack_check_name(rack, name, error);
  if (status) {
    return status;
  }
  if (rack->n_nodes == RACK_MAX_NODES || rack->next_uid == UINT32_MAX) {
    return error_set(error, STATUS_LIMIT, "too many nodes; at most %u", RACK_MAX_NODES);
  }
  return rack_append_node(rack, name, fx, uid) ? STATUS_OK : rack_no_memory(error);
}

Status
rack_add(Rack* const rack, const char* const name, const char* const effect, Error* const error)
{
  const FxInfo* fx = NULL;
  const Status status = rack_read_effect(effect, &fx, error);
  return status ? status : rack_add_node(rack, name, fx, RACK_UID_NONE, error);
}

// ---- connections ----

static Status
check_direction(const Rack* const rack, const RackEnd from, const RackEnd to, Error* const error)
{
  if (from.uid == RACK_UID_OUT) {
    return error_set(error, STATUS_BAD_RACK, "out is where the rack ends; nothing comes from it");
  }
  if (to.uid == RACK_UID_IN) {
    return error_set(error, STATUS_BAD_RACK, "in is where the rack begins; nothing goes to it");
  }
  if (from.side) {
    return error_set(error, STATUS_BAD_RACK,
                     "a side input is where a connection ends; connect from \"%s\"",
                     rack_find_uid(rack, from.uid)->name);
  }
  if (from.uid == to.uid) {
    return error_set(error, STATUS_BAD_RACK,
                     "\"%s\" cannot feed itself; use an effect with feedback of its own",
                     rack_find_uid(rack, from.uid)->name);
  }
  const RackNode* const into = rack_find_uid(rack, to.uid);
  if (into && into->fx->is_source && !to.side) {
    return error_set(error, STATUS_BAD_RACK,
                     "\"%s\" has no audio input; connections can only come from it", into->name);
  }
  return STATUS_OK;
}

Status
rack_put_edge(Rack* const rack, const uint32_t e, const RackEdge* const edge, Error* const error)
{
  RackValue gain;
  Status status = check_direction(rack, edge->from, edge->to, error);
  status = status ? status : rack_value_from_number(&rack_gain_param, edge->gain_db, &gain, error);
  if (status) {
    return status;
  }
  if (e == RACK_MAX_EDGES) {
    return error_set(error, STATUS_LIMIT, "too many connections; at most %u", RACK_MAX_EDGES);
  }
  RackEdge* const to = e < rack->n_edges ? &rack->edges[e] : rack_append_edge(rack);
  if (!to) {
    return rack_no_memory(error);
  }
  *to = *edge;
  to->gain_db += 0.0; // turns -0 into 0
  return STATUS_OK;
}

Status
rack_add_edge(Rack* const rack, const RackEnd from, const RackEnd to, const double gain_db,
              Error* const error)
{
  const RackEdge edge = { .from = from, .to = to, .gain_db = gain_db };
  return rack_put_edge(rack, rack_find_edge(rack, from, to, 0U), &edge, error);
}

Status
rack_connect(Rack* const rack, const char* const from, const char* const to, const double gain_db,
             Error* const error)
{
  RackEnd ends[2];
  Status status = rack_read_end(rack, from, &ends[0], error);
  status = status ? status : rack_read_end(rack, to, &ends[1], error);
  const uint32_t n_before = rack->n_edges;
  status = status ? status : rack_add_edge(rack, ends[0], ends[1], gain_db, error);
  if (!status && rack->n_edges > n_before) { // a change of gain cannot make a cycle
    status = rack_check(rack, error);
    rack->n_edges = status ? n_before : rack->n_edges;
  }
  return status;
}

Status
rack_remove_edges(Rack* const rack, const RackEnd from, const RackEnd to, Error* const error)
{
  uint32_t n_kept = 0;
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    if (!rack_end_matches(from, rack->edges[e].from) || !rack_end_matches(to, rack->edges[e].to)) {
      rack->edges[n_kept++] = rack->edges[e];
    }
  }
  if (n_kept == rack->n_edges) {
    char a[RACK_END_BYTES];
    char b[RACK_END_BYTES];
    return error_set(error, STATUS_NOT_FOUND, "no connection from %s to %s; nothing to remove",
                     rack_print_end(rack, from, a), rack_print_end(rack, to, b));
  }
  rack->n_edges = n_kept;
  return STATUS_OK;
}

Status
rack_disconnect(Rack* const rack, const char* const from, const char* const to, Error* const error)
{
  RackEnd ends[2];
  Status status = rack_read_end(rack, from, &ends[0], error);
  status = status ? status : rack_read_end(rack, to, &ends[1], error);
  return status ? status : rack_remove_edges(rack, ends[0], ends[1], error);
}

// ---- values ----

static void
replace_value(RackValue* const value, const RackValue with)
{
  free(value->text);
  *value = with;
}

static Status
set_backend(RackNode* const node, const char* const text, Error* const error)
{
  RackValue value;
  const Status status = rack_value_from_text(&rack_backend_param, text, &value, error);
  if (!status) {
    node->backend = (RackBackend)value.number; // VALUE_INITIAL is 0
  }
  return status;
}

Status
rack_keep_values(RackNode* const node, const char* const text, Error* const error)
{
  RackValue value;
  const Status status = rack_value_from_text(&node->fx->params[0], text, &value, error);
  if (!status) {
    replace_value(&node->values[0], value);
  }
  return status;
}

static Status
plugin_is_missing(const FxInfo* const fx, Error* const error)
{
  return error_set(error, STATUS_NOT_FOUND,
                   "%s: the %s plugin is missing; its values stay as they are", fx->name,
                   fx->origin->format);
}

Status
rack_set_param(RackNode* const node, const uint32_t param, const char* const text,
               Error* const error)
{
  if (param == node->fx->n_params) {
    return set_backend(node, text, error);
  }
  if (node->fx->is_missing) {
    return plugin_is_missing(node->fx, error);
  }
  RackValue value;
  const Status status = rack_value_from_text(&node->fx->params[param], text, &value, error);
  if (!status) {
    replace_value(&node->values[param], value);
  }
  return status;
}

Status
rack_set_param_number(RackNode* const node, const uint32_t param, const double number,
                      Error* const error)
{
  if (param == node->fx->n_params) {
    return error_set(error, STATUS_BAD_RACK, "backend takes text; auto, cpu or gpu");
  }
  if (node->fx->is_missing) {
    return plugin_is_missing(node->fx, error);
  }
  RackValue value;
  const Status status = rack_value_from_number(&node->fx->params[param], number, &value, error);
  if (!status) {
    replace_value(&node->values[param], value);
  }
  return status;
}

void
rack_set_value(const Rack* const rack, const RackUid uid, const uint32_t param,
               const uint32_t param_id, const double number)
{
  const RackNode* const node = rack_find_uid(rack, uid);
  if (!node || !fx_has_param(node->fx, param, param_id)) {
    return;
  }
  const FxParam* const fx_param = &node->fx->params[param];
  if (!fx_param->structural && fx_param_accepts(fx_param, number)) {
    replace_value(&node->values[param], rack_value_of(fx_param, number));
  }
}
