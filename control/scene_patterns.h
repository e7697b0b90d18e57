// SPDX-License-Identifier: GPL-3.0-or-later
/// Patterns of parameters, in messages about scenes and in the safes of a rack.
#ifndef WARPRACK_CONTROL_SCENE_PATTERNS_H
#define WARPRACK_CONTROL_SCENE_PATTERNS_H

#include "engine/base/status.h"
#include "engine/rack/rack.h"

#include <stdbool.h>
#include <stdint.h>

#define SCENE_MAX_PATTERNS 32U // of one message

/// A pattern of parameters, "node.param".
typedef struct ScenePattern {
  char node[RACK_PATTERN_BYTES];
  char param[RACK_PATTERN_BYTES];
  bool is_exact;  ///< It has no wildcards
  bool has_found; ///< A parameter has matched
} ScenePattern;

typedef struct ScenePatterns {
  ScenePattern items[SCENE_MAX_PATTERNS];
  uint32_t n;
} ScenePatterns;

/// Append a pattern.  STATUS_BAD_RACK: malformed.  STATUS_LIMIT.
NODISCARD Status scene_pattern_add(ScenePatterns* patterns, const char* text, Error* error);

/// True if a name matches one half of a pattern.  Counts names that are compared with wildcards.
bool scene_pattern_matches(const char* pattern, const char* name, uint32_t* n_compared);

/// True if a safe of the rack matches the parameter.
bool
scene_pattern_is_safe(const Rack* rack, const char* node, const char* param, uint32_t* n_compared);

/// STATUS_LIMIT if a message has compared too many names with wildcards.
NODISCARD Status scene_pattern_check_compared(uint32_t n_compared, Error* error);

#endif
