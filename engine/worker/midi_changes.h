// SPDX-License-Identifier: GPL-3.0-or-later
/// What a MIDI event changes in the active plan, by the map of its rack.
#ifndef WARPRACK_ENGINE_WORKER_MIDI_CHANGES_H
#define WARPRACK_ENGINE_WORKER_MIDI_CHANGES_H

#include "engine/midi/midi_decode.h"
#include "engine/plan/plan.h"
#include "engine/ring/ring.h"

#define MIDI_MAX_CHANGES 64U // by one event; more are left out

/**
   List the changes of an event: values of parameters, which depend on the present ones
   (Node::targets), and notes.

   @param decoder The state that earlier events have left; this event updates it.
   @param event Its bytes may have any value.
   @param[out] changes [MIDI_MAX_CHANGES] messages with their node, parameter or key, value and
   kind; the other members are 0.
   @param[out] n_left Changes that had no room.
   @return Number of changes.
   [player]
*/
REALTIME uint32_t midi_changes(MidiDecoder* decoder, const Plan* plan, const MidiEvent* event,
                               ParamMessage changes[MIDI_MAX_CHANGES], uint32_t* n_left);

/// Update a decoder by MESSAGE_MIDI_FORGET or MESSAGE_MIDI_KNOWN, with any content.  Other messages
/// change nothing. [player]
REALTIME void midi_take_known(MidiDecoder* decoder, const ParamMessage* message);

#endif
