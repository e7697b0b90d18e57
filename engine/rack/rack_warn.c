// SPDX-License-Identifier: GPL-3.0-or-later
// Warnings about a valid rack that is probably a mistake.  Each warn_ function has one warning.

#include "rack_private.h"

#include <stdio.h>

typedef struct Warnings {
  const Rack* rack;
  double rate_hz;
  TextBuffer* lines;
} Warnings;

static void
warn_of_silence(const Warnings* const warnings)
{
  const Rack* const rack = warnings->rack;
  bool leaves_in = false; // or a source
  bool reaches_out = false;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    leaves_in = leaves_in || rack->nodes[n].fx->is_source;
  }
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    leaves_in = leaves_in || rack->edges[e].from.uid == RACK_UID_IN;
    reaches_out = reaches_out || rack->edges[e].to.uid == RACK_UID_OUT;
  }
  if (!reaches_out) {
    text_buffer_print(warnings->lines,
                      "nothing reaches out, so the rack is silent; connect a node to out\n");
  }
  if (!leaves_in) {
    text_buffer_print(warnings->lines,
                      "in reaches nothing, so the rack is silent; connect in to a node\n");
  }
  if (reaches_out && leaves_in && !rack_has_way(rack)) {
    text_buffer_print(warnings->lines,
                      "no connections lead from in to out, so the rack is silent\n");
  }
}

static void
warn_of_sum(const Warnings* const warnings)
{
  if (warnings->rack->n_summed) {
    text_buffer_print(
        warnings->lines,
        "%u chains have the same input and output and are summed; to put them in series, "
        "write one chain with | between them\n",
        warnings->rack->n_summed + 1U);
  }
}

static void
warn_of_frequency(const Warnings* const warnings, const RackNode* const node, const uint32_t p)
{
  const FxParam* const row = &node->fx->params[p];
  const RackValue* const value = &node->values[p];
  const double limit_hz = 0.5 * warnings->rate_hz;
  if (row->unit == UNIT_HZ && value->kind == VALUE_NUMBER && limit_hz > 0.0 &&
      value->number >= limit_hz) {
    char text[2][NUMBER_BYTES];
    text_buffer_print(warnings->lines, "%s.%s is %s, not below half the rate of %s; lower it\n",
                      node->name, row->id, rack_print_quantity(value->number, UNIT_HZ, text[0]),
                      rack_print_quantity(warnings->rate_hz, UNIT_HZ, text[1]));
  }
}

/// Warn of a short time without a unit, which was perhaps meant in seconds.
static void
warn_of_time(const Warnings* const warnings, const RackNode* const node, const uint32_t p)
{
  const FxParam* const row = &node->fx->params[p];
  const RackValue* const value = &node->values[p];
  if (row->unit == UNIT_MS && value->is_bare && value->number > 0.0 && value->number < 1.0) {
    char text[NUMBER_BYTES];
    char exact[NUMBER_BYTES];
    number_print(value->number, text);
    if (value->number < 0.1) {
      snprintf(exact, sizeof(exact), "%.6gus", value->number * 1e3);
    } else {
      rack_print_quantity(value->number, UNIT_MS, exact);
    }
    text_buffer_print(warnings->lines,
                      "%s.%s=%s has no unit and is %s; write %s, or %ss for seconds\n", node->name,
                      row->id, text, exact, exact, text);
  }
}

static void
warn_of_missing(const Warnings* const warnings, const RackNode* const node)
{
  Error why;
  if (node->fx->is_missing) {
    rack_explain_missing(warnings->rack, node, &why);
    text_buffer_print(warnings->lines, "%s only passes its input on: %s\n", node->name, why.text);
  }
}

/// Append "scene verse WHAT hall.mix and 3 more, REST" for the first of n values.
static void
warn_of_values(const Warnings* const warnings, const RackScene* const scene,
               const RackSceneValue* const first, const uint32_t n, const char* const what,
               const char* const rest)
{
  char more[32] = "";
  if (n > 1U) {
    snprintf(more, sizeof(more), " and %u more", n - 1U);
  }
  if (n) {
    text_buffer_print(warnings->lines, "scene %s %s %s.%s%s, %s\n", scene->name, what, first->node,
                      first->param, more, rest);
  }
}

/// True if a plugin does not take a value of a scene; for other effects a rack is refused.
static bool
is_refused(const RackNode* const node, const uint32_t param, const RackSceneValue* const value)
{
  return node->fx->origin && rack_check_value(node, param, value->text, NULL);
}

/// Warn of values of a scene whose parameters are missing or structural, or do not take them.
static void
warn_of_scene(const Warnings* const warnings, const RackScene* const scene)
{
  RackSceneFinder finder = { 0 };
  const RackSceneValue* missing = NULL;
  const RackSceneValue* structural = NULL;
  const RackSceneValue* refused = NULL;
  uint32_t n_missing = 0;
  uint32_t n_refused = 0;
  uint32_t n_structural = 0;
  for (uint32_t v = 0; v < scene->n_values; ++v) {
    const RackSceneValue* const value = &scene->values[v];
    uint32_t param = 0;
    const RackNode* const node = rack_find_scene_value(warnings->rack, value, &finder, &param);
    if (!node) {
      missing = n_missing++ ? missing : value;
    } else if (is_refused(node, param, value)) {
      refused = n_refused++ ? refused : value;
    } else if (rack_is_structural(node, param)) {
      structural = n_structural++ ? structural : value;
    }
  }
  warn_of_values(warnings, scene, missing, n_missing, "names",
                 "not there now; a recall leaves it out");
  warn_of_values(warnings, scene, refused, n_refused,
                 "has values that are not taken:", "which a recall leaves out");
  warn_of_values(warnings, scene, structural, n_structural, "sets",
                 "structural; it is recalled as an edit");
}

/// Warn of a program change whose scene is not there.
static void
warn_of_program(const Warnings* const warnings, const RackMidi* const map)
{
  if (map->source.kind == MIDI_PROGRAM && !rack_find_scene(warnings->rack, map->scene)) {
    text_buffer_print(warnings->lines, "midi program %u:%u recalls scene %s, which is not there\n",
                      map->source.channel + 1U, map->source.number + 1U, map->scene);
  }
}

char*
rack_warnings(const Rack* const rack, const double rate_hz)
{
  TextBuffer lines = { 0 };
  const Warnings warnings = { rack, rate_hz, &lines };
  warn_of_silence(&warnings);
  warn_of_sum(&warnings);
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    warn_of_missing(&warnings, &rack->nodes[n]);
    for (uint32_t p = 0; p < rack->nodes[n].fx->n_params; ++p) {
      warn_of_frequency(&warnings, &rack->nodes[n], p);
      warn_of_time(&warnings, &rack->nodes[n], p);
    }
  }
  for (uint32_t s = 0; s < rack->n_scenes; ++s) {
    warn_of_scene(&warnings, rack->scenes[s]);
  }
  for (uint32_t m = 0; m < rack->n_midi; ++m) {
    warn_of_program(&warnings, rack->midi[m]);
  }
  return text_buffer_take(&lines);
}
