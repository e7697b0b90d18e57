// SPDX-License-Identifier: GPL-3.0-or-later
// Finds the parameters of a rack from addresses and patterns, and sets them.

#include "values.h"

#include "command.h"
#include "edits.h"
#include "tempo.h"

#include "control/net/outlet.h"
#include "control/net/pattern.h"
#include "engine/base/hint.h"
#include "engine/base/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_AT_ONCE 64U // compared in a step of a read, which takes about 0.3 ms

/// The nodes and parameters of a message, as patterns.
typedef struct Target {
  char node[PACKET_MAX_ADDRESS + 1U];
  char param[PACKET_MAX_ADDRESS + 1U];
  bool is_norm; ///< values_is_norm()
} Target;

bool
values_is_norm(const Message* const message)
{
  return address_is_under(message->address, "/norm/");
}

/// The part of the address behind "/node/" or "/norm/"; NULL for /rack/set.
static const char*
target_in_address(const Message* const message)
{
  return values_is_norm(message) || address_is_under(message->address, "/node/")
             ? message->address + ADDRESS_ROOT_BYTES
             : NULL;
}

static Status
add_param(Changes* const changes, const RackNode* const node, const uint32_t param,
          Error* const error)
{
  const RackValue value = node->values[param];
  return changes_add(changes,
                     &(Change){ .uid = node->uid, .param = param, .before = value, .after = value },
                     error);
}

/// Split "/node/<node>/<param>", "/norm/<node>/<param>", or "<node>.<param>" of /rack/set, which
/// has no patterns.
static Status
read_target(const Message* const message, Target* const target, Error* const error)
{
  const char* const in_address = target_in_address(message);
  const char* const text = in_address ? in_address : message_text(message, 0);
  const char* const split = strchr(text, in_address ? '/' : '.');
  if (!split || split == text || !split[1] || strlen(text) > PACKET_MAX_ADDRESS) {
    error_set(error, STATUS_BAD_ARG, "\"%.100s\" is not of the form node.param", text);
    return STATUS_BAD_ARG;
  }
  const size_t n_node = (size_t)(split - text);
  memcpy(target->node, text, n_node);
  target->node[n_node] = '\0';
  strcpy(target->param, split + 1);
  target->is_norm = values_is_norm(message);
  return STATUS_OK;
}

static uint32_t
value_argument(const Message* const message)
{
  return target_in_address(message) ? 0U : 1U;
}

static Status
fail_no_position(const RackNode* const node, const FxParam* const param, Error* const error)
{
  return error_set(error, STATUS_BAD_ARG,
                   "%s.%s is a %s, which has no position from 0 to 1; set it by /node/%s/%s",
                   node->name, param->id, fx_kind_words[param->kind], node->name, param->id);
}

/// True if a message states a time behind the value.
static bool
has_seconds(const Message* const message)
{
  const uint32_t argument = value_argument(message) + 1U;
  return !message->info->find && message_n_arguments(message) > argument &&
         strchr("ihfd", message_type(message, argument));
}

/// The time that a message states; 0: none.
static double
seconds_of(const Message* const message)
{
  return has_seconds(message) ? message_number(message, value_argument(message) + 1U) : 0.0;
}

/// Append the parameter with this id, or those of n parameters from the `first` on that match it.
/// Patterns of positions match no texts.
static Status
add_params(const RackNode* const node, const Target* const target, const uint32_t first,
           const uint32_t n, Changes* const found, Error* const error)
{
  const FxInfo* const fx = node->fx;
  const char* const pattern = target->param;
  const int exact = fx->is_missing ? -1 : fx_param_find(fx, pattern);
  if (exact >= 0) {
    return target->is_norm && fx_param_is_text(&fx->params[exact])
               ? fail_no_position(node, &fx->params[exact], error)
               : add_param(found, node, (uint32_t)exact, error);
  }
  const uint32_t end = pattern_is_magic(pattern) && !fx->is_missing ? fx->n_params : first;
  Status status = STATUS_OK;
  for (uint32_t p = first; p < end && p - first < n && status == STATUS_OK; ++p) {
    const bool fits = !(target->is_norm && fx_param_is_text(&fx->params[p]));
    if (fits && pattern_match(pattern, fx->params[p].id)) {
      status = add_param(found, node, p, error);
    }
    ++found->n_compared;
  }
  return status;
}

