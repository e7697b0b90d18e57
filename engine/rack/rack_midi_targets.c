// SPDX-License-Identifier: GPL-3.0-or-later
// Which parameter a line of the MIDI map moves, and in which range.

#include "rack_private.h"

Status
rack_midi_find_param(const RackNode* const node, const char* const id, const FxParam** const row,
                     Error* const error)
{
  uint32_t param = 0;
  const Status status = rack_find_param(node->fx, id, &param, error);
  if (status) {
    return status;
  }
  if (rack_is_structural(node, param)) {
    return error_set(error, STATUS_BAD_RACK,
                     "%s.%s is structural: a change makes a new node, so no controller can move it",
                     node->name, id);
  }
  *row = &node->fx->params[param];
  return STATUS_OK;
}

/// Read an end of a range.
static Status
read_end(const FxParam* const row, const char* const text, double* const number, Error* const error)
{
  RackValue value = { .kind = VALUE_INITIAL };
  const Status status = rack_value_from_text(row, text, &value, error);
  *number = value.kind == VALUE_INITIAL ? row->initial : value.number;
  if (!status && value.kind != VALUE_NUMBER && value.kind != VALUE_INITIAL) {
    return error_set(error, STATUS_BAD_RACK, "write the range in numbers, and times in ms or s");
  }
  return status;
}

/// Refuse a range or an option that parameters of this kind do not take.
static Status
check_shape(const FxParam* const row, const RackMidi* const map, Error* const error)
{
  const MidiShape shape = map->shape;
  const bool is_number = row->kind == PARAM_NUMBER || row->kind == PARAM_INTEGER;
  const char* const what = !is_number && *map->low                      ? "range"
                           : !is_number && shape.has_taper              ? "taper"
                           : row->kind != PARAM_SWITCH && shape.toggles ? "toggle"
                                                                        : NULL;
  if (what) {
    return error_set(error, STATUS_BAD_RACK, "%s (%s) takes no %s", row->id,
                     fx_kind_words[row->kind], what);
  }
  if (shape.relative && map->source.kind != MIDI_CC) {
    return error_set(error, STATUS_BAD_RACK, "only 7-bit controllers (cc) can be relative");
  }
  return (shape.toggles || shape.relative) &&
                 (shape.has_pickup || (shape.toggles && shape.relative))
             ? error_set(error, STATUS_BAD_RACK,
                         "pickup, toggle and relative exclude each other; write one of them")
             : STATUS_OK;
}

Status
rack_midi_shape(const FxParam* const row, const RackMidi* const map, MidiTarget* const target,
                Error* const error)
{
  double low = row->min;
  double high = row->max;
  Status status = check_shape(row, map, error);
  if (!status && *map->low) {
    status = read_end(row, map->low, &low, error);
    status = status ? status : read_end(row, map->high, &high, error);
  }
  if (status || midi_target_init(target, row, low, high, map->shape)) {
    return status;
  }
  return low < high
             ? error_set(error, STATUS_BAD_RACK,
                         "the taper \"%s\" cannot have this range: log needs one from 0 or "
                         "above, and dB one from below -40dB to above 0dB",
                         fx_taper_words[map->shape.taper])
             : error_set(error, STATUS_BAD_RACK,
                         "the range goes downwards; write its lower end first, and invert=on "
                         "for the other direction");
}

/// Find the target of a line; false if it has none now.
static bool
resolve(const Rack* const rack, const RackMidi* const map, MidiTarget* const target)
{
  const RackNode* const node = *map->node ? rack_find(rack, map->node) : NULL;
  const FxParam* row = NULL;
  *target = (MidiTarget){ .source = map->source };
  if (!node || node->fx->is_missing) {
    return false;
  }
  target->uid = node->uid;
  target->node_index = (uint32_t)(node - rack->nodes);
  if (map->source.kind == MIDI_NOTES) {
    return node->fx->event;
  }
  if (rack_midi_find_param(node, map->param, &row, NULL) ||
      rack_midi_shape(row, map, target, NULL)) {
    return false;
  }
  target->param = (uint32_t)(row - node->fx->params);
  return true;
}

uint32_t
rack_midi_targets(const Rack* const rack, MidiTarget* const targets)
{
  uint32_t n = 0;
  for (uint32_t m = 0; m < rack->n_midi; ++m) {
    n += resolve(rack, rack->midi[m], &targets[n]);
  }
  return n;
}
