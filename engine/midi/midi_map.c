// SPDX-License-Identifier: GPL-3.0-or-later
// From readings of controllers to values of parameters, and back.

#include "midi_map.h"

#include <math.h>

#define DB_LOWEST  -40.0 // a range with TAPER_DB begins below, ...
#define DB_HIGHEST 0.0   // ... and ends above

#define STEPS_OF_WAY 128.0 // of a relative controller, from one end of the range to the other

/// Pickup: a controller holds a value that is at most so many of its positions away.
#define PICKUP_POSITIONS 1.5

const char* const midi_relative_names[] = { "off", "twos", "signed", "offset", NULL };

// ---- targets ----

/// True if a map may give the parameter a range: not for switches and choices.
static bool
has_own_range(const FxParam* const param)
{
  return param->kind == PARAM_INTEGER || param->kind == PARAM_NUMBER;
}

bool
midi_target_init(MidiTarget* const target, const FxParam* const param, const double low,
                 const double high, const MidiShape shape)
{
  const FxTaper taper = shape.has_taper ? shape.taper : param->taper;
  target->row = *param;
  target->shape = shape;
  target->low = low;
  target->high = high;
  target->low_place = 0.0;
  target->high_place = 1.0;
  if (!has_own_range(param)) {
    target->low = fx_param_from_norm(param, 0.0);
    target->high = fx_param_from_norm(param, 1.0);
    return true;
  }
  if (!shape.has_taper && taper != TAPER_LINEAR) { // a part of the parameter's own way
    target->low_place = fx_param_to_norm(param, low);
    target->high_place = fx_param_to_norm(param, high);
    return low < high;
  }
  target->row.taper = taper;
  target->row.min = low;
  target->row.max = high;
  return low < high && (taper != TAPER_LOG || low >= 0.0) &&
         (taper != TAPER_DB || (low < DB_LOWEST && high > DB_HIGHEST));
}

const MidiTarget*
midi_table_find(const MidiTable* const table, const MidiSource source, uint32_t* const n)
{
  const uint32_t key = midi_source_key(source);
  uint32_t first = 0;
  for (uint32_t end = table->n; first < end;) {
    const uint32_t middle = first + (end - first) / 2U;
    if (midi_source_key(table->targets[middle].source) < key) {
      first = middle + 1U;
    } else {
      end = middle;
    }
  }
  uint32_t count = 0;
  while (first + count < table->n && midi_source_key(table->targets[first + count].source) == key) {
    ++count;
  }
  *n = count;
  return table->targets ? table->targets + first : NULL;
}

// ---- positions from 0 to 1 and values ----

static double
value_at(const MidiTarget* const target, const double position)
{
  const double x = target->shape.is_inverted ? 1.0 - position : position;
  if (x <= 0.0 || x >= 1.0) {
    return x <= 0.0 ? target->low : target->high; // exactly
  }
  const double way = target->high_place - target->low_place;
  const double value = fx_param_from_norm(&target->row, target->low_place + x * way);
  return has_own_range(&target->row) ? fmin(fmax(value, target->low), target->high) : value;
}

/// The position of a value, without inversion.
static double
place_of(const MidiTarget* const target, const double value)
{
  const double place = fx_param_to_norm(&target->row, value);
  const double x = (place - target->low_place) / (target->high_place - target->low_place);
  return fmin(fmax(x, 0.0), 1.0);
}

static double
position_of(const MidiTarget* const target, const double value)
{
  const double x = place_of(target, value);
  return target->shape.is_inverted ? 1.0 - x : x;
}

// ---- relative controllers ----

/// The steps of a control change.
static int32_t
steps_of(const MidiRelative relative, const uint32_t value)
{
  const int32_t number = (int32_t)value;
  switch (relative) {
  case MIDI_TWOS:
    return number < 64 ? number : number - 128;
  case MIDI_SIGNED:
    return number < 64 ? number : 64 - number;
  case MIDI_OFFSET:
    return number - 64;
  default:
    return 0;
  }
}

/// The number of equal steps from the first to the last value of a parameter; 0: it has none.
static double
n_steps(const FxParam* const row)
{
  uint32_t n_choices = 0;
  switch (row->kind) {
  case PARAM_SWITCH:
    return 1.0;
  case PARAM_INTEGER:
    return row->taper == TAPER_LINEAR ? row->max - row->min : 0.0;
  case PARAM_CHOICE:
    while (row->choices[n_choices]) {
      ++n_choices;
    }
    return n_choices - 1.0;
  default:
    return 0.0;
  }
}

