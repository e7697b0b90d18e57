// SPDX-License-Identifier: GPL-3.0-or-later
/// Commands for the MIDI map of the rack.
#ifndef WARPRACK_CONTROL_MIDI_COMMANDS_H
#define WARPRACK_CONTROL_MIDI_COMMANDS_H

#include "control/net/message.h"
#include "engine/rack/rack.h"

struct Control;

// CommandInfo::apply
Status edit_midi_forget(Rack** rack, const Message* message, Error* error);
Status edit_midi_map(Rack** rack, const Message* message, Error* error);

/// CommandInfo::run of /midi/learn: the controller that moves next gets the target.  See midi.h.
Status midi_learn(struct Control* control, const Peer* peer, Message* message, Error* error);

/// The lines of a map without their first word, for the caller to free; NULL if out of memory.
char* midi_print(const Rack* rack);

#endif
