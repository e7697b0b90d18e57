// SPDX-License-Identifier: GPL-3.0-or-later
/// The reports of the worker: what it has applied, and when.  Values that it has made of MIDI go
/// into the document.
#ifndef WARPRACK_CONTROL_REPORTS_H
#define WARPRACK_CONTROL_REPORTS_H

#include "engine/engine.h"
#include "engine/rack/rack.h"

struct Control;

/// Read all reports.  Returns false if some are left, because MIDI has set too many parameters
/// since the last reports_apply().  To be called in each round, and before each edit is sent.
/// [control]
bool reports_read(struct Control* control);

/// Forget what MIDI has set a parameter to, because the document has a newer value. [control]
void reports_forget(struct Control* control, RackUid uid, uint32_t param);

/// The same for all parameters whose value is in the document: it is another one. [control]
void reports_forget_all(struct Control* control);

/// Returns true if MIDI has set a parameter to a value that the document does not have yet; *value
/// receives it, else it stays. [control]
bool reports_value(const struct Control* control, RackUid uid, uint32_t param, double* value);

/// Add a value of an event that no worker has run to those that reports_apply() takes into the
/// document. [control]
void reports_add(struct Control* control, const ParamMessage* value);

/// Take what MIDI has set into the document; and the value of a client that the worker got after
/// it, if the client had sent it before.  [control]
void reports_apply(struct Control* control);

#endif
