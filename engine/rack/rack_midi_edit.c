// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of the MIDI map: written, added, removed, and kept with the nodes that they name.

#include "rack_private.h"

#include <stdlib.h>
#include <string.h>

// ---- lines ----

const char* const rack_midi_kind_words[] = {
  [MIDI_CC] = "cc",           [MIDI_CC14] = "cc14",
  [MIDI_NRPN] = "nrpn",       [MIDI_PRESSURE] = "pressure",
  [MIDI_BEND] = "bend",       [MIDI_NOTES] = "notes",
  [MIDI_PROGRAM] = "program", [MIDI_N_KINDS] = NULL,
};

bool
rack_midi_has_number(const MidiKind kind)
{
  return kind == MIDI_CC || kind == MIDI_CC14 || kind == MIDI_NRPN || kind == MIDI_PROGRAM;
}

void
rack_midi_print_source(const MidiSource source, TextBuffer* const text)
{
  text_buffer_print(text, "%s %u", rack_midi_kind_words[source.kind], source.channel + 1U);
  if (rack_midi_has_number(source.kind)) {
    text_buffer_print(text, ":%u", source.number + (source.kind == MIDI_PROGRAM ? 1U : 0U));
  }
}

static void
print_shape(const MidiShape shape, TextBuffer* const text)
{
  if (shape.has_taper) {
    text_buffer_print(text, " taper=%s", fx_taper_words[shape.taper]);
  }
  text_buffer_add(text, shape.is_inverted ? " invert=on" : "");
  text_buffer_add(text, shape.has_pickup ? " pickup=on" : "");
  text_buffer_add(text, shape.toggles ? " toggle=on" : "");
  if (shape.relative) {
    text_buffer_print(text, " relative=%s", midi_relative_names[shape.relative]);
  }
}

/// Print the statement of a line.
static char*
print_line(const RackMidi* const map)
{
  TextBuffer text = { 0 };
  text_buffer_add(&text, "midi ");
  rack_midi_print_source(map->source, &text);
  if (map->source.kind == MIDI_PROGRAM) {
    text_buffer_print(&text, " scene %s", map->scene);
  } else {
    text_buffer_print(&text, *map->param ? " %s.%s" : " %s%s", map->node, map->param);
  }
  if (*map->low) {
    text_buffer_print(&text, " %s..%s", map->low, map->high);
  }
  print_shape(map->shape, &text);
  text_buffer_add(&text, "\n");
  return text_buffer_take(&text);
}

/// Make a line with copies of all texts but `line`, and one owner.  NULL if out of memory.
static RackMidi*
make(const RackMidi* const map)
{
  char* const line = print_line(map);
  const char* const from[] = { map->node, map->param, map->scene, map->low, map->high, line };
  size_t n_bytes = sizeof(RackMidi);
  for (uint32_t t = 0; line && t < ARRAY_LEN(from); ++t) {
    n_bytes += strlen(from[t]) + 1U;
  }
  RackMidi* const made = line ? malloc(n_bytes) : NULL;
  if (made) {
    *made = *map;
    atomic_init(&made->n_owners, 1U);
    const char** const to[] = { &made->node, &made->param, &made->scene,
                                &made->low,  &made->high,  &made->line };
    char* at = (char*)(made + 1);
    for (uint32_t t = 0; t < ARRAY_LEN(from); ++t) {
      *to[t] = strcpy(at, from[t]);
      at += strlen(at) + 1U;
    }
  }
  free(line);
  return made;
}

// ---- the map of a rack ----

static bool
same_target(const RackMidi* const a, const RackMidi* const b)
{
  const bool same_source = midi_source_key(a->source) == midi_source_key(b->source);
  // A program change recalls one scene.
  return same_source && (a->source.kind == MIDI_PROGRAM ||
                         (!strcmp(a->node, b->node) && !strcmp(a->param, b->param)));
}

const RackMidi*
rack_find_midi(const Rack* const rack, const RackMidi* const map)
{
  for (uint32_t m = 0; m < rack->n_midi; ++m) {
    if (same_target(rack->midi[m], map)) {
      return rack->midi[m];
    }
  }
  return NULL;
}

