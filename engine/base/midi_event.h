// SPDX-License-Identifier: GPL-3.0-or-later
/// A MIDI message of at most three bytes: a channel message, or one of system real-time (clock).
#ifndef WARPRACK_ENGINE_BASE_MIDI_EVENT_H
#define WARPRACK_ENGINE_BASE_MIDI_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#define MIDI_EVENT_BYTES 3U
#define MIDI_CONTROLLERS 120U // of control changes; 120 to 127 are channel mode messages

typedef struct MidiEvent {
  uint32_t frame;  ///< In its block, or its period
  uint8_t n_bytes; ///< 1 to MIDI_EVENT_BYTES
  uint8_t bytes[MIDI_EVENT_BYTES];
} MidiEvent;

/// System real-time messages.
#define MIDI_CLOCK    0xF8U // 24 per quarter note
#define MIDI_START    0xFAU
#define MIDI_CONTINUE 0xFBU
#define MIDI_STOP     0xFCU

/// The bytes of an event in a word, and back; `n_bytes` may have any value. [any]
static inline uint32_t
midi_event_word(const MidiEvent* const event)
{
  return event->bytes[0] | (uint32_t)event->bytes[1] << 8U | (uint32_t)event->bytes[2] << 16U;
}

static inline MidiEvent
midi_event_of_word(const uint32_t word, const uint32_t n_bytes)
{
  return (MidiEvent){ .n_bytes = (uint8_t)n_bytes,
                      .bytes = { (uint8_t)word, (uint8_t)(word >> 8U), (uint8_t)(word >> 16U) } };
}

/// True for system real-time messages. [any]
static inline bool
midi_event_is_realtime(const MidiEvent* const event)
{
  return event->n_bytes == 1U && event->bytes[0] >= MIDI_CLOCK;
}

/// True for a message of a channel: the first byte, and as many more as it needs. [any]
static inline bool
midi_event_is_channel(const MidiEvent* const event)
{
  const uint8_t type = event->bytes[0] & 0xF0U;
  const uint32_t n_bytes = type == 0xC0U || type == 0xD0U ? 2U : 3U;
  return type >= 0x80U && type < 0xF0U && event->n_bytes == n_bytes && event->bytes[1] < 0x80U &&
         (n_bytes == 2U || event->bytes[2] < 0x80U);
}

/// True for a message by which a controller of a channel moves: a control change, pressure or pitch
/// bend. [any]
static inline bool
midi_event_is_controller(const MidiEvent* const event)
{
  const uint8_t type = event->bytes[0] & 0xF0U;
  const bool moves = type == 0xB0U ? event->bytes[1] < MIDI_CONTROLLERS : type >= 0xD0U;
  return moves && type >= 0xB0U && midi_event_is_channel(event);
}

#endif
