// SPDX-License-Identifier: GPL-3.0-or-later
// Writes a rack as its canonical text.

#include "rack_private.h"

#include <stdlib.h>
#include <string.h>

static void
add_quoted(TextBuffer* const text, const char* const what)
{
  const size_t n = rack_quote(what, NULL) - 1U;
  char* const to = text_buffer_reserve(text, n);
  if (to) {
    rack_quote(what, to);
    text->n += n;
  }
}

void
rack_add_value_text(TextBuffer* const text, const char* const value, const bool is_text)
{
  if (is_text) {
    add_quoted(text, value);
  } else {
    text_buffer_add(text, value);
  }
}

static void
print_effect(const FxInfo* const fx, TextBuffer* const text)
{
  if (fx->origin) {
    text_buffer_add(text, fx->origin->format);
    text_buffer_add(text, " ");
    add_quoted(text, fx->origin->id);
  } else {
    text_buffer_add(text, fx->name);
  }
}

static void
print_value(const RackNode* const node, const uint32_t param, TextBuffer* const text)
{
  const FxParam* const row = &node->fx->params[param];
  char number[NUMBER_BYTES];
  text_buffer_add(text, row->id);
  text_buffer_add(text, "=");
  rack_add_value_text(text, rack_value_text(row, &node->values[param], number),
                      rack_value_is_text(row));
}

void
rack_print_target(const RackNode* const node, const uint32_t param, TextBuffer* const text)
{
  text_buffer_add(text, " ");
  text_buffer_add(text, node->name);
  text_buffer_add(text, ".");
  if (param < node->fx->n_params) {
    print_value(node, param, text);
  } else {
    text_buffer_print(text, "%s=%s", rack_backend_param.id,
                      rack_backend_param.choices[node->backend]);
  }
}

/// Print the values of a node whose plugin is missing, as they were written.
static void
print_kept_values(const RackNode* const node, TextBuffer* const text)
{
  if (node->values[0].kind == VALUE_TEXT) {
    text_buffer_add(text, " ");
    text_buffer_add(text, node->values[0].text);
  }
}

/// True if a node has another value than one without values in the rack.
static bool
is_stated(const RackNode* const node, const uint32_t param)
{
  const bool follows = node->fx->params[param].follows_tempo;
  return node->values[param].kind != (follows ? VALUE_TEMPO : VALUE_INITIAL);
}

void
rack_print_node(const RackNode* const node, TextBuffer* const text)
{
  text_buffer_add(text, "add ");
  text_buffer_add(text, node->name);
  text_buffer_add(text, " ");
  print_effect(node->fx, text);
  if (node->fx->is_missing) {
    print_kept_values(node, text);
  }
  for (uint32_t p = 0; p < node->fx->n_params && !node->fx->is_missing; ++p) {
    if (is_stated(node, p)) {
      text_buffer_add(text, " ");
      print_value(node, p, text);
    }
  }
  if (node->backend != RACK_BACKEND_AUTO) {
    text_buffer_add(text, " backend=");
    text_buffer_add(text, rack_backend_param.choices[node->backend]);
  }
  text_buffer_add(text, "\n");
}

static void
print_edge(const Rack* const rack, const RackEdge* const edge, TextBuffer* const text)
{
  char end[RACK_END_BYTES];
  text_buffer_add(text, "connect ");
  text_buffer_add(text, rack_print_end(rack, edge->from, end));
  text_buffer_add(text, " ");
  text_buffer_add(text, rack_print_end(rack, edge->to, end));
  if (edge->gain_db != 0.0) {
    char gain[NUMBER_BYTES];
    text_buffer_add(text, " gain=");
    text_buffer_add(text, rack_print_quantity(edge->gain_db, UNIT_DB, gain));
  }
  text_buffer_add(text, "\n");
}

static void
print_late(const Rack* const rack, const RackEnd end, const RackFallback fallback,
           TextBuffer* const text)
{
  char quantity[RACK_FALLBACK_BYTES];
  text_buffer_add(text, "late ");
  if (end.first) {
    char outputs[RACK_END_BYTES];
    text_buffer_add(text, rack_print_end(rack, end, outputs));
    text_buffer_add(text, " ");
  }
  text_buffer_add(text, rack_print_fallback(fallback, quantity));
  text_buffer_add(text, "\n");
}

/// Print the fallbacks.  If all outputs have one, print that of the last output for all (`late X`),
/// then the others as exceptions.
static void
print_lates(const Rack* const rack, TextBuffer* const text)
{
  uint32_t next = 1; // first channel without a range so far
  for (uint32_t l = 0; l < rack->n_lates && rack->lates[l].first == next; ++l) {
    next = rack->lates[l].last + 1U;
  }
  const bool has_rule = next > FX_MAX_CHANNELS;
  const uint32_t n = rack->n_lates - has_rule;
  if (has_rule) {
    print_late(rack, (RackEnd){ .uid = RACK_UID_OUT }, rack->lates[n].fallback, text);
  }
  for (uint32_t l = 0; l < n; ++l) {
    const RackLate* const late = &rack->lates[l];
    if (has_rule && rack_same_fallback(late->fallback, rack->lates[n].fallback)) {
      continue;
    }
    const RackEnd end = { .uid = RACK_UID_OUT, .first = late->first, .last = late->last };
    print_late(rack, end, late->fallback, text);
  }
}

static void
print_sound(const Rack* const rack, TextBuffer* const text)
{
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    rack_print_node(&rack->nodes[n], text);
  }
  for (uint32_t e = 0; e < rack->n_edges; ++e) {
    print_edge(rack, &rack->edges[e], text);
  }
  if (!rack->n_nodes && !rack->n_edges) {
    // An empty text would mean the connection in to out.
    text_buffer_add(text, "disconnect in out\n");
  }
  print_lates(rack, text);
  rack_print_tempo(rack, text);
  rack_print_midi(rack, false, text);
}

char*
rack_print_sound(const Rack* const rack)
{
  TextBuffer text = { 0 };
  print_sound(rack, &text);
  return text_buffer_take(&text);
}

char*
rack_print(const Rack* const rack)
{
  TextBuffer text = { 0 };
  print_sound(rack, &text);
  for (uint32_t s = 0; s < rack->n_scenes; ++s) {
    text_buffer_add(&text, rack->scenes[s]->line);
  }
  text_buffer_add(&text, rack->safes ? rack->safes->line : "");
  rack_print_midi(rack, true, &text);
  return text_buffer_take(&text);
}

Status
rack_check_text(const Rack* const rack, Error* const error)
{
  char* const text = rack_print_sound(rack);
  size_t n_bytes = text ? strlen(text) : 0U;
  for (uint32_t s = 0; s < rack->n_scenes; ++s) {
    n_bytes += strlen(rack->scenes[s]->line);
  }
  n_bytes += rack->safes ? strlen(rack->safes->line) : 0U;
  for (uint32_t m = 0; m < rack->n_midi; ++m) { // those of programs are at the end
    const bool is_program = rack->midi[m]->source.kind == MIDI_PROGRAM;
    n_bytes += is_program ? strlen(rack->midi[m]->line) : 0U;
  }
  free(text);
  if (!text) {
    return rack_no_memory(error);
  }
  return n_bytes > RACK_MAX_TEXT
             ? error_set(error, STATUS_LIMIT, "the rack would be a text of %zu bytes; at most %u",
                         n_bytes, RACK_MAX_TEXT)
             : STATUS_OK;
}
