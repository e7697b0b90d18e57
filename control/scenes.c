// SPDX-License-Identifier: GPL-3.0-or-later
#include "scenes.h"

#include "command.h"
#include "scene_patterns.h"

#include "engine/base/hash.h"
#include "engine/rack/rack_fades.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 64U // of missing parameters in an answer

// ---- recall ----

/// What a recall sets.
typedef struct Recall {
  const Rack* rack;
  const RackScene* scene;
  RackSceneFade fade;
  bool is_strict;         ///< Fail if a parameter is missing
  ScenePatterns patterns; ///< None: all values of the scene
  uint32_t n_compared;
  uint32_t n_missing;
  TextBuffer missing; ///< The names of the first ones
} Recall;

/// Find the scene after the one that was recalled last, or (`step` -1) before it.
static const RackScene*
find_neighbour(const Rack* const rack, const int step, Error* const error)
{
  int64_t place = step > 0 ? -1 : (int64_t)rack->n_scenes;
  if (*rack->recalled) {
    const RackScene* const last = rack_lookup_scene(rack, rack->recalled, error);
    for (uint32_t s = 0; s < rack->n_scenes && last; ++s) {
      place = rack->scenes[s] == last ? (int64_t)s : place;
    }
    if (!last) {
      error_set(error, STATUS_NOT_FOUND,
                "the scene \"%s\", which was recalled last, is gone; recall one by its name",
                rack->recalled);
      return NULL;
    }
  }
  place += step;
  if (place >= 0 && place < (int64_t)rack->n_scenes) {
    return rack->scenes[place];
  }
  if (rack->n_scenes) {
    error_set(error, STATUS_NOT_FOUND, "\"%s\" is the %s scene", rack->recalled,
              step > 0 ? "last" : "first");
  } else {
    error_set(error, STATUS_NOT_FOUND, "the rack has no scene yet");
  }
  return NULL;
}

/// The scene that a message recalls.
static const RackScene*
find_scene(const Rack* const rack, const Message* const message, Error* const error)
{
  const char* const address = message->info->address;
  return !strcmp(address, "/scene/next") ? find_neighbour(rack, 1, error)
         : !strcmp(address, "/scene/previous")
             ? find_neighbour(rack, -1, error)
             : rack_lookup_scene(rack, message_text(message, 0), error);
}

/// Read the time of a message, if it has one.  Returns the number of its arguments.
static uint32_t
read_time(const Message* const message, const uint32_t argument, Recall* const recall,
          Status* const status, Error* const error)
{
  if (argument == message_n_arguments(message) ||
      !strchr("ihfd", message_type(message, argument))) {
    return 0;
  }
  const double seconds = message_number(message, argument);
  if (!(seconds >= 0.0 && seconds <= RACK_MAX_FADE_SECONDS)) { // NaN, too
    *status = error_set(error, STATUS_BAD_ARG, "the time is %g; it is 0 to %g s", seconds,
                        RACK_MAX_FADE_SECONDS);
  }
  recall->fade.seconds = seconds;
  return 1;
}

/// Read a word: strict, a curve or a pattern.
static Status
read_word(const char* const word, Recall* const recall, Error* const error)
{
  for (uint32_t c = 0; fx_curve_names[c]; ++c) {
    if (!strcmp(word, fx_curve_names[c])) {
      recall->fade.curve = (FxCurve)c;
      return STATUS_OK;
    }
  }
  const bool is_strict = !strcmp(word, "strict");
  recall->is_strict = recall->is_strict || is_strict;
  return is_strict ? STATUS_OK : scene_pattern_add(&recall->patterns, word, error);
}

/// Read the words of a message.
static Status
read_words(const Message* const message, Recall* const recall, Error* const error)
{
  Status status = STATUS_OK;
  recall->fade = recall->scene->fade;
  uint32_t first = message->info->required ? 1U : 0U;
  first += read_time(message, first, recall, &status, error);
  for (uint32_t a = first; a < message_n_arguments(message) && !status; ++a) {
    status = read_word(message_text(message, a), recall, error);
  }
  return status;
}

/// True if the recall sets a value of its scene.
static bool
is_recalled(Recall* const recall, const RackSceneValue* const value)
{
  bool is_exact = false;
  bool is_wanted = !recall->patterns.n;
  for (uint32_t p = 0; p < recall->patterns.n && !is_exact; ++p) {
    const ScenePattern* const pattern = &recall->patterns.items[p];
    if (scene_pattern_matches(pattern->node, value->node, &recall->n_compared) &&
        scene_pattern_matches(pattern->param, value->param, &recall->n_compared)) {
      is_wanted = true;
      is_exact = pattern->is_exact;
    }
  }
  return is_wanted && (is_exact || !scene_pattern_is_safe(recall->rack, value->node, value->param,
                                                          &recall->n_compared));
}

