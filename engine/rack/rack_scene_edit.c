// SPDX-License-Identifier: GPL-3.0-or-later
// Scenes and safes: written, added, removed, and kept with the nodes that they name.

#include "rack_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- drafts ----

static void
add_text(RackSceneDraft* const draft, const char* const text)
{
  (void)text_buffer_add_bytes(&draft->texts, text, strlen(text) + 1U, SIZE_MAX); // see `failed`
}

void
rack_print_fade(const RackSceneFade fade, TextBuffer* const text)
{
  char number[NUMBER_BYTES];
  if (fade.seconds > 0.0) {
    text_buffer_print(text, " fade=%s", rack_print_quantity(fade.seconds, UNIT_S, number));
  }
  if (fade.curve) {
    text_buffer_print(text, " curve=%s", fx_curve_names[fade.curve]);
  }
}

void
rack_scene_begin(RackSceneDraft* const draft, const char* const name, const RackSceneFade fade)
{
  *draft = (RackSceneDraft){ .has_values = *name, .fade = fade };
  add_text(draft, name);
  text_buffer_add(&draft->line, *name ? "scene " : "safe");
  text_buffer_add(&draft->line, name);
  rack_print_fade(fade, &draft->line);
}

void
rack_scene_add(RackSceneDraft* const draft, const RackSceneValue* const value)
{
  add_text(draft, value->node);
  add_text(draft, value->param);
  add_text(draft, value->is_text ? "t" : "");
  add_text(draft, value->text);
  text_buffer_print(&draft->line, " %s.%s", value->node, value->param);
  if (draft->has_values) {
    text_buffer_add(&draft->line, "=");
    rack_add_value_text(&draft->line, value->text, value->is_text);
  }
  ++draft->n_values;
}

bool
rack_scene_draft_has(const RackSceneDraft* const draft, const RackSceneValue* const value)
{
  char word[2U * RACK_PATTERN_BYTES];
  snprintf(word, sizeof(word), " %s.%s", value->node, value->param);
  const size_t n = strlen(word);
  const char* at = draft->line.bytes;
  do {
    at = at ? strstr(at, word) : NULL;
  } while (at && at[n] && at[n] != ' ' && *++at);
  return at && *at;
}

/// The text after `text`.
static const char*
next_text(const char* const text)
{
  return text + strlen(text) + 1U;
}

RackScene*
rack_scene_end(RackSceneDraft* const draft)
{
  text_buffer_add(&draft->line, "\n");
  const size_t n_texts = draft->texts.n;
  const size_t n_values = draft->n_values * sizeof(RackSceneValue);
  char* const texts = text_buffer_take(&draft->texts);
  char* const line = text_buffer_take(&draft->line);
  const size_t n_line = line ? strlen(line) + 1U : 0U;
  RackScene* const scene =
      texts && line ? malloc(sizeof(RackScene) + n_values + n_texts + n_line) : NULL;
  if (scene) {
    char* const copy = (char*)scene + sizeof(RackScene) + n_values;
    memcpy(copy, texts, n_texts);
    memcpy(copy + n_texts, line, n_line);
    atomic_init(&scene->n_owners, 1U);
    scene->name = copy;
    scene->line = copy + n_texts;
    scene->fade = draft->fade;
    scene->n_values = draft->n_values;
    const char* at = copy;
    for (uint32_t v = 0; v < scene->n_values; ++v) {
      RackSceneValue* const value = &scene->values[v];
      value->node = next_text(at);
      value->param = next_text(value->node);
      const char* const is_text = next_text(value->param);
      value->is_text = *is_text;
      value->text = next_text(is_text);
      at = value->text;
    }
  }
  free(texts);
  free(line);
  return scene;
}

// ---- names and patterns ----

static const char name_characters[] = "_-0123456789"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "abcdefghijklmnopqrstuvwxyz";

Status
rack_check_scene_name(const char* const name, Error* const error)
{
  const size_t n = strspn(name, name_characters);
  if (!n || name[n]) {
    return error_set(error, STATUS_BAD_RACK,
                     "\"%.60s\" is not a valid name of a scene; use letters, digits, _ and -",
                     name);
  }
  return n >= RACK_NAME_BYTES
             ? error_set(error, STATUS_LIMIT, "the name is too long; at most %u characters",
                         RACK_NAME_BYTES - 1U)
             : STATUS_OK;
}

