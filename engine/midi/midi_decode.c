// SPDX-License-Identifier: GPL-3.0-or-later
// From MIDI channel messages to readings of controllers.

#include "midi_decode.h"

#include <stddef.h>
#include <string.h>

// Bytes of channel messages.
#define NOTE_OFF       0x80U
#define NOTE_ON        0x90U
#define CONTROL_CHANGE 0xB0U
#define PROGRAM_CHANGE 0xC0U
#define PRESSURE       0xD0U
#define BEND           0xE0U

// Controllers with a meaning of their own.
#define DATA_ENTRY     6U
#define DATA_ENTRY_LOW 38U
#define INCREMENT      96U
#define DECREMENT      97U
#define NRPN_LOW       98U
#define NRPN_HIGH      99U
#define RPN_LOW        100U
#define RPN_HIGH       101U
#define ALL_SOUND_OFF  120U
#define ALL_NOTES_OFF  123U // and the mode messages above it, which imply it

#define LOW_OFFSET   32U // from the controller of the upper half to that of the lower one
#define N_PAIRS      32U
#define UNKNOWN      0xFFU
#define UNKNOWN_BEND 0xFFFFU

/// Readings while they are collected.
typedef struct List {
  MidiReading* items;
  uint32_t n;
} List;

void
midi_decoder_init(MidiDecoder* const decoder)
{
  memset(decoder, 0, sizeof(*decoder));
  for (uint32_t c = 0; c < MIDI_CHANNELS; ++c) {
    MidiChannel* const channel = &decoder->channels[c];
    memset(channel->controllers, UNKNOWN, sizeof(channel->controllers));
    memset(channel->data, UNKNOWN, sizeof(channel->data));
    channel->pressure = UNKNOWN;
    channel->bend = UNKNOWN_BEND;
  }
}

static MidiReading*
add(List* const list, const MidiSource source)
{
  MidiReading* const reading = &list->items[list->n++];
  *reading = (MidiReading){ .source = source, .previous = -1 };
  return reading;
}

static void
add_position(List* const list, const MidiSource source, const uint32_t n_values,
             const uint32_t value, const int32_t previous)
{
  MidiReading* const reading = add(list, source);
  reading->n_values = n_values;
  reading->value = value;
  reading->previous = previous;
}

/// The position that two halves make; -1: not known.
static int32_t
join(const uint8_t high, const uint8_t low)
{
  return high == UNKNOWN ? -1 : (int32_t)(((uint32_t)high << 7U) | (low == UNKNOWN ? high : low));
}

/// A position of 7 bits; -1: not known.
static int32_t
known(const uint8_t value)
{
  return value == UNKNOWN ? -1 : value;
}

// ---- NRPN ----

static uint32_t
nrpn_place(const uint32_t key)
{
  return (key ^ key >> 7U ^ key >> 14U) % MIDI_NRPN_PLACES;
}

static int32_t
nrpn_position(const MidiDecoder* const decoder, const MidiSource source)
{
  const uint32_t key = midi_source_key(source);
  const uint32_t place = nrpn_place(key);
  return decoder->nrpns[place].key == key ? decoder->nrpns[place].value : -1;
}

static MidiSource
selected_nrpn(const MidiChannel* const channel, const uint8_t number)
{
  return (MidiSource){
    .kind = MIDI_NRPN,
    .channel = number,
    .number = (uint16_t)(((uint32_t)channel->selected[0] << 7U) | channel->selected[1]),
  };
}

/// Select a parameter by half of its number.
static void
select_parameter(MidiChannel* const channel, const uint8_t controller, const uint8_t value)
{
  const bool is_nrpn = controller == NRPN_LOW || controller == NRPN_HIGH;
  const bool is_low = controller == NRPN_LOW || controller == RPN_LOW;
  channel->selected[is_low] = value;
  channel->is_selected = is_nrpn && (channel->selected[0] < 127U || channel->selected[1] < 127U);
  memset(channel->data, UNKNOWN, sizeof(channel->data));
}

static void
read_data_entry(MidiDecoder* const decoder, const uint8_t number, const uint8_t controller,
                const uint8_t value, List* const list)
{
  MidiChannel* const channel = &decoder->channels[number];
  const MidiSource source = selected_nrpn(channel, number);
  channel->data[controller == DATA_ENTRY_LOW] = value;
  const int32_t position = join(channel->data[0], channel->data[1]);
  if (position >= 0) {
    const uint32_t key = midi_source_key(source);
    const uint32_t place = nrpn_place(key);
    add_position(list, source, MIDI_VALUES_14, (uint32_t)position, nrpn_position(decoder, source));
    decoder->nrpns[place].key = key;
    decoder->nrpns[place].value = (uint16_t)position;
  }
}

