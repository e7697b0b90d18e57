// SPDX-License-Identifier: GPL-3.0-or-later
/// Edits of the scenes and safes of a rack: CommandInfo::apply.
#ifndef WARPRACK_CONTROL_SCENE_EDITS_H
#define WARPRACK_CONTROL_SCENE_EDITS_H

#include "control/net/message.h"
#include "engine/rack/rack.h"

Status edit_scene_remove(Rack** rack, const Message* message, Error* error);
Status edit_scene_safe(Rack** rack, const Message* message, Error* error);
Status edit_scene_store(Rack** rack, const Message* message, Error* error);
Status edit_scene_unsafe(Rack** rack, const Message* message, Error* error);

#endif