Status
rack_put_midi(Rack* const rack, const RackMidi* const map, Error* const error)
{
  uint32_t place = 0;
  bool replaces = false;
  for (uint32_t m = 0; m < rack->n_midi && !replaces; ++m) {
    replaces = same_target(rack->midi[m], map);
    if (replaces || midi_source_key(rack->midi[m]->source) <= midi_source_key(map->source)) {
      place = replaces ? m : m + 1U;
    }
  }
  if (!replaces && rack->n_midi == RACK_MAX_MIDI) {
    return error_set(error, STATUS_LIMIT, "too many MIDI lines; at most %u", RACK_MAX_MIDI);
  }
  RackMidi* const made = make(map);
  RackMidi** const grown =
      made ? realloc(rack->midi, (rack->n_midi + 1U) * sizeof(RackMidi*)) : NULL;
  if (!grown) {
    free(made);
    return rack_no_memory(error);
  }
  rack->midi = grown;
  if (replaces) {
    rack_midi_drop(grown[place]);
  } else {
    memmove(&grown[place + 1U], &grown[place], (rack->n_midi - place) * sizeof(RackMidi*));
    ++rack->n_midi;
  }
  grown[place] = made;
  return STATUS_OK;
}

const char*
rack_midi_scene(const Rack* const rack, const MidiSource program)
{
  const RackMidi* const map = rack_find_midi(rack, &(RackMidi){ .source = program });
  return map ? map->scene : NULL;
}

static bool
is_scene(const RackMidi* const map, const char* const word)
{
  const size_t n_first = strlen("scene ");
  return *map->scene &&
         !strcmp(map->scene, strncmp(word, "scene ", n_first) ? word : word + n_first);
}

/// True if a word names the target of a line, its node, its scene ("verse" or "scene verse"), or
/// its source ("cc 1:74").
static bool
is_named(const RackMidi* const map, const char* const word)
{
  const char* const source = map->line + strlen("midi ");
  const size_t n_word = strlen(word);
  const size_t n_node = strlen(map->node);
  const char* const rest = n_node && !strncmp(word, map->node, n_node) ? word + n_node : NULL;
  const bool is_target = rest && (!*rest || (*rest == '.' && !strcmp(rest + 1, map->param)));
  const bool is_source =
      strchr(word, ' ') && !strncmp(source, word, n_word) && source[n_word] == ' ';
  return is_target || is_source || is_scene(map, word);
}

Status
rack_remove_midi(Rack* const rack, const char* const* const words, const uint32_t n_words,
                 Error* const error)
{
  uint32_t n_kept = 0;
  for (uint32_t m = 0; m < rack->n_midi; ++m) {
    RackMidi* const map = rack->midi[m];
    bool goes = true;
    for (uint32_t w = 0; w < n_words && goes; ++w) {
      goes = is_named(map, words[w]);
    }
    if (goes) {
      rack_midi_drop(map);
    } else {
      rack->midi[n_kept++] = map;
    }
  }
  const bool found = n_kept < rack->n_midi;
  rack->n_midi = n_kept;
  return found ? STATUS_OK
               : error_set(error, STATUS_NOT_FOUND,
                           "no MIDI line matches all words; /midi/list has all lines");
}

Status
rack_follow_midi(const Rack* const rack, const char* const node, const char* const new_name,
                 Rack* const with, Error* const error)
{
  with->midi = malloc((rack->n_midi + 1U) * sizeof(RackMidi*)); // + 1: never 0 bytes
  bool failed = !with->midi;
  for (uint32_t m = 0; m < rack->n_midi && !failed; ++m) {
    RackMidi* map = rack->midi[m];
    if (*map->node && !strcmp(map->node, node)) {
      RackMidi renamed = *map;
      renamed.node = new_name;
      map = new_name ? make(&renamed) : NULL;
      failed = new_name && !map;
    } else {
      map = rack_midi_hold(map);
    }
    if (map) {
      with->midi[with->n_midi++] = map;
    }
  }
  return failed ? rack_no_memory(error) : STATUS_OK;
}