static void
note_missing(Recall* const recall, const RackSceneValue* const value)
{
  if (recall->n_missing++ < MAX_NAMES) {
    text_buffer_print(&recall->missing, "%s%s.%s", recall->n_missing > 1U ? " " : "", value->node,
                      value->param);
  }
}

/// Find the parameters of a recall, and append them to `found` (may be NULL).
static Status
find_values(Recall* const recall, Changes* const found, Error* const error)
{
  RackSceneFinder finder = { .node = NULL };
  Status status = STATUS_OK;
  for (uint32_t v = 0; v < recall->scene->n_values && !status; ++v) {
    const RackSceneValue* const value = &recall->scene->values[v];
    if (!is_recalled(recall, value)) {
      status = scene_pattern_check_compared(recall->n_compared, error);
      continue;
    }
    uint32_t param = 0;
    const RackNode* const node = rack_find_scene_value(recall->rack, value, &finder, &param);
    if (!node || rack_check_value(node, param, value->text, NULL)) {
      note_missing(recall, value);
    } else if (found) {
      const Change change = { .uid = node->uid,
                              .param = param,
                              .text = value->text,
                              .seconds = recall->fade.seconds,
                              .curve = recall->fade.curve };
      status = changes_add(found, &change, error);
    }
  }
  if (found) {
    found->has_missing = found->has_missing || recall->n_missing;
  }
  return status;
}

Status
scenes_find(const Rack* const rack, const Message* const message, Changes* const found,
            Error* const error)
{
  Recall* const recall = calloc(1, sizeof(Recall));
  if (!recall) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  recall->rack = rack;
  recall->scene = find_scene(rack, message, error);
  Status status = recall->scene ? read_words(message, recall, error) : STATUS_NOT_FOUND;
  status = status ? status : find_values(recall, found, error);
  char* const missing = text_buffer_take(&recall->missing);
  if (!status && recall->is_strict && recall->n_missing) {
    status =
        error_set(error, STATUS_NOT_FOUND, "the scene \"%s\" names %u missing parameter%s: %.300s",
                  recall->scene->name, recall->n_missing, recall->n_missing == 1U ? "" : "s",
                  missing ? missing : "");
  }
  free(missing);
  free(recall);
  return status;
}

char*
scenes_missing(const Rack* const rack, const Message* const message)
{
  Recall* const recall = calloc(1, sizeof(Recall));
  if (!recall) {
    return NULL;
  }
  recall->rack = rack;
  recall->scene =
      rack_find_scene(rack, message->info->required ? message_text(message, 0) : rack->recalled);
  const bool has_missing = recall->scene && !read_words(message, recall, NULL) &&
                           !find_values(recall, NULL, NULL) && recall->n_missing;
  if (recall->n_missing > MAX_NAMES) {
    text_buffer_print(&recall->missing, " and %u more", recall->n_missing - MAX_NAMES);
  }
  char* const missing = text_buffer_take(&recall->missing);
  free(recall);
  if (!has_missing) {
    free(missing);
  }
  return has_missing ? missing : NULL;
}

/// Find the node of a value that the recall sets without an edit; NULL if there is none.
static const RackNode*
find_live(Recall* const recall, const RackSceneValue* const value, RackSceneFinder* const finder,
          uint32_t* const param)
{
  const RackNode* const node =
      is_recalled(recall, value) ? rack_find_scene_value(recall->rack, value, finder, param) : NULL;
  return node && !rack_is_structural(node, *param) &&
                 !rack_check_value(node, *param, value->text, NULL)
             ? node
             : NULL;
}

// ---- stop ----

/// The row of the parameter of a fade that runs when a message stops it; NULL: none, or the rack
/// has another value by now.
static const FxParam*
find_stopped(const Rack* const rack, const Message* const message, const RackFade* const fade)
{
  const RackNode* const node =
      rack_fade_runs(fade, message->stop_frame) ? rack_find_uid(rack, fade->uid) : NULL;
  if (!node || !fx_has_param(node->fx, fade->param, fade->param_id)) {
    return NULL;
  }
  const bool leads_there = node->values[fade->param].kind == VALUE_FRAMES ||
                           rack_number(node, fade->param, 0.0) == fade->to;
  return leads_there ? &node->fx->params[fade->param] : NULL;
}

Status
scenes_find_stopped(const Rack* const rack, const Message* const message, Changes* const found,
                    Error* const error)
{
  const uint32_t n = message->fades ? message->fades->n : 0U;
  Status status = STATUS_OK;
  for (uint32_t f = 0; f < n && !status; ++f) {
    const RackFade* const fade = &message->fades->items[f];
    const FxParam* const row = find_stopped(rack, message, fade);
    if (row) {
      const Change change = { .uid = fade->uid,
                              .param = fade->param,
                              .has_number = true,
                              .number = rack_fade_value(fade, row, message->stop_frame) };
      status = changes_add(found, &change, error);
    }
  }
  return status;
}

