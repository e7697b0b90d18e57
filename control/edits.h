// SPDX-License-Identifier: GPL-3.0-or-later
/// The edits of messages.  They change a rack that is not active yet.
#ifndef WARPRACK_CONTROL_EDITS_H
#define WARPRACK_CONTROL_EDITS_H

#include "control/net/message.h"
#include "engine/base/status.h"
#include "engine/rack/rack.h"

#include <stdbool.h>

// CommandInfo::apply, one per address.
Status edit_add(Rack** rack, const Message* message, Error* error);
Status edit_chain(Rack** rack, const Message* message, Error* error);
Status edit_clear(Rack** rack, const Message* message, Error* error);
Status edit_connect(Rack** rack, const Message* message, Error* error);
Status edit_disconnect(Rack** rack, const Message* message, Error* error);
Status edit_do(Rack** rack, const Message* message, Error* error);
Status edit_find(Rack** rack, const Message* message, Error* error);
Status edit_insert(Rack** rack, const Message* message, Error* error);
Status edit_late(Rack** rack, const Message* message, Error* error);
Status edit_load(Rack** rack, const Message* message, Error* error);
Status edit_remove(Rack** rack, const Message* message, Error* error);
Status edit_rename(Rack** rack, const Message* message, Error* error);
Status edit_save(Rack** rack, const Message* message, Error* error);

/// True if the message removes nodes, undoes an edit, or replaces the rack.
bool edit_makes_smaller(const Message* message);

/// Set one parameter of a node, by its index, to an argument of type v.
NODISCARD Status edit_value(RackNode* node, uint32_t param, const Message* message,
                            uint32_t argument, Error* error);

#endif