/// True if the brackets of a part of a pattern are closed, and none is inside another one.
static bool
has_closed_brackets(const char* const text, const size_t n)
{
  char closing = '\0';
  for (size_t i = 0; i < n; ++i) {
    if (strchr("[]{}", text[i])) {
      const bool opens = text[i] == '[' || text[i] == '{';
      if (opens ? closing != '\0' : closing != text[i]) {
        return false;
      }
      closing = !opens ? '\0' : text[i] == '[' ? ']' : '}';
    }
  }
  return !closing;
}

Status
rack_check_pattern(const char* const text, Error* const error)
{
  const char* const point = strchr(text, '.');
  const size_t n_node = point ? (size_t)(point - text) : 0U;
  const size_t n_param = point ? strlen(point + 1) : 0U;
  if (!n_node || !n_param || n_node >= RACK_PATTERN_BYTES || n_param >= RACK_PATTERN_BYTES ||
      strpbrk(text, " \t\r\n\"|()=:#") || !has_closed_brackets(text, n_node) ||
      !has_closed_brackets(point + 1, n_param)) {
    return error_set(error, STATUS_BAD_RACK,
                     "\"%.60s\" is not a pattern of parameters, such as hall.mix or master.*",
                     text);
  }
  return STATUS_OK;
}

// ---- the scenes of a rack ----

/// Index of the scene with this name; n_scenes if there is none.
static uint32_t
index_of(const Rack* const rack, const char* const name)
{
  uint32_t s = 0;
  while (s < rack->n_scenes && strcmp(rack->scenes[s]->name, name) != 0) {
    ++s;
  }
  return s;
}

const RackScene*
rack_find_scene(const Rack* const rack, const char* const name)
{
  const uint32_t s = index_of(rack, name);
  return s < rack->n_scenes ? rack->scenes[s] : NULL;
}

const RackScene*
rack_lookup_scene(const Rack* const rack, const char* const name, Error* const error)
{
  const RackScene* const scene = rack_find_scene(rack, name);
  if (!scene) {
    const char* names[RACK_MAX_SCENES];
    for (uint32_t s = 0; s < rack->n_scenes; ++s) {
      names[s] = rack->scenes[s]->name;
    }
    char hint[HINT_BYTES];
    error_set(error, STATUS_NOT_FOUND, "no scene \"%.60s\"; %s", name,
              rack->n_scenes ? name_hint(hint, name, names, rack->n_scenes)
                             : "the rack has none yet");
  }
  return scene;
}

Status
rack_put_scene(Rack* const rack, RackScene* const scene, Error* const error)
{
  const uint32_t place = index_of(rack, scene->name);
  uint32_t n_values = scene->n_values;
  for (uint32_t s = 0; s < rack->n_scenes; ++s) {
    n_values += s != place ? rack->scenes[s]->n_values : 0U;
  }
  Status status = STATUS_OK;
  if (scene->n_values > RACK_MAX_SCENE_VALUES) {
    status = error_set(error, STATUS_LIMIT, "too many values in the scene; at most %u",
                       RACK_MAX_SCENE_VALUES);
  } else if (n_values > RACK_MAX_VALUES) {
    status = error_set(error, STATUS_LIMIT, "too many values in all scenes; at most %u",
                       RACK_MAX_VALUES);
  } else if (place == RACK_MAX_SCENES) {
    status = error_set(error, STATUS_LIMIT, "too many scenes; at most %u", RACK_MAX_SCENES);
  } else if (place == rack->n_scenes) {
    RackScene** const grown = realloc(rack->scenes, (place + 1U) * sizeof(RackScene*));
    if (grown) {
      rack->scenes = grown;
      rack->scenes[rack->n_scenes++] = NULL;
    } else {
      status = rack_no_memory(error);
    }
  }
  if (status) {
    rack_scene_drop(scene);
  } else {
    rack_scene_drop(rack->scenes[place]);
    rack->scenes[place] = scene;
  }
  return status;
}

