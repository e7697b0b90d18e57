// SPDX-License-Identifier: GPL-3.0-or-later
// The tempo of a rack, and the parameters that follow it.

#include "rack_private.h"

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
rack_uses_tempo(const Rack* const rack)
{
  bool uses = rack->tempo_bpm != RACK_TEMPO_BPM;
  for (uint32_t n = 0; n < rack->n_nodes && !uses; ++n) {
    uses = node_follows(&rack->nodes[n]);
  }
  return uses;
}

Status
rack_read_tempo(const char* const text, double* const bpm, Error* const error)
{
  RackValue value = { .kind = VALUE_INITIAL };
  const Status status = rack_value_from_text(&tempo_param, text, &value, error);
  if (!status) {
    *bpm = value.kind == VALUE_INITIAL ? RACK_TEMPO_BPM : value.number;
  }
  return status;
}

void
rack_set_tempo(Rack* const rack, const double bpm)
{
  rack->tempo_bpm = bpm;
  for (uint32_t n = 0; n < rack->n_nodes; ++n) {
    rack->nodes[n].tempo_bpm = bpm;
  }
}

void
rack_follow_tempo(Rack* const rack, const RackUid uid, const uint32_t param,
                  const uint32_t param_id, const double bpm)
{
  const RackNode* const node = rack_find_uid(rack, uid);
  if (!node || !fx_has_param(node->fx, param, param_id) ||
      !rack_can_follow_tempo(&node->fx->params[param]) || !fx_param_accepts(&tempo_param, bpm)) {
    return;
  }
  if (rack->tempo_bpm != bpm) {
    rack_set_tempo(rack, bpm);
  }
  node->values[param] = (RackValue){ .kind = VALUE_TEMPO }; // a number has no text to free
}

void
rack_print_tempo(const Rack* const rack, TextBuffer* const text)
{
  char number[NUMBER_BYTES];
  if (rack->tempo_bpm != RACK_TEMPO_BPM) {
    text_buffer_print(text, "tempo %s\n", rack_print_quantity(rack->tempo_bpm, UNIT_BPM, number));
  }
}
