// SPDX-License-Identifier: GPL-3.0-or-later
/// What becomes of a packet.  All on the control thread.
#ifndef WARPRACK_CONTROL_DISPATCH_H
#define WARPRACK_CONTROL_DISPATCH_H

#include "control_private.h"

/// Judge a packet and carry it out.  Borrowed for the call.
void dispatch_packet(Control* control, const Parcel* packet);

/// Hand over, or carry out, what waits for its time.
void dispatch_due(Control* control);

/// How the session answers.
SessionEvents dispatch_events(Control* control);

#endif
