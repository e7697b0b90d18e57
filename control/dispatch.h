// SPDX-License-Identifier: GPL-3.0-or-later
/// What becomes of a packet.  All on the control thread.
#ifndef WARPRACK_CONTROL_DISPATCH_H
#define WARPRACK_CONTROL_DISPATCH_H

#include "control_private.h"

#include <stddef.h>

/// Judge and carry out the packet of n_bytes in control->packet.
void dispatch_packet(Control* control, const Peer* peer, size_t n_bytes);

/// Hand over, or carry out, what waits for its time.
void dispatch_due(Control* control);

/// How the session answers.
SessionEvents dispatch_events(Control* control);

#endif
