// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The event ports of an instance: a buffer for each, the position in time, and properties that are
   set by messages (patch:Set).

   The time is that of a clock that rolls from frame 0 at the tempo of the host, 4/4.  It is sent at
   the start, and after each change of the tempo; plugins can follow it between.  Notes are MIDI
   messages on channel 1, with their frames, at the first port that takes MIDI.  The messages of
   plugins are not read.
*/
#ifndef WARPRACK_PLUGINS_LV2_LV2_ATOMS_H
#define WARPRACK_PLUGINS_LV2_LV2_ATOMS_H

#include "engine/base/arena.h"
#include "engine/base/status.h"
#include "plugins/host_clock.h"
#include "plugins/plugin.h"

#include <lv2/atom/forge.h>
#include <lv2/core/lv2.h>
#include <stdbool.h>

#define ATOMS_TEXT_BYTES 4096U // longest text of a property, with the final zero

/// An event port.
typedef struct AtomPort {
  uint32_t index;            ///< Of the plugin's port
  uint32_t flags;            ///< PluginPort::flags
  uint32_t n_bytes;          ///< Of the buffer, a multiple of 8
  LV2_Atom_Sequence* buffer; ///< NULL: connected to nothing
} AtomPort;

/// A property with a number or a text.
typedef struct AtomProperty {
  LV2_URID key;
  LV2_URID type;         ///< Of its numbers or texts
  double value;          ///< The last that was set
  const char* text;      ///< NULL: a number
  uint32_t n_text_bytes; ///< Of `text`, without the zero at its end
  bool is_set;           ///< Some value was set
  bool is_pending;       ///< `value` is not sent yet
} AtomProperty;

/// An event at a frame of the next run.
typedef struct AtomNote {
  uint32_t frame;
  uint8_t bytes[3]; ///< A MIDI message
} AtomNote;

typedef struct Lv2Atoms {
  uint32_t n_ports;
  uint32_t n_notes;        ///< Of the next run
  bool is_pending;         ///< Some property, a note, or the position
  bool has_position;       ///< The position was sent, and the tempo has not changed
  HostClock clock;         ///< Since the handle was made
  AtomPort* ports;         ///< [n_ports]
  const AtomPort* control; ///< Gets the properties; NULL if there are none
  uint32_t first_property; ///< Place in Plugin::ports
  uint32_t n_properties;
  AtomProperty* properties; ///< [n_properties]
  const AtomPort* midi;     ///< Gets the notes; NULL if the plugin takes none
  AtomNote* notes;          ///< [FX_MAX_EVENTS]
  LV2_Atom_Forge forge;
} Lv2Atoms;

/// Make the ports and properties of a plugin.  Failed allocations are left to the arena's mark.
/// [builder]
void atoms_init(Lv2Atoms* atoms, const Plugin* plugin, double rate_hz, Arena* arena);

/// Size of the smallest buffer. [builder]
uint32_t atoms_sequence_bytes(const Lv2Atoms* atoms);

/// Connect all ports of a new handle; it gets the position and the properties again. [builder]
void atoms_connect(Lv2Atoms* atoms, const LV2_Descriptor* descriptor, LV2_Handle handle);

/// Set the tempo of the clock from the next run on. [rt]
REALTIME void atoms_set_tempo(Lv2Atoms* atoms, double bpm);

/// Set a property for the next run. [rt]
REALTIME void atoms_set(Lv2Atoms* atoms, uint32_t property, double value);

/// Add an event for the next run, with a frame that is not before the last one. [rt]
REALTIME void atoms_add_event(Lv2Atoms* atoms, const FxEvent* event, uint32_t frame);

/// Set a property to a text, which is copied to the arena, from the next atoms_connect() on.
/// STATUS_LIMIT, STATUS_NO_MEM. [builder]
NODISCARD Status atoms_set_text(Lv2Atoms* atoms, uint32_t property, const char* text, Arena* arena,
                                Error* error);

/// True if some property has a text. [builder]
bool atoms_have_texts(const Lv2Atoms* atoms);

/// Before run() of n frames: events for the plugin, room for its own. [rt]
REALTIME void atoms_begin_run(Lv2Atoms* atoms, uint32_t n_frames);

#endif