/// Move a value by steps: each is 1/128 of the way, and at least one step of the parameter.
static bool
move(const MidiTarget* const target, const int32_t steps, const double present, double* const value)
{
  const double n = n_steps(&target->row);
  const double way = n > 0.0 ? fmax(1.0 / STEPS_OF_WAY, 1.0 / n) : 1.0 / STEPS_OF_WAY;
  const double signed_steps = target->shape.is_inverted ? -steps : steps;
  const double x = fmin(fmax(place_of(target, present) + signed_steps * way, 0.0), 1.0);
  const bool is_whole = n > 0.0 && n <= STEPS_OF_WAY;
  const double place = is_whole ? rint(x * n) / n : x;
  *value = value_at(target, target->shape.is_inverted ? 1.0 - place : place);
  if (target->row.kind == PARAM_INTEGER && *value == present) { // a taper with ways below one step
    *value = fmin(fmax(present + copysign(1.0, signed_steps), target->low), target->high);
  }
  return *value != present;
}

// ---- absolute controllers ----

static double
part(const uint32_t value, const uint32_t n_values)
{
  return (double)value / (n_values - 1U);
}

/// True if a controller passes its middle upwards.
static bool
is_edge(const MidiReading* const reading)
{
  const int32_t middle = (int32_t)(reading->n_values / 2U);
  return (int32_t)reading->value >= middle && reading->previous < middle;
}

/// True if a controller holds the present value, or meets it with this reading.
static bool
picks_up(const MidiTarget* const target, const MidiReading* const reading, const double present)
{
  const double margin = PICKUP_POSITIONS / (reading->n_values - 1U);
  const double at = position_of(target, present);
  const double now = position_of(target, value_at(target, part(reading->value, reading->n_values)));
  if (fabs(now - at) <= margin || reading->previous < 0) {
    return fabs(now - at) <= margin;
  }
  const double before =
      position_of(target, value_at(target, part((uint32_t)reading->previous, reading->n_values)));
  return fabs(before - at) <= margin || (before < at) != (now < at);
}

bool
midi_target_value(const MidiTarget* const target, const MidiReading* const reading,
                  const double present, double* const value)
{
  if (reading->source.kind == MIDI_NOTES || reading->source.kind == MIDI_PROGRAM) {
    return false;
  }
  const int32_t steps =
      target->shape.relative ? steps_of(target->shape.relative, reading->value) : reading->steps;
  if (!reading->n_values || target->shape.relative) {
    return steps && move(target, steps, present, value);
  }
  if (target->shape.toggles) {
    *value = present != 0.0 ? 0.0 : 1.0;
    return is_edge(reading);
  }
  if (target->shape.has_pickup && !picks_up(target, reading, present)) {
    return false;
  }
  *value = value_at(target, part(reading->value, reading->n_values));
  return true;
}

// ---- feedback ----

/// The number of positions of a source; 0: it has none.
static uint32_t
n_positions(const MidiKind kind)
{
  static const uint32_t numbers[MIDI_N_KINDS] = { [MIDI_CC] = MIDI_VALUES,
                                                  [MIDI_CC14] = MIDI_VALUES_14,
                                                  [MIDI_NRPN] = MIDI_VALUES_14,
                                                  [MIDI_PRESSURE] = MIDI_VALUES,
                                                  [MIDI_BEND] = MIDI_VALUES_14 };
  return numbers[kind];
}

uint32_t
midi_target_position(const MidiTarget* const target, const double value)
{
  const uint32_t n = n_positions(target->source.kind);
  return n ? (uint32_t)lrint(position_of(target, value) * (n - 1U)) : 0U;
}

bool
midi_target_shows(const MidiTarget* const target, const uint32_t position, const double value)
{
  const uint32_t n = n_positions(target->source.kind);
  return !n || midi_target_position(target, value) ==
                   midi_target_position(target, value_at(target, part(position, n)));
}

/// A message of three bytes.
static MidiEvent
message(const uint32_t status, const uint32_t first, const uint32_t second)
{
  return (MidiEvent){ .n_bytes = 3U, .bytes = { (uint8_t)status, first & 0x7FU, second & 0x7FU } };
}

uint32_t
midi_feedback(const MidiTarget* const target, const uint32_t position,
              MidiEvent events[const MIDI_FEEDBACK_EVENTS])
{
  const uint32_t control = 0xB0U | target->source.channel;
  const uint32_t number = target->source.number;
  const uint32_t high = position >> 7U;
  if (target->shape.relative) {
    return 0;
  }
  switch (target->source.kind) {
  case MIDI_CC:
    events[0] = message(control, number, position);
    return 1U;
  case MIDI_CC14:
    events[0] = message(control, number, high);
    events[1] = message(control, number + 32U, position);
    return 2U;
  case MIDI_NRPN:
    events[0] = message(control, 99U, number >> 7U);
    events[1] = message(control, 98U, number);
    events[2] = message(control, 6U, high);
    events[3] = message(control, 38U, position);
    return 4U;
  case MIDI_BEND:
    events[0] = message(0xE0U | target->source.channel, position, high);
    return 1U;
  default: // the pressure of a channel comes from keys, which do not move
    return 0U;
  }
}