static Status
fail_no_param(const RackNode* const node, const char* const id, Error* const error)
{
  const uint32_t n = node->fx->n_params;
  if (node->fx->is_missing) {
    return error_set(error, STATUS_NOT_FOUND,
                     "the plugin of %s is missing, so its parameters are not known; the rack keeps "
                     "each value that you set until it is there",
                     node->name);
  }
  const char** const names =
      malloc((n + 1U) * sizeof(char*)); // + 1: never an allocation of 0 bytes
  for (uint32_t p = 0; names && p < n; ++p) {
    names[p] = node->fx->params[p].id;
  }
  char hint[HINT_BYTES];
  error_set(error, STATUS_NOT_FOUND, "%s (%s) has no parameter \"%.63s\"; %s", node->name,
            node->fx->name, id, name_hint(hint, id, names, names ? n : 0U));
  free(names);
  return STATUS_NOT_FOUND;
}

static Status
fail_no_match(const Target* const target, Error* const error)
{
  return error_set(error, STATUS_NOT_FOUND, "no node \"%.63s\" has a parameter \"%.63s\"",
                   target->node, target->param);
}

static Status
find_by_pattern(const Rack* const rack, const Target* const target, Changes* const found,
                Error* const error)
{
  const uint32_t n_before = found->n;
  Status status = STATUS_OK;
  for (uint32_t n = 0; n < rack->n_nodes && status == STATUS_OK; ++n) {
    const RackNode* const node = &rack->nodes[n];
    ++found->n_compared;
    if (found->n_compared > VALUES_MAX_COMPARE) {
      return error_set(error, STATUS_LIMIT, "the patterns compare too many names");
    }
    if (pattern_match(target->node, node->name)) {
      status = add_params(node, target, 0, node->fx->n_params, found, error);
    }
  }
  return status == STATUS_OK && found->n == n_before ? fail_no_match(target, error) : status;
}

static Status
find_target(const Rack* const rack, const Target* const target, Changes* const found,
            Error* const error)
{
  if (pattern_is_magic(target->node)) {
    return find_by_pattern(rack, target, found, error);
  }
  const RackNode* const node = rack_lookup(rack, target->node, error);
  if (!node) {
    return STATUS_NOT_FOUND;
  }
  if (node->fx->is_missing && !pattern_is_magic(target->param)) {
    return changes_add(found, &(Change){ .uid = node->uid, .param = 0 }, error); // the kept values
  }
  const uint32_t n_before = found->n;
  const Status status = add_params(node, target, 0, node->fx->n_params, found, error);
  return status == STATUS_OK && found->n == n_before ? fail_no_param(node, target->param, error)
                                                     : status;
}

/// Read the next parameters of a node, in one step of a read.
static Status
read_node(const RackNode* const node, const Target* const target, Message* const message,
          Changes* const found, Error* const error)
{
  const uint32_t n = NAMES_AT_ONCE - found->n_compared;
  const Status status = add_params(node, target, message->n_params_read, n, found, error);
  message->n_params_read += n;
  message->is_unfinished =
      pattern_is_magic(target->param) && message->n_params_read < node->fx->n_params;
  message->n_params_read = message->is_unfinished ? message->n_params_read : 0U;
  return status;
}

static Status
read_nodes(const Rack* const rack, const Target* const target, Message* const message,
           Changes* const found, Error* const error)
{
  Status status = STATUS_OK;
  while (message->n_nodes_read < rack->n_nodes && found->n_compared < NAMES_AT_ONCE &&
         status == STATUS_OK) {
    const RackNode* const node = &rack->nodes[message->n_nodes_read];
    ++found->n_compared;
    if (pattern_match(target->node, node->name)) {
      status = read_node(node, target, message, found, error);
    }
    message->n_nodes_read += !message->is_unfinished;
  }
  message->is_unfinished = message->n_nodes_read < rack->n_nodes;
  return status;
}

Status
values_read(const Rack* const rack, Message* const message, Changes* const found,
            Error* const error)
{
  Target target;
  Status status = read_target(message, &target, error);
  if (status != STATUS_OK) {
    return status;
  }
  const bool is_one = !pattern_is_magic(target.node);
  const RackNode* const node = is_one ? rack_lookup(rack, target.node, error) : NULL;
  if (is_one && !node) {
    return STATUS_NOT_FOUND;
  }
  status = is_one ? read_node(node, &target, message, found, error)
                  : read_nodes(rack, &target, message, found, error);
  message->n_values_read += found->n;
  if (status != STATUS_OK || message->is_unfinished || message->n_values_read) {
    return status;
  }
  return is_one ? fail_no_param(node, target.param, error) : fail_no_match(&target, error);
}

