// SPDX-License-Identifier: GPL-3.0-or-later
// From addresses and patterns to parameters of a rack.

#include "values.h"

#include "edits.h"

#include "control/net/outlet.h"
#include "control/net/pattern.h"
#include "engine/base/hint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_AT_ONCE 16U // of which a read answers some 64 parameters, in some 0.3 ms

/// What a message names, as patterns.
typedef struct Target {
  char node[GATE_MAX_ADDRESS + 1U];
  char param[GATE_MAX_ADDRESS + 1U];
} Target;

void
changes_clear(Changes* const changes)
{
  free(changes->items);
  *changes = (Changes){ NULL, 0, 0, 0 };
}

static Status
add_change(Changes* const changes, const Change* const change, Error* const error)
{
  if (changes->n == VALUES_MAX) {
    return error_set(error, STATUS_LIMIT, "more than %u parameters at once", VALUES_MAX);
  }
  if (changes->n == changes->capacity) {
    const uint32_t capacity = changes->capacity ? changes->capacity * 2U : 4U;
    Change* const items = realloc(changes->items, capacity * sizeof(Change));
    if (!items) {
      return error_set(error, STATUS_NO_MEM, "out of memory");
    }
    changes->items = items;
    changes->capacity = capacity;
  }
  changes->items[changes->n++] = *change;
  return STATUS_OK;
}

static Status
add_param(Changes* const changes, const RackNode* const node, const uint32_t param,
          Error* const error)
{
  const RackValue value = node->values[param];
  return add_change(changes, &(Change){ node->uid, param, value, value }, error);
}

/// Split "/node/<node>/<param>", or "<node>.<param>" of /rack/set, where patterns mean themselves.
static Status
read_target(const Message* const message, Target* const target, Error* const error)
{
  const bool by_address = strncmp(message->address, "/node/", 6) == 0;
  const char* const text = by_address ? message->address + 6 : message_text(message, 0);
  const char* const split = by_address ? strchr(text, '/') : strchr(text, '.');
  if (!split || split == text || !split[1] || strlen(text) > GATE_MAX_ADDRESS) {
    return error_set(error, STATUS_BAD_ARG, "\"%.100s\" is not of the form node.param", text);
  }
  snprintf(target->node, sizeof(target->node), "%.*s", (int)(split - text), text);
  snprintf(target->param, sizeof(target->param), "%s", split + 1);
  return STATUS_OK;
}

static uint32_t
value_argument(const Message* const message)
{
  return strncmp(message->address, "/node/", 6) == 0 ? 0U : 1U;
}

static Status
add_params(const RackNode* const node, const char* const pattern, Changes* const found,
           Error* const error)
{
  const int exact = fx_param_find(node->fx, pattern);
  if (exact >= 0) {
    return add_param(found, node, (uint32_t)exact, error);
  }
  Status status = STATUS_OK;
  for (uint32_t p = 0; p < node->fx->n_params && pattern_is_magic(pattern); ++p) {
    if (status == STATUS_OK && pattern_match(pattern, node->fx->params[p].id)) {
      status = add_param(found, node, p, error);
    }
    ++found->n_compared;
  }
  return status;
}

static Status
say_no_node(const Rack* const rack, const char* const name, Error* const error)
{
  const char** const names = malloc((rack->n_nodes + 1U) * sizeof(*names));
  for (uint32_t n = 0; names && n < rack->n_nodes; ++n) {
    names[n] = rack->nodes[n].name;
  }
  char hint[HINT_BYTES];
  error_set(error, STATUS_NOT_FOUND, "no node \"%.63s\"; %s", name,
            rack->n_nodes ? name_hint(hint, name, names, names ? rack->n_nodes : 0U)
                          : "the rack has none yet");
  free(names);
  return STATUS_NOT_FOUND;
}

static Status
say_no_param(const RackNode* const node, const char* const id, Error* const error)
{
  const char* names[64];
  uint32_t n = 0;
  for (; n < node->fx->n_params && n < ARRAY_LEN(names); ++n) {
    names[n] = node->fx->params[n].id;
  }
  char hint[HINT_BYTES];
  return error_set(error, STATUS_NOT_FOUND, "%s (%s) has no parameter \"%.63s\"; %s", node->name,
                   node->fx->name, id, name_hint(hint, id, names, n));
}

