// SPDX-License-Identifier: GPL-3.0-or-later
#include "scene_edits.h"

#include "changes.h"
#include "scene_patterns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- store ----

/// A scene that is stored.
typedef struct Store {
  const Rack* rack;
  ScenePatterns patterns; ///< Of the message
  uint32_t n_values, n_compared;
  TextBuffer statement;
} Store;

static const char*
param_id(const RackNode* const node, const uint32_t param)
{
  return param < node->fx->n_params ? node->fx->params[param].id : "backend";
}

/// True if a parameter has the value of a preset or of a state, which only the plugin knows.
static bool
is_unknown(const RackNode* const node, const uint32_t param)
{
  static const char* const sources[] = { "preset", "state" };
  bool has_source = false;
  for (uint32_t s = 0; s < ARRAY_LEN(sources); ++s) {
    const int p = fx_param_find(node->fx, sources[s]);
    has_source = has_source || (p >= 0 && node->values[p].kind == VALUE_TEXT);
  }
  return has_source && param < node->fx->n_params && node->fx->params[param].in_presets &&
         node->values[param].kind == VALUE_INITIAL;
}

/// True if the scene gets a parameter of a node.  `may_match` [patterns.n]: its name matches.
static bool
is_stored(Store* const store, const RackNode* const node, const uint32_t param,
          const bool* const may_match)
{
  const char* const id = param_id(node, param);
  bool is_exact = false;
  bool is_wanted = !store->patterns.n;
  for (uint32_t p = 0; p < store->patterns.n; ++p) {
    ScenePattern* const pattern = &store->patterns.items[p];
    if (may_match[p] && scene_pattern_matches(pattern->param, id, &store->n_compared)) {
      pattern->has_found = true;
      is_wanted = true;
      is_exact = is_exact || pattern->is_exact;
    }
  }
  return is_wanted && !is_unknown(node, param) &&
         (is_exact || (!rack_is_structural(node, param) &&
                       !scene_pattern_is_safe(store->rack, node->name, id, &store->n_compared)));
}

static Status
store_node(Store* const store, const RackNode* const node, Error* const error)
{
  bool may_match[SCENE_MAX_PATTERNS] = { false };
  bool any = !store->patterns.n;
  for (uint32_t p = 0; p < store->patterns.n; ++p) {
    may_match[p] =
        scene_pattern_matches(store->patterns.items[p].node, node->name, &store->n_compared);
    any = any || may_match[p];
  }
  const uint32_t n = any && !node->fx->is_missing ? node->fx->n_params + 1U : 0U;
  for (uint32_t param = 0; param < n && store->n_compared <= VALUES_MAX_COMPARE; ++param) {
    if (is_stored(store, node, param, may_match)) {
      rack_print_target(node, param, &store->statement);
      ++store->n_values;
    }
  }
  return scene_pattern_check_compared(store->n_compared, error);
}

/// Fail because a pattern matches no parameter.
static Status
fail_no_match(const Rack* const rack, const ScenePattern* const pattern, Error* const error)
{
  uint32_t param = 0;
  const RackNode* const node = pattern->is_exact ? rack_lookup(rack, pattern->node, error) : NULL;
  if (pattern->is_exact) {
    return node ? rack_find_param(node->fx, pattern->param, &param, error) : STATUS_NOT_FOUND;
  }
  return error_set(error, STATUS_NOT_FOUND, "no node \"%.63s\" has a parameter \"%.63s\"",
                   pattern->node, pattern->param);
}

/// Collect the values of a scene in its statement.
static Status
store_values(Store* const store, const Message* const message, Error* const error)
{
  const Rack* const rack = store->rack;
  Status status = rack_check_scene_name(message_text(message, 0), error);
  for (uint32_t a = 1; a < message_n_arguments(message) && !status; ++a) {
    status = scene_pattern_add(&store->patterns, message_text(message, a), error);
  }
  const RackScene* const before = rack_find_scene(rack, message_text(message, 0));
  text_buffer_print(&store->statement, "scene %s", message_text(message, 0));
  rack_print_fade(before ? before->fade : (RackSceneFade){ 0 }, &store->statement);
  for (uint32_t n = 0; n < rack->n_nodes && !status; ++n) {
    status = store_node(store, &rack->nodes[n], error);
  }
  for (uint32_t p = 0; p < store->patterns.n && !status; ++p) {
    const ScenePattern* const pattern = &store->patterns.items[p];
    status = pattern->has_found ? STATUS_OK : fail_no_match(rack, pattern, error);
  }
  return status || store->n_values ? status
                                   : error_set(error, STATUS_NOT_FOUND,
                                               "no parameter to store: all are safe, make new "
                                               "nodes, or have the value of a preset");
}

Status
edit_scene_store(Rack** const rack, const Message* const message, Error* const error)
{
  Store* const store = calloc(1, sizeof(Store));
  if (!store) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  store->rack = *rack;
  Status status = store_values(store, message, error);
  char* const statement = text_buffer_take(&store->statement);
  free(store);
  if (!status) {
    status = statement ? rack_apply(*rack, statement, "scene", error)
                       : error_set(error, STATUS_NO_MEM, "out of memory");
  }
  free(statement);
  if (!status) {
    snprintf((*rack)->recalled, sizeof((*rack)->recalled), "%s", message_text(message, 0));
  }
  return status;
}

// ---- other edits ----

Status
edit_scene_remove(Rack** const rack, const Message* const message, Error* const error)
{
  return rack_remove_scene(*rack, message_text(message, 0), error);
}

Status
edit_scene_safe(Rack** const rack, const Message* const message, Error* const error)
{
  TextBuffer statement = { .bytes = NULL };
  Status status = STATUS_OK;
  text_buffer_add(&statement, "safe");
  for (uint32_t a = 0; a < message_n_arguments(message) && !status; ++a) {
    status = rack_check_pattern(message_text(message, a), error);
    text_buffer_print(&statement, " %s", message_text(message, a));
  }
  char* const text = text_buffer_take(&statement);
  if (!status) {
    status = text ? rack_apply(*rack, text, "safe", error)
                  : error_set(error, STATUS_NO_MEM, "out of memory");
  }
  free(text);
  return status;
}

Status
edit_scene_unsafe(Rack** const rack, const Message* const message, Error* const error)
{
  Status status = STATUS_OK;
  for (uint32_t a = 0; a < message_n_arguments(message) && !status; ++a) {
    status = rack_remove_safe(*rack, message_text(message, a), error);
  }
  return status;
}
