// SPDX-License-Identifier: GPL-3.0-or-later
/// The notes of a node with a plugin, on the way to its instances.
#ifndef WARPRACK_PLUGINS_HOST_NOTES_H
#define WARPRACK_PLUGINS_HOST_NOTES_H

#include "host.h"

#include "engine/base/arena.h"

/// An event at a frame of the next run of the node.
typedef struct HostNote {
  FxEvent event;
  uint32_t frame;
} HostNote;

typedef struct HostNotes {
  uint64_t n;     ///< [player] Events so far
  HostNote* list; ///< [player] [FX_MAX_EVENTS] a ring: event n is at n % FX_MAX_EVENTS.  NULL: the
                  ///< plugin takes none
} HostNotes;

/// Take memory of the arena, which may fail, if the plugin takes notes. [builder]
void host_notes_init(HostNotes* notes, const Plugin* plugin, Arena* arena);

/// An event, from FxInfo::event. [player]
REALTIME void host_notes_add(HostNotes* notes, const FxEvent* event, uint32_t frame);

/// The number of events that an instance has, which has `n_sent` and has missed blocks: those that
/// the ring no longer has count, too. [rt]
REALTIME uint64_t host_notes_oldest(const HostNotes* notes, uint64_t n_sent);

/**
   Send the events of a part of the run to an instance.

   @param[in,out] n_sent HostNotes::n of the events that the instance has.
   @param first First frame of the part.
   [rt]
*/
REALTIME void host_notes_send(const HostNotes* notes, uint64_t* n_sent, const InstanceCalls* calls,
                              Instance* instance, uint32_t first, uint32_t n_frames);

#endif
