// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Decodes MIDI channel messages: which controller moved, to which position, and where it was
   before.

   One message may be a part of several controllers.  A control change 42 is the 7-bit
   controller 42, and the lower half of the 14-bit controller 10 (10 and 42); a control change 6 may
   also be a data entry for an NRPN.  The decoder returns a reading for each, because only the map
   of the rack decides which of them are used.

   A 14-bit controller sends two messages, and senders differ in their order and in what they
   leave out.  Each message is a reading of both halves as they were sent last.  While a controller
   has sent no lower half, its upper half stands for both, so that 127 is the end of its travel.

   Sources: MIDI 1.0 Detailed Specification 4.2, tables II and III; RP-018 (data increment and
   decrement: one step each).
*/
#ifndef WARPRACK_ENGINE_MIDI_MIDI_DECODE_H
#define WARPRACK_ENGINE_MIDI_MIDI_DECODE_H

#include "engine/base/macros.h"
#include "engine/base/midi_event.h"

#include <stdbool.h>
#include <stdint.h>

#define MIDI_CHANNELS  16U
#define MIDI_VALUES    128U // of 7 bits
#define MIDI_VALUES_14 16384U
#define MIDI_ALL_KEYS  128U // MidiReading::key: all notes of the channel end

/// In the order of canonical text.
typedef enum MidiKind {
  MIDI_CC,       ///< A control change of 7 bits
  MIDI_CC14,     ///< Of 14 bits: controllers n and n + 32, n below 32
  MIDI_NRPN,     ///< A non-registered parameter, absolute or in steps
  MIDI_PRESSURE, ///< Of a channel
  MIDI_BEND,     ///< The pitch bend wheel
  MIDI_NOTES,    ///< The notes of a channel
  MIDI_PROGRAM,  ///< A program change
  MIDI_N_KINDS
} MidiKind;

/// What sends.
typedef struct MidiSource {
  MidiKind kind;
  uint8_t channel; ///< 0 to 15
  uint16_t number; ///< CC: controller.  NRPN: parameter.  PROGRAM: program.  Else 0
} MidiSource;

/// A number that sorts sources by kind, channel and number. [any]
static inline uint32_t
midi_source_key(const MidiSource source)
{
  return (uint32_t)source.kind << 18U | (uint32_t)source.channel << 14U | source.number;
}

/// What a message means for one source.
typedef struct MidiReading {
  MidiSource source;
  uint32_t n_values; ///< MIDI_VALUES or MIDI_VALUES_14; 0 for NOTES and PROGRAM, and for steps
  uint32_t value;    ///< The position, below n_values
  int32_t previous;  ///< The position before; -1: not known
  int32_t steps;     ///< NRPN, n_values 0: increments, or with a minus decrements
  uint8_t key;       ///< NOTES: below 128, or MIDI_ALL_KEYS
  uint8_t velocity;  ///< NOTES: 0 ends the note
} MidiReading;

#define MIDI_MAX_READINGS 3U // of one message

/// Recent positions of NRPNs that are remembered; another parameter may take the place of one.
#define MIDI_NRPN_PLACES 256U

/// What a decoder knows of a channel.
typedef struct MidiChannel {
  uint8_t controllers[MIDI_VALUES]; ///< Last positions; MIDI_UNKNOWN
  uint8_t pressure;                 ///< The same
  uint16_t bend;                    ///< 0xFFFF: not known
  uint8_t selected[2];              ///< The upper and lower 7 bits of the selected NRPN
  bool is_selected;                 ///< False: none, or a registered parameter
  uint8_t data[2];                  ///< Of the selected NRPN: as `controllers`
} MidiChannel;

/// Plain data of bounded size.
typedef struct MidiDecoder {
  MidiChannel channels[MIDI_CHANNELS];
  struct {
    uint32_t key; ///< midi_source_key(); 0: free
    uint16_t value;
  } nrpns[MIDI_NRPN_PLACES];
} MidiDecoder;

/// Forget all positions. [any]
void midi_decoder_init(MidiDecoder* decoder);

/// Decode a message, whose bytes may have any value.  Returns the number of readings. [any, rt]
REALTIME uint32_t midi_decode(MidiDecoder* decoder, const MidiEvent* event,
                              MidiReading readings[MIDI_MAX_READINGS]);

#define MIDI_KNOWN_EVENTS (MIDI_CHANNELS * (MIDI_CONTROLLERS + 6U) + 4U * MIDI_NRPN_PLACES)

/// Write the state of a decoder as events.  A new decoder that has decoded them gives the same
/// readings as this one from then on, with one exception: on a channel with NRPNs, it does not know
/// the controllers 6, 38 and 96 to 101 as 7-bit ones.  Returns the number of events. [any]
uint32_t midi_decoder_known(const MidiDecoder* decoder, MidiEvent events[MIDI_KNOWN_EVENTS]);

/// The last position of a source; -1: not known.  `n_values` receives the number of its positions.
/// [any]
REALTIME int32_t midi_decoder_position(const MidiDecoder* decoder, MidiSource source,
                                       uint32_t* n_values);

#endif
