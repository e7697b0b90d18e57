// SPDX-License-Identifier: GPL-3.0-or-later
/// Queries, which do not change the document: CommandInfo::run, one per address.
#ifndef WARPRACK_CONTROL_QUERIES_H
#define WARPRACK_CONTROL_QUERIES_H

#include "control/net/message.h"
#include "engine/base/status.h"

struct Control;

/// Go on with the text that a query has begun to send: Message::text.
void queries_continue(struct Control* control, const Peer* peer, Message* message);

Status query_describe(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_load(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_midi(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_nodes(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_ping(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_plugin(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_plugins(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_presets(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_quit(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_rack(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_tempo(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_save(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_scenes(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_scan(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_status(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_sync(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_values(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_version(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_watch(struct Control* control, const Peer* peer, Message* message, Error* error);

#endif
