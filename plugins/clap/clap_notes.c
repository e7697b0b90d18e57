// SPDX-License-Identifier: GPL-3.0-or-later

#include "clap_notes.h"

#include <math.h>

#define MIDI_NOTE_OFF 0x80U // on channel 1
#define MIDI_NOTE_ON  0x90U

static uint32_t
count_inputs(const clap_plugin_t* const clap, const clap_plugin_note_ports_t* const calls)
{
  return calls && calls->count && calls->get ? calls->count(clap, true) : 0U;
}

static const clap_plugin_note_ports_t*
calls_of(const clap_plugin_t* const clap)
{
  return clap->get_extension(clap, CLAP_EXT_NOTE_PORTS);
}

uint32_t
clap_note_dialect(const clap_plugin_t* const clap, const uint32_t index)
{
  clap_note_port_info_t info = { 0 };
  const clap_plugin_note_ports_t* const calls = calls_of(clap);
  if (index >= count_inputs(clap, calls) || !calls->get(clap, index, true, &info)) {
    return 0U;
  }
  const uint32_t midi = CLAP_NOTE_DIALECT_MIDI | CLAP_NOTE_DIALECT_MIDI_MPE;
  if (info.preferred_dialect & (info.supported_dialects & midi)) {
    return CLAP_NOTE_DIALECT_MIDI;
  }
  if (info.supported_dialects & CLAP_NOTE_DIALECT_CLAP) {
    return CLAP_NOTE_DIALECT_CLAP;
  }
  return info.supported_dialects & midi ? CLAP_NOTE_DIALECT_MIDI : 0U;
}

ClapNotePort
clap_note_port(const clap_plugin_t* const clap)
{
  ClapNotePort port = { 0 };
  const uint32_t n = count_inputs(clap, calls_of(clap));
  for (uint32_t p = 0; p < n && !port.dialect; ++p) {
    port = (ClapNotePort){ .index = p, .dialect = clap_note_dialect(clap, p) };
  }
  return port;
}

static clap_event_header_t
header_of(const uint32_t size, const uint16_t type, const uint32_t frame)
{
  return (clap_event_header_t){
    .size = size,
    .time = frame,
    .space_id = CLAP_CORE_EVENT_SPACE_ID,
    .type = type,
  };
}

ClapNote
clap_note(const ClapNotePort* const port, const FxEvent* const event, const uint32_t frame)
{
  const bool is_on = event->kind == FX_NOTE_ON;
  if (port->dialect == CLAP_NOTE_DIALECT_CLAP) {
    return (ClapNote){
      .note = {
        .header = header_of(sizeof(clap_event_note_t),
                            is_on ? CLAP_EVENT_NOTE_ON : CLAP_EVENT_NOTE_OFF, frame),
        .note_id = -1,
        .port_index = (int16_t)port->index,
        .channel = 0,
        .key = (int16_t)event->key,
        .velocity = (double)event->velocity,
      },
    };
  }
  const long velocity = lrintf(event->velocity * 127.0F);
  return (ClapNote){
    .midi = {
      .header = header_of(sizeof(clap_event_midi_t), CLAP_EVENT_MIDI, frame),
      .port_index = (uint16_t)port->index,
      .data = {
        is_on ? MIDI_NOTE_ON : MIDI_NOTE_OFF,
        (uint8_t)event->key,
        (uint8_t)(is_on && velocity < 1 ? 1 : velocity), // 0 would end the note
      },
    },
  };
}
