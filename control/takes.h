// SPDX-License-Identifier: GPL-3.0-or-later
/**
   Takes: everything that the worker applies from now on, written to a file in the server's folder,
   so that `render --take` gives the same samples.  take_text.h has the lines.

   The worker reports what it has applied, with its frame (ring.h); messages of clients are not
   recorded, because the worker may apply them later, or not at all.  The document of an edit comes
   from here, when the worker reports its plan.

   Only one take runs at a time.  The thread of the rack store writes its file.  If a write fails,
   the take ends; everything else goes on.

   All functions [control].
*/
#ifndef WARPRACK_CONTROL_TAKES_H
#define WARPRACK_CONTROL_TAKES_H

#include "take_state.h"

#include "control/net/message.h"
#include "control/net/peer.h"
#include "engine/engine.h"

struct Control;
struct RackStoreJob;

/// Record reports of the worker.  All must be read before each command of a take, and before each
/// edit is sent.
void takes_record(struct Control* control, const EngineReports* read, const RingReport* reports);

/// An edit is sent: `rack` is its document.  `has_read_all`: all reports were read before.
void takes_edit(struct Control* control, const Rack* rack, bool has_read_all);

/// Record what is no report, and write what has accumulated.  To be called in each round.
void takes_run(struct Control* control);

/// The store has written a part, or failed.
void takes_written(struct Control* control, const struct RackStoreJob* job);

/// End the take because the server ends.
void takes_end(struct Control* control);

/// Time of the next takes_run(); UINT64_MAX: any time will do.
uint64_t takes_wake_ns(const Takes* takes);

void takes_clear(struct Control* control);

// ---- commands: CommandInfo::run ----

Status takes_start(struct Control* control, const Peer* peer, Message* message, Error* error);
Status takes_stop(struct Control* control, const Peer* peer, Message* message, Error* error);

#endif
