// SPDX-License-Identifier: GPL-3.0-or-later
// The tempo of a rack, and the parameters that follow it.

#include "rack_private.h"

#include <string.h>

const char* const rack_tempo_sources[] = {
  [RACK_TEMPO_FIXED] = "fixed", [RACK_TEMPO_JACK] = "jack", [RACK_TEMPO_MIDI] = "midi", NULL
};

/// The number of the statement.  Structural, so that it cannot follow itself.
static const FxParam tempo_param = { .id = "tempo",
                                     .kind = PARAM_NUMBER,
                                     .unit = UNIT_BPM,
                                     .min = RACK_TEMPO_MIN_BPM,
                                     .max = RACK_TEMPO_MAX_BPM,
                                     .initial = RACK_TEMPO_BPM,
                                     .structural = true,
                                     .help = "Tempo of the rack" };

static bool
node_follows(const RackNode* const node)
{
  bool follows = false;
  for (uint32_t p = 0; p < node->fx->n_params && !follows; ++p) {
    follows = node->values[p].kind == VALUE_TEMPO;
  }
  return follows;
}

bool
rack_same_tempo(const RackTempo a, const RackTempo b)
{
  return a.bpm == b.bpm && a.source == b.source;
}

bool
rack_is_tempo(const double bpm)
{
  return fx_param_accepts(&tempo_param, bpm);
}

bool
rack_uses_tempo(const Rack* const rack)
{
  bool uses = !rack_same_tempo(rack->tempo, (RackTempo){ .bpm = RACK_TEMPO_BPM });
  for (uint32_t n = 0; n < rack->n_nodes && !uses; ++n) {
    uses = node_follows(&rack->nodes[n]);
  }
  return uses;
}

/// The source with this name; false: there is none.
static bool
find_source(const char* const word, RackTempoSource* const source)
{
  uint32_t s = 0;
  while (rack_tempo_sources[s] && strcmp(rack_tempo_sources[s], word) != 0) {
    ++s;
  }
  *source = rack_tempo_sources[s] ? (RackTempoSource)s : *source;
  return rack_tempo_sources[s];
}

bool
rack_is_tempo_source(const char* const word)
{
  return find_source(word, &(RackTempoSource){ RACK_TEMPO_FIXED });
}

/// Read a number in bpm, or a source.
static Status
read_word(const char* const word, RackTempo* const tempo, Error* const error)
{
  RackValue value = { .kind = VALUE_INITIAL };
  if (find_source(word, &tempo->source)) {
    return STATUS_OK;
  }
  const Status status = rack_value_from_text(&tempo_param, word, &value, error);
  if (!status) {
    tempo->bpm = value.kind == VALUE_INITIAL ? RACK_TEMPO_BPM : value.number;
    tempo->source = RACK_TEMPO_FIXED;
  }
  return status && !strchr("+-.0123456789", word[0])
             ? error_set(error, status,
                         "a tempo is a number in bpm, or one of fixed, jack, midi, not \"%.60s\"",
                         word)
             : status;
}

Status
rack_read_tempo(const char* const first, const char* const second, RackTempo* const tempo,
                Error* const error)
{
  const bool is_source = rack_is_tempo_source(first);
  if (!second) {
    return read_word(first, tempo, error);
  }
  if (is_source == rack_is_tempo_source(second)) {
    return error_set(error, STATUS_BAD_RACK,
                     is_source ? "after the source of a tempo comes a number in bpm, not \"%.60s\""
                               : "a tempo is fixed, or comes from jack or midi, not \"%.60s\"",
                     second);
  }
  const Status status = read_word(is_source ? second : first, tempo, error); // sets the source
  return status ? status : read_word(is_source ? first : second, tempo, error);
}

void
rack_set_tempo(Rack* const rack, const RackTempo tempo)
{
  rack->tempo = tempo;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    rack->nodes[n].tempo_bpm = tempo.bpm;
  }
}

void
rack_follow_tempo(Rack* const rack, const RackUid uid, const uint32_t param,
                  const uint32_t param_id, const double bpm)
{
  const RackNode* const node = rack_find_uid(rack, uid);
  if (!node || !fx_has_param(node->fx, param, param_id) ||
      !rack_can_follow_tempo(&node->fx->params[param]) || !rack_is_tempo(bpm)) {
    return;
  }
  if (rack->tempo.bpm != bpm) {
    rack_set_tempo(rack, (RackTempo){ bpm, rack->tempo.source });
  }
  node->values[param] = (RackValue){ .kind = VALUE_TEMPO }; // a number has no text to free
}

void
rack_print_tempo(const Rack* const rack, TextBuffer* const text)
{
  const RackTempo tempo = rack->tempo;
  const bool is_fixed = tempo.source == RACK_TEMPO_FIXED;
  char number[NUMBER_BYTES];
  if (is_fixed && tempo.bpm == RACK_TEMPO_BPM) {
    return;
  }
  text_buffer_add(text, "tempo");
  if (tempo.bpm != RACK_TEMPO_BPM) {
    text_buffer_print(text, " %s", rack_print_quantity(tempo.bpm, UNIT_BPM, number));
  }
  if (!is_fixed) {
    text_buffer_print(text, " %s", rack_tempo_sources[tempo.source]);
  }
  text_buffer_add(text, "\n");
}
