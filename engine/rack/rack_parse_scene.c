// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the statements `scene` and `safe`.

#include "rack_parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- scene ----

static const char scene_usage[] =
    "write: scene NAME [fade=TIME] [curve=CURVE] NODE.PARAM=VALUE ...";

static int
compare_values(const void* const a, const void* const b)
{
  const RackSceneValue* const x = *(const RackSceneValue* const*)a;
  const RackSceneValue* const y = *(const RackSceneValue* const*)b;
  const int by_node = strcmp(x->node, y->node);
  return by_node ? by_node : strcmp(x->param, y->param);
}

/// Refuse a scene that has two values of one parameter.
static Status
refuse_twice(Parser* const parser, const size_t offset, const RackScene* const scene)
{
  const uint32_t n = scene->n_values;
  const RackSceneValue** const sorted = malloc((n + 1U) * sizeof(RackSceneValue*));
  if (!sorted) {
    return rack_no_memory(parser->error);
  }
  for (uint32_t v = 0; v < n; ++v) {
    sorted[v] = &scene->values[v];
  }
  qsort(sorted, n, sizeof(RackSceneValue*), compare_values);
  Status status = STATUS_OK;
  for (uint32_t v = 1; v < n && !status; ++v) {
    if (!compare_values(&sorted[v - 1U], &sorted[v])) {
      status = parser_fail(parser, offset, STATUS_BAD_RACK, "%s.%s is given twice; remove one",
                           sorted[v]->node, sorted[v]->param);
    }
  }
  free(sorted);
  return status;
}

/// Find the row of a parameter of a node.
static Status
find_row(const RackNode* const node, const char* const id, const FxParam** const row,
         Error* const error)
{
  uint32_t param = 0;
  const Status status = rack_find_param(node->fx, id, &param, error);
  if (!status) {
    *row = param < node->fx->n_params ? &node->fx->params[param] : &rack_backend_param;
  }
  return status;
}

/// Add a value that the node takes, in its canonical form.  Another version of a plugin may have
/// taken other values: a value for a plugin that it does not take stays as it is written.
static Status
add_known_value(Parser* const parser, const FxParam* const row, const RackSceneValue* const written,
                const bool is_of_plugin, RackSceneDraft* const draft)
{
  Error cause;
  RackValue value = { .kind = VALUE_INITIAL };
  if (rack_value_from_text(row, written->text, &value, &cause)) {
    if (is_of_plugin) {
      rack_scene_add(draft, written);
      return STATUS_OK;
    }
    return parser_pass_on(parser, parser->value.offset, &cause);
  }
  char number[NUMBER_BYTES];
  RackSceneValue canonical = *written;
  canonical.text = rack_value_text(row, &value, number);
  canonical.is_text = rack_value_is_text(row);
  rack_scene_add(draft, &canonical);
  free(value.text);
  return STATUS_OK;
}

/// NODE "." PARAM "=" value.  If the node, its plugin or the parameter of a plugin is missing, the
/// value stays as it is written.
static Status
parse_scene_value(Parser* const parser, RackSceneDraft* const draft)
{
  const Token target = parser->now;
  const size_t n_name = strcspn(target.text, ".");
  if (target.kind != TOKEN_WORD || !target.text[n_name]) {
    return rack_unit(target.text) ? parser_unit(parser, &target)
                                  : parser_unexpected(parser, scene_usage);
  }
  parser_advance(parser);
  Token equals;
  if (parser_expect(parser, TOKEN_EQUALS, scene_usage, &equals)) {
    return STATUS_BAD_RACK;
  }
  parser->value = parser->now;
  if (!parser_accept(parser, TOKEN_WORD) && !parser_accept(parser, TOKEN_STRING)) {
    return parser_unexpected(parser, "a value comes here");
  }
  char name[RACK_NAME_BYTES];
  snprintf(name, sizeof(name), "%.*s", (int)n_name, target.text);
  const RackSceneValue written = { name, target.text + n_name + 1U, parser->value.text, true };
  Error cause;
  const RackNode* const node = rack_find(parser->rack, name);
  if (!node || node->fx->is_missing) {
    if (n_name >= sizeof(name) || rack_check_scene_name(name, NULL) || !*written.param) {
      return parser_fail(parser, target.offset, STATUS_BAD_RACK,
                         "no node can have the name \"%.60s\"", target.text);
    }
    rack_scene_add(draft, &written);
    return STATUS_OK;
  }
  const FxParam* row = NULL;
  const bool is_of_plugin = node->fx->origin && *written.param;
  if (!find_row(node, written.param, &row, &cause)) {
    return add_known_value(parser, row, &written, is_of_plugin, draft);
  }
  if (!is_of_plugin) {
    return parser_pass_on(parser, target.offset + n_name + 1U, &cause);
  }
  rack_scene_add(draft, &written);
  return STATUS_OK;
}

