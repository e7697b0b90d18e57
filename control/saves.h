// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Saves the states of nodes for `/node/<node>/state/save`, one after the other: the worker saves
   the state while the node plays, the rack store writes it and the files that it names, and the
   editor, whose edit has waited for it, sets the parameter.  The bytes come from a plugin: the
   server divides them into files by the sizes that they state, interprets nothing else, and makes
   the names of the files from hashes of their contents.

   All functions [control].
*/
#ifndef WARPRACK_CONTROL_SAVES_H
#define WARPRACK_CONTROL_SAVES_H

#include "control/net/message.h"
#include "engine/base/status.h"

struct Control;

/// Save the state of the node that a message of the edit in flight names; editor_read() then gets
/// the name of the file, or the error.  STATUS_LIMIT, STATUS_NOT_FOUND.
NODISCARD Status saves_add(struct Control* control, Message* message, Error* error);

/// Continue with what has arrived from the engine, and with the next save.
void saves_continue(struct Control* control);

#endif
