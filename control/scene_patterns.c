// SPDX-License-Identifier: GPL-3.0-or-later
#include "scene_patterns.h"

#include "changes.h"

#include "control/net/pattern.h"

#include <stdio.h>
#include <string.h>

Status
scene_pattern_add(ScenePatterns* const patterns, const char* const text, Error* const error)
{
  const Status status = rack_check_pattern(text, error);
  if (status || patterns->n == SCENE_MAX_PATTERNS) {
    return status ? status
                  : error_set(error, STATUS_LIMIT, "more than %u patterns", SCENE_MAX_PATTERNS);
  }
  ScenePattern* const pattern = &patterns->items[patterns->n++];
  const int n_node = (int)strcspn(text, ".");
  snprintf(pattern->node, sizeof(pattern->node), "%.*s", n_node, text);
  snprintf(pattern->param, sizeof(pattern->param), "%s", text + n_node + 1);
  pattern->is_exact = !pattern_is_magic(text);
  pattern->has_found = false;
  return STATUS_OK;
}

bool
scene_pattern_matches(const char* const pattern, const char* const name, uint32_t* const n_compared)
{
  if (!strcmp(pattern, "*") || !strcmp(pattern, name)) {
    return true;
  }
  const bool is_magic = pattern_is_magic(pattern);
  *n_compared += is_magic;
  return is_magic && pattern_match(pattern, name);
}

bool
scene_pattern_is_safe(const Rack* const rack, const char* const node, const char* const param,
                      uint32_t* const n_compared)
{
  bool is = false;
  for (uint32_t s = 0; rack->safes && s < rack->safes->n_values && !is; ++s) {
    const RackSceneValue* const safe = &rack->safes->values[s];
    is = scene_pattern_matches(safe->node, node, n_compared) &&
         scene_pattern_matches(safe->param, param, n_compared);
  }
  return is;
}

Status
scene_pattern_check_compared(const uint32_t n_compared, Error* const error)
{
  return n_compared > VALUES_MAX_COMPARE
             ? error_set(error, STATUS_LIMIT, "the patterns compare too many names")
             : STATUS_OK;
}