static Status
say_no_match(const Target* const target, Error* const error)
{
  return error_set(error, STATUS_NOT_FOUND, "no node \"%.63s\" has a parameter \"%.63s\"",
                   target->node, target->param);
}

/// What a pattern means at `n` nodes from the `first` on.
static Status
find_at_nodes(const Rack* const rack, const Target* const target, const uint32_t first,
              const uint32_t n, Changes* const found, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t i = first; i < first + n && i < rack->n_nodes && status == STATUS_OK; ++i) {
    ++found->n_compared;
    if (found->n_compared > VALUES_MAX_COMPARE) {
      return error_set(error, STATUS_LIMIT, "the patterns compare too many names");
    }
    if (pattern_match(target->node, rack->nodes[i].name)) {
      status = add_params(&rack->nodes[i], target->param, found, error);
    }
  }
  return status;
}

static Status
find_by_pattern(const Rack* const rack, const Target* const target, Changes* const found,
                Error* const error)
{
  const uint32_t n_before = found->n;
  const Status status = find_at_nodes(rack, target, 0, rack->n_nodes, found, error);
  return status == STATUS_OK && found->n == n_before ? say_no_match(target, error) : status;
}

static Status
find_target(const Rack* const rack, const Target* const target, Changes* const found,
            Error* const error)
{
  if (pattern_is_magic(target->node)) {
    return find_by_pattern(rack, target, found, error);
  }
  const RackNode* const node = rack_find(rack, target->node);
  if (!node) {
    return say_no_node(rack, target->node, error);
  }
  const uint32_t n_before = found->n;
  const Status status = add_params(node, target->param, found, error);
  return status == STATUS_OK && found->n == n_before ? say_no_param(node, target->param, error)
                                                     : status;
}

Status
values_read(const Rack* const rack, Message* const message, Changes* const found,
            Error* const error)
{
  Target target;
  Status status = read_target(message, &target, error);
  if (status != STATUS_OK || !pattern_is_magic(target.node)) {
    return status == STATUS_OK ? find_target(rack, &target, found, error) : status;
  }
  status = find_at_nodes(rack, &target, message->n_nodes_read, NODES_AT_ONCE, found, error);
  message->n_nodes_read += NODES_AT_ONCE;
  message->n_values_read += found->n;
  message->is_unfinished = message->n_nodes_read < rack->n_nodes;
  return status == STATUS_OK && !message->is_unfinished && message->n_values_read == 0
             ? say_no_match(&target, error)
             : status;
}

static bool
is_structural(const FxParam* const param)
{
  return param->structural || param->kind == PARAM_FILE || param->kind == PARAM_TEXT;
}

/// The node of "<node>.backend", else NULL.  "backend" is no parameter of the effect, but every
/// node's choice of hardware: an edit.
static RackNode*
find_backend(const Rack* const rack, const Target* const target)
{
  return strcmp(target->param, "backend") == 0 ? rack_lookup(rack, target->node, NULL) : NULL;
}

/// The parameters that a message of a change means.
static Status
find_values(const Rack* const rack, const Message* const message, Changes* const found,
            Error* const error)
{
  Target target;
  const Status status = read_target(message, &target, error);
  return status == STATUS_OK ? find_target(rack, &target, found, error) : status;
}

/// All parameters of a batch; false when one is missing.
static bool
find_all(const Rack* const rack, const Batch* const batch, Changes* const found)
{
  for (uint32_t m = 0; m < batch->n_messages; ++m) {
    if (find_values(rack, &batch->messages[m], found, NULL) != STATUS_OK) {
      return false;
    }
  }
  return true;
}

ValuesKind
values_kind(const Rack* const rack, const Batch* const batch)
{
  Changes found = { NULL, 0, 0, 0 };
  ValuesKind kind = VALUES_LIVE;
  for (uint32_t m = 0; m < batch->n_messages && kind != VALUES_STRUCTURAL; ++m) {
    Target target;
    if (read_target(&batch->messages[m], &target, NULL) != STATUS_OK) {
      kind = VALUES_MISSING;
    } else if (find_backend(rack, &target)) {
      kind = VALUES_STRUCTURAL;
    } else if (kind == VALUES_LIVE && find_target(rack, &target, &found, NULL) != STATUS_OK) {
      kind = VALUES_MISSING;
    }
  }
  for (uint32_t c = 0; c < found.n && kind == VALUES_LIVE; ++c) {
    const RackNode* const node = rack_find_uid(rack, found.items[c].uid);
    if (is_structural(&node->fx->params[found.items[c].param])) {
      kind = VALUES_STRUCTURAL;
    }
  }
  changes_clear(&found);
  return kind;
}

