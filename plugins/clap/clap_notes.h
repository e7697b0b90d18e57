// SPDX-License-Identifier: GPL-3.0-or-later
/// Notes for CLAP plugins, in the dialect of their port.
#ifndef WARPRACK_PLUGINS_CLAP_CLAP_NOTES_H
#define WARPRACK_PLUGINS_CLAP_CLAP_NOTES_H

#include "plugins/plugin.h"

#include <clap/events.h>
#include <clap/ext/note-ports.h>

typedef union ClapNote {
  clap_event_header_t header;
  clap_event_note_t note; ///< CLAP_NOTE_DIALECT_CLAP
  clap_event_midi_t midi; ///< CLAP_NOTE_DIALECT_MIDI
} ClapNote;

/// The port that gets the notes.
typedef struct ClapNotePort {
  uint32_t index;
  uint32_t dialect; ///< 0: the plugin takes no notes
} ClapNotePort;

/// The dialect for an input: the one that the plugin prefers, if this host has it, else CLAP's,
/// else MIDI.  0: this host has none of its dialects, or the plugin does not describe the port.
/// [main thread of plugins]
uint32_t clap_note_dialect(const clap_plugin_t* clap, uint32_t index);

/// The first input with a dialect of this host. [main thread of plugins]
ClapNotePort clap_note_port(const clap_plugin_t* clap);

/// An event at a frame. [any]
REALTIME ClapNote clap_note(const ClapNotePort* port, const FxEvent* event, uint32_t frame);

#endif
