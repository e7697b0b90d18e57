// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Scenes by message: recalled as one group of values, stopped, compared, morphed.

   A recall sets the values of a scene whose parameters are there.  It leaves out those that a safe
   matches, and with patterns all that these do not match; a pattern without wildcards overrides the
   safes.
*/
#ifndef WARPRACK_CONTROL_SCENES_H
#define WARPRACK_CONTROL_SCENES_H

#include "changes.h"

#include <stdbool.h>

/// CommandInfo::find of /scene/recall, /scene/next and /scene/previous.  STATUS_NOT_FOUND if there
/// is no such scene, or if the message has the word `strict` and a parameter is missing.
Status scenes_find(const Rack* rack, const Message* message, Changes* found, Error* error);

/// CommandInfo::find of /scene/morph: the parameters of both scenes, between their values.
Status scenes_find_between(const Rack* rack, const Message* message, Changes* found, Error* error);

/// CommandInfo::find of /scene/compare: the values of the scene that was recalled last; or, if the
/// last comparison has set these, the values before it.
Status scenes_find_compared(const Rack* rack, const Message* message, Changes* found, Error* error);

/// CommandInfo::find of /scene/stop: the values of the fades that run, at Message::stop_frame.
Status scenes_find_stopped(const Rack* rack, const Message* message, Changes* found, Error* error);

/// True if a bundle recalls a scene, or stops a recall: it is always a step of undo.
bool scenes_recalls(const Bundle* bundle);

/// True if a message stops recalls.
bool scenes_stops(const Message* message);

/// True if a bundle compares: it is no step of undo.
bool scenes_compares(const Bundle* bundle);

/// The present values that the next comparison will restore, if this bundle compares; the caller
/// drops them.  *live is NULL for any other bundle, and for one that restores.  STATUS_NO_MEM.
NODISCARD Status scenes_live(const Rack* rack, const Bundle* bundle, RackScene** live,
                             Error* error);

/// True if the values of a bundle depend on scenes.
bool scenes_are_used(const Bundle* bundle);

/// If a bundle is one /scene/morph, return one change in place of all its changes: for undo, the
/// movement of the fader is one gesture.  Returns false for any other bundle.
bool scenes_fader(const Bundle* bundle, Change* fader);

/// Record the scenes that a bundle, or a message, recalls as recalled last, and `live` of
/// scenes_live().
void scenes_mark(Rack* rack, const Bundle* bundle, RackScene* live);
void scenes_mark_message(Rack* rack, const Message* message);

/// The names of the parameters that a recall, which is done, has left out because they are missing,
/// with spaces between them, for the caller to free; NULL if there are none.
char* scenes_missing(const Rack* rack, const Message* message);

/// Set the values of a scene in a rack that does not play yet.
NODISCARD Status scenes_begin(Rack* rack, const char* name, Error* error);

/// A line with tabs for each scene: name, number of values, "recalled" or "".  For the caller to
/// free; NULL if out of memory.
char* scenes_print(const Rack* rack);

#endif