/// Append the parameters that the address of a message, or its first argument, names.  "backend" is
/// not a parameter of an effect but a property of every node, and structural.
static Status
find_addressed(const Rack* const rack, const Message* const message, Changes* const found,
               Error* const error)
{
  Target target;
  const Status status = read_target(message, &target, error);
  if (status != STATUS_OK) {
    return status;
  }
  const RackNode* const node =
      !target.is_norm && strcmp(target.param, "backend") == 0 ? rack_find(rack, target.node) : NULL;
  return node
             ? changes_add(found, &(Change){ .uid = node->uid, .param = node->fx->n_params }, error)
             : find_target(rack, &target, found, error);
}

/// Append the parameters that a message sets.
static Status
find_values(const Rack* const rack, const Message* const message, Changes* const found,
            Error* const error)
{
  const uint32_t first = found->n;
  const Status status = message->info->find ? message->info->find(rack, message, found, error)
                                            : find_addressed(rack, message, found, error);
  found->n = status == STATUS_OK ? found->n : first;
  for (uint32_t c = first; c < found->n; ++c) {
    Change* const change = &found->items[c];
    change->message = message;
    change->seconds = message->info->find ? change->seconds : seconds_of(message);
  }
  return status;
}

/// Check the time of the message of a change: values that only an edit can change take none.
static Status
check_seconds(const Rack* const rack, const Change* const change, Error* const error)
{
  const double seconds = change->seconds;
  const RackNode* const node = rack_find_uid(rack, change->uid);
  if (!(seconds >= 0.0 && seconds <= RACK_MAX_FADE_SECONDS)) { // NaN, too
    return error_set(error, STATUS_BAD_ARG, "the time is %g; it is 0 to %g s", seconds,
                     RACK_MAX_FADE_SECONDS);
  }
  if (has_seconds(change->message) && rack_is_structural(node, change->param)) {
    return error_set(error, STATUS_BAD_ARG,
                     "this value of %s changes by an edit; leave out the time", node->name);
  }
  return STATUS_OK;
}

void
values_find(const Rack* const rack, const Bundle* const bundle, Targets* const targets)
{
  *targets = (Targets){ .is_structural = false };
  Changes* const found = &targets->changes;
  for (uint32_t m = 0; m < bundle->n_messages && !targets->missing; ++m) {
    const uint32_t first = found->n;
    Status status = find_values(rack, &bundle->messages[m], found, &targets->error);
    for (uint32_t c = first; c < found->n && !status; ++c) {
      status = check_seconds(rack, &found->items[c], &targets->error);
    }
    targets->missing = status ? &bundle->messages[m] : NULL;
  }
  for (uint32_t c = 0; c < found->n; ++c) {
    const Change* const change = &found->items[c];
    targets->is_structural |= rack_is_structural(rack_find_uid(rack, change->uid), change->param);
  }
}

bool
values_agree(const Rack* const rack, const Bundle* const bundle, const Targets* const targets)
{
  Targets other;
  values_find(rack, bundle, &other);
  const Changes* const a = &targets->changes;
  const Changes* const b = &other.changes;
  bool agree = !targets->missing && !other.missing && a->n == b->n;
  for (uint32_t c = 0; c < a->n && agree; ++c) {
    const Change* const x = &a->items[c];
    const Change* const y = &b->items[c];
    agree = x->uid == y->uid && x->param == y->param && x->number == y->number &&
            !x->text == !y->text && (!x->text || strcmp(x->text, y->text) == 0);
  }
  changes_clear(&other.changes);
  return agree;
}

static RackNode*
node_of(Rack* const rack, const RackUid uid)
{
  return (RackNode*)rack_find_uid(rack, uid); // the caller owns the rack
}

/// Let a node whose plugin is missing keep the value of a message.
static Status
keep_value(Rack* const rack, const RackNode* const node, const Message* const message,
           Error* const error)
{
  const uint32_t argument = value_argument(message);
  const char type = message_type(message, argument);
  char number[NUMBER_BYTES];
  Target target;
  const Status status = read_target(message, &target, error);
  if (status) {
    return status;
  }
  if (type == 's' || type == 'S') {
    return rack_keep_value(rack, node, target.param, message_text(message, argument), error);
  }
  if (!isfinite(message_number(message, argument))) {
    return error_set(error, STATUS_BAD_ARG, "%s.%.63s: not a finite number", node->name,
                     target.param);
  }
  return rack_keep_value(rack, node, target.param,
                         number_print(message_number(message, argument), number), error);
}

