// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Changes of parameters, between the host and one instance: in for the next block, and out as the
   plugin reports them; and changes of the tempo and notes, in for the next block.

   A list of changes that is full keeps only the last value of each parameter, and the last tempo,
   at the start of the block.  Notes have room for all that come (FX_MAX_EVENTS).
*/
#ifndef WARPRACK_PLUGINS_CLAP_CLAP_EVENTS_H
#define WARPRACK_PLUGINS_CLAP_CLAP_EVENTS_H

#include "clap_notes.h"

#include "engine/base/arena.h"
#include "plugins/host_clock.h"
#include "plugins/plugin.h"

#include <clap/events.h>

#define CLAP_EVENT_ROOM 256U // events of a block besides one per parameter

typedef struct ClapChange {
  union {
    clap_event_header_t header;
    clap_event_param_value_t value;
    clap_event_transport_t transport;
  } event;
  uint32_t port; ///< Place of its parameter in Plugin::ports; Plugin::n_ports: the tempo
} ClapChange;

typedef struct ClapEvents {
  const Plugin* plugin;
  clap_input_events_t in;   ///< For the plugin: `list`
  clap_output_events_t out; ///< For the plugin: to `values`
  HostClock clock;
  clap_event_transport_t transport; ///< For the plugin: at the start of the next block
  ClapChange* changes;              ///< [room]
  uint32_t n_changes, room;
  ClapNotePort note_port; ///< The caller sets it
  ClapNote* notes;        ///< [FX_MAX_EVENTS] of the next block
  uint32_t n_notes;
  const clap_event_header_t** list; ///< [n_listed] changes and notes, in order of their times
  uint32_t n_listed;
  uint32_t* places; ///< [n_ports + 1] while a full list is made shorter
  uint32_t* by_id;  ///< [n_params] ports of the parameters, in order of their ids
  uint32_t n_params;
  _Atomic(double)* values; ///< [n_ports] last values that the plugin reported
} ClapEvents;

/// Prepare for a plugin; takes memory of the arena, which may fail. [builder]
void clap_events_init(ClapEvents* events, const Plugin* plugin, double rate_hz, Arena* arena);

/// Begin the clock at frame 0 again; the tempo stays. [builder]
void clap_events_restart(ClapEvents* events);

/// Add a change at a frame that is not before the last one. [rt, builder]
void clap_events_add(ClapEvents* events, uint32_t port, double value, uint32_t frame);

/// Set the tempo of the clock from a frame on that is not before the last one. [rt, builder]
void clap_events_set_tempo(ClapEvents* events, double bpm, uint32_t frame);

/// Add a note at a frame that is not before the last one. [rt]
void clap_events_add_note(ClapEvents* events, const FxEvent* event, uint32_t frame);

/// Make the list for a block. [rt]
void clap_events_begin(ClapEvents* events);

/// Forget the changes and notes of the block, and go to its end. [rt]
void clap_events_end(ClapEvents* events, uint32_t n_frames);

#endif
