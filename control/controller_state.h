// SPDX-License-Identifier: GPL-3.0-or-later
/// What the server knows of MIDI controllers.
#ifndef WARPRACK_CONTROL_CONTROLLER_STATE_H
#define WARPRACK_CONTROL_CONTROLLER_STATE_H

#include "engine/midi/midi_map.h"

#include <stdbool.h>
#include <stdint.h>

#define MIDI_LEARN_BYTES 256U
#define MIDI_LINE_BYTES  (MIDI_LEARN_BYTES + 32U)

/// The position of the first target of a source.
typedef struct MidiShown {
  int32_t position;  ///< That the controller has sent last, or was sent; -1: not known
  uint64_t heard_ns; ///< Time at which it was sent by the controller; 0: never
} MidiShown;

/// A reading of an event that a worker got.
typedef struct MidiRecent {
  uint64_t frame;
  MidiReading reading;
} MidiRecent;

#define MIDI_MAX_RECENT 256U // more than controllers send in the blocks in flight

#define MIDI_MAX_PROGRAMS 64U // program changes that wait for the recalls of their scenes

/// Begins as zeros, and with midi_decoder_init().
typedef struct MidiState {
  MidiDecoder decoder;                ///< Of what controllers send
  MidiRecent recent[MIDI_MAX_RECENT]; ///< The last of n_recent, number i at i % MIDI_MAX_RECENT
  uint64_t n_recent;
  uint64_t worker;     ///< EngineReports::ring of the last worker that got the decoder's state
  MidiTarget* targets; ///< Of the active document; owned
  MidiTable table;     ///< The same
  MidiShown* shown;    ///< [table.n]
  bool has_table;      ///< False: the document is another one
  bool is_shown;       ///< False: values have changed since the last feedback
  bool had_midi;       ///< The driver had MIDI in the last round
  MidiSource
      programs[MIDI_MAX_PROGRAMS]; ///< [n_programs] that wait for the recalls of their scenes
  uint32_t n_programs;
  uint64_t next_ns; ///< Time of the next recall
  uint64_t fed_ns;  ///< Time of the last feedback
  // The controller that is learnt:
  char learn[MIDI_LEARN_BYTES]; ///< Its target and options, as in the language; "": none
  bool has_source;              ///< It has moved ...
  MidiSource source;            ///< ... for the first time
  char learnt[MIDI_LINE_BYTES]; ///< The last line that was learnt, for subscribers
} MidiState;

#endif
