// SPDX-License-Identifier: GPL-3.0-or-later
/// Dispatches packets.  All functions [control].
#ifndef WARPRACK_CONTROL_DISPATCH_H
#define WARPRACK_CONTROL_DISPATCH_H

#include "control_private.h"

#include "engine/base/time.h"

#define DISPATCH_ROUND_NS (2U * NS_PER_MS) // limit for the turns of one round

/// CPU time of this thread: the load of other threads does not count.
uint64_t dispatch_cpu_ns(void);

/// Run messages of a sender until its turn ends.  `begin_ns`: the CPU time at which it begins.
/// Returns that at which it has ended.
uint64_t dispatch_turn(Control* control, Sender* sender, uint64_t begin_ns);

/// Pass the values of bundles near their time to the engine, and queue due bundles for their
/// senders' next turns.
void dispatch_due(Control* control);

/// Run the bundle that has waited behind an edit for longest, and charge its sender.  It runs even
/// if its sender has no credit, because the edits of all senders wait behind it.
void dispatch_waiting(Control* control);

#define DISPATCH_OWN_BYTES 512U // of an address and its text

/// Carry out a command of the server itself, with a text as its argument (NULL: none).  Nobody gets
/// an answer; a failure is a warning.
void dispatch_own(Control* control, const char* address, const char* text);

/// The functions by which the editor answers.
EditorEvents dispatch_events(Control* control);

#endif
