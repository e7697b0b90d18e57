// SPDX-License-Identifier: GPL-3.0-or-later
// What a MIDI event changes in the active plan.

#include "midi_changes.h"

#define MAX_VELOCITY 127.0

static void
note_change(const MidiTarget* const target, const MidiReading* const reading,
            ParamMessage* const change)
{
  const bool is_all = reading->key == MIDI_ALL_KEYS;
  *change = (ParamMessage){ .uid = target->uid,
                            .kind = is_all ? MESSAGE_NOTES_OFF : MESSAGE_NOTE,
                            .param = is_all ? 0U : reading->key,
                            .value = is_all ? 0.0 : reading->velocity / MAX_VELOCITY };
}

/// Returns false if the reading does not change the parameter of the target.
static bool
value_change(const Plan* const plan, const MidiTarget* const target,
             const MidiReading* const reading, ParamMessage* const change)
{
  const int index = plan_find(plan, target->uid);
  if (index < 0) {
    return false;
  }
  const Node* const node = plan->nodes[index].node;
  *change = (ParamMessage){ .uid = target->uid, .kind = MESSAGE_VALUE, .param = target->param };
  return target->param < node->fx->n_params &&
         midi_target_value(target, reading, node->targets[target->param], &change->value);
}

uint32_t
midi_changes(MidiDecoder* const decoder, const Plan* const plan, const MidiEvent* const event,
             ParamMessage changes[MIDI_MAX_CHANGES], uint32_t* const n_left)
{
  MidiReading readings[MIDI_MAX_READINGS];
  const uint32_t n_readings = midi_decode(decoder, event, readings);
  uint32_t n_changes = 0;
  *n_left = 0;
  for (uint32_t r = 0; r < n_readings; ++r) {
    uint32_t n_targets = 0;
    const MidiTarget* const targets = midi_table_find(&plan->midi, readings[r].source, &n_targets);
    for (uint32_t t = 0; t < n_targets; ++t) {
      ParamMessage change;
      if (readings[r].source.kind == MIDI_NOTES) {
        note_change(&targets[t], &readings[r], &change);
      } else if (!value_change(plan, &targets[t], &readings[r], &change)) {
        continue;
      }
      if (n_changes < MIDI_MAX_CHANGES) {
        changes[n_changes++] = change;
      } else {
        ++*n_left;
      }
    }
  }
  return n_changes;
}

void
midi_take_known(MidiDecoder* const decoder, const ParamMessage* const message)
{
  MidiReading unused[MIDI_MAX_READINGS];
  const MidiEvent event = midi_event_of_word(message->param, message->uid);
  if (message->kind == MESSAGE_MIDI_FORGET) {
    midi_decoder_init(decoder);
  } else if (message->kind == MESSAGE_MIDI_KNOWN && midi_event_is_controller(&event)) {
    (void)midi_decode(decoder, &event, unused);
  }
}