bool
scenes_stops(const Message* const message)
{
  return message->info->find == scenes_find_stopped;
}

// ---- compare ----

/// Append the values of a scene that are there and not structural.
static Status
find_compared(Recall* const recall, Changes* const found, Error* const error)
{
  RackSceneFinder finder = { .node = NULL };
  Status status = STATUS_OK;
  for (uint32_t v = 0; v < recall->scene->n_values && !status; ++v) {
    const RackSceneValue* const value = &recall->scene->values[v];
    uint32_t param = 0;
    const RackNode* const node = find_live(recall, value, &finder, &param);
    if (node) {
      const Change change = { .uid = node->uid, .param = param, .text = value->text };
      status = changes_add(found, &change, error);
    }
    status = status ? status : scene_pattern_check_compared(recall->n_compared, error);
  }
  return status;
}

Status
scenes_find_compared(const Rack* const rack, const Message* const message, Changes* const found,
                     Error* const error)
{
  (void)message;
  const RackScene* const scene = rack->live        ? rack->live
                                 : *rack->recalled ? rack_lookup_scene(rack, rack->recalled, error)
                                                   : NULL;
  if (!scene) {
    return *rack->recalled ? STATUS_NOT_FOUND
                           : error_set(error, STATUS_NOT_FOUND, "no scene was recalled yet");
  }
  Recall* const recall = calloc(1, sizeof(Recall));
  if (!recall) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  recall->rack = rack;
  recall->scene = scene;
  const Status status = find_compared(recall, found, error);
  free(recall);
  return status;
}

// ---- morph ----

/// Two scenes and a position between them.
typedef struct Morph {
  Recall recall;                                   ///< Of the first scene
  const RackSceneValue* to[RACK_MAX_SCENE_VALUES]; ///< Of the second scene, sorted by name
  uint32_t n_to;
  double position; ///< 0: the first scene, 1: the second one
} Morph;

static int
compare_names(const void* const a, const void* const b)
{
  const RackSceneValue* const x = *(const RackSceneValue* const*)a;
  const RackSceneValue* const y = *(const RackSceneValue* const*)b;
  const int by_node = strcmp(x->node, y->node);
  return by_node ? by_node : strcmp(x->param, y->param);
}

/// Find the value of the second scene for the same parameter; NULL: none.
static const RackSceneValue*
find_second(const Morph* const morph, const RackSceneValue* const value)
{
  const RackSceneValue* const* const found =
      bsearch(&value, morph->to, morph->n_to, sizeof(*morph->to), compare_names);
  return found ? *found : NULL;
}

static Status
read_morph(const Rack* const rack, const Message* const message, Morph* const morph,
           Error* const error)
{
  morph->recall.rack = rack;
  morph->recall.scene = rack_lookup_scene(rack, message_text(message, 0), error);
  const RackScene* const second =
      morph->recall.scene ? rack_lookup_scene(rack, message_text(message, 1), error) : NULL;
  if (!second) {
    return STATUS_NOT_FOUND;
  }
  morph->position = message_number(message, 2);
  if (!(morph->position >= 0.0 && morph->position <= 1.0)) { // NaN, too
    return error_set(error, STATUS_BAD_ARG, "the position is 0 to 1, not %g", morph->position);
  }
  while (morph->n_to < second->n_values) {
    morph->to[morph->n_to] = &second->values[morph->n_to];
    ++morph->n_to;
  }
  qsort(morph->to, morph->n_to, sizeof(*morph->to), compare_names);
  return STATUS_OK;
}

/// Append a parameter between its two values.  One that has no values between them, such as a
/// switch, changes in the middle.
static Status
add_between(const Morph* const morph, const RackNode* const node, const uint32_t param,
            const RackSceneValue* const values[const 2], Changes* const found, Error* const error)
{
  Change change = { .uid = node->uid, .param = param };
  double numbers[2];
  if (rack_read_number(node, param, values[0]->text, &numbers[0]) &&
      rack_read_number(node, param, values[1]->text, &numbers[1])) {
    change.has_number = true;
    change.number = fx_fade_value(&node->fx->params[param], numbers[0], numbers[1], CURVE_LINEAR,
                                  morph->position);
  } else {
    change.text = values[morph->position >= 0.5]->text;
  }
  return changes_add(found, &change, error);
}

