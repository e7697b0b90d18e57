// SPDX-License-Identifier: GPL-3.0-or-later
// One line per address, with tabs between its fields.

#include "describe.h"

#include "command.h"
#include "values.h"

#include "control/net/packet_check.h"
#include "control/net/pattern.h"
#include "engine/base/text_buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PARTS 4U // of the longest address: /node/<node>/state/save

/// An address or a pattern, divided at its slashes.
typedef struct Parts {
  char text[PACKET_MAX_ADDRESS + 1U];
  const char* of[MAX_PARTS]; ///< [n], in `text`
  uint32_t n;                ///< 0: there is no such address
} Parts;

typedef struct Describe {
  TextBuffer text;
  const DescribeOf* of;
  Parts patterns[DESCRIBE_MAX_PATTERNS];
  uint32_t n_patterns;
  uint32_t n_lines, n_compared;
} Describe;

// ---- patterns ----

static void
divide(const char* const address, Parts* const parts)
{
  parts->n = 0;
  if (address[0] != '/' || strlen(address) > PACKET_MAX_ADDRESS) {
    return;
  }
  strcpy(parts->text, address);
  for (char* at = parts->text; at; at = strchr(at, '/')) {
    *at++ = '\0';
    if (parts->n == MAX_PARTS) {
      parts->n = 0;
      return;
    }
    parts->of[parts->n++] = at;
  }
}

/// True if a pattern matches the name that is part `part` of an address with n parts.
static bool
part_matches(Describe* const describe, const Parts* const pattern, const uint32_t n,
             const uint32_t part, const char* const name)
{
  ++describe->n_compared;
  return pattern->n == n && pattern_match(pattern->of[part], name);
}

static bool
address_matches(Describe* const describe, const char* const address)
{
  Parts parts;
  divide(address, &parts);
  bool matches = describe->n_patterns == 0;
  for (uint32_t p = 0; p < describe->n_patterns && !matches; ++p) {
    matches = true;
    for (uint32_t i = 0; i < parts.n && matches; ++i) {
      matches = part_matches(describe, &describe->patterns[p], parts.n, i, parts.of[i]);
    }
  }
  return matches;
}

/// Bits of the patterns that match a node; all for none.
static uint32_t
node_matches(Describe* const describe, const RackNode* const node)
{
  uint32_t bits = describe->n_patterns ? 0U : UINT32_MAX;
  for (uint32_t p = 0; p < describe->n_patterns; ++p) {
    const Parts* const pattern = &describe->patterns[p];
    bits |= part_matches(describe, pattern, 3U, 0U, "node") &&
                    part_matches(describe, pattern, 3U, 1U, node->name)
                ? 1U << p
                : 0U;
  }
  return bits;
}

/// True if one of the patterns in `bits` matches a parameter.
static bool
param_matches(Describe* const describe, const uint32_t bits, const FxParam* const param)
{
  bool matches = describe->n_patterns == 0;
  for (uint32_t p = 0; p < describe->n_patterns && !matches; ++p) {
    matches = bits & 1U << p && part_matches(describe, &describe->patterns[p], 3U, 2U, param->id);
  }
  return matches;
}

// ---- fields ----

/// Add a field after a tab.  Control characters in it, such as the tabs that texts may have, become
/// spaces.
static void
add_text(TextBuffer* const text, const char* const field)
{
  text_buffer_add(text, "\t");
  const size_t begin = text->n;
  text_buffer_add(text, field);
  for (size_t i = begin; i < text->n && !text->failed; ++i) {
    const unsigned char c = (unsigned char)text->bytes[i];
    text->bytes[i] = c < ' ' || c == 0x7FU ? ' ' : text->bytes[i];
  }
}

static void
add_number(TextBuffer* const text, const double number)
{
  char field[NUMBER_BYTES];
  snprintf(field, sizeof(field), "%.10g", number);
  add_text(text, field);
}

/// Add a value: a number, 0 or 1, the name of a choice, or a text.
static void
add_value(TextBuffer* const text, const FxParam* const param, const double number,
          const char* const value)
{
  char name[NUMBER_BYTES];
  if (fx_param_is_text(param)) {
    add_text(text, value ? value : "");
  } else if (param->kind == PARAM_CHOICE) {
    add_text(text, rack_choice_name(param, number, name));
  } else {
    add_number(text, number);
  }
}