/// [ "fade" "=" value ] [ "curve" "=" value ]
static Status
parse_fade(Parser* const parser, RackSceneFade* const fade)
{
  static const FxParam* const rows[] = { &rack_fade_param, &rack_curve_param };
  double numbers[ARRAY_LEN(rows)] = { 0.0, 0.0 };
  Status status = STATUS_OK;
  for (uint32_t r = 0; r < ARRAY_LEN(rows) && !status; ++r) {
    if (parser->now.kind != TOKEN_WORD || strcmp(parser->now.text, rows[r]->id) != 0) {
      continue;
    }
    RackValue value = { .kind = VALUE_INITIAL };
    Token equals;
    Error cause;
    parser_advance(parser);
    status = parser_expect(parser, TOKEN_EQUALS, scene_usage, &equals);
    status =
        status ? status : parser_expect(parser, TOKEN_WORD, "a value comes here", &parser->value);
    if (!status && rack_value_from_text(rows[r], parser->value.text, &value, &cause)) {
      status = parser_pass_on(parser, parser->value.offset, &cause);
    }
    numbers[r] = value.number; // VALUE_INITIAL is 0
  }
  *fade = (RackSceneFade){ numbers[0], (FxCurve)numbers[1] };
  return status;
}

/// Read the values of a scene, up to the end of its line.
static Status
parse_scene_values(Parser* const parser, RackSceneDraft* const draft)
{
  Status status = STATUS_OK;
  while (!status && parser->now.kind != TOKEN_NEWLINE && parser->now.kind != TOKEN_END) {
    status = draft->n_values < RACK_MAX_SCENE_VALUES
                 ? parse_scene_value(parser, draft)
                 : parser_fail(parser, parser->now.offset, STATUS_LIMIT,
                               "too many values in the scene; at most %u", RACK_MAX_SCENE_VALUES);
  }
  return status;
}

Status
rack_parse_scene(Parser* const parser)
{
  Token name;
  Error cause;
  if (parser_expect(parser, TOKEN_WORD, scene_usage, &name)) {
    return STATUS_BAD_RACK;
  }
  if (rack_check_scene_name(name.text, &cause)) {
    return parser_pass_on(parser, name.offset, &cause);
  }
  if (parser->is_document && rack_find_scene(parser->rack, name.text)) {
    return parser_fail(parser, name.offset, STATUS_EXISTS,
                       "the scene \"%s\" is there twice; rename one", name.text);
  }
  RackSceneFade fade = { 0 };
  if (parse_fade(parser, &fade)) {
    return STATUS_BAD_RACK;
  }
  RackSceneDraft draft;
  rack_scene_begin(&draft, name.text, fade);
  Status status = parse_scene_values(parser, &draft);
  RackScene* const scene = rack_scene_end(&draft);
  status = !scene && !status ? rack_no_memory(parser->error) : status;
  status = status ? status : refuse_twice(parser, name.offset, scene);
  if (status) {
    rack_scene_drop(scene);
    return status;
  }
  return rack_put_scene(parser->rack, scene, &cause) ? parser_pass_on(parser, name.offset, &cause)
                                                     : STATUS_OK;
}

// ---- safe ----

/// Add a pattern of parameters, unless the safes have it.
static Status
parse_safe_pattern(Parser* const parser, RackSceneDraft* const draft)
{
  Token pattern;
  Error cause;
  if (parser_expect(parser, TOKEN_WORD, "write: safe NODE.PARAM ...", &pattern)) {
    return STATUS_BAD_RACK;
  }
  if (rack_check_pattern(pattern.text, &cause)) {
    return parser_pass_on(parser, pattern.offset, &cause);
  }
  char node[RACK_PATTERN_BYTES];
  const int n_node = (int)strcspn(pattern.text, ".");
  snprintf(node, sizeof(node), "%.*s", n_node, pattern.text);
  const RackSceneValue safe = { node, pattern.text + n_node + 1, "", false };
  if (!rack_scene_draft_has(draft, &safe)) {
    rack_scene_add(draft, &safe);
  }
  return draft->n_values > RACK_MAX_SAFES
             ? parser_fail(parser, pattern.offset, STATUS_LIMIT, "too many safes; at most %u",
                           RACK_MAX_SAFES)
             : STATUS_OK;
}

Status
rack_parse_safe(Parser* const parser)
{
  const RackScene* const before = parser->rack->safes;
  RackSceneDraft draft;
  rack_scene_begin(&draft, "", (RackSceneFade){ 0 });
  for (uint32_t s = 0; before && s < before->n_values; ++s) {
    rack_scene_add(&draft, &before->values[s]);
  }
  Status status = parse_safe_pattern(parser, &draft);
  while (!status && parser->now.kind != TOKEN_NEWLINE && parser->now.kind != TOKEN_END) {
    status = parse_safe_pattern(parser, &draft);
  }
  RackScene* const safes = rack_scene_end(&draft);
  status = !safes && !status ? rack_no_memory(parser->error) : status;
  if (status) {
    rack_scene_drop(safes);
    return status;
  }
  return rack_set_safes(parser->rack, safes, parser->error);
}
