// SPDX-License-Identifier: GPL-3.0-or-later
/// What becomes of a packet.  All on the control thread.
#ifndef WARPRACK_CONTROL_DISPATCH_H
#define WARPRACK_CONTROL_DISPATCH_H

#include "control_private.h"

#define DISPATCH_ROUND_NS UINT64_C(2000000) // of turns, then everything else is looked at

/// Let a sender have its turn.
void dispatch_turn(Control* control, Source* source);

/// Hand over what is near its time, and let what is due be part of its sender's next turn.
void dispatch_due(Control* control);

/// Let what has waited behind an edit be part of its sender's next turn, one batch after the other.
void dispatch_waiting(Control* control);

/// How the session answers.
SessionEvents dispatch_events(Control* control);

#endif
