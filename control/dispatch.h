// SPDX-License-Identifier: GPL-3.0-or-later
/// Dispatches packets.  All on the control thread.
#ifndef WARPRACK_CONTROL_DISPATCH_H
#define WARPRACK_CONTROL_DISPATCH_H

#include "control_private.h"

#include "engine/base/time.h"

#define DISPATCH_ROUND_NS (2U * NS_PER_MS) // of turns; then the control thread does its other work

/// Run messages of a sender until its turn ends.
void dispatch_turn(Control* control, Sender* sender);

/// Give values of bundles near their time to the engine, and queue due bundles for their senders'
/// next turns.
void dispatch_due(Control* control);

/// Run the bundle that has waited behind an edit for longest, whatever its sender owes, because the
/// edits of everybody wait behind it; then charge its sender.
void dispatch_waiting(Control* control);

/// How the session answers.
SessionEvents dispatch_events(Control* control);

#endif