/// Read a control change as a part of an NRPN.
static void
read_nrpn(MidiDecoder* const decoder, const uint8_t number, const uint8_t controller,
          const uint8_t value, List* const list)
{
  MidiChannel* const channel = &decoder->channels[number];
  switch (controller) {
  case NRPN_LOW:
  case NRPN_HIGH:
  case RPN_LOW:
  case RPN_HIGH:
    select_parameter(channel, controller, value);
    break;
  case DATA_ENTRY:
  case DATA_ENTRY_LOW:
    if (channel->is_selected) {
      read_data_entry(decoder, number, controller, value, list);
    }
    break;
  case INCREMENT:
  case DECREMENT:
    if (channel->is_selected) {
      add(list, selected_nrpn(channel, number))->steps = controller == INCREMENT ? 1 : -1;
    }
    break;
  default:
    break;
  }
}

// ---- control changes ----

static void
read_mode(const uint8_t number, const uint8_t controller, List* const list)
{
  if (controller == ALL_SOUND_OFF || controller >= ALL_NOTES_OFF) {
    add(list, (MidiSource){ .kind = MIDI_NOTES, .channel = number })->key = MIDI_ALL_KEYS;
  }
}

static void
read_control_change(MidiDecoder* const decoder, const uint8_t number, const uint8_t controller,
                    const uint8_t value, List* const list)
{
  if (controller >= MIDI_CONTROLLERS) {
    read_mode(number, controller, list);
    return;
  }
  uint8_t* const controllers = decoder->channels[number].controllers;
  const uint8_t pair = controller % N_PAIRS;
  const int32_t pair_before = join(controllers[pair], controllers[pair + LOW_OFFSET]);
  add_position(list, (MidiSource){ MIDI_CC, number, controller }, MIDI_VALUES, value,
               known(controllers[controller]));
  controllers[controller] = value;
  const int32_t pair_now = join(controllers[pair], controllers[pair + LOW_OFFSET]);
  if (controller < N_PAIRS + LOW_OFFSET && pair_now >= 0) {
    add_position(list, (MidiSource){ MIDI_CC14, number, pair }, MIDI_VALUES_14, (uint32_t)pair_now,
                 pair_before);
  }
  read_nrpn(decoder, number, controller, value, list);
}

// ---- other messages ----

static void
read_note(const uint8_t number, const uint8_t key, const uint8_t velocity, List* const list)
{
  MidiReading* const reading = add(list, (MidiSource){ .kind = MIDI_NOTES, .channel = number });
  reading->key = key;
  reading->velocity = velocity;
}

static void
read_pressure(MidiDecoder* const decoder, const uint8_t number, const uint8_t value,
              List* const list)
{
  uint8_t* const pressure = &decoder->channels[number].pressure;
  add_position(list, (MidiSource){ .kind = MIDI_PRESSURE, .channel = number }, MIDI_VALUES, value,
               known(*pressure));
  *pressure = value;
}

static void
read_bend(MidiDecoder* const decoder, const uint8_t number, const uint16_t value, List* const list)
{
  uint16_t* const bend = &decoder->channels[number].bend;
  add_position(list, (MidiSource){ .kind = MIDI_BEND, .channel = number }, MIDI_VALUES_14, value,
               *bend == UNKNOWN_BEND ? -1 : *bend);
  *bend = value;
}

uint32_t
midi_decode(MidiDecoder* const decoder, const MidiEvent* const event,
            MidiReading readings[const MIDI_MAX_READINGS])
{
  List list = { .items = readings };
  if (!midi_event_is_channel(event)) {
    return 0;
  }
  const uint8_t channel = event->bytes[0] & 0x0FU;
  const uint8_t* const data = &event->bytes[1];
  switch (event->bytes[0] & 0xF0U) {
  case NOTE_OFF:
    read_note(channel, data[0], 0U, &list);
    break;
  case NOTE_ON:
    read_note(channel, data[0], data[1], &list);
    break;
  case CONTROL_CHANGE:
    read_control_change(decoder, channel, data[0], data[1], &list);
    break;
  case PROGRAM_CHANGE:
    add(&list, (MidiSource){ MIDI_PROGRAM, channel, data[0] });
    break;
  case PRESSURE:
    read_pressure(decoder, channel, data[0], &list);
    break;
  case BEND:
    read_bend(decoder, channel, (uint16_t)(((uint32_t)data[1] << 7U) | data[0]), &list);
    break;
  default: // the pressure of single keys
    break;
  }
  return list.n;
}