/// The type of the argument with which a read answers, see values_append().
static const char*
type_of(const FxParam* const param)
{
  return param->kind == PARAM_NUMBER                                   ? "f"
         : param->kind == PARAM_INTEGER || param->kind == PARAM_SWITCH ? "i"
                                                                       : "s";
}

static void
add_range(TextBuffer* const text, const FxParam* const param)
{
  double min = 0.0;
  double max = 0.0;
  if (param->kind != PARAM_CHOICE && fx_param_range(param, &min, &max)) {
    add_number(text, min);
    add_number(text, max);
  } else {
    text_buffer_add(text, "\t\t");
  }
}

// ---- lines ----

static void
add_param(Describe* const describe, const RackNode* const node, const uint32_t p)
{
  TextBuffer* const text = &describe->text;
  const FxParam* const param = &node->fx->params[p];
  const bool is_edit = param->structural || fx_param_is_text(param);
  const bool has_taper = param->kind == PARAM_NUMBER || param->kind == PARAM_INTEGER;
  text_buffer_print(text, "/node/%s/%s", node->name, param->id);
  add_text(text, fx_kind_words[param->kind]);
  add_text(text, type_of(param));
  add_text(text, fx_unit_words[param->unit]);
  add_range(text, param);
  add_value(text, param, param->initial, param->initial_text);
  add_text(text, has_taper ? fx_taper_words[param->taper] : "");
  add_text(text, is_edit ? "edit" : "value");
  add_value(text, param, rack_number(node, p, describe->of->rate_hz),
            fx_param_is_text(param) ? rack_text(node, p) : NULL);
  add_text(text, param->help);
  for (uint32_t c = 0; param->choices && param->choices[c]; ++c) {
    add_text(text, param->choices[c]);
    add_number(text, fx_choice_number(param, c));
  }
  text_buffer_add(text, "\n");
}

static void
add_command(Describe* const describe, const CommandInfo* const info)
{
  char types[32];
  TextBuffer* const text = &describe->text;
  text_buffer_add(text, info->address);
  add_text(text, "command");
  add_text(text, command_types(info, types, sizeof(types)));
  add_text(text, info->names ? info->names : "");
  add_text(text, info->help);
  text_buffer_add(text, "\n");
}

static Status
check_limits(const Describe* const describe, Error* const error)
{
  if (describe->n_lines > DESCRIBE_MAX) {
    return error_set(error, STATUS_LIMIT,
                     "more than %u addresses; describe some of them, as with /node/hall/*",
                     DESCRIBE_MAX);
  }
  return describe->n_compared > VALUES_MAX_COMPARE
             ? error_set(error, STATUS_LIMIT, "the patterns compare too many names")
             : STATUS_OK;
}

static Status
add_node(Describe* const describe, const RackNode* const node, Error* const error)
{
  const uint32_t bits = node_matches(describe, node);
  Status status = check_limits(describe, error);
  for (uint32_t p = 0; bits && p < node->fx->n_params && !status && !node->fx->is_missing; ++p) {
    if (param_matches(describe, bits, &node->fx->params[p])) {
      add_param(describe, node, p);
      ++describe->n_lines;
    }
    status = check_limits(describe, error);
  }
  return status;
}

static Status
add_all(Describe* const describe, Error* const error)
{
  for (uint32_t c = 0; c < describe->of->n_commands; ++c) {
    if (address_matches(describe, describe->of->commands[c].address)) {
      add_command(describe, &describe->of->commands[c]);
      ++describe->n_lines;
    }
  }
  Status status = STATUS_OK;
  for (uint32_t n = 0; n < describe->of->rack->n_nodes && !status; ++n) {
    status = add_node(describe, &describe->of->rack->nodes[n], error);
  }
  return status;
}

Status
describe_print(const DescribeOf* const of, const char* const* const patterns,
               const uint32_t n_patterns, char** const text, Error* const error)
{
  Describe describe = { .of = of, .n_patterns = n_patterns };
  for (uint32_t p = 0; p < n_patterns; ++p) {
    divide(patterns[p], &describe.patterns[p]);
  }
  Status status = add_all(&describe, error);
  if (!status && !describe.n_lines) {
    status = error_set(error, STATUS_NOT_FOUND, "no address matches \"%.100s\"", patterns[0]);
  }
  char* const lines = text_buffer_take(&describe.text);
  if (!status && !lines) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  }
  *text = status ? *text : lines;
  if (status) {
    free(lines);
  }
  return status;
}
