// SPDX-License-Identifier: GPL-3.0-or-later
/// The reports of the worker: what it has applied, and when.  Values that it has made of MIDI go
/// into the document.
#ifndef WARPRACK_CONTROL_REPORTS_H
#define WARPRACK_CONTROL_REPORTS_H

struct Control;

/// Read all reports, or as many as there is room for.  To be called in each round, and before each
/// edit is sent. [control]
void reports_read(struct Control* control);

/// Take what MIDI has set into the document. [control]
void reports_hear(struct Control* control);

#endif