bool
values_agree(const Rack* const a, const Rack* const b, const Batch* const batch)
{
  Changes in_a = { NULL, 0, 0, 0 };
  Changes in_b = { NULL, 0, 0, 0 };
  bool agree = find_all(a, batch, &in_a) && find_all(b, batch, &in_b) && in_a.n == in_b.n;
  for (uint32_t c = 0; c < in_a.n && agree; ++c) {
    agree = in_a.items[c].uid == in_b.items[c].uid && in_a.items[c].param == in_b.items[c].param;
  }
  changes_clear(&in_a);
  changes_clear(&in_b);
  return agree;
}

static RackNode*
node_of(Rack* const rack, const RackUid uid)
{
  return (RackNode*)rack_find_uid(rack, uid); // the rack is ours to change
}

static Status
set_found(Rack* const rack, const Message* const message, Changes* const changes,
          const uint32_t first, Error* const error)
{
  for (uint32_t c = first; c < changes->n; ++c) {
    Change* const change = &changes->items[c];
    RackNode* const node = node_of(rack, change->uid);
    change->before = node->values[change->param];
    const Status status = edit_value(node, change->param, message, value_argument(message), error);
    if (status != STATUS_OK) {
      changes->n = c; // those before have been made
      return status;
    }
    change->after = node->values[change->param];
  }
  return STATUS_OK;
}

Status
values_set(Rack* const rack, const Batch* const batch, Changes* const changes,
           const Message** const failing, Error* const error)
{
  for (uint32_t m = 0; m < batch->n_messages; ++m) {
    const Message* const message = &batch->messages[m];
    const uint32_t first = changes->n;
    Status status = find_values(rack, message, changes, error);
    if (status == STATUS_OK) {
      status = set_found(rack, message, changes, first, error);
    } else {
      changes->n = first;
    }
    if (status != STATUS_OK) {
      values_revert(rack, changes);
      changes->n = 0;
      *failing = message;
      return status;
    }
  }
  return STATUS_OK;
}

Status
values_set_any(Rack* const rack, const Message* const message, Error* const error)
{
  Target target;
  Status status = read_target(message, &target, error);
  if (status != STATUS_OK) {
    return status;
  }
  RackNode* const node = find_backend(rack, &target);
  if (node) {
    return edit_value(node, node->fx->n_params, message, value_argument(message), error);
  }
  Changes found = { NULL, 0, 0, 0 };
  status = find_target(rack, &target, &found, error);
  for (uint32_t c = 0; c < found.n && status == STATUS_OK; ++c) {
    const Change* const change = &found.items[c];
    status = edit_value(node_of(rack, change->uid), change->param, message, value_argument(message),
                        error);
  }
  changes_clear(&found);
  return status;
}

void
values_revert(Rack* const rack, const Changes* const changes)
{
  for (uint32_t c = changes->n; c-- > 0;) {
    RackNode* const node = node_of(rack, changes->items[c].uid);
    if (node) {
      node->values[changes->items[c].param] = changes->items[c].before;
    }
  }
}

bool
values_repeat(Rack* const rack, const Changes* const changes)
{
  for (uint32_t c = 0; c < changes->n; ++c) {
    if (!node_of(rack, changes->items[c].uid)) {
      return false;
    }
  }
  for (uint32_t c = 0; c < changes->n; ++c) {
    node_of(rack, changes->items[c].uid)->values[changes->items[c].param] = changes->items[c].after;
  }
  return true;
}

void
values_append(lo_message* const arguments, const RackNode* const node, const uint32_t param,
              const double rate_hz)
{
  const FxParam* const row = &node->fx->params[param];
  const double number = rack_number(node, param, rate_hz);
  switch (row->kind) {
  case PARAM_NUMBER:
    outlet_add(arguments, "f", number);
    break;
  case PARAM_INTEGER:
  case PARAM_SWITCH:
    outlet_add(arguments, "i", (int32_t)lrint(number));
    break;
  case PARAM_CHOICE:
    outlet_add(arguments, "s", row->choices[lrint(number)]);
    break;
  case PARAM_FILE:
  case PARAM_TEXT: {
    const char* const text = rack_text(node, param);
    outlet_add(arguments, "s", text ? text : "");
    break;
  }
  }
}