Status
rack_remove_scene(Rack* const rack, const char* const name, Error* const error)
{
  if (!rack_lookup_scene(rack, name, error)) {
    return STATUS_NOT_FOUND;
  }
  const uint32_t place = index_of(rack, name);
  rack_scene_drop(rack->scenes[place]);
  --rack->n_scenes;
  memmove(&rack->scenes[place], &rack->scenes[place + 1U],
          (rack->n_scenes - place) * sizeof(RackScene*));
  return STATUS_OK;
}

// ---- safes ----

Status
rack_set_safes(Rack* const rack, RackScene* const safes, Error* const error)
{
  if (safes->n_values > RACK_MAX_SAFES) {
    rack_scene_drop(safes);
    return error_set(error, STATUS_LIMIT, "too many safes; at most %u", RACK_MAX_SAFES);
  }
  rack_scene_drop(rack->safes);
  rack->safes = safes->n_values ? safes : NULL;
  if (!safes->n_values) {
    rack_scene_drop(safes);
  }
  return STATUS_OK;
}

Status
rack_remove_safe(Rack* const rack, const char* const pattern, Error* const error)
{
  RackSceneDraft draft;
  rack_scene_begin(&draft, "", (RackSceneFade){ 0 });
  const uint32_t n_before = rack->safes ? rack->safes->n_values : 0U;
  for (uint32_t s = 0; s < n_before; ++s) {
    const RackSceneValue* const safe = &rack->safes->values[s];
    const size_t n_node = strlen(safe->node);
    const bool is_wanted = !strncmp(pattern, safe->node, n_node) && pattern[n_node] == '.' &&
                           !strcmp(pattern + n_node + 1U, safe->param);
    if (!is_wanted) {
      rack_scene_add(&draft, safe);
    }
  }
  const bool found = draft.n_values < n_before;
  RackScene* const safes = rack_scene_end(&draft);
  if (!safes) {
    return rack_no_memory(error);
  }
  if (!found) {
    rack_scene_drop(safes);
    return error_set(error, STATUS_NOT_FOUND, "no safe \"%.100s\"; write it as in /rack/get",
                     pattern);
  }
  return rack_set_safes(rack, safes, error);
}

// ---- nodes that are renamed or removed ----

static bool
names_node(const RackScene* const scene, const char* const node)
{
  bool names = false;
  for (uint32_t v = 0; scene && v < scene->n_values && !names; ++v) {
    names = !strcmp(scene->values[v].node, node);
  }
  return names;
}

/// Copy a scene, or the safes, with the new name of a node, or (NULL) without the node's values.
/// If it does not name the node, it is shared.
static RackScene*
follow(RackScene* const scene, const char* const node, const char* const new_name)
{
  if (!names_node(scene, node)) {
    return rack_scene_hold(scene);
  }
  RackSceneDraft draft;
  rack_scene_begin(&draft, scene->name, scene->fade);
  for (uint32_t v = 0; v < scene->n_values; ++v) {
    RackSceneValue value = scene->values[v];
    const bool is_it = !strcmp(value.node, node);
    value.node = is_it ? new_name : value.node;
    if (value.node) {
      rack_scene_add(&draft, &value);
    }
  }
  return rack_scene_end(&draft);
}

