// SPDX-License-Identifier: GPL-3.0-or-later
/**
   The tempo of the rack by message: set as a value, which reaches all parameters that follow it in
   one group, at one frame.
*/
#ifndef WARPRACK_CONTROL_TEMPO_H
#define WARPRACK_CONTROL_TEMPO_H

#include "changes.h"

#include <stdbool.h>

/// CommandInfo::find of /rack/tempo: the parameters that follow the tempo.  They keep their values
/// in the document; the engine gets other numbers.
Status tempo_find(const Rack* rack, const Message* message, Changes* found, Error* error);

/// True for a message that sets the tempo.
bool tempo_is(const Message* message);

/// True if a bundle sets the tempo.
bool tempo_is_set(const Bundle* bundle);

/// Set the tempo of a rack, if a message, or a bundle, does so.  The last message of a bundle
/// counts.
NODISCARD Status tempo_set_message(Rack* rack, const Message* message, Error* error);
NODISCARD Status tempo_set(Rack* rack, const Bundle* bundle, Error* error);

/// Append the parameters that follow the tempo.
NODISCARD Status tempo_add_followers(const Rack* rack, Changes* found, Error* error);

/// Let a document of the history keep the present tempo, if both follow the same source: undo does
/// not restore what that source had then.
void tempo_keep(Rack* rack, const Rack* present);

/// True if the tempo of a source is different enough from the present one.
bool tempo_differs(double source_bpm, double bpm);

/// If a bundle only sets the tempo, return one change in place of all its changes: for undo, the
/// movement of the fader is one gesture.  Returns false for any other bundle.
bool tempo_fader(const Bundle* bundle, Change* fader);

#endif
