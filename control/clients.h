// SPDX-License-Identifier: GPL-3.0-or-later
/// Commands of clients about themselves, CommandInfo::run: proof of their address, subscriptions,
/// answers.  And what happens when a client ends.
#ifndef WARPRACK_CONTROL_CLIENTS_H
#define WARPRACK_CONTROL_CLIENTS_H

#include "control/net/listeners.h"
#include "control/net/message.h"
#include "engine/base/status.h"

struct Control;

Status query_answers(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_hello(struct Control* control, const Peer* peer, Message* message, Error* error);
Status query_notify(struct Control* control, const Peer* peer, Message* message, Error* error);

/// Connect the table of clients with the other parts of the server. [main]
void clients_init(struct Control* control);

/// Subscribe listeners for ever, and trust their machines.  STATUS_BAD_ARG if the server cannot
/// send to one. [main]
NODISCARD Status clients_add(struct Control* control, const Listeners* listeners, Error* error);

/// Renew the leases of the machine and the client that have sent a packet.
void clients_renew(struct Control* control, const Peer* sender);

/// End the leases whose time is over.
void clients_expire(struct Control* control);

#endif
