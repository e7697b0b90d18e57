// SPDX-License-Identifier: GPL-3.0-or-later
#include "midi_commands.h"

#include "control_private.h"

#include "engine/base/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORDS 4U // of /midi/forget

/// Append the arguments from `first` on, with spaces between them.
static void
join(const Message* const message, const uint32_t first, TextBuffer* const text)
{
  char number[NUMBER_BYTES];
  for (uint32_t a = first; a < message_n_arguments(message); ++a) {
    const bool is_text = strchr("sS", message_type(message, a));
    text_buffer_add(text, a > first ? " " : "");
    text_buffer_add(text, is_text ? message_text(message, a)
                                  : number_print(message_number(message, a), number));
  }
}

/// Refuse a text that is more than one line of the map.
static Status
check_line(const char* const text, Error* const error)
{
  return strchr(text, '\n') ? error_set(error, STATUS_BAD_ARG, "a line of the map has no new line")
                            : STATUS_OK;
}

Status
edit_midi_map(Rack** const rack, const Message* const message, Error* const error)
{
  TextBuffer buffer = { .bytes = NULL };
  text_buffer_add(&buffer, "midi ");
  join(message, 0, &buffer);
  char* const statement = text_buffer_take(&buffer);
  Status status =
      statement ? check_line(statement, error) : error_set(error, STATUS_NO_MEM, "out of memory");
  status = status ? status : rack_apply(*rack, statement, "map", error);
  free(statement);
  return status;
}

// ---- forget ----

/// True for a word that belongs to the next one: "cc 1:74", "scene verse".
static bool
is_kind(const char* const word)
{
  uint32_t k = 0;
  while (rack_midi_kind_words[k] && strcmp(rack_midi_kind_words[k], word) != 0) {
    ++k;
  }
  return rack_midi_kind_words[k] || !strcmp(word, "scene");
}

/// Read the words of a message, which may be in any number of arguments.
static Status
read_words(char* const text, char words[const MAX_WORDS][RACK_PATTERN_BYTES], uint32_t* const n,
           Error* const error)
{
  bool is_after_kind = false;
  char* rest = NULL;
  for (const char* word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
    if (!is_after_kind && *n == MAX_WORDS) {
      return error_set(error, STATUS_LIMIT, "at most %u words", MAX_WORDS);
    }
    char* const to = words[*n - is_after_kind];
    const size_t n_before = is_after_kind ? strlen(to) : 0U;
    snprintf(to + n_before, RACK_PATTERN_BYTES - n_before, is_after_kind ? " %s" : "%s", word);
    *n += !is_after_kind;
    is_after_kind = !is_after_kind && is_kind(word);
  }
  return STATUS_OK;
}

Status
edit_midi_forget(Rack** const rack, const Message* const message, Error* const error)
{
  char words[MAX_WORDS][RACK_PATTERN_BYTES];
  const char* named[MAX_WORDS];
  uint32_t n = 0;
  TextBuffer buffer = { .bytes = NULL };
  join(message, 0, &buffer);
  char* const text = text_buffer_take(&buffer);
  Status status =
      text ? read_words(text, words, &n, error) : error_set(error, STATUS_NO_MEM, "out of memory");
  for (uint32_t w = 0; w < n; ++w) {
    named[w] = words[w];
  }
  if (!status && !n) {
    status = error_set(error, STATUS_BAD_ARG, "name a source, a node, a parameter or a scene");
  }
  free(text);
  return status ? status : rack_remove_midi(*rack, named, n, error);
}

char*
midi_print(const Rack* const rack)
{
  TextBuffer text = { .bytes = NULL };
  text_buffer_add(&text, "");
  for (uint32_t m = 0; m < rack->n_midi; ++m) {
    text_buffer_add(&text, rack->midi[m]->line + strlen("midi "));
  }
  return text_buffer_take(&text);
}

// ---- learn ----

/// Refuse what no controller can move.
static Status
check_target(const Rack* const rack, const char* const target, Error* const error)
{
  const bool is_param = strchr(target, '.');
  char statement[MIDI_LINE_BYTES];
  Rack* const copy = rack_copy(rack);
  if (!copy) {
    return error_set(error, STATUS_NO_MEM, "out of memory");
  }
  snprintf(statement, sizeof(statement), "midi %s %s", is_param ? "cc 1:0" : "notes 1", target);
  const Status status = rack_apply(copy, statement, "learn", error);
  rack_free(copy);
  return status;
}

Status
midi_learn(struct Control* const control, const Peer* const peer, Message* const message,
           Error* const error)
{
  MidiState* const midi = &control->midi;
  TextBuffer buffer = { .bytes = NULL };
  text_buffer_add(&buffer, "");
  join(message, 0, &buffer);
  char* const target = text_buffer_take(&buffer);
  Status status = STATUS_OK;
  if (!target) {
    status = error_set(error, STATUS_NO_MEM, "out of memory");
  } else if (strlen(target) >= MIDI_LEARN_BYTES) {
    status = error_set(error, STATUS_LIMIT, "at most %u characters", MIDI_LEARN_BYTES - 1U);
  } else if (*target && !engine_has_midi(control->config.engine)) {
    status = error_set(error, STATUS_NOT_FOUND,
                       "this run has no MIDI ports; start it with --io jack --midi");
  } else if (*target) {
    status = check_line(target, error);
    status = status ? status : check_target(editor_rack(control->editor), target, error);
  }
  if (!status) {
    snprintf(midi->learn, sizeof(midi->learn), "%s", target);
    midi->has_source = false;
    outlet_done(&control->outlet, peer, message->address, message->n_bytes);
  }
  free(target);
  return status;
}
