// SPDX-License-Identifier: GPL-3.0-or-later
/// What the server knows of MIDI controllers.
#ifndef WARPRACK_CONTROL_CONTROLLER_STATE_H
#define WARPRACK_CONTROL_CONTROLLER_STATE_H

#include "engine/engine.h"
#include "engine/midi/midi_map.h"

#include <stdbool.h>
#include <stdint.h>

#define MIDI_LEARN_BYTES 256U
#define MIDI_LINE_BYTES  (MIDI_LEARN_BYTES + 32U)

/// The position of the first target of a source.
typedef struct MidiShown {
  int32_t position;  ///< That the controller has sent last, or was sent; -1: not known
  uint64_t moved_ns; ///< Time at which the controller has sent it; 0: never
} MidiShown;

/// An event: a worker sets its parameters, or the control thread if no worker did.  Or QUEUED_END:
/// the worker that got the events before has ended.
typedef struct MidiEntry {
  uint64_t frame; ///< Frame time of the event
  QueuedKind kind;
  uint32_t n;
  MidiReading readings[MIDI_MAX_READINGS]; ///< [n]
} MidiEntry;

#define MIDI_LINE_MAX 2048U // entries that wait; the queue of the callback has as many more

#define MIDI_MAX_PROGRAMS 64U // program changes that wait for the recalls of their scenes

/// Begins as zeros, and with midi_decoder_init().
typedef struct MidiState {
  MidiDecoder decoder;            ///< Of what controllers send
  MidiEntry line[MIDI_LINE_MAX];  ///< [n_line] from `first` on, circular: oldest first
  uint32_t first, n_line, n_ends; ///< n_ends: entries with QUEUED_END
  uint64_t run_frame;             ///< A worker has run the events before this frame time
  uint64_t n_lost;                ///< Events that a worker got and had not run when it ended
  bool is_diverted;    ///< The current worker gets no events of controllers (period_midi.h)
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