/// Set a parameter to the position in a message.
static Status
set_position(RackNode* const node, const uint32_t param, const Message* const message,
             Error* const error)
{
  const double position = message_number(message, 0);
  if (node->fx->is_missing) {
    return error_set(error, STATUS_NOT_FOUND,
                     "the plugin of %s is missing, so the ranges of its parameters are not known",
                     node->name);
  }
  if (isnan(position)) {
    return error_set(error, STATUS_BAD_ARG, "%s.%s: not a number", node->name,
                     node->fx->params[param].id);
  }
  return rack_set_param_number(node, param, fx_param_from_norm(&node->fx->params[param], position),
                               error);
}

/// Set one parameter to the value in its message.
static Status
set_change(Rack* const rack, const Change* const change, Error* const error)
{
  RackNode* const node = node_of(rack, change->uid);
  if (tempo_is(change->message)) {
    return STATUS_OK; // it follows the tempo, unless a message before has set it
  }
  if (change->has_number) {
    return rack_set_param_number(node, change->param, change->number, error);
  }
  if (change->text) {
    return rack_set_param(node, change->param, change->text, error);
  }
  if (values_is_norm(change->message)) {
    return set_position(node, change->param, change->message, error);
  }
  return node->fx->is_missing && change->param < node->fx->n_params
             ? keep_value(rack, node, change->message, error)
             : edit_value(node, change->param, change->message, value_argument(change->message),
                          error);
}

Status
values_set(Rack* const rack, Targets* const targets, const Message** const failing,
           Error* const error)
{
  Changes* const changes = &targets->changes;
  changes->n = targets->is_structural ? 0U : changes->n; // then only report the missing parameter
  Status status = STATUS_OK;
  for (uint32_t c = 0; c < changes->n && status == STATUS_OK; ++c) {
    Change* const change = &changes->items[c];
    RackValue* const value = &node_of(rack, change->uid)->values[change->param];
    change->before = *value;
    status = set_change(rack, change, error);
    change->after = *value;
    if (status != STATUS_OK) {
      *failing = change->message;
      changes->n = c; // values_revert() reverts the changes before
    }
  }
  if (status == STATUS_OK && targets->missing) {
    *failing = targets->missing;
    status = error_set(error, targets->error.status, "%s", targets->error.text);
  }
  if (status != STATUS_OK) {
    values_revert(rack, changes);
  }
  return status;
}

Status
values_set_any(Rack* const rack, const Message* const message, Error* const error)
{
  Changes found = { .items = NULL };
  if (has_seconds(message)) {
    return error_set(error, STATUS_BAD_ARG,
                     "in a bundle with edits all changes at once; leave out the time");
  }
  Status status = find_values(rack, message, &found, error);
  for (uint32_t c = 0; c < found.n && status == STATUS_OK; ++c) {
    status = set_change(rack, &found.items[c], error);
  }
  changes_clear(&found);
  return status ? status : tempo_set_message(rack, message, error);
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
values_append_norm(lo_message* const arguments, const RackNode* const node, const uint32_t param,
                   const double rate_hz)
{
  const double number = rack_number(node, param, rate_hz);
  outlet_add(arguments, "f", fx_param_to_norm(&node->fx->params[param], number));
}

void
values_append(lo_message* const arguments, const RackNode* const node, const uint32_t param,
              const double rate_hz)
{
  const FxParam* const row = &node->fx->params[param];
  const double number = rack_number(node, param, rate_hz);
  char text[NUMBER_BYTES];
  switch (row->kind) {
  case PARAM_NUMBER:
    outlet_add(arguments, "f", number);
    break;
  case PARAM_INTEGER:
  case PARAM_SWITCH:
    outlet_add(arguments, "i", (int32_t)lrint(number));
    break;
  case PARAM_CHOICE:
    outlet_add(arguments, "s", rack_choice_name(row, number, text));
    break;
  case PARAM_FILE:
  case PARAM_PATH:
  case PARAM_TEXT:
    outlet_add(arguments, "s", rack_text(node, param) ? rack_text(node, param) : "");
    break;
  }
}
