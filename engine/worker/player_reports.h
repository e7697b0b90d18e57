// SPDX-License-Identifier: GPL-3.0-or-later
/// What a player reports to the control thread (RingReport).
#ifndef WARPRACK_ENGINE_WORKER_PLAYER_REPORTS_H
#define WARPRACK_ENGINE_WORKER_PLAYER_REPORTS_H

#include "waiting_heap.h"

#include "engine/plan/plan.h"
#include "engine/ring/ring.h"

/// Report that a plan is active from a frame on.  Does nothing if `reports` is NULL. [player]
REALTIME void player_report_plan(Ring* reports, const Plan* plan, uint64_t frame);

/// Likewise: that a message applies from a frame on. [player]
REALTIME void player_report_message(Ring* reports, const WaitingMessage* entry, uint64_t frame);

/// Publish the reports of a block that ends before `end`, and if MIDI events were run in it, that
/// all before `end` have been.  If changes of the block follow in the next one, so do its reports,
/// because some of these changes may be a part of an event; while they are few, so that none gets
/// lost.  Returns true if MIDI events are still to be reported as run.  Does nothing if `reports`
/// is NULL. [player]
REALTIME bool
player_publish_reports(Ring* reports, const WaitingHeap* waiting, bool has_run_midi, uint64_t end);

#endif