static Status
find_between(Morph* const morph, Changes* const found, Error* const error)
{
  Recall* const recall = &morph->recall;
  RackSceneFinder finder = { .node = NULL };
  Status status = STATUS_OK;
  for (uint32_t v = 0; v < recall->scene->n_values && !status; ++v) {
    const RackSceneValue* const first = &recall->scene->values[v];
    const RackSceneValue* const values[] = { first, find_second(morph, first) };
    uint32_t param = 0;
    const RackNode* const node = values[1] ? find_live(recall, first, &finder, &param) : NULL;
    if (node && !rack_check_value(node, param, values[1]->text, NULL)) {
      status = add_between(morph, node, param, values, found, error);
    }
    status = status ? status : scene_pattern_check_compared(recall->n_compared, error);
  }
  return status;
}

Status
scenes_find_between(const Rack* const rack, const Message* const message, Changes* const found,
                    Error* const error)
{
  Morph* const morph = calloc(1, sizeof(Morph));
  if (!morph) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  const uint32_t n_before = found->n;
  Status status = read_morph(rack, message, morph, error);
  status = status ? status : find_between(morph, found, error);
  if (!status && found->n == n_before) {
    status = error_set(error, STATUS_NOT_FOUND, "no parameter is in both scenes and can morph");
  }
  free(morph);
  return status;
}

bool
scenes_fader(const Bundle* const bundle, Change* const fader)
{
  const Message* const message = &bundle->messages[0];
  if (bundle->n_messages != 1U || message->info->find != scenes_find_between) {
    return false;
  }
  const uint32_t hash = hash_text(HASH32_START, message_text(message, 0));
  *fader = (Change){ .uid = RACK_UID_NONE, .param = hash_text(hash, message_text(message, 1)) };
  return true;
}

// ---- bundles ----

bool
scenes_are_used(const Bundle* const bundle)
{
  bool are = false;
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    are = are || bundle->messages[m].info->find;
  }
  return are;
}

/// True if a message of the bundle has this CommandInfo::find.
static bool
has_find(const Bundle* const bundle,
         Status (*const find)(const Rack*, const Message*, Changes*, Error*))
{
  bool has = false;
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    has = has || bundle->messages[m].info->find == find;
  }
  return has;
}

bool
scenes_recalls(const Bundle* const bundle)
{
  return has_find(bundle, scenes_find) || has_find(bundle, scenes_find_stopped);
}

bool
scenes_compares(const Bundle* const bundle)
{
  return has_find(bundle, scenes_find_compared);
}

Status
scenes_live(const Rack* const rack, const Bundle* const bundle, RackScene** const live,
            Error* const error)
{
  const bool begins = scenes_compares(bundle) && !rack->live;
  const RackScene* const scene = begins ? rack_find_scene(rack, rack->recalled) : NULL;
  *live = scene ? rack_scene_of_live(rack, scene) : NULL;
  return scene && !*live ? error_set(error, STATUS_NO_MEM, "out of memory") : STATUS_OK;
}

void
scenes_mark_message(Rack* const rack, const Message* const message)
{
  const RackScene* const scene =
      message->info->find == scenes_find ? find_scene(rack, message, NULL) : NULL;
  if (scene) {
    snprintf(rack->recalled, sizeof(rack->recalled), "%s", scene->name);
    rack_scene_drop(rack->live);
    rack->live = NULL;
  }
}

void
scenes_mark(Rack* const rack, const Bundle* const bundle, RackScene* const live)
{
  for (uint32_t m = 0; m < bundle->n_messages; ++m) {
    scenes_mark_message(rack, &bundle->messages[m]);
  }
  if (scenes_compares(bundle)) {
    rack_scene_drop(rack->live);
    rack->live = rack_scene_hold(live);
  }
}

Status
scenes_begin(Rack* const rack, const char* const name, Error* const error)
{
  Changes found = { .items = NULL };
  Recall* const recall = calloc(1, sizeof(Recall));
  if (!recall) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  recall->rack = rack;
  recall->scene = rack_lookup_scene(rack, name, error);
  Status status = recall->scene ? find_values(recall, &found, error) : STATUS_NOT_FOUND;
  for (uint32_t c = 0; c < found.n && !status; ++c) {
    const Change* const change = &found.items[c];
    RackNode* const node = &rack->nodes[rack_index_of(rack, change->uid, 0)];
    status = rack_set_param(node, change->param, change->text, error);
  }
  changes_clear(&found);
  free(text_buffer_take(&recall->missing));
  free(recall);
  return status;
}

char*
scenes_print(const Rack* const rack)
{
  TextBuffer text = { .bytes = NULL };
  text_buffer_add(&text, "");
  for (uint32_t s = 0; s < rack->n_scenes; ++s) {
    const RackScene* const scene = rack->scenes[s];
    text_buffer_print(&text, "%s\t%u\t%s\n", scene->name, scene->n_values,
                      strcmp(rack->recalled, scene->name) ? "" : "recalled");
  }
  return text_buffer_take(&text);
}