Status
rack_follow_node(Rack* const rack, const char* const node, const char* const new_name,
                 Error* const error)
{
  Rack with = { .n_scenes = 0 }; // only its scenes and its MIDI map
  if (!rack->n_scenes && !rack->safes && !rack->live && !rack->n_midi) {
    return STATUS_OK;
  }
  with.scenes = malloc((rack->n_scenes + 1U) * sizeof(RackScene*)); // + 1: never 0 bytes
  // A safe outlives its node, as a pattern does.
  with.safes =
      new_name && rack->safes ? follow(rack->safes, node, new_name) : rack_scene_hold(rack->safes);
  with.live = follow(rack->live, node, new_name);
  bool failed = rack_follow_midi(rack, node, new_name, &with, error) || !with.scenes ||
                (rack->safes && !with.safes) || (rack->live && !with.live);
  for (uint32_t s = 0; s < rack->n_scenes && !failed; ++s) {
    with.scenes[s] = follow(rack->scenes[s], node, new_name);
    failed = !with.scenes[s];
    with.n_scenes += !failed;
  }
  if (failed) {
    rack_clear_scenes(&with);
    rack_clear_midi(&with);
    return rack_no_memory(error);
  }
  rack_clear_scenes(rack);
  rack_clear_midi(rack);
  rack->scenes = with.scenes;
  rack->n_scenes = with.n_scenes;
  rack->safes = with.safes;
  rack->live = with.live;
  rack->midi = with.midi;
  rack->n_midi = with.n_midi;
  return STATUS_OK;
}

// ---- parameters ----

/// Find a parameter as fx_param_find() does, from `first` on; n_params + 1 if there is none.
static uint32_t
find_param(const FxInfo* const fx, const char* const id, const uint32_t first)
{
  for (uint32_t p = first; p < fx->n_params; ++p) {
    if (!strcmp(fx->params[p].id, id)) {
      return p;
    }
  }
  const int found = fx_param_find(fx, id);
  return found >= 0                           ? (uint32_t)found
         : !strcmp(id, rack_backend_param.id) ? fx->n_params
                                              : fx->n_params + 1U;
}

const RackNode*
rack_find_scene_value(const Rack* const rack, const RackSceneValue* const value,
                      RackSceneFinder* const finder, uint32_t* const param)
{
  const bool is_same_node = finder->node && !strcmp(finder->node->name, value->node);
  const RackNode* const node = is_same_node ? finder->node : rack_find(rack, value->node);
  if (!node || node->fx->is_missing) {
    return NULL;
  }
  *param = find_param(node->fx, value->param, is_same_node ? finder->param : 0U);
  const bool found = *param <= node->fx->n_params;
  *finder = (RackSceneFinder){ node, found ? *param : 0U };
  return found ? node : NULL;
}

bool
rack_is_structural(const RackNode* const node, const uint32_t param)
{
  const FxParam* const row = param < node->fx->n_params ? &node->fx->params[param] : NULL;
  return !row || row->structural || fx_param_is_text(row);
}

Status
rack_check_value(const RackNode* const node, const uint32_t param, const char* const text,
                 Error* const error)
{
  const FxParam* const row =
      param < node->fx->n_params ? &node->fx->params[param] : &rack_backend_param;
  RackValue value = { .kind = VALUE_INITIAL };
  const Status status = rack_value_from_text(row, text, &value, error);
  free(status ? NULL : value.text);
  return status;
}

bool
rack_read_number(const RackNode* const node, const uint32_t param, const char* const text,
                 double* const number)
{
  const FxParam* const row = param < node->fx->n_params ? &node->fx->params[param] : NULL;
  RackValue value = { .kind = VALUE_INITIAL };
  if (!row || row->kind != PARAM_NUMBER || rack_value_from_text(row, text, &value, NULL)) {
    return false;
  }
  *number = value.kind == VALUE_NUMBER ? value.number : row->initial;
  return value.kind == VALUE_NUMBER || value.kind == VALUE_INITIAL;
}

RackScene*
rack_scene_of_live(const Rack* const rack, const RackScene* const scene)
{
  RackSceneDraft draft;
  RackSceneFinder finder = { .node = NULL };
  rack_scene_begin(&draft, scene->name, (RackSceneFade){ 0 }); // comparisons do not fade
  for (uint32_t v = 0; v < scene->n_values; ++v) {
    RackSceneValue value = scene->values[v];
    char number[NUMBER_BYTES];
    uint32_t param = 0;
    const RackNode* const node = rack_find_scene_value(rack, &value, &finder, &param);
    if (node && !rack_is_structural(node, param)) {
      const FxParam* const row = &node->fx->params[param];
      value.text = rack_value_text(row, &node->values[param], number);
      value.is_text = rack_value_is_text(row);
      rack_scene_add(&draft, &value);
    }
  }
  return rack_scene_end(&draft);
}