// ---- from one decoder to another ----

/// Add a message, unless its position is not known.
static void
add_event(MidiEvent* const events, uint32_t* const n, const uint32_t channel,
          const uint32_t controller, const uint8_t value)
{
  if (value != UNKNOWN) {
    events[(*n)++] =
        (MidiEvent){ .n_bytes = 3U,
                     .bytes = { (uint8_t)(CONTROL_CHANGE | channel), (uint8_t)controller, value } };
  }
}

static void
add_nrpn(MidiEvent* const events, uint32_t* const n, const uint32_t channel,
         const uint8_t number[const 2], const uint8_t data[const 2])
{
  add_event(events, n, channel, NRPN_HIGH, number[0]); // selecting forgets the data
  add_event(events, n, channel, NRPN_LOW, number[1]);
  add_event(events, n, channel, DATA_ENTRY, data[0]);
  add_event(events, n, channel, DATA_ENTRY_LOW, data[1]);
}

/// Add the positions of all NRPNs.
static void
add_nrpns(const MidiDecoder* const decoder, MidiEvent* const events, uint32_t* const n)
{
  for (uint32_t p = 0; p < MIDI_NRPN_PLACES; ++p) {
    const uint32_t key = decoder->nrpns[p].key;
    const uint8_t number[] = { key >> 7U & 127U, key & 127U };
    const uint8_t data[] = { (uint8_t)(decoder->nrpns[p].value >> 7U),
                             decoder->nrpns[p].value & 127U };
    if (key) {
      add_nrpn(events, n, key >> 14U & 15U, number, data);
    }
  }
}

/// True for controllers that are parts of NRPNs and registered parameters.
static bool
is_of_parameters(const uint32_t controller)
{
  return controller == DATA_ENTRY || controller == DATA_ENTRY_LOW ||
         (controller >= INCREMENT && controller <= RPN_HIGH);
}

static void
add_channel(const MidiChannel* const channel, const uint32_t number, MidiEvent* const events,
            uint32_t* const n)
{
  const bool has_nrpns =
      channel->controllers[NRPN_HIGH] != UNKNOWN || channel->controllers[NRPN_LOW] != UNKNOWN;
  for (uint32_t c = 0; c < MIDI_CONTROLLERS; ++c) {
    if (!has_nrpns || !is_of_parameters(c)) {
      add_event(events, n, number, c, channel->controllers[c]);
    }
  }
  if (has_nrpns && channel->is_selected) {
    add_nrpn(events, n, number, channel->selected, channel->data);
  } else if (has_nrpns) { // a registered parameter, or none
    add_event(events, n, number, RPN_HIGH, channel->selected[0]);
    add_event(events, n, number, RPN_LOW, channel->selected[1]);
  }
  if (channel->pressure != UNKNOWN) {
    events[(*n)++] =
        (MidiEvent){ .n_bytes = 2U, .bytes = { (uint8_t)(PRESSURE | number), channel->pressure } };
  }
  if (channel->bend != UNKNOWN_BEND) {
    events[(*n)++] = (MidiEvent){ .n_bytes = 3U,
                                  .bytes = { (uint8_t)(BEND | number), channel->bend & 127U,
                                             (uint8_t)(channel->bend >> 7U) } };
  }
}

uint32_t
midi_decoder_known(const MidiDecoder* const decoder, MidiEvent events[const MIDI_KNOWN_EVENTS])
{
  uint32_t n = 0;
  add_nrpns(decoder, events, &n);
  for (uint32_t c = 0; c < MIDI_CHANNELS; ++c) {
    add_channel(&decoder->channels[c], c, events, &n);
  }
  return n;
}

int32_t
midi_decoder_position(const MidiDecoder* const decoder, const MidiSource source,
                      uint32_t* const n_values)
{
  const MidiChannel* const channel = &decoder->channels[source.channel % MIDI_CHANNELS];
  *n_values = MIDI_VALUES_14;
  switch (source.kind) {
  case MIDI_CC:
    *n_values = MIDI_VALUES;
    return known(channel->controllers[source.number % MIDI_VALUES]);
  case MIDI_CC14:
    return join(channel->controllers[source.number % N_PAIRS],
                channel->controllers[source.number % N_PAIRS + LOW_OFFSET]);
  case MIDI_NRPN:
    return nrpn_position(decoder, source);
  case MIDI_PRESSURE:
    *n_values = MIDI_VALUES;
    return known(channel->pressure);
  case MIDI_BEND:
    return channel->bend == UNKNOWN_BEND ? -1 : channel->bend;
  default:
    *n_values = 0U;
    return -1;
  }
}
