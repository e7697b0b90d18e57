// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Levels of the rack's ports for clients: read at any time, or sent at a rate to those that have
   subscribed to a meter.  And levels of nodes, which the worker measures while a client has a meter
   of them.

   The server collects levels from the engine METERS_PER_S times a second while there is a meter,
   else a few times a second, and adds them to each meter.  A message to a subscriber has the peak
   and the energy since the one before, so no peak is lost between two messages, at any rate.

   All functions [control].
*/
#ifndef WARPRACK_CONTROL_METERS_H
#define WARPRACK_CONTROL_METERS_H

#include "meter_table.h"

#include "control/net/message.h"

struct Control;

/// Collect levels if it is time, and send the messages that are due.
void meters_run(struct Control* control);

/// Time of the next meters_run(); UINT64_MAX without a meter: then any time will do.
uint64_t meters_wake_ns(const Meters* meters);

/// Remove the meters of a client that has ended.
void meters_forget(Meters* meters, const Client* client);

void meters_clear(Meters* meters);

// ---- commands: CommandInfo::run ----

Status meters_read(struct Control* control, const Peer* peer, Message* message, Error* error);
Status meters_subscribe(struct Control* control, const Peer* peer, Message* message, Error* error);
Status
meters_unsubscribe(struct Control* control, const Peer* peer, Message* message, Error* error);

#endif
